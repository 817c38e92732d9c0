//! Opening a package, which anybody may have made.
//!
//! A zip file can be read in more than one way: by its directory or by its entries, with other files before, between and
//! behind those that one reader sees, and with two entries of one name, of which readers take either. So what somebody
//! looked at is not always what is used. A package is a zip file that can be read in one way alone (APPNOTE.TXT): its
//! entries from the first byte on, one behind the other, their directory, and the record at the end, with nothing else
//! anywhere; each name once; files and folders, as they are or deflated. Whatever is otherwise is refused with the
//! entry's name. Looking at it takes memory and work for the bytes that it has, and not for those that it claims.

use std::collections::BTreeMap;
use std::ops::Range;

use flate2::{Decompress, FlushDecompress, Status};
use memchr::memmem;

use crate::sandbox::{clean, cut};

/// The record of an entry before its bytes, its record in the directory, and the one at the end (4.3.7, 4.3.12, 4.3.16):
/// how each begins, and how many bytes it has without names.
const LOCAL: (&[u8], usize) = (b"PK\x03\x04", 30);
const LISTED: (&[u8], usize) = (b"PK\x01\x02", 46);
const END: (&[u8], usize) = (b"PK\x05\x06", 22);
/// What may stand behind the bytes of an entry that was packed as a stream: its sum and sizes, perhaps behind a mark
/// (4.3.9).
const DESCRIPTOR: (&[u8], usize) = (b"PK\x07\x08", 16);
/// Entries that a package may have.
const ENTRIES: u16 = 4096;
/// Bytes of an entry's name, and how many of them are shown.
const NAME_BYTES: usize = 200;
const SHOWN: usize = 80;
/// What a field has whose value stands in a ZIP64 record (4.4.1.4).
const ELSEWHERE: u32 = u32::MAX;
/// Additional fields that say something else than the record: ZIP64 (4.5.3), and another name (4.6.9).
const ZIP64: u16 = 0x0001;
const OTHER_NAME: u16 = 0x7075;
/// Flags that say how a deflated entry was packed, that its sizes follow it, and that its name is UTF-8 (4.4.4).
const PLAIN_FLAGS: u16 = 1 << 1 | 1 << 2 | STREAMED | 1 << 11;
const STREAMED: u16 = 1 << 3;
/// Flags of encryption: of the bytes, of a stronger kind, and of the directory.
const ENCRYPTED: u16 = 1 | 1 << 6 | 1 << 13;
/// Ways of packing (4.4.5).
const STORED: u16 = 0;
const DEFLATED: u16 = 8;

/// A package in memory.
#[derive(Debug)]
pub(crate) struct Archive {
    bytes: Vec<u8>,
    files: BTreeMap<String, File>,
}

/// A file of a package.
#[derive(Debug)]
struct File {
    packed: Range<usize>,
    is_deflated: bool,
    size: u32,
    crc: u32,
}

/// An entry as the directory has it, and where all that belongs to it stands.
struct Entry {
    name: String,
    at: Range<usize>,
    file: File,
}

/// Whether this is meant to be a package: it begins like a zip file, or has something before one.
pub(crate) fn is_package(bytes: &[u8]) -> bool {
    let ends_like_one = || bytes.len() >= END.1 && Record::at(bytes, bytes.len() - END.1, END).is_some();
    bytes.starts_with(b"PK") || (!bytes.starts_with(b"\0asm") && ends_like_one())
}

impl Archive {
    /// Opens a package. The error says what is wrong with it.
    pub(crate) fn open(bytes: Vec<u8>) -> Result<Self, String> {
        let mut files = BTreeMap::new();
        let mut names = BTreeMap::new();
        for entry in entries(&bytes)? {
            // On some machines two names are one file that are two on others.
            let plain = entry.name.trim_end_matches('/').to_ascii_lowercase();
            if let Some(other) = names.insert(plain, entry.name.clone()) {
                return Err(twice(&other, &entry.name));
            }
            files.insert(entry.name, entry.file);
        }
        Ok(Self { bytes, files })
    }

