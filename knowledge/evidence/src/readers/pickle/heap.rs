//! Where the values of a pickle live.

use std::collections::HashMap;

use indexmap::IndexSet;

/// Members of a dict that are searched for a key.
const MEMBERS: usize = 256;
/// What a list, tuple, dict or string counts for by itself.
const CONTAINER: usize = 3;

/// A value: a scalar, or the index of something in the [`Heap`]. Copying one never copies what it refers to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// `None`.
    None,
    /// `True` or `False`.
    Bool(bool),
    /// An integer that fits in 64 signed bits.
    Int(i64),
    /// An integer above [`i64::MAX`]: addresses and stream handles can be.
    Unsigned(u64),
    /// A float.
    Float(f64),
    /// A string.
    String(StringId),
    /// A list.
    List(ListId),
    /// A tuple.
    Tuple(ListId),
    /// A dict.
    Dict(DictId),
    /// What a fold put in the place of a dict: an index of its own.
    Folded(u32),
    /// Where a dict stood that a fold consumed.
    Gone,
}

impl Value {
    /// The value as an unsigned number, if it is one.
    pub fn as_u64(self) -> Option<u64> {
        match self {
            Self::Int(number) => u64::try_from(number).ok(),
            Self::Unsigned(number) => Some(number),
            Self::Bool(flag) => Some(u64::from(flag)),
            _ => None,
        }
    }

    /// The value as a signed number, if it is one.
    pub fn as_i64(self) -> Option<i64> {
        match self {
            Self::Int(number) => Some(number),
            Self::Bool(flag) => Some(i64::from(flag)),
            _ => None,
        }
    }

    /// The value as a flag, if it is one.
    pub fn as_bool(self) -> Option<bool> {
        match self {
            Self::Bool(flag) => Some(flag),
            _ => None,
        }
    }
}

/// Names a string. Equal strings have equal names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StringId(pub(super) u32);

impl StringId {
    /// Strings are numbered from 0 in order of appearance.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Names a list or tuple.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ListId(pub(super) u32);

/// Names a dict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DictId(pub(super) u32);

/// A dict as written: keys and values in order.
#[derive(Debug, Default)]
pub(super) struct Dict {
    /// Key, value, key, value …
    pub pairs: Vec<Value>,
    /// The memo number it was stored under.
    pub memo: Option<u32>,
    /// True once something else refers to it: it may no longer be folded away.
    pub shared: bool,
}

/// A list or tuple as written, or what a fold put in its place. A snapshot may have one for every trace entry.
#[derive(Debug)]
enum List {
    Items(Vec<Value>),
    Folded(u32),
}

/// Lists, tuples, dicts and strings of one pickle.
#[derive(Debug, Default)]
pub struct Heap {
    strings: IndexSet<Box<str>>,
    lists: Vec<List>,
    dicts: Vec<Dict>,
    free_dicts: Vec<DictId>,
    /// Short tuples of small numbers, by content: newer snapshots write a pool id with every trace entry.
    number_tuples: HashMap<(usize, [i64; 3]), ListId>,
    held: usize,
}

impl Heap {
    /// What is held now, in units of some 32 bytes: an item is one, a container or a string three and what is in it.
    pub fn held(&self) -> usize {
        self.held
    }

    /// The text of a string.
    pub fn string(&self, id: StringId) -> &str {
        self.strings.get_index(id.index()).map_or("", |text| text)
    }

    /// The text of a value that is a string.
    pub fn text(&self, value: Value) -> Option<&str> {
        match value {
            Value::String(id) => Some(self.string(id)),
            _ => None,
        }
    }

    /// The items of a value that is a list or tuple.
    pub fn items(&self, value: Value) -> Option<&[Value]> {
        match value {
            Value::List(id) | Value::Tuple(id) => match self.lists.get(id.0 as usize)? {
                List::Items(items) => Some(items),
                List::Folded(_) => Some(&[]),
            },
            _ => None,
        }
    }

    /// Keys and values of a value that is a dict, in the order written.
    pub fn pairs(&self, value: Value) -> impl Iterator<Item = (Value, Value)> + '_ {
        let pairs = match value {
            Value::Dict(id) => self.dicts.get(id.0 as usize).map_or(&[][..], |dict| &dict.pairs),
            _ => &[],
        };
        pairs.as_chunks::<2>().0.iter().map(|&[key, value]| (key, value))
    }

