//! First failures and what follows from them.
//!
//! The first failure is the cause; most of what is printed after it is consequence: peers that lose their connection,
//! watchdogs that time out on ranks whose peer died, CUDA errors after one that killed the context, the launcher's
//! own SIGTERM and its report, Xid 43 and 45. What was survived is no failure at all.

use std::collections::HashSet;

use crate::model::{Crash, Event, Kernel, Place, PythonException, Thread, ThreadId, What};

pub(super) fn mark(timeline: &mut [Event], crashes: &[Crash], threads: &[Thread]) {
    let own = own_ids(timeline, crashes, threads);
    let explained = timeline.iter().any(ended_by_itself);
    for index in 0..timeline.len() {
        let (before, rest) = timeline.split_at_mut(index);
        let Some((event, after)) = rest.split_first_mut() else {
            break;
        };
        event.primary = !event.survived && !is_ignored(event) && is_own(event, &own, explained);
        if event.primary
            && let Some(of) = origin(event, before, after)
        {
            event.primary = false;
            event.echo_of = Some(of);
        }
    }
    point_at_roots(timeline);
}

/// Echoes of echoes are echoes of the first failure.
fn point_at_roots(timeline: &mut [Event]) {
    for index in 0..timeline.len() {
        let mut of = timeline.get(index).and_then(|event| event.echo_of);
        let mut steps = timeline.len();
        while let Some(next) = of.and_then(|of| timeline.get(of)).and_then(|event| event.echo_of) {
            if steps == 0 {
                break;
            }
            steps -= 1;
            of = Some(next);
        }
        if let Some(event) = timeline.get_mut(index) {
            event.echo_of = of.filter(|of| *of != event.event).or(event.echo_of);
        }
    }
}

/// Process and thread ids that are the report's, from everything but the kernel's log (which tells of the whole
/// machine).
fn own_ids(timeline: &[Event], crashes: &[Crash], threads: &[Thread]) -> HashSet<u32> {
    let mut own: HashSet<u32> = crashes.iter().filter_map(|crash| crash.pid).collect();
    for thread in threads {
        own.extend(thread.pid);
        if let ThreadId::Os(id) = thread.id {
            own.insert(id);
        }
    }
    for event in timeline {
        match &event.what {
            What::Kernel(_) | What::Xid(_) => {}
            What::DataloaderWorker(worker) => own.extend(worker.pid.or(event.pid)),
            _ => own.extend(event.pid),
        }
    }
    own
}

/// Whether an event is of this report's processes. Where none of their ids is known, the death of some process in the
/// kernel's log is theirs unless the report's own end is explained without it.
fn is_own(event: &Event, own: &HashSet<u32>, explained: bool) -> bool {
    let of_whole_machine = matches!(event.what, What::Kernel(_) | What::Xid(_));
    let of_another = explained && matches!(&event.what, What::Kernel(kernel) if is_death(kernel));
    !of_whole_machine
        || event
            .pid
            .is_none_or(|pid| own.contains(&pid) || own.is_empty() && !of_another)
}

fn is_death(kernel: &Kernel) -> bool {
    ["segfault", "trap", "oom-kill"].contains(&kernel.family.as_str())
}

/// Words of exceptions that tell how another process ended, or that it is gone.
const OF_ANOTHER_PROCESS: [&str; 9] = [
    "signal",
    "SIG",
    "terminated",
    "exited",
    "ChildFailed",
    "Broken",
    "Connection",
    "EOFError",
    "closed",
];

/// An exception that ended a process of Python, and is about nothing but that process.
fn ended_by_itself(event: &Event) -> bool {
    let What::PythonException(exception) = &event.what else {
        return false;
    };
    let told = [&exception.exception, &exception.message];
    let of_another = OF_ANOTHER_PROCESS
        .iter()
        .any(|words| told.iter().any(|text| text.contains(words)));
    !event.survived && !exception.ignored && !exception.exception.is_empty() && !of_another
}

fn is_ignored(event: &Event) -> bool {
    matches!(&event.what, What::PythonException(exception) if exception.ignored)
}

