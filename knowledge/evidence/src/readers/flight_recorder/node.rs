//! One view of a dump, whether it came as a pickle or as JSON.

use serde_json::Value as Json;

use crate::readers::pickle::{Heap, Value};

/// A value of a dump.
#[derive(Clone, Copy, Debug)]
pub(super) enum Node<'a> {
    Pickle(&'a Heap, Value),
    Json(&'a Json),
}

impl<'a> Node<'a> {
    pub fn get(self, key: &str) -> Option<Self> {
        match self {
            Self::Pickle(heap, value) => heap.get(value, key).map(|value| Self::Pickle(heap, value)),
            Self::Json(json) => json.get(key).map(Self::Json),
        }
    }

    pub fn items(self) -> Items<'a> {
        match self {
            Self::Pickle(heap, value) => Items::Pickle(heap, heap.items(value).unwrap_or_default().iter()),
            Self::Json(json) => Items::Json(json.as_array().map(Vec::as_slice).unwrap_or_default().iter()),
        }
    }

    /// At most `cap` members.
    pub fn members(self, cap: usize) -> Vec<(&'a str, Self)> {
        match self {
            Self::Pickle(heap, value) => {
                let members = heap
                    .pairs(value)
                    .take(cap)
                    .filter_map(|(key, value)| Some((heap.text(key)?, value)));
                members.map(|(key, value)| (key, Self::Pickle(heap, value))).collect()
            }
            Self::Json(json) => {
                let members = json.as_object().into_iter().flatten().take(cap);
                members.map(|(key, value)| (key.as_str(), Self::Json(value))).collect()
            }
        }
    }

    /// How many members there are.
    pub fn member_count(self) -> usize {
        match self {
            Self::Pickle(heap, value) => heap.pairs(value).count(),
            Self::Json(json) => json.as_object().map_or(0, serde_json::Map::len),
        }
    }

    pub fn text(self) -> Option<&'a str> {
        match self {
            Self::Pickle(heap, value) => heap.text(value),
            Self::Json(json) => json.as_str(),
        }
    }

    /// A number; JSON dumps write some as strings (`"4"`). Negative ones mean "none".
    pub fn number(self) -> Option<u64> {
        match self {
            Self::Pickle(_, value) => value.as_u64(),
            Self::Json(Json::String(text)) => text.parse().ok(),
            Self::Json(json) => json.as_u64(),
        }
    }

    pub fn flag(self) -> Option<bool> {
        match self {
            Self::Pickle(_, value) => value.as_bool(),
            Self::Json(json) => json.as_bool(),
        }
    }

    /// Writes a list of lists of numbers or names the way both formats show it: `[[8, 4]]`. Ends once there are `cap`
    /// bytes: what a file shares may be far longer than the file.
    pub fn show(self, depth: usize, cap: usize) -> String {
        let mut shown = String::new();
        self.show_into(depth, cap, &mut shown);
        shown
    }

    fn show_into(self, depth: usize, cap: usize, shown: &mut String) {
        if let Some(text) = self.text() {
            shown.push_str(cut(text, cap.saturating_sub(shown.len())));
        } else if let Some(number) = self.number() {
            shown.push_str(&number.to_string());
        } else if depth == 0 {
            shown.push('…');
        } else {
            shown.push('[');
            for (index, item) in self.items().enumerate() {
                if shown.len() >= cap {
                    shown.push('…');
                    break;
                }
                if index > 0 {
                    shown.push_str(", ");
                }
                item.show_into(depth - 1, cap, shown);
            }
            shown.push(']');
        }
    }
}

/// The items of a list or tuple.
#[derive(Clone, Debug)]
pub(super) enum Items<'a> {
    Pickle(&'a Heap, std::slice::Iter<'a, Value>),
    Json(std::slice::Iter<'a, Json>),
}

impl<'a> Iterator for Items<'a> {
    type Item = Node<'a>;

    fn next(&mut self) -> Option<Node<'a>> {
        match self {
            Self::Pickle(heap, items) => items.next().map(|item| Node::Pickle(heap, *item)),
            Self::Json(items) => items.next().map(Node::Json),
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        match self {
            Self::Pickle(_, items) => items.size_hint(),
            Self::Json(items) => items.size_hint(),
        }
    }
}

impl ExactSizeIterator for Items<'_> {}

/// The first `bytes` bytes of a text, or a few fewer where that would cut a character.
pub(super) fn cut(text: &str, bytes: usize) -> &str {
    text.get(..text.floor_char_boundary(bytes)).unwrap_or_default()
}
