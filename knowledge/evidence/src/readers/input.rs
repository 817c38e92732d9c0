//! One view of an artifact's bytes, whether they are compressed or not.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read, Seek, SeekFrom};

use super::compression::{BUFFER_BYTES, Compression, MAGIC_BYTES, decoder};
use super::encoding::Encoding;
use super::lines::after_hole;
use crate::{Artifact, Limits, Problem};

/// Bytes of the head that [`Input::head`] keeps, enough to tell every format apart.
const HEAD_BYTES: u64 = 64 << 10;

/// Bytes of a hole at the beginning of a log behind which its text is looked for.
const HOLE_BYTES: u64 = 4 << 30;

/// Compressions, one in the other, that are undone: what is packed more often is packed to hurt.
const COMPRESSIONS: usize = 2;

/// An artifact opened for reading, with its compression undone on the way, and text as UTF-8.
#[derive(Debug)]
pub struct Input {
    name: String,
    file: File,
    stored_bytes: u64,
    /// How the bytes are packed, outermost first.
    compressions: Vec<Compression>,
    encoding: Encoding,
    head: Vec<u8>,
    decompressed_limit: u64,
    expansion_ratio: u64,
    spilled_limit: u64,
}

impl Input {
    /// Opens an artifact and looks at its first bytes. A head that can not be decompressed is an empty head: the
    /// reader meets the same error again and reports it with what could be read before it.
    ///
    /// # Errors
    /// When the file can not be opened or read, or is no regular file.
    pub fn open(artifact: &Artifact, limits: &Limits) -> io::Result<Self> {
        let file = File::open(&artifact.path)?;
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
        }
        let mut input = Self {
            name: artifact.name.clone(),
            file,
            stored_bytes: metadata.len(),
            compressions: Vec::new(),
            encoding: Encoding::AsIs,
            head: Vec::new(),
            decompressed_limit: limits.decompressed_bytes,
            expansion_ratio: limits.expansion_ratio,
            spilled_limit: limits.spilled_bytes,
        };
        let mut head = input.first_bytes()?;
        while let Some(compression) = Compression::detect(&head)
            && input.compressions.len() < COMPRESSIONS
        {
            input.compressions.push(compression);
            head = input.first_bytes()?;
        }
        input.encoding = Encoding::detect(&head);
        if input.encoding != Encoding::AsIs {
            head = input.first_bytes()?;
        }
        if head.iter().all(|byte| *byte == 0) && head.len() as u64 == HEAD_BYTES {
            input.head_after_hole(&mut head);
        }
        input.head = head;
        Ok(input)
    }

    /// As many of the first bytes as can be had.
    fn first_bytes(&self) -> io::Result<Vec<u8>> {
        let mut head = Vec::new();
        let _ = self.stream()?.take(HEAD_BYTES).read_to_end(&mut head);
        Ok(head)
    }

    /// The first bytes behind nothing but NULs; left as it is where there are none.
    fn head_after_hole(&self, head: &mut Vec<u8>) {
        let Ok(stream) = self.stream() else { return };
        let mut stream = stream.take(HOLE_BYTES);
        while let Ok(buffer) = stream.fill_buf() {
            let (length, rest) = (buffer.len(), after_hole(buffer).len());
            if rest > 0 {
                stream.consume(length - rest);
                head.clear();
                let _ = stream.take(HEAD_BYTES).read_to_end(head);
                return;
            }
            if length == 0 {
                return;
            }
            stream.consume(length);
        }
    }

    /// The artifact's name within its report.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Size of the artifact as stored, in bytes.
    pub fn stored_bytes(&self) -> u64 {
        self.stored_bytes
    }

    /// Whether what the compressions that are undone leave is compressed once more.
    pub fn is_compressed_deeper(&self) -> bool {
        Compression::detect(&self.head).is_some()
    }

    /// The first decompressed bytes (up to 64 KiB), those of a text behind the hole that it starts with.
    pub fn head(&self) -> &[u8] {
        &self.head
    }

    /// The file itself when its bytes are what is read: for readers that want `pread`
    /// ([`std::os::unix::fs::FileExt::read_at`]) and `SEEK_DATA`.
    pub fn plain_file(&self) -> Option<&File> {
        (self.compressions.is_empty() && self.encoding == Encoding::AsIs).then_some(&self.file)
    }

    /// The decompressed bytes from the start. A stream that would give more than [`Limits::decompressed_bytes`], or
    /// [`Limits::expansion_ratio`] times what is stored, ends in an error that [`read_problem`] names.
    ///
    /// Only one stream of an input may be in use at a time: all share the file's position.
    ///
    /// # Errors
    /// When the file can not be rewound, or the decompressor can not be made.
    pub fn stream(&self) -> io::Result<Stream<'_>> {
        let (left, limit) = self.expansion();
        self.stream_of(left, limit)
    }

    /// The decompressed bytes of an archive, of which whoever unpacks it counts what each member takes: it ends at
    /// [`Limits::decompressed_bytes`] alone.
    ///
    /// # Errors
    /// Those of [`Self::stream`].
    pub fn archive_stream(&self) -> io::Result<Stream<'_>> {
        self.stream_of(self.decompressed_limit, ExpansionLimit::Bytes)
    }

    fn stream_of(&self, left: u64, limit: ExpansionLimit) -> io::Result<Stream<'_>> {
        (&self.file).seek(SeekFrom::Start(0))?;
        let mut reader: Box<dyn BufRead + '_> = Box::new(BufReader::with_capacity(BUFFER_BYTES, &self.file));
        for compression in &self.compressions {
            reader = decoder(*compression, reader)?;
        }
        let reader = self.encoding.decoder(reader);
        Ok(Stream { reader, left, limit })
    }

    /// How many bytes a stream may give, and which limit says so.
    fn expansion(&self) -> (u64, ExpansionLimit) {
        let by_ratio = self
            .stored_bytes
            .saturating_mul(self.expansion_ratio)
            .max(ALWAYS_ALLOWED_BYTES);
        let sparse = self.compressions.is_empty() || self.head.starts_with(b"\x7fELF");
        if sparse || by_ratio >= self.decompressed_limit {
            (self.decompressed_limit, ExpansionLimit::Bytes)
        } else {
            (by_ratio, ExpansionLimit::Ratio)
        }
    }

    /// The decompressed bytes as a file to seek in: the artifact itself, or an unlinked temporary copy of at most
    /// [`Limits::spilled_bytes`].
    ///
    /// # Errors
    /// When the artifact can not be read to its end or the copy can not be written. What could be read until then
    /// is in the copy, given beside the error.
    pub fn seekable(&self) -> io::Result<(File, Option<io::Error>)> {
        if let Some(file) = self.plain_file() {
            return Ok((file.try_clone()?, None));
        }
        let mut copy = tempfile::tempfile()?;
        let mut stream = self.stream()?;
        if stream.left > self.spilled_limit {
            (stream.left, stream.limit) = (self.spilled_limit, ExpansionLimit::Spilled);
        }
        let torn = io::copy(&mut stream, &mut copy).err();
        Ok((copy, torn))
    }
}

