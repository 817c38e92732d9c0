//! Names from `.symtab` and `.dynsym`.

use object::read::elf::{ElfFile64, FileHeader as _, SectionHeader as _, Sym as _};
use object::{LittleEndian, elf};

use crate::files::shared::Shared;
use crate::names;

/// Function symbols by address.
#[derive(Debug, Default)]
pub(crate) struct SymbolTable {
    bytes: Option<Shared>,
    /// By address, then by name.
    symbols: Vec<Symbol>,
}

/// A symbol whose name is still in the file.
#[derive(Clone, Copy, Debug)]
struct Symbol {
    address: u64,
    size: u64,
    /// Offset of the name in the file.
    name: usize,
}

impl SymbolTable {
    /// Reads the tables of an ELF file.
    pub(crate) fn parse(bytes: &Shared) -> Self {
        let mut symbols = Vec::new();
        for kind in [elf::SHT_SYMTAB, elf::SHT_DYNSYM] {
            symbols.extend(table(bytes, kind).unwrap_or_default());
        }
        symbols.sort_unstable_by_key(|symbol: &Symbol| symbol.address);
        // Of several names of one function debuggers show the last in order: `nanosleep` rather than `__nanosleep`.
        // Names are only looked at where addresses are equal: libtorch has half a million of both.
        for same in symbols.chunk_by_mut(|a, b| a.address == b.address) {
            same.sort_by(|a, b| start_of_name(bytes, a.name).cmp(start_of_name(bytes, b.name)));
        }
        Self {
            bytes: Some(bytes.clone()),
            symbols,
        }
    }

    /// Demangled name of the function that an address (of the file) is in.
    pub(crate) fn function_at(&self, address: u64) -> Option<String> {
        self.symbol_at(address)
            .map(|symbol| names::demangle(&self.name(symbol)))
    }

    /// First address of the function that an address is in.
    pub(crate) fn start_of(&self, address: u64) -> Option<u64> {
        self.symbol_at(address).map(|symbol| symbol.address)
    }

    /// Address of the symbol with this mangled name.
    pub(crate) fn address_of(&self, name: &str) -> Option<u64> {
        let bytes = self.bytes.as_deref()?;
        let found = self
            .symbols
            .iter()
            .find(|symbol| is_name_at(bytes, symbol.name, name.as_bytes()));
        found.map(|symbol| symbol.address)
    }

    /// The nearest symbol at or below the address that covers it. Symbols written in assembly have no size: they
    /// reach to the next symbol.
    fn symbol_at(&self, address: u64) -> Option<&Symbol> {
        let after = self.symbols.partition_point(|symbol| symbol.address <= address);
        let candidates = self.symbols.get(..after)?.iter().rev().take(MAX_CANDIDATES);
        let mut nearest_unsized = None;
        for symbol in candidates {
            if symbol.size == 0 {
                nearest_unsized = nearest_unsized.or(Some(symbol));
            } else if address - symbol.address < symbol.size {
                // An unsized label within a sized function, or at its start, is no function of its own.
                return Some(symbol);
            } else if nearest_unsized.is_none() {
                return None;
            }
        }
        nearest_unsized
    }

    fn name(&self, symbol: &Symbol) -> String {
        let bytes = self.bytes.as_deref().unwrap_or_default();
        String::from_utf8_lossy(name_at(bytes, symbol.name)).into_owned()
    }
}

/// `$x`, `$d` and their like say where code and data start (aarch64); they name nothing.
fn is_mapping_symbol(bytes: &[u8], offset: usize) -> bool {
    let name = bytes.get(offset..).unwrap_or_default();
    matches!(name, [b'$', b'x' | b'd', b'.' | 0, ..])
}

/// Whether a NUL-terminated name stands at an offset of a file.
fn is_name_at(bytes: &[u8], offset: usize, name: &[u8]) -> bool {
    let rest = bytes.get(offset..).unwrap_or_default().strip_prefix(name);
    rest.is_some_and(|rest| rest.first() == Some(&0))
}

/// As much of a name as order is made by: millions of symbols may share one long name.
fn start_of_name(bytes: &[u8], offset: usize) -> &[u8] {
    let bytes = bytes.get(offset..).unwrap_or_default();
    let bytes = bytes.get(..MAX_COMPARED).unwrap_or(bytes);
    let end = memchr::memchr(0, bytes).unwrap_or(bytes.len());
    bytes.get(..end).unwrap_or_default()
}

/// The NUL-terminated name at an offset of a file.
fn name_at(bytes: &[u8], offset: usize) -> &[u8] {
    let bytes = bytes.get(offset..).unwrap_or_default();
    let bytes = bytes.get(..MAX_NAME).unwrap_or(bytes);
    let end = memchr::memchr(0, bytes).unwrap_or(bytes.len());
    bytes.get(..end).unwrap_or_default()
}

/// How many symbols below an address are looked at for one that covers it.
const MAX_CANDIDATES: usize = 16;
/// Longest symbol name; template names of tens of KiB occur.
const MAX_NAME: usize = 1 << 20;
/// Bytes of a name that are compared.
const MAX_COMPARED: usize = 1024;

/// Address of the variable with this name in an ELF file.
pub(crate) fn find_data(bytes: &Shared, name: &str) -> Option<u64> {
    let file = ElfFile64::<LittleEndian, _>::parse(&**bytes).ok()?;
    let sections = file.elf_header().sections(LittleEndian, &**bytes).ok()?;
    [elf::SHT_DYNSYM, elf::SHT_SYMTAB].into_iter().find_map(|kind| {
        let table = sections.symbols(LittleEndian, &**bytes, kind).ok()?;
        let names = usize::try_from(sections.section(table.string_section()).ok()?.sh_offset(LittleEndian)).ok()?;
        let is_it = |symbol: &&elf::Sym64<LittleEndian>| {
            symbol.st_type() == elf::STT_OBJECT
                && symbol.st_shndx(LittleEndian) != elf::SHN_UNDEF
                && is_name_at(
                    bytes,
                    names.saturating_add(symbol.st_name(LittleEndian) as usize),
                    name.as_bytes(),
                )
        };
        Some(table.iter().find(is_it)?.st_value(LittleEndian))
    })
}

fn table(bytes: &Shared, kind: elf::SectionType) -> Option<Vec<Symbol>> {
    let file = ElfFile64::<LittleEndian, _>::parse(&**bytes).ok()?;
    let sections = file.elf_header().sections(LittleEndian, &**bytes).ok()?;
    let table = sections.symbols(LittleEndian, &**bytes, kind).ok()?;
    let (names, _) = sections
        .section(table.string_section())
        .ok()?
        .file_range(LittleEndian)?;
    let names = usize::try_from(names).ok()?;
    let symbols = table.iter().filter(|symbol| {
        let is_code = matches!(symbol.st_type(), elf::STT_FUNC | elf::STT_GNU_IFUNC | elf::STT_NOTYPE);
        is_code && symbol.st_shndx(LittleEndian) != elf::SHN_UNDEF && symbol.st_value(LittleEndian) != 0
    });
    Some(
        symbols
            .map(|symbol| Symbol {
                address: symbol.st_value(LittleEndian),
                size: symbol.st_size(LittleEndian),
                name: names.saturating_add(symbol.st_name(LittleEndian) as usize),
            })
            .filter(|symbol| !is_mapping_symbol(bytes, symbol.name))
            .collect(),
    )
}