    /// What a dict has under a string key. As in Python, the last one written counts. Only the first 256 members are
    /// looked at: a dict that is a record has fewer, and one that is shared a million times is not searched as often.
    pub fn get(&self, dict: Value, key: &str) -> Option<Value> {
        let wanted = Value::String(StringId(self.strings.get_index_of(key)? as u32));
        self.pairs(dict)
            .take(MEMBERS)
            .filter(|(key, _)| *key == wanted)
            .last()
            .map(|(_, value)| value)
    }

    /// What a fold put in the place of a list.
    pub fn folded_list(&self, id: ListId) -> Option<u32> {
        match self.lists.get(id.0 as usize)? {
            List::Folded(index) => Some(*index),
            List::Items(_) => None,
        }
    }

    /// Puts an index of the fold's own in the place of a list, wherever it is shared, and gives its memory back.
    pub fn fold_list(&mut self, id: ListId, index: u32) {
        let Some(list) = self.lists.get_mut(id.0 as usize) else {
            return;
        };
        if let List::Items(items) = std::mem::replace(list, List::Folded(index)) {
            self.held = self.held.saturating_sub(items.len() + CONTAINER - 1);
        }
    }

    pub(super) fn intern(&mut self, text: &str) -> Option<StringId> {
        if let Some(index) = self.strings.get_index_of(text) {
            return u32::try_from(index).ok().map(StringId);
        }
        self.held += CONTAINER + text.len() / 32;
        let (index, _) = self.strings.insert_full(text.into());
        u32::try_from(index).ok().map(StringId)
    }

    pub(super) fn new_list(&mut self, items: Vec<Value>) -> Option<ListId> {
        self.held += CONTAINER + items.len();
        self.lists.push(List::Items(items));
        u32::try_from(self.lists.len() - 1).ok().map(ListId)
    }

    pub(super) fn new_tuple(&mut self, items: &[Value]) -> Option<ListId> {
        let Some(numbers) = small_numbers(items) else {
            return self.new_list(items.to_vec());
        };
        if let Some(id) = self.number_tuples.get(&(items.len(), numbers)) {
            return Some(*id);
        }
        let id = self.new_list(items.to_vec())?;
        self.held += CONTAINER;
        self.number_tuples.insert((items.len(), numbers), id);
        Some(id)
    }

    pub(super) fn append(&mut self, id: ListId, items: &[Value]) {
        if let Some(List::Items(list)) = self.lists.get_mut(id.0 as usize) {
            let before = list.len();
            // Writers append a whole list at once: it gets its memory in one piece.
            list.reserve_exact(if before == 0 { items.len() } else { 0 });
            list.extend(items.iter().filter(|item| **item != Value::Gone));
            self.held += list.len() - before;
        }
    }

    pub(super) fn new_dict(&mut self) -> Option<DictId> {
        if let Some(id) = self.free_dicts.pop() {
            return Some(id);
        }
        self.held += CONTAINER;
        self.dicts.push(Dict::default());
        u32::try_from(self.dicts.len() - 1).ok().map(DictId)
    }

    pub(super) fn dict_mut(&mut self, id: DictId) -> Option<&mut Dict> {
        self.dicts.get_mut(id.0 as usize)
    }

    pub(super) fn set_items(&mut self, id: DictId, pairs: &[Value]) {
        if let Some(dict) = self.dicts.get_mut(id.0 as usize) {
            dict.pairs.extend_from_slice(pairs);
            self.held += pairs.len();
        }
    }

    /// Makes the dict's name available again. Nothing may refer to it any more.
    pub(super) fn recycle(&mut self, id: DictId) {
        if let Some(dict) = self.dicts.get_mut(id.0 as usize) {
            *dict = Dict::default();
            self.free_dicts.push(id);
        }
    }
}

/// The content of a tuple of at most three integers.
fn small_numbers(items: &[Value]) -> Option<[i64; 3]> {
    let mut numbers = [0; 3];
    if items.len() > numbers.len() {
        return None;
    }
    for (number, item) in numbers.iter_mut().zip(items) {
        let Value::Int(value) = item else { return None };
        *number = *value;
    }
    Some(numbers)
}
