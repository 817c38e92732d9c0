//! Crashes, really.

use std::path::PathBuf;

use crate::support::{Home, errors, names, python, sh};

/// A program that reads through a null pointer, compiled in the folder to work in.
fn null_reader(home: &Home) -> PathBuf {
    let source = home.file(
        "null.c",
        "int main(int argc, char **argv) { int *volatile p = 0; return *p; }\n",
    );
    let program = home.work().join("null");
    let compiled = home
        .isolated("cc")
        .args(["-g", "-O1", "-o"])
        .args([&program, &source])
        .status()
        .expect("cc runs");
    assert!(compiled.success());
    program
}

/// Whether the kernel writes core dumps as files here, by names that need no privilege.
pub fn kernel_writes_files() -> bool {
    let pattern = std::fs::read_to_string("/proc/sys/kernel/core_pattern").unwrap_or_default();
    let hard = rustix::process::getrlimit(rustix::process::Resource::Core).maximum;
    !pattern.starts_with('|') && !pattern.contains('/') && hard.is_none()
}

#[test]
fn a_core_dump_is_found_and_taken_away() {
    let home = Home::new();
    let program = null_reader(&home).display().to_string();
    let before = names(&home.work());
    // Two levels down: the job is a shell, and not what crashes.
    for (job, report_name) in [
        (vec![program.as_str()], "core"),
        (vec!["sh", "-c", &format!("{program}; exit 5")], "core."),
    ] {
        let script = r#"ulimit -S -c 0; exec "$0" run --output report -- "$@""#;
        let mut command = home.isolated("sh");
        command.args(["-c", script, env!("CARGO_BIN_EXE_whycrash")]).args(&job);
        command.output().expect("it runs");
        let report = home.work().join("report");
        let kept = names(&report);
        if kernel_writes_files() {
            assert!(
                kept.iter().any(|name| name.starts_with(report_name)),
                "{job:?} left {kept:?}"
            );
        }
        std::fs::remove_dir_all(report).expect("the report goes");
        assert_eq!(names(&home.work()), before, "{job:?} left something behind");
    }
}

#[test]
fn a_core_dump_that_would_be_there_without_us_stays() {
    let home = Home::new();
    let program = null_reader(&home).display().to_string();
    let script = r#"ulimit -S -c unlimited; exec "$0" run --output report -- "$@""#;
    home.isolated("sh")
        .args(["-c", script, env!("CARGO_BIN_EXE_whycrash"), &program])
        .output()
        .expect("it runs");
    if kernel_writes_files() {
        assert!(
            names(&home.work()).iter().any(|name| name.starts_with("core")),
            "{:?}",
            names(&home.work())
        );
        assert!(names(&home.work().join("report")).contains(&"core".to_owned()));
    }
}

#[test]
fn a_core_dump_that_could_not_be_got_is_named_with_what_to_do() {
    let home = Home::new();
    let program = null_reader(&home).display().to_string();
    let script = r#"ulimit -c 0; exec "$0" run --output report -- "$@""#;
    home.isolated("sh")
        .args(["-c", script, env!("CARGO_BIN_EXE_whycrash"), &program])
        .output()
        .expect("it runs");
    let context = home.context();
    let missing = context["unavailable"]
        .as_array()
        .expect("a list")
        .iter()
        .find(|item| item["what"] == "core dump");
    let missing = missing.expect("the core dump is missing");
    assert!(missing["why"].is_string() && missing["mend"].is_string(), "{missing}");
}

#[test]
fn faulthandler_speaks_without_the_job_asking() {
    let home = Home::new();
    let output = home.run(&python(
        "import ctypes\ndef copy_row():\n    ctypes.string_at(0)\ncopy_row()",
    ));
    assert!(
        errors(&output).contains("Fatal Python error: Segmentation fault"),
        "{}",
        errors(&output)
    );
    let log = std::fs::read_to_string(home.work().join("report/output.log")).expect("it was recorded");
    assert!(log.contains("in copy_row"), "{log}");
}

#[test]
fn without_a_folder_the_report_is_kept_under_its_id() {
    let home = Home::new();
    let output = home
        .whycrash(&["run", "--"])
        .args(sh("echo last words; exit 1"))
        .output()
        .expect("it runs");
    let reports = home.work().join("../.local/state/whycrash");
    let [id] = names(&reports).try_into().expect("one report");
    assert!(
        id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit()),
        "{id}"
    );
    assert!(errors(&output).contains(&id));
    assert_eq!(
        std::fs::read(reports.join(id).join("output.log")).expect("it was recorded"),
        b"last words\n"
    );
}

#[test]
fn a_second_crash_does_not_overwrite_the_first() {
    let home = Home::new();
    home.run(&sh("echo first; exit 1"));
    home.run(&sh("echo second; exit 1"));
    let report = home.work().join("report");
    assert_eq!(std::fs::read(report.join("output.log")).expect("the first"), b"first\n");
    let folders: Vec<_> = names(&report)
        .into_iter()
        .filter(|name| report.join(name).is_dir())
        .collect();
    let [second] = folders.try_into().expect("one folder in the first");
    assert_eq!(
        std::fs::read(report.join(second).join("output.log")).expect("the second"),
        b"second\n"
    );
}
