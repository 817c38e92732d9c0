//! Names and unwinding rules for the modules of a minidump.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use debugid::DebugId;
use minidump::system_info::Cpu;
use minidump::{MinidumpModule, Module};
use minidump_unwind::{FileError, FileKind, FillSymbolError, FrameSymbolizer, FrameWalker, SymbolFile, SymbolProvider};
use whycrash_evidence::readers::elf_core::Machine;
use whycrash_evidence::readers::minidump::{Streams, build_id};

use super::elf_rules;
use crate::costs::{Caps, Costs};
use crate::dwarf::Function;
use crate::files::finder::Finder;
use crate::process::modules::LoadedModule;

/// Where the modules of one dump get their symbols from.
pub(super) struct DumpSymbols<'a> {
    finder: &'a Finder,
    costs: &'a Costs,
    /// The processor, where ELF files of it can be read.
    machine: Option<Machine>,
    modules: Vec<SymbolSource>,
    /// Index in `modules` by base address.
    by_base: HashMap<u64, usize>,
}

/// Where one module gets its symbols from.
struct SymbolSource {
    elf: LoadedModule,
    debug_id: Option<DebugId>,
    /// Parsed when a stack leads through the module: it is hundreds of MiB for a large library.
    symbol_file: OnceLock<Option<Arc<SymbolFile>>>,
}

impl<'a> DumpSymbols<'a> {
    pub(super) fn new(finder: &'a Finder, streams: &Streams<'_>, costs: &'a Costs) -> Self {
        finder.look_at_folders(costs);
        let machine = match streams.system.cpu {
            Cpu::X86_64 => Some(Machine::X86_64),
            Cpu::Arm64 => Some(Machine::Aarch64),
            _ => None,
        };
        let of = |module: &MinidumpModule| SymbolSource {
            elf: machine.map_or_else(LoadedModule::default, |_| {
                let build_id = build_id(module);
                finder.module_with_id(&module.code_file(), build_id.as_deref(), module.base_address(), costs)
            }),
            debug_id: module.debug_identifier(),
            symbol_file: OnceLock::new(),
        };
        Self {
            finder,
            costs,
            machine,
            modules: streams.modules.iter().map(of).collect(),
            by_base: streams
                .modules
                .iter()
                .enumerate()
                .map(|(index, module)| (module.base_address(), index))
                .collect(),
        }
    }

    /// Where the symbols of each module are from, in the words of [`whycrash_evidence::model::Module::symbols`].
    pub(super) fn sources(&self) -> impl Iterator<Item = Option<&'static str>> {
        self.modules.iter().map(|module| {
            let has_text = || module.debug_id.is_some_and(|id| self.finder.has_symbol_file(id));
            match module.elf.symbol_source() {
                Some("debug-file") => Some("debug-file"),
                source => has_text().then_some("symbol-file").or(source),
            }
        })
    }

    /// The caps that were hit in the files of the modules.
    pub(super) fn caps(&self) -> impl Iterator<Item = (&Path, &Caps)> {
        self.modules.iter().flat_map(|module| module.elf.caps())
    }

    fn module(&self, module: &dyn Module) -> Option<&SymbolSource> {
        self.modules.get(*self.by_base.get(&module.base_address())?)
    }

    fn symbol_file(&self, source: &'a SymbolSource) -> Option<&'a SymbolFile> {
        let open = || self.finder.symbol_file(source.debug_id?, &self.costs.caps);
        source.symbol_file.get_or_init(open).as_deref()
    }

    /// Debug information knows most, then the functions of a symbol file, then a symbol table, whose entries have
    /// ends; the public symbols of a symbol file have none, and may name what they are merely before. What the symbol
    /// folders hold goes before what this machine happens to have.
    fn fill(&self, module: &dyn Module, frame: &mut dyn FrameSymbolizer) -> Option<()> {
        let source = self.module(module)?;
        let address = frame.get_instruction();
        let has_given_dwarf = source
            .elf
            .local_files()
            .any(|file| file.has_dwarf() && self.finder.is_given(file));
        let symbol_file = self.symbol_file(source);
        let offset = address.wrapping_sub(module.base_address());
        let function = symbol_file.filter(|file| file.functions.get(offset).is_some());
        if let Some(file) = function.filter(|_| !has_given_dwarf) {
            file.fill_symbol(module, frame);
            return Some(());
        }
        let functions = source.elf.functions_at(address);
        if let Some((outermost, inlined)) = functions.split_last() {
            fill_functions(frame, outermost, inlined);
            return Some(());
        }
        if function.is_none()
            && let Some(name) = source.elf.symbol_at(address)
        {
            frame.set_function(&name, address, 0);
            return Some(());
        }
        symbol_file?.fill_symbol(module, frame);
        Some(())
    }

    /// Code from the files of the binaries.
    pub(super) fn code(&self, address: u64, buffer: &mut [u8]) -> Option<()> {
        let module = self.modules.iter().find_map(|module| module.elf.loaded_at(address))?;
        buffer.copy_from_slice(module.get(..buffer.len())?);
        Some(())
    }

    fn walk(&self, module: &dyn Module, walker: &mut dyn FrameWalker) -> Option<()> {
        let source = self.module(module)?;
        let by_elf = self
            .machine
            .and_then(|machine| elf_rules::walk(machine, &source.elf, walker, self.costs));
        by_elf.or_else(|| self.symbol_file(source)?.walk_frame(module, walker))
    }
}

/// Passes on the functions of an address; the walker wants those inlined from the outside in.
fn fill_functions(frame: &mut dyn FrameSymbolizer, outermost: &Function, inlined: &[Function]) {
    let address = frame.get_instruction();
    frame.set_function(outermost.name.as_deref().unwrap_or_default(), address, 0);
    if let Some(file) = &outermost.file {
        frame.set_source_file(file, outermost.line.unwrap_or(0), address);
    }
    for function in inlined.iter().rev() {
        let name = function.name.as_deref().unwrap_or_default();
        frame.add_inline_frame(name, function.file.as_deref(), function.line);
    }
}

#[async_trait]
impl SymbolProvider for DumpSymbols<'_> {
    async fn fill_symbol(
        &self,
        module: &(dyn Module + Sync),
        frame: &mut (dyn FrameSymbolizer + Send),
    ) -> Result<(), FillSymbolError> {
        self.fill(module, frame).ok_or(FillSymbolError {})
    }

    async fn walk_frame(&self, module: &(dyn Module + Sync), walker: &mut (dyn FrameWalker + Send)) -> Option<()> {
        self.walk(module, walker)
    }

    async fn get_file_path(&self, _module: &(dyn Module + Sync), _file_kind: FileKind) -> Result<PathBuf, FileError> {
        Err(FileError::NotFound)
    }
}
