//! What the threads of a process wait for, and which of them wait for each other.

use std::collections::{BTreeMap, HashMap};

use whycrash_frames::{Names, Owner, SystemCall, Wait, Waiting};

use crate::model::{Activity, AwaitedKind, Frame, FrameKind, Thread, ThreadId};

/// A frame as far as its names tell.
pub fn names(frame: &Frame) -> Names<'_> {
    Names {
        python: frame.kind == FrameKind::Python,
        function: frame.function.as_deref(),
        file: frame.file.as_deref(),
        module: frame.module.as_deref(),
    }
}

/// What a thread waits for, by its memory, its stack and the system call it is in. Of one that is known to run, nothing.
pub fn waiting(thread: &Thread) -> Option<Waiting> {
    let activity = thread.activity.as_ref();
    if activity.is_some_and(|activity| activity.running == Some(true)) {
        return None;
    }
    let call = SystemCall {
        name: activity.and_then(|activity| activity.call.as_deref()),
        file: activity.and_then(|activity| activity.file.as_deref()),
    };
    let told = whycrash_frames::wait(thread.frames.iter().map(names), call);
    let proved = activity.and_then(|activity| match activity.awaits.as_ref()?.kind {
        AwaitedKind::Mutex | AwaitedKind::Lock | AwaitedKind::Rlock => Some(Wait::Lock),
        AwaitedKind::Thread => Some(Wait::Thread),
        AwaitedKind::Other => None,
    });
    match (told, proved) {
        // What a library makes of a lock says more, such as a queue.
        (Some(told), Some(Wait::Lock)) if told.what != Wait::Futex && told.what != Wait::Event => Some(told),
        (told, Some(what)) => Some(Waiting {
            what,
            frame: told.and_then(|told| told.frame),
        }),
        (told, None) => told,
    }
}

/// Whether a frame is the program's own.
pub fn is_own(frame: &Frame) -> bool {
    whycrash_frames::owner(&names(frame)) == Owner::Program
}

/// Index of the innermost frame that is the program's own, of Python where the thread runs any.
pub fn own_frame(thread: &Thread) -> Option<usize> {
    let own = |python: bool| {
        let mut frames = thread.frames.iter();
        frames.position(|frame| (frame.kind == FrameKind::Python) == python && is_own(frame))
    };
    let runs_python = thread.frames.iter().any(|frame| frame.kind == FrameKind::Python);
    own(runs_python)
}

/// Whether a thread is known to wait.
pub fn is_idle(thread: &Thread) -> bool {
    let running = thread.activity.as_ref().and_then(|activity| activity.running);
    running == Some(false)
}

/// Threads that wait for each other in a circle, each for the next one and the last for the first; empty where memory
/// shows none.
pub fn circle<'t>(threads: &[&'t Thread]) -> Vec<&'t Thread> {
    let mut next: HashMap<&ThreadId, (&'t Thread, Option<&ThreadId>)> = HashMap::new();
    for thread in threads {
        next.entry(&thread.id).or_insert((thread, holder(thread)));
    }
    for first in threads {
        let mut seen: Vec<&Thread> = Vec::new();
        let mut id = Some(&first.id);
        while let Some((thread, holder)) = id.and_then(|id| next.get(id).copied()) {
            if let Some(start) = seen.iter().position(|seen| seen.id == thread.id) {
                return seen.split_off(start);
            }
            seen.push(thread);
            id = holder;
        }
    }
    Vec::new()
}

/// Threads by their process and the artifact that shows them.
pub fn by_process(threads: &[Thread]) -> BTreeMap<(Option<u32>, &str), Vec<&Thread>> {
    let mut processes: BTreeMap<(Option<u32>, &str), Vec<&Thread>> = BTreeMap::new();
    for thread in threads {
        processes
            .entry((thread.pid, &thread.artifact))
            .or_default()
            .push(thread);
    }
    processes
}

fn holder(thread: &Thread) -> Option<&ThreadId> {
    thread.activity.as_ref()?.awaits.as_ref()?.holder.as_ref()
}

/// A thread as people know it: `"loader" (thread 4712)`.
pub fn label(thread: &Thread) -> String {
    match thread.name.as_deref().filter(|name| !name.is_empty()) {
        Some(name) => format!("{name} (thread {})", thread.id),
        None => format!("thread {}", thread.id),
    }
}

/// A frame as `function (file:line)`, with the name of the file alone.
pub fn place(frame: &Frame) -> String {
    let function = frame.function.as_deref().unwrap_or("an unknown function");
    let file = frame.file.as_deref().or(frame.module.as_deref());
    let file = file.map(|path| path.rsplit('/').next().unwrap_or(path));
    match (file, frame.line) {
        (Some(file), Some(line)) => format!("{function} ({file}:{line})"),
        (Some(file), None) => format!("{function} ({file})"),
        (None, _) => function.to_owned(),
    }
}

/// What each thread of a circle waits for, and who has it, in a sentence.
pub fn circle_in_words(circle: &[&Thread]) -> String {
    let steps = circle
        .iter()
        .zip(circle.iter().cycle().skip(1))
        .map(|(thread, holder)| {
            let awaited = thread
                .activity
                .as_ref()
                .and_then(|activity: &Activity| activity.awaits.as_ref());
            let where_to = |thread: &Thread| own_frame(thread).and_then(|index| thread.frames.get(index)).map(place);
            let waits_in = where_to(thread).map_or_else(String::new, |place| format!(" in {place}"));
            match awaited.map(|awaited| awaited.kind) {
                Some(AwaitedKind::Thread) => {
                    format!("{} waits{waits_in} for the end of {}", label(thread), label(holder))
                }
                _ => format!(
                    "{} waits{waits_in} for a lock that {} has",
                    label(thread),
                    label(holder)
                ),
            }
        });
    steps.collect::<Vec<_>>().join("; ")
}
