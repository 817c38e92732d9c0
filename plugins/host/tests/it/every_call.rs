//! Every call of the interface, over labelled cases with everything that evidence can have: what a plugin is answered is what the document of the report
//! says, and what the report answers that tests of plugins make, in each language.
//!
//! A report for tests knows nothing but the document. So where a component and such a report are answered the same, the
//! host's answers are those of the document.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, LazyLock};

use serde_json::{Value, json};
use tempfile::TempDir;
use whycrash_catalog::Catalog;
use whycrash_corpus::Case;
use whycrash_evidence::Artifact;
use whycrash_evidence::model::GpuCore;
use whycrash_plugin_host::{Diagnoser, Diagnosis, History, Input, PluginLimits, Report, Told};

use crate::corpus::various;
use crate::support::{COMPILER, component, diagnoser, plugin_folder};

/// What the component was answered in each case, and the folders that the other reports are made of.
struct Asked {
    folders: TempDir,
    names: Vec<String>,
    answers: Vec<Value>,
}

static ASKED: LazyLock<Asked> = LazyLock::new(ask);

/// A diagnoser with the component that calls everything, and room for all that it is answered.
fn curious() -> Diagnoser {
    let folder = plugin_folder(&[("every-call.wasm", &component("hostile/every-call"))]);
    let limits = PluginLimits {
        fuel: u64::MAX / 4,
        millis: 600_000,
        answer_bytes: 256 << 20,
        read_bytes: 1 << 30,
        log_line_bytes: 256 << 20,
        ..PluginLimits::default()
    };
    diagnoser(folder.path(), limits)
}

/// What a server would tell of other reports.
fn history() -> History {
    let earlier = |number: u32| {
        let conclusions =
            json!([{"cause": "oom-exhaustion", "title": "Übergelaufen", "confidence": 0.25, "plugin": "x"}]);
        let conclusions = if number == 0 { conclusions } else { json!([]) };
        json!({"id": format!("r{number}"), "title": "one \"more\"", "received": "2026-01-02T03:04:05Z",
            "conclusions": conclusions})
    };
    let other = json!({"id": "r9", "title": "SIGSEGV", "received": "2026-01-02T03:04:06Z", "group": "abc", "host": "n1",
        "ranks": [1, 2], "signal": "SIGSEGV"});
    let lonely = json!({"id": "r8", "title": "t", "received": "", "exception": "ValueError"});
    let history = json!({"group": "abc", "earlier": [earlier(0), earlier(1)], "incident": [other, lonely]});
    serde_json::from_value(history).unwrap()
}

/// GPU core dumps, of which the corpus has none.
fn gpu_cores() -> Vec<GpuCore> {
    let fault = json!({"exception": "WARP_ILLEGAL_ADDRESS", "sm": 3, "warp": 5, "lane": 7, "block": [1, 2, 3],
        "thread": [4, 5, 6], "kernel": "store", "offset": "0x120"});
    let core = json!({"artifact": "core.gpu", "device": 1, "exception": "WARP_ILLEGAL_ADDRESS", "kernel": "store",
        "offset": "0x120", "file": "a.cu", "line": 12, "grid_size": [1, 1, 1], "block_size": [32, 1, 1],
        "architecture": "sm_90", "faults": [fault.clone(), fault], "warps": [{"kernel": "store", "offset": "0x120",
        "count": 9, "faulted": 2}, {"kernel": null, "offset": null, "count": 1, "faulted": 0}]});
    serde_json::from_value(json!([core])).unwrap()
}

fn read(diagnoser: &Diagnoser, case: &Case, number: usize) -> Report {
    let files = fs::read_dir(&case.folder).unwrap().map(|file| file.unwrap().path());
    let is_left = |path: &PathBuf| path.is_file() && !path.ends_with("case.toml");
    let mut files: Vec<PathBuf> = files.filter(is_left).collect();
    files.sort();
    let artifact = |path: PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        Artifact::new(name, path)
    };
    let causes: Vec<Value> = if number == 0 {
        Catalog::embedded().causes().iter().map(|page| json!(page.id)).collect()
    } else {
        Vec::new()
    };
    let report = diagnoser.read(&Input {
        artifacts: files.into_iter().map(artifact).collect(),
        metadata: [("causes".to_owned(), json!(causes))].into_iter().collect(),
    });
    let mut report = Report {
        history: number.is_multiple_of(3).then(history),
        ..report
    };
    if number == 1 {
        report.evidence.gpu_cores = gpu_cores();
    }
    report
}

/// The lines that the component logged.
fn logged(diagnosis: &Diagnosis) -> Vec<Value> {
    let row = diagnosis.plugins.iter().find(|row| row.name == "every-call").unwrap();
    assert_eq!(row.reason, None);
    row.log.iter().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn ask() -> Asked {
    let (diagnoser, folders) = (curious(), TempDir::new().unwrap());
    let (mut names, mut answers) = (Vec::new(), Vec::new());
    for (number, case) in various().iter().enumerate() {
        let report = Arc::new(read(&diagnoser, case, number));
        let name = case.name.clone();
        let folder = folders.path().join(&name);
        fs::create_dir(&folder).unwrap();
        fs::write(
            folder.join("evidence.json"),
            serde_json::to_vec(&Told::of(&report).unwrap()).unwrap(),
        )
        .unwrap();
        answers.push(logged(&diagnoser.conclude(&report)).swap_remove(0));
        names.push(name);
    }
    Asked {
        folders,
        names,
        answers,
    }
}

/// What a program prints of the cases: a line of JSON each.
fn said(program: &mut Command) -> Vec<Value> {
    let folders = ASKED.names.iter().map(|name| ASKED.folders.path().join(name));
    let output = program
        .args(folders)
        .output()
        .unwrap_or_else(|error| panic!("{program:?}: {error}"));
    let wrong = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{wrong}");
    let text = String::from_utf8(output.stdout).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
    lines.collect()
}

/// The same value; a number may be written with or without a fraction.
pub fn alike(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(a), Value::Number(b)) => a == b || a.as_f64() == b.as_f64(),
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| alike(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            let has = |(name, value): (&String, &Value)| b.get(name).is_some_and(|other| alike(value, other));
            a.len() == b.len() && a.iter().all(has)
        }
        _ => one == other,
    }
}

