//! Threads that wait for each other's locks, in a core of a process that hung, or as a debugger shows it.

use serde::Deserialize;
use serde_json::Value;
use whycrash_plugin::facts::Hang;
use whycrash_plugin::{Citation, Frame, Owner, Told, Wait, Walk, frames};

use crate::Verdict;
use crate::scene::Scene;
use crate::stack::{Stack, describe};

/// Threads that are looked at, and innermost frames among which the wait is.
const THREADS: usize = 256;
const NEAR: usize = 8;
/// Frames of a thread that are looked at.
const FRAMES: usize = 128;

/// Functions in which a thread waits for a lock; waiting for an event is another thing.
const LOCKS: [&str; 7] = [
    "lll_lock_wait",
    "pthread_mutex_lock",
    "pthread_rwlock_wrlock",
    "pthread_rwlock_rdlock",
    "std::mutex::lock",
    "Mutex::lock_contended",
    "__gthread_mutex_lock",
];

/// What the report's evidence says of a thread's activity.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Activity {
    running: Option<bool>,
    awaits: Option<Awaited>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Awaited {
    kind: String,
    address: String,
    /// The thread that has what is awaited, and its frame that took it.
    holder: Option<Value>,
    taken_in: Option<u32>,
}

/// A thread, its frames, and what it does.
struct Party<'r> {
    walk: Walk<'r>,
    frames: Vec<Frame>,
    activity: Activity,
}

/// What the threads that are looked at do, in the order of the report.
fn activities(scene: &Scene) -> Vec<Activity> {
    let threads = 0..scene.report.walks().take(THREADS).count();
    threads
        .map(|position| {
            let activity = scene.report.get(&format!("threads.{position}.activity"));
            activity.unwrap_or_default()
        })
        .collect()
}

impl<'r> Party<'r> {
    fn all(scene: &Scene<'r>, activities: Vec<Activity>) -> Vec<Self> {
        let walks = scene.report.walks().zip(activities);
        walks
            .map(|(walk, activity)| Self {
                frames: walk.frames().take(FRAMES).map(|(_, frame)| frame).collect(),
                activity,
                walk,
            })
            .collect()
    }

    /// As people know it.
    fn label(&self) -> String {
        let thread = &self.walk.thread;
        match thread.name.as_deref().filter(|name| !name.is_empty()) {
            Some(name) => format!("{name} (thread {})", thread.id),
            None => format!("thread {}", thread.id),
        }
    }

    fn frame(&self, index: usize) -> Option<(u32, &Frame)> {
        Some((u32::try_from(index).ok()?, self.frames.get(index)?))
    }

    /// The program's own frame, of Python where it runs any.
    fn own(&self) -> Option<(u32, &Frame)> {
        let of = |kind: &str| {
            let is_own = |frame: &Frame| frame.kind == kind && frame.owner() == Owner::Program;
            self.frame(self.frames.iter().position(is_own)?)
        };
        let runs_python = self.frames.iter().any(|frame| frame.kind == "python");
        of(if runs_python { "python" } else { "native" })
    }

    fn cite(&self, (index, frame): (u32, &Frame)) -> Citation {
        self.walk.cite(index, frame)
    }

    /// Whether a thread of the same process has what this one waits for.
    fn waits_for(&self, other: &Self) -> bool {
        let holder = self
            .activity
            .awaits
            .as_ref()
            .and_then(|awaited| awaited.holder.as_ref());
        let id = holder.map(|id| id.as_str().map_or_else(|| id.to_string(), str::to_owned));
        id.as_deref() == Some(other.walk.thread.id.as_str()) && self.walk.thread.artifact == other.walk.thread.artifact
    }

    /// Whether it waits for a lock, by its memory or by the functions that it is in.
    fn wants_lock(&self) -> bool {
        let proved = self
            .activity
            .awaits
            .as_ref()
            .is_some_and(|awaited| awaited.kind != "thread");
        let told = || frames::wait(&self.frames).is_some_and(|waiting| waiting.what == Wait::Lock);
        proved || told()
    }
}

