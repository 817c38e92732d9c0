//! Lines of a text artifact by number, without holding the text in memory.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use regex::bytes::Regex;

use super::rendered::{self, Rendered};
use super::{Input, read_problem};
use crate::{Artifact, Limits, Problem};

/// One entry of the offset index per this many lines: 8 bytes for about 100 KB of log.
const STRIDE: u64 = 1024;
/// Bytes of a text that was made which are kept in memory.
const SHORT_BYTES: usize = 1 << 20;
/// Bytes of a file that are read at a time.
const PIECE: usize = 128 << 10;

/// A text artifact, opened to look up lines by number (counted from 1).
///
/// A compressed artifact is unpacked once, into an unlinked temporary file.
#[derive(Debug)]
pub struct Lines {
    text: Content,
    /// Offset of line `1 + i * STRIDE`.
    index: Vec<u64>,
    count: u64,
    line_bytes: usize,
    bytes: u64,
    unpacked_bytes: u64,
    problems: Vec<Problem>,
}

impl Lines {
    /// Opens an artifact and indexes its lines, in one pass. Of a format that is shown as a text made from it, the lines
    /// are those of that text.
    ///
    /// # Errors
    /// When it can not be read at all. An artifact that is torn in the middle gives the lines before that, and a
    /// problem.
    pub fn open(artifact: &Artifact, limits: &Limits) -> io::Result<Self> {
        let input = Input::open(artifact, limits)?;
        if let Some(rendered) = rendered::of(&input, limits) {
            return Self::of_rendered(&rendered, limits);
        }
        let (file, torn) = input.seekable()?;
        let is_unpacked = input.plain_file().is_none();
        let mut lines = Self::of_file(file, limits)?;
        if is_unpacked {
            lines.unpacked_bytes = lines.text.length()?;
        }
        lines.problems.splice(0..0, torn.iter().map(read_problem));
        Ok(lines)
    }

    /// The lines of a text that was made: of a long one in a file without a name.
    fn of_rendered(rendered: &Rendered, limits: &Limits) -> io::Result<Self> {
        let text = rendered.text();
        let mut lines = if text.len() <= SHORT_BYTES {
            Self::of_text(text.to_vec(), limits)?
        } else {
            let mut file = tempfile::tempfile()?;
            io::Write::write_all(&mut file, text)?;
            let mut lines = Self::of_file(file, limits)?;
            lines.unpacked_bytes = text.len() as u64;
            lines
        };
        lines.problems.extend(rendered.problem());
        Ok(lines)
    }

    /// The lines of a file that is text as it is.
    ///
    /// # Errors
    /// When it can not be read at all.
    pub fn of_file(file: File, limits: &Limits) -> io::Result<Self> {
        let content = Content::File {
            file: Arc::new(file),
            start: 0,
            end: u64::MAX,
        };
        Self::of(content, limits)
    }

    /// The lines of a text in memory.
    ///
    /// # Errors
    /// None that memory could give; it is read as a file is.
    pub fn of_text(text: Vec<u8>, limits: &Limits) -> io::Result<Self> {
        Self::of(Content::Memory(text), limits)
    }

    fn of(text: Content, limits: &Limits) -> io::Result<Self> {
        let mut lines = Self {
            unpacked_bytes: 0,
            text,
            index: vec![0],
            count: 0,
            bytes: 0,
            line_bytes: limits.line_bytes,
            problems: Vec::new(),
        };
        lines.build_index(limits.text_bytes)?;
        Ok(lines)
    }

    /// The same lines, with their text in another file from this place on, and how many bytes it takes there. Where it
    /// can not be copied, it stays where it is and takes none.
    #[must_use]
    pub fn moved_to(mut self, file: &Arc<File>, start: u64) -> (Self, u64) {
        let end = start.saturating_add(self.bytes);
        let mut copy = CopyAt { file, offset: start };
        let copied = io::copy(&mut self.reader(), &mut copy);
        if copied.is_ok_and(|bytes| bytes == self.bytes) {
            let file = Arc::clone(file);
            self.text = Content::File { file, start, end };
            (self, end - start)
        } else {
            (self, 0)
        }
    }

