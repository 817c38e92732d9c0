//! Looks at a minidump's lists before they are read.
//!
//! Names and records are given by their place in the file, so that a million entries may all name the same megabytes;
//! the parser gives each entry a copy. Layouts: `minidumpapiset.h` (`MINIDUMP_HEADER`, `MINIDUMP_MODULE`,
//! `MINIDUMP_THREAD`, `MINIDUMP_THREAD_NAME`).

use std::fmt;

use minidump::Minidump;

use crate::Problem;

/// Streams in the directory; writers make some twenty.
const STREAMS: u32 = 4096;
/// Entries of one list.
const ENTRIES: usize = 65_536;
/// Bytes that the names and records of one list may take.
const NAME_BYTES: u64 = 64 << 20;
/// Bytes of the list of mappings, a copy of `/proc/PID/maps`: the kernel's own limit is 65 530 lines.
const MAPPINGS_BYTES: usize = 16 << 20;

/// A list of the dump, as far as this check knows it.
#[derive(Clone, Copy, Debug)]
enum List {
    Modules,
    Threads,
    ThreadNames,
    Mappings,
}

impl fmt::Display for List {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Modules => "modules",
            Self::Threads => "threads",
            Self::ThreadNames => "thread names",
            Self::Mappings => "mappings",
        })
    }
}

impl List {
    fn stream_type(self) -> u32 {
        match self {
            Self::Threads => 3,
            Self::Modules => 4,
            Self::ThreadNames => 24,
            // Breakpad's `MD_LINUX_MAPS`.
            Self::Mappings => 0x4767_0009,
        }
    }

    fn entry_bytes(self) -> usize {
        match self {
            Self::Threads => 48,
            Self::Modules => 108,
            Self::ThreadNames => 12,
            Self::Mappings => 1,
        }
    }
}

/// True when the directory is no longer than any writer makes it. Files of the other byte order have a number in it
/// that is far too large or, reversed, within bounds.
pub(super) fn directory_fits(bytes: &[u8]) -> bool {
    let count = bytes
        .get(8..)
        .and_then(|rest| rest.first_chunk())
        .copied()
        .unwrap_or_default();
    u32::from_le_bytes(count).min(u32::from_be_bytes(count)) <= STREAMS
}

/// First byte behind everything that the dump says to hold: its streams, the threads' stacks and contexts, other
/// memory. The parser leaves out in silence what is not there.
pub(super) fn end(bytes: &[u8]) -> u64 {
    let read = Numbers {
        bytes,
        little: bytes.starts_with(b"MDMP"),
    };
    let word = |at: usize| u64::from(read.u32(at).unwrap_or(0));
    let (count, directory) = (word(8).min(STREAMS.into()) as usize, word(12) as usize);
    let streams = (0..count).map(|index| directory.saturating_add(index * 12));
    let ends = streams.map(|entry| {
        let (kind, at) = (word(entry), word(entry.saturating_add(8)));
        let stream = at as usize;
        // From a word with a size and one with a place, in each entry of a list.
        let listed = |start: usize, length: usize, sizes: &[usize]| {
            let entries = (0..(word(stream) as usize).min(ENTRIES)).map(move |index| stream + start + index * length);
            let ends = entries.flat_map(|entry| sizes.iter().map(move |size| entry + size));
            ends.map(|size| extent(word(size), word(size + 4))).max().unwrap_or(0)
        };
        let named = match kind {
            THREADS => listed(4, 48, &[32, 40]),
            MEMORY => listed(4, 16, &[8]),
            MEMORY_64 => {
                let entries = (0..(word(stream) as usize).min(ENTRIES)).map(|index| stream + 16 + index * 16);
                let sizes = entries.map(|entry| read.u64(entry + 8).unwrap_or(0));
                sizes.fold(read.u64(stream.saturating_add(8)).unwrap_or(0), u64::saturating_add)
            }
            _ => 0,
        };
        named.max(extent(word(entry.saturating_add(4)), at))
    });
    ends.max().unwrap_or(0)
}