    /// The names of its files and folders.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.files.keys().map(String::as_str)
    }

    /// Whether it has a file of this name.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.files.contains_key(name)
    }

    /// What a file of it holds: at most so many bytes. The error says what is wrong with it.
    pub(crate) fn read(&self, name: &str, most: usize) -> Result<Vec<u8>, String> {
        let file = self.files.get(name).ok_or_else(|| format!("it has no {name}"))?;
        if file.size as usize > most {
            return Err(format!("its {name} has more than the {most} bytes that are allowed"));
        }
        let packed = self.bytes.get(file.packed.clone()).unwrap_or_default();
        let unpacked = match file.is_deflated {
            true => inflated(packed, file.size as usize),
            false => Some(packed.to_vec()),
        };
        let is_whole = |bytes: &Vec<u8>| bytes.len() == file.size as usize && crc32fast::hash(bytes) == file.crc;
        let whole = unpacked.filter(is_whole);
        whole.ok_or_else(|| format!("its {name} is damaged: it is not what the directory says of it"))
    }
}

fn twice(name: &str, other: &str) -> String {
    if name == other {
        format!("it has two entries called {name}: pack it anew with one")
    } else {
        format!("its {name} and its {other} are one file where case does not count: leave one out")
    }
}

/// The entries in the order in which they stand.
fn entries(bytes: &[u8]) -> Result<Vec<Entry>, String> {
    let (count, directory) = directory(bytes)?;
    let (mut entries, mut at) = (Vec::new(), directory.start);
    for _ in 0..count {
        let (entry, next) = listed(bytes, at, directory.start)?;
        entries.push(entry);
        at = next;
    }
    if at != directory.end {
        return Err(no_whole("its directory does not end where it says"));
    }
    entries.sort_by_key(|entry| entry.at.start);
    check_places(&entries, directory.start)?;
    Ok(entries)
}

/// How many entries there are, and where their directory is.
fn directory(bytes: &[u8]) -> Result<(u16, Range<usize>), String> {
    let start = bytes.len().checked_sub(END.1);
    let end = start.and_then(|start| Some((start, Record::at(bytes, start, END)?)));
    let Some((start, end)) = end else {
        return Err(match memmem::rfind(bytes, END.0) {
            Some(_) => "it has more behind the record at its end, such as a comment or another file: pack it anew \
                        without"
                .to_owned(),
            None => no_whole("the record at its end is missing"),
        });
    };
    let (count, size, from) = (end.short(10), end.long(12), end.long(16));
    let locator = start.checked_sub(20).and_then(|at| bytes.get(at..start));
    if locator.is_some_and(|locator| locator.starts_with(b"PK\x06\x07")) || count == u16::MAX || from == ELSEWHERE {
        return Err("it is a ZIP64 file: pack it as a plain zip file".to_owned());
    }
    if (end.short(4), end.short(6), end.short(8)) != (0, 0, count) {
        return Err("it is a part of a zip file that was split: pack it as one file".to_owned());
    }
    if u64::from(from) + u64::from(size) != start as u64 {
        return Err(no_whole(
            "its directory is not where it says, or something stands before its first entry",
        ));
    }
    if count > ENTRIES {
        return Err(format!(
            "it has {count} entries, more than the {ENTRIES} that are allowed"
        ));
    }
    Ok((count, from as usize..start))
}

