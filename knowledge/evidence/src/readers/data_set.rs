//! Tells data sets from logs: they quote failures, and have none.

use serde_json::Value;

use super::series::table;

/// Names of columns, or members, that data sets have, and logs have not.
const DATA: [&str; 22] = [
    "text",
    "title",
    "body",
    "prompt",
    "completion",
    "chosen",
    "rejected",
    "instruction",
    "response",
    "question",
    "answer",
    "input",
    "output",
    "label",
    "labels",
    "class",
    "target",
    "sentence",
    "review",
    "caption",
    "messages",
    "conversations",
];

/// Names of what was said, which together with a time make a log.
const SAID: [&str; 6] = ["message", "msg", "log", "line", "event", "@message"];

/// True for a beginning of a table of values, or of a list of objects, that is one of data by its names.
pub fn is_data_set(head: &[u8]) -> bool {
    let text = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head).trim_ascii_start();
    names_of_list(text).or_else(|| table::names(text)).is_some_and(|names| {
        let has = |known: &[&str]| {
            names
                .iter()
                .any(|name| known.contains(&name.to_ascii_lowercase().as_str()))
        };
        has(&DATA) && !has(&SAID)
    })
}

/// Names of the members of a list's first object.
fn names_of_list(text: &[u8]) -> Option<Vec<String>> {
    let inside = text.strip_prefix(b"[")?.trim_ascii_start();
    let mut values = serde_json::Deserializer::from_slice(inside).into_iter::<Value>();
    match values.next()?.ok()? {
        Value::Object(members) => Some(members.into_iter().map(|(name, _)| name).collect()),
        _ => None,
    }
}
