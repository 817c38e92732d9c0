//! Stacks out of minidumps. The walking is minidump-unwind's, which knows every processor and system that minidumps
//! come from; unwinding rules and names are from wherever there are any: ELF files by build id, Breakpad symbol files
//! by debug id.

mod elf_rules;
mod symbols;

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Waker};

use minidump::format::MINIDUMP_MEMORY_DESCRIPTOR;
use minidump::{MinidumpContext, MinidumpMemory, MinidumpThread, UnifiedMemory, UnifiedMemoryList};
use minidump_unwind::{CallStack, FrameTrust, InlineFrame, StackFrame, SystemInfo, walk_stack};
use whycrash_evidence::model::{Crash, Frame, Thread, ThreadId, Trust};
use whycrash_evidence::readers::minidump::{Dump, Streams};
use whycrash_evidence::{Evidence, Limits, Problem};

use self::symbols::DumpSymbols;
use crate::costs::{Cap, Costs};
use crate::files::debuginfod::Debuginfod;
use crate::files::finder::Finder;
use crate::process::fault;
use crate::process::memory::Bytes;
use crate::process::stacks::cut_middle;

/// Bytes of a stack that are walked: the walker keeps all registers of every frame, so that a stack of the smallest
/// frames costs it a hundred times its size.
const MAX_STACK: usize = 2 << 20;

/// Whoever comes that near to the end of what is walked may have had further to go.
const LAST_BYTES: u64 = 64 << 10;
/// What a frame costs: it is named where it is met.
const FRAME: u64 = 16 << 10;

/// Unwinds the threads of a minidump and names their frames.
pub(crate) fn name_stacks(
    finder: &Finder,
    servers: Option<Debuginfod>,
    dump: &Dump,
    evidence: &mut Evidence,
    limits: &Limits,
) -> Vec<Problem> {
    let Some(streams) = dump.streams() else {
        return Vec::new();
    };
    let costs = Costs::new(limits, servers);
    let memory = dump.memory();
    let symbols = DumpSymbols::new(finder, &streams, &costs);
    let walker = Walker {
        system: system_info(&streams),
        streams: &streams,
        memory: &memory,
        symbols: &symbols,
        costs: &costs,
    };
    for found in &mut evidence.threads {
        let is_it = |thread: &&MinidumpThread<'_>| found.id == ThreadId::Os(thread.raw.thread_id);
        let Some(thread) = streams.threads().iter().find(is_it) else {
            continue;
        };
        if found.crashed
            && let Some(crash) = &mut evidence.crash
        {
            walker.complete(thread, crash);
        }
        // What its stack shows is the writing.
        if !streams.wrote_dump(thread) {
            walker.walk(thread, found, limits);
        }
    }
    for (found, source) in evidence.modules.iter_mut().zip(symbols.sources()) {
        found.symbols = source.map(str::to_owned);
    }
    costs.problems(symbols.caps())
}

/// Walks the threads of one dump.
struct Walker<'a> {
    system: SystemInfo,
    streams: &'a Streams<'a>,
    memory: &'a UnifiedMemoryList<'a>,
    symbols: &'a DumpSymbols<'a>,
    costs: &'a Costs,
}

