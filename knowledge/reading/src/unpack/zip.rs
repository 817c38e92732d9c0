//! Zip files, read by their directory, or front to back where that is missing (APPNOTE.TXT; sections in brackets).
//!
//! Nothing is made room for because a record says so, and no byte is unpacked for two members: what a directory claims is
//! held against the file before it is used.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::fs::FileExt as _;

use flate2::bufread::DeflateDecoder;
use memchr::memmem;
use whycrash_evidence::Problem;
use whycrash_evidence::readers::compression::{Compression, decoder};
use whycrash_evidence::readers::{Input, read_problem};

use super::members::{Members, Unpacked};
use super::refusals::shown;
use super::{ENTRIES, HEADER_BYTES};

/// A kind of record: how it begins, and how many bytes it has without names.
type Record = (&'static [u8], usize);

/// Before the bytes of a member (4.3.7), in the directory (4.3.12), at the end (4.3.16), and for large files before that:
/// where the larger record is (4.3.15), and it itself (4.3.14).
const LOCAL: Record = (b"PK\x03\x04", 30);
const LISTED: Record = (b"PK\x01\x02", 46);
const END: Record = (b"PK\x05\x06", 22);
const LOCATOR: Record = (b"PK\x06\x07", 20);
const END_64: Record = (b"PK\x06\x06", 56);
/// Bytes of the longest comment behind the record at the end.
const COMMENT_BYTES: u64 = 0xffff;
/// What a field has whose value stands in a ZIP64 field, and the kind of that field (4.5.3).
const ELSEWHERE: u32 = u32::MAX;
const ZIP64: u16 = 1;
/// Flags of encryption: of the bytes, of a stronger kind, and of the directory (4.4.4).
const ENCRYPTED: u16 = 1 | 1 << 6 | 1 << 13;
/// Flag of a member whose sizes stand behind it (4.4.4).
const STREAMED: u16 = 1 << 3;
/// Bytes behind such a member (4.3.9), at most.
const DESCRIPTOR_BYTES: usize = 24;
/// The system whose modes the upper half of the attributes has (4.4.2), and types of files in them.
const UNIX: u8 = 3;
const FOLDER: u32 = 0x4;
const PLAIN: u32 = 0x8;
const LINK: u32 = 0xa;

/// Hands over the members of a zip file.
pub(super) fn walk(input: &Input, members: &mut Members) {
    let (file, torn) = match input.seekable() {
        Ok(opened) => opened,
        Err(error) => return members.problem(read_problem(&error)),
    };
    let length = match file.metadata() {
        Ok(metadata) => metadata.len(),
        Err(error) => return members.problem(read_problem(&error)),
    };
    if let Some(error) = torn {
        members.problem(read_problem(&error));
    }
    let archive = Archive { file, length };
    match archive.directory() {
        Some(directory) => archive.walk_directory(&directory, members),
        None => archive.walk_front_to_back(members),
    }
}

struct Archive {
    file: File,
    length: u64,
}

/// Where the directory is.
struct Directory {
    start: u64,
    end: u64,
    entries: u64,
    /// Bytes before the archive, which places in it do not count.
    before: u64,
}

/// A member, as a record has it.
struct Entry {
    name: Vec<u8>,
    flags: u16,
    method: u16,
    crc: u32,
    packed_bytes: u64,
    bytes: u64,
    /// Where its own record is.
    at: u64,
    /// Type of the file, where that is known.
    kind: u32,
}

impl Archive {
    /// Some bytes of the file, if they are there.
    fn bytes(&self, at: u64, count: usize) -> Option<Vec<u8>> {
        let end = at.checked_add(count as u64)?;
        if end > self.length {
            return None;
        }
        let mut bytes = vec![0; count];
        self.file.read_exact_at(&mut bytes, at).ok()?;
        Some(bytes)
    }

    fn record(&self, at: u64, (magic, length): Record) -> Option<Fields> {
        let bytes = self.bytes(at, length)?;
        bytes.starts_with(magic).then_some(Fields(bytes))
    }

    /// The directory that the last record at the end leads to, of those that lead to one.
    fn directory(&self) -> Option<Directory> {
        let start = self.length.saturating_sub(COMMENT_BYTES + END.1 as u64);
        let tail = self.bytes(start, usize::try_from(self.length - start).ok()?)?;
        let mut ends = memmem::rfind_iter(&tail, END.0);
        ends.find_map(|at| self.directory_of(start + at as u64))
    }

    fn directory_of(&self, end_at: u64) -> Option<Directory> {
        let end = self.record(end_at, END)?;
        let (mut entries, mut size) = (u64::from(end.short(10)), u64::from(end.long(12)));
        let (mut offset, mut end_of_directory) = (u64::from(end.long(16)), end_at);
        let locator = end_at
            .checked_sub(LOCATOR.1 as u64)
            .and_then(|at| self.record(at, LOCATOR));
        if let Some(locator) = locator
            && let Some(larger) = self.record(locator.longest(8), END_64)
        {
            (entries, size, offset) = (larger.longest(32), larger.longest(40), larger.longest(48));
            end_of_directory = locator.longest(8);
        }
        let start = end_of_directory.checked_sub(size)?;
        let directory = Directory {
            start,
            end: end_of_directory,
            entries,
            before: start.checked_sub(offset)?,
        };
        let is_there = entries == 0 || self.record(start, LISTED).is_some();
        is_there.then_some(directory)
    }

    fn walk_directory(&self, directory: &Directory, members: &mut Members) {
        let mut at = directory.start;
        let mut taken = Taken::default();
        for number in 0..directory.entries {
            if number >= ENTRIES as u64 || at - directory.start > HEADER_BYTES {
                let message = "the archive has more entries than are looked at: the files behind them are left out; give \
                               the folder of those that matter";
                return members.problem(Problem::new("limit-members", message));
            }
            let Some((entry, next)) = self.listed(at, directory) else {
                let message = format!(
                    "the directory of the archive is damaged: {} of its {} entries were read; pack it anew",
                    number, directory.entries
                );
                return members.problem(Problem::new("damaged", message));
            };
            at = next;
            if !self.take(&entry, directory.start, &mut taken, members) {
                return;
            }
        }
    }

    /// The entry of which the directory's record is here, and where the next one is.
    fn listed(&self, at: u64, directory: &Directory) -> Option<(Entry, u64)> {
        let record = self.record(at, LISTED)?;
        let [name_bytes, extra_bytes, comment_bytes] = [28, 30, 32].map(|field| usize::from(record.short(field)));
        let rest = self.bytes(at + LISTED.1 as u64, name_bytes + extra_bytes)?;
        let (name, extra) = rest.split_at_checked(name_bytes)?;
        let next = at + (LISTED.1 + name_bytes + extra_bytes + comment_bytes) as u64;
        let mut larger = zip64(extra);
        let mut value = |field: usize| match record.long(field) {
            ELSEWHERE => larger.next().unwrap_or(u64::MAX),
            value => u64::from(value),
        };
        let (bytes, packed_bytes, offset) = (value(24), value(20), value(42));
        let is_unix = record.0.get(5) == Some(&UNIX);
        let entry = Entry {
            name: name.to_vec(),
            flags: record.short(8),
            method: record.short(10),
            crc: record.long(16),
            packed_bytes,
            bytes,
            at: directory.before.checked_add(offset)?,
            kind: if is_unix { record.long(38) >> 28 } else { 0 },
        };
        (next <= directory.end).then_some((entry, next))
    }

    /// Takes a member of the directory; false where there is no room for another.
    fn take(&self, entry: &Entry, directory: u64, taken: &mut Taken, members: &mut Members) -> bool {
        let is_folder = entry.name.ends_with(b"/") || entry.kind == FOLDER;
        if is_folder || !entry.is_readable(members) {
            return true;
        }
        let Some((start, name)) = self.content_start(entry.at) else {
            members.refuse(
                &entry.name,
                "is not where the directory of the archive says: pack it anew",
            );
            return true;
        };
        let end = start.saturating_add(entry.packed_bytes);
        if name != entry.name || end > directory {
            members.refuse(
                &entry.name,
                "is not where the directory of the archive says: pack it anew",
            );
            return true;
        }
        if !taken.add(entry.at, end) {
            members.refuse(
                &entry.name,
                "shares its bytes with another member, as in a bomb: pack it anew",
            );
            return true;
        }
        let Some(name) = members.name(&entry.name) else {
            return true;
        };
        let section = self.section(start, end);
        let content = match entry.open(section) {
            Ok(content) => content,
            Err(error) => {
                members.problem(read_problem(&error));
                return true;
            }
        };
        let mut content = Checked::new(content);
        let unpacked = members.file(name, None, &mut content);
        if let Unpacked::Whole(bytes) = unpacked
            && (bytes != entry.bytes || content.crc.finalize() != entry.crc)
        {
            members.problem(Problem::new("damaged", not_as_said(&entry.name)));
        }
        !matches!(unpacked, Unpacked::Stop)
    }

    /// Where the bytes of the member begin whose own record is here, and what it is called there.
    fn content_start(&self, at: u64) -> Option<(u64, Vec<u8>)> {
        let local = self.record(at, LOCAL)?;
        let name_at = at + LOCAL.1 as u64;
        let name = self.bytes(name_at, usize::from(local.short(26)))?;
        Some((name_at + name.len() as u64 + u64::from(local.short(28)), name))
    }

    fn section(&self, at: u64, end: u64) -> Section<'_> {
        Section {
            file: &self.file,
            at,
            end,
        }
    }

    /// Reads an archive whose directory is missing: that is its end, so it was cut off.
    fn walk_front_to_back(&self, members: &mut Members) {
        let message = "the archive ends before its directory: it was cut off; what is there of its files was read: get it \
                       again";
        members.problem(Problem::new("truncated", message));
        let mut at = 0;
        for _ in 0..ENTRIES {
            match self.take_next(at, members) {
                Some(next) => at = next,
                None => return,
            }
        }
    }

    /// Takes the member that begins here; where the next one does.
    fn take_next(&self, at: u64, members: &mut Members) -> Option<u64> {
        let local = self.record(at, LOCAL)?;
        let (start, name) = self.content_start(at)?;
        let extra = self.bytes(at + (LOCAL.1 + name.len()) as u64, usize::from(local.short(28)))?;
        let mut larger = zip64(&extra);
        let mut value = |field: usize| match local.long(field) {
            ELSEWHERE => larger.next().unwrap_or(u64::MAX),
            value => u64::from(value),
        };
        let (bytes, packed_bytes) = (value(22), value(18));
        let entry = Entry {
            name,
            flags: local.short(6),
            method: local.short(8),
            crc: local.long(14),
            packed_bytes,
            bytes,
            at,
            kind: 0,
        };
        let is_streamed = entry.flags & STREAMED != 0;
        let end = match is_streamed {
            true => self.length,
            false => start.checked_add(entry.packed_bytes)?.min(self.length),
        };
        if is_streamed && entry.method != DEFLATED {
            members.refuse(
                &entry.name,
                "says nowhere how long it is, since the archive was cut off: get it again",
            );
            return None;
        }
        if entry.name.ends_with(b"/") || !entry.is_readable(members) {
            return (!is_streamed).then_some(end);
        }
        let name = members.name(&entry.name);
        let mut content = entry.open(self.section(start, end)).ok()?;
        let unpacked = match name {
            Some(name) => {
                let said = (!is_streamed).then_some(entry.bytes);
                members.file(name, said, &mut content)
            }
            None if is_streamed => match members.skip(&mut content) {
                true => Unpacked::Whole(0),
                false => Unpacked::Stop,
            },
            None => Unpacked::Torn,
        };
        match (unpacked, is_streamed) {
            (Unpacked::Stop, _) | (Unpacked::Torn, true) => None,
            (_, false) => Some(end),
            (_, true) => {
                let behind = start + content.packed_bytes();
                let descriptor = self.bytes(behind, DESCRIPTOR_BYTES + LOCAL.0.len())?;
                Some(behind + memmem::find(&descriptor, LOCAL.0)? as u64)
            }
        }
    }
}

