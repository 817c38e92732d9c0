//! The forms in which log stores write their records.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use memchr::memmem;
use serde_json::{Value, json};

use super::record::Record;

/// A form: JSON pointers to what was said and when. The first that leads somewhere counts.
struct Form {
    /// Who writes it.
    #[cfg_attr(not(test), expect(dead_code, reason = "the name of the row"))]
    of: &'static str,
    said: &'static [&'static str],
    time: &'static [&'static str],
    /// What must be there as well.
    with: &'static [&'static str],
    /// Whether a reader of lines takes such a record for what it is.
    is_flat: bool,
    /// Whether a line end in what was said is the line's own: without it the line goes on.
    has_line_ends: bool,
    #[cfg(test)]
    example: &'static str,
}

/// A row, with its example.
macro_rules! form {
    ($of:literal, $said:expr, $time:expr, $with:expr, $flat:literal, $ends:literal, $example:literal) => {
        Form {
            of: $of,
            said: &$said,
            time: &$time,
            with: &$with,
            is_flat: $flat,
            has_line_ends: $ends,
            #[cfg(test)]
            example: $example,
        }
    };
}

#[rustfmt::skip]
const FORMS: [Form; 10] = [
    form!("Docker's json-file", ["/log"], ["/time"], ["/stream"], true, true,
        r#"{"log":"said\n","stream":"stderr","time":"2026-03-14T08:51:17.5Z"}"#),
    form!("logcli -o jsonl", ["/line"], ["/timestamp"], ["/labels"], false, false,
        r#"{"labels":{"pod":"train-0"},"line":"said","timestamp":"2026-03-14T08:51:17.5Z"}"#),
    form!("Grafana's Explore", ["/line"], ["/timestamp"], [], false, false,
        r#"{"line":"said","timestamp":"1773478277500000000","date":"2026-03-14T08:51:17.500Z","fields":{"pod":"train-0"}}"#),
    form!("CloudWatch", ["/message"], ["/timestamp"], ["/ingestionTime"], false, false,
        r#"{"logStreamName":"algo-1","timestamp":1773478277500,"message":"said","ingestionTime":1773478279000}"#),
    form!("CloudWatch Insights' console", ["/@message"], ["/@timestamp"], [], false, false,
        r#"{"@timestamp":"2026-03-14 08:51:17.500","@message":"said"}"#),
    form!("Elasticsearch and OpenSearch",
        ["/_source/message", "/_source/log", "/_source/event/original", "/fields/message/0"],
        ["/_source/@timestamp", "/_source/timestamp", "/_source/time", "/fields/@timestamp/0"], [], false, false,
        r#"{"_index":"logs","_source":{"@timestamp":"2026-03-14T08:51:17.500Z","message":"said"}}"#),
    form!("Google Cloud Logging", ["/textPayload", "/jsonPayload/message", "/jsonPayload/log", "/jsonPayload/msg"],
        ["/timestamp", "/receiveTimestamp"], [], false, false,
        r#"{"insertId":"1","jsonPayload":{"message":"said"},"timestamp":"2026-03-14T08:51:17.5Z","severity":"ERROR"}"#),
    form!("Splunk", ["/result/_raw", "/_raw"], ["/result/_time", "/_time"], [], false, false,
        r#"{"preview":false,"result":{"_raw":"said","_time":"2026-03-14T08:51:17.500+00:00"}}"#),
    form!("Datadog", ["/attributes/message"], ["/attributes/timestamp"], [], false, false,
        r#"{"id":"A","type":"log","attributes":{"message":"said","timestamp":"2026-03-14T08:51:17.500Z"}}"#),
    form!("a list of records that say what they have", ["/message", "/msg", "/log", "/MESSAGE", "/@message"],
        ["/timestamp", "/@timestamp", "/time", "/ts", "/datetime", "/date", "/asctime"], [], true, false,
        r#"{"ts":1773478277.5,"msg":"said"}"#),
];

/// Names of members without which nothing is an export: what was said in the one, its time in the other.
const SAID: [&str; 9] = [
    "\"message\"",
    "\"msg\"",
    "\"log\"",
    "\"line\"",
    "\"@message\"",
    "\"textPayload\"",
    "\"_raw\"",
    "\"values\"",
    "\"MESSAGE\"",
];
const TIMED: [&str; 9] = [
    "\"timestamp\"",
    "\"@timestamp\"",
    "\"time\"",
    "\"ts\"",
    "\"_time\"",
    "\"values\"",
    "\"datetime\"",
    "\"date\"",
    "\"asctime\"",
];

/// Whether a document that starts so may be an export: one that is, is looked at as a whole.
pub fn may_be(head: &[u8]) -> bool {
    let has_one = |names: &[&str]| names.iter().any(|name| memmem::find(head, name.as_bytes()).is_some());
    has_one(&SAID) && has_one(&TIMED)
}

/// The record that an object is.
pub fn record(object: &Value) -> Option<Record> {
    FORMS.iter().find_map(|form| form.record(object))
}

impl Form {
    fn record(&self, object: &Value) -> Option<Record> {
        let said = self.said.iter().find_map(|at| object.pointer(at)?.as_str())?;
        let time = self.time.iter().find_map(|at| time(object.pointer(at)?))?;
        self.with.iter().all(|at| object.pointer(at).is_some()).then_some(())?;
        let mut record = Record {
            time: Some(time),
            writer: writer(object),
            rank: rank(object),
            is_flat: self.is_flat,
            goes_on: self.has_line_ends && !said.ends_with('\n'),
            ..Record::default()
        };
        record.say(said);
        Some(record)
    }
}

/// The lines of a stream as Loki answers: its labels, and pairs of nanoseconds and line.
pub fn stream(object: &Value) -> Option<Vec<Record>> {
    let labels = object.get("stream").or(object.get("labels"))?;
    let values = object.get("values")?.as_array()?;
    let of = json!({ "labels": labels });
    let (writer, rank) = (writer(&of), rank(&of));
    let records = values.iter().filter_map(|pair| {
        let mut record = Record {
            time: Some(time(pair.get(0)?)?),
            writer: writer.clone(),
            rank,
            ..Record::default()
        };
        record.say(pair.get(1)?.as_str()?);
        Some(record)
    });
    Some(records.collect())
}

/// The rows of an answer of CloudWatch Insights, each a list of fields and their values.
pub fn table(object: &Value) -> Option<Vec<Record>> {
    let rows = object.get("results")?.as_array()?;
    let records = rows.iter().filter_map(|row| {
        let field = |name: &str| {
            let field = row.as_array()?.iter().find(|field| field["field"] == name)?;
            field.get("value")
        };
        let stream = field("@logStream").and_then(Value::as_str);
        let mut record = Record {
            time: Some(time(field("@timestamp")?)?),
            writer: stream.map_or_else(String::new, |name| named("stream", &[name])),
            ..Record::default()
        };
        record.say(field("@message")?.as_str()?);
        Some(record)
    });
    let records: Vec<Record> = records.collect();
    (!records.is_empty()).then_some(records)
}

/// Where pods, containers and other writers have their names. Those of one row are of one writer.
const WRITERS: [(&str, &[&[&str]]); 3] = [
    (
        "pod",
        &[
            &["/pod", "/container"],
            &["/labels/pod", "/labels/container"],
            &["/fields/pod", "/fields/container"],
            &["/pod_name", "/container_name"],
            &["/labels/pod_name", "/labels/container_name"],
            &["/kubernetes/pod_name", "/kubernetes/container_name"],
            &["/kubernetes/pod/name", "/kubernetes/container/name"],
            &["/_source/kubernetes/pod_name", "/_source/kubernetes/container_name"],
            &["/_source/kubernetes/pod/name", "/_source/kubernetes/container/name"],
            &["/resource/labels/pod_name", "/resource/labels/container_name"],
        ],
    ),
    (
        "stream",
        &[
            &["/logStreamName"],
            &["/@logStream"],
            &["/attrs/tag"],
            &["/container_id"],
            &["/labels/filename"],
            &["/_source/log/file/path"],
            &["/result/source"],
        ],
    ),
    (
        "host",
        &[
            &["/labels/host"],
            &["/labels/instance"],
            &["/host"],
            &["/hostname"],
            &["/_source/host/name"],
            &["/_source/host/hostname"],
            &["/attributes/host"],
            &["/result/host"],
            &["/resource/labels/instance_id"],
        ],
    ),
];

fn writer(object: &Value) -> String {
    let rows = WRITERS
        .iter()
        .flat_map(|(kind, rows)| rows.iter().map(move |row| (*kind, *row)));
    let mut named_by = rows.filter_map(|(kind, row)| {
        let parts: Vec<&str> = row.iter().map_while(|at| object.pointer(at)?.as_str()).collect();
        (!parts.is_empty()).then(|| named(kind, &parts))
    });
    named_by.next().unwrap_or_default()
}

/// A writer by its kind and names, as it stands in brackets before a line.
fn named(kind: &str, parts: &[&str]) -> String {
    let is_of_name = |c: char| !(c.is_whitespace() || c.is_control() || c == '[' || c == ']');
    let parts = parts
        .iter()
        .map(|part| part.chars().filter(|c| is_of_name(*c)).take(120).collect());
    let parts: Vec<String> = parts.collect();
    format!("{kind}/{}", parts.join("/"))
}

fn rank(object: &Value) -> Option<u64> {
    let places = [
        "/rank",
        "/labels/rank",
        "/_source/rank",
        "/jsonPayload/rank",
        "/fields/rank",
    ];
    let rank = places.iter().find_map(|at| object.pointer(at))?;
    rank.as_u64().or_else(|| rank.as_str()?.parse().ok())
}

/// A time as exports write it: RFC 3339, a date without a zone (which is UTC), or what has passed since 1970.
pub fn time(value: &Value) -> Option<Timestamp> {
    match value {
        Value::String(text) => of_text(text.trim()),
        Value::Number(number) => since_1970(number.as_f64()?),
        Value::Object(_) => Timestamp::from_second(value.get("seconds")?.as_i64()?).ok(),
        _ => None,
    }
}

fn of_text(text: &str) -> Option<Timestamp> {
    if text.bytes().all(|byte| byte.is_ascii_digit()) && text.len() == 19 {
        return Timestamp::from_nanosecond(text.parse().ok()?).ok();
    }
    let of_number = || text.parse().ok().and_then(since_1970);
    let of_zone = || text.parse::<Timestamp>().ok();
    let of_utc = || {
        text.parse::<DateTime>()
            .ok()?
            .to_zoned(TimeZone::UTC)
            .ok()
            .map(|time| time.timestamp())
    };
    of_zone().or_else(of_utc).or_else(of_number)
}

/// Seconds, or thousandths, millionths or thousand millionths of them. What is no time of a computer is none.
fn since_1970(number: f64) -> Option<Timestamp> {
    /// 2001 and 2286, in seconds.
    const YEARS: std::ops::Range<f64> = 1e9..1e10;
    let seconds = [1.0, 1e3, 1e6, 1e9].iter().map(|unit| number / unit);
    let seconds = seconds.into_iter().find(|seconds| YEARS.contains(seconds))?;
    let micros = (seconds * 1e6).round() as i64;
    Timestamp::from_microsecond(micros).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_form_reads_its_example_and_no_form_before_it_does() {
        for form in &FORMS {
            let example: Value = serde_json::from_str(form.example).expect("JSON");
            let first = FORMS.iter().find(|form| form.record(&example).is_some());
            assert_eq!(first.map(|form| form.of), Some(form.of));
            let record = record(&example).expect("a record");
            assert_eq!((record.text.as_str(), record.goes_on), ("said", false), "{}", form.of);
            assert_eq!(
                record.time.expect("a time").as_millisecond(),
                1_773_478_277_500,
                "{}",
                form.of
            );
            assert!(may_be(form.example.as_bytes()), "{}", form.of);
        }
    }
}
