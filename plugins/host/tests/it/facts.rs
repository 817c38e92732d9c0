//! Facts that stand beside a failure and decide what it was: counters, limits, who sent a signal, who has a lock.

use std::fs;

use serde_json::{Value, json};
use whycrash_evidence::Artifact;
use whycrash_plugin_host::{Diagnoser, Document, Input, Settings};

use crate::support::cache;

/// What is said of a report of these artifacts.
fn diagnose(artifacts: &[(&str, String)]) -> Document {
    let folder = tempfile::tempdir().unwrap();
    let settings = Settings {
        cache: Some(cache()),
        ..Settings::default()
    };
    let artifacts = artifacts.iter().map(|(name, text)| {
        fs::write(folder.path().join(name), text).unwrap();
        Artifact::new(*name, folder.path().join(name))
    });
    Diagnoser::new(settings).unwrap().diagnose(&Input {
        artifacts: artifacts.collect(),
        ..Input::default()
    })
}

/// A job that ended so, with what the collector knows beside that.
fn context(exit: &Value, beside: &Value) -> (&'static str, String) {
    let mut context = json!({
        "whycrash_context": 1, "kind": "crash", "command": ["python", "train.py"], "pid": 4711, "host": "node-7",
        "started": "2026-03-02T10:00:00Z", "ended": "2026-03-02T10:20:00Z", "exit": exit,
    });
    let (context_map, beside) = (context.as_object_mut().unwrap(), beside.as_object().unwrap().clone());
    context_map.extend(beside);
    ("context.json", context.to_string())
}

fn first(document: &Document) -> (&str, &str) {
    let finding = document.findings.first();
    finding.map_or(("", ""), |finding| (&finding.cause, &finding.explanation))
}

#[test]
fn a_counter_that_did_not_move_clears_the_out_of_memory_killer() {
    let killed = json!({"signal": "SIGKILL", "code": null});
    let missing = json!([{"what": "kernel log", "why": "can not read /dev/kmsg: Operation not permitted"}]);
    let rows = [
        (json!({"oom_kills": 0}), "op-terminated", "tells of no kill"),
        (
            json!({"oom_kills": 0, "unavailable": missing}),
            "op-terminated",
            "(oom_kills 0). So somebody",
        ),
        (json!({"oom_kills": 2}), "host-oom-killer", "2 processes"),
        (json!({}), "kill-sigkill", "nothing here says by whom"),
    ];
    for (beside, cause, words) in rows {
        let document = diagnose(&[context(&killed, &beside)]);
        let (found, explanation) = first(&document);
        assert_eq!(found, cause, "{beside}: {explanation}");
        assert!(explanation.contains(words), "{beside}: {explanation}");
    }
    let kernel = "[  812.334455] Memory cgroup out of memory: Killed process 4711 (python) total-vm:20971520kB, anon-rss:8388608kB, file-rss:0kB, shmem-rss:0kB, UID:1000 pgtables:16384kB oom_score_adj:0\n";
    let document = diagnose(&[
        context(&killed, &json!({"oom_kills": 1})),
        ("kernel.log", kernel.to_owned()),
    ]);
    assert_eq!(
        first(&document).0,
        "host-oom-killer",
        "the kernel's own line says more than the counter"
    );
}

const REFUSED: [&str; 4] = [
    "Traceback (most recent call last):\n  File \"/job/train.py\", line 9, in load\n    rows = [0] * size\nMemoryError\n",
    "Traceback (most recent call last):\n  File \"/job/train.py\", line 9, in load\n    rows = np.empty(size)\nnumpy.core._exceptions._ArrayMemoryError: Unable to allocate 7.45 GiB for an array with shape (1000000000,) and data type float64\n",
    "terminate called after throwing an instance of 'std::bad_alloc'\n  what():  std::bad_alloc\n",
    "Traceback (most recent call last):\n  File \"/job/train.py\", line 3, in read\n    mm = mmap.mmap(f.fileno(), 0)\nOSError: [Errno 12] Cannot allocate memory\n",
];

