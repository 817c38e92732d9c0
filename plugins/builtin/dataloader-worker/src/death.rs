//! A worker that died, as its parent tells it, and what the worker itself left of its death.

use whycrash_plugin::facts::{self, Kernel};
use whycrash_plugin::{Citation, Diagnosis, Finding, Frame, Report, Told, frames};

use crate::ended;

type Death = Told<facts::DataloaderWorker>;

/// How faulthandler begins the dump of a process that died of SIGFPE; some versions write it with a hyphen.
const ARITHMETIC: &str = "Floating point exception";

pub fn rule(report: &Report) -> Option<Diagnosis> {
    let deaths: Vec<Death> = report
        .told::<facts::DataloaderWorker>()
        .into_iter()
        .filter(|told| ended(&told.event))
        .collect();
    // It is told up to three times: by the worker's own handler, which does not know its process id, by the parent with
    // the reason, and by the parent without.
    let reasoned = |told: &&Death| told.detail.signal.is_some() || told.detail.shared_memory;
    let death = deaths
        .iter()
        .filter(reasoned)
        .find(|told| told.detail.pid.is_some())
        .or_else(|| deaths.iter().find(reasoned))
        .or_else(|| deaths.iter().find(|told| told.detail.exit_code.is_some()))
        .or_else(|| deaths.first())?;
    let is_bus_error = deaths.iter().any(|told| told.detail.shared_memory);
    // The host's memory failed, which is another cause's to tell.
    if is_bus_error && memory_failed(report) {
        return None;
    }
    if is_bus_error {
        return Some(bus_error(report, death));
    }
    let Some(signal) = death.detail.signal.as_deref() else {
        return Some(match death.detail.exit_code {
            Some(code) => exited(report, death, code),
            None => gone(report, death),
        });
    };
    // The C library and torch's handler write these words differently.
    match signal.to_ascii_lowercase().replace('-', " ").as_str() {
        "killed" => Some(killed(report, death)),
        "bus error" if memory_failed(report) => None,
        "bus error" => Some(bus_error(report, death)),
        "segmentation fault" => Some(by_signal(report, death, "dl-worker-segfault", "Segmentation fault")),
        "aborted" => Some(by_signal(report, death, "dl-worker-abort", "Aborted")),
        "floating point exception" => Some(by_signal(report, death, "fpe-integer-division", ARITHMETIC)),
        _ => None,
    }
}

/// Killed from outside: by the kernel where its log says so, and by somebody unknown elsewhere.
fn killed(report: &Report, death: &Death) -> Diagnosis {
    let kills: Vec<Told<Kernel>> = report.told();
    let kill = kills.iter().find(|told| {
        // A scheduler that passes the kernel's kill on does not say which process it was.
        let is_of_it = death.detail.pid.is_none() || told.event.pid.is_none() || told.event.pid == death.detail.pid;
        told.detail.family == "oom-kill" && is_of_it
    });
    let worker = worker(death);
    let Some(kill) = kill else {
        let finding = Finding::new("dl-worker-oom-killed", 0.7).because(format!(
            "{worker} was killed (SIGKILL). Nothing in a training job does that; the kernel does when memory runs out. A scheduler or a person \
             may have done it instead: the kernel's log decides."
        ));
        return Diagnosis::from(finding.cite(report.cite(&death.event))).collect(
            "kernel log",
            "dmesg -T | grep -i -E 'killed process|oom' on the host (not in the container), or journalctl -k",
            ["dl-worker-oom-killed", "host-oom-killer"],
        );
    };
    let limit = if kill.detail.cgroup == Some(true) {
        "its memory cgroup (the container) had reached its limit"
    } else {
        "the host had no memory left"
    };
    let held = kill.detail.rss.map_or_else(String::new, |bytes| {
        format!(", which held {:.2} GiB,", bytes as f64 / f64::from(1 << 30))
    });
    Finding::new("dl-worker-oom-killed", 0.96)
        .because(format!("The kernel killed {}{held} because {limit}.", lower(&worker)))
        .cite(report.cite(&death.event))
        .cite(report.cite(&kill.event))
        .into()
}

/// Whether the kernel says that memory of the machine lost its content: who touches it gets SIGBUS.
fn memory_failed(report: &Report) -> bool {
    report
        .told::<Kernel>()
        .iter()
        .any(|told| told.detail.family == "memory-failure")
}

fn bus_error(report: &Report, death: &Death) -> Diagnosis {
    Finding::new("dl-shm-bus-error", 0.93)
        .because(format!(
            "{} died of a bus error: it wrote to shared memory that has no room behind it. Batches are handed over in /dev/shm, which is full.",
            worker(death)
        ))
        .cite(report.cite(&death.event))
        .cite_all(own_words(report, "Bus error"))
        .first_step("Look at /dev/shm inside of the container: df -h /dev/shm (64 MiB is Docker's default)")
        .into()
}