/// The decompressed bytes of what can not be rewound, such as a pipe.
///
/// # Errors
/// When it can not be read, or the decompressor can not be made.
pub(super) fn decompressed<'a>(mut pipe: impl Read + 'a, limits: &Limits) -> io::Result<Stream<'a>> {
    let mut magic = Vec::with_capacity(MAGIC_BYTES as usize);
    (&mut pipe).take(MAGIC_BYTES).read_to_end(&mut magic)?;
    let compression = Compression::detect(&magic);
    let whole = Cursor::new(magic).chain(BufReader::with_capacity(BUFFER_BYTES, pipe));
    Ok(Stream {
        reader: match compression {
            Some(compression) => decoder(compression, whole)?,
            None => Box::new(whole),
        },
        left: limits.decompressed_bytes,
        limit: ExpansionLimit::Bytes,
    })
}

/// What a compressed artifact may become whatever its ratio: a log of one line repeated is no attack.
pub const ALWAYS_ALLOWED_BYTES: u64 = 64 << 20;

/// The decompressed bytes of an [`Input`].
pub struct Stream<'a> {
    reader: Box<dyn BufRead + 'a>,
    left: u64,
    limit: ExpansionLimit,
}

impl std::fmt::Debug for Stream<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Stream")
            .field("left", &self.left)
            .finish_non_exhaustive()
    }
}

impl Read for Stream<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let available = self.fill_buf()?;
        let count = available.len().min(buffer.len());
        if let (Some(to), Some(from)) = (buffer.get_mut(..count), available.get(..count)) {
            to.copy_from_slice(from);
        }
        self.consume(count);
        Ok(count)
    }
}

impl BufRead for Stream<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        let available = self.reader.fill_buf()?;
        if self.left == 0 && !available.is_empty() {
            return Err(io::Error::other(self.limit));
        }
        let count = available.len().min(usize::try_from(self.left).unwrap_or(usize::MAX));
        Ok(available.get(..count).unwrap_or_default())
    }

    fn consume(&mut self, count: usize) {
        self.reader.consume(count);
        self.left = self.left.saturating_sub(count as u64);
    }
}

/// Decompression would give more than a limit allows.
#[derive(Clone, Copy, Debug, thiserror::Error)]
enum ExpansionLimit {
    /// [`Limits::decompressed_bytes`].
    #[error("the artifact decompresses to more than the limit allows")]
    Bytes,
    /// [`Limits::spilled_bytes`].
    #[error("the artifact decompresses to more than is put aside for it on disk")]
    Spilled,
    /// [`Limits::expansion_ratio`].
    #[error("the artifact decompresses to far more than its size")]
    Ratio,
}

/// Code of the problem of an artifact for which this machine had no memory.
pub const NO_MEMORY: &str = "no-memory";

/// Names the error that ended a [`Stream`].
pub fn read_problem(error: &io::Error) -> Problem {
    match error.get_ref().and_then(|inner| inner.downcast_ref()) {
        Some(ExpansionLimit::Bytes) => {
            return Problem::new(
                "limit-decompressed-bytes",
                "the artifact decompresses to more bytes than the limit allows; what came before the limit was read",
            );
        }
        Some(ExpansionLimit::Spilled) => {
            return Problem::new(
                "limit-spilled-bytes",
                "the artifact decompresses to more bytes than are put aside for it on disk; what came before was read: \
                 give it uncompressed, which is read in place",
            );
        }
        Some(ExpansionLimit::Ratio) => {
            return Problem::new(
                "limit-expansion-ratio",
                "the artifact decompresses to so many times its size that it can be no log or snapshot; what came \
                 before the limit was read: give it uncompressed to have all of it read",
            );
        }
        None => {}
    }
    if error.kind() == io::ErrorKind::OutOfMemory {
        return Problem::new(
            NO_MEMORY,
            "this machine has no memory left to read the artifact: try it where there is more",
        );
    }
    match error.kind() {
        io::ErrorKind::UnexpectedEof => Problem::new(
            "truncated",
            "the compressed artifact ends early; what could be decompressed was read: upload the whole file again",
        ),
        io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput | io::ErrorKind::Other => Problem::new(
            "damaged-compression",
            format!("the artifact can not be decompressed ({error}); what came before the damage was read"),
        ),
        _ => Problem::new("unreadable", format!("the artifact can not be read: {error}")),
    }
}
