//! What the threads of a process wait for, as far as its memory proves it: a lock and who has it, or the end of another
//! thread.

use std::collections::{HashMap, HashSet};

use whycrash_evidence::model::{Awaited, AwaitedKind, Frame, FrameKind, Thread, ThreadId};
use whycrash_evidence::readers::elf_core::{CoreThread, Machine};

use crate::process::memory::{Bytes, Memory};
use crate::python::Interpreter;

/// Threads of one process that are looked at.
const THREADS: usize = 1024;
/// Innermost frames that say in which function of the C library a thread waits.
const NEAR: usize = 6;
/// Of a `pthread_mutex_t`, who has it and which kind it is, 32 bits each (glibc, `struct __pthread_mutex_s`). Where a
/// thread waits is its beginning.
const MUTEX_OWNER: u64 = 8;
const MUTEX_KIND: u64 = 16;
/// Kinds of which the owner is noted are 0 to 3, with a flag for elision.
const MUTEX_KINDS: u64 = 3;
const ELISION_FLAGS: u64 = 256 | 512;

/// Notes what each thread waits for.
pub(crate) fn note(memory: Memory<'_>, interpreter: Option<&Interpreter<'_>>, threads: &mut [Thread]) {
    let core = memory.core;
    let ids: HashSet<u32> = core.threads.iter().map(|thread| thread.id).collect();
    let taken = taken_locks(core.threads.iter().take(THREADS), interpreter, threads);
    for (thread, found) in core.threads.iter().zip(threads).take(THREADS) {
        if let Some(interpreter) = interpreter.filter(|interpreter| interpreter.runs(thread)) {
            // Of a process that lives, the first thread is the main one.
            let main = found.pid.or(core.threads.first().map(|first| first.id));
            let is_main = main == Some(thread.id);
            let name = interpreter.thread_name(thread);
            let name = name.or_else(|| is_main.then(|| "MainThread".to_owned()));
            found.name = name.or(found.name.take());
        }
        let awaited = Waiter {
            memory,
            thread,
            ids: &ids,
        }
        .awaited(interpreter, &taken, &found.frames);
        if awaited.is_some() {
            found.activity.get_or_insert_default().awaits = awaited;
        }
    }
}

/// Who has a lock: the thread, and the frame in which it was taken.
type Holder = (u32, Option<usize>);

/// Locks that threads have by `with` statements, by the address where others wait for them.
fn taken_locks<'t>(
    threads: impl Iterator<Item = &'t CoreThread>,
    interpreter: Option<&Interpreter<'_>>,
    found: &[Thread],
) -> HashMap<u64, Holder> {
    let Some(interpreter) = interpreter else {
        return HashMap::new();
    };
    let mut taken = HashMap::new();
    for (thread, found) in threads.zip(found) {
        for lock in interpreter.locks_taken(thread) {
            taken
                .entry(lock.semaphore)
                .or_insert((thread.id, python_frame(found, lock.frame)));
        }
    }
    taken
}

/// The index of a Python frame among all of a thread's, where none was left out.
fn python_frame(thread: &Thread, number: usize) -> Option<usize> {
    let frames = thread.frames.iter().enumerate();
    let mut python = frames.filter(|(_, frame)| frame.kind == FrameKind::Python);
    let index = python.nth(number).map(|(index, _)| index);
    index.filter(|_| thread.frames_omitted.is_none())
}

/// A thread that may wait for another.
struct Waiter<'a> {
    memory: Memory<'a>,
    thread: &'a CoreThread,
    ids: &'a HashSet<u32>,
}

impl Waiter<'_> {
    fn awaited(
        &self,
        interpreter: Option<&Interpreter<'_>>,
        taken: &HashMap<u64, Holder>,
        frames: &[Frame],
    ) -> Option<Awaited> {
        let argument = self
            .thread
            .registers
            .general
            .get(first_argument(self.memory.core.machine));
        let address = argument.copied().filter(|address| *address != 0)?;
        // Read in any case: a minicore is made of what is read while frames have no names.
        let (owner, joined) = (self.mutex_owner(address), self.memory.number(address, 4));
        let joined_of_python = interpreter.and_then(|interpreter| interpreter.thread_joined(self.thread));
        if let Some((object, id)) = joined_of_python.and_then(|(object, id)| Some((object, self.known(id)?))) {
            return Some(Awaited {
                kind: AwaitedKind::Thread,
                address: object.into(),
                holder: Some(ThreadId::Os(id)),
                taken_in: None,
            });
        }
        let python = interpreter.and_then(|interpreter| interpreter.lock_awaited(self.thread, address));
        let by_statement = taken.get(&address).filter(|(holder, _)| *holder != self.thread.id);
        let (kind, holder) = if python.is_some() || by_statement.is_some() {
            let kind = python.map_or(AwaitedKind::Lock, |lock| lock.kind);
            let noted = python.and_then(|lock| self.known(lock.owner?));
            let frame = by_statement.filter(|(thread, _)| noted.is_none_or(|noted| noted == *thread));
            let holder = noted.or(by_statement.map(|(thread, _)| *thread));
            (kind, holder.map(|holder| (holder, frame.and_then(|(_, frame)| *frame))))
        } else if is_in(
            frames,
            &[
                "pthread_mutex_lock",
                "pthread_mutex_timedlock",
                "pthread_mutex_clocklock",
            ],
        ) {
            (AwaitedKind::Mutex, Some((owner?, None)))
        } else if is_in(frames, &["pthread_join", "pthread_timedjoin_np", "pthread_clockjoin"]) {
            // The kernel empties the field when the thread is gone.
            (AwaitedKind::Thread, Some((self.known(joined?)?, None)))
        } else {
            return None;
        };
        Some(Awaited {
            kind,
            address: address.into(),
            holder: holder.map(|(thread, _)| ThreadId::Os(thread)),
            taken_in: holder.and_then(|(_, frame)| frame),
        })
    }

    /// Another thread of the process.
    fn known(&self, id: u64) -> Option<u32> {
        let id = u32::try_from(id).ok()?;
        (self.ids.contains(&id) && id != self.thread.id).then_some(id)
    }

    fn mutex_owner(&self, mutex: u64) -> Option<u32> {
        let kind = self.memory.number(mutex.checked_add(MUTEX_KIND)?, 4)?;
        let owner = self.memory.number(mutex.checked_add(MUTEX_OWNER)?, 4)?;
        self.known(owner).filter(|_| kind & !ELISION_FLAGS <= MUTEX_KINDS)
    }
}

/// The register with the first argument of a system call: what a thread waits for is the address that `futex` has.
fn first_argument(machine: Machine) -> usize {
    match machine {
        Machine::X86_64 => 5,
        Machine::Aarch64 => 0,
    }
}

/// Whether a thread waits in one of these functions of the C library, whose names may have underlines before them.
fn is_in(frames: &[Frame], functions: &[&str]) -> bool {
    let native = frames
        .iter()
        .take_while(|frame| frame.kind == FrameKind::Native)
        .take(NEAR);
    let mut names = native.filter_map(|frame| frame.function.as_deref());
    names.any(|name| {
        functions
            .iter()
            .any(|function| name.trim_start_matches('_').starts_with(function))
    })
}
