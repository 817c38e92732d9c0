//! What `diagnose` and `inspect` make of the paths they are given.

use std::process::Output;

use serde_json::Value;

use crate::support::{Home, errors};

const LOG: &str = "step 1\nTraceback (most recent call last):\n  File \"train.py\", line 3, in <module>\n    main()\nValueError: no\n";

fn json(output: &Output) -> Value {
    assert_eq!(output.status.code(), Some(0), "{}", errors(output));
    serde_json::from_slice(&output.stdout).expect("one JSON document on standard output")
}

fn artifact_names(document: &Value) -> Vec<&str> {
    document["report"]["artifacts"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|artifact| artifact["name"].as_str())
        .collect()
}

#[test]
fn paths_become_artifacts() {
    let home = Home::new();
    for file in [
        "logs/rank0/stderr.log",
        "logs/rank1/stderr.log",
        "logs/.hidden",
        "logs/.git/config",
        "train.log",
    ] {
        home.file(file, format!("{LOG}{file}\n"));
    }
    let cases: [(&[&str], &[&str]); 4] = [
        (&["train.log"], &["train.log"]),
        (&["train.log", "./train.log"], &["train.log"]),
        (&["logs"], &["stderr.log", "stderr-2.log"]),
        (&["logs", "train.log"], &["stderr.log", "stderr-2.log", "train.log"]),
    ];
    for (paths, expected) in cases {
        for command in ["diagnose", "inspect"] {
            let output = home
                .whycrash(&[command, "--format", "json"])
                .args(paths)
                .output()
                .expect("it runs");
            let document = json(&output);
            let mut names = artifact_names(&document);
            let mut expected = expected.to_vec();
            names.sort_unstable();
            expected.sort_unstable();
            assert_eq!(names, expected, "{command} {paths:?}");
        }
    }
}

#[test]
fn a_diagnosis_is_a_report_document() {
    let home = Home::new();
    home.file("train.log", LOG);
    let document = json(
        &home
            .whycrash(&["diagnose", "--format", "json", "train.log"])
            .output()
            .expect("it runs"),
    );
    assert_eq!(document["schema"], 1);
    for member in ["report", "findings", "plugins", "evidence"] {
        assert!(!document[member].is_null(), "{member}");
    }
    let inspection = json(
        &home
            .whycrash(&["inspect", "--format", "json", "train.log"])
            .output()
            .expect("it runs"),
    );
    let timeline = &document["evidence"]["timeline"];
    assert!(timeline.is_array(), "{document}");
    assert_eq!(&inspection["timeline"], timeline, "an inspection is the evidence");
}

#[test]
fn what_can_not_be_read_is_named() {
    let home = Home::new();
    std::fs::create_dir(home.work().join("empty")).expect("a folder");
    home.file("broken.toml", "server = [");
    let cases: [(&[&str], i32, &str); 6] = [
        (&["diagnose", "missing.log"], 1, "missing.log"),
        (&["inspect", "empty"], 1, "no file to read in empty"),
        (&["diagnose"], 2, "<PATH>"),
        (&["diagnose", "--no-such-option"], 2, "--no-such-option"),
        (&["--config", "broken.toml", "diagnose", "empty"], 1, "broken.toml"),
        (&["run", "--gpu-interval", "0s", "--", "true"], 2, "0s"),
    ];
    for (arguments, code, words) in cases {
        let output = home.whycrash(arguments).output().expect("it runs");
        assert_eq!(output.status.code(), Some(code), "{arguments:?}");
        assert!(errors(&output).contains(words), "{arguments:?}: {}", errors(&output));
        assert!(output.stdout.is_empty(), "{arguments:?}");
    }
}
