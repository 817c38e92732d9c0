//! Logs as log stores hand them out: which lines they become, and what is read of these.

use serde_json::{Value, json};
use whycrash_evidence::readers::{Lines, Reading};
use whycrash_evidence::{ArtifactKind, Limits, read};

use crate::support::{artifact, exceptions};

fn read_export(text: &str) -> (Reading, Vec<String>) {
    let (artifact, _keep) = artifact("export.json", text.as_bytes());
    let limits = Limits::default();
    let lines = Lines::open(&artifact, &limits).expect("lines");
    (read(&artifact, &limits), lines.range(1, lines.count()).expect("lines"))
}

/// What a program printed, line by line.
const PRINTED: [&str; 5] = [
    "step 1 loss 2.0",
    "Traceback (most recent call last):",
    "  File \"/job/train.py\", line 31, in <module>",
    "    loss.backward()",
    "RuntimeError: CUDA error: an illegal memory access was encountered",
];

/// Seconds since 1970 of the line with this index.
const fn seconds(index: usize) -> u64 {
    1_773_478_277 + index as u64
}

fn date(index: usize) -> String {
    format!("2026-03-14T08:51:{:02}Z", 17 + index)
}

/// The lines in the order in which they were printed, or the other way round.
fn ordered(newest_first: bool) -> Vec<(usize, &'static str)> {
    let mut lines: Vec<_> = PRINTED.into_iter().enumerate().collect();
    if newest_first {
        lines.reverse();
    }
    lines
}

fn records(newest_first: bool, record: impl Fn(usize, &str) -> Value) -> Vec<Value> {
    ordered(newest_first)
        .into_iter()
        .map(|(index, line)| record(index, line))
        .collect()
}

fn by_line(records: &[Value]) -> String {
    records.iter().map(|record| format!("{record}\n")).collect()
}

fn loki(newest_first: bool) -> String {
    let values = records(newest_first, |index, line| {
        json!([format!("{}000000000", seconds(index)), line])
    });
    json!({"status": "success", "data": {"resultType": "streams", "result": [{"stream": {"app": "train"}, "values": values}]}}).to_string()
}

/// Exports of the same five lines, by who wrote them.
fn exports() -> Vec<(&'static str, String)> {
    let mut exports = Vec::new();
    for newest_first in [false, true] {
        let all = |record: fn(usize, &str) -> Value| records(newest_first, record);
        let jsonl = all(|index, line| json!({"labels": {"app": "train"}, "line": line, "timestamp": date(index)}));
        let explore = all(
            |index, line| json!({"line": line, "timestamp": format!("{}000000000", seconds(index)), "date": date(index), "fields": {}}),
        );
        let cloudwatch = all(
            |index, line| json!({"timestamp": seconds(index) * 1000, "message": format!("{line}\n"), "ingestionTime": 1_773_478_299_000_u64, "eventId": "3"}),
        );
        let insights = all(
            |index, line| json!([{"field": "@timestamp", "value": date(index).replace('T', " ").replace('Z', ".000")}, {"field": "@message", "value": line}, {"field": "@ptr", "value": "Cm"}]),
        );
        let elastic = all(
            |index, line| json!({"_index": "logs", "_id": "1", "_source": {"@timestamp": date(index), "message": line}}),
        );
        let google = all(
            |index, line| json!({"insertId": "1", "textPayload": line, "timestamp": date(index), "severity": "ERROR", "logName": "l"}),
        );
        let payload =
            all(|index, line| json!({"insertId": "1", "jsonPayload": {"message": line}, "timestamp": date(index)}));
        let splunk = all(|index, line| json!({"preview": false, "result": {"_raw": line, "_time": date(index)}}));
        let datadog = all(|index, line| json!({"id": "A", "attributes": {"message": line, "timestamp": date(index)}}));
        let plain = all(|index, line| json!({"ts": seconds(index), "msg": line}));
        exports.extend([
            ("Loki's answer", loki(newest_first)),
            ("logcli", by_line(&jsonl)),
            ("Explore", json!(explore).to_string()),
            (
                "get-log-events",
                json!({"events": cloudwatch, "nextForwardToken": "f/1"}).to_string(),
            ),
            (
                "Insights",
                json!({"results": insights, "status": "Complete"}).to_string(),
            ),
            (
                "a search",
                json!({"took": 3, "hits": {"total": {"value": 5}, "hits": elastic}}).to_string(),
            ),
            ("hits by line", by_line(&elastic)),
            ("gcloud", serde_json::to_string_pretty(&google).expect("JSON")),
            ("payloads by line", by_line(&payload)),
            ("Splunk", by_line(&splunk)),
            ("Datadog", json!({"data": datadog}).to_string()),
            ("a list", json!(plain).to_string()),
        ]);
    }
    exports
}

