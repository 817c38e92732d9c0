//! First failures and what follows from them.
//!
//! The first failure is the cause; most of what is printed after it is consequence: peers that lose their connection,
//! watchdogs that time out on ranks whose peer died, CUDA errors after one that killed the context, the launcher's
//! own SIGTERM and its report, Xid 43 and 45. What was survived is no failure at all.

use std::collections::{HashMap, HashSet};

use super::own::Own;
use super::witnesses::{
    After, Before, CONSEQUENCES, Killer, Name, Names, TIMED_OUT, is_launcher, lines, says_closed, says_lost_peer,
};
use crate::model::{Crash, Event, EventPayload, FrameKind, LastWords, PythonException, Thread, ThreadId, Xid};

/// `kernel_alone`: nothing but the kernel's log is in the report.
pub(super) fn mark(timeline: &mut [Event], crashes: &[Crash], threads: &[Thread], kernel_alone: bool) {
    let own = Own::of(timeline, crashes, threads, kernel_alone);
    let mut names = Names::default();
    let artifacts: Vec<Name> = timeline.iter().map(|event| names.of(&event.artifact)).collect();
    let mut search = Search {
        after: After::of(timeline, &artifacts),
        before: Before::default(),
        names,
        artifacts,
        collectives: in_collectives(threads),
    };
    for index in 0..timeline.len() {
        let Some(event) = timeline.get(index) else { break };
        let is_candidate = !event.survived && !is_ignored(event) && own.has(event);
        let of = if is_candidate {
            search.origin(index, event, timeline)
        } else {
            None
        };
        if let Some(event) = timeline.get_mut(index) {
            event.primary = is_candidate && of.is_none();
            event.echo_of = of.or(event.echo_of);
            search.pass(index, event);
        }
    }
    point_at_roots(timeline);
}

/// Echoes of echoes are echoes of the first failure. Where each is said to follow from the other, the earlier one is that.
fn point_at_roots(timeline: &mut [Event]) {
    let mut roots: Vec<Option<usize>> = vec![None; timeline.len()];
    for index in 0..timeline.len() {
        let (way, end) = way_from(index, timeline, &roots);
        let root = match end {
            End::Root(root) => root,
            End::Circle(start) => way.iter().skip(start).copied().min().unwrap_or(index),
        };
        for step in way {
            if let Some(place) = roots.get_mut(step) {
                *place = Some(root);
            }
        }
    }
    for (event, root) in timeline.iter_mut().zip(roots) {
        if event.echo_of.is_none() {
            continue;
        }
        event.echo_of = root.filter(|root| *root != event.event);
        event.primary |= event.echo_of.is_none() && !event.survived && !is_ignored(event);
    }
}

/// Where a way from event to event ends.
enum End {
    /// At this event, from which the others follow.
    Root(usize),
    /// At the event where it came by before, this many steps from its beginning.
    Circle(usize),
}

/// The events from one to what it follows from, as far as their roots are not known.
fn way_from(index: usize, timeline: &[Event], roots: &[Option<usize>]) -> (Vec<usize>, End) {
    let (mut way, mut at) = (vec![index], index);
    let mut steps = HashMap::from([(index, 0)]);
    loop {
        if let Some(Some(root)) = roots.get(at) {
            return (way, End::Root(*root));
        }
        let Some(next) = timeline
            .get(at)
            .and_then(|event| event.echo_of)
            .filter(|next| *next < timeline.len())
        else {
            return (way, End::Root(at));
        };
        if let Some(start) = steps.insert(next, way.len()) {
            return (way, End::Circle(start));
        }
        way.push(next);
        at = next;
    }
}

/// Where the events stand that others may follow from: those already judged, and all, for what is printed late.
#[derive(Debug)]
struct Search {
    before: Before,
    after: After,
    names: Names,
    /// The artifact of each event.
    artifacts: Vec<Name>,
    /// Threads whose innermost Python frame is in a collective, by artifact.
    collectives: HashMap<String, HashSet<ThreadId>>,
}

