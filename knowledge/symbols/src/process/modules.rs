//! The binaries of a crashed process, each with the files that were found for it.

use std::iter;
use std::path::Path;
use std::sync::{Arc, OnceLock, PoisonError};

use whycrash_evidence::readers::elf_core::CoreDump;

use crate::costs::{Caps, Costs};
use crate::dwarf::Function;
use crate::dwarf::calls::Calls;
use crate::files::debuginfod::{self, Debuginfod, Kind};
use crate::files::finder::Finder;
use crate::files::object_file::ObjectFile;
use crate::files::reach::Reach;
use crate::files::regular::{MAX_FILE, find_regular};
use crate::files::symbol_table::SymbolTable;
use crate::unwind::cfi::Row;

/// A binary of the process.
#[derive(Debug, Default)]
pub(crate) struct LoadedModule {
    /// The file with the code.
    pub(crate) binary: Option<Arc<ObjectFile>>,
    /// A separate file with symbols and debug information.
    pub(crate) debug: Option<Arc<ObjectFile>>,
    /// Where it lies in the process.
    pub(crate) place: Option<Place>,
    /// Where what is not here may be fetched when a stack leads through the module.
    pub(crate) remote: Option<Remote>,
}

/// Where a module lies in the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// What to add to an address of the file to get one of the process.
    Bias(u64),
    /// Its lowest address, where no file was there to tell which of the file's addresses that is.
    Start(u64),
}

/// The modules of a core, in the order of [`CoreDump::modules`]. The files of each are looked for when it is asked for:
/// a process maps hundreds, and its stacks lead through a few.
#[derive(Debug)]
pub(crate) struct LoadedModules<'a> {
    finder: &'a Finder,
    core: &'a CoreDump,
    costs: &'a Costs,
    found: Vec<OnceLock<LoadedModule>>,
}

impl<'a> LoadedModules<'a> {
    /// Of a core, with the files that a finder finds.
    pub(crate) fn new(finder: &'a Finder, core: &'a CoreDump, costs: &'a Costs) -> Self {
        Self {
            finder,
            core,
            costs,
            found: core.modules.iter().map(|_| OnceLock::new()).collect(),
        }
    }

    /// The module an address of the process is in.
    pub(crate) fn at(&self, address: u64) -> Option<&LoadedModule> {
        self.get(self.core.module_index_at(address)?)
    }

    /// The modules whose paths are as asked for, with those paths.
    pub(crate) fn named(&self, is_it: impl Fn(&str) -> bool) -> impl Iterator<Item = (&'a str, &LoadedModule)> {
        let modules = self.core.modules.iter().enumerate();
        let named = modules.filter(move |(_, module)| is_it(&module.path));
        named.filter_map(|(index, module)| Some((&*module.path, self.get(index)?)))
    }

    /// All of them, each with its files.
    pub(crate) fn all(&self) -> impl Iterator<Item = &LoadedModule> {
        (0..self.found.len()).filter_map(|index| self.get(index))
    }

    fn get(&self, index: usize) -> Option<&LoadedModule> {
        let module = self.core.modules.get(index)?;
        let find = || self.finder.module(self.core, module, self.costs);
        Some(self.found.get(index)?.get_or_init(find))
    }
}

impl LoadedModule {
    /// What to add to an address of the file to get one of the process.
    pub(crate) fn bias(&self) -> Option<u64> {
        match self.place? {
            Place::Bias(bias) => Some(bias),
            Place::Start(start) => {
                let file = self.fetched_code().next().or_else(|| self.files().next());
                // Shared objects, which nearly all are, are linked at address 0.
                Some(file.and_then(|file| file.bias_at(start)).unwrap_or(start))
            }
        }
    }

    /// An address of the process as one of the file.
    pub(crate) fn file_address(&self, address: u64) -> Option<u64> {
        self.bias().map(|bias| address.wrapping_sub(bias))
    }

    /// The files, the one that knows most of names first. A server is asked only for what the files before do not have.
    pub(crate) fn files(&self) -> impl Iterator<Item = &Arc<ObjectFile>> {
        let binary = |is_whole: bool| self.binary.iter().filter(move |file| file.has_code() == is_whole);
        let files = self.debug_files().chain(binary(true));
        files.chain(self.fetched_code()).chain(binary(false))
    }

    /// The files that are here.
    pub(crate) fn local_files(&self) -> impl Iterator<Item = &Arc<ObjectFile>> {
        self.debug.iter().chain(&self.binary)
    }

    /// The separate debug file, fetched if it must be.
    fn debug_files(&self) -> impl Iterator<Item = &Arc<ObjectFile>> {
        let fetched = || self.remote.as_ref()?.debug();
        self.debug.iter().chain(iter::once_with(fetched).flatten())
    }