#[test]
fn each_store_gives_the_lines_that_were_printed_oldest_first() {
    let expected: Vec<String> = PRINTED
        .iter()
        .enumerate()
        .map(|(index, line)| format!("{} {line}", date(index)))
        .collect();
    for (of, export) in exports() {
        let (reading, lines) = read_export(&export);
        assert_eq!(reading.kind, Some(ArtifactKind::LogExport), "{of}");
        assert_eq!(lines, expected, "{of}");
        let [raised] = exceptions(&reading.evidence)[..] else {
            panic!("{of}: {:#?}", reading.evidence.timeline)
        };
        assert_eq!(
            raised.message, "CUDA error: an illegal memory access was encountered",
            "{of}"
        );
        let event = &reading
            .evidence
            .timeline
            .iter()
            .find(|event| event.payload.kind() == "python-exception");
        assert_eq!(
            event.and_then(|event| event.time.as_deref()),
            Some(date(1).as_str()),
            "{of}"
        );
    }
}

#[test]
fn what_several_pods_printed_at_once_is_told_apart() {
    let stream = |pod: &str, rank: &str, late: usize, last: &str| {
        let lines = [
            "Traceback (most recent call last):",
            "  File \"/job/train.py\", line 31, in <module>",
            "    step()",
            last,
        ];
        let values: Vec<_> = lines
            .iter()
            .enumerate()
            .map(|(index, line)| json!([format!("{}{:09}", seconds(index), late), line]))
            .collect();
        json!({"stream": {"pod": pod, "container": "main", "rank": rank}, "values": values})
    };
    let streams = [
        stream("train-0", "0", 1, "KeyError: 'a'"),
        stream("train-1", "1", 2, "ValueError: b"),
    ];
    let export = json!({"data": {"resultType": "streams", "result": streams}}).to_string();
    let (reading, lines) = read_export(&export);
    assert!(
        lines[0].ends_with("[pod/train-0/main] [rank0]: Traceback (most recent call last):"),
        "{lines:#?}"
    );
    assert!(lines[1].contains("[pod/train-1/main] "), "{lines:#?}");
    let mut raised: Vec<_> = exceptions(&reading.evidence)
        .iter()
        .map(|raised| raised.exception.as_str())
        .collect();
    raised.sort_unstable();
    assert_eq!(raised, ["KeyError", "ValueError"]);
    let ranks: Vec<_> = reading.evidence.timeline.iter().map(|event| event.rank).collect();
    assert_eq!(ranks, [Some(0), Some(1)]);
}

#[test]
fn streams_of_cloudwatch_are_told_apart() {
    let event = |stream: &str, millis: u64, message: &str| json!({"logStreamName": stream, "timestamp": 1_773_478_277_000 + millis, "message": message, "ingestionTime": 1});
    let events = [
        event("job/algo-1", 1, "Traceback (most recent call last):"),
        event("job/algo-2", 2, "Traceback (most recent call last):"),
        event("job/algo-1", 3, "  File \"a.py\", line 1, in <module>"),
        event("job/algo-2", 4, "  File \"b.py\", line 2, in <module>"),
        event("job/algo-1", 5, "KeyError: 'a'"),
        event("job/algo-2", 6, "ValueError: b"),
    ];
    let (reading, lines) = read_export(&json!({"events": events}).to_string());
    assert_eq!(
        lines[0],
        "2026-03-14T08:51:17.001Z [stream/job/algo-1] Traceback (most recent call last):"
    );
    let raised: Vec<_> = exceptions(&reading.evidence)
        .iter()
        .map(|raised| raised.exception.as_str())
        .collect();
    assert_eq!(raised, ["KeyError", "ValueError"]);
}

