//! Facts of a report for tests.

use serde_json::Value;

use super::{Report, list};

/// Members of the evidence that are told as a whole.
const WHOLE: [&str; 2] = ["crash", "collectives"];
/// Lists of the evidence of which every entry is told by itself.
const LISTS: [&str; 8] = [
    "threads",
    "modules",
    "memory_snapshots",
    "memory_details",
    "gpu_cores",
    "timeline",
    "communicators",
    "processes",
];

impl Report {
    /// The JSON at a dotted path into the evidence.
    pub fn fact(&self, path: &str) -> Option<String> {
        let path = dotted(path);
        let (member, rest) = split(&path);
        let found = match member {
            "context" => return self.context(rest),
            "history" => descend(&self.history, rest),
            _ if WHOLE.contains(&member) => descend(self.evidence.get(member)?, rest),
            _ if LISTS.contains(&member) && !rest.is_empty() => descend(self.evidence.get(member)?, rest),
            _ => None,
        };
        let is_absent = member == "history" && self.history.is_null();
        found.filter(|_| !is_absent).map(Value::to_string)
    }

    /// The JSON at a dotted path into what the collector wrote down.
    pub fn context(&self, path: &str) -> Option<String> {
        let context = self.evidence.get("context")?;
        descend(context, &dotted(path)).map(Value::to_string)
    }

    /// How many entries a list of the evidence has.
    pub fn count(&self, of: &str) -> u32 {
        let is_told = LISTS.contains(&of);
        let entries = list(&self.evidence, of).len();
        if is_told {
            u32::try_from(entries).unwrap_or(u32::MAX)
        } else {
            0
        }
    }
}

/// A JSON pointer (RFC 6901) as a dotted path; a dotted path as it is.
fn dotted(path: &str) -> String {
    match path.strip_prefix('/') {
        Some(pointer) => pointer.replace('/', ".").replace("~1", "/").replace("~0", "~"),
        None => path.to_owned(),
    }
}

fn split(path: &str) -> (&str, &str) {
    path.split_once('.').unwrap_or((path, ""))
}

/// A key that itself has dots, such as a package's name, is found when it comes last.
fn descend<'a>(value: &'a Value, path: &str) -> Option<&'a Value> {
    if path.is_empty() {
        return Some(value);
    }
    if let Some(value) = value.get(path) {
        return Some(value);
    }
    let (key, rest) = split(path);
    let next = match value {
        Value::Array(items) => items.get(key.parse::<usize>().ok()?)?,
        _ => value.get(key)?,
    };
    descend(next, rest)
}