fn in_collectives(threads: &[Thread]) -> HashMap<String, HashSet<ThreadId>> {
    let mut found: HashMap<String, HashSet<ThreadId>> = HashMap::new();
    for thread in threads {
        let innermost = thread.frames.iter().find(|frame| frame.kind == FrameKind::Python);
        let file = innermost.and_then(|frame| frame.file.as_deref());
        if file.is_some_and(|file| file.contains("torch/distributed/")) {
            let of_artifact = found.entry(thread.artifact.clone()).or_default();
            of_artifact.insert(thread.id.clone());
        }
    }
    found
}

/// What is no failure by itself: an exception that nobody saw, a call that the driver refused, which its caller tells of
/// where it matters, and a line that only has the words of a failure.
fn is_ignored(event: &Event) -> bool {
    match &event.payload {
        EventPayload::PythonException(exception) => exception.ignored,
        EventPayload::CudaLog(_) => true,
        EventPayload::LastWords(words) => words.family == LastWords::COMPLAINT,
        _ => false,
    }
}

impl Search {
    /// Goes on to the next event.
    fn pass(&mut self, index: usize, event: &Event) {
        let artifact = self.artifact(index);
        self.before.pass(index, event, artifact, &mut self.names);
    }

    fn artifact(&self, index: usize) -> Name {
        self.artifacts.get(index).copied().unwrap_or_default()
    }