#[test]
fn a_limit_on_address_space_is_what_refused_memory() {
    let ended = json!({"signal": null, "code": 1});
    for log in REFUSED {
        let of = |limit: &str| {
            let limits = json!({"limits": {"address_space": [limit, "unlimited"]}});
            diagnose(&[context(&ended, &limits), ("output.log", log.to_owned())])
        };
        let limited = of("2147483648");
        let finding = limited.findings.first().unwrap_or_else(|| panic!("{log}"));
        assert_eq!(finding.cause, "oom-host-allocator", "{log}");
        assert!(finding.title.contains("ulimit -v"), "{log}: {}", finding.title);
        assert!(
            finding
                .citations
                .iter()
                .any(|citation| citation.quote.contains("2147483648")),
            "{log}: {:?}",
            finding.citations
        );
        let free = of("unlimited");
        let finding = free.findings.first().unwrap_or_else(|| panic!("{log}"));
        assert_eq!(finding.cause, "oom-host-allocator", "{log}");
        assert!(!finding.title.contains("ulimit -v"), "{log}: {}", finding.title);
    }
}

#[test]
fn a_pod_that_was_evicted_for_disk_wrote_no_checkpoint() {
    let events = "LAST SEEN   TYPE      REASON    OBJECT             MESSAGE\n3m          Warning   Evicted   pod/train-0        The node was low on resource: ephemeral-storage. Threshold quantity: 10737418240, available: 9120112Ki. Container main was using 210443012Ki, request is 0, has larger consumption of ephemeral-storage.\n";
    let document = diagnose(&[("events.txt", events.to_owned())]);
    let finding = document.findings.first().expect("a finding");
    assert!(finding.title.contains("evicted"), "{}", finding.title);
    assert!(!finding.title.contains("checkpoint"), "{}", finding.title);
}

/// A thread as the collector writes it down.
fn thread(id: u32, name: &str, frames: &[(&str, &str, u32)], awaits: &Value) -> Value {
    let frames = frames
        .iter()
        .map(|(function, file, line)| json!({"name": function, "filename": file, "line": line}));
    json!({
        "pid": 10, "os_thread_id": id, "thread_name": name, "active": false, "owns_gil": false, "call": "futex",
        "awaits": awaits, "frames": frames.collect::<Vec<_>>(),
    })
}

const STEADY: [(&str, &str, u32); 2] = [
    ("join", "/usr/lib/python3.11/threading.py", 1119),
    ("main", "/job/train.py", 40),
];

fn hung(threads: &[Value]) -> Document {
    let context = json!({
        "whycrash_context": 1, "kind": "hang", "command": ["python", "train.py"], "pid": 10,
        "stall": {"since": null, "at": "2026-03-02T10:00:00Z", "until": null, "idle_s": null, "processes": [
            {"pid": 10, "state": "S", "call": "futex", "frames": [{"kind": "python", "function": "main", "file": "/job/train.py", "line": 40}]},
        ]},
    });
    diagnose(&[
        ("context.json", context.to_string()),
        ("stacks.10.json", Value::from(threads.to_vec()).to_string()),
    ])
}

#[test]
fn locks_in_a_circle_are_a_deadlock_and_both_lines_are_cited() {
    let lock =
        |address: &str, holder: u32| json!({"kind": "lock", "address": address, "holder": holder, "taken_in": 0});
    let document = hung(&[
        thread(10, "MainThread", &STEADY, &Value::Null),
        thread(11, "loader", &[("first", "/job/train.py", 12)], &lock("0x7f20", 12)),
        thread(12, "writer", &[("second", "/job/train.py", 20)], &lock("0x7f10", 11)),
    ]);
    let finding = document.findings.first().expect("a finding");
    assert_eq!(finding.cause, "hang-lock-order", "{}", finding.explanation);
    assert!(finding.confidence > 0.9, "{}", finding.confidence);
    for words in ["loader (thread 11)", "train.py:12", "writer (thread 12)", "train.py:20"] {
        assert!(finding.explanation.contains(words), "{words}: {}", finding.explanation);
    }
    let quotes: Vec<&str> = finding
        .citations
        .iter()
        .map(|citation| citation.quote.as_str())
        .collect();
    for line in ["first", "second"] {
        assert!(quotes.iter().any(|quote| quote.contains(line)), "{line}: {quotes:?}");
    }
    assert!(
        document.report.title.contains("each other's locks"),
        "{}",
        document.report.title
    );
}