/// The event this one follows from, if it is a consequence.
fn origin(event: &Event, before: &[Event], after: &[Event]) -> Option<usize> {
    let failures = || before.iter().filter(|earlier| earlier.primary);
    let number = |found: Option<&Event>| found.map(|found| found.event);
    if let Some(of) = retold(event, before) {
        return Some(of);
    }
    match &event.what {
        What::PythonException(exception) if is_launcher(&exception.exception) => {
            number(failures().next()).or_else(|| number(after.iter().find(|later| is_elastic_root(later))))
        }
        What::PythonException(exception) if exception.exception.is_empty() => cut(event, before, after),
        What::PythonException(exception) => chained(event, before)
            .or_else(|| brought_from_worker(event, after))
            .or_else(|| lost_worker(event, exception, before, after))
            .or_else(|| dead_context(event, &exception.message, before, after))
            .or_else(|| lost_peer(event, &exception.message, before, after)),
        What::FatalPythonError(error) if error.signal.as_deref() == Some("SIGABRT") => number(
            failures().rfind(|earlier| same_process(earlier, event) && matches!(earlier.what, What::NativeAbort(_))),
        ),
        What::NativeAbort(abort) => {
            let told = abort.message.contains("Watchdog caught collective operation timeout")
                || abort.message.contains("watchdog thread terminated");
            let watchdog =
                told.then(|| number(before.iter().rfind(|earlier| matches!(earlier.what, What::Watchdog(_)))));
            watchdog
                .flatten()
                .or_else(|| same_lines(event, before))
                .or_else(|| lost_peer(event, &abort.message, before, after))
        }
        What::CudaError(error) => number(failures().rfind(|earlier| {
            same_process(earlier, event)
                && match &earlier.what {
                    What::CudaError(first) => first.sticky,
                    What::DeviceAssert(_) => error.message.contains("device-side assert"),
                    What::GpuException(_) => error.sticky,
                    _ => false,
                }
        }))
        .or_else(|| asserted(event, &error.message, after)),
        What::Watchdog(watchdog) => match watchdog.family.as_str() {
            "timeout" => another_ranks_failure(event, before, after),
            _ => number(before.iter().rfind(|earlier| matches!(earlier.what, What::Watchdog(_))))
                .or_else(|| another_ranks_failure(event, before, after)),
        },
        What::NcclError(error) => lost_peer(event, &error.message, before, after),
        What::NcclWarning(warning) if warning.family == "path" => number(failures().rfind(|earlier| {
            matches!(earlier.what, What::NcclWarning(_)) && earlier.pid.is_some() && earlier.pid == event.pid
        })),
        What::NcclWarning(warning) => lost_peer(event, &warning.message, before, after),
        What::Rendezvous(rendezvous) => lost_peer(event, &rendezvous.reason, before, after),
        What::DataloaderWorker(worker) => number(before.iter().find(|earlier| match &earlier.what {
            What::DataloaderWorker(first) => first.pid.is_none() || first.pid == worker.pid,
            What::Kernel(kernel) => kernel.family == "oom-kill" && earlier.pid == worker.pid && worker.pid.is_some(),
            _ => false,
        })),
        What::ElasticFailure(failure) => elastic(event, failure.root, failure.signal.as_deref(), before, after)
            .or_else(|| number(after.iter().find(|later| reports_at_length(later, event)))),
        What::ProcessExit(exit) => number(failures().find(|earlier| same_process(earlier, event))).or_else(|| {
            let killed = exit.signal.as_deref() == Some("SIGKILL");
            number(after.iter().find(|later| killed && is_oom_kill_of(later, event)))
        }),
        What::Xid(xid) if [43, 45, 154].contains(&xid.code) => number(failures().next_back()),
        // compute-sanitizer reports the failed call after the access that made it fail.
        What::Sanitizer(report) if report.error.starts_with("Program hit ") => number(failures().rfind(|earlier| {
            same_process(earlier, event) && matches!(&earlier.what, What::Sanitizer(first) if first.tool == report.tool)
        })),
        _ => None,
    }
}

/// What stands in the lines of torchelastic's report is as much an echo as the report itself.
fn retold(event: &Event, before: &[Event]) -> Option<usize> {
    let line = first_line(event)?;
    let report = before.iter().rfind(|earlier| {
        matches!(earlier.what, What::ElasticFailure(_))
            && earlier.artifact == event.artifact
            && first_line(earlier) < Some(line)
            && last_line(earlier).is_some_and(|last| last >= line)
    })?;
    report.echo_of
}

