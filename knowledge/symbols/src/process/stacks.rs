//! Whole stacks: unwound, named, cut to size.

use std::collections::{HashMap, VecDeque};

use whycrash_evidence::model::{Frame, Trust};
use whycrash_evidence::readers::elf_core::CoreThread;

use crate::dwarf::Function;
use crate::process::memory::Memory;
use crate::python::{self, Interpreter, PythonCall};
use crate::unwind::tail_calls;
use crate::unwind::{RawFrame, Unwinder};

/// Whether frames get names. Finding them takes the debug information of every binary on a stack, and none of the
/// process's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Naming {
    On,
    Off,
}

/// Names addresses of one process, each once.
pub(crate) struct Namer<'a> {
    memory: Memory<'a>,
    naming: Naming,
    known: HashMap<(u64, bool), Vec<Function>>,
    /// By return address in the caller and address in the callee.
    tail_calls: HashMap<(u64, u64), Vec<u64>>,
}

/// What it costs to name an address that was not named before.
const LOOKUP: u64 = 64 << 10;
/// Addresses whose names are kept.
const MAX_KNOWN: usize = 1 << 16;

/// A thread's frames, innermost first.
pub(crate) struct Stack {
    pub(crate) frames: Vec<Frame>,
    /// Frames left out in the middle.
    pub(crate) omitted: Option<u64>,
}

impl<'a> Namer<'a> {
    pub(crate) fn new(memory: Memory<'a>, naming: Naming) -> Self {
        Self {
            memory,
            naming,
            known: HashMap::new(),
            tail_calls: HashMap::new(),
        }
    }

    /// The stack of a thread, its Python frames merged in, with at most `limit` frames.
    pub(crate) fn stack(&mut self, thread: &CoreThread, python: Option<&Interpreter<'_>>, limit: usize) -> Stack {
        let calls = python.map_or_else(Vec::new, |python| python.calls(thread));
        let mut frames = Merged::new(calls, limit);
        let mut above: Option<RawFrame> = None;
        let naming = self.naming;
        let has_tail_calls = |raw: &RawFrame| naming == Naming::On && raw.trust == Trust::Cfi && !raw.is_exact;
        for raw in Unwinder::new(self.memory, &thread.registers) {
            if let Some(above) = above.filter(|_| has_tail_calls(&raw)) {
                frames.extend(self.tail_called(&above, &raw));
            }
            let interrupted = above.is_some_and(|above| above.is_signal_trampoline);
            let named = self.frames(&raw, interrupted);
            above = Some(raw);
            // Debuggers end at `main` too: what called it is the same in every program.
            let is_main = |frame: &Frame| frame.function.as_deref() == Some("main") && frame.file.is_some();
            let ends = named.last().is_some_and(is_main);
            frames.extend(named);
            if ends {
                break;
            }
        }
        frames.finish()
    }

    /// The frames that tail calls erased between two others.
    fn tail_called(&mut self, above: &RawFrame, below: &RawFrame) -> Vec<Frame> {
        let key = (below.registers.pc, above.lookup_address());
        let memory = self.memory;
        let known = self
            .tail_calls
            .entry(key)
            .or_insert_with(|| tail_calls::between(memory, key.0, key.1));
        let mut frames = Vec::new();
        for address in known.clone() {
            let raw = RawFrame {
                trust: Trust::CallSite,
                ..below.at(address)
            };
            // A jump is one frame, of whatever function it was written in.
            frames.extend(
                self.frames(&raw, false)
                    .into_iter()
                    .take(1)
                    .map(|frame| Frame { inline: false, ..frame }),
            );
        }
        frames
    }

