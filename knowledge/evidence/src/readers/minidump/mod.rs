//! Reads minidumps (Breakpad, Crashpad, minidump-writer): how the process ended, its threads and modules.
//!
//! Without symbols a thread has one frame, the instruction it stood at; unwinding is the business of the crate that
//! knows symbols.

mod guard;

use std::io::Read;

use minidump::system_info::Cpu;
use minidump::{
    Minidump, MinidumpBreakpadInfo, MinidumpContext, MinidumpException, MinidumpLinuxMaps, MinidumpMiscInfo,
    MinidumpModule, MinidumpModuleList, MinidumpSystemInfo, MinidumpThread, MinidumpThreadList, MinidumpThreadNames,
    Module as _, UnifiedMemoryList,
};

use crate::model::{Crash, Evidence, Frame, Module, Thread, ThreadId, Trust};
use crate::readers::{Reading, read_problem};
use crate::{ArtifactKind, Hex, Limits, Problem};
use guard::Readable;

/// Addresses that no system maps: a null pointer and the fields behind it.
const NULL_END: u64 = 64 << 10;

/// How far from the stack pointer an access may be and still be one of the stack.
const STACK_REACH: u64 = 64 << 10;

/// Reads a minidump from its uncompressed bytes; `name` is the artifact's.
pub fn read(input: impl Read, name: &str, limits: &Limits) -> Reading {
    read_with_dump(input, name, limits).0
}

/// The same, with the opened dump for whoever can read more from it; nothing when it can not be opened.
pub fn read_with_dump(input: impl Read, name: &str, limits: &Limits) -> (Reading, Option<Dump>) {
    let mut problems = Vec::new();
    let mut bytes = Vec::new();
    if let Err(error) = input.take(limits.resident_bytes).read_to_end(&mut bytes) {
        problems.push(read_problem(&error));
    }
    if bytes.len() as u64 == limits.resident_bytes {
        let message = format!(
            "only the first {} bytes of the minidump are read; its memory beyond them is not",
            bytes.len()
        );
        problems.push(Problem::new("limit-resident-bytes", message));
    }
    if !guard::directory_fits(&bytes) {
        problems.push(Problem::new(
            "limit-minidump",
            "the minidump's directory is longer than any writer makes it; it is not read",
        ));
        let reading = Reading {
            problems,
            ..Reading::default()
        };
        return (reading, None);
    }
    let readable = Readable::of(&bytes, &mut problems);
    let (end, length) = (guard::end(&bytes), bytes.len() as u64);
    let dump = match Minidump::read(bytes) {
        Ok(file) => {
            if end > length && length < limits.resident_bytes {
                let message = format!(
                    "the minidump says to hold {end} bytes and has {length}: it was cut off, and some memory or lists are \
                     missing; fetch the whole file"
                );
                problems.push(Problem::new("truncated", message));
            }
            Some(Dump { file, readable })
        }
        Err(error) => {
            problems.push(Problem::new(
                "damaged-minidump",
                format!("the minidump can not be read ({error}): it was cut off, or is none"),
            ));
            None
        }
    };
    let evidence = match &dump {
        Some(dump) => evidence(dump, name, limits, &mut problems),
        None => Evidence::default(),
    };
    let reading = Reading {
        kind: Some(ArtifactKind::Minidump),
        evidence,
        problems,
        ..Reading::default()
    };
    (reading, dump)
}

/// An opened minidump.
pub struct Dump {
    file: Minidump<'static, Vec<u8>>,
    readable: Readable,
}

impl std::fmt::Debug for Dump {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Dump").finish_non_exhaustive()
    }
}

/// The streams of a dump that stacks are read from; any but the first may be missing.
#[derive(Debug)]
pub struct Streams<'a> {
    /// Which processor and operating system.
    pub system: MinidumpSystemInfo,
    /// The binaries that were loaded.
    pub modules: MinidumpModuleList,
    threads: Option<MinidumpThreadList<'a>>,
    misc: Option<MinidumpMiscInfo>,
    exception: Option<MinidumpException<'a>>,
    names: MinidumpThreadNames,
    writer: Option<u32>,
    maps: Option<MinidumpLinuxMaps<'a>>,
}

