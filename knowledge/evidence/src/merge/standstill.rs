//! A standstill of a job, told with the stacks of all threads of the process that it is about.

use crate::model::{Event, EventPayload, Hang, Thread, ThreadId};
use crate::waits::{by_process, circle, circle_in_words, is_idle, label, names, own_frame, place, waiting};

/// Threads of the process whose waits are told in words, and other processes of which that is.
const TOLD: usize = 4;
const OTHERS: usize = 3;

/// What a standstill says by itself, when it is not told otherwise.
const BY_ITSELF: [&str; 3] = ["alone", "apart", "together"];

/// Completes each standstill by what the threads of its process waited for. Threads that wait for each other are its
/// cause, in whichever process they are.
pub(super) fn complete(timeline: &mut [Event], threads: &[Thread]) {
    let stacks = by_process(threads);
    for event in timeline {
        let EventPayload::Hang(hang) = &mut event.payload else {
            continue;
        };
        let of = |pid: Option<u32>| stacks.iter().find(|((known, _), _)| pid.is_some() && *known == pid);
        if hang.family != "stopped" {
            let locked = stacks.iter().find(|(_, threads)| !circle(threads).is_empty());
            if let Some(((pid, _), threads)) = locked {
                event.pid = pid.or(event.pid);
                event.rank = threads.iter().find_map(|thread| thread.rank).or(event.rank);
                hang.rank = event.rank;
                hang.ranks = event.rank.into_iter().collect();
                deadlocked(hang, &circle(threads));
                event.text = format!("{}: {}", stood(hang), hang.account);
            }
        }
        let Some((_, threads)) = of(event.pid) else {
            continue;
        };
        hang.threads = threads.len();
        hang.running = threads.len() - threads.iter().filter(|thread| is_idle(thread)).count();
        if BY_ITSELF.contains(&hang.family.as_str()) {
            let is_once = hang.idle_s.is_none();
            tell(hang, threads, event.pid);
            let others = stacks.iter().filter(|((pid, _), _)| *pid != event.pid);
            let others: Vec<String> = others
                .filter_map(|((pid, _), threads)| other(*pid, threads))
                .take(OTHERS)
                .collect();
            if hang.family == "alone" && !others.is_empty() {
                hang.account = format!("{} Beside it, {}.", hang.account, others.join("; "));
            }
            if hang.family == "working" {
                event.survived = true;
                event.text.clone_from(&hang.account);
            } else if is_once || hang.family == "alone" {
                event.text = format!("{}: {}", stood(hang), hang.account);
            }
        }
    }
}

fn stood(hang: &Hang) -> String {
    match hang.idle_s {
        Some(seconds) => format!("no progress for {seconds} s"),
        None => "no progress".to_owned(),
    }
}

fn deadlocked(hang: &mut Hang, circle: &[&Thread]) {
    "deadlock".clone_into(&mut hang.family);
    hang.account = format!("{}.", circle_in_words(circle));
    hang.native = None;
    if let Some(first) = circle.first() {
        lead(hang, first);
    }
}

/// Notes where a thread waits, and for what.
fn lead(hang: &mut Hang, thread: &Thread) {
    hang.thread = Some(thread.id.clone());
    if let Some(frame) = own_frame(thread).and_then(|index| thread.frames.get(index)) {
        hang.function.clone_from(&frame.function);
        hang.file.clone_from(&frame.file);
        hang.line = frame.line;
    }
    let what = waiting(thread).map(|waiting| waiting.what);
    hang.waits = what.map(|what| what.name().to_owned());
    hang.waits_for = what.map(|what| what.words().to_owned());
}

/// Tells what the threads of a process wait for.
fn tell(hang: &mut Hang, threads: &[&Thread], pid: Option<u32>) {
    let main = threads.iter().find(|thread| Some(&thread.id) == hang.thread.as_ref());
    if hang.running > 0 && hang.idle_s.is_none() {
        "working".clone_into(&mut hang.family);
    } else if let Some(main) = main.filter(|_| hang.family != "together") {
        lead(hang, main);
    } else if let Some(what) = main.and_then(|main| waiting(main)).map(|waiting| waiting.what) {
        hang.waits = Some(what.name().to_owned());
        hang.waits_for = Some(what.words().to_owned());
    }
    let process = pid.map_or_else(|| "the process".to_owned(), |pid| format!("process {pid}"));
    let count = match (threads.len(), hang.running) {
        (1, 0) => format!("the only thread of {process} waits"),
        (all, 0) => format!("all {all} threads of {process} wait, and none runs"),
        (all, running) => format!("of the {all} threads of {process}, {running} run"),
    };
    // Threads of libraries wait for work all their life.
    let mut told: Vec<String> = threads.iter().filter_map(|thread| in_words(thread)).collect();
    let more = told.len().saturating_sub(TOLD);
    told.truncate(TOLD);
    if more > 0 {
        told.push(format!("and {more} more"));
    }
    let told = told.join("; ");
    hang.account = if told.is_empty() {
        format!("{count}.")
    } else {
        format!("{count}. {told}.")
    };
}

/// What the main thread of another process of the job waits for.
fn other(pid: Option<u32>, threads: &[&Thread]) -> Option<String> {
    let pid = pid?;
    let main = threads.iter().find(|thread| thread.id == ThreadId::Os(pid))?;
    let what = waiting(main)?.what.words();
    let place = own_frame(main).and_then(|index| main.frames.get(index)).map(place);
    let place = place.map_or_else(String::new, |place| format!(" in {place}"));
    Some(format!("process {pid} waits for {what}{place}"))
}

/// What a thread of the program does.
fn in_words(thread: &Thread) -> Option<String> {
    let frame = thread.frames.get(own_frame(thread)?)?;
    let (who, place) = (label(thread), place(frame));
    let holder = thread
        .activity
        .as_ref()
        .and_then(|activity| activity.awaits.as_ref()?.holder.as_ref());
    let holder = holder.map_or_else(String::new, |holder| format!(" that thread {holder} has"));
    let is_blocked = whycrash_frames::blocked_event_loop(thread.frames.iter().map(names)).is_some();
    let event_loop = if is_blocked {
        ", and its event loop can not go on meanwhile"
    } else {
        ""
    };
    Some(match waiting(thread) {
        Some(waiting) => format!(
            "{who} waits for {}{holder} in {place}{event_loop}",
            waiting.what.words()
        ),
        None if is_idle(thread) => format!("{who} waits in {place}{event_loop}"),
        None => format!("{who} runs {place}{event_loop}"),
    })
}
