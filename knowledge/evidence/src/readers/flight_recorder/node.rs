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

    pub fn items(self) -> Vec<Self> {
        match self {
            Self::Pickle(heap, value) => {
                let items = heap.items(value).unwrap_or_default();
                items.iter().map(|item| Self::Pickle(heap, *item)).collect()
            }
            Self::Json(json) => json.as_array().into_iter().flatten().map(Self::Json).collect(),
        }
    }

    pub fn members(self) -> Vec<(&'a str, Self)> {
        match self {
            Self::Pickle(heap, value) => {
                let members = heap
                    .pairs(value)
                    .filter_map(|(key, value)| Some((heap.text(key)?, value)));
                members.map(|(key, value)| (key, Self::Pickle(heap, value))).collect()
            }
            Self::Json(json) => {
                let members = json.as_object().into_iter().flatten();
                members.map(|(key, value)| (key.as_str(), Self::Json(value))).collect()
            }
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

    /// Writes a list of lists of numbers or names the way both formats show it: `[[8, 4]]`.
    pub fn show(self, depth: usize) -> String {
        if let Some(text) = self.text() {
            return text.to_owned();
        }
        if let Some(number) = self.number() {
            return number.to_string();
        }
        if depth == 0 {
            return "…".to_owned();
        }
        let items: Vec<String> = self.items().into_iter().map(|item| item.show(depth - 1)).collect();
        format!("[{}]", items.join(", "))
    }
}
