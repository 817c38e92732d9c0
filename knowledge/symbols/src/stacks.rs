//! Whole stacks: unwound, named, cut to size.

use std::collections::HashMap;

use whycrash_evidence::model::{Frame, Trust};
use whycrash_evidence::readers::elf_core::CoreThread;

use crate::dwarf::Function;
use crate::memory::Memory;
use crate::python::{self, Interpreter};
use crate::tail_calls;
use crate::unwind::{RawFrame, Unwinder};

/// Names addresses of one process, each once.
pub(crate) struct Namer<'a> {
    memory: Memory<'a>,
    known: HashMap<(u64, bool), Vec<Function>>,
    /// By return address in the caller and address in the callee.
    tail_calls: HashMap<(u64, u64), Vec<u64>>,
}

/// A thread's frames, innermost first.
pub(crate) struct Stack {
    pub(crate) frames: Vec<Frame>,
    /// Frames left out in the middle.
    pub(crate) omitted: Option<u64>,
}

impl<'a> Namer<'a> {
    pub(crate) fn new(memory: Memory<'a>) -> Self {
        Self {
            memory,
            known: HashMap::new(),
            tail_calls: HashMap::new(),
        }
    }

    /// The stack of a thread, its Python frames merged in, with at most `limit` frames.
    pub(crate) fn stack(&mut self, thread: &CoreThread, python: Option<&Interpreter<'_>>, limit: usize) -> Stack {
        let mut frames = Vec::new();
        let mut above: Option<RawFrame> = None;
        for raw in Unwinder::new(self.memory, &thread.registers) {
            if let Some(above) = above.filter(|_| raw.trust == Trust::Cfi && !raw.is_exact) {
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
        let calls = python.map_or_else(Vec::new, |python| python.calls(thread));
        cut_middle(python::merge(frames, calls), limit)
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
        let Some(module) = self.memory.modules.at(self.memory.core, address) else {
            return vec![Function::default()];
        };
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

/// Keeps the first and the last frames of a stack that is too deep: a recursion says who started it and who ended it.
pub(crate) fn cut_middle(mut frames: Vec<Frame>, limit: usize) -> Stack {
    let Some(omitted) = frames.len().checked_sub(limit).filter(|omitted| *omitted > 0) else {
        return Stack { frames, omitted: None };
    };
    let first = limit.div_ceil(2);
    frames.drain(first..first + omitted);
    Stack {
        frames,
        omitted: Some(omitted as u64),
    }
}
