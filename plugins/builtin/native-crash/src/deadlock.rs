//! Threads that wait for each other's locks, in a core of a process that hung, or as a debugger shows it.

use whycrash_plugin::{Owner, frames};

use crate::Verdict;
use crate::scene::Scene;
use crate::stack::{Stack, describe};

/// Threads that are looked at, and innermost frames among which the wait is.
const THREADS: usize = 256;
const NEAR: usize = 8;

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