#[test]
fn a_line_that_a_runtime_cut_is_one_again() {
    let record = |index: u64, log: &str| json!({"log": log, "stream": "stderr", "time": format!("2026-03-14T08:51:{:02}Z", 59 - index)});
    let records = [
        record(0, "stopped\n"),
        record(1, " said no\n"),
        record(2, "RuntimeError: the server"),
    ];
    let (_, lines) = read_export(&by_line(&records));
    assert_eq!(
        lines,
        [
            "2026-03-14T08:51:57Z RuntimeError: the server said no",
            "2026-03-14T08:51:59Z stopped"
        ]
    );
}

#[test]
fn records_of_loggers_within_records_are_the_lines_they_hold() {
    let said = json!({"level": "error", "time": "2026-03-14T08:51:17Z", "message": "failed", "exc": "Traceback (most recent call last):\n  File \"a.py\", line 1, in <module>\n    f()\nKeyError: 'x'"});
    let export = json!([{"line": said.to_string(), "timestamp": "1773478277000000000", "fields": {}}]).to_string();
    let (reading, lines) = read_export(&export);
    assert!(lines.iter().any(|line| line.ends_with("KeyError: 'x'")), "{lines:#?}");
    assert_eq!(exceptions(&reading.evidence)[0].exception, "KeyError");
}

fn event_of_pod(reason: &str, message: &str, time: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Event", "type": "Warning", "reason": reason, "message": message, "count": 3,
        "firstTimestamp": "2026-03-14T08:00:00Z", "lastTimestamp": time,
        "involvedObject": {"kind": "Pod", "name": "train-0", "namespace": "ml"}, "metadata": {"name": "train-0.17"}})
}

#[test]
fn events_of_a_cluster_are_rows_of_its_table() {
    let items = [
        event_of_pod(
            "BackOff",
            "Back-off restarting failed container main in pod train-0_ml",
            "2026-03-14T08:52:00Z",
        ),
        event_of_pod(
            "Evicted",
            "The node was low on resource: memory. Threshold quantity: 100Mi",
            "2026-03-14T08:51:00Z",
        ),
    ];
    let list = json!({"apiVersion": "v1", "kind": "List", "items": items, "metadata": {"resourceVersion": ""}});
    let (reading, lines) = read_export(&serde_json::to_string_pretty(&list).expect("JSON"));
    assert_eq!(
        lines,
        [
            "2026-03-14T08:51:00Z Warning  Evicted  pod/train-0 (x3)  The node was low on resource: memory. Threshold quantity: 100Mi",
            "2026-03-14T08:52:00Z Warning  BackOff  pod/train-0 (x3)  Back-off restarting failed container main in pod train-0_ml",
        ]
    );
    let kinds: Vec<_> = reading
        .evidence
        .timeline
        .iter()
        .map(|event| event.payload.kind())
        .collect();
    assert!(kinds.contains(&"kernel"), "{:#?}", reading.evidence.timeline);
}

