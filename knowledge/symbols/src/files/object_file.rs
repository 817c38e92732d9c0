//! An ELF file with machine code, symbols, debug information, or all of them.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, OnceLock};

use object::read::elf::{ElfFile64, FileHeader as _, ProgramHeader as _};
use object::{CompressedData, CompressionFormat, LittleEndian, Object, ObjectSection, SectionFlags, elf};
use whycrash_evidence::readers::elf_core::build_id_text;

use crate::costs::{Cap, Caps};
use crate::dwarf::Dwarf;
use crate::files::build_id::is_build_id;
use crate::files::cache::Kept;
use crate::files::reach::Reach;
use crate::files::regular::{self, Identity, RegularFile};
use crate::files::shared::Shared;
use crate::files::symbol_table::{self, SymbolTable};
use crate::files::unpack::Unpacker;
use crate::files::xz_size::unpacked_size;
use crate::unwind::cfi::CallFrames;

/// A section, by where it is.
#[derive(Clone, Debug)]
struct Section {
    name: String,
    address: u64,
    /// Its bytes as stored; empty for a section without any (`.bss`, and code in a debug file).
    data: Shared,
    /// How they are compressed, and their size when they are not.
    compression: Option<(CompressionFormat, u64)>,
    executable: bool,
}

/// A loadable segment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LoadSegment {
    pub(crate) address: u64,
    pub(crate) offset: u64,
    pub(crate) file_size: u64,
    pub(crate) executable: bool,
}

/// An opened ELF file. What is in it is parsed when it is first asked for.
#[derive(Debug)]
pub(crate) struct ObjectFile {
    pub(crate) path: PathBuf,
    /// Which file it is, and what else it may lead to; nothing for what is in no file.
    origin: Option<Origin>,
    pub(crate) bytes: Shared,
    pub(crate) build_id: Option<String>,
    /// True for code of that processor, false for x86-64.
    pub(crate) is_aarch64: bool,
    /// True for what was in the core itself, and not in a file.
    pub(crate) is_from_core: bool,
    /// The separate debug file, from `.gnu_debuglink`.
    pub(crate) debug_link: Option<DebugLink>,
    pub(crate) segments: Vec<LoadSegment>,
    sections: Vec<Section>,
    symbols: OnceLock<SymbolTable>,
    packed_symbols: OnceLock<SymbolTable>,
    call_frames: OnceLock<CallFrames>,
    dwarf: OnceLock<Option<Mutex<Dwarf>>>,
    /// The caps that were hit in it.
    pub(crate) caps: Arc<Caps>,
    checksum: OnceLock<u32>,
    /// Bytes of all sections that were unpacked so far.
    unpacked: AtomicU64,
    /// The file that [`Self::supplementary_link`] leads to, once somebody looked for it; nothing if it was not found.
    supplementary: OnceLock<Option<Arc<ObjectFile>>>,
}

/// Where an object file is from.
#[derive(Debug)]
struct Origin {
    identity: Identity,
    reach: Arc<Reach>,
}

/// A separate debug file as its binary names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DebugLink {
    pub(crate) name: String,
    /// CRC-32 of the whole file.
    pub(crate) checksum: u32,
}

/// A file with what several debug files have in common, as one of them names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SupplementaryLink {
    /// Path, relative to the folder of the debug file.
    pub(crate) path: String,
    /// Its build id, or for DWARF 5 its checksum, as lower-case hex.
    pub(crate) id: String,
}

impl ObjectFile {
    /// Opens a 64-bit little-endian ELF file; nothing when it is anything else.
    pub(crate) fn open(file: &RegularFile, reach: &Arc<Reach>) -> Option<Self> {
        let origin = Origin {
            identity: file.identity(),
            reach: Arc::clone(reach),
        };
        let parsed = Self::parse(file.path(), &Shared::map(file).ok()?)?;
        Some(Self {
            origin: Some(origin),
            ..parsed
        })
    }

    /// Opens the ELF file at a path, if that is in reach.
    pub(crate) fn find(path: &Path, reach: &Arc<Reach>) -> Option<Self> {
        Self::open(&reach.find(path).ok()?, reach)
    }

