//! What the processes of a job wait in, looked at by a process of its own: reading the stacks of large programs takes
//! seconds and memory that whoever waits for the job shall not need.

use std::collections::BTreeSet;
use std::io::Write;

use serde::{Deserialize, Serialize};
use whycrash_evidence::Limits;
use whycrash_evidence::model::{Awaited, Frame, FrameKind, Thread, ThreadId};
use whycrash_evidence::readers::elf_core::LiveProcess;
use whycrash_evidence::waits::is_own;
use whycrash_symbols::{Sources, Symbols};

use super::process::{Process, call_name};
use super::ras;
use crate::collect::environment;

/// Frames of a main thread that the context has; all are in the stacks.
const FRAMES: usize = 32;
/// Frames of a thread at most.
const DEEPEST: usize = 256;

/// A process, as it was found.
#[derive(Debug, Serialize, Deserialize)]
pub struct Found {
    /// Which.
    pub pid: u32,
    /// For the context.
    pub summary: Summary,
    /// All its threads, in the form of `py-spy dump --json`.
    pub stacks: Vec<Stack>,
}

/// What a process waits in.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Summary {
    /// As in the third field of `/proc/PID/stat`.
    state: Option<String>,
    /// The system call that its main thread waits in.
    call: Option<String>,
    /// The main thread's innermost frames.
    frames: Vec<Place>,
    /// Threads that wait for the interpreter's lock.
    lock_waiters: usize,
    /// Where the thread is that holds it.
    lock_holder: Option<Holder>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Place {
    kind: FrameKind,
    function: Option<String>,
    file: Option<String>,
    line: Option<u32>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Holder {
    thread: u32,
    /// Its innermost Python frame.
    frame: Place,
    /// The native function that was called from there.
    native: Option<Place>,
}

/// A thread as `py-spy dump --json` has it, with more of what it does.
#[derive(Debug, Serialize, Deserialize)]
pub struct Stack {
    pid: u32,
    os_thread_id: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    thread_name: Option<String>,
    active: bool,
    owns_gil: bool,
    /// The system call that it waits in, and the file that the call is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    call: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    /// What it waits for, and who has that.
    #[serde(skip_serializing_if = "Option::is_none")]
    awaits: Option<Awaited>,
    frames: Vec<StackFrame>,
}

#[derive(Debug, Serialize, Deserialize)]
struct StackFrame {
    name: String,
    filename: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    module: Option<String>,
    line: u32,
    /// The line's text, of a frame of the program's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<String>,
}

/// A line of what is written down.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Line {
    /// A process.
    Process(Found),
    /// What somebody else knows about the job, by the name of the artifact.
    File(String, String),
}

/// Writes down what these processes do, a line of JSON each.
pub fn at(pids: &[u32], mut to: impl Write) -> std::io::Result<()> {
    // What they do now is looked at first: reading their stacks takes longer.
    let processes: Vec<Process> = pids.iter().map(|pid| Process::look(*pid)).collect();
    let symbols = Symbols::new(Sources {
        local_files: true,
        ..Sources::default()
    });
    let limits = Limits {
        frames: DEEPEST,
        ..Limits::default()
    };
    let mut services = BTreeSet::new();
    for process in processes {
        let live = process.open();
        if live.as_ref().is_some_and(has_nccl) {
            services.extend(ras::address(&environment::of_process(process.pid)));
        }
        let threads = live.map(|live| symbols.report().stacks(live, &limits));
        let found = found(&process, &threads.unwrap_or_default());
        write(&Line::Process(found), &mut to)?;
    }
    for (name, text) in ras::ask_twice(&services) {
        write(&Line::File(name, text), &mut to)?;
    }
    Ok(())
}

fn write(line: &Line, to: &mut impl Write) -> std::io::Result<()> {
    serde_json::to_writer(&mut *to, line)?;
    to.write_all(b"\n")?;
    to.flush()
}

fn has_nccl(live: &LiveProcess) -> bool {
    let mut paths = live.ranges.iter().filter_map(|range| range.path.as_deref());
    paths.any(|path| path.contains("/libnccl.so") || path.contains("/librccl.so"))
}

