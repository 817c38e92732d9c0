//! The compressions that are undone on the way, each told from its first bytes.

use std::io::{self, BufRead, BufReader, Read};

/// Bytes that are read and decompressed at a time.
pub(super) const BUFFER_BYTES: usize = 256 << 10;

/// Bytes that tell how something is compressed.
pub(super) const MAGIC_BYTES: u64 = 10;

/// Largest window a Zstandard frame may ask for, as a power of two: what `zstd -d` itself allows (128 MiB).
const WINDOW_LOG_MAX: u32 = 27;

/// Memory that undoing an xz file may take, in KiB: a window of 128 MiB; `xz -9` asks for half of that.
#[cfg(feature = "unpack")]
const XZ_KIB: u32 = 132 << 10;

/// How bytes are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// Zstandard (RFC 8878).
    Zstd,
    /// Gzip (RFC 1952), possibly of several members.
    Gzip,
    /// LZ4 frame.
    Lz4,
    /// xz (The .xz File Format 1.2.1), possibly of several streams.
    #[cfg(feature = "unpack")]
    Xz,
    /// bzip2, possibly of several streams.
    #[cfg(feature = "unpack")]
    Bzip2,
}

impl Compression {
    /// How what starts with these bytes is compressed, if it is.
    pub fn detect(head: &[u8]) -> Option<Self> {
        match head {
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Some(Self::Zstd),
            [0x1f, 0x8b, 0x08, ..] => Some(Self::Gzip),
            [0x04, 0x22, 0x4d, 0x18, ..] => Some(Self::Lz4),
            #[cfg(feature = "unpack")]
            [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Some(Self::Xz),
            // Behind the size of its blocks stands how the first of them begins, or the end of an empty file.
            #[cfg(feature = "unpack")]
            [b'B', b'Z', b'h', b'1'..=b'9', block @ ..]
                if block.starts_with(b"\x31\x41\x59\x26\x53\x59") || block.starts_with(b"\x17\x72\x45\x38\x50\x90") =>
            {
                Some(Self::Bzip2)
            }
            _ => None,
        }
    }
}

/// Undoes a compression on the way.
///
/// # Errors
/// When the decompressor can not be made.
pub fn decoder<'a>(compression: Compression, source: impl BufRead + 'a) -> io::Result<Box<dyn BufRead + 'a>> {
    Ok(match compression {
        Compression::Zstd => {
            let mut decoder = zstd::Decoder::with_buffer(source)?;
            decoder.window_log_max(WINDOW_LOG_MAX)?;
            buffered(decoder)
        }
        Compression::Gzip => buffered(flate2::bufread::MultiGzDecoder::new(source)),
        Compression::Lz4 => buffered(Lz4Frames::new(source)),
        #[cfg(feature = "unpack")]
        Compression::Xz => buffered(Xz(lzma_rust2::XzReader::new_mem_limit(source, true, XZ_KIB))),
        #[cfg(feature = "unpack")]
        Compression::Bzip2 => buffered(bzip2::bufread::MultiBzDecoder::new(source)),
    })
}

fn buffered<'a>(decoder: impl Read + 'a) -> Box<dyn BufRead + 'a> {
    Box::new(BufReader::with_capacity(BUFFER_BYTES, decoder))
}

/// The streams of an xz file. One that asks for more memory than is given is a fault of the file, not of the machine.
#[cfg(feature = "unpack")]
struct Xz<R: Read>(lzma_rust2::XzReader<R>);

#[cfg(feature = "unpack")]
impl<R: Read> Read for Xz<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer).map_err(|error| match error.kind() {
            io::ErrorKind::OutOfMemory => io::Error::new(
                io::ErrorKind::InvalidData,
                "it asks for a window of more than 128 MiB: compress it with `xz -9` or less",
            ),
            _ => error,
        })
    }
}

/// All frames of an LZ4 file, one after the other, as `lz4 -d` reads them.
///
/// The decoder by itself ends with the first frame, and takes the end of a file between two blocks for the end of a
/// frame. A whole frame ends in four zero bytes, and four of checksum where it has one (LZ4 Frame Format, `EndMark`).
struct Lz4Frames<R: BufRead>(lz4_flex::frame::FrameDecoder<Tail<R>>);

impl<R: BufRead> Lz4Frames<R> {
    fn new(source: R) -> Self {
        let source = Tail { source, last: [1; 8] };
        Self(lz4_flex::frame::FrameDecoder::new(source))
    }
}

impl<R: BufRead> Read for Lz4Frames<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let read = self.0.read(buffer)?;
            if read > 0 || buffer.is_empty() {
                return Ok(read);
            }
            let source = self.0.get_mut();
            if source.source.fill_buf()?.is_empty() {
                return if source.ends_a_frame() {
                    Ok(0)
                } else {
                    Err(io::ErrorKind::UnexpectedEof.into())
                };
            }
        }
    }
}

/// Remembers the last bytes that were read.
struct Tail<R> {
    source: R,
    last: [u8; 8],
}

impl<R> Tail<R> {
    fn ends_a_frame(&self) -> bool {
        let [with_checksum, without] = [&self.last[..4], &self.last[4..]];
        with_checksum == [0; 4] || without == [0; 4]
    }
}

impl<R: Read> Read for Tail<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.source.read(buffer)?;
        for byte in buffer
            .get(read.saturating_sub(self.last.len())..read)
            .unwrap_or_default()
        {
            self.last.rotate_left(1);
            self.last[7] = *byte;
        }
        Ok(read)
    }
}
