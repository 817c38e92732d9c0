//! Records of loggers that write one line of JSON each: journald (`journalctl -o json`), container runtimes, and what
//! programs use; and lines as tables of comma-separated values hold them.

use serde_json::{Map, Value};

use super::regex;

/// Members that have the time, and those that tell that it is a record of a log: data has neither.
const TIMES: [&str; 5] = ["time", "timestamp", "@timestamp", "ts", "asctime"];
const LEVELS: [&str; 5] = ["level", "levelname", "severity", "lvl", "stream_name"];

/// Members that have what was said.
const MESSAGES: [&str; 6] = ["message", "msg", "textPayload", "event", "text", "data"];

/// Of these, what records of data have as well, with a time: it takes a level to tell that they are of a log.
const OF_DATA: &str = "text";

const HEADER: &str = "Traceback (most recent call last):\n";
const ESCAPED: &str = r"Traceback (most recent call last):\n";

/// Members that have what went wrong, beside what was said of it.
const REASONS: [&str; 6] = ["error", "err", "exc", "exception", "cause", "reason"];

/// Objects in objects that are looked into for a traceback.
const DEPTH: usize = 3;

/// The line inside a record, with its time and rank in front like any other prefix.
pub fn line(record: &str) -> Option<String> {
    let members = members(record)?;
    let message = message(&members)?.trim_end_matches('\n');
    let reason = text(&members, &REASONS).filter(|reason| !message.contains(reason));
    let reason = reason.map_or_else(String::new, |reason| {
        format!(" failed: {}", reason.trim_end_matches('\n'))
    });
    Some(format!("{}{message}{reason}", prefix(&members)))
}

/// The line in a table of times and messages, `1661791306172,"  File ""run.py"", line 610, in main"`, where it had to be
/// put in quotation marks.
pub fn cell(text: &str) -> Option<String> {
    let (time, message) = text.trim_end().split_once(",\"")?;
    let is_time = time.len() == 13 && time.bytes().all(|byte| byte.is_ascii_digit());
    let message = message.strip_suffix('"').filter(|_| is_time)?;
    Some(format!("{time},{}", message.replace("\"\"", "\"")))
}

/// The lines of a traceback that stands whole in one record, behind what was said with it.
pub fn traceback(raw: &[u8]) -> Option<Vec<String>> {
    let may_be = raw.first() == Some(&b'{') && memchr::memmem::find(raw, ESCAPED.as_bytes()).is_some();
    let members = members(std::str::from_utf8(raw).ok().filter(|_| may_be)?)?;
    let prefix = prefix(&members);
    let said = message(&members)?;
    let traceback = members.values().find_map(|value| with_traceback(value, DEPTH))?;
    let said = (said != traceback).then_some(said);
    let lines = said.into_iter().chain([traceback]).flat_map(str::lines);
    Some(lines.map(|line| format!("{prefix}{line}")).collect())
}

/// A record's members. Python writes numbers that JSON has no form for by their names, `{"loss": NaN}`.
pub fn members(record: &str) -> Option<Map<String, Value>> {
    let parsed = serde_json::from_str(record);
    parsed
        .or_else(|_| serde_json::from_str(&with_quoted_names(record)))
        .ok()
}

/// JSON with strings for what stands in no string and is neither a number nor a word that it knows.
pub fn with_quoted_names(json: &str) -> String {
    // A string is matched whole, and put back.
    regex!(r#""(?:[^"\\]|\\.)*"|-?\b(?:NaN|Infinity)\b"#)
        .replace_all(json, |found: &regex::Captures| {
            if found[0].starts_with('"') {
                found[0].to_owned()
            } else {
                format!("\"{}\"", &found[0])
            }
        })
        .into_owned()
}

fn with_traceback(value: &Value, depth: usize) -> Option<&str> {
    match value {
        Value::String(text) => Some(text.as_str()).filter(|text| text.contains(HEADER)),
        Value::Object(members) if depth > 0 => members.values().find_map(|value| with_traceback(value, depth - 1)),
        _ => None,
    }
}

fn text<'m>(members: &'m Map<String, Value>, names: &[&str]) -> Option<&'m str> {
    names.iter().find_map(|name| members.get(*name)?.as_str())
}

fn message(members: &Map<String, Value>) -> Option<&str> {
    let has = |names: &[&str]| names.iter().any(|name| members.contains_key(*name));
    let (has_time, has_level) = (has(&TIMES), has(&LEVELS));
    let may_say = |name: &&str| has_level || has_time && *name != OF_DATA;
    let of_program = || {
        let mut said = MESSAGES.iter().filter(|name| may_say(name));
        said.find_map(|name| members.get(*name)?.as_str())
    };
    // `tracing`, which servers in Rust log with, has its fields in an object of their own.
    let in_fields = || {
        text(
            members.get("fields").filter(|_| has_time || has_level)?.as_object()?,
            &MESSAGES,
        )
    };
    text(members, &["MESSAGE", "log"])
        .or_else(of_program)
        .or_else(in_fields)
}

/// The time, and the rank where the record has it.
fn prefix(members: &Map<String, Value>) -> String {
    let micros = text(members, &["__REALTIME_TIMESTAMP"]).and_then(|micros| micros.parse().ok());
    let of_journal = micros.and_then(|micros| jiff::Timestamp::from_microsecond(micros).ok());
    let time = of_journal
        .map(|time| time.to_string())
        .or_else(|| text(members, &TIMES).map(str::to_owned));
    let rank = members.get("rank").and_then(Value::as_u64);
    let time = time.map_or_else(String::new, |time| format!("{time} "));
    let rank = rank.map_or_else(String::new, |rank| format!("[rank{rank}]: "));
    time + &rank
}