fn not_as_said(name: &[u8]) -> String {
    let name = shown(name);
    format!("{name} is not what the directory of the archive says of it: it is damaged, and was read as it is")
}

/// Ways of packing (4.4.5), and what reads them.
const STORED: u16 = 0;
const DEFLATED: u16 = 8;
const STREAMS: [(u16, Compression); 3] = [(12, Compression::Bzip2), (93, Compression::Zstd), (95, Compression::Xz)];
/// What stands for encryption among them.
const AES: u16 = 99;

impl Entry {
    /// Whether it is a file whose bytes can be had; what else it is, is noted.
    fn is_readable(&self, members: &mut Members) -> bool {
        let is_known = [STORED, DEFLATED].contains(&self.method) || self.stream().is_some();
        if self.flags & ENCRYPTED != 0 || self.method == AES {
            members.locked(&self.name);
        } else if self.kind == LINK {
            members.no_file(
                &self.name,
                "is a symbolic link, which is not followed: pack the file itself",
            );
        } else if ![0, PLAIN].contains(&self.kind) {
            members.no_file(&self.name, "is a device or a pipe");
        } else if is_known {
            return true;
        } else {
            let why = format!(
                "is packed in a way that is not read here (method {}): pack it with `zip`, or unpack it and give the file",
                self.method
            );
            members.refuse(&self.name, &why);
        }
        false
    }

