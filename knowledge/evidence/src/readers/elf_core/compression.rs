//! Cores are compressed on the way to where they are read: systemd-coredump writes zstd or lz4, people use gzip.

use std::io::{self, BufReader, Read};

/// A compression that a core may be wrapped in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Compression {
    Zstd,
    Gzip,
    Lz4,
}

impl Compression {
    /// Tells a compression by its magic number.
    pub(super) fn of(head: &[u8]) -> Option<Self> {
        match head {
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Some(Self::Zstd),
            [0x1f, 0x8b, ..] => Some(Self::Gzip),
            [0x04, 0x22, 0x4d, 0x18, ..] => Some(Self::Lz4),
            _ => None,
        }
    }

    /// What the compressed stream says.
    pub(super) fn decoder<'a>(self, stream: impl Read + 'a) -> io::Result<Box<dyn Read + 'a>> {
        let stream = BufReader::with_capacity(1 << 16, stream);
        Ok(match self {
            Self::Zstd => Box::new(zstd::stream::read::Decoder::with_buffer(stream)?),
            Self::Gzip => Box::new(flate2::bufread::MultiGzDecoder::new(stream)),
            Self::Lz4 => Box::new(lz4_flex::frame::FrameDecoder::new(stream)),
        })
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Zstd => "zstd",
            Self::Gzip => "gzip",
            Self::Lz4 => "lz4",
        }
    }
}