    /// The event this one follows from, if it is a consequence.
    fn origin(&mut self, index: usize, event: &Event, timeline: &[Event]) -> Option<usize> {
        if let Some(report) = first_line(event).and_then(|line| self.before.elastic_lines.around(&event.artifact, line))
            && let Some(of) = timeline.get(report).and_then(|report| report.echo_of)
        {
            // What stands in the lines of torchelastic's report is as much an echo as the report itself.
            return Some(of);
        }
        let artifact = self.artifact(index);
        match &event.payload {
            EventPayload::PythonException(exception) if is_launcher(&exception.exception) => {
                (self.before.failures.first(&())).or_else(|| self.after.elastic_roots.after(&(), index))
            }
            EventPayload::PythonException(exception) if exception.exception.is_empty() => {
                self.cut(index, event, timeline)
            }
            EventPayload::PythonException(exception) => (self.chained(artifact, event, timeline))
                .or_else(|| self.brought_from_worker(index, event, exception))
                .or_else(|| self.lost_worker(artifact, exception))
                .or_else(|| self.dead_context(index, event, &exception.message))
                .or_else(|| self.lost_peer(index, event, &exception.message))
                .or_else(|| self.after_first_end(event, exception))
                .or_else(|| self.after_own_failure_of_another(event, exception, timeline)),
            EventPayload::FatalPythonError(error) if error.signal.as_deref() == Some("SIGABRT") => {
                self.before.aborts.last((), event)
            }
            EventPayload::NativeAbort(abort) => {
                let told = abort.message.contains("Watchdog caught collective operation timeout")
                    || abort.message.contains("watchdog thread terminated");
                // torch's watchdog threw a plain `std::runtime_error` up to 2.1.
                let is_of_watchdog =
                    |exception: &str| exception.ends_with("DistBackendError") || exception == "std::runtime_error";
                let is_bare = abort.message.is_empty() && abort.exception.as_deref().is_some_and(is_of_watchdog);
                let watchdog = self.before.watchdogs.last(&()).filter(|_| told || is_bare);
                watchdog
                    .or_else(|| self.end_of_interpreter(event, timeline))
                    .or_else(|| self.same_lines(event, timeline))
                    .or_else(|| self.killed(event, &[(Killer::Error, abort.message.is_empty())]))
                    .or_else(|| self.lost_peer(index, event, &abort.message))
            }
            EventPayload::CudaError(error) => {
                let asserted = error.message.contains("device-side assert");
                let killers = [
                    (Killer::Error, true),
                    (Killer::Assertion, asserted),
                    (Killer::Exception, error.sticky),
                ];
                self.killed(event, &killers)
                    .or_else(|| self.asserted(index, event, &error.message))
            }
            EventPayload::Watchdog(watchdog) => match watchdog.family.as_str() {
                "timeout" => (self.before.hangs.last(&())).or_else(|| self.another_ranks_failure(index, event)),
                _ => (self.before.watchdogs.last(&())).or_else(|| self.another_ranks_failure(index, event)),
            },
            EventPayload::NcclError(error) => self.lost_peer(index, event, &error.message),
            EventPayload::NcclWarning(warning) if warning.family == "path" => {
                self.before.nccl_warnings.last(&event.pid?)
            }
            EventPayload::NcclWarning(warning) => self.lost_peer(index, event, &warning.message),
            EventPayload::Rendezvous(rendezvous) => self.lost_peer(index, event, &rendezvous.reason),
            EventPayload::DataloaderWorker(worker) => {
                let workers = [self.before.workers.first(&None), self.before.workers.first(&worker.pid)];
                let kill = worker.pid.and_then(|pid| self.before.oom_kills.first(&pid));
                workers.into_iter().flatten().chain(kill).min()
            }
            EventPayload::ElasticFailure(failure) => {
                (self.elastic(index, event, failure.root, failure.signal.as_deref())).or_else(|| {
                    let at_length = || self.after.elastic_words.after(&(artifact, event.pid?), index);
                    failure.message.is_empty().then(at_length).flatten()
                })
            }
            EventPayload::ProcessExit(exit) => (self.before.of_process.first((), event))
                .or_else(|| {
                    let killed = exit.signal.as_deref() == Some("SIGKILL");
                    killed.then(|| self.oom_kill_of(index, event)).flatten()
                })
                .or_else(|| self.first_end_of_another(event, timeline)),
            EventPayload::Xid(xid) => self.previous_xid(xid).or_else(|| {
                CONSEQUENCES
                    .contains(&xid.code)
                    .then(|| self.before.failures.last(&()))
                    .flatten()
            }),
            // One kill, told by the kernel, by the scheduler, and by the scheduler for each task.
            EventPayload::Kernel(kernel) if kernel.family == "oom-kill" => {
                let unnamed = self.before.kills.first(&false);
                let named = self.before.kills.first(&true).filter(|_| event.pid.is_none());
                unnamed.into_iter().chain(named).min()
            }
            // compute-sanitizer reports the failed call after the access that made it fail.
            EventPayload::Sanitizer(report) if report.error.starts_with("Program hit ") => {
                let tool = self.names.of(&report.tool);
                self.before.sanitizers.last(tool, event)
            }
            _ => None,
        }
    }

    /// The Xid of the same GPU that the driver says this one follows from.
    fn previous_xid(&mut self, xid: &Xid) -> Option<usize> {
        let gpu = self.names.of(&xid.pci);
        self.before.xids.last(&(gpu, xid.caused_by?))
    }

    /// A traceback that was cut, or that another process wrote into: the launcher's where a worker's failure was
    /// reported already, else one of those that follow.
    fn cut(&self, index: usize, event: &Event, timeline: &[Event]) -> Option<usize> {
        let artifact = self.artifact(index);
        let reported = self.before.elastic.last(&artifact);
        let of = reported.or_else(|| self.after.named_exceptions.after(&(artifact, event.rank), index))?;
        Some(timeline.get(of)?.echo_of.unwrap_or(of))
    }

    /// An exception that brings the news of a dead CUDA context: of an assertion in a kernel, or of an error that an
    /// earlier call reported already.
    fn dead_context(&self, index: usize, event: &Event, message: &str) -> Option<usize> {
        let is_cuda = ["CUDA error: ", "cuda runtime error (", "cuDNN error: "]
            .iter()
            .any(|words| message.contains(words));
        if !is_cuda {
            return None;
        }
        let asserted = message.contains("device-side assert");
        self.killed(event, &[(Killer::Error, true), (Killer::Assertion, asserted)])
            .or_else(|| self.asserted(index, event, message))
    }

