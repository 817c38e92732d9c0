//! The pickle memo: which value was stored under which number.
//!
//! `CPython` memoizes every container it writes, so a snapshot with millions of trace entries has millions of slots
//! that nothing will ever ask for. Slots are four bytes, in pages that vanish when everything in them was forgotten.

use super::heap::{DictId, ListId, StringId, Value};

/// Slots of a page.
const PAGE: usize = 1024;

/// How far ahead of the number of stores an explicit number may be. Writers count up by one; a file that leaves
/// gaps would buy memory with nothing.
const LEAD: usize = 64 << 10;

const EMPTY: u32 = 0;
const INDEX_BITS: u32 = 29;
/// The largest index a slot can name.
const INDEX_MAX: u32 = (1 << INDEX_BITS) - 1;

#[derive(Debug)]
struct Page {
    slots: Box<[u32; PAGE]>,
    used: usize,
}

#[derive(Debug, Default)]
pub(super) struct Memo {
    pages: Vec<Option<Page>>,
    /// Stores made so far; `MEMOIZE` numbers by it.
    stores: usize,
    /// Memoized numbers and constants: legal, never seen, and too wide for a slot.
    scalars: Vec<Value>,
    /// Pages that have something in them.
    live_pages: usize,
}

impl Memo {
    /// What is held now, in the units of [`super::Heap::held`].
    pub fn held(&self) -> usize {
        const PAGE_UNITS: usize = size_of::<[u32; PAGE]>() / 32;
        self.live_pages * PAGE_UNITS + self.pages.len() + self.scalars.len()
    }

    /// Stores under the next number and returns that number, or `None` where it does not fit.
    pub fn push(&mut self, value: Value) -> Option<u32> {
        let number = u32::try_from(self.stores).ok()?;
        self.put(number, value).then_some(number)
    }

    /// Stores `value` under `number`. False when the number runs ahead of the stores, or the value has no room.
    pub fn put(&mut self, number: u32, value: Value) -> bool {
        let index = number as usize;
        if index > self.stores + LEAD {
            return false;
        }
        let Some(slot) = self.pack(value) else { return false };
        self.stores += 1;
        if self.pages.len() <= index / PAGE {
            self.pages.resize_with(index / PAGE + 1, || None);
        }
        self.live_pages += usize::from(self.pages[index / PAGE].is_none());
        let page = self.pages[index / PAGE].get_or_insert_with(|| Page {
            slots: Box::new([EMPTY; PAGE]),
            used: 0,
        });
        page.used += usize::from(page.slots[index % PAGE] == EMPTY);
        page.slots[index % PAGE] = slot;
        true
    }

    pub fn get(&self, number: u32) -> Option<Value> {
        let index = number as usize;
        let page = self.pages.get(index / PAGE)?.as_ref()?;
        self.unpack(page.slots[index % PAGE])
    }

    /// Puts another value in the place of what is stored under `number`.
    pub fn replace(&mut self, number: u32, value: Value) {
        let index = number as usize;
        let Some(slot) = self.pack(value) else { return };
        if let Some(Some(page)) = self.pages.get_mut(index / PAGE)
            && page.slots[index % PAGE] != EMPTY
        {
            page.slots[index % PAGE] = slot;
        }
    }

    /// Forgets what is stored under `number`.
    pub fn forget(&mut self, number: u32) {
        let index = number as usize;
        let Some(place) = self.pages.get_mut(index / PAGE) else {
            return;
        };
        let Some(page) = place else { return };
        if page.slots[index % PAGE] != EMPTY {
            page.slots[index % PAGE] = EMPTY;
            page.used -= 1;
        }
        // The last page is about to get its next slot: giving it back now would only allocate it again.
        if page.used == 0 && self.stores / PAGE > index / PAGE {
            *place = None;
            self.live_pages -= 1;
        }
    }

    fn pack(&mut self, value: Value) -> Option<u32> {
        let (tag, index) = match value {
            Value::String(id) => (1, id.0),
            Value::List(id) => (2, id.0),
            Value::Tuple(id) => (3, id.0),
            Value::Dict(id) => (4, id.0),
            Value::Folded(index) => (5, index),
            Value::None | Value::Bool(_) | Value::Int(_) | Value::Unsigned(_) | Value::Float(_) | Value::Gone => {
                self.scalars.push(value);
                (6, u32::try_from(self.scalars.len() - 1).ok()?)
            }
        };
        (index <= INDEX_MAX).then_some(tag << INDEX_BITS | index)
    }

    fn unpack(&self, slot: u32) -> Option<Value> {
        let index = slot & INDEX_MAX;
        Some(match slot >> INDEX_BITS {
            1 => Value::String(StringId(index)),
            2 => Value::List(ListId(index)),
            3 => Value::Tuple(ListId(index)),
            4 => Value::Dict(DictId(index)),
            5 => Value::Folded(index),
            6 => *self.scalars.get(index as usize)?,
            _ => return None,
        })
    }
}
