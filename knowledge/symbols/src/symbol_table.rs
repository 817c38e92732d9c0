//! Names from `.symtab` and `.dynsym`.

use object::read::elf::{ElfFile64, FileHeader as _, SectionHeader as _, Sym as _};
use object::{LittleEndian, elf};

use crate::names;
use crate::shared::Shared;

/// Function symbols by address.
#[derive(Debug, Default)]
pub(crate) struct SymbolTable {
    bytes: Option<Shared>,
    /// By address; of several at one address the preferred one last.
    symbols: Vec<Symbol>,
}

/// A symbol whose name is still in the file.
#[derive(Clone, Copy, Debug)]
struct Symbol {
    address: u64,
    size: u64,
    /// Offset of the name in the file.
    name: usize,
    /// Global symbols are preferred to local ones of the same address.
    global: bool,
}

impl SymbolTable {
    /// Reads the tables of an ELF file.
    pub(crate) fn parse(bytes: &Shared) -> Self {
        let mut symbols = Vec::new();
        for kind in [elf::SHT_SYMTAB, elf::SHT_DYNSYM] {
            symbols.extend(table(bytes, kind).unwrap_or_default());
        }
        symbols.sort_by_key(|symbol| (symbol.address, symbol.size, symbol.global));
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
        let bytes = self
            .bytes
            .as_deref()
            .and_then(|bytes| bytes.get(symbol.name..))
            .unwrap_or_default();
        let end = bytes.iter().take(MAX_NAME).position(|byte| *byte == 0).unwrap_or(0);
        String::from_utf8_lossy(bytes.get(..end).unwrap_or_default()).into_owned()
    }
}

/// How many symbols below an address are looked at for one that covers it.
const MAX_CANDIDATES: usize = 16;
/// Longest symbol name; template names of tens of KiB occur.
const MAX_NAME: usize = 1 << 20;

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
                global: symbol.st_bind() == elf::STB_GLOBAL,
            })
            .collect(),
    )
}