    /// What killed the process's CUDA context last, of these where they count.
    fn killed(&self, event: &Event, killers: &[(Killer, bool)]) -> Option<usize> {
        let killers = killers.iter().filter(|(_, counts)| *counts);
        killers
            .filter_map(|(killer, _)| self.before.killers.last(*killer, event))
            .max()
    }

    /// The assertion's own lines come from the driver, and often only after the exception was printed.
    fn asserted(&self, index: usize, event: &Event, message: &str) -> Option<usize> {
        let asserted = message.contains("device-side assert");
        asserted
            .then(|| self.after.assertions.after(self.artifact(index), event, index))
            .flatten()
    }

    /// Where the kernel killed this process, as far as the scheduler's words tell.
    fn oom_kill_of(&self, index: usize, event: &Event) -> Option<usize> {
        let of = |pid| self.after.oom_kills.after(&(self.artifact(index), pid), index);
        [of(None), of(event.pid)].into_iter().flatten().min()
    }

    /// `cause` and `context` tie an exception to the one printed before it.
    fn chained(&self, artifact: Name, event: &Event, timeline: &[Event]) -> Option<usize> {
        let index = self.before.exceptions.last(&(artifact, event.rank))?;
        let previous = timeline.get(index)?;
        let EventPayload::PythonException(exception) = &previous.payload else {
            return None;
        };
        let linked = matches!(exception.relation.as_deref(), Some("cause" | "context"));
        let adjacent = last_line(previous)
            .zip(first_line(event))
            .is_some_and(|(end, start)| start > end && start - end < 8);
        (linked && adjacent).then_some(index)
    }

    /// An exception that only carries a worker's own, which is printed right after it.
    fn brought_from_worker(&self, index: usize, event: &Event, exception: &PythonException) -> Option<usize> {
        let brings = matches!(exception.relation.as_deref(), Some("original" | "group"));
        let place = (self.artifact(index), event.rank);
        brings.then(|| self.after.exceptions.after(&place, index)).flatten()
    }

    /// A parent that waits for a `DataLoader` worker sees the pipe break before it knows why.
    fn lost_worker(&self, artifact: Name, exception: &PythonException) -> Option<usize> {
        let broken = ["ConnectionResetError", "EOFError", "BrokenPipeError"].contains(&exception.exception.as_str());
        broken.then(|| self.after.workers.first(&artifact)).flatten()
    }

    /// A lost connection follows from the failure of another rank, if there is one.
    fn lost_peer(&self, index: usize, event: &Event, message: &str) -> Option<usize> {
        let timed_out = TIMED_OUT.iter().any(|words| message.contains(words));
        let hang = self.before.hangs.last(&()).filter(|_| timed_out);
        let another = || {
            says_lost_peer(message)
                .then(|| self.another_ranks_failure(index, event))
                .flatten()
        };
        // Who times out ends, and closes its connections.
        let timeout = || self.before.timeouts.last(&()).filter(|_| says_closed(message));
        hang.or_else(another).or_else(timeout)
    }

    /// The end of the process that failed before all others, for the end of another.
    fn first_end_of_another(&self, event: &Event, timeline: &[Event]) -> Option<usize> {
        let first = self.before.first_exits.first(&())?;
        let is_another = event.pid.is_some() && timeline.get(first)?.pid != event.pid;
        is_another.then_some(first)
    }

    /// What a rank raises in a collective, whatever it says, follows from the end of the one that failed first. Who
    /// waits for a dead one learns of that, and does not time out.
    fn after_first_end(&self, event: &Event, exception: &PythonException) -> Option<usize> {
        let threads = self.collectives.get(&event.artifact)?;
        let in_collective = exception.thread.as_ref().is_some_and(|thread| threads.contains(thread));
        let timed_out = TIMED_OUT.iter().any(|words| exception.message.contains(words));
        let of = self.before.own_by_rank.except(event.rank)?;
        let first = self.before.first_exits.first(&())?;
        (in_collective && !timed_out && event.rank.is_some() && of == first).then_some(first)
    }

