//! Signals of a defect that another process sent, and that the program raised itself.

use std::path::Path;

use serde_json::Map;
use whycrash_evidence::Artifact;
use whycrash_plugin_host::{Diagnoser, Document, Input, Settings};
use whycrash_symbols::Sources;

use crate::python_lock::interpreter;
use crate::symbols::run;

/// What is said of the core of a Python program that a signal ended.
fn diagnosis(diagnoser: &Diagnoser, folder: &Path, code: &str) -> Document {
    let python = interpreter();
    let debug = [
        "-q",
        "-batch",
        "-nx",
        "-iex",
        "set debuginfod enabled off",
        "-ex",
        "run",
    ];
    let write = ["-ex", "generate-core-file core", "--args", &python, "-c", code];
    run(folder, "gdb", "gdb", &[&debug[..], &write].concat());
    diagnoser.diagnose(&Input {
        artifacts: vec![Artifact::new("core", folder.join("core"))],
        metadata: Map::new(),
    })
}

#[test]
fn a_signal_that_somebody_sent_is_no_fault_and_names_the_sender() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let diagnoser = Diagnoser::new(Settings {
        symbols: Sources {
            local_files: true,
            ..Sources::default()
        },
        ..Settings::default()
    })
    .expect("the built-in plugins load");
    for signal in ["SEGV", "BUS", "ABRT"] {
        let code = format!(
            "import os, subprocess, time\nsubprocess.Popen(['sh', '-c', f'kill -{signal} {{os.getpid()}}'])\ntime.sleep(60)"
        );
        let document = diagnosis(&diagnoser, folder.path(), &code);
        let finding = document.findings.first().expect("a finding");
        assert_eq!(finding.cause, "op-terminated", "{signal}: {}", finding.explanation);
        assert!(finding.title.contains(&format!("SIG{signal}")), "{}", finding.title);
        let crash = document.evidence.crash.as_ref().expect("a crash");
        let sender = crash.sender.expect("a sender");
        assert!(
            finding.explanation.contains(&format!("process {} of user", sender.pid)),
            "{}",
            finding.explanation
        );
        assert_ne!(Some(sender.pid), crash.pid);
    }
    // What a program does to itself nobody sent.
    let document = diagnosis(&diagnoser, folder.path(), "import os; os.abort()");
    let causes: Vec<&str> = document.findings.iter().map(|finding| finding.cause.as_str()).collect();
    assert!(!causes.contains(&"op-terminated"), "{causes:?}");
}