    /// The frames of one place on the stack: the function, before it what was inlined into it.
    fn frames(&mut self, raw: &RawFrame, interrupted: bool) -> Vec<Frame> {
        let base = self.memory.core.frame(raw.registers.pc, raw.trust);
        let functions = self.functions(raw);
        let outermost = functions.len().saturating_sub(1);
        let named = functions.into_iter().enumerate().map(|(index, function)| Frame {
            function: function.name,
            file: function.file,
            line: function.line.filter(|line| *line != 0),
            inline: index < outermost,
            signal: interrupted && index == 0,
            ..base.clone()
        });
        named.collect()
    }

    fn functions(&mut self, raw: &RawFrame) -> Vec<Function> {
        if self.naming == Naming::Off {
            return vec![Function::default()];
        }
        // The trampoline is entered at its first instruction by a return, not by a call.
        let address = if raw.is_signal_trampoline {
            raw.registers.pc
        } else {
            raw.lookup_address()
        };
        let key = (address, raw.is_signal_trampoline);
        if let Some(known) = self.known.get(&key) {
            return known.clone();
        }
        if self.known.len() >= MAX_KNOWN {
            self.known.clear();
        }
        let mut functions = self.find(address);
        if let Some(function) = functions
            .last_mut()
            .filter(|function| function.name.is_none() && raw.is_signal_trampoline)
        {
            function.name = Some("<signal handler called>".to_owned());
        }
        self.known.insert(key, functions.clone());
        functions
    }

    fn find(&self, address: u64) -> Vec<Function> {
        let Some(module) = self.memory.modules.at(address) else {
            return vec![Function::default()];
        };
        if self.memory.costs.spend(LOOKUP).is_none() {
            return vec![Function::default()];
        }
        let mut functions = module.functions_at(address);
        if functions.is_empty() {
            functions.push(Function {
                name: module.symbol_at(address),
                ..Function::default()
            });
        }
        functions
    }
}

/// Puts the Python frames of a thread before the native frames of the C function that interpreted them.
struct Merged {
    calls: std::vec::IntoIter<PythonCall>,
    kept: Ends,
}

impl Merged {
    fn new(calls: Vec<PythonCall>, limit: usize) -> Self {
        Self {
            calls: calls.into_iter(),
            kept: Ends::new(limit),
        }
    }

    fn finish(mut self) -> Stack {
        // Without symbols for the interpreter, or with a native stack that ends early, they go below what is known.
        self.kept.extend(self.calls.flatten());
        self.kept.stack()
    }
}

impl Extend<Frame> for Merged {
    fn extend<T: IntoIterator<Item = Frame>>(&mut self, frames: T) {
        for frame in frames {
            if python::interprets(&frame) {
                self.kept.extend(self.calls.next().unwrap_or_default());
            }
            self.kept.extend([frame]);
        }
    }
}

/// Keeps the first and the last frames of a stack that is too deep: a recursion says who started it and who ended it.
struct Ends {
    first: Vec<Frame>,
    last: VecDeque<Frame>,
    limit: usize,
    omitted: u64,
}

impl Ends {
    fn new(limit: usize) -> Self {
        Self {
            first: Vec::new(),
            last: VecDeque::new(),
            limit,
            omitted: 0,
        }
    }

    fn stack(self) -> Stack {
        let mut frames = self.first;
        frames.extend(self.last);
        Stack {
            frames,
            omitted: Some(self.omitted).filter(|omitted| *omitted > 0),
        }
    }
}

impl Extend<Frame> for Ends {
    fn extend<T: IntoIterator<Item = Frame>>(&mut self, frames: T) {
        for frame in frames {
            if self.first.len() < self.limit.div_ceil(2) {
                self.first.push(frame);
                continue;
            }
            self.last.push_back(frame);
            if self.last.len() > self.limit / 2 {
                self.last.pop_front();
                self.omitted += 1;
            }
        }
    }
}

/// The first and the last of these frames.
pub(crate) fn cut_middle(frames: impl Iterator<Item = Frame>, limit: usize) -> Stack {
    let mut ends = Ends::new(limit);
    ends.extend(frames);
    ends.stack()
}