    /// The ELF file in these bytes.
    pub(crate) fn parse(path: &Path, bytes: &Shared) -> Option<Self> {
        let file = ElfFile64::<LittleEndian, _>::parse(&**bytes).ok()?;
        let build_id = file.build_id().ok().flatten().map(build_id_text);
        let build_id = build_id.filter(|id| is_build_id(id));
        let debug_link = file.gnu_debuglink().ok().flatten();
        let debug_link = debug_link.map(|(name, checksum)| DebugLink {
            name: String::from_utf8_lossy(name).into_owned(),
            checksum,
        });
        let headers = file
            .elf_header()
            .program_headers(LittleEndian, &**bytes)
            .unwrap_or_default();
        let loads = headers
            .iter()
            .filter(|header| header.p_type(LittleEndian) == elf::PT_LOAD);
        let segments = loads
            .map(|header| LoadSegment {
                address: header.p_vaddr(LittleEndian),
                offset: header.p_offset(LittleEndian),
                file_size: header.p_filesz(LittleEndian),
                executable: header.p_flags(LittleEndian).contains(elf::PF_X),
            })
            .collect();
        let sections = file.sections().filter_map(|section| {
            let range = section.compressed_file_range().ok()?;
            let start = usize::try_from(range.offset).ok()?;
            let size = usize::try_from(range.compressed_size).ok()?;
            let SectionFlags::Elf { sh_flags, .. } = section.flags() else {
                return None;
            };
            Some(Section {
                name: standard_name(section.name().ok()?),
                address: section.address(),
                data: bytes.slice(start..start.checked_add(size)?)?,
                compression: (range.format != CompressionFormat::None)
                    .then_some((range.format, range.uncompressed_size)),
                executable: sh_flags.contains(elf::SHF_EXECINSTR),
            })
        });
        Some(Self {
            path: path.to_owned(),
            origin: None,
            sections: sections.collect(),
            build_id,
            is_aarch64: file.elf_header().e_machine(LittleEndian) == elf::EM_AARCH64,
            is_from_core: false,
            debug_link,
            segments,
            symbols: OnceLock::new(),
            packed_symbols: OnceLock::new(),
            call_frames: OnceLock::new(),
            dwarf: OnceLock::new(),
            caps: Arc::default(),
            checksum: OnceLock::new(),
            unpacked: AtomicU64::new(0),
            supplementary: OnceLock::new(),
            bytes: bytes.clone(),
        })
    }

    /// The bytes of a section, decompressed; nothing when it has none here.
    pub(crate) fn section(&self, name: &str) -> Option<Shared> {
        let section = self
            .sections
            .iter()
            .find(|section| section.name == name && !section.data.is_empty())?;
        let Some((format, size)) = section.compression else {
            return Some(section.data.clone());
        };
        self.pay_for(size, section.data.len())?;
        let compressed = CompressedData {
            format,
            data: &section.data,
            uncompressed_size: size,
        };
        Some(compressed.decompress().ok()?.into_owned().into())
    }

    /// A section in zlib's format, to be unpacked piece by piece; nothing when it is not compressed so.
    pub(crate) fn packed(&self, name: &str) -> Option<Unpacker> {
        let section = self
            .sections
            .iter()
            .find(|section| section.name == name && !section.data.is_empty())?;
        let (CompressionFormat::Zlib, size) = section.compression? else {
            return None;
        };
        self.pay_for(size, section.data.len())?;
        Some(Unpacker::new(section.data.clone(), usize::try_from(size).ok()?))
    }

    /// Whether a section may be unpacked, that has `packed` bytes and says to have `size`.
    fn pay_for(&self, size: u64, packed: usize) -> Option<()> {
        let allowed = (packed as u64)
            .saturating_mul(MAX_RATIO)
            .clamp(ALWAYS_UNPACKED, MAX_UNPACKED);
        let all = self.unpacked.fetch_add(size.min(MAX_UNPACKED), Relaxed);
        if size > allowed || all > MAX_UNPACKED {
            self.caps.hit(Cap::Section);
            return None;
        }
        Some(())
    }

