//! What the job prints and reads is what it would be without us.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::process::ExitStatusExt as _;
use std::process::Stdio;

use crate::support::{Home, python, sh};

/// Every byte value many times over, more than any pipe holds, no newline at the end.
const BINARY: &str = "
import sys
sys.stdout.buffer.write(bytes(range(256)) * 20000 + b'end')
sys.stderr.buffer.write(bytes(range(255, -1, -1)) * 10000 + b'end')
";

#[test]
fn bytes_pass_unchanged() {
    let home = Home::new();
    let output = home.run(&python(BINARY));
    let expected: Vec<u8> = (0..=255).cycle().take(256 * 20000).chain(*b"end").collect();
    assert!(
        output.stdout == expected,
        "{} bytes of standard output",
        output.stdout.len()
    );
    let expected: Vec<u8> = (0..=255).rev().cycle().take(256 * 10000).chain(*b"end").collect();
    assert!(
        output.stderr == expected,
        "{} bytes of standard error",
        output.stderr.len()
    );
}

#[test]
fn one_pipe_for_both_keeps_their_order() {
    let home = Home::new();
    let script = "i=0; while [ $i -lt 200 ]; do echo out $i; echo err $i >&2; i=$((i+1)); done";
    let both = format!(
        "exec 2>&1; '{}' run -- sh -c '{script}'",
        env!("CARGO_BIN_EXE_whycrash")
    );
    let with = home.isolated("sh").args(["-c", &both]).output().expect("a shell");
    let without = home
        .isolated("sh")
        .args(["-c", &format!("exec 2>&1; {script}")])
        .output()
        .expect("a shell");
    assert_eq!(
        String::from_utf8_lossy(&with.stdout),
        String::from_utf8_lossy(&without.stdout)
    );
}

#[test]
fn standard_input_reaches_the_job() {
    let home = Home::new();
    let mut child = home
        .whycrash(&["run", "--", "sha256sum"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it runs");
    let bytes: Vec<u8> = (0..=255).cycle().take(3 << 20).collect();
    child
        .stdin
        .take()
        .expect("a pipe")
        .write_all(&bytes)
        .expect("the job reads");
    let output = child.wait_with_output().expect("it ends");
    let mut plain = home
        .isolated("sha256sum")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it runs");
    plain.stdin.take().expect("a pipe").write_all(&bytes).expect("it reads");
    assert_eq!(output.stdout, plain.wait_with_output().expect("it ends").stdout);
}

#[test]
fn a_writer_learns_that_the_job_has_closed_its_input() {
    let home = Home::new();
    let job = sh("exec <&-; sleep 0.5; echo done");
    let mut child = home
        .whycrash(&["run", "--"])
        .args(job)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it runs");
    let mut input = child.stdin.take().expect("a pipe");
    std::thread::sleep(std::time::Duration::from_millis(300));
    assert_eq!(
        input.write_all(&[0; 100]).expect_err("nobody reads").kind(),
        std::io::ErrorKind::BrokenPipe
    );
    assert_eq!(child.wait_with_output().expect("it ends").stdout, b"done\n");
}

#[test]
fn a_reader_that_goes_away_ends_the_job() {
    let home = Home::new();
    let mut child = home
        .whycrash(&["run", "--", "yes"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("it runs");
    let mut line = String::new();
    BufReader::new(child.stdout.take().expect("a pipe"))
        .read_line(&mut line)
        .expect("a line");
    assert_eq!(line, "y\n");
    assert_eq!(child.wait().expect("it ends").signal(), Some(13), "SIGPIPE");
}

#[test]
fn what_the_job_leaves_running_keeps_its_output() {
    let home = Home::new();
    let job = sh("(sleep 5; echo late) & echo early");
    let start = std::time::Instant::now();
    let mut child = home
        .whycrash(&["run", "--"])
        .args(job)
        .stdout(Stdio::piped())
        .spawn()
        .expect("it runs");
    let mut output = String::new();
    let mut pipe = child.stdout.take().expect("a pipe");
    assert!(child.wait().expect("it ends").success());
    assert!(
        start.elapsed() < std::time::Duration::from_secs(4),
        "it does not wait for what the job left"
    );
    pipe.read_to_string(&mut output).expect("text");
    assert_eq!(output, "early\nlate\n");
}

#[test]
fn files_are_written_by_the_job_itself() {
    let home = Home::new();
    let path = home.file("out.txt", "before\n");
    let file = std::fs::File::options().append(true).open(&path).expect("a file");
    let job = python("import os, stat, sys; print(stat.S_ISREG(os.fstat(1).st_mode)); sys.exit(1)");
    home.whycrash(&["run", "--output", "report", "--"])
        .args(job)
        .stdout(file)
        .status()
        .expect("it runs");
    assert_eq!(std::fs::read_to_string(path).expect("text"), "before\nTrue\n");
    let kept = std::fs::read_to_string(home.work().join("report/stdout.log")).expect("it was kept");
    assert_eq!(kept, "True\n", "only the job's part");
}

#[test]
fn the_environment_gains_what_is_armed_and_nothing_else() {
    let home = Home::new();
    let with = home.whycrash(&["run", "--", "env"]).output().expect("it runs").stdout;
    let without = home.isolated("env").output().expect("it runs").stdout;
    let lines = |bytes: &[u8]| -> std::collections::BTreeSet<String> {
        String::from_utf8_lossy(bytes).lines().map(str::to_owned).collect()
    };
    let gained: Vec<String> = lines(&with).difference(&lines(&without)).cloned().collect();
    let [log, armed @ ..] = gained.as_slice() else {
        panic!("nothing is armed")
    };
    assert!(log.starts_with("CUDA_LOG_FILE=/proc/"), "{log}");
    assert_eq!(
        armed,
        [
            "PYTHONFAULTHANDLER=1",
            "TORCH_FR_BUFFER_SIZE=2000",
            "TORCH_FR_DUMP_ON_TIMEOUT=1"
        ]
    );
    assert!(lines(&without).is_subset(&lines(&with)));

    let own = [
        "PYTHONFAULTHANDLER=",
        "CUDA_LOG_FILE=stderr",
        "TORCH_NCCL_TRACE_BUFFER_SIZE=0",
        "TORCH_NCCL_DUMP_ON_TIMEOUT=0",
    ];
    let mut set = home.whycrash(&["run", "--", "env"]);
    set.envs(own.iter().filter_map(|variable| variable.split_once('=')));
    let set = lines(&set.output().expect("it runs").stdout);
    let without = lines(&without);
    let more: std::collections::BTreeSet<String> = set.difference(&without).cloned().collect();
    assert_eq!(more, own.map(str::to_owned).into());

    let all = "faulthandler,cuda-log,flight-recorder";
    let off = home
        .whycrash(&["run", "--no-arm", all, "--", "env"])
        .output()
        .expect("it runs")
        .stdout;
    assert_eq!(lines(&off), without);
}
