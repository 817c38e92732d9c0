//! What can be handed over: streams, archives, folders, and what is said of what can not.

use std::io::Write as _;
use std::os::unix::net::UnixListener;
use std::process::{Output, Stdio};

use serde_json::Value;

use crate::support::Home;

const LOG: &str = "step 1\nTraceback (most recent call last):\n  File \"train.py\", line 3, in <module>\n    \
                   main()\nValueError: no such shard\n";

/// Names of the artifacts that were read, and the messages of the failures in them.
fn read(output: &Output) -> (Vec<String>, Vec<String>) {
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let json: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let name = |artifact: &Value| artifact["name"].as_str().unwrap_or_default().to_owned();
    let names = list(&json["report"]["artifacts"]).iter().map(name).collect();
    let failures = list(&json["timeline"])
        .iter()
        .filter(|event| event["kind"] == "python-exception")
        .map(|event| event["artifact"].as_str().unwrap_or_default().to_owned())
        .collect();
    (names, failures)
}

fn inspect(home: &Home, paths: &[&str]) -> Output {
    let mut command = home.whycrash(&["inspect", "--format", "json"]);
    command.args(paths).output().expect("it runs")
}

/// A shell that runs a line in which `$W` is the program.
fn shell(home: &Home, line: &str) -> Output {
    let mut command = home.isolated("bash");
    command.env("W", env!("CARGO_BIN_EXE_whycrash"));
    command.args(["-c", line]).output().expect("it runs")
}

#[test]
fn what_comes_through_a_stream_is_read_like_a_file() {
    let home = Home::new();
    home.file("train.log", LOG);
    for (line, name) in [
        ("cat train.log | $W inspect --format json -", "stdin"),
        ("cat train.log | $W inspect --format json /dev/stdin", "stdin"),
        ("$W inspect --format json - < train.log", "stdin"),
        ("gzip -c train.log | $W inspect --format json -", "stdin"),
        (
            "mkfifo pipe.log; cat train.log > pipe.log & $W inspect --format json pipe.log",
            "pipe.log",
        ),
        ("{ read -r _; $W inspect --format json -; } < train.log", "stdin"),
    ] {
        assert_eq!(
            read(&shell(&home, line)),
            (vec![name.to_owned()], vec![name.to_owned()]),
            "{line}"
        );
    }
    let (names, failures) = read(&shell(&home, "$W inspect --format json <(cat train.log) train.log"));
    assert!(names[0].starts_with("pipe-") && names[1] == "train.log", "{names:?}");
    assert_eq!(failures.len(), 2);
}

#[test]
fn a_diagnosis_of_a_stream_shows_the_lines_that_came_through_it() {
    let home = Home::new();
    home.file("train.log", LOG);
    let output = shell(&home, "tar cz train.log | $W diagnose -");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("no such shard"), "{said}");
}

#[test]
fn archives_of_the_usual_programs_are_read() {
    let home = Home::new();
    home.file("job/logs/rank 0.log", LOG);
    home.file("job/größe.txt", "all is well\n");
    home.file("job/empty.log", "");
    for line in [
        "tar cf x job",
        "tar cf x ./job",
        "tar czf x job",
        "tar cJf x job",
        "tar cjf x job",
        "tar c job | zstd -q > x",
        "tar c --format=posix job > x",
        "tar c --format=v7 job > x",
        "tar cS job > x",
        "zip -qr x.zip job; mv x.zip x",
        "python3 -m zipfile -c x job",
        "python3 -c \"import shutil; shutil.make_archive('y', 'zip', '.', 'job')\"; mv y.zip x",
        "python3 -c \"import shutil; shutil.make_archive('y', 'xztar', '.', 'job')\"; mv y.tar.xz x",
    ] {
        let packed = shell(&home, &format!("rm -f x; set -o pipefail; {line}"));
        if packed.status.code() == Some(127) || String::from_utf8_lossy(&packed.stderr).contains("Cannot exec") {
            // That program is not on every machine.
            continue;
        }
        assert!(
            packed.status.success(),
            "{line}: {}",
            String::from_utf8_lossy(&packed.stderr)
        );
        let (mut names, failures) = read(&inspect(&home, &["x"]));
        names.sort();
        assert_eq!(
            names,
            ["x", "x/job/empty.log", "x/job/größe.txt", "x/job/logs/rank 0.log"],
            "{line}"
        );
        assert_eq!(failures, ["x/job/logs/rank 0.log"], "{line}");
    }
}