/// The entry of which the directory's record is here, and where the next one is.
fn listed(bytes: &[u8], at: usize, directory: usize) -> Result<(Entry, usize), String> {
    let cut_off = || no_whole("its directory is cut off");
    let record = Record::at(bytes, at, LISTED).ok_or_else(cut_off)?;
    let name_at = at + LISTED.1;
    let extra_at = name_at + usize::from(record.short(28));
    let comment_at = extra_at + usize::from(record.short(30));
    let next = comment_at + usize::from(record.short(32));
    let raw = bytes.get(name_at..extra_at).ok_or_else(cut_off)?;
    let extra = bytes.get(extra_at..comment_at).ok_or_else(cut_off)?;
    let name = name_of(raw)?;
    let refuse = |why: &str| Err(format!("its {} {why}", shown(raw)));
    if let Some(why) = odd(&record, extra, &name) {
        return refuse(why);
    }
    let Some((at, packed)) = place(bytes, &record, raw, directory) else {
        return refuse("is called or packed otherwise where it stands than its directory says");
    };
    let file = File {
        packed,
        is_deflated: record.short(10) == DEFLATED,
        size: record.long(24),
        crc: record.long(16),
    };
    Ok((Entry { name, at, file }, next))
}

/// A name that is the same file in every folder of every machine.
fn name_of(raw: &[u8]) -> Result<String, String> {
    let refuse = |why: &str| Err(format!("its {} {why}", shown(raw)));
    let is_plain = |byte: &u8| byte.is_ascii_graphic() || *byte == b' ';
    if raw.is_empty() {
        return Err("an entry of it has no name".to_owned());
    }
    if !raw.iter().all(is_plain) || raw.contains(&b'\\') {
        return refuse("has a name of other characters than ASCII letters, digits, and signs but the backslash");
    }
    if raw.len() > NAME_BYTES {
        return refuse("… has a name that is too long");
    }
    let name = String::from_utf8_lossy(raw).into_owned();
    if name.starts_with('/') || name.get(1..).is_some_and(|rest| rest.starts_with(':')) {
        return refuse("has an absolute path: names are relative to the package");
    }
    let path = name.strip_suffix('/').unwrap_or(&name);
    if path.split('/').any(|part| matches!(part, "" | "." | "..")) {
        return refuse("has a path that leads out of the package, or in circles");
    }
    Ok(name)
}

