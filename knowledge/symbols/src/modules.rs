//! The binaries of a crashed process, each with the files that were found for it.

use std::path::Path;
use std::sync::{Arc, OnceLock, PoisonError};

use whycrash_evidence::readers::elf_core::CoreDump;

use crate::calls::Calls;
use crate::cfi::Row;
use crate::costs::Caps;
use crate::debuginfod::{self, Debuginfod, Kind};
use crate::dwarf::Function;
use crate::object_file::ObjectFile;
use crate::symbol_table::SymbolTable;

/// A binary of the process.
#[derive(Debug, Default)]
pub(crate) struct LoadedModule {
    /// The file with the code.
    pub(crate) binary: Option<Arc<ObjectFile>>,
    /// A separate file with symbols and debug information.
    pub(crate) debug: Option<Arc<ObjectFile>>,
    /// What to add to an address of the file to get one of the process.
    pub(crate) bias: Option<u64>,
    /// Where what is not here may be fetched when a stack leads through the module.
    pub(crate) remote: Option<Remote>,
}

/// The modules of a core, in the order of [`CoreDump::modules`].
#[derive(Debug, Default)]
pub(crate) struct LoadedModules(pub(crate) Vec<LoadedModule>);

impl LoadedModules {
    /// The module an address of the process is in.
    pub(crate) fn at(&self, core: &CoreDump, address: u64) -> Option<&LoadedModule> {
        self.0.get(core.module_index_at(address)?)
    }
}

impl LoadedModule {
    /// An address of the process as one of the file.
    pub(crate) fn file_address(&self, address: u64) -> Option<u64> {
        self.bias.map(|bias| address.wrapping_sub(bias))
    }

    /// The files, the one with the best debug information first.
    pub(crate) fn files(&self) -> impl Iterator<Item = &Arc<ObjectFile>> {
        let debug = self.debug.as_ref().or_else(|| self.remote.as_ref()?.debug());
        debug.into_iter().chain(self.code())
    }

    /// The file with the code, fetched if it must be.
    fn code(&self) -> Option<&Arc<ObjectFile>> {
        self.binary.as_ref().or_else(|| self.remote.as_ref()?.binary())
    }

    /// The caps that were hit in each of its files.
    pub(crate) fn caps(&self) -> impl Iterator<Item = (&Path, &Caps)> {
        let fetched = self
            .remote
            .iter()
            .flat_map(|remote| remote.fetched_debug().into_iter().chain(remote.fetched_binary()));
        let files = self.binary.iter().chain(&self.debug).chain(fetched);
        let files = files.map(|file| &**file);
        let all = files.flat_map(|file| std::iter::once(file).chain(file.supplementary()));
        all.map(|file| (file.path.as_path(), &*file.caps))
    }

    fn symbol_tables(&self) -> impl Iterator<Item = &SymbolTable> {
        self.files().flat_map(|file| file.symbol_tables())
    }