/// Streams that name memory.
const THREADS: u64 = 3;
const MEMORY: u64 = 5;
const MEMORY_64: u64 = 9;

/// Where something ends; what is empty is nowhere.
fn extent(size: u64, at: u64) -> u64 {
    if size == 0 { 0 } else { at + size }
}

/// The lists that take a bounded amount of memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Readable {
    pub modules: bool,
    pub threads: bool,
    pub thread_names: bool,
    pub mappings: bool,
}

impl Readable {
    /// Looks at the lists of the minidump in these bytes; what is wrong with them becomes a problem.
    pub fn of(bytes: &[u8], problems: &mut Vec<Problem>) -> Self {
        let dump = Minidump::read(bytes).ok();
        let mut fits = |list: List| {
            let fits = dump.as_ref().is_none_or(|dump| fits(dump, bytes, list));
            if !fits {
                let message =
                    format!("the minidump's list of {list} takes more memory than any real one; it is left out");
                problems.push(Problem::new("limit-minidump", message));
            }
            fits
        };
        Self {
            modules: fits(List::Modules),
            threads: fits(List::Threads),
            thread_names: fits(List::ThreadNames),
            mappings: fits(List::Mappings),
        }
    }
}

/// True when a list, with all that its entries name, takes a bounded amount of memory. A list that is not there does.
fn fits(dump: &Minidump<&[u8]>, bytes: &[u8], list: List) -> bool {
    let Ok(stream) = dump.get_raw_stream(list.stream_type()) else {
        return true;
    };
    if matches!(list, List::Mappings) {
        return stream.len() <= MAPPINGS_BYTES;
    }
    let read = Numbers {
        bytes,
        little: bytes.starts_with(b"MDMP"),
    };
    let in_stream = Numbers { bytes: stream, ..read };
    let count = in_stream.u32(0).unwrap_or(0) as usize;
    if count > ENTRIES {
        return false;
    }
    // Some writers put four bytes of padding after the count.
    let start = stream.len().saturating_sub(count * list.entry_bytes()).clamp(4, 8);
    let named = (0..count).map(|index| {
        let entry = start + index * list.entry_bytes();
        let at = |offset: usize| in_stream.u32(entry + offset).unwrap_or(0);
        match list {
            List::Threads | List::Mappings => 0,
            List::Modules => read.text_bytes(u64::from(at(20))) + read.record_bytes(at(76)) + read.record_bytes(at(84)),
            List::ThreadNames => read.text_bytes(in_stream.u64(entry + 4).unwrap_or(u64::MAX)),
        }
    });
    named.fold(0, u64::saturating_add) <= NAME_BYTES
}

/// Numbers of either byte order.
#[derive(Clone, Copy)]
struct Numbers<'a> {
    bytes: &'a [u8],
    little: bool,
}

impl Numbers<'_> {
    fn array<const N: usize>(&self, at: usize) -> Option<[u8; N]> {
        let mut array: [u8; N] = *self.bytes.get(at..)?.first_chunk()?;
        if !self.little {
            array.reverse();
        }
        Some(array)
    }

    fn u32(&self, at: usize) -> Option<u32> {
        self.array(at).map(u32::from_le_bytes)
    }

    fn u64(&self, at: usize) -> Option<u64> {
        self.array(at).map(u64::from_le_bytes)
    }

    /// Bytes that the text at `at` takes, when it is there: its length stands before it.
    fn text_bytes(&self, at: u64) -> u64 {
        let length = usize::try_from(at).ok().and_then(|at| self.u32(at)).unwrap_or(0);
        self.record_bytes(length)
    }

    /// Bytes of a record that says it has `length`; none when it can not be there.
    fn record_bytes(&self, length: u32) -> u64 {
        let length = u64::from(length);
        if length > self.bytes.len() as u64 { 0 } else { length }
    }
}
