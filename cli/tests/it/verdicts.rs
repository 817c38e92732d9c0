//! The four verdicts: each input ends in the right one, in words and by the exit status.

use std::io::Write as _;
use std::process::Command;

use crate::support::{Home, errors, python};

/// An input: files by name, the status that `--exit-code` gives, and what has to be said.
struct Input {
    what: &'static str,
    files: Vec<(&'static str, Vec<u8>)>,
    status: i32,
    says: &'static [&'static str],
}

fn input(what: &'static str, files: &[(&'static str, &[u8])], status: i32, says: &'static [&'static str]) -> Input {
    let files = files.iter().map(|(name, bytes)| (*name, bytes.to_vec())).collect();
    Input {
        what,
        files,
        status,
        says,
    }
}

const NOTHING_FAILED: i32 = 0;
const CAUSE: i32 = 10;
const UNKNOWN: i32 = 11;
const UNREADABLE: i32 = 12;

const GOOD: &[u8] = b"step 1 loss 2.31\nstep 2 loss 2.12\nstep 3 loss 1.98\nTraining finished.\n";
const GOES_ON: &[u8] = b"step 1 loss 2.31\nstep 2 loss 2.12\nstep 3 loss 1.98\n";
const RAISED: &[u8] = b"Traceback (most recent call last):\n  File \"/job/train.py\", line 9, in <module>\n    go()\n\
                        ModuleNotFoundError: No module named 'flash_attn'\n";
const ODD: &[u8] = b"Traceback (most recent call last):\n  File \"/job/train.py\", line 9, in go\n    raise Odd(3)\n\
                     my_lab.Odd: 3 of them\n";

/// Bytes that are no format and no text.
fn noise(count: usize) -> Vec<u8> {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 24) as u8
    };
    (0..count).map(|_| next()).collect()
}

fn gzipped(bytes: &[u8]) -> Vec<u8> {
    let mut child = Command::new("gzip")
        .arg("-c")
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .expect("gzip");
    child.stdin.take().expect("a pipe").write_all(bytes).expect("it reads");
    child.wait_with_output().expect("it ends").stdout
}