    /// Address of a section, whether or not its bytes are here.
    pub(crate) fn section_address(&self, name: &str) -> Option<u64> {
        self.sections
            .iter()
            .find(|section| section.name == name)
            .map(|section| section.address)
    }

    /// True when machine code is here; a separate debug file names the sections but leaves them empty.
    pub(crate) fn has_code(&self) -> bool {
        self.sections
            .iter()
            .any(|section| section.executable && !section.data.is_empty())
            || (self.sections.is_empty() && self.segments.iter().any(|segment| segment.executable))
    }

    /// What to add to its addresses when the lowest one that is loaded is at `start`.
    pub(crate) fn bias_at(&self, start: u64) -> Option<u64> {
        let first = self.segments.first()?;
        Some(start.wrapping_sub(first.address & !(PAGE - 1)))
    }

    /// True when it has DWARF of its own.
    pub(crate) fn has_dwarf(&self) -> bool {
        self.sections
            .iter()
            .any(|section| section.name == ".debug_info" && !section.data.is_empty())
    }

    /// True when it has any section of debug information, which is what makes a file that to elfutils' debuginfod.
    pub(crate) fn has_debug_sections(&self) -> bool {
        self.sections
            .iter()
            .any(|section| section.name.starts_with(".debug_") && !section.data.is_empty())
    }

    /// The file that holds what this one shares with others: `.gnu_debugaltlink` as dwz writes it (a path, then a
    /// build id), or `.debug_sup` of DWARF 5 (section 7.3.6: version, a flag, a path, a counted checksum).
    pub(crate) fn supplementary_link(&self) -> Option<SupplementaryLink> {
        let split = |bytes: &[u8]| {
            let end = bytes.iter().position(|byte| *byte == 0)?;
            let path = String::from_utf8_lossy(bytes.get(..end)?).into_owned();
            Some((path, bytes.get(end + 1..)?.to_vec()))
        };
        if let Some(section) = self.section(".gnu_debugaltlink") {
            let (path, id) = split(&section)?;
            let id = build_id_text(&id);
            return Some(SupplementaryLink { path, id });
        }
        let section = self.section(".debug_sup")?;
        let [5, 0, 0, rest @ ..] = &*section else { return None };
        let (path, counted) = split(rest)?;
        let (len, id) = counted.split_first()?;
        let id = build_id_text(id.get(..usize::from(*len))?);
        Some(SupplementaryLink { path, id })
    }

    /// What identifies this file when it is the supplementary one of others.
    pub(crate) fn is_supplement(&self, link: &SupplementaryLink) -> bool {
        let own_checksum = || {
            let section = self.section(".debug_sup")?;
            let [5, 0, 1, rest @ ..] = &*section else { return None };
            let end = rest.iter().position(|byte| *byte == 0)?;
            let (len, id) = rest.get(end + 1..)?.split_first()?;
            Some(build_id_text(id.get(..usize::from(*len))?))
        };
        self.build_id.as_ref() == Some(&link.id) || own_checksum().as_ref() == Some(&link.id)
    }

    /// Gives it the supplementary file that its link leads to, or nothing where that was not found. To be done before
    /// its debug information is asked for.
    pub(crate) fn set_supplementary(&self, file: Option<Arc<ObjectFile>>) {
        let _ = self.supplementary.set(file);
    }

    /// The supplementary file, when there is one and it was found.
    pub(crate) fn supplementary(&self) -> Option<&ObjectFile> {
        self.supplementary.get()?.as_deref()
    }

    /// CRC-32 of the whole file, as debug links have it; computed once.
    pub(crate) fn checksum(&self) -> u32 {
        *self.checksum.get_or_init(|| crc32fast::hash(&self.bytes))
    }

    /// What else may be opened for it; nothing for what is in no file.
    pub(crate) fn reach(&self) -> Option<&Arc<Reach>> {
        self.origin.as_ref().map(|origin| &origin.reach)
    }

    /// The caps that were hit in it, and whether it was shortened while it was read.
    pub(crate) fn caps(&self) -> &Caps {
        if self.bytes.is_torn() {
            self.caps.hit(Cap::Torn);
        }
        &self.caps
    }

