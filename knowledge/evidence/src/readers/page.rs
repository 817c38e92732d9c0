//! Pickles that an HTML page carries: `torch.cuda._memory_viz` writes plots of memory snapshots as pages with the whole
//! snapshot in them, as base64 in a list of files.

use std::io::{self, BufRead, Read};

use base64::engine::general_purpose::STANDARD;
use base64::{DecodeError, DecodeSliceError, Engine as _};
use memchr::memmem;

/// What stands before the data, white space apart.
const MARK: &[u8] = b"\"base64\"";
/// Base64 decoded at a time; whole groups of four.
const PIECE_BYTES: usize = 32 << 10;

/// The first bytes of the data in a page of which `head` is the beginning; `None` for anything else.
pub(super) fn data_head(head: &[u8]) -> Option<Vec<u8>> {
    let text = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head).trim_ascii_start();
    if text.first() != Some(&b'<') {
        return None;
    }
    let mut data = Vec::new();
    // What comes before damage is enough to tell by; whoever reads the data meets it again.
    let _ = Data::new(text).read_to_end(&mut data);
    Some(data)
}

/// The data in a page, decoded as it is read.
#[derive(Debug)]
pub(super) struct Data<R> {
    page: R,
    is_found: bool,
    is_over: bool,
    /// Base64 not yet decoded: less than a group after each reading.
    encoded: Vec<u8>,
    decoded: Vec<u8>,
    /// Bytes of `decoded` that have been given.
    given: usize,
    /// What stands where base64 should, once everything before it has been given.
    damage: Option<DecodeSliceError>,
}

impl<R: BufRead> Data<R> {
    /// The data of the first file that a page carries.
    pub(super) fn new(page: R) -> Self {
        Self {
            page,
            is_found: false,
            is_over: false,
            encoded: Vec::with_capacity(PIECE_BYTES),
            decoded: vec![0; PIECE_BYTES],
            given: 0,
            damage: None,
        }
    }

    /// Goes to the beginning of the data. A page without any is like an empty file.
    fn find(&mut self) -> io::Result<()> {
        self.is_found = true;
        // Less than the mark is kept from one piece to the next, as it may lie across.
        let mut seen: Vec<u8> = Vec::new();
        loop {
            let before = seen.len();
            let piece = self.page.fill_buf()?;
            let piece = &piece[..piece.len().min(PIECE_BYTES)];
            if piece.is_empty() {
                break;
            }
            let length = piece.len();
            seen.extend_from_slice(piece);
            if let Some(at) = memmem::find(&seen, MARK) {
                self.page.consume((at + MARK.len()).saturating_sub(before));
                return self.open();
            }
            self.page.consume(length);
            seen.drain(..seen.len().saturating_sub(MARK.len() - 1));
        }
        self.is_over = true;
        Ok(())
    }

    /// Goes on to behind the quote that opens the data.
    fn open(&mut self) -> io::Result<()> {
        loop {
            match self.byte()? {
                Some(b':' | b' ' | b'\t' | b'\r' | b'\n') => {}
                Some(b'"') => return Ok(()),
                _ => {
                    self.is_over = true;
                    return Ok(());
                }
            }
        }
    }

    fn byte(&mut self) -> io::Result<Option<u8>> {
        let byte = self.page.fill_buf()?.first().copied();
        self.page.consume(usize::from(byte.is_some()));
        Ok(byte)
    }

    /// Takes and decodes the next piece. Where the page ends in the middle of a group, so does the data.
    fn fill(&mut self) -> io::Result<()> {
        while !self.is_over && self.encoded.len() < PIECE_BYTES {
            let room = PIECE_BYTES - self.encoded.len();
            let piece = self.page.fill_buf()?;
            let piece = &piece[..piece.len().min(room)];
            let end = memchr::memchr(b'"', piece);
            self.is_over = piece.is_empty() || end.is_some();
            let text = &piece[..end.unwrap_or(piece.len())];
            // Whoever saves a page may wrap its lines; JSON may write `/` as `\/`.
            let data = text
                .iter()
                .filter(|byte| !byte.is_ascii_whitespace() && **byte != b'\\');
            self.encoded.extend(data);
            let taken = text.len();
            self.page.consume(taken);
        }
        let mut groups = self.encoded.len() / 4 * 4;
        self.decoded.resize(PIECE_BYTES, 0);
        let decode = |encoded: &[u8], decoded: &mut [u8]| STANDARD.decode_slice(encoded, decoded);
        let mut count = decode(&self.encoded[..groups], &mut self.decoded);
        if let Err(damage) = count {
            groups = match damage {
                DecodeSliceError::DecodeError(DecodeError::InvalidByte(at, _)) => at / 4 * 4,
                _ => 0,
            };
            self.damage = Some(damage);
            count = decode(&self.encoded[..groups], &mut self.decoded);
        }
        self.decoded.truncate(count.unwrap_or(0));
        self.given = 0;
        self.encoded.drain(..groups);
        Ok(())
    }
}

impl<R: BufRead> Read for Data<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if !self.is_found {
            self.decoded.clear();
            self.find()?;
        }
        if self.given >= self.decoded.len() {
            if let Some(damage) = &self.damage {
                let message = format!("what the page carries is no base64: {damage}");
                return Err(io::Error::new(io::ErrorKind::InvalidData, message));
            }
            if self.is_over {
                return Ok(0);
            }
            self.fill()?;
        }
        let rest = &self.decoded[self.given..];
        if rest.is_empty() && self.damage.is_some() {
            return self.read(buffer);
        }
        let count = rest.len().min(buffer.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        self.given += count;
        Ok(count)
    }
}