fn found(process: &Process, threads: &[Thread]) -> Found {
    let main = threads.iter().find(|thread| thread.id == ThreadId::Os(process.pid));
    let holder = threads.iter().find(|thread| thread.holds_gil);
    let is_kept = holder.is_some_and(|holder| process.waits(&holder.id));
    // On a busy machine, one that wants the lock may be about to look around whenever it is looked at: who runs Python
    // without the lock, while nobody gives it back, can do nothing else for long.
    let wakes = |thread: &Thread| is_kept && runs_python(&thread.frames) && !process.waits(&thread.id);
    let waits = |thread: &&Thread| !thread.holds_gil && (is_waiting_for_lock(&thread.frames) || wakes(thread));
    let lock_waiters = threads.iter().filter(waits).count();
    let call = process.threads.first().and_then(|(_, doing)| doing.call);
    Found {
        pid: process.pid,
        summary: Summary {
            state: process.state.clone(),
            call: call.map(call_name),
            frames: main
                .iter()
                .flat_map(|thread| &thread.frames)
                .take(FRAMES)
                .map(place)
                .collect(),
            lock_waiters,
            lock_holder: holder.and_then(lock_holder),
        },
        stacks: threads.iter().filter_map(|thread| stack(process, thread)).collect(),
    }
}

/// Native frames that a thread was in before the innermost Python frame.
fn above_python(frames: &[Frame]) -> impl Iterator<Item = &Frame> {
    frames.iter().take_while(|frame| frame.kind == FrameKind::Native)
}

fn runs_python(frames: &[Frame]) -> bool {
    frames.iter().any(|frame| frame.kind == FrameKind::Python)
}

fn function(frame: &Frame) -> &str {
    frame.function.as_deref().unwrap_or_default()
}

/// Functions that the interpreter leaves when the thread has its lock. The first is not exported.
const TAKES_LOCK: [&str; 4] = [
    "take_gil",
    "PyEval_RestoreThread",
    "PyEval_AcquireThread",
    "PyGILState_Ensure",
];

/// Where their names are gone: the interpreter waits for its lock on a condition with a time-out, which it uses for
/// little else.
fn is_waiting_for_lock(frames: &[Frame]) -> bool {
    let native: Vec<&Frame> = above_python(frames).collect();
    let named = native.iter().any(|frame| TAKES_LOCK.contains(&function(frame)));
    let on_condition = native.windows(2).any(|pair| {
        let waits = pair.first().is_some_and(|frame| {
            ["pthread_cond_timedwait", "pthread_cond_clockwait"]
                .iter()
                .any(|wait| function(frame).starts_with(wait))
        });
        waits && pair.last().is_some_and(|frame| is_interpreter(frame))
    });
    named || runs_python(frames) && on_condition
}

fn module_name(frame: &Frame) -> &str {
    let module = frame.module.as_deref().unwrap_or_default();
    module.rsplit('/').next().unwrap_or(module)
}

/// Also `_ctypes.cpython-312-x86_64-linux-gnu.so`, which calls for others.
fn is_interpreter(frame: &Frame) -> bool {
    let name = module_name(frame);
    ["python", "libpython", "_ctypes.", "_cffi_backend."]
        .iter()
        .any(|start| name.starts_with(start))
}

/// The native function that Python code called: the outermost one that is not of the machinery which calls it.
fn called(frames: &[Frame]) -> Option<&Frame> {
    let native: Vec<&Frame> = above_python(frames).filter(|frame| frame.function.is_some()).collect();
    let is_callee = |frame: &&&Frame| !is_interpreter(frame) && !module_name(frame).starts_with("libffi");
    let callee = native.iter().rev().find(is_callee);
    callee.or(native.first()).copied()
}

fn lock_holder(thread: &Thread) -> Option<Holder> {
    let ThreadId::Os(id) = thread.id else { return None };
    let frame = thread.frames.iter().find(|frame| frame.kind == FrameKind::Python)?;
    Some(Holder {
        thread: id,
        frame: place(frame),
        native: called(&thread.frames).map(place),
    })
}

fn place(frame: &Frame) -> Place {
    Place {
        kind: frame.kind,
        function: frame.function.clone(),
        file: frame.file.clone(),
        line: frame.line,
    }
}

