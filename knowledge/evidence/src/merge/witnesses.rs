//! Where the events stand that others may follow from, kept by what they are looked for by.

use std::collections::{HashMap, HashSet};

use super::places::{ByProcess, FirstTwo, Others, Places, Ranges};
use crate::model::{Event, EventPayload, Place};

/// Xids by which the driver tells what it does after a failure: it ends a program's work on the GPU, cleans up after it,
/// and says what the GPU needs. None is the failure.
pub const CONSEQUENCES: [u32; 3] = [43, 45, 154];

/// A name of an artifact or a tool, by number.
pub type Name = u32;

#[derive(Debug, Default)]
pub struct Names(HashMap<String, Name>);

impl Names {
    pub fn of(&mut self, name: &str) -> Name {
        if let Some(known) = self.0.get(name) {
            return *known;
        }
        let number = self.0.len() as Name;
        self.0.insert(name.to_owned(), number);
        number
    }
}

/// What killed a CUDA context.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Killer {
    Error,
    Assertion,
    Exception,
}

/// Events that were judged already; first failures unless it says otherwise.
#[derive(Debug, Default)]
pub struct Before {
    pub failures: Places<()>,
    pub of_process: ByProcess<()>,
    pub of_rank: Places<u32>,
    pub of_pid: Places<u32>,
    /// Without Xids; true for those without a rank.
    pub not_xids: Places<bool>,
    pub aborts: ByProcess<()>,
    pub killers: ByProcess<Killer>,
    pub sanitizers: ByProcess<Name>,
    pub nccl_warnings: Places<u32>,
    pub own_by_rank: FirstTwo,
    pub own_by_pid: FirstTwo,
    /// These whether or not they are first failures.
    pub watchdogs: Places<()>,
    /// By GPU and code.
    pub xids: Places<(Name, u32)>,
    pub elastic: Places<Name>,
    pub elastic_lines: Ranges,
    /// Processes that the collector saw fail before any other, and jobs that it saw hang.
    pub first_exits: Places<()>,
    /// Ranks whose collective timed out.
    pub timeouts: Places<()>,
    pub hangs: Places<()>,
    pub abort_lines: Ranges,
    pub exceptions: Places<(Name, Option<u32>)>,
    pub workers: Places<Option<u32>>,
    pub oom_kills: Places<u32>,
    /// Kills for want of memory that are first failures: true for those that name their process.
    pub kills: Places<bool>,
}

/// All events of kinds that may be printed after what follows from them.
#[derive(Debug, Default)]
pub struct After {
    pub elastic_roots: Places<()>,
    pub elastic_words: Places<(Name, u32)>,
    pub exceptions: Places<(Name, Option<u32>)>,
    pub named_exceptions: Places<(Name, Option<u32>)>,
    pub assertions: ByProcess<Name>,
    pub oom_kills: Places<(Name, Option<u32>)>,
    pub workers: Places<Name>,
    pub own_by_rank: Others,
    pub own_by_pid: Others,
}

impl Before {
    /// Goes on to the next event.
    pub fn pass(&mut self, index: usize, event: &Event, artifact: Name, names: &mut Names) {
        let lines = lines(event);
        match &event.payload {
            EventPayload::Watchdog(_) => self.watchdogs.add((), index),
            EventPayload::Xid(xid) => self.xids.add((names.of(&xid.pci), xid.code), index),
            EventPayload::PythonException(_) => self.exceptions.add((artifact, event.rank), index),
            EventPayload::DataloaderWorker(worker) => self.workers.add(worker.pid, index),
            EventPayload::ElasticFailure(_) => {
                self.elastic.add(artifact, index);
                if let Some(lines) = lines {
                    self.elastic_lines.add(&event.artifact, index, lines);
                }
            }
            EventPayload::NativeAbort(_) => {
                if let Some(lines) = lines {
                    self.abort_lines.add(&event.artifact, index, lines);
                }
            }
            EventPayload::Kernel(kernel) if kernel.family == "oom-kill" => {
                if let Some(pid) = event.pid {
                    self.oom_kills.add(pid, index);
                }
            }
            _ => {}
        }
        // A test of the machine is made before or after, and what failed in the job follows from no test; nor is it known
        // what follows from a line that nobody reads.
        let is_test = matches!(event.payload, EventPayload::Diagnostic(_));
        if event.primary && !is_test && !event.payload.is_complaint() {
            self.pass_failure(index, event, names);
        }
    }

