//! Artifacts, metadata, file names and servers that try to take over the terminal.

use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::support::{Answer, Home, ID, Server};
use crate::terminal::ON_A_TERMINAL;

/// A title, a colour that we do not use, a cleared screen, a clipboard, deletions, reversed and hidden text, other
/// line ends: in both forms of control sequences, and one that does not end.
const HOSTILE: &str = "A\u{1b}]0;pwned\u{7}\u{1b}[35mB\u{1b}[2J\u{1b}]52;c;eA==\u{1b}\\C\u{9b}35mD\u{9d}0;pwned\u{9c}\u{7f}\u{8}E\
    \u{202e}F\u{2066}\u{200b}\u{feff}\u{2028}G\u{2029}\u{85}\r\t\u{1b}(0H\u{1b}]0;open\u{0}END";
/// The styles that we use.
const OWN: [&str; 7] = ["0", "1", "2", "31", "32", "33", "36"];

/// Fails on anything in an output that a terminal would act on, but for line ends and our own styles.
fn assert_harmless(output: &[u8], what: &str) {
    let mut text = std::str::from_utf8(output)
        .unwrap_or_else(|error| panic!("{what}: {error}"))
        .to_owned();
    for style in OWN {
        text = text.replace(&format!("\u{1b}[{style}m"), "");
    }
    let acts = |c: char| {
        c != '\n' && c.is_control()
            || matches!(c, '\u{61c}' | '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
    };
    let line = text.lines().find(|line| line.contains(acts));
    assert!(line.is_none(), "{what}: {line:?}");
}

/// Runs the program with colours on; both of its outputs must be harmless. What it printed.
fn run(mut command: Command, what: &str) -> String {
    let output = command
        .env("CLICOLOR_FORCE", "1")
        .env("WHYCRASH_LOG", "debug")
        .output()
        .expect("it runs");
    assert_harmless(&output.stdout, &format!("answer of {what}"));
    assert_harmless(&output.stderr, &format!("errors of {what}"));
    let both = [output.stdout, output.stderr].concat();
    String::from_utf8(both).expect("UTF-8")
}

/// A name for a file: everything but a slash and a zero.
fn hostile_name(extension: &str) -> String {
    HOSTILE.replace(['\u{0}', '/'], "") + extension
}

/// A folder of what a crash left, every text in it hostile.
fn artifacts(home: &Home) {
    let log = format!(
        "step {HOSTILE}\n[rank0]: Traceback (most recent call last):\n  File \"{HOSTILE}.py\", line 41, in {HOSTILE}\n    {HOSTILE}\n\
         RuntimeError: {HOSTILE}\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 GiB. {HOSTILE}\n\
         Fatal Python error: Segmentation fault {HOSTILE}\n\nCurrent thread 0x00007f0000000001 [{HOSTILE}] (most recent call first):\n  \
         File \"{HOSTILE}.py\", line 3 in {HOSTILE}\n"
    );
    let raw = [log.as_bytes(), b"\x9b35m raw \x9d0;pwned\x07 \xff\xfe\n"].concat();
    home.file(&format!("crash/{}", hostile_name(".log")), raw);
    let context = json!({
        "whycrash_context": 1, "command": [HOSTILE], "host": HOSTILE, "rank": 0, HOSTILE: HOSTILE,
        "environment": {"NCCL_DEBUG": HOSTILE, HOSTILE: "x"}, "driver": HOSTILE, "gpus": [{"name": HOSTILE}],
        "exit": {"signal": HOSTILE, "code": null}, "ended": HOSTILE,
        "unavailable": [{"what": HOSTILE, "why": HOSTILE, "mend": HOSTILE}],
    });
    home.file("crash/context.json", context.to_string());
    // A name of a function in a snapshot that PyTorch wrote, replaced by one of the same length.
    let snapshot = whycrash_corpus::folder().join("oom-leak-snapshot/snapshot.pickle");
    let mut snapshot = std::fs::read(snapshot).expect("it is in the corpus");
    let at = snapshot
        .windows(10)
        .position(|window| window == b"make_layer")
        .expect("a function's name");
    snapshot[at..at + 10].copy_from_slice(b"\x1b[35mFGHIJ");
    home.file("crash/snapshot.pickle", snapshot);
    home.file("crash/truncated.json", format!("{{\"{HOSTILE}\": "));
}

#[test]
fn nothing_in_artifacts_reaches_the_terminal() {
    let home = Home::new();
    artifacts(&home);
    for (command, all) in [
        ("inspect", &["inspect", "crash"][..]),
        ("diagnose", &["diagnose", "--full", "crash"]),
    ] {
        let shown = run(home.whycrash(all), command);
        assert!(shown.contains("END"), "{command} shows the text itself: {shown}");
        for arguments in [all, &[command, "crash"]] {
            let shown = run(home.whycrash(arguments), command);
            assert!(shown.contains("\u{1b}[36m"), "{arguments:?} has our colours: {shown}");
        }
        let json = run(home.whycrash(&[command, "crash", "--format", "json"]), command);
        let document = json.find("\n{").map_or(json.as_str(), |start| &json[start..]);
        assert!(document.contains("\\u202e"), "{command}: {document}");
    }
    let output = home
        .whycrash(&["inspect", "crash", "--format", "json"])
        .output()
        .expect("it runs");
    let inspected: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(
        inspected["context"]["driver"], HOSTILE,
        "JSON says what the artifact says"
    );
}

#[test]
fn nothing_in_the_names_of_files_reaches_the_terminal() {
    let home = Home::new();
    let missing = hostile_name("");
    for arguments in [
        vec!["diagnose", &missing],
        vec!["inspect", &missing],
        vec!["upload", &missing],
        vec!["symbols", "upload", &missing],
        vec!["cause", &missing],
        vec!["show", &missing, "--server", "http://127.0.0.1:1"],
        vec!["search", &missing, "--server", &missing],
        vec!["diagnose", &missing, "--no-such-option", &missing],
        vec!["diagnose", "x", "--format", &missing],
        vec![&missing],
        vec!["--config", &missing, "doctor"],
        vec!["run", "--gpu-interval", &missing, "--", "true"],
        vec!["run", "--", &missing],
        vec!["doctor", "--symbols", &missing, "--server", "http://127.0.0.1:1"],
    ] {
        let shown = run(home.whycrash(&arguments), &arguments.join(" "));
        assert!(!shown.is_empty(), "{arguments:?}");
    }
    let path = home
        .work()
        .join(std::ffi::OsStr::from_bytes(b"raw \x9b35m\x1b[35m \xff.log"));
    std::fs::write(
        &path,
        "Traceback (most recent call last):\n  File \"x.py\", line 1, in f\nValueError: x\n",
    )
    .expect("a file");
    let mut command = home.whycrash(&["diagnose"]);
    command.arg(&path);
    assert!(run(command, "bytes that are no UTF-8").contains("ValueError"));
    let settings = home.file(
        "settings.toml",
        format!("server = \"{}\n", HOSTILE.replace(['\n', '\u{0}'], "")),
    );
    run(
        home.whycrash(&["--config", settings.to_str().expect("UTF-8"), "doctor"]),
        "settings that do not parse",
    );
}

#[test]
fn nothing_that_a_server_says_reaches_the_terminal() {
    let home = Home::new();
    artifacts(&home);
    let output = home
        .whycrash(&["diagnose", "crash", "--format", "json"])
        .output()
        .expect("it runs");
    let mut document: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    document["state"] = "failed".into();
    document["failure"] = HOSTILE.into();
    document["report"]["title"] = HOSTILE.into();
    document["report"]["signature"]["key"] = HOSTILE.into();
    document["findings"] = json!([{
        "cause": HOSTILE, "title": HOSTILE, "confidence": 0.9, "plugin": {"name": HOSTILE, "version": HOSTILE},
        "explanation": format!("{HOSTILE}\n{HOSTILE}"), "references": [HOSTILE],
        "citations": [
            {"artifact": HOSTILE, "at": {"line": [1, 2]}, "quote": HOSTILE},
            {"artifact": HOSTILE, "at": {"bytes": [1, 2]}, "quote": HOSTILE},
            {"artifact": HOSTILE, "at": {"event": 0}, "quote": HOSTILE},
            {"artifact": "", "at": {"fact": "context.driver"}, "quote": HOSTILE},
            {"artifact": "", "at": {"fact": HOSTILE}, "quote": HOSTILE}],
        "fixes": [{"summary": HOSTILE, "steps": [HOSTILE], "not_when": HOSTILE}],
    }]);
    document["next"] = json!([{"artifact": HOSTILE, "how": HOSTILE, "decides_between": [HOSTILE]}]);
    document["plugins"] = json!([{"name": HOSTILE, "version": HOSTILE, "outcome": "failed", "reason": HOSTILE, "fuel": 0, "millis": 0.0}]);
    let hit = json!({"id": HOSTILE, "title": HOSTILE, "cause": HOSTILE, "signal": HOSTILE, "exception": HOSTILE,
        "host": HOSTILE, "time": HOSTILE, "count": 3});
    let found = json!({"total": 3, "hits": [hit], "facets": {HOSTILE: [{"value": HOSTILE, "count": 1}]}});
    let kept = json!({"id": HOSTILE, "kind": HOSTILE, "new": true, "reports": 2});
    let accepted = json!({"id": HOSTILE, "url": HOSTILE, "wants": []});
    let server = Server::start(move |request| {
        let answer = match request.line.as_str() {
            line if line.starts_with("GET /api/v1/search") => &found,
            line if line.starts_with("GET /api/v1/reports/") => &document,
            line if line.starts_with("POST /api/v1/symbols") => &kept,
            line if line.starts_with("POST /api/v1/reports") => &accepted,
            _ => &Value::Null,
        };
        Answer(200, "", answer.to_string())
    });
    let program = env!("CARGO_BIN_EXE_whycrash");
    for arguments in [
        vec!["show", ID],
        vec!["show", ID, "--format", "json"],
        vec!["search", "x"],
        vec!["search", "x", "--format", "json"],
        vec!["upload", "crash"],
        vec!["upload", "crash", "--format", "json"],
        vec!["symbols", "upload", program],
        vec!["run", "--output", "report", "--", "sh", "-c", "exit 3"],
    ] {
        let mut command = home.whycrash(&arguments);
        command.env("WHYCRASH_SERVER", &server.address);
        let shown = run(command, &arguments.join(" "));
        assert!(
            shown.contains("END"),
            "{arguments:?} shows what the server says: {shown}"
        );
    }
    let refusing = Server::start(|_| {
        let problem = json!({"title": HOSTILE, "detail": HOSTILE, "hint": HOSTILE});
        Answer(400, "", problem.to_string())
    });
    for arguments in [
        vec!["show", ID],
        vec!["search", "x"],
        vec!["upload", "crash"],
        vec!["doctor"],
    ] {
        let mut command = home.whycrash(&arguments);
        command.env("WHYCRASH_SERVER", &refusing.address);
        let shown = run(command, &format!("a refused {}", arguments.join(" ")));
        assert!(shown.contains("END"), "{arguments:?}: {shown}");
    }
}

#[test]
fn nothing_in_the_names_of_files_reaches_a_progress_bar() {
    let home = Home::new();
    artifacts(&home);
    home.file(&format!("crash/{}", hostile_name(".core")), vec![7; 3_000_000]);
    let server = Server::start(|_| Answer(200, "", json!({"id": "1", "url": "http://x", "wants": []}).to_string()));
    let mut command = home.isolated("python3");
    command.args([
        "-c",
        ON_A_TERMINAL,
        "",
        env!("CARGO_BIN_EXE_whycrash"),
        "upload",
        "crash",
    ]);
    let output = command
        .env("WHYCRASH_SERVER", &server.address)
        .output()
        .expect("python3 runs");
    let shown = String::from_utf8_lossy(&output.stdout);
    assert!(shown.contains("http://x"), "{shown}");
    for part in [
        "\u{1b}]", "35m", "\u{9b}", "\u{9d}", "\u{202e}", "\u{2066}", "\u{7}", "\u{7f}", "\u{1b}(0",
    ] {
        assert!(!shown.contains(part), "{part:?} in {shown:?}");
    }
}

/// So that no command can forget it: text is printed in one place, which takes nothing but text that was cleaned.
#[test]
fn nothing_prints_but_the_module_for_it() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = 0;
    for entry in walkdir::WalkDir::new(&source) {
        let entry = entry.expect("our own source");
        let path = entry.path().strip_prefix(&source).expect("below it").to_owned();
        let of_the_streams = path.starts_with("output") || path.starts_with("run");
        if of_the_streams || path.extension().is_none_or(|extension| extension != "rs") {
            continue;
        }
        let text = std::fs::read_to_string(entry.path()).expect("text");
        for word in [
            "print!",
            "println!",
            "::stdout()",
            "::stderr()",
            "anstream",
            "ProgressBar",
        ] {
            assert!(!text.contains(word), "{word} in {}", path.display());
        }
        files += 1;
    }
    assert!(files > 40, "{files}");
}