/// What keeps an entry out, by its record in the directory.
fn odd(record: &Record<'_>, extra: &[u8], name: &str) -> Option<&'static str> {
    let (flags, method) = (record.short(8), record.short(10));
    let sizes = [record.long(20), record.long(24), record.long(42)];
    // The upper half of the attributes is the mode on Unix, of which the upper four bits are the type.
    let kind = record.long(38) >> 28;
    let is_folder = name.ends_with('/');
    if flags & ENCRYPTED != 0 {
        Some("is encrypted: pack it without a password")
    } else if sizes.contains(&ELSEWHERE) || has_field(extra, ZIP64) {
        Some("is a ZIP64 entry: pack it as a plain zip file")
    } else if flags & !PLAIN_FLAGS != 0 || has_field(extra, OTHER_NAME) {
        Some("has flags or fields of other zip programs: pack it as a plain zip file")
    } else if ![STORED, DEFLATED].contains(&method) {
        Some("is compressed otherwise than by deflate: pack it as a plain zip file")
    } else if kind == 0xa {
        Some("is a symbolic link: pack the file itself")
    } else if ![0, 0x4, 0x8].contains(&kind) || (kind == 0x4) != is_folder && kind != 0 {
        Some("is no regular file")
    } else if is_folder && record.long(24) != 0 {
        Some("is a folder that holds bytes")
    } else if method == STORED && record.long(20) != record.long(24) {
        Some("has another size than it has bytes")
    } else {
        None
    }
}

/// Whether there is an additional field of this kind; what does not parse may be any.
fn has_field(mut extra: &[u8], kind: u16) -> bool {
    while let Some(([k, f, l, h], rest)) = extra.split_first_chunk::<4>() {
        let length = usize::from(u16::from_le_bytes([*l, *h]));
        let Some(next) = rest.get(length..) else { return true };
        if u16::from_le_bytes([*k, *f]) == kind {
            return true;
        }
        extra = next;
    }
    !extra.is_empty()
}

/// Where all of an entry stands, and its packed bytes in there; none where it is not as the directory says.
fn place(bytes: &[u8], listed: &Record<'_>, name: &[u8], directory: usize) -> Option<(Range<usize>, Range<usize>)> {
    let start = listed.long(42) as usize;
    let local = Record::at(bytes, start, LOCAL)?;
    let name_at = start + LOCAL.1;
    let extra_at = name_at + usize::from(local.short(26));
    let packed_at = extra_at + usize::from(local.short(28));
    let packed_end = packed_at.checked_add(listed.long(20) as usize)?;
    let extra = bytes.get(extra_at..packed_at)?;
    let sums = [listed.long(16), listed.long(20), listed.long(24)];
    let is_streamed = listed.short(8) & STREAMED != 0;
    let agrees = bytes.get(name_at..extra_at)? == name
        && (local.short(6), local.short(8)) == (listed.short(8), listed.short(10))
        && (is_streamed || [local.long(14), local.long(18), local.long(22)] == sums)
        && !has_field(extra, ZIP64)
        && !has_field(extra, OTHER_NAME);
    let end = match is_streamed {
        true => packed_end + descriptor(bytes, packed_end, sums)?,
        false => packed_end,
    };
    (agrees && end <= directory).then_some((start..end, packed_at..packed_end))
}

/// How many bytes the sum and the sizes behind an entry have, if they are these.
fn descriptor(bytes: &[u8], at: usize, sums: [u32; 3]) -> Option<usize> {
    let sums: Vec<u8> = sums.iter().flat_map(|sum| sum.to_le_bytes()).collect();
    let behind = bytes.get(at..)?;
    let marked = || {
        behind
            .strip_prefix(DESCRIPTOR.0)
            .is_some_and(|behind| behind.starts_with(&sums))
    };
    if behind.starts_with(&sums) {
        Some(sums.len())
    } else {
        marked().then_some(DESCRIPTOR.1)
    }
}

/// Entries, in their order, fill everything up to the directory.
fn check_places(entries: &[Entry], directory: usize) -> Result<(), String> {
    let mut end = 0;
    for entry in entries {
        if entry.at.start < end {
            return Err(format!("its {} overlaps with another entry", entry.name));
        }
        if entry.at.start > end {
            return Err(format!(
                "it has bytes before its {} that belong to no entry",
                entry.name
            ));
        }
        end = entry.at.end;
    }
    if end != directory {
        return Err("it has bytes before its directory that belong to no entry".to_owned());
    }
    Ok(())
}

/// What deflated bytes are, if they are as many as that, and nothing stands behind them.
fn inflated(packed: &[u8], size: usize) -> Option<Vec<u8>> {
    let mut inflate = Decompress::new(false);
    // One byte more, which what is larger would fill.
    let mut bytes = Vec::with_capacity(size + 1);
    let ended = inflate.decompress_vec(packed, &mut bytes, FlushDecompress::Finish);
    let is_whole = matches!(ended, Ok(Status::StreamEnd)) && inflate.total_in() == packed.len() as u64;
    is_whole.then_some(bytes)
}

fn no_whole(why: &str) -> String {
    format!("it is no whole zip file: {why}")
}

/// A name as it is told.
fn shown(raw: &[u8]) -> String {
    clean::line(&cut(&String::from_utf8_lossy(raw), SHOWN))
}

/// A record, and the numbers in it.
struct Record<'a>(&'a [u8]);

impl<'a> Record<'a> {
    /// The record of this kind at a place.
    fn at(bytes: &'a [u8], start: usize, (magic, length): (&[u8], usize)) -> Option<Self> {
        let record = bytes.get(start..start.checked_add(length)?)?;
        record.starts_with(magic).then_some(Self(record))
    }

    fn short(&self, at: usize) -> u16 {
        u16::from_le_bytes(self.number(at))
    }

    fn long(&self, at: usize) -> u32 {
        u32::from_le_bytes(self.number(at))
    }

    fn number<const BYTES: usize>(&self, at: usize) -> [u8; BYTES] {
        let bytes = self.0.get(at..).and_then(|rest| rest.first_chunk());
        bytes.copied().unwrap_or([0; BYTES])
    }
}
