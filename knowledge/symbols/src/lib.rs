//! From addresses to functions.
//!
//! Unwinds the threads of a core dump or minidump and names their frames from the binaries, debug files and symbol
//! files it can find. This crate alone knows DWARF.

mod costs;
mod dwarf;
mod files;
mod minicore;
mod minidumps;
mod names;
mod process;
mod python;
mod unwind;

use std::path::PathBuf;

use whycrash_evidence::model::Thread;
use whycrash_evidence::readers::elf_core::{self, CoreDump, LiveProcess};
use whycrash_evidence::readers::{Input, detect, gpu_core, minidump, read_problem};
use whycrash_evidence::{Artifact, ArtifactKind, Evidence, Limits, Problem, Reading};

pub use crate::files::build_id::is_build_id;
pub use crate::files::debuginfod::{Debuginfod, DebuginfodLimits, Fetch, Fetched};
pub use crate::files::symbol_file::{NotSymbols, SymbolIdentity, SymbolKind};
pub use crate::names::demangle;

use crate::costs::Costs;
use crate::dwarf::gpu_lines;
use crate::files::finder::Finder;
use crate::process::memory::Memory;
use crate::process::modules::LoadedModule;
use crate::process::stacks::{Namer, Naming};
use crate::process::{fault, last_words, waits};
use crate::python::Interpreter;

/// Where binaries and debug files are looked for.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    /// Folders searched by build id and by name (`WHYCRASH_SYMBOLS`), before anything else.
    pub folders: Vec<PathBuf>,
    /// A folder whose files all are where [`SymbolIdentity::place`] says. They are found by their ids alone, and it is
    /// never listed, however many there are.
    pub store: Option<PathBuf>,
    /// Whether this machine's own files, at the paths the core names, may be used. A file whose build id
    /// contradicts the core's is never used.
    pub local_files: bool,
    /// Servers asked for what is not found here, when somebody configured any.
    pub debuginfod: Option<Debuginfod>,
}

/// Reads artifacts with symbols; keeps what it opened for the next one.
#[derive(Debug)]
pub struct Symbols {
    finder: Finder,
    servers: Option<Debuginfod>,
}

/// Reads the artifacts of one report, which share what may be asked of servers.
#[derive(Debug)]
pub struct ReportSymbols<'a> {
    finder: &'a Finder,
    servers: Option<Debuginfod>,
}

impl Symbols {
    /// Symbols from these sources. Files that come into the folders later are found within minutes, and at once where
    /// [`SymbolIdentity::place`] says.
    pub fn new(sources: Sources) -> Self {
        Self {
            finder: Finder::new(sources.folders, sources.store, sources.local_files),
            servers: sources.debuginfod,
        }
    }

    /// Begins a report.
    pub fn report(&self) -> ReportSymbols<'_> {
        ReportSymbols {
            finder: &self.finder,
            servers: self.servers.as_ref().map(Debuginfod::for_report),
        }
    }

    /// Reads an artifact that is a report by itself; see [`ReportSymbols::read`].
    pub fn read(&self, artifact: &Artifact, limits: &Limits) -> Reading {
        self.report().read(artifact, limits)
    }
}

impl ReportSymbols<'_> {
    /// Reads one artifact like [`whycrash_evidence::read`], and names the frames of every stack in it.
    pub fn read(&self, artifact: &Artifact, limits: &Limits) -> Reading {
        let Ok(input) = Input::open(artifact, limits) else {
            return whycrash_evidence::read(artifact, limits);
        };
        match detect(input.head()) {
            ArtifactKind::ElfCore => self.read_core(&input, limits),
            ArtifactKind::Minidump => self.read_minidump(&input, limits),
            ArtifactKind::GpuCore => read_gpu_core(&input, limits),
            _ => whycrash_evidence::read(artifact, limits),
        }
    }

    /// The stacks of a process that lives, native and Python frames in one. It is not stopped for that: a thread that
    /// runs meanwhile may have changed what was read first.
    pub fn stacks(&self, process: LiveProcess, limits: &Limits) -> Vec<Thread> {
        let core = CoreDump::from(process);
        let mut evidence = core.evidence("");
        evidence.crash = None;
        self.find_stacks(&core, &mut evidence, limits, Naming::On);
        for thread in &mut evidence.threads {
            thread.crashed = false;
        }
        evidence.threads
    }

    fn read_core(&self, input: &Input, limits: &Limits) -> Reading {
        let (mut reading, core) = elf_core::read_with_dump(input, limits);
        if let Some(core) = core {
            let problems = self.find_stacks(&core, &mut reading.evidence, limits, Naming::On);
            reading.problems.extend(problems);
        }
        reading
    }

    fn read_minidump(&self, input: &Input, limits: &Limits) -> Reading {
        let (mut reading, dump) = match input.stream() {
            Ok(stream) => minidump::read_with_dump(stream, input.name(), limits),
            Err(error) => return Reading::problem(read_problem(&error)),
        };
        reading.bytes = input.stored_bytes();
        if let Some(dump) = dump {
            let servers = self.servers.clone();
            let problems = minidumps::name_stacks(self.finder, servers, &dump, &mut reading.evidence, limits);
            reading.problems.extend(problems);
        }
        reading
    }

    /// Adds the stacks to what the core alone says, and what they tell of the crash.
    fn find_stacks(&self, core: &CoreDump, evidence: &mut Evidence, limits: &Limits, naming: Naming) -> Vec<Problem> {
        let costs = Costs::new(limits, self.servers.clone());
        let modules = self.finder.modules(core, &costs);
        let memory = Memory {
            core,
            modules: &modules,
            costs: &costs,
        };
        if let Some(crash) = &mut evidence.crash {
            fault::refine(crash, memory);
        }
        let interpreter = Interpreter::find(memory);
        let mut namer = Namer::new(memory, naming);
        for (thread, found) in core.threads.iter().zip(&mut evidence.threads) {
            let stack = namer.stack(thread, interpreter.as_ref(), limits.frames);
            found.frames = stack.frames;
            found.frames_omitted = stack.omitted;
            found.holds_gil = interpreter
                .as_ref()
                .is_some_and(|interpreter| interpreter.holds_lock(thread));
        }
        waits::note(memory, interpreter.as_ref(), &mut evidence.threads);
        if let Some((crash, thread)) = evidence.crash.as_mut().zip(evidence.threads.first()) {
            last_words::add(crash, &thread.frames, memory);
        }
        if naming == Naming::Off {
            return costs.problems(std::iter::empty());
        }
        for (module, found) in modules.all().zip(&mut evidence.modules) {
            found.symbols = module.symbol_source().map(str::to_owned);
        }
        costs.problems(modules.all().flat_map(LoadedModule::caps))
    }
}

fn read_gpu_core(input: &Input, limits: &Limits) -> Reading {
    let (mut reading, images) = gpu_core::read_with_images(input, limits);
    let cut = gpu_lines::add(&images, &mut reading.evidence);
    reading.problems.extend(cut);
    reading
}
