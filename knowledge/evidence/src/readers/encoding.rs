//! Text that is not plain UTF-8: with a byte order mark, or in UTF-16.
//!
//! Windows writes it: PowerShell puts what a command says into a file as UTF-16, and editors put a mark before UTF-8.

use std::io::{self, BufRead, Read};

use super::kind::is_text;

/// Bytes of the beginning that are looked at to tell UTF-16 without a mark.
const LOOKED_AT: usize = 4096;
/// Bytes of UTF-16 that must be there to tell it without a mark.
const LEAST: usize = 32;

/// How the bytes of a text stand for characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Encoding {
    /// UTF-8, or no text at all: the bytes stay as they are.
    AsIs,
    /// UTF-8 behind a mark.
    MarkedUtf8,
    /// UTF-16, possibly behind a mark.
    Utf16(ByteOrder),
}

/// Which byte of a unit comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ByteOrder {
    Little,
    Big,
}

impl ByteOrder {
    fn unit(self, bytes: [u8; 2]) -> u16 {
        match self {
            Self::Little => u16::from_le_bytes(bytes),
            Self::Big => u16::from_be_bytes(bytes),
        }
    }
}

impl Encoding {
    /// What a text that begins with these bytes is written in. Without a mark it is UTF-16 only where all that is looked
    /// at is: letters, signs and line ends of ASCII, each with a zero byte.
    pub(super) fn detect(head: &[u8]) -> Self {
        let marked = match head {
            [0xef, 0xbb, 0xbf, ..] => return Self::MarkedUtf8,
            [0xff, 0xfe, text @ ..] => Some((ByteOrder::Little, text)),
            [0xfe, 0xff, text @ ..] => Some((ByteOrder::Big, text)),
            _ => None,
        };
        if let Some((order, text)) = marked {
            let mut decoded = Vec::new();
            let _ = Utf16::new(text, order).take(LOOKED_AT as u64).read_to_end(&mut decoded);
            let is_utf16 = decoded.is_empty() || is_text(&decoded);
            return if is_utf16 { Self::Utf16(order) } else { Self::AsIs };
        }
        let (units, _) = head
            .get(..LOOKED_AT.min(head.len()))
            .unwrap_or_default()
            .as_chunks::<2>();
        let is_plain = |order: ByteOrder| {
            let plain = |unit: &[u8; 2]| matches!(order.unit(*unit), 0x09 | 0x0a | 0x0d | 0x1b | 0x20..=0x7e);
            units.len() * 2 >= LEAST && units.iter().all(plain)
        };
        let order = [ByteOrder::Little, ByteOrder::Big]
            .into_iter()
            .find(|order| is_plain(*order));
        order.map_or(Self::AsIs, Self::Utf16)
    }

    /// The text in UTF-8, without a mark.
    pub(super) fn decoder<'a>(self, mut text: Box<dyn BufRead + 'a>) -> Box<dyn BufRead + 'a> {
        match self {
            Self::AsIs => text,
            Self::MarkedUtf8 => {
                // It is there, and if it can not be read, whoever reads on meets the same error.
                let _ = text.read_exact(&mut [0; 3]);
                text
            }
            Self::Utf16(order) => Box::new(io::BufReader::new(Utf16::new(text, order))),
        }
    }
}

/// Makes UTF-8 of UTF-16. What is no character becomes U+FFFD, and a mark is left out wherever it stands.
struct Utf16<R> {
    source: R,
    order: ByteOrder,
    /// First byte of a unit whose second one has not come.
    odd: Option<u8>,
    /// First half of a pair whose second one has not come.
    half: Option<u16>,
    /// UTF-8 that was not taken yet, from this place on.
    ready: Vec<u8>,
    taken: usize,
}

/// The mark (U+FEFF).
const MARK: u16 = 0xfeff;
/// Bytes of UTF-16 that are decoded at a time.
const PIECE: usize = 16 << 10;

impl<R: BufRead> Utf16<R> {
    fn new(source: R, order: ByteOrder) -> Self {
        Self {
            source,
            order,
            odd: None,
            half: None,
            ready: Vec::new(),
            taken: 0,
        }
    }

    /// Decodes the next bytes; false at the end.
    fn refill(&mut self) -> io::Result<bool> {
        self.ready.clear();
        self.taken = 0;
        let bytes = self.source.fill_buf()?;
        let count = bytes.len().min(PIECE);
        let mut units = Vec::with_capacity(count / 2 + 2);
        units.extend(self.half.take());
        for byte in bytes.get(..count).unwrap_or_default() {
            match self.odd.take() {
                Some(first) => units.push(self.order.unit([first, *byte])),
                None => self.odd = Some(*byte),
            }
        }
        self.source.consume(count);
        let is_end = count == 0;
        if !is_end {
            self.half = units.pop_if(|last| (0xd800..0xdc00).contains(last));
        }
        let characters = char::decode_utf16(units.into_iter().filter(|unit| *unit != MARK));
        let mut text: String = characters.map(|it| it.unwrap_or(char::REPLACEMENT_CHARACTER)).collect();
        if is_end && self.odd.take().is_some() {
            text.push(char::REPLACEMENT_CHARACTER);
        }
        self.ready = text.into_bytes();
        Ok(!is_end || !self.ready.is_empty())
    }
}

impl<R: BufRead> Read for Utf16<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.taken == self.ready.len() {
            if !self.refill()? {
                return Ok(0);
            }
        }
        let mut rest = self.ready.get(self.taken..).unwrap_or_default();
        let count = rest.read(buffer)?;
        self.taken += count;
        Ok(count)
    }
}