#[test]
fn a_pod_tells_how_its_containers_ended() {
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "train-0"}, "status": {"phase": "Running", "containerStatuses": [{
        "name": "main", "restartCount": 2, "state": {"running": {"startedAt": "2026-03-14T08:53:00Z"}},
        "lastState": {"terminated": {"reason": "OOMKilled", "exitCode": 137, "startedAt": "2026-03-14T08:00:00Z", "finishedAt": "2026-03-14T08:52:00Z"}}}]}});
    for document in [pod.clone(), json!({"apiVersion": "v1", "kind": "List", "items": [pod]})] {
        let (reading, lines) = read_export(&document.to_string());
        assert_eq!(reading.kind, Some(ArtifactKind::LogExport));
        insta::allow_duplicates! { insta::assert_snapshot!(lines.join("\n")) };
        let kinds: Vec<_> = reading
            .evidence
            .timeline
            .iter()
            .map(|event| event.payload.kind())
            .collect();
        assert_eq!(kinds, ["kernel", "process-exit"], "{:#?}", reading.evidence.timeline);
    }
}

#[test]
fn a_container_that_is_started_again_and_again_failed() {
    let mut pulled = event_of_pod(
        "Pulled",
        "Container image already present on machine",
        "2026-03-14T08:52:00Z",
    );
    pulled["type"] = json!("Normal");
    let backed_off = event_of_pod(
        "BackOff",
        "Back-off restarting failed container main",
        "2026-03-14T08:52:00Z",
    );
    let list = json!({"apiVersion": "v1", "kind": "List", "items": [backed_off, pulled]});
    let (reading, lines) = read_export(&list.to_string());
    assert!(lines[1].contains("BackOff"), "{lines:#?}");
    let [event] = &reading.evidence.timeline[..] else {
        panic!("{:#?}", reading.evidence.timeline)
    };
    assert!(event.payload.is_complaint() && !event.survived, "{event:#?}");
}

#[test]
fn how_containers_stand_is_no_failure() {
    let of = |state: &Value| {
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "train-0"},
            "status": {"containerStatuses": [{"name": "main", "restartCount": 0, "state": state}]}})
    };
    for (state, last) in [
        (
            json!({"running": {"startedAt": "2026-03-14T08:53:00Z"}}),
            "2026-03-14T08:53:00Z pod/train-0, container main: running, started anew 0 times",
        ),
        (
            json!({"terminated": {"reason": "Completed", "exitCode": 0}}),
            "    Exit Code:  0",
        ),
    ] {
        let (reading, lines) = read_export(&of(&state).to_string());
        assert_eq!(
            (reading.kind, lines.last().map(String::as_str)),
            (Some(ArtifactKind::LogExport), Some(last))
        );
        assert!(reading.evidence.timeline.is_empty(), "{:#?}", reading.evidence.timeline);
    }
}

#[test]
fn data_that_quotes_failures_is_no_export_and_no_failure() {
    let quoted = "Traceback (most recent call last):\n  File \"a.py\", line 1, in <module>\nRuntimeError: CUDA error: out of memory";
    for text in [
        by_line(&[
            json!({"text": quoted, "timestamp": "2019-04-25T12:57:54Z", "url": "https://example.org"}),
            json!({"text": "b", "timestamp": "2019-04-25T12:57:54Z", "url": "u"}),
        ]),
        by_line(&[
            json!({"prompt": "why?", "completion": quoted}),
            json!({"prompt": "a", "completion": "b"}),
        ]),
        json!([{"instruction": "fix it", "input": quoted, "output": "lower the batch"}]).to_string(),
        serde_json::to_string_pretty(
            &json!([{"title": "crash", "body": quoted, "created_at": "2019-04-25T12:57:54Z"}]),
        )
        .expect("JSON"),
    ] {
        let (reading, _) = read_export(&text);
        assert_eq!(reading.kind, Some(ArtifactKind::Log), "{text}");
        assert!(
            reading.evidence.timeline.is_empty(),
            "{text}: {:#?}",
            reading.evidence.timeline
        );
    }
}

#[test]
fn records_in_order_of_one_writer_stay_the_lines_that_they_are() {
    let text = by_line(&records(
        false,
        |index, line| json!({"log": format!("{line}\n"), "stream": "stderr", "time": date(index)}),
    ));
    let (reading, lines) = read_export(&text);
    assert_eq!(
        (reading.kind, lines[0].starts_with('{')),
        (Some(ArtifactKind::Log), true)
    );
    assert_eq!(exceptions(&reading.evidence).len(), 1);
}

