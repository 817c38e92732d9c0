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

#[test]
fn a_snapshot_of_nothing_says_so() {
    let home = Home::new();
    let taken = home.whycrash(&["snapshot", "4194304"]).output().expect("it runs");
    assert_eq!(taken.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&taken.stderr).contains("there is no process 4194304"));
}
