//! Ways to die, each bare and under `run`: status, output, files and processes must be the same, and the report must
//! say how the job ended.

mod address_space;
mod attributes;
mod families;
mod job_control;
mod launchers;
mod limits;
mod places;
mod signals;
mod streams;
mod surroundings;
mod terminals;
mod trees;
mod writers;

use std::collections::BTreeMap;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::Path;
use std::process::{Command, ExitStatus, Output, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::Home;

/// How long anything may take before a test fails.
const PATIENCE: Duration = Duration::from_secs(60);
/// A variable by which processes are known to be of one attempt.
const MARK: &str = "WAY_TO_DIE";

/// What the report must say about the job's end.
#[derive(Clone, Copy, Debug)]
pub enum Report {
    /// What the status says, and nothing where that is 0.
    AsStatus,
    /// There is none.
    None,
    /// There may be one, if there was room for it.
    Perhaps,
    /// This code.
    Code(i32),
    /// This signal.
    Signal(&'static str),
}

/// A way to die: a script for bash, in which `$RUN` stands before the job.
#[derive(Clone, Copy, Debug)]
pub struct Way {
    pub script: &'static str,
    pub report: Report,
}

/// A way whose report says what its status says.
pub const fn way(script: &'static str) -> Way {
    Way {
        script,
        report: Report::AsStatus,
    }
}

/// A way with this report.
pub const fn reported(script: &'static str, report: Report) -> Way {
    Way { script, report }
}

/// The words that give a program mounts of its own. An ordinary user needs to be root of a namespace for that; and where
/// the root is that of a `chroot`, and no mount, it can not be made private, which it is already there.
fn own_mounts() -> &'static str {
    static WORDS: OnceLock<&str> = OnceLock::new();
    WORDS.get_or_init(|| {
        let ways = ["unshare -m", "unshare -m --propagation=unchanged"];
        let works = |words: &&str| {
            Command::new("sh")
                .args(["-c", &format!("{words} true 2>/dev/null")])
                .status()
        };
        let found = ways
            .into_iter()
            .find(|words| works(words).is_ok_and(|status| status.success()));
        found.unwrap_or("unshare -rm")
    })
}

/// What is left of an attempt.
#[derive(Debug, PartialEq, Eq)]
pub struct Left {
    pub status: ExitStatus,
    pub stdout: String,
    pub stderr: String,
    /// Files by name with their sizes.
    pub files: BTreeMap<String, u64>,
    /// Processes that go on.
    pub processes: usize,
}

/// The options of `run` wherever nothing but the job counts.
const OPTIONS: &str = "--quiet --no-diagnosis";

/// One attempt: a home, and a mark for its processes.
pub struct Attempt {
    pub home: Home,
    mark: String,
    run: Option<&'static str>,
}

impl Attempt {
    /// Without us.
    pub fn bare() -> Self {
        Self::new(None)
    }

    /// Under `run`, with these options.
    pub fn run(options: &'static str) -> Self {
        Self::new(Some(options))
    }

    fn new(run: Option<&'static str>) -> Self {
        let home = Home::new();
        let mark = home.work().display().to_string();
        Self { home, mark, run }
    }

    /// What stands before the job.
    pub fn prefix(&self) -> Vec<String> {
        let Some(options) = self.run else { return Vec::new() };
        let report = self.home.work().join("../report").display().to_string();
        let words = [env!("CARGO_BIN_EXE_whycrash"), "run", "--output", &report];
        let words = words.into_iter().chain(options.split_whitespace()).chain(["--"]);
        words.map(str::to_owned).collect()
    }

    /// A program of the attempt.
    pub fn command(&self, program: &str) -> Command {
        let mut command = self.home.isolated(program);
        // What a job says by itself is compared; that Python says more under `run` is tested elsewhere.
        command
            .env(MARK, &self.mark)
            .env("OWN_MOUNTS", own_mounts())
            .env("LC_ALL", "C")
            .env("PYTHONFAULTHANDLER", "");
        command
    }

    /// A script in which `$RUN` stands for what stands before the job.
    fn bash(&self, script: &str) -> Command {
        let mut bash = self.command("bash");
        bash.args(["--norc", "-c", script])
            .env("RUN", self.prefix().join(" "))
            .stdin(Stdio::null());
        bash
    }

    /// A job of the attempt, in a process group of its own.
    pub fn job(&self, words: &[&str]) -> Command {
        let all: Vec<String> = self
            .prefix()
            .into_iter()
            .chain(words.iter().map(|word| (*word).to_owned()))
            .collect();
        let (program, arguments) = all.split_first().expect("a program");
        let mut command = self.command(program);
        command.args(arguments).process_group(0);
        command
    }

    /// What is left when it is over.
    pub fn left(&self, output: Output, processes: usize) -> Left {
        Left {
            status: output.status,
            stdout: self.anonymous(&output.stdout),
            stderr: self.anonymous(&output.stderr),
            files: files(&self.home.work()),
            processes: self.processes_when(processes),
        }
    }

    /// Text in which nothing tells one attempt from another. That a process dumped core because of us is what its
    /// parent may say: it is the one thing about a job that changes, and `--no-core` leaves it out.
    fn anonymous(&self, bytes: &[u8]) -> String {
        String::from_utf8_lossy(bytes)
            .replace(&self.mark, "WORK")
            .replace(" (core dumped)", "")
    }

    /// How many processes of the attempt go on, once there are no more than so many, or after a while.
    fn processes_when(&self, expected: usize) -> usize {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let now = self.processes().len();
            if now <= expected || Instant::now() > deadline {
                return now;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Processes of the attempt that go on.
    pub fn processes(&self) -> Vec<i32> {
        let wanted = format!("{MARK}={}", self.mark);
        let of_ours = |pid: &i32| {
            let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            environment
                .split(|byte| *byte == 0)
                .any(|entry| entry == wanted.as_bytes())
        };
        let all = std::fs::read_dir("/proc").expect("processes").flatten();
        let pids = all.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        pids.filter(of_ours).collect()
    }

    /// The context of the report, once there is one; none when no process is left that could make it.
    pub fn context(&self) -> Option<Value> {
        let path = self.home.work().join("../report/context.json");
        let deadline = Instant::now() + PATIENCE;
        while !self.processes().is_empty() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(20));
        }
        serde_json::from_slice(&std::fs::read(path).ok()?).ok()
    }
}

impl Drop for Attempt {
    fn drop(&mut self) {
        for pid in self.processes() {
            let _ = nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), nix::sys::signal::Signal::SIGKILL);
        }
    }
}