    fn stream(&self) -> Option<Compression> {
        let mut streams = STREAMS.iter();
        streams.find(|(method, _)| *method == self.method).map(|(_, it)| *it)
    }

    fn open<'a>(&self, section: Section<'a>) -> io::Result<Content<'a>> {
        Ok(match self.stream() {
            Some(compression) => Content::Stream(decoder(compression, BufReader::new(section))?),
            None if self.method == DEFLATED => Content::Deflated(DeflateDecoder::new(BufReader::new(section))),
            None => Content::Stored(section),
        })
    }
}

/// The bytes of a member, unpacked.
enum Content<'a> {
    Stored(Section<'a>),
    Deflated(DeflateDecoder<BufReader<Section<'a>>>),
    Stream(Box<dyn BufRead + 'a>),
}

impl Content<'_> {
    /// Bytes that were read of what is deflated.
    fn packed_bytes(&self) -> u64 {
        match self {
            Self::Deflated(decoder) => decoder.total_in(),
            _ => 0,
        }
    }
}

impl Read for Content<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Stored(section) => section.read(buffer),
            Self::Deflated(decoder) => decoder.read(buffer),
            Self::Stream(stream) => stream.read(buffer),
        }
    }
}

/// Takes the sum of what is read.
struct Checked<R> {
    content: R,
    crc: crc32fast::Hasher,
}