    /// The whole text as it is, up to where it is looked at.
    pub fn reader(&self) -> impl Read + '_ {
        self.reader_at(0, &|_| Ok(())).take(self.bytes)
    }

    fn build_index(&mut self, text_bytes: u64) -> io::Result<()> {
        let mut reader = self.reader_at(0, &|_| Ok(())).take(text_bytes);
        let mut offset = 0;
        let mut last_byte = b'\n';
        let (mut count, mut index) = (0, vec![0]);
        loop {
            let buffer = reader.fill_buf()?;
            let Some(last) = buffer.last() else { break };
            last_byte = *last;
            for newline in memchr::memchr_iter(b'\n', buffer) {
                count += 1;
                if count % STRIDE == 0 {
                    index.push(offset + newline as u64 + 1);
                }
            }
            let length = buffer.len();
            offset += length as u64;
            reader.consume(length);
        }
        self.count = if last_byte == b'\n' { count } else { count + 1 };
        self.index = index;
        self.bytes = offset;
        if offset == text_bytes && self.text.length()? > offset {
            self.problems.push(Problem::new(
                "limit-text-bytes",
                "the artifact has more text than is looked at; lines after that are left out",
            ));
        }
        Ok(())
    }

    /// Bytes of the text, decompressed.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Bytes of the temporary file that an artifact was unpacked or rendered to; none for one that is read in place.
    pub fn unpacked_bytes(&self) -> u64 {
        self.unpacked_bytes
    }

    /// Number of lines. Text after the last newline counts as a line.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// What was wrong with the artifact.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// Lines `first` to `last`, both included; those past the end are left out. Line ends are stripped, a line
    /// longer than [`Limits::line_bytes`] is cut, and bytes that are no UTF-8 become U+FFFD.
    ///
    /// # Errors
    /// When the file can not be read.
    pub fn range(&self, first: u64, last: u64) -> io::Result<Vec<String>> {
        self.range_within(first, last, usize::MAX)
    }

    /// As many of these lines as have no more than so many bytes together, as [`Self::range`] gives them.
    ///
    /// # Errors
    /// When the file can not be read.
    pub fn range_within(&self, first: u64, last: u64, bytes: usize) -> io::Result<Vec<String>> {
        let (mut found, mut left) = (Vec::new(), bytes);
        self.scan(first.max(1), last.min(self.count), |_, line| {
            let line = String::from_utf8_lossy(line).into_owned();
            let fits = line.len() <= left;
            if fits {
                left -= line.len();
                found.push(line);
            }
            fits
        })?;
        Ok(found)
    }

    /// Up to `limit` lines from line `from` on that match, with their numbers.
    ///
    /// # Errors
    /// When the file can not be read.
    pub fn search(&self, regex: &Regex, from: u64, limit: usize) -> io::Result<Vec<(u64, String)>> {
        let mut found = Vec::new();
        self.scan(from.max(1), self.count, |number, line| {
            if found.len() < limit && regex.is_match(line) {
                found.push((number, String::from_utf8_lossy(line).into_owned()));
            }
            found.len() < limit
        })?;
        Ok(found)
    }

    /// Calls `visit` with each line from `first` to `last`, as it is stored, until it returns false. `pace` hears of
    /// every piece of the file before it is looked at, by its bytes; an error of either ends the walk at once.
    ///
    /// # Errors
    /// When the file can not be read, and those of `pace` and `visit`.
    pub fn walk(
        &self,
        first: u64,
        last: u64,
        pace: &dyn Fn(usize) -> io::Result<()>,
        mut visit: impl FnMut(u64, &[u8]) -> io::Result<bool>,
    ) -> io::Result<()> {
        let (first, last) = (first.max(1), last.min(self.count));
        if first > last {
            return Ok(());
        }
        let slot = (first - 1) / STRIDE;
        let Some(&offset) = self.index.get(slot as usize) else {
            return Ok(());
        };
        let mut reader = self.reader_at(offset, pace);
        let mut line = Vec::new();
        for number in slot * STRIDE + 1..=last {
            if next_line(&mut reader, &mut line, self.line_bytes)?.is_none() {
                break;
            }
            if number >= first && !visit(number, &line)? {
                break;
            }
        }
        Ok(())
    }

    /// Calls `visit` with each line from `first` to `last` until it returns false.
    fn scan(&self, first: u64, last: u64, mut visit: impl FnMut(u64, &[u8]) -> bool) -> io::Result<()> {
        self.walk(first, last, &|_| Ok(()), |number, line| Ok(visit(number, line)))
    }

    fn reader_at<'a>(&'a self, offset: u64, pace: &'a dyn Fn(usize) -> io::Result<()>) -> BufReader<ReadFrom<'a>> {
        BufReader::with_capacity(
            PIECE,
            ReadFrom {
                text: &self.text,
                offset,
                pace,
            },
        )
    }
}

