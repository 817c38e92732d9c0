//! Python stacks out of a core or of a process that lives: the interpreter's own frames, read from memory, and which
//! thread has its lock.

mod layout;
mod lines;
mod locks;
mod objects;
mod slots;

use std::collections::{HashMap, HashSet};

use whycrash_evidence::model::{Frame, FrameKind, Trust};
use whycrash_evidence::readers::elf_core::{CoreThread, Machine};

use self::layout::{Entry, FrameRoot, GilRoot, Layout, Position};
use crate::costs::Cap;
use crate::process::memory::{Bytes, Memory};

/// Interpreters, and threads of one, that are read at most.
const MAX_STATES: usize = 16_384;
/// Python frames of one thread at most; the default recursion limit is a thousand.
const MAX_FRAMES: usize = 100_000;
/// Characters of a name or path at most.
const MAX_CHARACTERS: u64 = 4096;
/// Bytes of a table of lines at most.
const MAX_LINE_TABLE: u64 = 4 << 20;
/// `ob_size` and then the bytes of a `bytes` object.
const BYTES_SIZE: u64 = 16;
const BYTES_DATA: u64 = 32;
/// `length` and `state` of a string.
const UNICODE_LENGTH: u64 = 16;
const UNICODE_STATE: u64 = 32;

/// The interpreter of a process, and where it keeps its threads.
pub(crate) struct Interpreter<'a> {
    memory: Memory<'a>,
    layout: Layout,
    /// Thread states.
    threads: Vec<u64>,
    /// Thread states by the kernel's thread id, as far as it is known.
    by_id: HashMap<u64, u64>,
    /// Of those the ones that hold a lock.
    lock_holders: HashSet<u64>,
}

/// The Python frames that one call of the interpreting C function ran, innermost first.
pub(crate) type PythonCall = Vec<Frame>;

impl<'a> Interpreter<'a> {
    /// The Python interpreter in a process, when there is one whose version is known.
    pub(crate) fn find(memory: Memory<'a>) -> Option<Self> {
        let mut pythons = memory.modules.named(|path| file_name(path).contains("python"));
        pythons.find_map(|(path, loaded)| {
            let runtime = loaded.data_address("_PyRuntime")?;
            let layout = Layout::find(&memory, runtime, minor_version(path))?;
            let mut found = Self {
                memory,
                layout,
                threads: Vec::new(),
                by_id: HashMap::new(),
                lock_holders: HashSet::new(),
            };
            let head = runtime.wrapping_add(found.layout.interpreters_head);
            let interpreters: Vec<u64> = found.list(head, found.layout.interpreter_next).collect();
            found.threads = found.thread_states(&interpreters);
            let id = |state: &u64| Some((found.kernel_id(*state)?, *state));
            found.by_id = found.threads.iter().rev().filter_map(id).collect();
            found.lock_holders = found.lock_holders(runtime, &interpreters);
            Some(found)
        })
    }

    fn thread_states(&self, interpreters: &[u64]) -> Vec<u64> {
        let mut states = Vec::new();
        for interpreter in interpreters {
            states.extend(self.list(
                interpreter.wrapping_add(self.layout.threads_head),
                self.layout.thread_next,
            ));
            if states.len() >= MAX_STATES {
                self.memory.costs.caps.hit(Cap::Python);
                states.truncate(MAX_STATES);
                break;
            }
        }
        states
    }

    /// The elements of a linked list.
    fn list(&self, head: u64, next: u64) -> impl Iterator<Item = u64> {
        let pointer = |address: u64| self.memory.word(address).filter(|pointer| *pointer != 0);
        std::iter::successors(pointer(head), move |element| pointer(element.wrapping_add(next))).take(MAX_STATES)
    }

    /// The kernel's id of a thread: since 3.11 in its state, else where the C library has it.
    fn kernel_id(&self, state: u64) -> Option<u64> {
        match self.layout.native_thread_id {
            Some(offset) => self.member(state, offset),
            None => {
                let handle = self.member(state, self.layout.thread_id)?;
                self.memory
                    .number(handle.checked_add(glibc_thread_id(self.memory.core.machine))?, 4)
            }
        }
    }