impl Dump {
    /// Its streams; nothing when it does not say which system wrote it, without which no register can be read.
    pub fn streams(&self) -> Option<Streams<'_>> {
        let Readable {
            modules,
            threads,
            thread_names,
            mappings,
        } = self.readable;
        Some(Streams {
            system: self.file.get_stream().ok()?,
            misc: self.file.get_stream().ok(),
            exception: self.file.get_stream().ok(),
            modules: if_fits(modules, || self.file.get_stream().ok()).unwrap_or_default(),
            threads: if_fits(threads, || self.file.get_stream().ok()),
            names: if_fits(thread_names, || self.file.get_stream().ok()).unwrap_or_default(),
            maps: if_fits(mappings, || self.file.get_stream().ok()),
            writer: self
                .file
                .get_stream::<MinidumpBreakpadInfo>()
                .ok()
                .and_then(|info| info.dump_thread_id),
        })
    }

    /// The memory that the dump holds: the threads' stacks and what is around the faulting instruction, or all.
    pub fn memory(&self) -> UnifiedMemoryList<'_> {
        self.file.get_memory().unwrap_or_default()
    }
}

fn if_fits<T>(fits: bool, read: impl FnOnce() -> Option<T>) -> Option<T> {
    if fits { read() } else { None }
}

fn evidence(dump: &Dump, name: &str, limits: &Limits, problems: &mut Vec<Problem>) -> Evidence {
    let Some(streams) = dump.streams() else {
        let message =
            "the minidump does not say which system wrote it: it was cut off before that; fetch the whole file";
        problems.push(Problem::new("damaged-minidump", message));
        return Evidence::default();
    };
    let count = streams.threads().len();
    if count > limits.threads {
        let message = format!("only the first {} of {count} threads were read", limits.threads);
        problems.push(Problem::new("limit-threads", message));
    }
    let listed = streams.threads().iter().take(limits.threads);
    let mut threads: Vec<Thread> = listed.map(|thread| streams.thread(thread, name)).collect();
    if threads.is_empty() {
        let message = "the minidump lists no threads: it was cut off, or its writer failed half-way";
        problems.push(Problem::new("no-threads", message));
    }
    threads.sort_by_key(|thread| !thread.crashed);
    Evidence {
        crash: streams.crash(name),
        threads,
        modules: streams
            .modules
            .iter()
            .map(|module| self::module(module, name))
            .collect(),
        ..Evidence::default()
    }
}

impl<'a> Streams<'a> {
    /// The threads, in the order of the dump.
    pub fn threads(&self) -> &[MinidumpThread<'a>] {
        self.threads.as_ref().map_or(&[], |list| &list.threads)
    }

    /// Nothing when the dump was asked for and nothing had crashed.
    fn crash(&self, name: &str) -> Option<Crash> {
        let exception = self.exception.as_ref()?;
        let (os, cpu) = (self.system.os, self.system.cpu);
        let reason = exception.get_crash_reason(os, cpu).to_string();
        // On Unix the reason is the signal and its code; elsewhere it has no such parts.
        let (signal, code) = match reason.split_once(" / ") {
            Some((signal, code)) => (signal.to_owned(), Some(code.to_owned())),
            None => (reason, None),
        };
        let sent = code.as_deref().is_some_and(|code| code.starts_with("SI_"));
        let address = (!sent).then(|| exception.get_crash_address(os, cpu));
        Some(Crash {
            signal: Some(signal),
            address_kind: address
                .and_then(|address| self.address_kind(address, code.as_deref()))
                .map(str::to_owned),
            code,
            address: address.map(Hex),
            thread: Some(ThreadId::Os(exception.get_crashing_thread_id())),
            pid: self.pid(),
            process: self
                .modules
                .main_module()
                .map(|module| file_name(&module.code_file()).to_owned()),
            artifact: name.to_owned(),
            ..Crash::default()
        })
    }