/// Where a text is.
#[derive(Debug)]
enum Content {
    /// A part of a file.
    File {
        file: Arc<File>,
        start: u64,
        end: u64,
    },
    Memory(Vec<u8>),
}

impl Content {
    fn length(&self) -> io::Result<u64> {
        match self {
            Self::File { file, start, end } => Ok(file.metadata()?.len().min(*end).saturating_sub(*start)),
            Self::Memory(text) => Ok(text.len() as u64),
        }
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        match self {
            Self::File { file, start, end } => {
                let at = start.saturating_add(offset);
                let left = usize::try_from(end.saturating_sub(at)).unwrap_or(usize::MAX);
                let most = left.min(buffer.len());
                file.read_at(buffer.get_mut(..most).unwrap_or_default(), at)
            }
            Self::Memory(text) => {
                let start = usize::try_from(offset).unwrap_or(usize::MAX).min(text.len());
                text.get(start..).unwrap_or_default().read(buffer)
            }
        }
    }
}

/// Writes to a file from an offset on.
struct CopyAt<'a> {
    file: &'a File,
    offset: u64,
}

impl io::Write for CopyAt<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.file.write_at(bytes, self.offset)?;
        self.offset += count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Reads a text from an offset on without moving its position, so that several look-ups may go on at once.
struct ReadFrom<'a> {
    text: &'a Content,
    offset: u64,
    pace: &'a dyn Fn(usize) -> io::Result<()>,
}

impl Read for ReadFrom<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.text.read_at(buffer, self.offset)?;
        self.offset += count as u64;
        (self.pace)(count)?;
        Ok(count)
    }
}

/// What reading a line took.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ReadLine {
    /// Bytes of the text, the line end included.
    pub bytes: u64,
    /// True when the line was longer than it could be.
    pub cut: bool,
}

/// Reads one line into `line`, without its line end and cut to `cap` bytes; says how many bytes the text went on by.
/// Nothing at the end of the text. NULs at its beginning are left out: a log that is truncated while its program goes on
/// writing where it was has a hole before its next line, of any size.
pub(crate) fn next_line(reader: &mut impl BufRead, line: &mut Vec<u8>, cap: usize) -> io::Result<Option<ReadLine>> {
    line.clear();
    let mut read = ReadLine::default();
    loop {
        let buffer = reader.fill_buf()?;
        if buffer.is_empty() {
            break;
        }
        let newline = memchr::memchr(b'\n', buffer);
        let part = buffer.get(..newline.unwrap_or(buffer.len())).unwrap_or_default();
        let used = part.len() + usize::from(newline.is_some());
        let part = if line.is_empty() { after_hole(part) } else { part };
        let room = cap.saturating_sub(line.len());
        read.cut |= part.len() > room;
        line.extend_from_slice(part.get(..room.min(part.len())).unwrap_or_default());
        reader.consume(used);
        read.bytes += used as u64;
        if newline.is_some() {
            break;
        }
    }
    if line.last() == Some(&b'\r') {
        line.pop();
    }
    Ok((read.bytes > 0).then_some(read))
}

/// What follows the NULs at the beginning.
pub(super) fn after_hole(bytes: &[u8]) -> &[u8] {
    let hole = bytes.iter().take_while(|byte| **byte == 0).count();
    bytes.get(hole..).unwrap_or_default()
}