/// A traceback that was cut, or that another process wrote into: the launcher's where a worker's failure was reported
/// already, else one of those that follow.
fn cut(event: &Event, before: &[Event], after: &[Event]) -> Option<usize> {
    let same = |other: &&Event| other.artifact == event.artifact;
    let reported = before
        .iter()
        .filter(same)
        .rfind(|earlier| matches!(earlier.what, What::ElasticFailure(_)));
    let mut following = after.iter().filter(same).filter(|later| later.rank == event.rank);
    let named =
        || following.find(|later| matches!(&later.what, What::PythonException(next) if !next.exception.is_empty()));
    let of = reported.or_else(named)?;
    Some(of.echo_of.unwrap_or(of.event))
}

/// An exception that brings the news of a dead CUDA context: of an assertion in a kernel, or of an error that an earlier call
/// reported already.
fn dead_context(event: &Event, message: &str, before: &[Event], after: &[Event]) -> Option<usize> {
    let is_cuda = ["CUDA error: ", "cuda runtime error (", "cuDNN error: "]
        .iter()
        .any(|words| message.contains(words));
    if !is_cuda {
        return None;
    }
    let first = before.iter().filter(|earlier| earlier.primary).rfind(|earlier| {
        same_process(earlier, event)
            && match &earlier.what {
                What::CudaError(error) => error.sticky,
                What::DeviceAssert(_) => message.contains("device-side assert"),
                _ => false,
            }
    });
    first
        .map(|first| first.event)
        .or_else(|| asserted(event, message, after))
}

/// The assertion's own lines come from the driver, and often only after the exception was printed.
fn asserted(event: &Event, message: &str, after: &[Event]) -> Option<usize> {
    if !message.contains("device-side assert") {
        return None;
    }
    let assert = after.iter().find(|later| {
        matches!(later.what, What::DeviceAssert(_)) && later.artifact == event.artifact && same_process(later, event)
    });
    assert.map(|assert| assert.event)
}

/// torchelastic's report of the worker that its agent only named by its process id.
fn reports_at_length(later: &Event, event: &Event) -> bool {
    let same = later.pid.is_some() && later.pid == event.pid && later.artifact == event.artifact;
    let says_why = |event: &Event| match &event.what {
        What::ElasticFailure(failure) => Some(!failure.message.is_empty()),
        _ => None,
    };
    same && says_why(event) == Some(false) && says_why(later) == Some(true)
}

/// Whether the kernel killed this process, as far as the scheduler's words tell.
fn is_oom_kill_of(later: &Event, event: &Event) -> bool {
    let of_it = later.pid.is_none_or(|pid| event.pid == Some(pid));
    of_it
        && later.artifact == event.artifact
        && matches!(&later.what, What::Kernel(kernel) if kernel.family == "oom-kill")
}

/// The exceptions with which torchrun and `torch.multiprocessing.spawn` tell that a worker died.
fn is_launcher(exception: &str) -> bool {
    exception.ends_with("ChildFailedError") || exception.ends_with("ProcessExitedException")
}

fn is_elastic_root(event: &Event) -> bool {
    matches!(&event.what, What::ElasticFailure(failure) if failure.root)
}

/// `cause` and `context` tie an exception to the one printed before it.
fn chained(event: &Event, before: &[Event]) -> Option<usize> {
    let previous = before.iter().rfind(|earlier| {
        matches!(earlier.what, What::PythonException(_))
            && earlier.artifact == event.artifact
            && earlier.rank == event.rank
    })?;
    let What::PythonException(exception) = &previous.what else {
        return None;
    };
    let linked = matches!(exception.relation.as_deref(), Some("cause" | "context"));
    let adjacent = last_line(previous)
        .zip(first_line(event))
        .is_some_and(|(end, start)| start > end && start - end < 8);
    (linked && adjacent).then_some(previous.event)
}

/// An exception that only carries a worker's own, which is printed right after it.
fn brought_from_worker(event: &Event, after: &[Event]) -> Option<usize> {
    let What::PythonException(exception) = &event.what else {
        return None;
    };
    if !matches!(exception.relation.as_deref(), Some("original" | "group")) {
        return None;
    }
    let next = after.iter().find(|later| {
        matches!(later.what, What::PythonException(_)) && later.artifact == event.artifact && later.rank == event.rank
    });
    next.map(|next| next.event)
}

/// A parent that waits for a `DataLoader` worker sees the pipe break before it knows why.
fn lost_worker(event: &Event, exception: &PythonException, before: &[Event], after: &[Event]) -> Option<usize> {
    let broken = ["ConnectionResetError", "EOFError", "BrokenPipeError"].contains(&exception.exception.as_str());
    let mut around = before
        .iter()
        .chain(after)
        .filter(|other| other.artifact == event.artifact);
    let worker = around.find(|other| matches!(other.what, What::DataloaderWorker(_)));
    worker.filter(|_| broken).map(|worker| worker.event)
}