/// Runs a script both ways and compares.
fn compare(way: Way) {
    let run_script = |attempt: &Attempt, expected: usize| {
        let output = attempt.bash(way.script).output().expect("bash runs");
        attempt.left(output, expected)
    };
    let bare = Attempt::bare();
    let expected = run_script(&bare, 0);
    let under = Attempt::run(OPTIONS);
    let left = run_script(&under, expected.processes);
    assert_eq!(left, expected, "{}", way.script);
    let context = under.context();
    let said = context.map(|context| context["exit"].clone());
    if matches!(way.report, Report::Perhaps) {
        return;
    }
    assert_eq!(said, exit_of(way.report, expected.status), "{}", way.script);
}

/// The `exit` of the context.
fn exit_of(report: Report, status: ExitStatus) -> Option<Value> {
    match report {
        Report::None | Report::Perhaps => None,
        Report::Code(code) => Some(json!({"signal": null, "code": code})),
        Report::Signal(name) => Some(json!({"signal": name, "code": null})),
        Report::AsStatus => match (status.code(), status.signal()) {
            (Some(0), _) => None,
            (Some(code), _) => Some(json!({"signal": null, "code": code})),
            (None, signal) => Some(json!({"signal": name_of(signal.expect("a signal")), "code": null})),
        },
    }
}

/// The name of a signal.
fn name_of(signal: i32) -> String {
    match (nix::sys::signal::Signal::try_from(signal), signal - libc::SIGRTMIN()) {
        (Ok(known), _) => known.as_str().to_owned(),
        (_, 0) => "SIGRTMIN".to_owned(),
        (_, above) => format!("SIGRTMIN+{above}"),
    }
}

/// Names and sizes of all files below a folder; core dumps of one program differ by pages in use.
fn files(folder: &Path) -> BTreeMap<String, u64> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let about = entry.metadata().expect("it is there");
        if about.is_dir() {
            let inside = files(&entry.path()).into_iter();
            found.extend(inside.map(|(inside, size)| (format!("{name}/{inside}"), size)));
        }
        let size = if about.is_file() && !name.starts_with("core") {
            about.len()
        } else {
            0
        };
        found.insert(name, size);
    }
    found
}

/// Runs them all, on as many threads as help.
pub fn compare_all(ways: &[Way]) {
    let next = std::sync::atomic::AtomicUsize::new(0);
    let failed = std::sync::atomic::AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(way) = ways.get(next.fetch_add(1, std::sync::atomic::Ordering::Relaxed)) {
                    if std::panic::catch_unwind(|| compare(*way)).is_err() {
                        failed.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                    }
                }
            });
        }
    });
    assert_eq!(failed.into_inner(), 0, "of {} ways came out different", ways.len());
}