    /// Who waits for one that has raised something of its own, and does not end at once, times out.
    fn after_own_failure_of_another(
        &self,
        event: &Event,
        exception: &PythonException,
        timeline: &[Event],
    ) -> Option<usize> {
        let of = self.before.own_by_rank.except(event.rank)?;
        let EventPayload::PythonException(other) = &timeline.get(of)?.payload else {
            return None;
        };
        let timed_out = |message: &str| TIMED_OUT.iter().any(|words| message.contains(words));
        let follows = event.rank.is_some() && timed_out(&exception.message) && !timed_out(&other.message);
        let threads = self.collectives.get(&event.artifact)?;
        let in_collective = exception.thread.as_ref().is_some_and(|thread| threads.contains(thread));
        (follows && in_collective).then_some(of)
    }

    /// The first failure of another rank. It may be printed later: a connection breaks before the dying peer has
    /// written its traceback.
    fn another_ranks_failure(&self, index: usize, event: &Event) -> Option<usize> {
        let (before, after) = (&self.before, &self.after);
        let by_pid = event.rank.is_none();
        let earlier = [
            before.own_by_rank.except(event.rank),
            before.own_by_pid.except(event.pid).filter(|_| by_pid),
        ];
        let later = || {
            let places = [
                after.own_by_rank.after(event.rank, index),
                after.own_by_pid.after(event.pid, index).filter(|_| by_pid),
            ];
            places.into_iter().flatten().min()
        };
        earlier.into_iter().flatten().min().or_else(later)
    }

    /// torchelastic's report repeats what the worker said itself; for a worker that said nothing it is the witness.
    fn elastic(&self, index: usize, event: &Event, root: bool, signal: Option<&str>) -> Option<usize> {
        let before = &self.before;
        let of_rank = event.rank.and_then(|rank| before.of_rank.first(&rank));
        let of_pid = event.pid.and_then(|pid| before.of_pid.first(&pid));
        if let Some(own) = of_rank.into_iter().chain(of_pid).min() {
            return Some(own);
        }
        if root {
            // Untagged output of the worker that died: there is nothing else it can be about.
            let tagged = before.not_xids.first(&false).filter(|_| event.rank.is_none());
            return before.not_xids.first(&true).into_iter().chain(tagged).min();
        }
        if signal == Some("SIGTERM") {
            return before
                .failures
                .first(&())
                .or_else(|| self.after.elastic_roots.after(&(), index));
        }
        None
    }

    /// A failed check that is also the message of an exception on the same line.
    /// A thread that still ran when an exception ended the interpreter: C++ then gives up without an exception of its own.
    fn end_of_interpreter(&self, event: &Event, timeline: &[Event]) -> Option<usize> {
        let EventPayload::NativeAbort(abort) = &event.payload else {
            return None;
        };
        let is_bare = abort.exception.is_none() && abort.message.contains("without an active exception");
        let last = self.before.failures.last(&()).filter(|_| is_bare)?;
        let failure = timeline.get(last)?;
        let gave_up = matches!(
            failure.payload,
            EventPayload::PythonException(_) | EventPayload::CudaError(_)
        );
        let has_ended = gave_up && failure.artifact == event.artifact;
        has_ended.then_some(last)
    }

    fn same_lines(&mut self, event: &Event, timeline: &[Event]) -> Option<usize> {
        let holder = self.before.abort_lines.around(&event.artifact, first_line(event)?)?;
        Some(timeline.get(holder)?.echo_of.unwrap_or(holder))
    }
}

fn first_line(event: &Event) -> Option<u64> {
    lines(event).map(|[first, _]| first)
}

fn last_line(event: &Event) -> Option<u64> {
    lines(event).map(|[_, last]| last)
}
