//! Everything the rules look at, gathered once.

use whycrash_plugin::facts::{Crash, DataloaderWorker, FatalPythonError, Kernel, NativeAbort, Sanitizer};
use whycrash_plugin::{Citation, Finding, Owner, Report, Told};

use crate::stack::Stack;

/// A crash as all its witnesses tell it.
pub struct Scene<'a> {
    pub report: &'a Report,
    pub crash: Crash,
    pub native: Option<Stack<'a>>,
    pub python: Option<Stack<'a>>,
    pub fatal: Option<Told<FatalPythonError>>,
    pub aborts: Vec<Told<NativeAbort>>,
    pub sanitizers: Vec<Told<Sanitizer>>,
    pub kernel: Vec<Told<Kernel>>,
    /// A `DataLoader` told of the death of a worker: how the worker died is a part of that story.
    in_worker: bool,
}

/// Confidence beyond which a worker's own death does not outrank what its parent tells about it.
const IN_WORKER: f64 = 0.6;

impl<'a> Scene<'a> {
    pub fn of(report: &'a Report) -> Self {
        Self {
            report,
            crash: report.crash().unwrap_or_default(),
            native: crashed(report, "native"),
            python: crashed(report, "python"),
            fatal: report
                .told::<FatalPythonError>()
                .into_iter()
                .find(|told| !told.event.survived && is_fatal(&told.detail)),
            aborts: ended(report.told()),
            sanitizers: ended(report.told()),
            kernel: report.told(),
            in_worker: !report.told::<DataloaderWorker>().is_empty(),
        }
    }

    /// The signal that ended the process, from whoever tells it.
    pub fn signal(&self) -> Option<&str> {
        self.crash
            .signal
            .as_deref()
            .or_else(|| self.fatal.as_ref()?.detail.signal.as_deref())
    }

    /// The signal's code, unless it was sent and not raised by the processor: faulthandler handles a signal and sends
    /// it again, and then code and address say nothing about the fault.
    pub fn code(&self) -> Option<&str> {
        self.crash
            .code
            .as_deref()
            .filter(|code| !matches!(*code, "SI_TKILL" | "SI_USER" | "SI_QUEUE"))
    }

    pub fn address_kind(&self) -> Option<&str> {
        self.crash.address_kind.as_deref()
    }

    pub fn access(&self) -> &str {
        self.crash.access.as_deref().unwrap_or("access")
    }

    /// A finding, with as much confidence as is due. What it cites first is the program's own frame.
    pub fn finding(&self, cause: &str, confidence: f64) -> Finding {
        let confidence = if self.in_worker {
            confidence.min(IN_WORKER)
        } else {
            confidence
        };
        Finding::new(cause, confidence).cite_all(self.own_frame())
    }

    /// A citation of the innermost frame of the program itself, in whichever world.
    fn own_frame(&self) -> Option<Citation> {
        let stacks = self.native.iter().chain(&self.python);
        stacks
            .filter_map(|stack| Some((stack, stack.lead()?)))
            .find(|(_, (_, frame))| frame.owner() == Owner::Program)
            .map(|(stack, frame)| stack.cite(frame))
    }

    /// Citations of the fault as the core tells it.
    pub fn fault_facts(&self) -> Vec<Citation> {
        ["crash.code", "crash.address", "crash.address_kind", "crash.access"]
            .iter()
            .filter_map(|path| self.report.cite_fact(path))
            .collect()
    }

    /// Citations of whatever says that a signal came.
    pub fn signal_proof(&self) -> Vec<Citation> {
        let told = self.fatal.as_ref().map(|told| self.report.cite(&told.event));
        let fact = self
            .crash
            .signal
            .is_some()
            .then(|| self.report.cite_fact("crash.signal"))
            .flatten();
        let kernel = self.kernel_fault().map(|told| self.report.cite(&told.event));
        told.into_iter().chain(fact).chain(kernel).collect()
    }

    /// Citations of the frames of both worlds that lead, and of what they had called.
    pub fn frames_proof(&self) -> Vec<Citation> {
        self.native.iter().chain(&self.python).flat_map(Stack::proof).collect()
    }

    /// Where it happened, in words, as far as the frames tell.
    pub fn place(&self) -> String {
        let python = self
            .python
            .as_ref()
            .and_then(|stack| stack.lead().or_else(|| stack.innermost()))
            .map(|(_, frame)| crate::stack::describe(frame));
        match (self.native.as_ref().map(Stack::place), python) {
            (Some(native), Some(python)) => format!(" in {native}; the Python code was in {python}"),
            (Some(native), None) => format!(" in {native}"),
            (None, Some(python)) => format!(" while the Python code was in {python}"),
            (None, None) => String::new(),
        }
    }

    /// What the kernel logged about a fault.
    pub fn kernel_fault(&self) -> Option<&Told<Kernel>> {
        self.kernel
            .iter()
            .find(|told| matches!(told.detail.family.as_str(), "segfault" | "trap"))
    }
}

fn crashed<'a>(report: &'a Report, kind: &str) -> Option<Stack<'a>> {
    report
        .walks()
        .take_while(|walk| walk.thread.crashed)
        .find_map(|walk| Stack::new(walk, kind))
}

/// A dump that a timer asked for is no crash.
fn is_fatal(error: &FatalPythonError) -> bool {
    !error.error.starts_with("Timeout")
}

fn ended<T>(told: Vec<Told<T>>) -> Vec<Told<T>> {
    told.into_iter().filter(|told| !told.event.survived).collect()
}
