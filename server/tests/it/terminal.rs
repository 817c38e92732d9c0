//! What the server's binary tells a person is nothing that a terminal acts on.

use std::process::Command;

use tempfile::TempDir;
use whycrash_server::telemetry;

const ESCAPE: &str = "\u{1b}]0;owned\u{7}\u{9b}31m";

#[test]
fn arguments_and_settings_that_are_wrong_are_told_without_escapes() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("whycrash.toml");
    std::fs::write(&file, format!("public_url = \"https://a b{}\"\n", "\\u001b[31m")).unwrap();
    let (file, data) = (file.to_str().unwrap(), folder.path().to_str().unwrap());
    let no_file = format!("{data}/{ESCAPE}");
    let wrong = format!("--{ESCAPE}");
    let name = format!("name{ESCAPE}");
    let runs: [(&[&str], i32); 5] = [
        (&[&wrong], 2),
        (&["--workers", ESCAPE], 2),
        (&["--config", &no_file], 1),
        (&["--config", file], 1),
        (
            &["--data", data, "token", "create", "--scope", "read", "--name", &name],
            0,
        ),
    ];
    for (arguments, code) in runs {
        let output = Command::new(env!("CARGO_BIN_EXE_whycrash-server"))
            .args(arguments)
            .output()
            .unwrap();
        let told = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {told}");
        assert!(
            !told.is_empty() && !told.contains(['\u{1b}', '\u{7}', '\u{9b}']),
            "{told:?}"
        );
    }
    let list = Command::new(env!("CARGO_BIN_EXE_whycrash-server"))
        .args(["--data", data, "token", "list"])
        .output();
    let list = String::from_utf8(list.unwrap().stdout).unwrap();
    assert!(list.starts_with("name") && !list.contains('\u{1b}'), "{list:?}");
}

#[test]
fn panics_are_told_without_escapes() {
    const CHILD: &str = "WHYCRASH_TEST_PANICS";
    if std::env::var_os(CHILD).is_some() {
        telemetry::tell_panics();
        panic!("{ESCAPE} what it says");
    }
    // A hook is the process's, so the one that panics is another one.
    let this = std::env::current_exe().unwrap();
    let test = ["--exact", "terminal::panics_are_told_without_escapes", "--nocapture"];
    let output = Command::new(this).args(test).env(CHILD, "1").output().unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(
        told.contains("what it says") && !told.contains(['\u{1b}', '\u{7}', '\u{9b}']),
        "{told:?}"
    );
}
