//! Jobs that make no progress, looked at while they run.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{Home, interpreters};

/// Three ranks of a job. The second one waits elsewhere than the others, until a file is there; then all end well.
const JOB: &str = "
import os, subprocess, sys, time
wait = 'while not os.path.exists(\"go-on\"): time.sleep(1)'
rank = f'''
import os, time
def exchange():
    {wait}
def stuck():
    {wait}
stuck() if os.environ[\"RANK\"] == \"1\" else exchange()
'''
ranks = [subprocess.Popen([sys.executable, '-c', rank], env={**os.environ, 'RANK': str(number)}) for number in range(3)]
sys.exit(sum(process.wait() for process in ranks) + 7)
";

/// A job that ends with the test, whatever comes of it.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn start(mut command: Command) -> Running {
    let silent = command.stdout(Stdio::null()).stderr(Stdio::null());
    Running(silent.spawn().expect("it starts"))
}

/// What a condition comes to give within a minute.
fn eventually<T>(what: impl Fn() -> Option<T>) -> T {
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        if let Some(found) = what() {
            return found;
        }
        assert!(Instant::now() < deadline, "it never came");
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn context(folder: &Path) -> Option<Value> {
    serde_json::from_slice(&std::fs::read(folder.join("context.json")).ok()?).ok()
}

/// The function that each rank waits in, by rank.
fn places(context: &Value) -> Vec<(u64, Option<String>)> {
    let processes = context["stall"]["processes"].as_array().cloned().unwrap_or_default();
    let ranks = processes.iter().filter(|process| process["leads"] == true);
    let mut places: Vec<_> = ranks
        .map(|process| (process["rank"].as_u64().expect("a rank"), innermost(process)))
        .collect();
    places.sort();
    places
}

fn innermost(process: &Value) -> Option<String> {
    let frames = process["frames"].as_array()?;
    let python = frames.iter().find(|frame| frame["kind"] == "python")?;
    Some(python["function"].as_str()?.to_owned())
}

fn expected() -> Vec<(u64, Option<String>)> {
    [(0, "exchange"), (1, "stuck"), (2, "exchange")]
        .map(|(rank, place)| (rank, Some(place.to_owned())))
        .into()
}

#[test]
fn a_job_that_hangs_gets_a_report_while_it_does_and_ends_as_it_would() {
    let home = Home::new();
    let mut command = home.whycrash(&[
        "run",
        "--output",
        "report",
        "--hang-after",
        "1s",
        "--",
        "python3",
        "-c",
        JOB,
    ]);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut job = start(command);
    let hang = home.work().join("report.hang");
    let told = eventually(|| context(&hang));
    assert_eq!(told["kind"], "hang");
    assert_eq!(told["exit"], Value::Null, "it has not ended");
    assert_eq!(places(&told), expected());
    assert!(job.0.try_wait().expect("it can be asked").is_none(), "it still runs");
    home.file("go-on", "");
    assert_eq!(job.0.wait().expect("it ends").code(), Some(7));
    assert_eq!(context(&home.work().join("report")).expect("a report")["kind"], "crash");
}

#[test]
fn a_snapshot_tells_what_each_process_waits_in_and_which_is_stopped() {
    let home = Home::new();
    let mut command = home.isolated("python3");
    command.args(["-c", JOB]);
    let mut job = start(command);
    let pid = job.0.id().to_string();
    let snapshot = |name: &str| {
        let taken = home
            .whycrash(&["snapshot", "--output", name, &pid])
            .output()
            .expect("it runs");
        assert!(taken.status.success(), "{}", String::from_utf8_lossy(&taken.stderr));
        context(&home.work().join(name)).expect("a context")
    };
    let mut number = 0;
    // The interpreters may have only just started.
    let mut last = json!(null);
    for _ in 0..20 {
        number += 1;
        last = snapshot(&format!("look{number}"));
        if places(&last) == expected() {
            break;
        }
        std::thread::sleep(Duration::from_millis(200));
    }
    assert_eq!(places(&last), expected());
    let processes = last["stall"]["processes"].as_array().expect("processes");
    let stuck = processes
        .iter()
        .find(|process| process["rank"] == 1)
        .expect("the second rank");
    let stopped = stuck["pid"].to_string();
    let signal = |signal: &str| {
        Command::new("kill")
            .args([signal, &stopped])
            .status()
            .expect("kill runs")
    };
    assert!(signal("-STOP").success());
    let told = eventually(|| {
        let text = std::fs::read_to_string(format!("/proc/{stopped}/stat")).ok()?;
        text.contains(") T ").then(|| snapshot("stopped"))
    });
    assert!(signal("-CONT").success());
    let processes = told["stall"]["processes"].as_array().expect("processes");
    let stuck = processes
        .iter()
        .find(|process| process["rank"] == 1)
        .expect("the second rank");
    assert_eq!(stuck["state"], "T");
    let mut diagnose = home.whycrash(&["diagnose", "--format", "json", "stopped"]);
    let document: Value = serde_json::from_slice(&diagnose.output().expect("it runs").stdout).expect("a document");
    assert_eq!(document["evidence"]["crash"]["rank"], 1);
    assert_eq!(document["findings"][0]["cause"], "hang-stopped");
    // Once the folder is gone, nobody would find it there.
    home.file("go-on", "");
    assert_eq!(job.0.wait().expect("it ends").code(), Some(7));
}

/// A thread that waits in C code with the interpreter's lock, which the main thread wants.
const KEEPS_THE_LOCK: &str = "
import ctypes, threading, time
def prefetch():
    ctypes.PyDLL(None).sleep(60)
threading.Thread(target=prefetch, daemon=True).start()
while True:
    time.sleep(0.01)
";

#[test]
fn who_keeps_the_lock_of_python_is_read_from_its_memory_and_named_with_the_call() {
    for interpreter in interpreters() {
        let home = Home::new();
        let mut command = home.isolated(&interpreter);
        command.args(["-c", KEEPS_THE_LOCK]);
        let job = start(command);
        let pid = job.0.id().to_string();
        let mut number = 0;
        // It may have only just started.
        let (report, holder) = loop {
            number += 1;
            let name = format!("look{number}");
            let taken = home
                .whycrash(&["snapshot", "--output", &name, &pid])
                .output()
                .expect("it runs");
            assert!(taken.status.success(), "{}", String::from_utf8_lossy(&taken.stderr));
            let told = context(&home.work().join(&name)).expect("a context");
            let process = told["stall"]["processes"][0].clone();
            let is_wanted = process["lock_waiters"].as_u64().is_some_and(|waiters| waiters > 0);
            if is_wanted && process["lock_holder"].is_object() {
                break (name, process["lock_holder"].clone());
            }
            assert!(number < 50, "{interpreter}: nobody is seen to wait: {process:#}");
            std::thread::sleep(Duration::from_millis(100));
        };
        assert_eq!(holder["frame"]["function"], "prefetch", "{interpreter}: {holder}");
        assert_eq!(holder["frame"]["line"], 4, "{interpreter}: {holder}");
        // With debug information, by the name that the C library has for itself.
        let native = holder["native"]["function"].as_str().unwrap_or_default();
        assert!(["sleep", "__sleep"].contains(&native), "{interpreter}: {holder}");
        let mut diagnose = home.whycrash(&["diagnose", "--format", "json", &report]);
        let document: Value = serde_json::from_slice(&diagnose.output().expect("it runs").stdout).expect("a document");
        let threads = document["evidence"]["threads"].as_array().expect("threads");
        let holders: Vec<&Value> = threads.iter().filter(|thread| thread["holds_gil"] == true).collect();
        assert_eq!(holders.len(), 1, "{interpreter}: {threads:#?}");
        assert_eq!(holders[0]["id"], holder["thread"]);
        let finding = &document["findings"][0];
        assert_eq!(finding["cause"], "dist-gil-hang", "{interpreter}: {finding:#}");
        assert!(
            finding["explanation"]
                .as_str()
                .is_some_and(|text| text.contains("sleep")),
            "{finding:#}"
        );
    }
}

/// Two threads that take two locks in two orders, each once the other has its first one.
const DEADLOCK: &str = "
import threading
lock_a, lock_b = threading.LOCK(), threading.LOCK()
both = threading.Barrier(2)
def first():
    with lock_a:
        both.wait()
        with lock_b:
            pass
def second():
    with lock_b:
        both.wait()
        TAKE_A
threads = [threading.Thread(target=first, name='loader', daemon=True), threading.Thread(target=second, name='writer', daemon=True)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
";

/// The document of a snapshot, once it says what is expected of it.
fn snapshot_until(home: &Home, pid: u32, is_it: impl Fn(&Value) -> bool) -> Value {
    let pid = pid.to_string();
    let mut number = 0;
    eventually_with(move || {
        number += 1;
        let name = format!("look{number}");
        let taken = home
            .whycrash(&["snapshot", "--output", &name, &pid])
            .output()
            .expect("it runs");
        assert!(taken.status.success(), "{}", String::from_utf8_lossy(&taken.stderr));
        let mut diagnose = home.whycrash(&["diagnose", "--format", "json", &name]);
        let document: Value = serde_json::from_slice(&diagnose.output().expect("it runs").stdout).expect("a document");
        if is_it(&document) {
            Ok(document)
        } else {
            Err(document["findings"].to_string())
        }
    })
}

fn eventually_with<T>(mut what: impl FnMut() -> Result<T, String>) -> T {
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        match what() {
            Ok(found) => return found,
            Err(last) => assert!(Instant::now() < deadline, "it never came: {last}"),
        }
        std::thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn two_locks_in_two_orders_are_a_deadlock_in_every_python_and_both_lines_are_named() {
    let ways = [("Lock", "with lock_a: pass"), ("RLock", "lock_a.acquire()")];
    // Since 3.14 they are no semaphores any more, and who has them is not read.
    let known = interpreters().into_iter().filter(|interpreter| {
        let ask = ["-c", "import sys; sys.exit(sys.version_info >= (3, 14))"];
        Command::new(interpreter)
            .args(ask)
            .status()
            .is_ok_and(|status| status.success())
    });
    for (interpreter, (lock, take)) in known.flat_map(|one| ways.map(|way| (one.clone(), way))) {
        let home = Home::new();
        let program = DEADLOCK.replace("LOCK()", &format!("{lock}()")).replace("TAKE_A", take);
        let program = home.file("deadlock.py", program);
        let mut command = home.isolated(&interpreter);
        command.arg(&program);
        let job = start(command);
        let is_deadlock = |document: &Value| {
            let finding = &document["findings"][0];
            finding["cause"] == "hang-lock-order" && finding["confidence"].as_f64().is_some_and(|sure| sure > 0.9)
        };
        let document = snapshot_until(&home, job.0.id(), is_deadlock);
        let finding = &document["findings"][0];
        let explanation = finding["explanation"].as_str().expect("an explanation");
        for words in [
            "loader (thread ",
            "writer (thread ",
            "`first` (deadlock.py:8)",
            "`second` (deadlock.py:13)",
        ] {
            assert!(
                explanation.contains(words),
                "{interpreter} {lock}: {words}: {explanation}"
            );
        }
        let threads = document["evidence"]["threads"].as_array().expect("threads");
        let mut names: Vec<&str> = threads.iter().filter_map(|thread| thread["name"].as_str()).collect();
        names.sort_unstable();
        assert_eq!(names, ["MainThread", "loader", "writer"], "{interpreter}");
        let joins = threads
            .iter()
            .find(|thread| thread["name"] == "MainThread")
            .expect("the main thread");
        assert_eq!(
            joins["activity"]["awaits"]["kind"], "thread",
            "{interpreter}: {joins:#}"
        );
    }
}

#[test]
fn what_was_made_of_a_hang_is_announced_when_the_job_ends() {
    let home = Home::new();
    let mut command = home.whycrash(&[
        "run",
        "--output",
        "report",
        "--hang-after",
        "1s",
        "--",
        "python3",
        "-c",
        JOB,
    ]);
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    let job = command.spawn().expect("it starts");
    eventually(|| context(&home.work().join("report.hang")));
    home.file("go-on", "");
    let output = job.wait_with_output().expect("it ends");
    let told = String::from_utf8_lossy(&output.stderr);
    let line = told
        .lines()
        .find(|line| line.starts_with("whycrash: the job stood still at "));
    let line = line.unwrap_or_else(|| panic!("{told}"));
    assert!(
        line.contains("whycrash diagnose ") && line.ends_with("report.hang"),
        "{line}"
    );
}

#[test]
fn ctrl_c_on_a_job_that_stood_still_says_so_in_a_line_and_keeps_what_was_seen() {
    use std::os::unix::process::CommandExt as _;

    let home = Home::new();
    let program = home.file(
        "deadlock.py",
        DEADLOCK
            .replace("LOCK()", "Lock()")
            .replace("TAKE_A", "lock_a.acquire()"),
    );
    let program = program.to_string_lossy();
    let mut command = home.whycrash(&["run", "--output", "report", "--", "python3", &program]);
    command.stdout(Stdio::null()).stderr(Stdio::piped()).process_group(0);
    let job = command.spawn().expect("it starts");
    let group = job.id();
    let is_looker = |process: &std::path::Path| {
        let read = |name: &str| std::fs::read_to_string(process.join(name)).unwrap_or_default();
        read("cmdline").contains("look-at") && read("status").contains(&format!("\nPPid:\t{group}\n"))
    };
    let is_looked_at = || {
        let mut processes = std::fs::read_dir("/proc").expect("/proc").flatten();
        processes.any(|process| is_looker(&process.path()))
    };
    // It is looked at after a while, by a process that is started for that.
    eventually(|| is_looked_at().then_some(()));
    eventually(|| (!is_looked_at()).then_some(()));
    let told = Command::new("kill")
        .args(["-INT", "--", &format!("-{group}")])
        .status()
        .expect("kill runs");
    assert!(told.success());
    let output = job.wait_with_output().expect("it ends");
    let told = String::from_utf8_lossy(&output.stderr);
    let ours: Vec<&str> = told.lines().filter(|line| line.starts_with("whycrash: ")).collect();
    assert_eq!(ours.len(), 1, "{told}");
    assert!(
        ours[0].contains("the job had stood still for ") && ours[0].contains("Deadlock"),
        "{told}"
    );
    let context = context(&home.work().join("report")).expect("it is kept");
    assert_eq!(context["stall"]["until"], Value::Null);
}

#[test]
fn a_snapshot_of_nothing_says_so() {
    let home = Home::new();
    let taken = home.whycrash(&["snapshot", "4194304"]).output().expect("it runs");
    assert_eq!(taken.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&taken.stderr).contains("there is no process 4194304"));
}