    fn pass_failure(&mut self, index: usize, event: &Event, names: &mut Names) {
        self.failures.add((), index);
        if !matches!(&event.payload, EventPayload::Xid(xid) if CONSEQUENCES.contains(&xid.code)) {
            self.of_process.add((), event, index);
        }
        let is_own = is_failure_of_its_own(event);
        if let Some(rank) = event.rank {
            self.of_rank.add(rank, index);
            if is_own {
                self.own_by_rank.add(rank, index);
            }
        }
        if let Some(pid) = event.pid {
            self.of_pid.add(pid, index);
            if is_own {
                self.own_by_pid.add(pid, index);
            }
        }
        if !matches!(event.payload, EventPayload::Xid(_)) {
            self.not_xids.add(event.rank.is_none(), index);
        }
        match &event.payload {
            EventPayload::ProcessExit(exit) if exit.first => self.first_exits.add((), index),
            EventPayload::Hang(hang) if !hang.ranks.is_empty() => self.hangs.add((), index),
            EventPayload::NativeAbort(_) => self.aborts.add((), event, index),
            EventPayload::Watchdog(watchdog) if watchdog.family == "timeout" => self.timeouts.add((), index),
            EventPayload::CudaError(error) if error.sticky => self.killers.add(Killer::Error, event, index),
            EventPayload::DeviceAssert(_) => self.killers.add(Killer::Assertion, event, index),
            EventPayload::GpuException(_) => self.killers.add(Killer::Exception, event, index),
            EventPayload::Kernel(kernel) if kernel.family == "oom-kill" => self.kills.add(event.pid.is_some(), index),
            EventPayload::Sanitizer(report) => self.sanitizers.add(names.of(&report.tool), event, index),
            EventPayload::NcclWarning(_) => {
                if let Some(pid) = event.pid {
                    self.nccl_warnings.add(pid, index);
                }
            }
            _ => {}
        }
    }
}

impl After {
    pub fn of(timeline: &[Event], artifacts: &[Name]) -> Self {
        let mut all = Self::default();
        let timed_out: HashSet<u32> = timeline.iter().filter_map(rank_that_timed_out).collect();
        let mut raised: HashSet<Name> = HashSet::new();
        for (index, (event, artifact)) in timeline.iter().zip(artifacts).enumerate() {
            all.add(index, event, *artifact);
            let is_own = !event.survived && is_failure_of_its_own(event);
            let is_known =
                is_end_by_watchdog(event, &timed_out) || is_end_by_exception(event, raised.contains(artifact));
            if is_own && !is_known {
                all.add_own(index, event);
            }
            if event.rank.is_none() && matches!(event.payload, EventPayload::PythonException(_)) {
                raised.insert(*artifact);
            }
        }
        all.own_by_rank.finish();
        all.own_by_pid.finish();
        all
    }

    fn add(&mut self, index: usize, event: &Event, artifact: Name) {
        match &event.payload {
            EventPayload::PythonException(exception) => {
                self.exceptions.add((artifact, event.rank), index);
                if !exception.exception.is_empty() {
                    self.named_exceptions.add((artifact, event.rank), index);
                }
            }
            EventPayload::ElasticFailure(failure) => {
                if failure.root {
                    self.elastic_roots.add((), index);
                }
                if let Some(pid) = event.pid.filter(|_| !failure.message.is_empty()) {
                    self.elastic_words.add((artifact, pid), index);
                }
            }
            EventPayload::DeviceAssert(_) => self.assertions.add(artifact, event, index),
            EventPayload::DataloaderWorker(_) => self.workers.add(artifact, index),
            EventPayload::Kernel(kernel) if kernel.family == "oom-kill" => {
                self.oom_kills.add((artifact, event.pid), index)
            }
            _ => {}
        }
    }

