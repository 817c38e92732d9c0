//! What a person reads, as snapshots.

use serde_json::{Value, json};

use crate::support::{Answer, Home, Server, errors};

fn snapshot(name: &str, text: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.set_prepend_module_to_snapshot(false);
    settings.set_snapshot_path(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/snapshots"));
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(name, text));
}

#[test]
fn help() {
    let home = Home::new();
    let commands = [
        "",
        "run",
        "diagnose",
        "inspect",
        "upload",
        "search",
        "show",
        "cause",
        "doctor",
        "core shrink",
        "core-handler",
        "completions",
    ];
    for command in commands {
        let arguments: Vec<&str> = command.split_whitespace().chain(["--help"]).collect();
        let output = home.whycrash(&arguments).output().expect("it runs");
        let name = if command.is_empty() {
            "help".to_owned()
        } else {
            format!("help-{}", command.replace(' ', "-"))
        };
        snapshot(&name, &String::from_utf8_lossy(&output.stdout));
    }
}

fn frame(function: &str, file: &str, line: u32) -> Value {
    json!({"kind": "native", "function": function, "file": file, "line": line, "module": "/srv/job/reduce", "offset": "0x11f0",
        "address": "0x55d0c0f911f0", "trust": "cfi"})
}

/// A report of every kind of citation.
fn report() -> Value {
    let unnamed = json!({"kind": "native", "module": "/usr/lib/libc.so.6", "offset": "0x891f5", "trust": "cfi"});
    let python = json!({"kind": "python", "function": "forward", "file": "/venv/lib/python3.12/site-packages/torch/nn/linear.py", "line": 125});
    json!({
        "schema": 1, "state": "done", "received": "2026-01-02T03:04:05Z",
        "report": {
            "id": "0123456789abcdef0123456789abcdef", "title": "SIGSEGV in sum_values (reduce.c:24)",
            "signature": {"version": 1, "key": "5eed", "parts": ["sum_values"], "why": "the innermost frames"},
            "exit": {"signal": "SIGSEGV", "code": null},
            "artifacts": [
                {"name": "core", "kind": "elf-core", "bytes": 8_970_240, "sha256": "00", "problems": [
                    {"code": "truncated", "message": "the file ends 4096 bytes before its last segment does; raise the limit on core dumps"}]},
                {"name": "output.log", "kind": "log", "bytes": 412, "sha256": "00", "problems": []}]},
        "findings": [
            {"cause": "seg-null-deref", "title": "Null pointer read or written in native code", "confidence": 0.93,
             "plugin": {"name": "native-crash", "version": "1.0.0"},
             "explanation": "sum_values read address 0x0: `values` was null, and the loop over the shard's values dereferenced it. The pointer comes from reduce_shard, one call up.",
             "citations": [
                {"artifact": "core", "at": {"frame": {"thread": 4711, "index": 0}}, "quote": "sum_values"},
                {"artifact": "core", "at": {"fact": "crash.address_kind"}, "quote": "null"},
                {"artifact": "output.log", "at": {"line": [12, 13]}, "quote": "Fatal Python error: Segmentation fault\n\u{1b}[31mred\u{1b}[0m\tline"},
                {"artifact": "output.log", "at": {"event": 0}, "quote": ""},
                {"artifact": "core", "at": {"bytes": [64, 80]}, "quote": "7f 45 4c 46"}],
             "contradictions": [{"artifact": "core", "at": {"fact": "crash.code"}, "quote": "SEGV_ACCERR"}],
             "fixes": [
                {"summary": "Find which pointer was null, and handle it where it was made", "steps": ["Open the innermost frame that is your code.", "Go one call up and look at what produced the pointer: an unchecked allocation, a failed lookup, a tensor that is undefined."], "not_when": "the address is small but the frame indexes an array"},
                {"summary": "Get the exact line if the frame has no source", "steps": []}],
             "references": ["https://man7.org/linux/man-pages/man2/sigaction.2.html"]},
            {"cause": "seg-wild-pointer", "title": "Corrupted pointer: the address belongs to nothing", "confidence": 0.08, "plugin": {"name": "native-crash", "version": "1.0.0"}}],
        "plugins": [
            {"name": "native-crash", "version": "1.0.0", "outcome": "ok", "reason": null, "fuel": 10, "millis": 0.2},
            {"name": "liar", "version": "0.1.0", "outcome": "failed", "reason": "a citation does not hold: output.log has no line 900", "fuel": 10, "millis": 0.1}],
        "next": [{"artifact": "GPU core dump", "how": "set CUDA_ENABLE_COREDUMP_ON_EXCEPTION=1 and run again", "decides_between": ["seg-null-deref", "seg-libcuda"]}],
        "evidence": {
            "crash": {"signal": "SIGSEGV", "code": "SEGV_MAPERR", "address": "0x0", "address_kind": "null", "access": "read", "thread": 4711},
            "threads": [{"id": 4711, "name": "worker", "crashed": true, "artifact": "core",
                "frames": [frame("sum_values", "/srv/job/reduce.c", 24), frame("reduce_shard", "/srv/job/reduce.c", 30), python, unnamed]}],
            "timeline": [
                {"event": 0, "time": null, "rank": null, "kind": "python-exception", "detail": {"exception": "ValueError", "message": "bad shard"},
                 "primary": true, "text": "ValueError: bad shard", "artifact": "output.log", "at": {"line": [3, 3]}}],
            "context": {"unavailable": [{"what": "GPUs", "why": "the library does not load", "mend": "install the driver"}]}}})
}

