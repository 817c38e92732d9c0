//! Binaries out of a core alone. A core written with file pages (`coredump_filter` with bit 2) holds what a binary
//! needs at run time: the search table of its unwinding rules, the rules, and the symbols it exports. Section headers
//! are not loaded, so they are written anew here, around what the program headers and the dynamic section lead to.

use std::path::Path;

use gimli::{BaseAddresses, EhFrameHdr, LittleEndian, Pointer};
use object::elf::{self, FileHeader64, ProgramHeader64};
use object::read::elf::{FileHeader as _, ProgramHeader as _};
use object::{Endianness, pod};
use whycrash_evidence::readers::elf_core::{CoreDump, CoreModule};

use crate::costs::{Cap, Costs};
use crate::files::object_file::ObjectFile;

type Header = FileHeader64<Endianness>;
type Segment = ProgramHeader64<Endianness>;
const ENDIAN: Endianness = Endianness::Little;

/// Program headers of a binary at most; real ones have a dozen.
const MAX_SEGMENTS: usize = 256;
/// Bytes of one table at most: the unwinding rules of the largest libraries have some 50 MiB.
const MAX_TABLE: u64 = 256 << 20;
/// Bytes of the dynamic section at most; real ones have a few hundred.
const MAX_DYNAMIC: u64 = 64 << 10;
/// What copying a byte costs: the copies of all modules are held at once, and their tables may be one and the same.
const COPY: usize = 16;
/// Size of a symbol.
const SYMBOL: u64 = 24;

/// What the core holds of a module; nothing when that has neither unwinding rules nor symbols.
pub(crate) fn object_file(core: &CoreDump, module: &CoreModule, costs: &Costs) -> Option<ObjectFile> {
    let image = Image::find(core, module, costs)?;
    let mut sections = image.unwinding_rules().unwrap_or_default();
    sections.extend(image.symbols().unwrap_or_default());
    if sections.is_empty() {
        return None;
    }
    let bytes = write(&image.header, &image.segments, &sections);
    let mut file = ObjectFile::parse(Path::new(&module.path), &bytes.into())?;
    file.build_id.clone_from(&module.build_id);
    file.is_from_core = true;
    Some(file)
}

/// A binary as it is in memory.
struct Image<'a> {
    core: &'a CoreDump,
    costs: &'a Costs,
    bias: u64,
    header: Header,
    segments: Vec<Segment>,
}

/// A section to be written.
struct Section {
    name: &'static str,
    kind: u32,
    /// Address in the file's terms.
    address: u64,
    bytes: Vec<u8>,
    /// Index of the section with its names.
    link: u32,
    entry_size: u64,
}

impl Section {
    fn plain(name: &'static str, address: u64, bytes: Vec<u8>) -> Self {
        Self {
            name,
            kind: elf::SHT_PROGBITS.0,
            address,
            bytes,
            link: 0,
            entry_size: 0,
        }
    }
}

impl<'a> Image<'a> {
    fn find(core: &'a CoreDump, module: &CoreModule, costs: &'a Costs) -> Option<Self> {
        let bytes = core.bytes(module.start, size_of::<Header>())?;
        let header = *pod::from_bytes::<Header>(&bytes).ok()?.0;
        if !header.is_supported() {
            return None;
        }
        let count = usize::from(header.e_phnum(ENDIAN));
        if count > MAX_SEGMENTS {
            costs.caps.hit(Cap::Image);
        }
        let count = count.min(MAX_SEGMENTS);
        let table = module.start.checked_add(header.e_phoff(ENDIAN))?;
        let table = core.bytes(table, count * size_of::<Segment>())?;
        let segments = pod::slice_from_bytes::<Segment>(&table, count).ok()?.0.to_vec();
        Some(Self {
            core,
            costs,
            bias: module.bias?,
            header,
            segments,
        })
    }

    fn segment(&self, kind: elf::ProgramType) -> Option<&Segment> {
        self.segments.iter().find(|segment| segment.p_type(ENDIAN) == kind)
    }

    /// Bytes at an address of the file, when the core has them all.
    fn bytes(&self, address: u64, size: u64) -> Option<Vec<u8>> {
        if size > MAX_TABLE {
            self.costs.caps.hit(Cap::Image);
            return None;
        }
        let size = usize::try_from(size).ok()?;
        self.costs.spend(size.saturating_mul(COPY) as u64)?;
        self.core.bytes(self.bias.wrapping_add(address), size)
    }

    /// First address after what is loaded from the file around an address.
    fn loaded_end(&self, address: u64) -> Option<u64> {
        let loads = self
            .segments
            .iter()
            .filter(|segment| segment.p_type(ENDIAN) == elf::PT_LOAD);
        let mut ends = loads.filter_map(|segment| {
            let start = segment.p_vaddr(ENDIAN);
            let end = start.checked_add(segment.p_filesz(ENDIAN))?;
            (start..end).contains(&address).then_some(end)
        });
        ends.next()
    }

    /// `.eh_frame_hdr`, and `.eh_frame`, whose start that tells.
    fn unwinding_rules(&self) -> Option<Vec<Section>> {
        let header = self.segment(elf::PT_GNU_EH_FRAME)?;
        let address = header.p_vaddr(ENDIAN);
        let table = self.bytes(address, header.p_memsz(ENDIAN))?;
        let bases = BaseAddresses::default().set_eh_frame_hdr(address);
        let parsed = EhFrameHdr::new(&table, LittleEndian).parse(&bases, 8).ok()?;
        let Pointer::Direct(rules) = parsed.eh_frame_ptr() else {
            return None;
        };
        let size = self.loaded_end(rules)?.checked_sub(rules)?;
        let bytes = self.bytes(rules, size)?;
        Some(vec![
            Section::plain(".eh_frame_hdr", address, table),
            Section::plain(".eh_frame", rules, bytes),
        ])
    }

