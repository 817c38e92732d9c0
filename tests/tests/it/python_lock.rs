//! Native code that uses Python's C API, with and without the interpreter's lock: crashes of a real interpreter.

use std::path::Path;
use std::process::Command;

use serde_json::Map;
use whycrash_evidence::Artifact;
use whycrash_plugin_host::{Diagnoser, Document, Input, Settings};
use whycrash_symbols::Sources;

use crate::symbols::run;

/// The interpreter itself; what is on PATH may be a script that starts it.
pub fn interpreter() -> String {
    let ask = ["-c", "import sys; print(sys.executable)"];
    let output = Command::new("python3").args(ask).output().expect("python3 is there");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// What is said of the core that this call through ctypes leaves.
fn diagnosis(diagnoser: &Diagnoser, folder: &Path, call: &str) -> Document {
    let code = format!("import ctypes; ctypes.{call}");
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
    let write = ["-ex", "generate-core-file core", "--args", &python, "-c", &code];
    run(folder, "gdb", "gdb", &[&debug[..], &write].concat());
    diagnoser.diagnose(&Input {
        artifacts: vec![Artifact::new("core", folder.join("core"))],
        metadata: Map::new(),
    })
}

#[test]
fn touching_python_without_the_lock_is_no_plain_null_pointer() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("reproducers/seg-gil-violation/callback.cpp");
    let source = source.to_string_lossy();
    let compile = [
        "-g",
        "-O1",
        "-shared",
        "-fPIC",
        "-pthread",
        &source,
        "-o",
        "callback.so",
    ];
    run(folder.path(), "g++", "g++", &compile);
    let diagnoser = Diagnoser::new(Settings {
        symbols: Sources {
            local_files: true,
            ..Sources::default()
        },
        ..Settings::default()
    })
    .expect("the built-in plugins load");

    let library = |kind: &str, function: &str| format!("{kind}(\"./callback.so\").{function}()");
    for (call, cause) in [
        (library("CDLL", "make_labels"), "seg-gil-violation"),
        ("CDLL(None).PyErr_Occurred()".to_owned(), "seg-gil-violation"),
        // With the lock held the same kind of function followed a null argument.
        (library("PyDLL", "add_label"), "seg-null-deref"),
    ] {
        let document = diagnosis(&diagnoser, folder.path(), &call);
        let first = document.findings.first().map(|finding| finding.cause.as_str());
        assert_eq!(first, Some(cause), "{call}: {:#?}", document.findings);
        let title = &document.report.title;
        let own = ["SIGSEGV in make_labels", "SIGSEGV in add_label", "SIGSEGV in <module>"];
        assert!(
            own.iter().any(|own| title.starts_with(own)),
            "the program's own function leads: {title}"
        );
    }
}
