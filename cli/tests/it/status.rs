//! `run` ends as the job did.

use std::os::unix::process::ExitStatusExt as _;

use crate::support::{Home, errors, python, sh};

fn check(job: &[&str], code: Option<i32>, signal: Option<i32>) {
    let home = Home::new();
    let ended = home.run(job).status;
    assert_eq!((ended.code(), ended.signal()), (code, signal), "{job:?}");
}

#[test]
fn exit_codes_are_kept() {
    for (script, code) in [
        ("exit 0", 0),
        ("exit 1", 1),
        ("exit 3", 3),
        ("exit 139", 139),
        ("exit 255", 255),
    ] {
        check(&sh(script), Some(code), None);
    }
}

#[test]
fn deaths_by_signal_are_kept() {
    for signal in [1, 2, 6, 9, 11, 13, 15] {
        check(&sh(&format!("kill -{signal} $$")), None, Some(signal));
    }
}

#[test]
fn a_fault_in_python_is_kept() {
    check(&python("import ctypes; ctypes.string_at(0)"), None, Some(11));
}

#[test]
fn a_job_that_can_not_start_ends_as_a_shell_says() {
    let home = Home::new();
    home.file("plain.txt", "not a program");
    for (program, code, words) in [
        ("./missing", 127, "No such file"),
        ("./plain.txt", 126, "Permission denied"),
    ] {
        let output = home.run(&[program]);
        assert_eq!(output.status.code(), Some(code), "{program}");
        assert!(errors(&output).contains(words), "{program}: {}", errors(&output));
    }
}

#[test]
fn a_job_that_ends_well_leaves_nothing() {
    let home = Home::new();
    let output = home.run(&sh("echo out; echo err >&2"));
    assert_eq!(
        (output.stdout.as_slice(), output.stderr.as_slice()),
        (&b"out\n"[..], &b"err\n"[..])
    );
    assert!(!home.work().join("report").exists());
}