#[test]
fn locks_whose_holders_nobody_knows_make_a_deadlock_likely_only_where_no_thread_runs() {
    let lock = |address: &str| json!({"kind": "lock", "address": address});
    let threads = |running: bool| {
        let mut main = thread(10, "MainThread", &STEADY, &Value::Null);
        main["active"] = json!(running);
        [
            main,
            thread(11, "loader", &[("first", "/job/train.py", 12)], &lock("0x7f20")),
            thread(12, "writer", &[("second", "/job/train.py", 20)], &lock("0x7f10")),
        ]
    };
    let still = hung(&threads(false));
    let (cause, explanation) = first(&still);
    assert_eq!(cause, "hang-lock-order");
    assert!(explanation.contains("none of the 3 threads"), "{explanation}");
    let confidence = still.findings[0].confidence;
    assert!(confidence < 0.9, "{confidence}: no circle was seen");
    let at_work = hung(&threads(true));
    assert_ne!(first(&at_work).0, "hang-lock-order");
}

#[test]
fn a_job_that_waits_says_for_what_and_for_how_long_only_where_that_is_known() {
    let queue = [
        ("wait", "/usr/lib/python3.11/threading.py", 320),
        ("get", "/usr/lib/python3.11/queue.py", 171),
        ("consume", "/job/train.py", 7),
    ];
    let document = hung(&[thread(10, "MainThread", &queue, &Value::Null)]);
    let finding = document.findings.first().expect("a finding");
    assert_eq!(finding.cause, "hang-no-progress");
    assert_eq!(finding.title, "The job waits for a queue, in consume (train.py:7)");
    assert!(
        finding.explanation.contains("the only thread of process 10 waits"),
        "{}",
        finding.explanation
    );
    assert!(!finding.explanation.contains("seconds"), "{}", finding.explanation);
}

#[test]
fn a_text_that_stands_in_the_program_is_no_damaged_data_set() {
    let raised = |function: &str, source: &str, error: &str| {
        format!(
            "Traceback (most recent call last):\n  File \"/job/train.py\", line 12, in {function}\n    {source}\n  File \"/usr/lib/python3.11/json/__init__.py\", line 346, in loads\n    return _default_decoder.decode(s)\n{error}\n"
        )
    };
    let json =
        "json.decoder.JSONDecodeError: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)";
    let rows = [
        ("<module>", "options = json.loads(\"{'lr': 1}\")", "py-bad-call"),
        ("main", "row = json.loads(line)", "data-sample-corrupt"),
        ("__getitem__", "return json.loads(\"{'lr': 1}\")", "data-sample-corrupt"),
    ];
    for (function, source, cause) in rows {
        let document = diagnose(&[("train.log", raised(function, source, json))]);
        assert_eq!(first(&document).0, cause, "{source}: {:?}", document.findings);
    }
    let literal = "Traceback (most recent call last):\n  File \"/job/train.py\", line 4, in parse_answer\n    return ast.literal_eval(text)\n  File \"/usr/lib/python3.11/ast.py\", line 64, in literal_eval\n    node_or_string = parse(node_or_string.lstrip(\" \\t\"), mode='eval')\n  File \"/usr/lib/python3.11/ast.py\", line 50, in parse\n    return compile(source, filename, mode, flags,\n  File \"<unknown>\", line 1\n    {'a': \n    ^\nSyntaxError: '{' was never closed\n";
    let document = diagnose(&[("train.log", literal.to_owned())]);
    let (cause, explanation) = first(&document);
    assert_eq!(cause, "py-bad-call", "{explanation}");
}
