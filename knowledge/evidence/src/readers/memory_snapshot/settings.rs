//! The allocator's settings, kept as written: later versions add keys.

use serde_json::{Map, Value as Json};

use crate::readers::pickle::{Heap, Value};

/// Settings nest one level (`roundup_power2_divisions`); deeper is no setting.
const DEPTH: usize = 3;
/// Members kept of any one dict.
const MEMBERS: usize = 256;

pub(super) fn read(heap: &Heap, root: Value) -> Map<String, Json> {
    let settings = heap.get(root, "allocator_settings").unwrap_or(Value::None);
    members(heap, settings, DEPTH)
}

fn members(heap: &Heap, dict: Value, depth: usize) -> Map<String, Json> {
    let members = heap.pairs(dict).take(MEMBERS);
    members
        .filter_map(|(key, value)| Some((heap.text(key)?.to_owned(), json(heap, value, depth))))
        .collect()
}

fn json(heap: &Heap, value: Value, depth: usize) -> Json {
    match value {
        Value::Bool(flag) => flag.into(),
        Value::Int(number) => number.into(),
        Value::Unsigned(number) => number.into(),
        Value::Float(number) => number.into(),
        Value::String(text) => heap.string(text).into(),
        Value::Dict(_) if depth > 0 => members(heap, value, depth - 1).into(),
        _ => Json::Null,
    }
}