    /// The thread states that hold the lock of these interpreters, which they may share.
    fn lock_holders(&self, runtime: u64, interpreters: &[u64]) -> HashSet<u64> {
        let gil = self.layout.gil;
        let locks: Vec<u64> = match gil.root {
            GilRoot::Runtime(offset) => Vec::from_iter(runtime.checked_add(offset)),
            GilRoot::Interpreter(offset) => interpreters
                .iter()
                .filter_map(|interpreter| self.member(*interpreter, offset))
                .collect(),
        };
        let holder = |lock: u64| {
            let is_locked = self.memory.number(lock.checked_add(gil.locked)?, 4)? == 1;
            self.member(lock, gil.last_holder).filter(|_| is_locked)
        };
        let states: HashSet<u64> = self.threads.iter().copied().collect();
        let holders = locks.into_iter().filter_map(holder);
        // Where no thread is named, this is no lock: the memory is damaged, or laid out otherwise.
        holders.filter(|state| states.contains(state)).collect()
    }

    /// Whether a thread holds the interpreter's lock.
    pub(crate) fn holds_lock(&self, thread: &CoreThread) -> bool {
        self.state(thread)
            .is_some_and(|state| self.lock_holders.contains(&state))
    }

    /// The Python frames of a thread, by the calls of the interpreting function, innermost first.
    pub(crate) fn calls(&self, thread: &CoreThread) -> Vec<PythonCall> {
        self.state(thread)
            .and_then(|state| self.calls_of(state))
            .unwrap_or_default()
    }

    /// The state of a thread. Where nothing names the kernel's id, the thread pointer is its handle.
    fn state(&self, thread: &CoreThread) -> Option<u64> {
        let by_id = self.by_id.get(&u64::from(thread.id)).copied();
        let is_handle = |state: &&u64| {
            thread.thread_pointer != 0 && self.member(**state, self.layout.thread_id) == Some(thread.thread_pointer)
        };
        let is_old = self.layout.native_thread_id.is_none();
        by_id.or_else(|| self.threads.iter().find(is_handle).copied().filter(|_| is_old))
    }

    /// A word of a structure.
    fn member(&self, structure: u64, offset: u64) -> Option<u64> {
        self.memory.word(structure.checked_add(offset)?)
    }

    /// The innermost frame of a thread, or what stands in its place.
    fn innermost(&self, state: u64) -> Option<u64> {
        match self.layout.frame {
            FrameRoot::Direct(offset) => self.member(state, offset),
            FrameRoot::CFrame(offset, inner) => self.member(self.member(state, offset)?, inner),
        }
    }

    fn calls_of(&self, state: u64) -> Option<Vec<PythonCall>> {
        let mut frame = self.innermost(state)?;
        let mut calls = Vec::new();
        let mut call = PythonCall::new();
        let mut frames_left = MAX_FRAMES;
        while frame != 0 {
            frames_left -= 1;
            if frames_left == 0 {
                self.memory.costs.caps.hit(Cap::Python);
                break;
            }
            let (is_frame, ends_call) = self.role(frame).unwrap_or((true, false));
            if is_frame {
                let Some(found) = self.frame(frame) else { break };
                call.push(found);
            }
            if ends_call {
                calls.push(std::mem::take(&mut call));
            }
            let Some(previous) = self.memory.word(frame.wrapping_add(self.layout.frame_previous)) else {
                break;
            };
            frame = previous;
        }
        if !call.is_empty() {
            calls.push(call);
        }
        Some(calls)
    }

    /// Whether a frame is one of Python, and whether the call of the interpreting function ends with it.
    fn role(&self, frame: u64) -> Option<(bool, bool)> {
        let byte = |offset| self.memory.number(frame.checked_add(offset)?, 1);
        Some(match self.layout.entry {
            Entry::Every => (true, true),
            Entry::Flag(offset) => (true, byte(offset)? != 0),
            Entry::Owner(offset, c) => {
                let belongs_to_c = byte(offset)? >= u64::from(c);
                (!belongs_to_c, belongs_to_c)
            }
        })
    }

