//! The binaries of a crashed process, each with the files that were found for it.

use std::sync::{Arc, PoisonError};

use whycrash_evidence::readers::elf_core::CoreDump;

use crate::calls::Calls;
use crate::cfi::Row;
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
        self.debug.iter().chain(&self.binary)
    }

    fn symbol_tables(&self) -> impl Iterator<Item = &SymbolTable> {
        self.files().flat_map(|file| file.symbol_tables())
    }

    /// Calls `use_row` with the unwinding rules at an address of the process.
    pub(crate) fn with_row<T>(&self, address: u64, use_row: &mut dyn FnMut(&Row<'_>) -> T) -> Option<T> {
        let address = self.file_address(address)?;
        let mut files = self.binary.iter().chain(&self.debug);
        files.find_map(|file| file.call_frames().with_row(address, &mut *use_row))
    }

    /// Name of the function at an address of the process, from symbol tables.
    pub(crate) fn symbol_at(&self, address: u64) -> Option<String> {
        let address = self.file_address(address)?;
        self.symbol_tables().find_map(|table| table.function_at(address))
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
        match (&self.debug, &self.binary) {
            (Some(_), _) => Some("debug-file"),
            (None, Some(binary)) if binary.path.as_os_str() == "[vdso]" => Some("core"),
            (None, Some(_)) => Some("binary"),
            (None, None) => None,
        }
    }
}