/// Died of a signal of its own making: its own dump says where.
fn by_signal(report: &Report, death: &Death, cause: &str, error: &str) -> Diagnosis {
    let place = python_frame(report, error);
    let words = own_words(report, error);
    let at = place
        .as_ref()
        .map_or_else(String::new, |(frame, _)| format!(" in {frame}"));
    let verb = match error {
        "Aborted" => "aborted",
        "Segmentation fault" => "crashed with a segmentation fault",
        _ => "died of an arithmetic fault, which mostly is an integer that was divided by zero",
    };
    let confidence = match (error, words.is_empty()) {
        // A float operation with its traps on, and a quotient that does not fit, are told in the same words.
        (ARITHMETIC, _) => 0.62,
        (_, true) => 0.88,
        (_, false) => 0.94,
    };
    let finding = Finding::new(cause, confidence)
        .because(format!(
            "{} {verb}{at}: native code that the dataset calls failed, not the training process.",
            worker(death)
        ))
        .cite(report.cite(&death.event))
        .cite_all(words.iter().cloned())
        .cite_all(place.map(|(_, citation)| citation));
    if error == ARITHMETIC {
        return Diagnosis::from(finding).collect(
            "core dump",
            "run it under `whycrash run`, or with `ulimit -c unlimited`: the signal's code and the operands of the instruction are in the core",
            ["fpe-integer-division", "fpe-integer-overflow", "fpe-float-trap"],
        );
    }
    if words.is_empty() {
        return Diagnosis::from(finding).collect(
            "the worker's stack",
            "run with PYTHONFAULTHANDLER=1 (`whycrash run` does), so that the dying worker prints where it was; num_workers=0 makes it happen in \
             the main process",
            [cause],
        );
    }
    finding.into()
}

fn exited(report: &Report, death: &Death, code: i32) -> Diagnosis {
    Finding::new("dl-worker-exitcode", 0.92)
        .because(format!(
            "{} ended by itself with exit code {code}: code in the worker called exit, or the worker could not start (an import that failed).",
            worker(death)
        ))
        .cite(report.cite(&death.event))
        .first_step("Run once with num_workers=0: what ends the worker then happens in the main process, with its traceback")
        .into()
}

/// The loader found it gone when no batch came, and says no more.
fn gone(report: &Report, death: &Death) -> Diagnosis {
    let finding = Finding::new("dl-worker-exitcode", 0.6).because(format!(
        "{} ended, and the loader does not know how: it exited by itself, or it was killed and nobody waited for it.",
        worker(death)
    ));
    Diagnosis::from(finding.cite(report.cite(&death.event))).collect(
        "what ended the worker",
        "run once with num_workers=0; and dmesg -T | grep -i -E 'killed process|segfault' on the host, for one that was killed",
        ["dl-worker-exitcode", "dl-worker-oom-killed", "dl-worker-segfault"],
    )
}

fn worker(death: &Death) -> String {
    death.detail.pid.map_or_else(
        || "A DataLoader worker".to_owned(),
        |pid| format!("The DataLoader worker with process id {pid}"),
    )
}

fn lower(sentence: &str) -> String {
    let mut letters = sentence.chars();
    letters
        .next()
        .map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
}

/// What the worker printed about its own death: faulthandler's head line, the C library's last words, torch's own
/// handler.
fn own_words(report: &Report, error: &str) -> Vec<Citation> {
    let dumps = report.told::<facts::FatalPythonError>();
    let dump = dumps
        .iter()
        .find(|told| is_dump_of(&told.detail, error))
        .map(|told| report.cite(&told.event));
    let aborts = report.told::<facts::NativeAbort>();
    let abort = (error == "Aborted")
        .then(|| aborts.first())
        .flatten()
        .map(|told| report.cite(&told.event));
    abort.into_iter().chain(dump).collect()
}

/// The Python frame of the worker's dump to look at first: the program's own before a library's.
fn python_frame(report: &Report, error: &str) -> Option<(String, Citation)> {
    report
        .told::<facts::FatalPythonError>()
        .iter()
        .find(|told| is_dump_of(&told.detail, error))?;
    let walk = report.walks().take_while(|walk| walk.thread.crashed).find(|walk| {
        walk.frames().next().is_some_and(|(_, frame)| frame.kind == "python")
            && !walk.thread.id.starts_with("traceback")
    })?;
    let stack: Vec<(u32, Frame)> = walk.frames().collect();
    let (index, frame) = stack.get(frames::lead(stack.iter().map(|(_, frame)| frame)).unwrap_or(0))?;
    let name = frame.function.as_deref().unwrap_or("?");
    let at = match (&frame.file, frame.line) {
        (Some(file), Some(line)) => format!("`{name}` ({}:{line})", file.rsplit('/').next().unwrap_or(file)),
        _ => format!("`{name}`"),
    };
    Some((at, walk.cite(*index, frame)))
}

fn is_dump_of(dump: &facts::FatalPythonError, error: &str) -> bool {
    dump.error.replace('-', " ") == error
}