/// Threads that wait for each other in a circle, as the memory of their process shows.
pub fn proved(scene: &Scene) -> Option<Verdict> {
    let activities = activities(scene);
    let is_held = |activity: &Activity| activity.awaits.as_ref().is_some_and(|awaited| awaited.holder.is_some());
    if !activities.iter().any(is_held) {
        return None;
    }
    let threads = Party::all(scene, activities);
    let next = |position: usize| {
        let thread: &Party = threads.get(position)?;
        thread.activity.awaits.as_ref()?.holder.as_ref()?;
        threads.iter().position(|other| thread.waits_for(other))
    };
    let circle = (0..threads.len()).find_map(|first| {
        let way: Vec<usize> = std::iter::successors(Some(first), |position| next(*position))
            .take(threads.len() + 1)
            .collect();
        let end = way.iter().skip(1).position(|position| *position == first)?;
        way.get(..=end).map(<[usize]>::to_vec)
    })?;
    let parties: Vec<&Party> = circle.iter().filter_map(|position| threads.get(*position)).collect();
    let told = parties
        .iter()
        .zip(parties.iter().cycle().skip(1))
        .map(|(waiter, holder)| step(waiter, holder));
    let places = parties.iter().filter_map(|party| Some(party.cite(party.own()?)));
    let finding = scene
        .finding("hang-lock-order", 0.97)
        .titled(match parties.len() {
            2 => "Deadlock: two threads wait for each other".to_owned(),
            count => format!("Deadlock: {count} threads wait for each other in a circle"),
        })
        .because(format!(
            "{}. The memory of the process says who has what, so that none of them can go on.",
            told.collect::<Vec<_>>().join("; ")
        ))
        .cite_all(places);
    Some(Verdict::Found(finding))
}

/// What one thread of a circle waits for, and who has it.
fn step(waiter: &Party, holder: &Party) -> String {
    let at = |frame: Option<(u32, &Frame)>, word: &str| {
        frame.map_or_else(String::new, |(_, frame)| format!("{word}{}", describe(frame)))
    };
    let awaited = waiter.activity.awaits.as_ref();
    let (who, whom) = (waiter.label(), holder.label());
    let place = at(waiter.own(), " in ");
    if awaited.is_some_and(|awaited| awaited.kind == "thread") {
        return format!("{who} waits{place} for the end of {whom}");
    }
    // Where that thread waits is told with it: here only what is another function.
    let taken = awaited.and_then(|awaited| holder.frame(awaited.taken_in? as usize));
    let function = |frame: Option<(u32, &Frame)>| frame.and_then(|(_, frame)| frame.function.clone());
    let taken = function(taken).filter(|taken| Some(taken) != function(holder.own()).as_ref());
    let taken = taken.map_or_else(String::new, |taken| format!(", taken in `{taken}`"));
    format!("{who} waits{place} for a lock that {whom} has{taken}")
}

/// Threads of Python that wait for locks while no thread of their process runs: that they wait for each other is likely,
/// and who has the locks is not known.
pub fn likely(scene: &Scene) -> Option<Verdict> {
    let activities = activities(scene);
    let is_still = activities.iter().all(|activity| activity.running == Some(false));
    if activities.len() < 2 || !is_still {
        return None;
    }
    let threads = Party::all(scene, activities);
    let mut waiting: Vec<&Party> = Vec::new();
    for thread in threads
        .iter()
        .filter(|thread| thread.wants_lock() && thread.own().is_some())
    {
        let lock = |party: &Party| party.activity.awaits.as_ref().map(|awaited| awaited.address.clone());
        let is_known = waiting
            .iter()
            .any(|known| lock(known).is_some() && lock(known) == lock(thread));
        if !is_known {
            waiting.push(thread);
        }
    }
    if waiting.len() < 2 {
        return None;
    }
    let places = waiting.iter().filter_map(|thread| {
        let (_, frame) = thread.own()?;
        Some(format!("{} in {}", thread.label(), describe(frame)))
    });
    let finding = scene
        .finding("hang-lock-order", 0.62)
        .because(format!(
            "{} threads wait for locks, and none of the {} threads that were looked at runs: {}. Nobody is left to release them but              one that waits itself; who has which is not recorded.",
            waiting.len(),
            threads.len(),
            places.take(4).collect::<Vec<_>>().join("; ")
        ))
        .cite_all(waiting.iter().take(4).filter_map(|thread| Some(thread.cite(thread.own()?))));
    Some(Verdict::Found(finding))
}

