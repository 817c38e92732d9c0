//! The first screen of an answer, as somebody reads it who was just woken: short, and with the line and the fix in it.

use serde_json::Value;

use crate::support::{Home, errors, python};

/// Lines and columns of a screen.
const LINES: usize = 20;
const COLUMNS: usize = 100;

/// Crashes of the corpus that have nothing in common, by the folders of their cases.
const CRASHES: [&str; 20] = [
    "oom-fragmentation-log",
    "oom-exhaustion-snapshot",
    "seg-use-after-free-prefetch",
    "seg-null-deref-real-abseil",
    "dl-worker-exception",
    "dl-worker-fpe",
    "dist-op-mismatch-gloo",
    "dist-rank-missing-tr-missing",
    "host-oom-killer-cgroup",
    "py-shape-mismatch-conv-channels-ran",
    "num-nan-loss-anomaly-ran",
    "net-hub-unreachable-cpu-dns",
    "abrt-heap-corruption-heap-double-ran",
    "py-config-error-argparse-ran",
    "py-checkpoint-corrupt-ckpt-empty-ran",
    "data-sample-corrupt-cpu-json",
    "compile-failed-compile-fullgraph",
    "kill-sigkill-sigkill-ran",
    "hw-bug-report-off-bus",
    "assert-bce-range-bce-ran",
];

fn screen_of(home: &Home, name: &str) -> String {
    let case = whycrash_corpus::case(name);
    let mut command = home.whycrash(&["diagnose"]);
    command.current_dir(&case.folder).args(&case.label.artifacts);
    if case.binaries().is_some() {
        command.args(["--symbols", "bin"]);
    }
    let output = command.output().expect("it runs");
    assert_eq!(output.status.code(), Some(0), "{name}: {}", errors(&output));
    String::from_utf8(output.stdout).expect("text")
}

#[test]
fn twenty_crashes_fit_on_a_screen_each() {
    let home = Home::new();
    let mut all = String::new();
    for name in CRASHES {
        let screen = screen_of(&home, name);
        assert!(screen.lines().count() <= LINES, "{name} has too many lines:\n{screen}");
        let widest = screen.lines().map(|line| line.chars().count()).max();
        assert!(widest <= Some(COLUMNS), "{name} has too long a line:\n{screen}");
        assert!(
            !screen.contains("Traceback (most recent call last)"),
            "{name}:\n{screen}"
        );
        all.push_str(&format!("=== {name}\n{screen}\n"));
    }
    let mut settings = insta::Settings::clone_current();
    settings.set_prepend_module_to_snapshot(false);
    settings.set_snapshot_path(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/snapshots"));
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!("first-screens", all));
}

/// A failure in the program's own function, below two of the standard library.
const TRAIN: &str = "import json\n\n\ndef load(path):\n    return json.loads(path)\n\n\nload('{\"a\": ')\n";

#[test]
fn the_line_of_the_program_stands_there_whether_the_cause_is_known_or_not() {
    let home = Home::new();
    home.file("train.py", TRAIN);
    home.file(
        "odd.py",
        "class Odd(Exception):\n    pass\n\n\ndef step(n):\n    raise Odd(n)  # why\n\n\nstep(3)\n",
    );
    for (program, place, source) in [
        ("train.py", "train.py:5, in load", "return json.loads(path)"),
        ("odd.py", "odd.py:6, in step", "raise Odd(n)"),
    ] {
        let output = home.run(&["python3", program]);
        let told = errors(&output);
        assert!(told.contains(place) && told.contains(source), "{told}");
        assert!(
            !told.contains("Missing"),
            "nothing that is missing could decide this:\n{told}"
        );
        std::fs::remove_dir_all(home.work().join("report")).expect("a report was kept");
    }
}

#[test]
fn what_run_says_at_the_end_fits_on_a_screen_and_names_what_was_kept() {
    let home = Home::new();
    let output = home.run(&python("raise ValueError('no such schedule: cosin')"));
    let told = errors(&output);
    let said = told.split_once("\n\n").map_or(told.as_str(), |(_, said)| said);
    assert!(said.lines().count() <= LINES + 2, "{told}");
    assert!(
        told.contains("whycrash diagnose --full ") && told.contains("Kept in"),
        "{told}"
    );
}

#[test]
fn many_files_are_counted_and_not_listed() {
    let home = Home::new();
    for number in 0..300 {
        home.file(
            &format!("logs/rank{number}.log"),
            format!("[rank{number}]: step 7 loss 2.1\n"),
        );
    }
    home.file(
        "logs/model.bin",
        [0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59, 1, 0, 0xff, 0xfe, 0, 3],
    );
    let said = |form: &[&str]| {
        let output = home
            .whycrash(&["diagnose", "logs"])
            .args(form)
            .output()
            .expect("it runs");
        String::from_utf8(output.stdout).expect("text")
    };
    let screen = said(&[]);
    assert!(
        screen.contains("301 files: 300 logs, 1 unknown; 1 with a problem: "),
        "{screen}"
    );
    assert!(screen.lines().count() <= LINES, "{screen}");
    assert!(said(&["--full"]).lines().count() < 60);
}

/// What is said of one report in a form.
fn said(home: &Home, form: &[&str]) -> String {
    let output = home
        .whycrash(&["diagnose", "train.log"])
        .args(form)
        .output()
        .expect("it runs");
    assert_eq!(output.status.code(), Some(0), "{}", errors(&output));
    String::from_utf8(output.stdout).expect("text")
}

#[test]
fn every_form_has_the_verdict_the_cause_and_the_line() {
    let home = Home::new();
    let log = "step 1 loss 2.0\nTraceback (most recent call last):\n  File \"/job/train.py\", line 12, in <module>\n    \
               main(`x`, a < b)\nModuleNotFoundError: No module named 'flash_attn'\n";
    home.file("train.log", log);
    let short = said(&home, &["--short"]);
    let columns: Vec<&str> = short.trim_end().split('\t').collect();
    assert_eq!(columns[..3], ["train.log", "cause", "py-module-missing"]);
    assert!(columns[3].ends_with('%') && columns[4] == "/job/train.py:12", "{short}");
    assert_eq!(short.lines().count(), 1);
    let ticket = said(&home, &["--format", "markdown"]);
    assert!(
        ticket.starts_with("### Cause: ") && ticket.contains("`/job/train.py:12`"),
        "{ticket}"
    );
    assert!(
        ticket.contains("No module named 'flash_attn'") && ticket.contains("whycrash cause"),
        "{ticket}"
    );
    let annotation = said(&home, &["--format", "github"]);
    assert!(
        annotation.starts_with("::error file=/job/train.py,line=12,title=Cause%3A "),
        "{annotation}"
    );
    assert_eq!(annotation.lines().count(), 1);
    let junit = said(&home, &["--format", "junit"]);
    assert!(
        junit.contains("failures=\"1\" errors=\"0\"") && junit.contains("type=\"py-module-missing\""),
        "{junit}"
    );
    assert!(junit.contains("a &lt; b"), "{junit}");
    let full = said(&home, &["--full"]);
    assert!(
        full.lines().count() > said(&home, &[]).lines().count() && full.contains("Proof"),
        "{full}"
    );
    let json: Value = serde_json::from_str(&said(&home, &["--format", "json"])).expect("JSON");
    assert_eq!(json["verdict"]["kind"], "cause");
    assert_eq!(json["verdict"]["code"]["line"], 12);
    assert_eq!(json["verdict"]["code"]["source"], "main(`x`, a < b)");
}
