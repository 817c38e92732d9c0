//! The ELF container of a GPU core dump: its sections by type, and how they hang together.
//!
//! What the dump says is in sections, not segments. A table belongs to a row of its parent table, which `sh_link` and
//! `sh_info` name; names such as `.cudbg.wptbl.dev0.sm3.cta1` say the same once more.

use std::collections::HashMap;

use object::elf::FileHeader64;
use object::read::elf::{FileHeader, SectionHeader};
use object::{Endianness, ReadRef};

use crate::Problem;

/// Section types are this plus the numbers of [`Kind`].
const FIRST_TYPE: u32 = 0x8000_0000;
/// Sections looked at: one per warp with threads, so a full H100 has some 10 000.
const SECTIONS: usize = 1 << 20;
/// Bytes of a section's name; those of the driver have some forty.
const NAME_BYTES: usize = 256;
/// Bytes of a text in the string table.
const TEXT_BYTES: usize = 1024;
/// Bytes of one table or image that are read.
const SECTION_BYTES: u64 = 512 << 20;

/// What a section holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    ElfImage,
    RelocatedImage,
    Backtrace,
    Devices,
    Contexts,
    Multiprocessors,
    Grids,
    Blocks,
    Warps,
    Threads,
    Metadata,
}

impl Kind {
    fn new(section_type: u32) -> Option<Self> {
        Some(match section_type.checked_sub(FIRST_TYPE)? {
            6 => Self::ElfImage,
            7 => Self::RelocatedImage,
            8 => Self::Backtrace,
            9 => Self::Devices,
            10 => Self::Contexts,
            11 => Self::Multiprocessors,
            12 => Self::Grids,
            13 => Self::Blocks,
            14 => Self::Warps,
            15 => Self::Threads,
            22 => Self::Metadata,
            _ => return None,
        })
    }

    /// The table a row of which a section of this kind belongs to.
    fn parent(self) -> Option<Self> {
        match self {
            Self::Contexts | Self::Multiprocessors | Self::Grids => Some(Self::Devices),
            Self::Blocks => Some(Self::Multiprocessors),
            Self::Warps => Some(Self::Blocks),
            Self::Threads => Some(Self::Warps),
            Self::Backtrace => Some(Self::Threads),
            _ => None,
        }
    }
}

/// A section of a kind we read.
#[derive(Debug)]
pub(super) struct Section<'a> {
    pub kind: Kind,
    pub name: String,
    /// Bytes of a row: what the driver's version made of it.
    pub row_bytes: usize,
    pub data: &'a [u8],
}

impl<'a> Section<'a> {
    /// Rows, each at least `known` bytes long: later drivers append members, so only what is known is looked at.
    pub fn rows(&self, known: usize) -> impl Iterator<Item = Row<'a>> + use<'a> {
        let size = if self.row_bytes >= known {
            self.row_bytes
        } else {
            usize::MAX
        };
        self.data
            .chunks_exact(size.min(self.data.len().max(1)))
            .filter(move |_| size != usize::MAX)
            .map(Row)
    }
}

/// One row of a table; members are little-endian and at fixed places.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row<'a>(&'a [u8]);

impl Row<'_> {
    /// The four bytes at `at`; 0 where a driver did not write them yet.
    pub fn u32(self, at: usize) -> u32 {
        self.0
            .get(at..)
            .and_then(|bytes| bytes.first_chunk())
            .map_or(0, |bytes| u32::from_le_bytes(*bytes))
    }

    pub fn u64(self, at: usize) -> u64 {
        self.0
            .get(at..)
            .and_then(|bytes| bytes.first_chunk())
            .map_or(0, |bytes| u64::from_le_bytes(*bytes))
    }

    pub fn triple(self, at: usize) -> [u32; 3] {
        [self.u32(at), self.u32(at + 4), self.u32(at + 8)]
    }

    /// True when the row is long enough to have bytes before `end`.
    pub fn reaches(self, end: usize) -> bool {
        self.0.len() >= end
    }
}

/// All sections we read, and the strings that table members point into.
#[derive(Debug, Default)]
pub(super) struct Sections<'a> {
    pub all: Vec<Section<'a>>,
    /// Places of the sections that belong to a row, by the place and row of the parent table.
    children: HashMap<(usize, usize), Vec<usize>>,
    strings: &'a [u8],
}