#[test]
fn lines_of_a_logger_that_name_their_source_are_of_one_writer() {
    let record = |index: usize, file: &str| json!({"timestamp": date(index), "level": "INFO", "message": "said", "filename": file});
    let (reading, lines) = read_export(&by_line(&[record(0, "a.rs"), record(1, "b.rs")]));
    assert_eq!(
        (reading.kind, lines[0].starts_with('{')),
        (Some(ArtifactKind::Log), true)
    );
}

#[test]
fn records_among_others_are_lines_of_a_log() {
    let nested = json!({"timestamp": date(0), "level": "WARN", "fields": {"message": "said"}});
    let flat = json!({"timestamp": date(1), "message": "said", "host": "a"});
    let (reading, _) = read_export(&by_line(&[nested.clone(), nested, flat]));
    assert_eq!(reading.kind, Some(ArtifactKind::Log));
}

#[test]
fn of_more_records_than_are_held_the_newest_are_read() {
    let limits = Limits {
        resident_bytes: 64 << 10,
        ..Limits::default()
    };
    for newest_first in [false, true] {
        let mut records: Vec<Value> = (0..2000)
            .map(|index| json!({"_source": {"@timestamp": format!("2026-03-14T08:{:02}:{:02}Z", index / 60, index % 60), "message": format!("step {index}")}}))
            .collect();
        records.extend(records_after(&records));
        if newest_first {
            records.reverse();
        }
        let (artifact, _keep) = artifact("hits.ndjson", by_line(&records).as_bytes());
        let reading = read(&artifact, &limits);
        let codes: Vec<_> = reading.problems.iter().map(|problem| problem.code.as_str()).collect();
        assert_eq!(
            (reading.kind, codes),
            (Some(ArtifactKind::LogExport), vec!["limit-text-bytes"])
        );
        assert_eq!(exceptions(&reading.evidence).len(), 1, "{newest_first}");
    }
}

/// The lines that end the log of these records.
fn records_after(records: &[Value]) -> Vec<Value> {
    let last = records.len() / 60;
    let lines = PRINTED.iter().skip(1).enumerate();
    lines
        .map(|(index, line)| json!({"_source": {"@timestamp": format!("2026-03-14T08:{:02}:{:02}Z", last + 1, index), "message": line}}))
        .collect()
}

#[test]
fn an_export_that_is_too_long_to_be_parsed_was_not_read() {
    let limits = Limits {
        json_bytes: 100,
        ..Limits::default()
    };
    let (artifact, _keep) = artifact("loki.json", loki(false).as_bytes());
    let reading = read(&artifact, &limits);
    assert_eq!(reading.kind, Some(ArtifactKind::Log));
    assert!(
        reading.problems.iter().any(|problem| problem.leaves_unread()),
        "{:#?}",
        reading.problems
    );
}

#[test]
fn other_lines_keep_their_place_among_records() {
    let records = records(
        false,
        |index, line| json!({"_source": {"@timestamp": date(index), "message": line}}),
    );
    let mut lines: Vec<String> = records.iter().map(Value::to_string).collect();
    lines.extend(lines.clone());
    // Behind what tells the form.
    let padding: Vec<String> = (0..400).map(|_| records[0].to_string()).collect();
    let text = [padding, vec!["Killed".to_owned()], lines].concat().join("\n");
    let (reading, lines) = read_export(&text);
    assert_eq!(
        (reading.kind, lines[400].as_str()),
        (Some(ArtifactKind::LogExport), "Killed")
    );
}

#[test]
fn an_export_that_is_cut_is_read_as_the_text_that_it_is() {
    let whole = loki(false);
    let (reading, lines) = read_export(&whole[..whole.len() - 40]);
    assert_eq!((reading.kind, lines.len()), (Some(ArtifactKind::Log), 1));
}
