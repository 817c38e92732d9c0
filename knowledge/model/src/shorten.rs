//! Cutting long texts, whichever field they are in.

use serde_json::Value;

use crate::EventPayload;

impl EventPayload {
    /// Cuts every text that has more than so many characters, and puts `…` at its end. Whether there was one.
    pub fn shorten(&mut self, chars: usize) -> bool {
        let Ok(mut what) = serde_json::to_value(&*self) else {
            return false;
        };
        let is_cut = shorten(&mut what, chars);
        match serde_json::from_value(what) {
            Ok(what) if is_cut => *self = what,
            _ => return false,
        }
        true
    }
}

fn shorten(value: &mut Value, chars: usize) -> bool {
    match value {
        Value::String(text) => match text.char_indices().nth(chars) {
            Some((at, _)) => {
                text.truncate(at);
                text.push('…');
                true
            }
            None => false,
        },
        Value::Array(items) => items.iter_mut().fold(false, |cut, item| shorten(item, chars) | cut),
        Value::Object(members) => members
            .iter_mut()
            .fold(false, |cut, (_, member)| shorten(member, chars) | cut),
        _ => false,
    }
}