/// A job that waits, where the stacks tell for what: what each thread of the program waits for, and nothing of why.
pub fn standing(scene: &Scene) -> Option<Verdict> {
    let told: Vec<Told<Hang>> = scene.report.told();
    let is_it = |told: &&Told<Hang>| {
        told.event.primary && ["alone", "together"].contains(&told.detail.family.as_str()) && told.detail.threads > 0
    };
    let told = told.iter().find(is_it)?;
    let hang = &told.detail;
    let (what, function) = (hang.waits_for.as_deref()?, hang.function.as_deref()?);
    let id = match &hang.thread {
        Some(Value::String(id)) => id.clone(),
        Some(id) => id.to_string(),
        None => String::new(),
    };
    let own = scene
        .report
        .walks()
        .take(THREADS)
        .find(|walk| walk.thread.id == id)
        .and_then(|walk| {
            let mut frames = walk.frames().take(FRAMES);
            let (index, frame) = frames.find(|(_, frame)| frame.function.as_deref() == Some(function))?;
            Some((describe(&frame), walk.cite(index, &frame)))
        });
    let place = own
        .as_ref()
        .map_or_else(|| format!("`{function}`"), |(place, _)| place.clone());
    let finding = scene
        .finding("hang-no-progress", 0.55)
        .titled(format!("The job waits for {what}, in {}", place.replace('`', "")))
        .because(format!("{}: {}", hang.stood, hang.account))
        .cite_all(own.map(|(_, cited)| cited))
        .cite(scene.report.cite(&told.event));
    Some(Verdict::Found(finding))
}

/// Two threads or more wait for locks in functions of their own, and nobody is left to release them.
pub fn rule(scene: &Scene) -> Option<Verdict> {
    let walks = scene.report.walks().take(THREADS);
    let stacks: Vec<Stack> = walks.filter_map(|walk| Stack::new(walk, "native")).collect();
    // Of a process that goes on, a thread that runs may hold the lock, and give it back.
    if !stacks.iter().all(waits) {
        return None;
    }
    let waiting: Vec<Stack> = stacks.into_iter().filter(waits_for_lock).collect();
    let leads = || waiting.iter().filter_map(|stack| Some((stack, stack.lead()?)));
    let mut own = leads().filter(|(_, (_, frame))| frame.owner() == Owner::Program);
    let first = own.next()?;
    let second = own.find(|(_, (_, frame))| frame.function != first.1.1.function)?;
    let finding = scene
        .finding("hang-lock-order", 0.72)
        .because(format!(
            "Thread {} waits for a lock in {}, and thread {} waits for one in {}: each seems to hold what the other waits for.",
            first.0.thread(),
            describe(&first.1.1),
            second.0.thread(),
            describe(&second.1.1)
        ))
        .cite(first.0.cite(first.1))
        .cite(second.0.cite(second.1));
    Some(Verdict::Found(finding))
}

/// Parts of the names of functions in which a thread waits, for whatever.
const WAITS: [&str; 16] = [
    "futex",
    "lock_wait",
    "pthread_cond_",
    "poll",
    "select",
    "epoll_",
    "nanosleep",
    "sem_wait",
    "sem_clockwait",
    "accept",
    "recv",
    "libc_read",
    "wait4",
    "waitpid",
    "sigwait",
    "syscall",
];

fn waits(stack: &Stack) -> bool {
    let mut near = stack.frames.iter().take(NEAR);
    near.any(|(_, frame)| {
        let name = frame.function.as_deref().unwrap_or_default();
        // Much has "read" in it, such as the first function of a thread.
        name == "read" || WAITS.iter().chain(&LOCKS).any(|wait| name.contains(wait))
    })
}

fn waits_for_lock(stack: &Stack) -> bool {
    let mut near = stack.frames.iter().take(NEAR);
    let waits = near.any(|(_, frame)| {
        let name = frame.function.as_deref().unwrap_or_default();
        LOCKS.iter().any(|lock| name.contains(lock))
    });
    waits && frames::lead(stack.frames.iter().map(|(_, frame)| frame)).is_some()
}