#[test]
fn the_folder_of_a_case_gives_what_the_case_says_a_crash_left() {
    let home = Home::new();
    for (folder, case) in [
        ("all", "cause = \"x\"\n"),
        ("named", "cause = \"x\"\nartifacts = [\"train.log\"]\n"),
    ] {
        home.file(&format!("{folder}/case.toml"), case);
        home.file(&format!("{folder}/train.log"), LOG);
        home.file(&format!("{folder}/expected.json"), "[]");
        home.file(&format!("{folder}/logs/case.toml"), "an artifact");
    }
    assert_eq!(read(&inspect(&home, &["all"])).0, ["case.toml", "train.log"]);
    assert_eq!(read(&inspect(&home, &["named"])).0, ["train.log"]);
    home.file("named/case.toml", "artifacts = [\"trian.log\"]\n");
    let said = String::from_utf8_lossy(&inspect(&home, &["named"]).stderr).into_owned();
    assert!(said.contains("did you mean") && said.contains("train.log"), "{said}");
}

#[test]
fn what_can_not_be_read_is_said_with_what_to_do() {
    let home = Home::new();
    home.file("train.log.gz", "x");
    home.file("logs/rank-0.log", "x");
    home.file("hidden/.train.log", "x");
    std::fs::create_dir(home.work().join("empty")).expect("a folder");
    std::os::unix::fs::symlink("gone", home.work().join("link.log")).expect("a link");
    let _socket = UnixListener::bind(home.work().join("socket")).expect("a socket");
    for (path, code, words) in [
        ("trian.log.gz", 1, "did you mean train.log.gz?"),
        ("train.log", 1, "did you mean train.log.gz?"),
        ("log", 1, "did you mean logs?"),
        ("logs/rank_0.log", 1, "did you mean logs/rank-0.log?"),
        ("nowhere/train.log", 1, "there is no folder nowhere"),
        ("quite-another.core", 1, "there is no such file: give"),
        ("*.log", 1, "no file has a name like that"),
        ("link.log", 1, "it is a link to gone"),
        ("logs/rank-0.log/x", 1, "is a file and no folder"),
        ("empty", 1, "no file to read in empty: give"),
        ("hidden", 1, ".train.log"),
        ("socket", 1, "it is a socket"),
        ("/dev/zero", 1, "it is a device"),
        (
            "s3://bucket/train.log",
            2,
            "aws s3 cp 's3://bucket/train.log' - | whycrash diagnose -",
        ),
        ("gs://bucket/train.log", 2, "gcloud storage cat"),
        ("az://box/train.log", 2, "az"),
        (
            "https://ci.example/job/1/log",
            2,
            "curl -fsSL 'https://ci.example/job/1/log' | whycrash diagnose -",
        ),
        ("s3://bucket/logs/", 2, "copy what is there to a folder"),
        ("file:///tmp/train.log", 2, "/tmp/train.log"),
        ("ssh://host/train.log", 2, "get the file"),
        ("-", 2, "standard input, which is a device"),
    ] {
        for command in ["diagnose", "inspect", "upload"] {
            let output = home.whycrash(&[command, path]).output().expect("it runs");
            let said = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(code), "{command} {path}: {said}");
            assert!(said.contains(words), "{command} {path}: {said}");
            assert!(output.stdout.is_empty(), "{command} {path}");
        }
    }
}

#[test]
fn a_pipe_that_nobody_writes_to_is_waited_for_and_an_interrupt_ends_that() {
    let home = Home::new();
    shell(&home, "mkfifo pipe");
    // Whoever opens the other end waits until it is read from; that no byte comes is what is waited through.
    let line = "set -m; $W inspect pipe 2> said & exec 3> pipe; kill -INT $!; wait $!; echo $?";
    let said = shell(&home, line);
    assert_eq!(String::from_utf8_lossy(&said.stdout).trim(), "130", "{said:?}");
}

#[test]
fn what_is_not_whole_is_named() {
    let home = Home::new();
    home.file("job/train.log", LOG.repeat(2000));
    for (line, code) in [
        ("tar czf x job; truncate -s 400 x", "truncated"),
        ("tar cf x job; truncate -s 20000 x", "truncated"),
        ("ln -s /etc/passwd job/link; tar cf x job", "not-a-file"),
        ("tar cPf x $PWD/job", "not-unpacked"),
        ("head -c 4000 /dev/urandom > x", "unknown-format"),
    ] {
        shell(&home, &format!("rm -f x; {line}"));
        let output = inspect(&home, &["x"]);
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(
            output.status.success() && said.contains(&format!("\"{code}\"")),
            "{line}: {said}"
        );
    }
    let mut child = home
        .whycrash(&["inspect", "--format", "json", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it runs");
    child
        .stdin
        .take()
        .expect("a pipe")
        .write_all(b"")
        .expect("nothing is written");
    let output = child.wait_with_output().expect("it ends");
    assert!(String::from_utf8_lossy(&output.stdout).contains("\"empty\""));
}