impl<'a> Sections<'a> {
    /// Finds the sections; what can not be read is left out and named.
    pub fn read<R: ReadRef<'a>>(data: R, budget: u64) -> (Self, Vec<Problem>) {
        let mut problems = Vec::new();
        let sections = Self::parse(data, budget, &mut problems).unwrap_or_else(|error| {
            let message = format!("the section table can not be read ({error}): the dump was cut off or is still being written; fetch the whole file");
            problems.push(Problem::new("truncated", message));
            Self::default()
        });
        (sections, problems)
    }

    fn parse<R: ReadRef<'a>>(data: R, budget: u64, problems: &mut Vec<Problem>) -> Result<Self, object::Error> {
        let header = FileHeader64::<Endianness>::parse(data)?;
        let endian = header.endian()?;
        let headers = header.sections(endian, data)?;
        let mut sections = Self::default();
        let mut index_of = HashMap::new();
        let mut links = Vec::new();
        let (mut left, mut out_of_reach) = (budget, 0);
        let end = data.len().unwrap_or(0);
        if headers.len() > SECTIONS {
            problems.push(Problem::new(
                "limit-gpu-core",
                format!(
                    "the dump has {} sections; only the first {SECTIONS} were read",
                    headers.len()
                ),
            ));
        }
        for (index, section) in headers.enumerate().take(SECTIONS) {
            let name = headers
                .section_name(endian, section)
                .ok()
                .filter(|name| name.len() <= NAME_BYTES)
                .map_or_else(String::new, |name| String::from_utf8_lossy(name).into_owned());
            let is_strings = name == ".strtab";
            let Some(kind) = Kind::new(section.sh_type(endian).0).or(is_strings.then_some(Kind::Metadata)) else {
                continue;
            };
            let (offset, size) = (section.sh_offset(endian), section.sh_size(endian));
            if offset.checked_add(size).is_none_or(|section_end| section_end > end) {
                out_of_reach += 1;
                continue;
            }
            if size > SECTION_BYTES.min(left) {
                problems.push(Problem::new(
                    "limit-gpu-core",
                    format!("section {name} of {size} bytes is more than is read of one dump; it is left out"),
                ));
                continue;
            }
            left -= size;
            let bytes = data.read_bytes_at(offset, size).unwrap_or_default();
            if is_strings {
                sections.strings = bytes;
                continue;
            }
            index_of.insert(index.0, sections.all.len());
            links.push((section.sh_link(endian) as usize, section.sh_info(endian) as usize));
            let row_bytes = usize::try_from(section.sh_entsize(endian)).unwrap_or(usize::MAX);
            sections.all.push(Section {
                kind,
                name,
                row_bytes,
                data: bytes,
            });
        }
        if out_of_reach > 0 {
            let message = format!(
                "{out_of_reach} sections lie beyond the end of the file: the dump was cut off; fetch the whole file"
            );
            problems.push(Problem::new("truncated", message));
        }
        sections.link(&links, &index_of);
        Ok(sections)
    }

    /// Finds each section's parent: by its link where that points to a table of the right kind, else by its name.
    fn link(&mut self, links: &[(usize, usize)], index_of: &HashMap<usize, usize>) {
        let by_name: HashMap<&str, usize> = self
            .all
            .iter()
            .enumerate()
            .map(|(place, section)| (section.name.as_str(), place))
            .collect();
        let parents = self.all.iter().zip(links).map(|(section, (link, row))| {
            let kind = section.kind.parent()?;
            let linked = index_of.get(link).filter(|place| self.all[**place].kind == kind);
            let named = || {
                let (name, row) = parent_name(&section.name, kind)?;
                Some((*by_name.get(name.as_str())?, row))
            };
            linked.map(|place| (*place, *row)).or_else(named)
        });
        let parents: Vec<Option<(usize, usize)>> = parents.collect();
        for (place, parent) in parents.into_iter().enumerate() {
            if let Some(parent) = parent {
                self.children.entry(parent).or_default().push(place);
            }
        }
    }

    /// The sections of one kind, with their places.
    pub fn of(&self, kind: Kind) -> impl Iterator<Item = (usize, &Section<'a>)> {
        self.all
            .iter()
            .enumerate()
            .filter(move |(_, section)| section.kind == kind)
    }

    /// The sections of one kind that belong to a row of a table.
    pub fn children(&self, kind: Kind, parent: (usize, usize)) -> impl Iterator<Item = (usize, &Section<'a>)> {
        let children = self.children.get(&parent).into_iter().flatten();
        let children = children.filter_map(|place| Some((*place, self.all.get(*place)?)));
        children.filter(move |(_, section)| section.kind == kind)
    }

    /// The text at an offset of the string table; nothing when it is empty or not there.
    pub fn text(&self, offset: u64) -> Option<String> {
        let rest = self.strings.get(usize::try_from(offset).ok()?..)?;
        let rest = rest.get(..TEXT_BYTES).unwrap_or(rest);
        let text = rest.split(|byte| *byte == 0).next().filter(|text| !text.is_empty())?;
        Some(String::from_utf8_lossy(text).into_owned())
    }
}

/// The parent table's name, and the row, as a section's name tells: `.cudbg.lntbl.dev0.sm3.cta1.wp2` is of row 2 of
/// `.cudbg.wptbl.dev0.sm3.cta1`.
fn parent_name(name: &str, parent: Kind) -> Option<(String, usize)> {
    let mut parts: Vec<&str> = name.trim_start_matches(".cudbg.").split('.').skip(1).collect();
    let last = parts.pop()?;
    let row = last
        .trim_start_matches(|c: char| c.is_ascii_alphabetic())
        .parse()
        .ok()?;
    let table = match parent {
        Kind::Devices => "devtbl",
        Kind::Multiprocessors => "smtbl",
        Kind::Blocks => "ctatbl",
        Kind::Warps => "wptbl",
        Kind::Threads => "lntbl",
        _ => return None,
    };
    let path = std::iter::once(table).chain(parts).collect::<Vec<_>>().join(".");
    Some((format!(".cudbg.{path}"), row))
}
