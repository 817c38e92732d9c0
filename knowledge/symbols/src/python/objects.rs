//! Objects of Python, as far as stacks need them: of which type they are, and what their attributes are.
//!
//! Offsets are those of `PyTypeObject` and `PyHeapTypeObject` (`Include/cpython/object.h`), `PyDictObject`
//! (`Include/cpython/dictobject.h`), `PyDictKeysObject` and `PyDictValues` (`pycore_dict.h`, until 3.10
//! `Objects/dict-common.h`) and `PyLongObject`.

use super::Interpreter;
use super::layout::Attributes;
use crate::process::memory::Bytes;

/// `ob_type`; in a type `tp_name`, `tp_basicsize`, `tp_flags` and `tp_dictoffset`.
const TYPE: u64 = 8;
const TYPE_NAME: u64 = 24;
const TYPE_SIZE: u64 = 32;
const TYPE_FLAGS: u64 = 168;
const TYPE_DICTIONARY: u64 = 288;
/// `Py_TPFLAGS_INLINE_VALUES` (since 3.13).
const HAS_ARRAY_BEHIND: u64 = 1 << 2;
/// `ht_cached_keys` of 3.11, and since 3.12, whose types are a word larger.
const TYPE_KEYS: u64 = 872;
const TYPE_KEYS_3_12: u64 = 880;
/// `ma_keys` and `ma_values`.
const DICTIONARY_KEYS: u64 = 32;
const DICTIONARY_VALUES: u64 = 40;
/// Attributes of one object that are looked through.
const MAX_ATTRIBUTES: u64 = 256;
/// Where an object keeps its dictionary, and before 3.12 its array, before its head.
const BEFORE_DICTIONARY: u64 = 24;
const BEFORE_ARRAY: u64 = 32;
/// Bytes of a C string that are read at most.
const MAX_NAME: u64 = 64;

impl Interpreter<'_> {
    /// The name of an object's type, such as `_thread.lock`.
    pub(super) fn type_name(&self, object: u64) -> Option<String> {
        if object == 0 {
            return None;
        }
        self.c_string(self.member(self.member(object, TYPE)?, TYPE_NAME)?)
    }

    /// A string of C.
    pub(super) fn c_string(&self, address: u64) -> Option<String> {
        let mut text = Vec::new();
        for index in 0..MAX_NAME {
            match self.memory.number(address.checked_add(index)?, 1)? as u8 {
                0 => return String::from_utf8(text).ok(),
                byte => text.push(byte),
            }
        }
        None
    }

    /// An attribute of an object whose class is written in Python.
    pub(super) fn attribute(&self, object: u64, name: &str) -> Option<u64> {
        let class = self.member(object, TYPE)?;
        let before = |offset: u64| self.memory.word(object.checked_sub(offset)?);
        let (dictionary, array, keys) = match self.layout.attributes {
            Attributes::Dictionary => {
                let offset = self.member(class, TYPE_DICTIONARY)?;
                (self.member(object, offset)?, 0, 0)
            }
            Attributes::Before => (before(BEFORE_DICTIONARY)?, before(BEFORE_ARRAY)?, TYPE_KEYS),
            Attributes::Tagged => match before(BEFORE_DICTIONARY)? {
                tagged if tagged & 1 != 0 => (0, tagged.wrapping_add(1), TYPE_KEYS_3_12),
                dictionary => (dictionary, 0, 0),
            },
            Attributes::Behind => {
                let has_array = self.member(class, TYPE_FLAGS)? & HAS_ARRAY_BEHIND != 0;
                let array = object.checked_add(self.member(class, TYPE_SIZE)?)?;
                // The array begins with its sizes.
                let array = if has_array { array.checked_add(8)? } else { 0 };
                (before(BEFORE_DICTIONARY)?, array, TYPE_KEYS_3_12)
            }
        };
        let (keys, values) = if dictionary != 0 {
            let values = self.member(dictionary, DICTIONARY_VALUES)?;
            let head = if self.layout.attributes == Attributes::Behind {
                8
            } else {
                0
            };
            let values = if values == 0 { 0 } else { values.checked_add(head)? };
            (self.member(dictionary, DICTIONARY_KEYS)?, values)
        } else {
            (self.member(class, keys)?, array)
        };
        let (index, own) = self.key(keys, name)?;
        let value = if values == 0 {
            own
        } else {
            self.member(values, index * 8)?
        };
        (value != 0).then_some(value)
    }

    /// The index of a key in a dictionary's table, and the value that stands beside it there.
    fn key(&self, keys: u64, name: &str) -> Option<(u64, u64)> {
        let (count, entries, entry) = if self.layout.attributes == Attributes::Dictionary {
            let size = self.member(keys, 8)?;
            let width = match size {
                0..=0xff => 1,
                0x100..=0xffff => 2,
                _ => 4,
            };
            (self.member(keys, 32)?, 40 + size.checked_mul(width)?, 24)
        } else {
            let small = |offset: u64| self.memory.number(keys.checked_add(offset)?, 1);
            let indices = 1_u64.checked_shl(u32::try_from(small(9)?).ok()?)?;
            // A table with other keys than strings has their hashes too.
            let entry = if small(10)? == 0 { 24 } else { 16 };
            (self.member(keys, 24)?, 32_u64.checked_add(indices)?, entry)
        };
        let first = keys.checked_add(entries)?;
        (0..count.min(MAX_ATTRIBUTES)).find_map(|index| {
            let key = self.memory.word(first.checked_add(index * entry + entry - 16)?)?;
            let is_it = key != 0 && self.text(key).as_deref() == Some(name);
            is_it.then(|| Some((index, self.memory.word(first.checked_add(index * entry + entry - 8)?)?)))?
        })
    }

    /// A string that is an attribute.
    pub(super) fn text_attribute(&self, object: u64, name: &str) -> Option<String> {
        self.text(self.attribute(object, name)?)
    }

    /// An integer below 2 to the 60, which is not negative, as two digits of 30 bits.
    pub(super) fn integer(&self, object: u64) -> Option<u64> {
        if self.type_name(object)? != "int" {
            return None;
        }
        let size = self.member(object, 16)?;
        let digits = match self.layout.attributes {
            Attributes::Dictionary | Attributes::Before => size,
            Attributes::Tagged | Attributes::Behind => size >> 3,
        };
        let digit = |index: u64| self.memory.number(object.checked_add(24 + index * 4)?, 4);
        match digits {
            1 => digit(0),
            2 => Some(digit(1)? << 30 | digit(0)?),
            _ => None,
        }
    }
}