fn stack(process: &Process, thread: &Thread) -> Option<Stack> {
    let ThreadId::Os(id) = thread.id else { return None };
    let doing = process.doing(&thread.id);
    Some(Stack {
        pid: process.pid,
        os_thread_id: id,
        thread_name: thread.name.clone().or_else(|| process.thread_name(id)),
        active: !process.waits(&thread.id),
        call: doing.and_then(|doing| doing.call).map(call_name),
        file: doing.and_then(|doing| process.file_of(doing)),
        awaits: thread.activity.as_ref().and_then(|activity| activity.awaits.clone()),
        owns_gil: thread.holds_gil,
        // Of a thread that runs, nobody knows where in native code it is.
        frames: thread
            .frames
            .iter()
            .filter(|frame| is_known(frame))
            .map(|frame| stack_frame(process.pid, frame))
            .collect(),
    })
}

fn is_known(frame: &Frame) -> bool {
    frame.function.is_some() || frame.module.is_some()
}

/// Bytes of a file of source that lines are read of at most, and characters of a line that are kept.
const SOURCE_BYTES: u64 = 4 << 20;
const SOURCE_CHARS: usize = 200;

/// The line of source that a frame of Python stands on, where it is the program's own and the file is where the process
/// sees it.
fn source(pid: u32, frame: &Frame) -> Option<String> {
    if frame.kind != FrameKind::Python || !is_own(frame) {
        return None;
    }
    let file = frame.file.as_deref().filter(|file| file.starts_with('/'))?;
    let path = format!("/proc/{pid}/root{file}");
    let about = std::fs::metadata(&path).ok()?;
    if !about.is_file() || about.len() > SOURCE_BYTES {
        return None;
    }
    let text = std::fs::read(&path).ok()?;
    let number = usize::try_from(frame.line?.checked_sub(1)?).ok()?;
    let line = String::from_utf8_lossy(text.split(|byte| *byte == b'\n').nth(number)?)
        .trim()
        .to_owned();
    (!line.is_empty()).then(|| line.chars().take(SOURCE_CHARS).collect())
}

fn stack_frame(pid: u32, frame: &Frame) -> StackFrame {
    let address = || {
        frame
            .address
            .map_or_else(|| "?".to_owned(), |address| address.to_string())
    };
    StackFrame {
        name: frame.function.clone().unwrap_or_else(address),
        filename: frame.file.clone().or_else(|| frame.module.clone()).unwrap_or_default(),
        module: frame.module.clone().filter(|_| frame.kind == FrameKind::Native),
        line: frame.line.unwrap_or_default(),
        source: source(pid, frame),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use whycrash_evidence::model::Thread;

    use super::super::process::{Doing, Process};
    use super::found;

    /// How many threads of a process wait for the lock that another one has: the call that each of the two is in, and
    /// the native frames of the first.
    fn waiters(first_call: Option<i64>, holder_call: Option<i64>, native: &[&str]) -> usize {
        let doing = |call| Doing {
            call,
            ..Doing::default()
        };
        let process = Process {
            pid: 7,
            state: None,
            threads: vec![(7, doing(first_call)), (8, doing(holder_call))],
        };
        let mut frames: Vec<_> = native
            .iter()
            .map(|name| json!({"kind": "native", "function": name}))
            .collect();
        frames.push(json!({"kind": "python", "function": "wait"}));
        let threads = json!([
            {"id": 7, "frames": frames},
            {"id": 8, "holds_gil": true, "frames": [{"kind": "python", "function": "prefetch"}]},
        ]);
        let threads: Vec<Thread> = serde_json::from_value(threads).expect("threads");
        found(&process, &threads).summary.lock_waiters
    }

    #[test]
    fn who_wants_the_lock_is_known_by_where_it_waits_and_when_it_just_wakes() {
        let (futex, sleep) = (Some(202), Some(230));
        assert_eq!(waiters(futex, sleep, &["__futex_wait", "take_gil"]), 1);
        assert_eq!(
            waiters(futex, sleep, &["__futex_wait", "sem_wait"]),
            0,
            "it waits for something else"
        );
        assert_eq!(waiters(None, sleep, &[]), 1, "it wakes to look for the lock");
        assert_eq!(waiters(None, None, &[]), 0, "the lock is about to be given back");
    }
}
