//! Core dumps that the kernel hands to somebody else: what is asked of whom, and what is said where they are not to be
//! had.
//!
//! The kernel's pattern is the machine's, so the jobs here run where another file stands in its place; the cores are
//! what the kernel writes all the same. `coredumpctl` is a script that answers as the real one is documented to
//! (coredumpctl(1)): what is tested is how it is asked and heard, not systemd.

use std::process::{Command, Output, Stdio};

use serde_json::Value;

use crate::crash::kernel_writes_files;
use crate::support::{Home, errors, names};

/// A job whose worker dies before it does; each writes its number down.
const JOB: &str = "sh -c 'sleep 0.5; echo $$ > worker; kill -ABRT $$'; echo $$ > job; kill -SEGV $$";

/// Lists the two as soon as no handler is at work, and gives any of them the core that the kernel wrote.
const COREDUMPCTL: &str = r#"#!/bin/sh
cd "$(dirname "$0")/.."
echo "$*" >> calls
case "$*" in
  *list*)
    case "$KNOWS_JSON" in no) echo 'TIME PID UID'; exit 0;; esac
    grep -qs systemd-coredum /proc/[0-9]*/comm && { echo '[]'; exit 0; }
    for one in worker job; do
      echo "{\"time\":1700000000000000,\"pid\":$(cat $one),\"uid\":0,\"gid\":0,\"sig\":11,\"corefile\":\"present\",\"exe\":\"/bin/sh\",\"size\":4711}"
    done | paste -sd, | sed 's/.*/[&]/';;
  *dump*)
    while [ $# -gt 1 ]; do case $1 in --output) to=$2;; esac; shift; done
    cp "$(ls -d core* | head -n 1)" "$to";;
esac
"#;

/// Runs the job where the kernel's pattern reads so; none where this machine lets nobody stand a file in its place.
fn under(home: &Home, pattern: &str, before: &str, job: &str) -> Option<(Output, Value)> {
    let mut able = Command::new("unshare");
    able.args(["-rm", "mount", "--bind", "/dev/null", "/proc/sys/kernel/core_pattern"])
        .stderr(Stdio::null());
    if !able.status().is_ok_and(|status| status.success()) || !kernel_writes_files() {
        eprintln!("not looked at: no file can stand in place of the kernel's pattern here, or it writes no cores");
        return None;
    }
    home.file("pattern", pattern);
    home.file("bin/coredumpctl", COREDUMPCTL);
    let whycrash = env!("CARGO_BIN_EXE_whycrash");
    let script = format!(
        "mount --bind pattern /proc/sys/kernel/core_pattern; {before}
         exec {whycrash} run --no-diagnosis --output report -- sh -c \"$JOB\""
    );
    let mut run = home.isolated("unshare");
    let output = run
        .args(["-rm", "bash", "-c", &script])
        .env("JOB", job)
        .output()
        .expect("unshare runs");
    Some((output, home.context()))
}

fn why(context: &Value) -> String {
    let all = context["unavailable"].as_array().cloned().unwrap_or_default();
    all.iter()
        .filter(|missing| missing["what"] == "core dump")
        .map(Value::to_string)
        .collect()
}

fn worker(home: &Home) -> String {
    std::fs::read_to_string(home.work().join("worker"))
        .expect("a number")
        .trim()
        .to_owned()
}

const SYSTEMD: &str = "|/usr/lib/systemd/systemd-coredump %P %u %g %s %t %c %h\n";
const ON_PATH: &str = "chmod +x bin/coredumpctl; PATH=$PWD/bin:$PATH;";

#[test]
fn systemd_is_asked_for_the_job_and_its_workers_when_its_handler_is_done() {
    let home = Home::new();
    // A handler that is at work for a second after the job's end.
    let at_work =
        format!("{ON_PATH} cp \"$(command -v sleep)\" bin/systemd-coredump; setsid -f bin/systemd-coredump 2;");
    let Some((output, context)) = under(&home, SYSTEMD, &at_work, JOB) else {
        return;
    };
    let kept = names(&home.work().join("report"));
    let workers = format!("core.{}", worker(&home));
    assert!(
        kept.contains(&"core".to_owned()) && kept.contains(&workers),
        "{kept:?}: {}",
        errors(&output)
    );
    assert_eq!(why(&context), "");
    let calls = std::fs::read_to_string(home.work().join("calls")).expect("it was asked");
    assert!(
        calls.lines().any(|call| call.contains("list --json=short --since=@")),
        "{calls}"
    );
}

#[test]
fn a_coredumpctl_that_knows_no_json_is_asked_for_the_job() {
    let home = Home::new();
    let Some(_) = under(&home, SYSTEMD, &format!("{ON_PATH} export KNOWS_JSON=no;"), JOB) else {
        return;
    };
    let kept = names(&home.work().join("report"));
    assert!(kept.contains(&"core".to_owned()), "{kept:?}");
}

#[test]
fn where_there_is_no_coredumpctl_what_to_install_is_said() {
    let home = Home::new();
    let Some((_, context)) = under(&home, SYSTEMD, "", JOB) else {
        return;
    };
    let why = why(&context);
    assert!(why.contains("coredumpctl") && why.contains("install"), "{why}");
}

#[test]
fn apports_folder_is_searched() {
    let home = Home::new();
    let pattern = "|/usr/share/apport/apport -p%p -s%s -c%c -d%d -P%P -u%u -g%g -- %E\n";
    let Some((_, context)) = under(&home, pattern, "", JOB) else {
        return;
    };
    assert!(why(&context).contains("apport left none"), "{context}");
    // A worker's core under the name that apport gives it, kept before the job ends.
    let home = Home::new();
    let folder = "mount -t tmpfs none /var/lib; mkdir -p /var/lib/apport/coredump;";
    let job = "ulimit -c unlimited; sh -c 'sleep 0.5; echo $$ > worker; kill -ABRT $$'
        mv core* /var/lib/apport/coredump/core._bin_sh.0.boot.1.2; kill -SEGV $$";
    let Some((_, context)) = under(&home, pattern, folder, job) else {
        return;
    };
    let kept = names(&home.work().join("report"));
    let worker = format!("core.{}", worker(&home));
    assert!(kept.contains(&worker), "{kept:?}: {context}");
}

#[test]
fn a_store_that_is_the_hosts_is_said_to_be_mounted() {
    let home = Home::new();
    let pattern = "|/usr/local/bin/whycrash core-handler --store /var/lib/whycrash/not-here %P %u %g %d %t -- %e\n";
    let Some((_, context)) = under(&home, pattern, "", JOB) else {
        return;
    };
    assert!(
        why(&context).contains("-v /var/lib/whycrash/not-here:/var/lib/whycrash/not-here"),
        "{context}"
    );
}

#[test]
fn a_handler_that_nobody_knows_is_named() {
    let home = Home::new();
    let Some((_, context)) = under(&home, "|/opt/vendor/crash-agent %p\n", "", JOB) else {
        return;
    };
    assert!(why(&context).contains("/opt/vendor/crash-agent"), "{context}");
}