/// What people hand over, some of it by mistake.
fn inputs() -> Vec<Input> {
    let png = [b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec(), noise(600)].concat();
    let pdf = [b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n".to_vec(), noise(900)].concat();
    let library = [
        b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x03\0\x3e\0".to_vec(),
        vec![0; 400],
    ]
    .concat();
    let core_cut = [
        b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x04\0\x3e\0".to_vec(),
        vec![0; 20],
    ]
    .concat();
    let checkpoint = b"\x80\x02}q\0(X\x05\0\0\0modelq\x01ccollections\nOrderedDict\nq\x02)Rq\x03u.".to_vec();
    let safetensors = [b"\x10\x01\0\0\0\0\0\0{\"w\":{\"dtype\":\"F32\"}}".to_vec(), noise(800)].concat();
    let compressed = gzipped(&[GOOD; 400].concat());
    let torn = &compressed[..compressed.len() / 2];
    vec![
        input(
            "a log that says that it finished",
            &[("train.log", GOOD)],
            NOTHING_FAILED,
            &["Nothing failed", "line 4", "4 lines"],
        ),
        input(
            "a log that goes on",
            &[("train.log", GOES_ON)],
            NOTHING_FAILED,
            &[
                "Nothing failed",
                "as far as the log goes",
                "how the run ended is not in it",
            ],
        ),
        input(
            "tests that passed",
            &[("ci.log", b"tests/a.py ....\n===== 4 passed in 0.12s =====\n")],
            NOTHING_FAILED,
            &["tests passed"],
        ),
        input(
            "a launcher that saw exit status 0",
            &[("job.log", b"2026-01-02 03:04:05 INFO worker: job exited with code 0\n")],
            NOTHING_FAILED,
            &["exit status 0"],
        ),
        input(
            "a log without an end",
            &[(
                "srv.log",
                b"2026-01-02 03:04:05 INFO ready\n2026-01-02 03:04:06 INFO serving\n",
            )],
            NOTHING_FAILED,
            &["how the run ended is not in it"],
        ),
        input(
            "a failure that was survived",
            &[("t.log", &[RAISED, GOES_ON, GOOD].concat())],
            NOTHING_FAILED,
            &["survived"],
        ),
        input(
            "a good log beside an empty one",
            &[("job.out", GOOD), ("job.err", b"")],
            NOTHING_FAILED,
            &["Nothing failed"],
        ),
        input(
            "a compressed log of a good run",
            &[("train.log.gz", &gzipped(GOOD))],
            NOTHING_FAILED,
            &["Nothing failed"],
        ),
        input(
            "a known cause",
            &[("train.log", RAISED)],
            CAUSE,
            &["ause: ", "% sure", "/job/train.py:9"],
        ),
        input(
            "a known cause beside noise",
            &[("train.log", RAISED), ("x.bin", &noise(500))],
            CAUSE,
            &["ause: "],
        ),
        input(
            "a failure that nobody knows",
            &[("train.log", ODD)],
            UNKNOWN,
            &["Unknown failure: my_lab.Odd in train.py:9: 3 of them"],
        ),
        input(
            "an end that nobody knows",
            &[(
                "job.log",
                b"step 1 loss 2.0\nsrun: error: node7: task 0: Exited with exit code 37\n",
            )],
            UNKNOWN,
            &["Unknown failure"],
        ),
        input(
            "words of failure at the end",
            &[(
                "job.log",
                b"loading\nsomething went wrong: could not write the manifest\n",
            )],
            UNKNOWN,
            &["Perhaps a failure", "not certain"],
        ),
        input(
            "noise",
            &[("data.bin", &noise(5000))],
            UNREADABLE,
            &["Could not be read: data.bin"],
        ),
        input(
            "an empty file",
            &[("train.log", b"")],
            UNREADABLE,
            &["Could not be read: train.log", "no bytes"],
        ),
        input(
            "zeros",
            &[("sparse.img", &vec![0; 3 << 20])],
            UNREADABLE,
            &["Could not be read: sparse.img"],
        ),
        input(
            "a picture",
            &[("loss.png", &png)],
            UNREADABLE,
            &["Could not be read: loss.png"],
        ),
        input(
            "a document of print",
            &[("paper.pdf", &pdf)],
            UNREADABLE,
            &["Could not be read: paper.pdf"],
        ),
        input(
            "a library",
            &[("libjob.so", &library)],
            UNREADABLE,
            &["Could not be read: libjob.so", "symbols"],
        ),
        input(
            "a checkpoint",
            &[("model.pt", &checkpoint)],
            UNREADABLE,
            &["Could not be read: model.pt"],
        ),
        input(
            "weights",
            &[("model.safetensors", &safetensors)],
            UNREADABLE,
            &["Could not be read: model.safetensors"],
        ),
        input(
            "a core that was cut",
            &[("core.4711", &core_cut)],
            UNREADABLE,
            &["Could not be read: core.4711"],
        ),
        input(
            "a compressed log that was cut",
            &[("train.log.gz", torn)],
            UNREADABLE,
            &["Could not be read: train.log.gz"],
        ),
        input(
            "several of those",
            &[("a.bin", &noise(900)), ("b.pt", &checkpoint), ("c.log", b"")],
            UNREADABLE,
            &["a.bin, b.pt and 1 more"],
        ),
        input(
            "a good log beside noise",
            &[("train.log", GOOD), ("x.bin", &noise(700))],
            UNREADABLE,
            &["Could not be read: x.bin", "nothing failed in what could be read"],
        ),
        input(
            "a log without an end beside an empty file",
            &[("a.log", GOES_ON), ("b.log", b"")],
            UNREADABLE,
            &[
                "Could not be read: b.log",
                "nothing in what could be read tells of a failure",
            ],
        ),
        input(
            "a program",
            &[("train.py", b"import torch\n\nraise ValueError('no')\n")],
            UNREADABLE,
            &["of no run", "what the job printed"],
        ),
        input(
            "a readme",
            &[(
                "README.md",
                b"# Trainer\n\nIt may fail with `CUDA error: out of memory`.\n",
            )],
            UNREADABLE,
            &["of no run"],
        ),
        input(
            "settings",
            &[("config.json", b"{\n  \"lr\": 0.001,\n  \"layers\": 12\n}\n")],
            UNREADABLE,
            &["of no run"],
        ),
        input(
            "settings of another kind",
            &[("config.yaml", b"model:\n  layers: 12\n  name: tiny\n")],
            UNREADABLE,
            &["of no run"],
        ),
        input(
            "a data set",
            &[("rows.csv", b"name,age\nann,33\nbob,44\n")],
            UNREADABLE,
            &["of no run"],
        ),
        input(
            "prose",
            &[("notes.txt", b"remember to buy milk\nand to call home\n")],
            UNREADABLE,
            &["of no run"],
        ),
    ]
}

#[test]
fn each_input_ends_in_the_right_verdict() {
    let mut wrong = Vec::new();
    let inputs = inputs();
    assert!(inputs.len() >= 25);
    for input in inputs {
        let home = Home::new();
        let mut names = Vec::new();
        for (name, bytes) in &input.files {
            home.file(name, bytes);
            names.push(*name);
        }
        let run = |flags: &[&str]| {
            let output = home
                .whycrash(&["diagnose"])
                .args(&names)
                .args(flags)
                .output()
                .expect("it runs");
            (
                output.status.code(),
                String::from_utf8_lossy(&output.stdout).into_owned(),
            )
        };
        let (status, said) = run(&["--exit-code"]);
        let flat = said.split_whitespace().collect::<Vec<_>>().join(" ");
        let missing: Vec<&&str> = input.says.iter().filter(|words| !flat.contains(**words)).collect();
        let (without, _) = run(&[]);
        let expected = Some(i32::from(input.status == UNREADABLE));
        if status != Some(input.status) || !missing.is_empty() || without != expected || said.lines().count() > 20 {
            wrong.push(format!(
                "{}: {status:?} and {without:?}, without {missing:?}:\n{said}",
                input.what
            ));
        }
    }
    assert!(wrong.is_empty(), "{} inputs:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn a_folder_of_nothing_but_what_can_not_be_read_is_said_so() {
    let home = Home::new();
    for number in 0..30 {
        home.file(&format!("ckpt/shard{number}.bin"), noise(300 + number));
    }
    let output = home
        .whycrash(&["diagnose", "ckpt", "--exit-code"])
        .output()
        .expect("it runs");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(UNREADABLE), "{said}{}", errors(&output));
    assert!(said.contains("and 28 more") && said.lines().count() <= 20, "{said}");
}

#[test]
fn a_job_that_run_saw_die_is_a_failure_in_its_kept_report() {
    let home = Home::new();
    home.run(&python("import sys; print('step 1 loss 2.0'); sys.exit(3)"));
    let output = home
        .whycrash(&["diagnose", "report", "--exit-code"])
        .output()
        .expect("it runs");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!([Some(CAUSE), Some(UNKNOWN)].contains(&output.status.code()), "{said}");
}
