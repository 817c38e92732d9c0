//! Tar files, read from their first byte to their last.

use std::cell::{Cell, RefCell};
use std::io::{self, Read};

use tar::{Entry, EntryType};
use whycrash_evidence::Problem;
use whycrash_evidence::readers::{Input, read_problem};

use super::members::{Members, Unpacked};
use super::sparse::Holed;
use super::{ENTRIES, HEADER_BYTES};

/// Bytes that may tell of one entry: its headers, its name, and where the parts of a sparse file are.
const ENTRY_HEADER_BYTES: u64 = 8 << 20;
/// Parts of a sparse file.
const SPARSE_PARTS: usize = 262_144;
/// Bytes of a block, of which everything in a tar file is a whole number.
const BLOCK: usize = 512;

/// Hands over the members of a tar file.
pub(super) fn walk(input: &Input, members: &mut Members) {
    let stream = match input.archive_stream() {
        Ok(stream) => stream,
        Err(error) => return members.problem(read_problem(&error)),
    };
    let meter = Meter::default();
    let mut archive = tar::Archive::new(Metered { stream, meter: &meter });
    let mut entries = match archive.entries() {
        Ok(entries) => entries,
        Err(error) => return members.problem(read_problem(&error)),
    };
    let mut header_bytes = HEADER_BYTES;
    for _ in 0..ENTRIES {
        let allowed = header_bytes.min(ENTRY_HEADER_BYTES);
        meter.left.set(allowed);
        let next = entries.next();
        let left = meter.left.replace(u64::MAX);
        header_bytes -= allowed - left;
        let goes_on = match next {
            None => return meter.end().into_iter().for_each(|problem| members.problem(problem)),
            Some(Ok(mut entry)) => take(&mut entry, members),
            Some(Err(error)) => return members.problem(meter.problem(&error, left)),
        };
        if !goes_on {
            return meter.end().into_iter().for_each(|problem| members.problem(problem));
        }
    }
    let message = "the archive has more entries than are looked at: the files behind them are left out; give the folder \
                   of those that matter";
    members.problem(Problem::new("limit-members", message));
}

/// Takes one entry; false where nothing can be read behind it.
fn take<R: Read>(entry: &mut Entry<R>, members: &mut Members) -> bool {
    let name = entry.path_bytes().into_owned();
    let what_it_is = match entry.header().entry_type() {
        EntryType::Regular | EntryType::Continuous | EntryType::GNUSparse if !name.ends_with(b"/") => None,
        EntryType::Link => Some("is a hard link: what it leads to is read under its own name"),
        EntryType::Symlink => Some("is a symbolic link, which is not followed: pack the file itself (`tar -h`)"),
        EntryType::Char | EntryType::Block => Some("is a device"),
        EntryType::Fifo => Some("is a pipe"),
        // Folders, and what says something of the archive as a whole.
        _ => return members.skip(entry),
    };
    if let Some(what_it_is) = what_it_is {
        members.no_file(&name, what_it_is);
        return members.skip(entry);
    }
    match sparse_form(entry) {
        SparseForm::None => {
            let Some(name) = members.name(&name) else {
                return members.skip(entry);
            };
            let size = entry.size();
            matches!(members.file(name, Some(size), entry), Unpacked::Whole(_))
        }
        SparseForm::One { name, size } => take_sparse(&name, size, entry, members),
        SparseForm::Other => {
            members.refuse(
                &name,
                "is a sparse file in a form that is not read: pack it with `tar --format=gnu`",
            );
            members.skip(entry)
        }
    }
}

/// How a sparse file is stored, other than in GNU's own format, which is read as any other.
enum SparseForm {
    None,
    /// Version 1.0: the content begins with a list of its parts.
    One {
        name: Vec<u8>,
        size: u64,
    },
    /// An earlier version.
    Other,
}

fn sparse_form<R: Read>(entry: &mut Entry<R>) -> SparseForm {
    let (mut major, mut size, mut name) = (None, None, None);
    let mut is_sparse = false;
    let Ok(Some(extensions)) = entry.pax_extensions() else {
        return SparseForm::None;
    };
    for extension in extensions.flatten() {
        let value = extension.value_bytes();
        is_sparse |= extension.key_bytes().starts_with(b"GNU.sparse.");
        match extension.key_bytes() {
            b"GNU.sparse.major" => major = number(value),
            b"GNU.sparse.realsize" => size = number(value),
            b"GNU.sparse.name" => name = Some(value.to_vec()),
            _ => {}
        }
    }
    match (is_sparse, major, size, name) {
        (false, ..) => SparseForm::None,
        (_, Some(1), Some(size), Some(name)) => SparseForm::One { name, size },
        _ => SparseForm::Other,
    }
}