    fn frame(&self, frame: u64) -> Option<Frame> {
        let code = self.code(frame)?;
        let member = |offset| self.memory.word(code.checked_add(offset)?);
        let name = self.text(member(self.layout.code_name)?)?;
        Some(Frame {
            kind: FrameKind::Python,
            function: Some(name),
            file: member(self.layout.code_filename).and_then(|file| self.text(file)),
            line: self.line(frame, code),
            trust: Trust::Interpreter,
            ..Frame::default()
        })
    }

    /// The code that a frame runs. The low bits of the reference to it are tags (3.14).
    fn code(&self, frame: u64) -> Option<u64> {
        Some(self.member(frame, self.layout.frame_code)? & !7)
    }

    /// Where in its code a frame is, in bytes.
    fn instruction(&self, frame: u64, code: u64) -> Option<i64> {
        Some(match self.layout.position {
            Position::Index { at, unit } => {
                i64::from(self.memory.number(frame.checked_add(at)?, 4)? as u32 as i32).saturating_mul(unit)
            }
            Position::Pointer { at, instructions } => {
                let start = code.checked_add(instructions)?;
                self.member(frame, at)?.wrapping_sub(start) as i64
            }
        })
    }

    fn line(&self, frame: u64, code: u64) -> Option<u32> {
        let first_line = self.memory.number(code.checked_add(self.layout.code_first_line)?, 4)? as u32;
        let offset = self.instruction(frame, code)?;
        let table = self.bytes(self.member(code, self.layout.code_line_table)?)?;
        lines::line_at(&table, self.layout.line_table, first_line, offset)
    }

    /// What a `bytes` object holds.
    fn bytes(&self, object: u64) -> Option<Vec<u8>> {
        let size = self.member(object, BYTES_SIZE)?.min(MAX_LINE_TABLE);
        let mut bytes = vec![0; usize::try_from(size).ok()?];
        self.memory.read(object.checked_add(BYTES_DATA)?, &mut bytes)?;
        Some(bytes)
    }

    /// A string object.
    fn text(&self, object: u64) -> Option<String> {
        let length = self.memory.word(object.checked_add(UNICODE_LENGTH)?)?;
        let state = self.memory.number(object.checked_add(UNICODE_STATE)?, 4)? >> self.layout.unicode_kind_bit;
        let (width, is_compact, is_ascii) = (state & 7, state & 8 != 0, state & 16 != 0);
        if !is_compact || !matches!(width, 1 | 2 | 4) {
            return None;
        }
        if length > MAX_CHARACTERS {
            self.memory.costs.caps.hit(Cap::Python);
            return None;
        }
        let data = if is_ascii {
            self.layout.ascii_data
        } else {
            self.layout.unicode_data
        };
        let mut bytes = vec![0; usize::try_from(length * width).ok()?];
        self.memory.read(object.checked_add(data)?, &mut bytes)?;
        let characters = bytes.chunks_exact(width as usize).map(|character| {
            let code = character
                .iter()
                .rev()
                .fold(0, |code, byte| code << 8 | u32::from(*byte));
            char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER)
        });
        Some(characters.collect())
    }
}

/// True for a frame of the C function that interprets Python frames.
pub(crate) fn interprets(frame: &Frame) -> bool {
    let is_named = frame
        .function
        .as_deref()
        .is_some_and(|name| name.starts_with("_PyEval_EvalFrameDefault"));
    is_named && !frame.inline && frame.trust != Trust::CallSite
}

/// The kernel's thread id in what a pthread handle of glibc points to (`struct pthread`, `nptl/descr.h`): after the
/// head, which differs, and the links of a list.
fn glibc_thread_id(machine: Machine) -> u64 {
    match machine {
        Machine::X86_64 => 720,
        Machine::Aarch64 => 208,
    }
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// The minor version in a name such as `libpython3.12.so.1.0` or `python3.9`.
fn minor_version(path: &str) -> Option<u64> {
    let (_, after) = file_name(path).split_once("python3.")?;
    let digits = after
        .find(|character: char| !character.is_ascii_digit())
        .unwrap_or(after.len());
    after.get(..digits)?.parse().ok()
}
