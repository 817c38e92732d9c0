//! The allocator's settings, kept as written: later versions add keys.

use serde_json::{Map, Value as Json};

use crate::readers::pickle::{Heap, Value};

/// Settings nest one level (`roundup_power2_divisions`); deeper is no setting.
const DEPTH: usize = 3;
/// Members kept of all dicts together: what a file shares may be without end.
const MEMBERS: usize = 512;
/// Bytes kept of one text.
const TEXT_BYTES: usize = 4096;

pub(super) fn read(heap: &Heap, root: Value) -> Map<String, Json> {
    let settings = heap.get(root, "allocator_settings").unwrap_or(Value::None);
    members(heap, settings, DEPTH, &mut { MEMBERS })
}

fn members(heap: &Heap, dict: Value, depth: usize, left: &mut usize) -> Map<String, Json> {
    let mut members = Map::new();
    for (key, value) in heap.pairs(dict) {
        if *left == 0 {
            break;
        }
        *left -= 1;
        let Some(key) = heap.text(key) else { continue };
        members.insert(cut(key).to_owned(), json(heap, value, depth, left));
    }
    members
}

fn json(heap: &Heap, value: Value, depth: usize, left: &mut usize) -> Json {
    match value {
        Value::Bool(flag) => flag.into(),
        Value::Int(number) => number.into(),
        Value::Unsigned(number) => number.into(),
        Value::Float(number) => number.into(),
        Value::String(text) => cut(heap.string(text)).into(),
        Value::Dict(_) if depth > 0 => members(heap, value, depth - 1, left).into(),
        _ => Json::Null,
    }
}

fn cut(text: &str) -> &str {
    text.get(..text.floor_char_boundary(TEXT_BYTES)).unwrap_or_default()
}