    /// `.dynsym` and `.dynstr`, from the dynamic section.
    fn symbols(&self) -> Option<Vec<Section>> {
        let dynamic = self.segment(elf::PT_DYNAMIC)?;
        let size = dynamic.p_memsz(ENDIAN).min(MAX_DYNAMIC);
        let entries = self.bytes(dynamic.p_vaddr(ENDIAN), size)?;
        let word = |bytes: &[u8]| Some(u64::from_le_bytes(bytes.try_into().ok()?));
        let value = |tag: u64| {
            let mut entries = entries.chunks_exact(16);
            entries.find_map(|entry| {
                let (found, value) = entry.split_at_checked(8)?;
                (word(found)? == tag).then(|| word(value)).flatten()
            })
        };
        // The dynamic linker turned the addresses of the file into those of the process.
        let address = |tag: u64| {
            let value = value(tag)?;
            let relative = value.wrapping_sub(self.bias);
            Some(if self.loaded_end(relative).is_some() {
                relative
            } else {
                value
            })
        };
        let (table, names) = (address(DT_SYMTAB)?, address(DT_STRTAB)?);
        let by_hash = address(DT_GNU_HASH).and_then(|hash| self.symbol_count(hash));
        // Linkers put the names right behind the symbols.
        let count = by_hash.or_else(|| Some(names.checked_sub(table)? / SYMBOL))?;
        let symbols = self.bytes(table, count.checked_mul(SYMBOL)?)?;
        let text = self.bytes(names, value(DT_STRSZ)?)?;
        Some(vec![
            Section {
                kind: elf::SHT_STRTAB.0,
                ..Section::plain(NAMES, names, text)
            },
            Section {
                kind: elf::SHT_DYNSYM.0,
                entry_size: SYMBOL,
                ..Section::plain(".dynsym", table, symbols)
            },
        ])
    }

    /// How many symbols a `DT_GNU_HASH` table is about: those before its first one, and to the end of the chain that
    /// starts last.
    fn symbol_count(&self, hash: u64) -> Option<u64> {
        let number = |address: u64| {
            let bytes = self.bytes(address, 4)?;
            Some(u64::from(u32::from_le_bytes(bytes.try_into().ok()?)))
        };
        let after_hash = |offset| hash.checked_add(offset);
        let (buckets, first, blooms) = (number(hash)?, number(after_hash(4)?)?, number(after_hash(8)?)?);
        let table = hash.checked_add(16)?.checked_add(blooms * 8)?;
        let starts = self.bytes(table, buckets * 4)?;
        let starts = starts
            .chunks_exact(4)
            .filter_map(|start| Some(u32::from_le_bytes(start.try_into().ok()?)));
        let mut last = u64::from(starts.max()?);
        if last < first {
            return Some(first);
        }
        let chains = table.checked_add(buckets * 4)?;
        while last < MAX_TABLE / SYMBOL {
            if number(chains.checked_add((last - first) * 4)?)? & 1 != 0 {
                return Some(last + 1);
            }
            last += 1;
        }
        None
    }
}

const DT_STRTAB: u64 = 5;
const DT_SYMTAB: u64 = 6;
const DT_STRSZ: u64 = 10;
const DT_GNU_HASH: u64 = 0x6fff_fef5;
const NAMES: &str = ".dynstr";

/// An ELF file with these sections. Its segments keep their addresses, but none of their bytes: those are in the core.
fn write(header: &Header, segments: &[Segment], sections: &[Section]) -> Vec<u8> {
    let word = |value: u64| object::U64::new(ENDIAN, value);
    let half = |value: usize| object::U16::new(ENDIAN, value as u16);
    let mut names = vec![0];
    let mut bytes = vec![0; size_of::<Header>() + size_of_val(segments)];
    let mut headers = vec![[0_u64; 8]];
    let link = sections
        .iter()
        .position(|section| section.name == NAMES)
        .map_or(0, |index| index + 1);
    let mut add = |section: &Section, name: &str, bytes: &mut Vec<u8>| {
        let link = if section.kind == elf::SHT_DYNSYM.0 {
            link as u64
        } else {
            u64::from(section.link)
        };
        headers.push([
            names.len() as u64 | u64::from(section.kind) << 32,
            0,
            section.address,
            bytes.len() as u64,
            section.bytes.len() as u64,
            link,
            1,
            section.entry_size,
        ]);
        names.extend(name.as_bytes());
        names.push(0);
        bytes.extend(&section.bytes);
    };
    for section in sections {
        add(section, section.name, &mut bytes);
    }
    let mut own_names = Section::plain(".shstrtab", 0, Vec::new());
    own_names.kind = elf::SHT_STRTAB.0;
    add(&own_names, own_names.name, &mut bytes);
    if let Some(last) = headers.last_mut() {
        last[4] = names.len() as u64;
    }
    bytes.extend(names);
    bytes.resize(bytes.len().next_multiple_of(8), 0);
    let mut header = *header;
    header.e_phoff = word(size_of::<Header>() as u64);
    header.e_phnum = half(segments.len());
    header.e_shoff = word(bytes.len() as u64);
    header.e_shentsize = half(64);
    header.e_shnum = half(headers.len());
    header.e_shstrndx = object::U16::new(ENDIAN, elf::SymbolSection(headers.len() as u16 - 1));
    for words in headers {
        bytes.extend(words.iter().flat_map(|word| word.to_le_bytes()));
    }
    let mut head = pod::bytes_of(&header).to_vec();
    for segment in segments {
        let mut segment = *segment;
        segment.p_filesz = word(0);
        head.extend(pod::bytes_of(&segment));
    }
    bytes.splice(..head.len(), head);
    bytes
}
