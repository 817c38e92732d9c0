//! Events and pods as `kubectl get -o json` writes them, in the words of `kubectl describe`.

use jiff::Timestamp;
use memchr::memmem;
use serde_json::Value;

use super::forms::time;
use super::record::Record;
use crate::readers::json;

/// Kinds of objects that say what happened.
const EVENT: &str = "Event";
const POD: &str = "Pod";

/// Whether a document that starts so may be a list of these, or one of them.
pub fn may_be(head: &[u8]) -> bool {
    let has = |name: &str| memmem::find(head, name.as_bytes()).is_some();
    has("\"apiVersion\"")
        && (has("\"involvedObject\"") || has("\"regarding\"") || has("\"kind\": \"Pod\"") || has("\"kind\":\"Pod\""))
}

/// What an event or a pod says.
pub fn records(object: &Value) -> Option<Vec<Record>> {
    match object.get("kind")?.as_str()? {
        EVENT => Some(vec![event(object)]),
        POD => Some(pod(object)),
        _ => None,
    }
}

fn word<'v>(object: &'v Value, at: &str) -> &'v str {
    object.pointer(at).and_then(Value::as_str).unwrap_or_default()
}

fn first_word<'v>(object: &'v Value, places: &[&str]) -> &'v str {
    let mut words = places.iter().map(|at| word(object, at));
    words.find(|word| !word.is_empty()).unwrap_or_default()
}

fn first_time(object: &Value, places: &[&str]) -> Option<Timestamp> {
    places.iter().find_map(|at| time(object.pointer(at)?))
}

/// A row of the table of events: `Warning  BackOff  pod/train-0  Back-off restarting failed container`.
fn event(event: &Value) -> Record {
    let kind = first_word(event, &["/involvedObject/kind", "/regarding/kind"]).to_ascii_lowercase();
    let name = first_word(event, &["/involvedObject/name", "/regarding/name"]);
    let count = ["/count", "/series/count", "/deprecatedCount"]
        .iter()
        .find_map(|at| event.pointer(at)?.as_u64());
    let count = count
        .filter(|count| *count > 1)
        .map_or_else(String::new, |count| format!(" (x{count})"));
    let message = first_word(event, &["/message", "/note"]).split_whitespace();
    Record {
        time: first_time(
            event,
            &[
                "/lastTimestamp",
                "/series/lastObservedTime",
                "/deprecatedLastTimestamp",
                "/eventTime",
                "/firstTimestamp",
                "/metadata/creationTimestamp",
            ],
        ),
        text: format!(
            "{}  {}  {kind}/{name}{count}  {}",
            first_word(event, &["/type"]),
            word(event, "/reason"),
            message.collect::<Vec<_>>().join(" ")
        ),
        // Times are of whole seconds: what a container is warned of comes after it was started.
        is_late: word(event, "/type") == "Warning",
        ..Record::default()
    }
}

/// What became of the containers of a pod, each with the time of its end.
fn pod(pod: &Value) -> Vec<Record> {
    let name = word(pod, "/metadata/name");
    let mut records = Vec::new();
    let reason = word(pod, "/status/reason");
    if !reason.is_empty() {
        records.push(Record {
            text: format!("Warning  {reason}  pod/{name}  {}", word(pod, "/status/message")),
            ..Record::default()
        });
    }
    let status = pod.get("status").unwrap_or(&Value::Null);
    let lists = [
        "initContainerStatuses",
        "containerStatuses",
        "ephemeralContainerStatuses",
    ];
    let containers = lists.iter().flat_map(|list| json::list(status, list));
    for container in containers {
        for (title, at) in [("Last State", "/lastState/terminated"), ("State", "/state/terminated")] {
            let ended = container.pointer(at);
            records.extend(ended.map(|ended| end(name, container, title, ended)));
        }
        let waiting = container.pointer("/state/waiting");
        records.extend(waiting.and_then(|waiting| wait(name, container, waiting)));
        let running = container.pointer("/state/running");
        records.extend(running.map(|running| run(name, container, running)));
    }
    records
}

/// How a container ended.
fn end(pod: &str, container: &Value, title: &str, ended: &Value) -> Record {
    let mut lines = vec![
        format!("pod/{pod}, container {}:", word(container, "/name")),
        format!("  {title}:  Terminated"),
    ];
    let mut add = |name: &str, value: String| {
        lines.extend((!value.is_empty()).then(|| format!("    {name}:  {value}")));
    };
    let number = |at: &str| ended.pointer(at).and_then(Value::as_i64);
    add("Reason", word(ended, "/reason").to_owned());
    add(
        "Exit Code",
        number("/exitCode").map_or_else(String::new, |code| code.to_string()),
    );
    add(
        "Signal",
        number("/signal").map_or_else(String::new, |signal| signal.to_string()),
    );
    add("Started", word(ended, "/startedAt").to_owned());
    add("Finished", word(ended, "/finishedAt").to_owned());
    // What the container wrote to its termination log.
    lines.extend(word(ended, "/message").lines().map(str::to_owned));
    Record {
        time: first_time(ended, &["/finishedAt", "/startedAt"]),
        text: lines.join("\n"),
        is_state: number("/exitCode") == Some(0),
        ..Record::default()
    }
}

/// That a container runs, and how often it was started anew.
fn run(pod: &str, container: &Value, running: &Value) -> Record {
    let restarts = container
        .get("restartCount")
        .and_then(Value::as_u64)
        .unwrap_or_default();
    Record {
        time: first_time(running, &["/startedAt"]),
        text: format!(
            "pod/{pod}, container {}: running, started anew {restarts} times",
            word(container, "/name")
        ),
        is_state: true,
        ..Record::default()
    }
}

/// Why a container does not run.
fn wait(pod: &str, container: &Value, waiting: &Value) -> Option<Record> {
    let reason = word(waiting, "/reason");
    // What every pod does before it starts.
    let is_start = ["", "ContainerCreating", "PodInitializing"].contains(&reason);
    (!is_start).then(|| Record {
        text: format!(
            "Warning  {reason}  pod/{pod}, container {}  {}",
            word(container, "/name"),
            word(waiting, "/message")
        ),
        ..Record::default()
    })
}