fn show(name: &str, report: &Value, form: &[&str]) {
    let home = Home::new();
    let report = report.to_string();
    let server = Server::start(move |request| match request.line.starts_with("GET /api/v1/reports/") {
        true => Answer(200, "", report.clone()),
        false => Answer(200, "", r#"{"total": 7, "hits": [], "facets": {}}"#.to_owned()),
    });
    let output = home
        .whycrash(&["show", "0123456789abcdef0123456789abcdef", "--server", &server.address])
        .args(form)
        .output()
        .expect("it runs");
    assert_eq!(output.status.code(), Some(0), "{}", errors(&output));
    snapshot(name, &String::from_utf8_lossy(&output.stdout));
}

#[test]
fn a_diagnosis() {
    show("diagnosis", &report(), &[]);
    show("diagnosis-full", &report(), &["--full"]);
    show("diagnosis-markdown", &report(), &["--format", "markdown"]);
}

#[test]
fn no_diagnosis() {
    let mut report = report();
    report["findings"] = json!([]);
    show("no-diagnosis", &report, &[]);
    show("no-diagnosis-full", &report, &["--full"]);
}

#[test]
fn no_evidence() {
    let mut report = report();
    report["findings"] = json!([]);
    report["evidence"] = json!({});
    report["next"] = json!([]);
    report["plugins"] = json!([]);
    report["report"] = json!({"id": "0123456789abcdef0123456789abcdef"});
    show("no-evidence", &report, &[]);
}

#[test]
fn search_results() {
    let home = Home::new();
    let server = Server::start(|_| {
        let hits = json!([
            {"id": "0123456789abcdef0123456789abcdef", "title": "torch.OutOfMemoryError in forward (model.py:88)", "cause": "oom-fragmentation",
             "signal": null, "exception": "torch.OutOfMemoryError", "host": "node7", "time": "2026-01-02T03:04:05Z", "count": 12},
            {"id": "fedcba9876543210fedcba9876543210", "title": "SIGSEGV in sum_values (reduce.c:24)", "cause": null, "signal": "SIGSEGV",
             "exception": null, "host": null, "time": "2026-01-01T00:00:00Z", "count": 1}]);
        let facets = json!({"cause": [{"value": "oom-fragmentation", "count": 12}], "host": [], "signal": [{"value": "SIGSEGV", "count": 1}]});
        Answer(
            200,
            "",
            json!({"total": 13, "hits": hits, "facets": facets}).to_string(),
        )
    });
    let output = home
        .whycrash(&["search", "--server", &server.address])
        .output()
        .expect("it runs");
    snapshot("search", &String::from_utf8_lossy(&output.stdout));
}

#[test]
fn causes_are_listed_shown_and_found() {
    let home = Home::new();
    let text = |arguments: &[&str]| {
        let output = home.whycrash(&["cause"]).args(arguments).output().expect("it runs");
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", errors(&output));
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    assert!(text(&[]).contains("oom-fragmentation"));
    assert!(text(&["oom-fragmentation"]).contains("Signs"));
    assert!(text(&["fragmentation"]).contains("oom-fragmentation"));
    let listed: Value = serde_json::from_str(&text(&["--format", "json"])).expect("JSON");
    assert!(
        listed
            .as_array()
            .is_some_and(|causes| causes.iter().any(|cause| cause["id"] == "oom-fragmentation"))
    );
    let output = home.whycrash(&["cause", "zxqv"]).output().expect("it runs");
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn the_doctor_answers_in_both_forms() {
    let home = Home::new();
    let text = home
        .whycrash(&["doctor", "--server", "http://127.0.0.1:1"])
        .output()
        .expect("it runs")
        .stdout;
    let text = String::from_utf8_lossy(&text).into_owned();
    let output = home
        .whycrash(&["doctor", "--format", "json", "--server", "http://127.0.0.1:1"])
        .output()
        .expect("it runs");
    let checks: Vec<Value> = serde_json::from_slice(&output.stdout).expect("JSON");
    for check in &checks {
        assert!(text.contains(check["name"].as_str().expect("a name")), "{check}");
        assert_eq!(check["state"] == "ok", check["mend"].is_null(), "{check}");
        // What is to be copied is in one piece.
        let command = check["command"].as_str().unwrap_or_default();
        assert!(text.lines().any(|line| line.ends_with(command)), "{check}");
    }
    let broken = checks.iter().any(|check| check["state"] == "broken");
    assert_eq!(output.status.code(), Some(i32::from(broken)));
}