    /// Whether its path still leads to the file that was opened.
    fn is_unchanged(&self) -> bool {
        let Some(origin) = &self.origin else { return true };
        regular::find_regular(&self.path, regular::MAX_FILE).is_ok_and(|file| file.identity() == origin.identity)
    }

    /// Its symbol tables: its own, and the one that some distributions pack into `.gnu_debugdata`.
    pub(crate) fn symbol_tables(&self) -> impl Iterator<Item = &SymbolTable> {
        let own = || self.symbols.get_or_init(|| SymbolTable::parse(&self.bytes));
        let packed = || {
            let unpacked = || self.section(".gnu_debugdata").and_then(|section| self.unpack(&section));
            self.packed_symbols
                .get_or_init(|| unpacked().map_or_else(SymbolTable::default, |bytes| SymbolTable::parse(&bytes)))
        };
        std::iter::once_with(own).chain(std::iter::once_with(packed))
    }

    /// `.gnu_debugdata`: an ELF file with a symbol table, compressed with xz.
    fn unpack(&self, section: &Shared) -> Option<Shared> {
        if unpacked_size(section)? > MAX_PACKED_SYMBOLS {
            self.caps.hit(Cap::Section);
            return None;
        }
        let mut unpacked = Vec::new();
        lzma_rs::xz_decompress(&mut &**section, &mut unpacked).ok()?;
        Some(unpacked.into())
    }

    /// Address of the variable with this name.
    pub(crate) fn data_symbol(&self, name: &str) -> Option<u64> {
        symbol_table::find_data(&self.bytes, name)
    }

    /// Its call frame information.
    pub(crate) fn call_frames(&self) -> &CallFrames {
        self.call_frames.get_or_init(|| CallFrames::load(self))
    }

    /// Its DWARF.
    pub(crate) fn dwarf(&self) -> Option<&Mutex<Dwarf>> {
        self.dwarf
            .get_or_init(|| self.has_dwarf().then(|| Mutex::new(Dwarf::load(self))))
            .as_ref()
    }

    /// The bytes of the file that are loaded at an address of the file.
    pub(crate) fn loaded_at(&self, address: u64) -> Option<&[u8]> {
        let segment = self
            .segments
            .iter()
            .find(|segment| address >= segment.address && address - segment.address < segment.file_size)?;
        let within = address - segment.address;
        let start = usize::try_from(segment.offset.checked_add(within)?).ok()?;
        let len = usize::try_from(segment.file_size - within).ok()?;
        let bytes = self.bytes.get(start..)?;
        Some(bytes.get(..len).unwrap_or(bytes))
    }
}

impl Kept for ObjectFile {
    fn held(&self) -> u64 {
        // Pages of a mapped file are the kernel's to drop; tables of symbols, rules and units are some part of its
        // size.
        let parsed = self.bytes.len() as u64 / 16;
        parsed + self.unpacked.load(Relaxed) + self.supplementary().map_or(0, Kept::held)
    }

    fn is_current(&self) -> bool {
        match self.supplementary.get() {
            None => !self.bytes.is_torn(),
            // What was not there may have come since.
            Some(None) => false,
            Some(Some(file)) => file.is_unchanged() && !file.bytes.is_torn() && !self.bytes.is_torn(),
        }
    }
}

/// Segments are loaded by pages of this size at least.
const PAGE: u64 = 4096;

/// `.debug_info` for `.zdebug_info`, as compressed sections were called before ELF had a flag for them.
fn standard_name(name: &str) -> String {
    match name.strip_prefix(".zdebug_") {
        Some(rest) => format!(".debug_{rest}"),
        None => name.to_owned(),
    }
}

/// Longest unpacked `.gnu_debugdata`; libc's has a quarter of a MiB.
const MAX_PACKED_SYMBOLS: u64 = 64 << 20;

/// How many times its stored size a section may become; debug information shrinks to a third, its strings to a tenth.
const MAX_RATIO: u64 = 64;
/// What a section may become whatever its stored size.
const ALWAYS_UNPACKED: u64 = 16 << 20;
/// Bytes of all sections of a file, unpacked: debug information beyond this does not fit a machine that reads cores.
const MAX_UNPACKED: u64 = 4 << 30;
