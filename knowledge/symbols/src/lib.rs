//! From addresses to functions.
//!
//! Unwinds the threads of a core dump and names their frames from the binaries and debug files it can find. This
//! crate alone knows DWARF.

mod calls;
mod cfi;
mod dwarf;
mod dwarf_names;
mod expression;
mod fault;
mod finder;
mod memory;
mod modules;
mod names;
mod object_file;
mod python;
mod registers;
mod shared;
mod signal_frame;
mod stacks;
mod symbol_table;
mod tail_calls;
mod units;
mod unpack;
mod unwind;

use std::path::PathBuf;

use whycrash_evidence::readers::elf_core::{self, CoreDump};
use whycrash_evidence::readers::{Input, detect};
use whycrash_evidence::{Artifact, ArtifactKind, Evidence, Limits, Reading};

use crate::finder::Finder;
use crate::memory::Memory;
use crate::python::Interpreter;
use crate::stacks::Namer;

/// Where binaries and debug files are looked for.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    /// Folders searched by build id and by name (`WHYCRASH_SYMBOLS`), before anything else.
    pub folders: Vec<PathBuf>,
    /// Whether this machine's own files, at the paths the core names, may be used. A file whose build id
    /// contradicts the core's is never used.
    pub local_files: bool,
}

/// Reads artifacts with symbols; keeps what it opened for the next one.
#[derive(Debug)]
pub struct Symbols {
    finder: Finder,
}

impl Symbols {
    /// Symbols from these sources.
    pub fn new(sources: Sources) -> Self {
        Self {
            finder: Finder::new(sources),
        }
    }

    /// Reads one artifact like [`whycrash_evidence::read`], and names the frames of every stack in it.
    pub fn read(&self, artifact: &Artifact, limits: &Limits) -> Reading {
        let input = Input::open(artifact, limits).ok();
        let Some(input) = input.filter(|input| detect(input.head()) == ArtifactKind::ElfCore) else {
            return whycrash_evidence::read(artifact, limits);
        };
        let (mut reading, core) = elf_core::read_with_dump(&input, limits);
        if let Some(core) = core {
            self.name_stacks(&core, &mut reading.evidence, limits);
        }
        reading
    }

    fn name_stacks(&self, core: &CoreDump, evidence: &mut Evidence, limits: &Limits) {
        let modules = self.finder.modules(core);
        let memory = Memory {
            core,
            modules: &modules,
        };
        if let Some(crash) = &mut evidence.crash {
            fault::refine(crash, memory);
        }
        let interpreter = Interpreter::find(memory);
        let mut namer = Namer::new(memory);
        for (thread, found) in core.threads.iter().zip(&mut evidence.threads) {
            let stack = namer.stack(thread, interpreter.as_ref(), limits.frames);
            found.frames = stack.frames;
            found.frames_omitted = stack.omitted;
        }
        for (module, found) in modules.0.iter().zip(&mut evidence.modules) {
            found.symbols = module.symbol_source().map(str::to_owned);
        }
    }
}