    /// In the words of [`Crash::address_kind`].
    fn address_kind(&self, address: u64, code: Option<&str>) -> Option<&'static str> {
        let top = address >> 47;
        let is_x86_64 = self.system.cpu == Cpu::X86_64;
        let context = || self.exception.as_ref()?.context(&self.system, self.misc.as_ref());
        let (pc, stack) = context().map_or((0, 0), |context| {
            (context.get_instruction_pointer(), context.get_stack_pointer())
        });
        match code {
            _ if address < NULL_END => Some("null"),
            _ if is_x86_64 && top != 0 && top != 0x1_ffff => Some("non-canonical"),
            Some("BUS_ADRERR") => Some("beyond-file"),
            Some("SEGV_MAPERR" | "SEGV_ACCERR") if self.is_stack_overflow(address, stack) => Some("stack-overflow"),
            Some("SEGV_MAPERR" | "SEGV_ACCERR") if address == pc => Some("not-code"),
            Some("SEGV_MAPERR") => Some("unmapped"),
            Some("SEGV_ACCERR") => {
                let map = self.maps.as_ref()?.memory_info_at_address(address)?;
                Some(match (map.is_readable(), map.is_writable()) {
                    (false, _) => "guard-page",
                    (true, false) => "read-only",
                    (true, true) => "protected",
                })
            }
            _ => None,
        }
    }

    /// True when an access close to the stack pointer went beyond the stack's end, as the dump's list of mappings has
    /// it.
    fn is_stack_overflow(&self, address: u64, stack: u64) -> bool {
        let Some(maps) = &self.maps else { return false };
        let usable = |at| maps.memory_info_at_address(at).filter(|map| map.is_readable());
        let near_end = usable(stack).is_none_or(|map| {
            let start = map.memory_range().map_or(0, |range| range.start);
            address < start && stack.saturating_sub(start) <= STACK_REACH
        });
        address.abs_diff(stack) <= STACK_REACH && usable(address).is_none() && near_end
    }

    fn pid(&self) -> Option<u32> {
        self.misc.as_ref()?.raw.process_id().copied()
    }

    /// The registers of a thread: for the one that crashed, those at the fault.
    pub fn context(&self, thread: &MinidumpThread) -> Option<MinidumpContext> {
        // The crashed thread's own context is that of the handler which wrote the dump.
        let fault = self.exception.as_ref().filter(|_| self.crashed(thread));
        let context = fault
            .and_then(|exception| exception.context(&self.system, self.misc.as_ref()))
            .or_else(|| thread.context(&self.system, self.misc.as_ref()))?;
        Some(context.into_owned())
    }

    /// True for the thread that did nothing but write the dump.
    pub fn wrote_dump(&self, thread: &MinidumpThread) -> bool {
        self.writer == Some(thread.raw.thread_id) && !self.crashed(thread)
    }

    fn crashed(&self, thread: &MinidumpThread) -> bool {
        self.exception
            .as_ref()
            .is_some_and(|exception| exception.get_crashing_thread_id() == thread.raw.thread_id)
    }

    fn thread(&self, thread: &MinidumpThread, name: &str) -> Thread {
        let id = thread.raw.thread_id;
        let crashed = self.crashed(thread);
        let context = self.context(thread);
        Thread {
            id: ThreadId::Os(id),
            name: self.names.get_name(id).map(std::borrow::Cow::into_owned),
            rank: None,
            pid: self.pid(),
            crashed,
            artifact: name.to_owned(),
            frames: context
                .map(|context| self.frame(context.get_instruction_pointer()))
                .into_iter()
                .collect(),
            frames_omitted: None,
            holds_gil: false,
            activity: None,
        }
    }

    /// An unnamed frame at an address: which binary it is in, and where in that.
    pub fn frame(&self, address: u64) -> Frame {
        let module = self.modules.module_at_address(address);
        Frame {
            module: module.map(|module| module.code_file().into_owned()),
            build_id: module.and_then(build_id),
            offset: module.map(|module| Hex(address.saturating_sub(module.base_address()))),
            address: Some(Hex(address)),
            trust: Trust::Context,
            ..Frame::default()
        }
    }
}

fn module(module: &MinidumpModule, name: &str) -> Module {
    Module {
        path: module.code_file().into_owned(),
        build_id: build_id(module),
        debug_id: module.debug_identifier().map(|id| id.breakpad().to_string()),
        start: Hex(module.base_address()),
        end: Hex(module.base_address().saturating_add(module.size())),
        symbols: None,
        artifact: name.to_owned(),
    }
}

/// What identifies the build of a module: the build id of an ELF file, else what its format has instead.
pub fn build_id(module: &MinidumpModule) -> Option<String> {
    module
        .code_identifier()
        .map(|id| id.to_string())
        .filter(|id| !id.is_empty())
}

fn file_name(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}