/// How ends of connections report that the other end is gone.
const LOST_PEER: [&str; 9] = [
    "Connection closed by peer",
    "Connection closed by remote peer",
    "Connection reset by peer",
    "Broken pipe",
    "remote process exited",
    "got 0 bytes",
    "failed to recv",
    "Watchdog caught collective operation timeout",
    "NCCL communicator was aborted",
];

/// A lost connection follows from the failure of another rank, if there is one.
fn lost_peer(event: &Event, message: &str, before: &[Event], after: &[Event]) -> Option<usize> {
    let lost = LOST_PEER.iter().any(|words| message.contains(words));
    lost.then(|| another_ranks_failure(event, before, after)).flatten()
}

/// The first failure of another rank. It may be printed later: a connection breaks before the dying peer has
/// written its traceback.
fn another_ranks_failure(event: &Event, before: &[Event], after: &[Event]) -> Option<usize> {
    let before = before.iter().filter(|other| other.primary);
    let after = after.iter().filter(|other| !other.survived);
    let is_other = |other: &&Event| {
        let other_rank = other.rank.is_some() && other.rank != event.rank;
        let other_pid = event.rank.is_none() && other.pid.is_some() && other.pid != event.pid;
        (other_rank || other_pid) && is_failure_of_its_own(other)
    };
    before.chain(after).find(is_other).map(|other| other.event)
}

/// True for what does not itself tell of a peer.
fn is_failure_of_its_own(event: &Event) -> bool {
    let says_peer = |message: &str| LOST_PEER.iter().any(|words| message.contains(words));
    match &event.what {
        What::PythonException(exception) => {
            !exception.ignored && !is_launcher(&exception.exception) && !says_peer(&exception.message)
        }
        What::NativeAbort(abort) => !says_peer(&abort.message),
        What::ElasticFailure(failure) => failure.root || failure.signal.as_deref() != Some("SIGTERM"),
        What::ProcessExit(exit) => {
            exit.signal.as_deref().is_some_and(|signal| signal != "SIGTERM")
                || exit.exit_code.is_some_and(|code| code > 0)
        }
        What::Watchdog(_) | What::NcclWarning(_) | What::NcclError(_) | What::Rendezvous(_) => false,
        _ => true,
    }
}

/// torchelastic's report repeats what the worker said itself; for a worker that said nothing it is the witness.
fn elastic(event: &Event, root: bool, signal: Option<&str>, before: &[Event], after: &[Event]) -> Option<usize> {
    let failures = || before.iter().filter(|earlier| earlier.primary);
    let own = failures().find(|earlier| {
        (earlier.rank.is_some() && earlier.rank == event.rank) || (earlier.pid.is_some() && earlier.pid == event.pid)
    });
    if let Some(own) = own {
        return Some(own.event);
    }
    if root {
        // Untagged output of the worker that died: there is nothing else it can be about.
        return failures()
            .find(|earlier| (earlier.rank.is_none() || event.rank.is_none()) && !matches!(earlier.what, What::Xid(_)))
            .map(|f| f.event);
    }
    if signal == Some("SIGTERM") {
        let root = after.iter().find(|later| is_elastic_root(later));
        return failures().next().or(root).map(|first| first.event);
    }
    None
}

/// A failed check that is also the message of an exception on the same line.
fn same_lines(event: &Event, before: &[Event]) -> Option<usize> {
    let line = first_line(event)?;
    let holder = before.iter().rfind(|earlier| {
        earlier.artifact == event.artifact
            && first_line(earlier) < Some(line)
            && last_line(earlier).is_some_and(|last| last >= line)
            && matches!(earlier.what, What::NativeAbort(_))
    });
    holder.map(|holder| holder.echo_of.unwrap_or(holder.event))
}

fn same_process(a: &Event, b: &Event) -> bool {
    match (a.pid.zip(b.pid), a.rank.zip(b.rank)) {
        (Some((a, b)), _) | (None, Some((a, b))) => a == b,
        (None, None) => true,
    }
}

fn first_line(event: &Event) -> Option<u64> {
    match &event.at {
        Some(Place::Line([first, _])) => Some(*first),
        _ => None,
    }
}

fn last_line(event: &Event) -> Option<u64> {
    match &event.at {
        Some(Place::Line([_, last])) => Some(*last),
        _ => None,
    }
}
