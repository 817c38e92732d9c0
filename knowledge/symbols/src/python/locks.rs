//! How Python's threads are called, for which of them others wait, and who has its locks, as far as the interpreter's memory proves it.
//!
//! A `threading.Lock` does not note who has it. A thread that is inside of a `with` statement for one has the lock's
//! `__exit__` among its values, to call it in the end; and an `RLock` notes its owner. Until 3.13 both are a semaphore
//! of the C library, on whose address threads wait (`Python/thread_pthread.h`). Offsets are those of `lockobject` and
//! `rlockobject` (`Modules/_threadmodule.c`) and of `PyCFunctionObject` and `PyMethodDef`.

use whycrash_evidence::model::AwaitedKind;
use whycrash_evidence::readers::elf_core::CoreThread;

use super::Interpreter;

/// Frames of one thread that are looked at.
const FRAMES: usize = 256;
/// Of a lock, its semaphore; of an `RLock`, the pthread handle of its owner, and how often that one took it.
const SEMAPHORE: u64 = 16;
const OWNER: u64 = 24;
const COUNT: u64 = 32;
/// Of a built-in method that is bound, what it is, and to which object.
const METHOD: u64 = 16;
const BOUND_TO: u64 = 24;

/// A lock of Python.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PythonLock {
    pub(crate) kind: AwaitedKind,
    /// Address of its semaphore, where threads wait.
    pub(crate) semaphore: u64,
    /// The kernel's id of the thread that the lock itself notes.
    pub(crate) owner: Option<u64>,
}

/// A lock that a thread has taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TakenLock {
    pub(crate) semaphore: u64,
    /// Which of the thread's Python frames has taken it, counted from the innermost one.
    pub(crate) frame: usize,
}

/// Frames of one thread among which its first one is.
const ALL_FRAMES: usize = 4096;
/// Innermost frames among which the one of `Thread.join` is.
const JOIN_FRAMES: usize = 3;

impl Interpreter<'_> {
    /// The name that a thread has in the program (`threading.Thread.name`).
    pub(crate) fn thread_name(&self, thread: &CoreThread) -> Option<String> {
        let frames = self.frames_of(self.state(thread)?, ALL_FRAMES);
        let first = *frames.last()?;
        match self.is_of_threading(first, "_bootstrap") {
            true => self.text_attribute(self.thread_object(first)?, "_name"),
            false => None,
        }
    }

    /// Whether a thread runs Python code now.
    pub(crate) fn runs(&self, thread: &CoreThread) -> bool {
        self.state(thread)
            .is_some_and(|state| !self.frames_of(state, 1).is_empty())
    }

    /// The thread for whose end another one waits (`Thread.join`): its object, and the kernel's id.
    pub(crate) fn thread_joined(&self, thread: &CoreThread) -> Option<(u64, u64)> {
        let frames = self.frames_of(self.state(thread)?, JOIN_FRAMES);
        let join = frames.into_iter().find(|frame| self.is_of_threading(*frame, "join"))?;
        let object = self.thread_object(join)?;
        let handle = self.integer(self.attribute(object, "_ident")?)?;
        Some((object, self.kernel_id_of(handle)?))
    }

    /// Whether a frame is of a function of `threading`.
    fn is_of_threading(&self, frame: u64, function: &str) -> bool {
        let named = || {
            let found = self.frame(frame)?;
            let is_it = found.function.as_deref() == Some(function);
            found.file.filter(|file| is_it && file.ends_with("threading.py"))
        };
        named().is_some()
    }

    /// The `Thread` that a method of it runs for: its first local variable.
    fn thread_object(&self, frame: u64) -> Option<u64> {
        self.slots(frame)?.locals.first().copied().filter(|object| *object != 0)
    }

    /// The kernel's id of the thread with a pthread handle.
    fn kernel_id_of(&self, handle: u64) -> Option<u64> {
        let is_it = |state: &&u64| self.member(**state, self.layout.thread_id) == Some(handle);
        self.kernel_id(*self.threads.iter().find(is_it)?)
    }

    /// The locks that a thread has, because it is inside of `with` statements for them.
    pub(crate) fn locks_taken(&self, thread: &CoreThread) -> Vec<TakenLock> {
        let Some(state) = self.state(thread) else {
            return Vec::new();
        };
        let frames = self.frames_of(state, FRAMES).into_iter().enumerate();
        let taken = frames.flat_map(|(frame, address)| {
            let values = self.slots(address).unwrap_or_default().protected;
            let exits = values.into_iter().filter_map(move |value| self.method(value));
            let locks = exits.filter(|(name, _)| name == "__exit__").map(|(_, lock)| lock);
            locks.map(move |lock| TakenLock {
                semaphore: lock.semaphore,
                frame,
            })
        });
        taken.collect()
    }

    /// The lock whose semaphore a thread waits for, where it is among what the thread's innermost Python frame works on.
    pub(crate) fn lock_awaited(&self, thread: &CoreThread, semaphore: u64) -> Option<PythonLock> {
        let frame = *self.frames_of(self.state(thread)?, 1).first()?;
        let slots = self.slots(frame)?;
        let values = slots.locals.into_iter().chain(slots.protected).chain(slots.others);
        // What was used up is no lock any more, or no longer the one: its semaphore tells.
        let mut locks =
            values.filter_map(|value| self.method(value).map(|(_, lock)| lock).or_else(|| self.lock(value)));
        locks.find(|lock| lock.semaphore == semaphore)
    }

    /// A bound method of a lock: its name, and the lock.
    fn method(&self, object: u64) -> Option<(String, PythonLock)> {
        if self.type_name(object)? != "builtin_function_or_method" {
            return None;
        }
        let name = self.c_string(self.member(self.member(object, METHOD)?, 0)?)?;
        Some((name, self.lock(self.member(object, BOUND_TO)?)?))
    }

    fn lock(&self, object: u64) -> Option<PythonLock> {
        let kind = match self.type_name(object)?.as_str() {
            "_thread.lock" => AwaitedKind::Lock,
            "_thread.RLock" => AwaitedKind::Rlock,
            _ => return None,
        };
        let owner = || {
            let is_taken = self.member(object, COUNT)? > 0;
            self.kernel_id_of(self.member(object, OWNER)?).filter(|_| is_taken)
        };
        Some(PythonLock {
            kind,
            semaphore: self.member(object, SEMAPHORE)?,
            owner: (kind == AwaitedKind::Rlock).then(owner).flatten(),
        })
    }
}