    /// The binary from a server, where what is here of it is not all.
    fn fetched_code(&self) -> impl Iterator<Item = &Arc<ObjectFile>> {
        iter::once_with(|| self.remote.as_ref()?.binary()).flatten()
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
        all.map(|file| (file.path.as_path(), file.caps()))
    }

    fn symbol_tables(&self) -> impl Iterator<Item = &SymbolTable> {
        self.files().flat_map(|file| file.symbol_tables())
    }

    /// Bytes of the binary at an address of the process, as the file has them; no server is asked for them.
    pub(crate) fn loaded_at(&self, address: u64) -> Option<&[u8]> {
        let fetched = self.remote.iter().flat_map(Remote::fetched);
        let mut files = self
            .binary
            .iter()
            .chain(fetched)
            .filter(|file| file.has_code())
            .peekable();
        files.peek()?;
        let address = self.file_address(address)?;
        files.find_map(|file| file.loaded_at(address))
    }

    /// Calls `use_row` with the unwinding rules at an address of the process.
    pub(crate) fn with_row<T>(&self, address: u64, use_row: &mut dyn FnMut(&Row<'_>) -> T) -> Option<T> {
        let address = self.file_address(address)?;
        // Unwinding rules out of the core are as good as those in the file.
        let binary = self.binary.iter().chain(self.fetched_code());
        let mut files = binary.chain(self.debug_files());
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
        Some(address.wrapping_add(self.bias()?))
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
        let binary = fetched(Remote::fetched_binary).or(self.binary.as_ref());
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
    reach: Arc<Reach>,
    build_id: String,
    wants: Wants,
    debug: OnceLock<Option<Arc<ObjectFile>>>,
    binary: OnceLock<Option<Arc<ObjectFile>>>,
}

/// What a module lacks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wants {
    /// Debug information.
    pub(crate) debug: bool,
    /// Code: of the binary there is nothing, or only what a core holds of it.
    pub(crate) binary: bool,
}

impl Remote {
    pub(crate) fn new(servers: &Debuginfod, reach: &Arc<Reach>, build_id: &str, wants: Wants) -> Self {
        Self {
            servers: servers.clone(),
            reach: Arc::clone(reach),
            build_id: build_id.to_owned(),
            wants,
            debug: OnceLock::new(),
            binary: OnceLock::new(),
        }
    }

    /// The file with debug information, fetched unless the binary was and has its own: servers give an unstripped
    /// binary for both.
    fn debug(&self) -> Option<&Arc<ObjectFile>> {
        let is_here = || self.fetched_binary().is_some_and(|file| file.has_dwarf());
        let fetch = || self.fetch(Kind::DebugInfo, self.wants.debug && !is_here());
        self.debug.get_or_init(fetch).as_ref()
    }

    /// The binary, fetched unless what was fetched as its debug information is all of it.
    fn binary(&self) -> Option<&Arc<ObjectFile>> {
        let is_here = || self.fetched_debug().is_some_and(|file| file.has_code());
        let fetch = || self.fetch(Kind::Executable, self.wants.binary && !is_here());
        self.binary.get_or_init(fetch).as_ref()
    }

    /// What was fetched so far.
    fn fetched(&self) -> impl Iterator<Item = &Arc<ObjectFile>> {
        self.fetched_binary().into_iter().chain(self.fetched_debug())
    }

    fn fetched_debug(&self) -> Option<&Arc<ObjectFile>> {
        self.debug.get()?.as_ref()
    }

    fn fetched_binary(&self) -> Option<&Arc<ObjectFile>> {
        self.binary.get()?.as_ref()
    }

    fn fetch(&self, kind: Kind, is_wanted: bool) -> Option<Arc<ObjectFile>> {
        if !is_wanted {
            return None;
        }
        let path = self.servers.file(&self.build_id, kind)?;
        let file = self
            .open(&path)
            .filter(|file| file.build_id.as_ref() == Some(&self.build_id));
        let Some(file) = file else {
            debuginfod::reject(&path);
            return None;
        };
        if let Some(link) = file.supplementary_link() {
            let path = self.servers.file(&link.id, Kind::DebugInfo);
            let supplementary = path.and_then(|path| self.open(&path));
            let supplementary = supplementary.filter(|file| file.is_supplement(&link));
            file.set_supplementary(supplementary.map(Arc::new));
        }
        Some(Arc::new(file))
    }

    /// Opens a file of the folder that servers' answers are kept in.
    fn open(&self, path: &Path) -> Option<ObjectFile> {
        ObjectFile::open(&find_regular(path, MAX_FILE).ok()?, &self.reach)
    }
}