    fn add_own(&mut self, index: usize, event: &Event) {
        if let Some(rank) = event.rank {
            self.own_by_rank.add(rank, index);
        }
        if let Some(pid) = event.pid {
            self.own_by_pid.add(pid, index);
        }
    }
}

fn rank_that_timed_out(event: &Event) -> Option<u32> {
    let EventPayload::Watchdog(watchdog) = &event.payload else {
        return None;
    };
    event.rank.filter(|_| watchdog.family == "timeout")
}

/// Whether it is the launcher's word of a worker that raised an exception, which it printed before.
fn is_end_by_exception(event: &Event, raised: bool) -> bool {
    let EventPayload::ElasticFailure(failure) = &event.payload else {
        return false;
    };
    raised && event.rank.is_none() && failure.exit_code == Some(1) && failure.message.is_empty()
}

/// Whether it is the launcher's word of a worker that its own watchdog ended.
fn is_end_by_watchdog(event: &Event, timed_out: &HashSet<u32>) -> bool {
    let EventPayload::ElasticFailure(failure) = &event.payload else {
        return false;
    };
    failure.signal.as_deref() == Some("SIGABRT") && event.rank.is_some_and(|rank| timed_out.contains(&rank))
}

/// The exceptions with which torchrun and `torch.multiprocessing.spawn` tell that a worker died.
pub fn is_launcher(exception: &str) -> bool {
    exception.ends_with("ChildFailedError") || exception.ends_with("ProcessExitedException")
}

/// What the sockets of a process that ended tell.
const CLOSED: [&str; 6] = [
    "Connection closed by peer",
    "Connection closed by remote peer",
    "Connection reset by peer",
    "Broken pipe",
    "remote process exited",
    "got 0 bytes",
];

/// How else ends of connections report that the other end is gone.
const GONE: [&str; 3] = [
    "failed to recv",
    "Watchdog caught collective operation timeout",
    "NCCL communicator was aborted",
];

/// Whether a message says that a connection was closed at its other end.
pub fn says_closed(message: &str) -> bool {
    CLOSED.iter().any(|words| message.contains(words))
}

/// Whether a message says that the other end of a connection is gone, in whatever way.
pub fn says_lost_peer(message: &str) -> bool {
    says_closed(message) || GONE.iter().any(|words| message.contains(words))
}

/// How waiting in vain for another process ends.
pub const TIMED_OUT: [&str; 5] = [
    "Timed out waiting",
    "timed out waiting",
    "Wait timeout",
    "timeout",
    "Timeout",
];

/// True for what does not itself tell of a peer.
fn is_failure_of_its_own(event: &Event) -> bool {
    match &event.payload {
        EventPayload::PythonException(exception) => {
            !exception.ignored && !is_launcher(&exception.exception) && !says_lost_peer(&exception.message)
        }
        EventPayload::NativeAbort(abort) => !says_lost_peer(&abort.message),
        EventPayload::ElasticFailure(failure) => failure.root || failure.signal.as_deref() != Some("SIGTERM"),
        EventPayload::ProcessExit(exit) => {
            exit.first
                || exit.signal.as_deref().is_some_and(|signal| signal != "SIGTERM")
                || exit.exit_code.is_some_and(|code| code > 0)
        }
        EventPayload::Watchdog(_)
        | EventPayload::NcclWarning(_)
        | EventPayload::NcclError(_)
        | EventPayload::Rendezvous(_)
        | EventPayload::Diagnostic(_)
        | EventPayload::CudaLog(_)
        | EventPayload::Hang(_) => false,
        words if words.is_complaint() => false,
        _ => true,
    }
}

pub fn lines(event: &Event) -> Option<[u64; 2]> {
    match &event.at {
        Some(Place::Line(lines)) => Some(*lines),
        _ => None,
    }
}