fn number(digits: &[u8]) -> Option<u64> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}

fn take_sparse<R: Read>(raw: &[u8], size: u64, entry: &mut Entry<R>, members: &mut Members) -> bool {
    let Some(name) = members.name(raw) else {
        return members.skip(entry);
    };
    let parts = match sparse_parts(entry) {
        Ok(parts) => parts,
        Err(error) => {
            members.problem(read_problem(&error));
            return false;
        }
    };
    let Some(mut content) = parts.and_then(|parts| Holed::new(&mut *entry, parts, size)) else {
        members.refuse(raw, "is a sparse file whose parts are not where it says: pack it anew");
        return members.skip(entry);
    };
    let unpacked = members.file(name, Some(size), &mut content);
    drop(content);
    matches!(unpacked, Unpacked::Whole(_)) && members.skip(entry)
}

/// The parts that a sparse file of version 1.0 begins with: how many, then where each begins and how long it is, each
/// number on a line, up to the end of a block (GNU tar manual, Storing Sparse Files). None where they are none.
fn sparse_parts(content: &mut impl Read) -> io::Result<Option<Vec<(u64, u64)>>> {
    let mut numbers = Vec::new();
    let (mut wanted, mut rest) = (1, Vec::new());
    while numbers.len() < wanted {
        let mut block = [0; BLOCK];
        content.read_exact(&mut block)?;
        rest.extend_from_slice(&block);
        let lines_end = memchr::memrchr(b'\n', &rest).map_or(0, |at| at + 1);
        let lines: Vec<u8> = rest.drain(..lines_end).collect();
        for line in lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            if numbers.len() == wanted {
                break;
            }
            let Some(number) = number(line) else { return Ok(None) };
            if numbers.is_empty() {
                match usize::try_from(number).ok().filter(|parts| *parts <= SPARSE_PARTS) {
                    Some(parts) => wanted = 1 + 2 * parts,
                    None => return Ok(None),
                }
            }
            numbers.push(number);
        }
        if rest.len() > BLOCK {
            return Ok(None);
        }
    }
    let pairs = numbers.get(1..).unwrap_or_default().as_chunks::<2>().0;
    Ok(Some(pairs.iter().map(|[start, length]| (*start, *length)).collect()))
}

/// What has been read of a tar file beside the content of its members, which is counted elsewhere.
#[derive(Debug, Default)]
struct Meter {
    /// Bytes that may still be read.
    left: Cell<u64>,
    /// What ended the stream.
    failed: RefCell<Option<Problem>>,
    is_at_end: Cell<bool>,
}

impl Meter {
    /// What ended the archive other than the mark at its end, if anything did.
    fn end(&self) -> Option<Problem> {
        let cut_off = || {
            let message = "the archive has no end: it was cut off; what came before was read: get it again";
            Problem::new("truncated", message)
        };
        self.failed.take().or_else(|| self.is_at_end.get().then(cut_off))
    }

    /// Names the error for which no entry could be read, where so many bytes might still have told of it.
    fn problem(&self, error: &io::Error, left: u64) -> Problem {
        if let Some(problem) = self.end() {
            return problem;
        }
        if left == 0 {
            let message = "an entry of the archive has a name, or a list of parts, that no file has: what came before it \
                           was read";
            return Problem::new("not-unpacked", message);
        }
        let message = format!("the archive is damaged ({error}): what came before that was read; pack it anew");
        Problem::new("damaged", message)
    }
}

struct Metered<'a, R> {
    stream: R,
    meter: &'a Meter,
}

impl<R: Read> Read for Metered<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = self.meter.left.get();
        if left == 0 {
            return Err(io::Error::other("an entry's headers are longer than any"));
        }
        let most = usize::try_from(left).unwrap_or(usize::MAX).min(buffer.len());
        match self.stream.read(buffer.get_mut(..most).unwrap_or_default()) {
            Ok(count) => {
                self.meter.left.set(left - count as u64);
                self.meter.is_at_end.set(count == 0 && most > 0);
                Ok(count)
            }
            Err(error) => {
                if error.kind() != io::ErrorKind::Interrupted {
                    self.meter.failed.replace(Some(read_problem(&error)));
                }
                Err(error)
            }
        }
    }
}