impl Walker<'_> {
    fn walk(&self, thread: &MinidumpThread<'_>, found: &mut Thread, limits: &Limits) {
        let Some(context) = self
            .streams
            .context(thread)
            .filter(|_| self.costs.spend(FRAME).is_some())
        else {
            return;
        };
        let stack_memory = self.stack_memory(thread, &context);
        let mut stack = CallStack::with_context(context);
        ready(walk_stack(
            0,
            (),
            &mut stack,
            stack_memory.as_ref().map(UnifiedMemory::Memory),
            &self.streams.modules,
            &self.system,
            self.symbols,
        ));
        self.costs.spend(stack.frames.len() as u64 * FRAME);
        let end = stack.frames.last().map(|frame| frame.context.get_stack_pointer());
        let walked = stack_memory.map_or(0, |memory| end.unwrap_or(0).saturating_sub(memory.base_address));
        if walked > MAX_STACK as u64 - LAST_BYTES {
            self.costs.caps.hit(Cap::Stack);
        }
        let cut = cut_middle(stack.frames.iter().flat_map(|frame| self.frames(frame)), limits.frames);
        found.frames = cut.frames;
        found.frames_omitted = cut.omitted;
    }

    /// Says what the faulting instruction did (x86-64).
    fn complete(&self, thread: &MinidumpThread<'_>, crash: &mut Crash) {
        let context = self.streams.context(thread);
        let Some(registers) = context.as_ref().and_then(elf_rules::x86_64_registers) else {
            return;
        };
        fault::complete(crash, &registers, self);
    }

    /// The memory that the stack pointer points into, from there on. The dump names one region for each thread, but a
    /// handler that ran on a stack of its own may be what that is about.
    fn stack_memory<'m>(
        &'m self,
        thread: &'m MinidumpThread<'m>,
        context: &MinidumpContext,
    ) -> Option<MinidumpMemory<'m>> {
        let pointer = context.get_stack_pointer();
        let named = thread.stack_memory(self.memory);
        let holds = |memory: &UnifiedMemory<'_, '_>| memory.memory_range().is_some_and(|range| range.contains(pointer));
        let memory = named
            .filter(holds)
            .or_else(|| self.memory.memory_at_address(pointer))
            .or(named)?;
        let (base, bytes) = (memory.base_address(), memory.bytes());
        let start = usize::try_from(pointer.saturating_sub(base)).ok()?.min(bytes.len());
        let bytes = bytes.get(start..)?;
        let bytes = bytes.get(..MAX_STACK).unwrap_or(bytes);
        Some(MinidumpMemory {
            desc: MINIDUMP_MEMORY_DESCRIPTOR::default(),
            base_address: base.checked_add(start as u64)?,
            size: bytes.len() as u64,
            bytes,
            endian: match memory {
                UnifiedMemory::Memory(memory) => memory.endian,
                UnifiedMemory::Memory64(memory) => memory.endian,
            },
        })
    }

    /// The functions of one place on the stack, those inlined there before the one they were inlined into.
    fn frames(&self, frame: &StackFrame) -> Vec<Frame> {
        let base = Frame {
            trust: trust(frame.trust),
            ..self.streams.frame(frame.resume_address)
        };
        let inlined = |inline: &InlineFrame| Frame {
            function: Some(inline.function_name.clone()).filter(|name| !name.is_empty()),
            file: inline.source_file_name.clone(),
            line: inline.source_line.filter(|line| *line != 0),
            inline: true,
            ..base.clone()
        };
        let mut frames: Vec<_> = frame.inlines.iter().map(inlined).collect();
        frames.push(Frame {
            function: frame.function_name.clone().filter(|name| !name.is_empty()),
            file: frame.source_file_name.clone(),
            line: frame.source_line.filter(|line| *line != 0),
            ..base
        });
        frames
    }
}

impl Bytes for Walker<'_> {
    fn read(&self, address: u64, buffer: &mut [u8]) -> Option<()> {
        let from_dump = self.memory.memory_at_address(address).and_then(|memory| {
            let start = usize::try_from(address.checked_sub(memory.base_address())?).ok()?;
            memory.bytes().get(start..start.checked_add(buffer.len())?)
        });
        match from_dump {
            Some(bytes) => buffer.copy_from_slice(bytes),
            None => self.symbols.code(address, buffer)?,
        }
        Some(())
    }
}

fn trust(trust: FrameTrust) -> Trust {
    match trust {
        FrameTrust::Context => Trust::Context,
        FrameTrust::CallFrameInfo | FrameTrust::PreWalked => Trust::Cfi,
        FrameTrust::FramePointer => Trust::FramePointer,
        FrameTrust::CfiScan | FrameTrust::Scan | FrameTrust::None => Trust::Scan,
    }
}

/// What the walker asks of a system: its processor and operating system.
fn system_info(streams: &Streams<'_>) -> SystemInfo {
    SystemInfo {
        os: streams.system.os,
        os_version: None,
        os_build: None,
        cpu: streams.system.cpu,
        cpu_info: None,
        cpu_microcode_version: None,
        cpu_count: usize::from(streams.system.raw.number_of_processors),
    }
}

/// Runs a future that never waits: symbols are looked up on this thread. One that did wait would be given up.
fn ready(future: impl Future<Output = ()>) {
    let _ = pin!(future).poll(&mut Context::from_waker(Waker::noop()));
}