/// Holds what a report for tests answered against what the component was answered to the same calls.
fn compare(answers: &[Value]) {
    assert_eq!(answers.len(), ASKED.names.len());
    let mut calls = 0;
    for ((name, asked), answered) in ASKED.names.iter().zip(&ASKED.answers).zip(answers) {
        for call in answered.as_array().unwrap() {
            let mut asked = asked.as_array().unwrap().iter();
            let same = asked.find(|asked| asked[0] == call[0]).unwrap_or(&Value::Null);
            assert!(
                alike(&same[1], &call[1]),
                "{name}: {}: {} and not {}",
                call[0],
                same[1],
                call[1]
            );
            calls += 1;
        }
    }
    assert!(calls > ASKED.names.len(), "{calls} calls");
}

/// The folder of the example in a language.
pub fn example(folder: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples").join(folder)
}

fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/it/every_call")
        .join(name)
}

/// The program that uses the SDK as tests of plugins do.
pub fn natively() -> Command {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("../builtin/Cargo.toml");
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args([
        "run",
        "--quiet",
        "--locked",
        "--package",
        "every-call",
        "--example",
        "natively",
    ]);
    cargo.arg("--manifest-path").arg(manifest).arg("--");
    // With what authors' tests compile for this machine: it is much the same.
    cargo.env(
        "CARGO_TARGET_DIR",
        Path::new(COMPILER).with_file_name("authors").join("target"),
    );
    cargo
}

#[test]
fn a_report_for_tests_in_rust_answers_as_the_host_does() {
    let answers = said(&mut natively());
    compare(&answers);
    for (asked, answered) in ASKED.answers.iter().zip(&answers) {
        assert_eq!(asked.as_array().unwrap().len(), answered.as_array().unwrap().len());
    }
}

#[test]
fn a_report_for_tests_in_python_answers_as_the_host_does() {
    let mut python = Command::new("python3");
    compare(&said(python.arg("-B").arg(script("calls.py")).arg(example("python"))));
}

#[test]
fn a_report_for_tests_in_javascript_answers_as_the_host_does() {
    let mut node = Command::new("node");
    compare(&said(node.arg(script("calls.mjs")).arg(example("js"))));
}

#[test]
fn a_report_for_tests_in_c_answers_as_the_host_does() {
    let folder = TempDir::new().unwrap();
    let program = folder.path().join("calls");
    let built = Command::new("cc")
        .arg("-I")
        .arg(example("c"))
        .arg("-o")
        .arg(&program)
        .arg(script("calls.c"))
        .status();
    assert!(built.unwrap().success());
    compare(&said(&mut Command::new(program)));
}

#[test]
fn what_is_documented_is_told_as_the_pages_say_it() {
    let diagnoser = curious();
    let report = Arc::new(read(&diagnoser, &various()[0], 0));
    let [_, knowledge] = logged(&diagnoser.conclude(&report)).try_into().unwrap();
    let catalog = Catalog::embedded();
    for (page, told) in catalog.causes().iter().zip(knowledge[0].as_array().unwrap()) {
        let leads_to: Vec<&str> = page.leads_to.iter().map(|leads| leads.cause.as_str()).collect();
        let expected = json!([
            page.id,
            page.also,
            page.severity,
            page.domain,
            page.retry.advice,
            page.tags,
            page.members,
            leads_to,
            page.last_resort
        ]);
        assert_eq!(*told, expected);
    }
    let tables: usize = catalog.causes().iter().map(|page| page.recognise.len()).sum();
    let all = knowledge[1].as_array().unwrap();
    assert_eq!(all.len(), tables);
    // A report holds few kinds of events, and few words.
    let may_match = knowledge[2].as_array().unwrap();
    assert!(
        !may_match.is_empty() && may_match.len() < all.len() / 4,
        "{}",
        may_match.len()
    );
    assert!(may_match.iter().all(|table| all.contains(table)));
}

#[test]
fn every_function_of_the_interface_is_called() {
    let interface = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../wit/v1/evidence.wit")).unwrap();
    let functions = interface
        .lines()
        .filter_map(|line| line.trim().split_once(": func(").map(|(name, _)| name));
    // What is documented is asked for apart, and advice is given and not asked for.
    let apart = ["cause", "recognise-tables", "advise"];
    let functions: Vec<&str> = functions.filter(|name| !apart.contains(name)).collect();
    assert!(functions.len() > 25, "{functions:?}");
    let calls = ASKED.answers[0].as_array().unwrap();
    for function in functions {
        let is_of = |call: &&Value| call[0].as_str().unwrap().split(' ').next() == Some(function);
        assert!(calls.iter().any(|call| is_of(&call)), "{function} is never called");
        let answered = ASKED.answers.iter().flat_map(|case| case.as_array().unwrap());
        let answered = answered
            .filter(is_of)
            .any(|call| ![json!([]), json!(0), Value::Null].contains(&call[1]));
        assert!(answered, "{function} never answers anything");
    }
}