impl<R> Checked<R> {
    fn new(content: R) -> Self {
        Self {
            content,
            crc: crc32fast::Hasher::new(),
        }
    }
}

impl<R: Read> Read for Checked<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.content.read(buffer)?;
        self.crc.update(buffer.get(..count).unwrap_or_default());
        Ok(count)
    }
}

/// A part of a file.
struct Section<'a> {
    file: &'a File,
    at: u64,
    end: u64,
}

impl Read for Section<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.end.saturating_sub(self.at)).unwrap_or(usize::MAX);
        let most = left.min(buffer.len());
        let count = self.file.read_at(buffer.get_mut(..most).unwrap_or_default(), self.at)?;
        self.at += count as u64;
        Ok(count)
    }
}

/// Which bytes of an archive belong to members that were taken: where each begins, and ends.
#[derive(Default)]
struct Taken(BTreeMap<u64, u64>);

impl Taken {
    /// Adds a member; false where some of its bytes are another's.
    fn add(&mut self, start: u64, end: u64) -> bool {
        let before = self.0.range(..end).next_back();
        if before.is_some_and(|(_, taken)| *taken > start) {
            return false;
        }
        self.0.insert(start, end);
        true
    }
}

/// The numbers of a ZIP64 field, in their order (4.5.3).
fn zip64(mut extra: &[u8]) -> impl Iterator<Item = u64> {
    let mut numbers = Vec::new();
    while let Some(([k, f, l, h], rest)) = extra.split_first_chunk::<4>() {
        let length = usize::from(u16::from_le_bytes([*l, *h]));
        let Some((field, next)) = rest.split_at_checked(length) else {
            break;
        };
        if u16::from_le_bytes([*k, *f]) == ZIP64 {
            numbers.extend(
                field
                    .as_chunks::<8>()
                    .0
                    .iter()
                    .map(|number| u64::from_le_bytes(*number)),
            );
            break;
        }
        extra = next;
    }
    numbers.into_iter()
}

/// The fields of a record.
struct Fields(Vec<u8>);

impl Fields {
    fn short(&self, at: usize) -> u16 {
        u16::from_le_bytes(self.number(at))
    }

    fn long(&self, at: usize) -> u32 {
        u32::from_le_bytes(self.number(at))
    }

    fn longest(&self, at: usize) -> u64 {
        u64::from_le_bytes(self.number(at))
    }

    fn number<const BYTES: usize>(&self, at: usize) -> [u8; BYTES] {
        let bytes = self.0.get(at..).and_then(|rest| rest.first_chunk());
        bytes.copied().unwrap_or([0; BYTES])
    }
}
