//! Limits of address space, as batch systems set them (`ulimit -v`), and which are what kills many a job: it meets them as
//! it would without us, and why it died is said under the very same limit.

use std::process::Output;

use serde_json::Value;

use super::{Attempt, Left};

/// A job that dies with so many KiB of address space.
struct Death {
    kib: usize,
    job: &'static str,
}

const fn death(kib: usize, job: &'static str) -> Death {
    Death { kib, job }
}

const DEATHS: &[Death] = &[
    // What the limit itself does to a job.
    death(500_000, "python3 -c 'x = bytearray(1 << 33)'"),
    death(1_500_000, "python3 -c 'x = bytearray(1 << 33)'"),
    death(3_000_000, "python3 -c 'x = bytearray(1 << 33)'"),
    death(600_000, "python3 -c 'x = [bytearray(1 << 24) for _ in range(999)]'"),
    death(800_000, "python3 -c 'import mmap; mmap.mmap(-1, 1 << 33)'"),
    death(
        1_000_000,
        "python3 -c 'import threading as t; t.stack_size(1 << 30); t.Thread(target=print).start()'",
    ),
    death(2_000_000, "perl -e '$x = \"x\" x (1 << 33)'"),
    death(2_500_000, "dd if=/dev/zero of=/dev/null bs=4G count=1"),
    death(700_000, "sh -c 'ulimit -v 1000; exec ls'"),
    death(
        1_200_000,
        "sh -c 'echo \"terminate called after throwing an instance of '\\''std::bad_alloc'\\''\" >&2; kill -ABRT $$'",
    ),
    // What kills jobs anyway.
    death(500_000, "python3 -c 'import ctypes; ctypes.string_at(0)'"),
    death(900_000, "python3 -c 'f = lambda: f(); f()'"),
    death(1_500_000, "python3 -c 'import os; os.abort()'"),
    death(750_000, "sh -c 'echo step 1; kill -KILL $$'"),
    death(1_800_000, "sh -c 'echo step 1; kill -TERM $$'"),
    death(550_000, "sh -c 'echo step 1; exit 3'"),
];

/// How a job ended, and what was said on standard error of it by us.
struct LimitedRun {
    left: Left,
    said: String,
    /// What is concluded from the report where nothing is limited, and where address space is as it was for the job.
    concluded: [Value; 2],
}

/// Runs it under `run`, which says why, and has the report diagnosed again.
fn told(death: &Death, bare: &Left) -> LimitedRun {
    let attempt = Attempt::run("");
    let left = ended(&attempt, death);
    let said = left.stderr.strip_prefix(&bare.stderr);
    let said = said
        .unwrap_or_else(|| panic!("{}: {}", death.job, left.stderr))
        .to_owned();
    let report = attempt.home.work().join("../report").display().to_string();
    let diagnose = |limit: &str| {
        let script = format!(
            "ulimit -v {limit}; exec {} diagnose {report} --format json",
            env!("CARGO_BIN_EXE_whycrash")
        );
        let Output { stdout, stderr, .. } = attempt.bash(&script).output().expect("bash runs");
        let mut document: Value = serde_json::from_slice(&stdout)
            .unwrap_or_else(|_| panic!("{}, {limit}: {}", death.job, String::from_utf8_lossy(&stderr)));
        let plugins = document["plugins"].as_array_mut().expect("plugins");
        for plugin in plugins {
            plugin.as_object_mut().expect("a plugin").remove("millis");
        }
        document
    };
    LimitedRun {
        left: Left {
            stderr: bare.stderr.clone(),
            ..left
        },
        said,
        concluded: [diagnose("unlimited"), diagnose(&death.kib.to_string())],
    }
}

fn ended(attempt: &Attempt, death: &Death) -> Left {
    let script = format!("ulimit -v {}; exec $RUN {}", death.kib, death.job);
    let output = attempt.bash(&script).output().expect("bash runs");
    attempt.left(output, 0)
}

#[test]
fn why_a_job_died_is_said_under_the_limit_that_it_had() {
    for death in DEATHS {
        let bare = ended(&Attempt::bare(), death);
        let LimitedRun { left, said, concluded } = told(death, &bare);
        assert_eq!(left, bare, "{}", death.job);
        assert!(said.contains("Kept in"), "{} KiB, {}: {said}", death.kib, death.job);
        assert!(
            !said.contains("could not be run"),
            "{} KiB, {}: {said}",
            death.kib,
            death.job
        );
        let [anywhere, here] = concluded;
        assert_eq!(here, anywhere, "{} KiB, {}", death.kib, death.job);
        let rows = here["plugins"].as_array().expect("plugins");
        assert!(rows.len() >= 9, "{here}");
        let ran = |row: &Value| ["ok", "skipped"].contains(&row["outcome"].as_str().unwrap_or_default());
        assert!(rows.iter().all(ran), "{here}");
    }
}

/// With less, the plugins find no room: that is said once, with what to do.
#[test]
fn what_could_not_be_looked_for_is_said_once_with_what_to_do() {
    let attempt = Attempt::bare();
    attempt
        .home
        .file("train.log", "Traceback (most recent call last):\nMemoryError\n");
    let script = format!(
        "ulimit -v {}; exec {} diagnose train.log",
        TOO_LITTLE_KIB,
        env!("CARGO_BIN_EXE_whycrash")
    );
    let output = attempt.bash(&script).output().expect("bash runs");
    let said = String::from_utf8_lossy(&[&output.stdout[..], &output.stderr].concat()).into_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    for part in [
        "plugins could not be run",
        "Cannot allocate memory",
        "whycrash upload",
        "ulimit -v",
    ] {
        assert_eq!(said.matches(part).count(), 1, "{part}: {said}");
    }
    // What the machine lacks is no failure of theirs.
    assert!(!said.contains(" failed, such as "), "{said}");
}

/// KiB with which the program reads, and no plugin has the 256 MiB that it may use.
const TOO_LITTLE_KIB: usize = 270_000;
