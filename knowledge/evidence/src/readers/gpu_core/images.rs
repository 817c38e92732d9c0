//! The cubins embedded in a dump: which kernel an address is in.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use object::elf::FileHeader64;
use object::read::elf::ElfFile;
use object::{Endianness, Object, ObjectSection, ObjectSymbol, SymbolKind};

use super::sections::{Kind, Sections};

/// Functions kept of all images together.
const FUNCTIONS: usize = 1 << 20;
/// Bytes of one mangled name; the longest of template libraries have some 10 000.
const NAME_BYTES: usize = 32 << 10;
/// Bytes of all names kept: names may overlap in a file, so that there is no end to them.
const ALL_NAME_BYTES: usize = 64 << 20;
/// Bytes of a demangled name: a few bytes of mangled name can stand for gigabytes.
const DEMANGLED_BYTES: usize = 16 << 10;

/// A function of a relocated image.
#[derive(Clone, Debug)]
struct Function {
    size: u64,
    mangled: Arc<str>,
}

/// A place in device code.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Site {
    /// As in the image's symbol table.
    pub mangled: Arc<str>,
    pub offset: u64,
}

/// Functions by the address they were loaded at.
#[derive(Debug, Default)]
pub(super) struct Images {
    functions: BTreeMap<u64, Function>,
    /// Of images that were not relocated: names only.
    names: Vec<Arc<str>>,
    name_bytes: usize,
    cut: bool,
}

impl Images {
    pub fn read(sections: &Sections) -> Self {
        let mut images = Self::default();
        for section in &sections.all {
            match section.kind {
                Kind::RelocatedImage => images.add(section.data, true),
                Kind::ElfImage => images.add(section.data, false),
                _ => {}
            }
        }
        images
    }

    fn add(&mut self, image: &[u8], relocated: bool) {
        let Ok(file) = ElfFile::<FileHeader64<Endianness>>::parse(image) else {
            return;
        };
        for symbol in file
            .symbols()
            .filter(|symbol| symbol.kind() == SymbolKind::Text && symbol.is_definition())
        {
            let name = symbol.name();
            // What is looked through for a name's end counts, whether or not there is one.
            self.name_bytes += name.as_ref().map_or(image.len(), |name| name.len());
            if self.functions.len() + self.names.len() >= FUNCTIONS || self.name_bytes > ALL_NAME_BYTES {
                self.cut = true;
                return;
            }
            let Ok(name) = name else { continue };
            if name.len() > NAME_BYTES {
                self.cut = true;
                continue;
            }
            if !relocated {
                self.names.push(name.into());
                continue;
            }
            let section = symbol
                .section_index()
                .and_then(|index| file.section_by_index(index).ok());
            let base = section.map_or(0, |section| section.address());
            // A relocated image gives each code section its address on the device; symbols in it are counted from
            // there, or hold the whole address, depending on the driver.
            let address = if symbol.address() < base {
                base.wrapping_add(symbol.address())
            } else {
                symbol.address()
            };
            self.functions.insert(
                address,
                Function {
                    size: symbol.size(),
                    mangled: name.into(),
                },
            );
        }
    }

    /// True when some functions were left out.
    pub fn is_cut(&self) -> bool {
        self.cut
    }

    /// The function that covers `pc`, or the one entered at `entry` when none does.
    pub fn site(&self, pc: u64, entry: Option<u64>) -> Option<Site> {
        let covering = self
            .functions
            .range(..=pc)
            .next_back()
            .filter(|(start, function)| pc - **start < function.size);
        let entered = || self.functions.get_key_value(&entry?).filter(|(start, _)| **start <= pc);
        if let Some((start, function)) = covering.or_else(entered) {
            return Some(Site {
                mangled: function.mangled.clone(),
                offset: pc - start,
            });
        }
        // Light dumps may leave relocated images out; a lone kernel in the others needs no address.
        match (self.names.as_slice(), entry) {
            ([name], Some(entry)) if self.functions.is_empty() => Some(Site {
                mangled: name.clone(),
                offset: pc.checked_sub(entry)?,
            }),
            _ => None,
        }
    }
}

/// Whether an image has a table of source lines.
pub(super) fn has_lines(image: &[u8]) -> bool {
    ElfFile::<FileHeader64<Endianness>>::parse(image).is_ok_and(|file| {
        file.section_by_name(".debug_line")
            .is_some_and(|section| section.size() > 0)
    })
}

/// The name a person knows a kernel by.
pub fn demangled(mangled: &str) -> String {
    let options = cpp_demangle::DemangleOptions::default().no_return_type();
    let mut name = Bounded(String::new());
    let written = cpp_demangle::Symbol::new(mangled)
        .ok()
        .and_then(|symbol| symbol.structured_demangle(&mut name, &options).ok());
    written.map_or_else(|| mangled.to_owned(), |()| name.0)
}

/// A text that refuses to grow beyond [`DEMANGLED_BYTES`].
struct Bounded(String);

impl fmt::Write for Bounded {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if self.0.len() + text.len() > DEMANGLED_BYTES {
            return Err(fmt::Error);
        }
        self.0.push_str(text);
        Ok(())
    }
}