    /// Calls `use_row` with the unwinding rules at an address of the process.
    pub(crate) fn with_row<T>(&self, address: u64, use_row: &mut dyn FnMut(&Row<'_>) -> T) -> Option<T> {
        let address = self.file_address(address)?;
        let mut files = self.code().into_iter().chain(&self.debug);
        files.find_map(|file| file.call_frames().with_row(address, &mut *use_row))
    }

    /// Name of the function at an address of the process, from symbol tables.
    pub(crate) fn symbol_at(&self, address: u64) -> Option<String> {
        let address = self.file_address(address)?;
        self.symbol_tables().find_map(|table| table.function_at(address))
    }

    /// The functions at an address of the process from debug information, the innermost inlined one first; none when
    /// there is no debug information for it. What that leaves unnamed the symbol tables name.
    pub(crate) fn functions_at(&self, address: u64) -> Vec<Function> {
        let Some(file_address) = self.file_address(address) else {
            return Vec::new();
        };
        let mut files = self.files().filter_map(|file| file.dwarf());
        let found = files.find_map(|dwarf| {
            let functions = dwarf
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .functions_at(file_address);
            (!functions.is_empty()).then_some(functions)
        });
        let mut functions = found.unwrap_or_default();
        if let Some(outermost) = functions.last_mut().filter(|function| function.name.is_none()) {
            outermost.name = self.symbol_at(address);
        }
        functions
    }

    /// First address (in the file) of the function that an address of the file is in, from symbol tables.
    pub(crate) fn symbol_start(&self, address: u64) -> Option<u64> {
        self.symbol_tables().find_map(|table| table.start_of(address))
    }

    /// Address (in the file) of the symbol with this mangled name.
    pub(crate) fn address_of(&self, name: &str) -> Option<u64> {
        self.symbol_tables().find_map(|table| table.address_of(name))
    }

    /// Address (in the process) of a variable.
    pub(crate) fn data_address(&self, name: &str) -> Option<u64> {
        let address = self.files().find_map(|file| file.data_symbol(name))?;
        Some(address.wrapping_add(self.bias?))
    }

    /// The calls of the function that an address of the file is in.
    pub(crate) fn calls_at(&self, address: u64) -> Option<Arc<Calls>> {
        let mut files = self.files().filter_map(|file| file.dwarf());
        files.find_map(|dwarf| dwarf.lock().unwrap_or_else(PoisonError::into_inner).calls_at(address))
    }

    /// Where symbols come from, in the words of [`whycrash_evidence::model::Module::symbols`].
    pub(crate) fn symbol_source(&self) -> Option<&'static str> {
        let fetched = |file: fn(&Remote) -> Option<&Arc<ObjectFile>>| self.remote.as_ref().and_then(file);
        let debug = self.debug.as_ref().or_else(|| fetched(Remote::fetched_debug));
        let binary = self.binary.as_ref().or_else(|| fetched(Remote::fetched_binary));
        match (debug, binary) {
            (Some(_), _) => Some("debug-file"),
            (None, Some(binary)) if binary.is_from_core => Some("core"),
            (None, Some(_)) => Some("binary"),
            (None, None) => None,
        }
    }
}

/// A module's files on debuginfod servers.
#[derive(Debug)]
pub(crate) struct Remote {
    servers: Debuginfod,
    build_id: String,
    /// Whether only the separate debug file is wanted, or also (or only) the binary.
    wants: Wants,
    debug: OnceLock<Option<Arc<ObjectFile>>>,
    binary: OnceLock<Option<Arc<ObjectFile>>>,
}

/// What a module lacks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wants {
    pub(crate) debug: bool,
    pub(crate) binary: bool,
}

impl Remote {
    pub(crate) fn new(servers: &Debuginfod, build_id: &str, wants: Wants) -> Self {
        Self {
            servers: servers.clone(),
            build_id: build_id.to_owned(),
            wants,
            debug: OnceLock::new(),
            binary: OnceLock::new(),
        }
    }

    fn debug(&self) -> Option<&Arc<ObjectFile>> {
        let fetch = || self.wants.debug.then(|| self.fetch(Kind::DebugInfo)).flatten();
        self.debug.get_or_init(fetch).as_ref()
    }

    fn binary(&self) -> Option<&Arc<ObjectFile>> {
        let fetch = || self.wants.binary.then(|| self.fetch(Kind::Executable)).flatten();
        self.binary.get_or_init(fetch).as_ref()
    }

    fn fetched_debug(&self) -> Option<&Arc<ObjectFile>> {
        self.debug.get()?.as_ref()
    }

    fn fetched_binary(&self) -> Option<&Arc<ObjectFile>> {
        self.binary.get()?.as_ref()
    }

    fn fetch(&self, kind: Kind) -> Option<Arc<ObjectFile>> {
        let path = self.servers.file(&self.build_id, kind)?;
        let file = ObjectFile::open(&path).filter(|file| file.build_id.as_ref() == Some(&self.build_id));
        let Some(file) = file else {
            debuginfod::reject(&path);
            return None;
        };
        let supplementary = file.supplementary_link().and_then(|link| {
            let path = self.servers.file(&link.id, Kind::DebugInfo)?;
            ObjectFile::open(&path).filter(|file| file.is_supplement(&link))
        });
        if let Some(supplementary) = supplementary {
            file.set_supplementary(Arc::new(supplementary));
        }
        Some(Arc::new(file))
    }
}
