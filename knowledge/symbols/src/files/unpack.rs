//! Unpacks a compressed section as far as it is asked for. Reading one unit of a debug file does not take what stands
//! behind it, and the C library's threads, for one, are in the first third of its units.

use std::ops::Range;

use flate2::{Decompress, FlushDecompress, Status};

use crate::files::shared::Shared;

/// A section in zlib's format, and the bytes that were unpacked from its start so far.
pub(crate) struct Unpacker {
    packed: Shared,
    /// Its size unpacked, as the file tells it; more is never unpacked.
    size: usize,
    decoder: Decompress,
    bytes: Vec<u8>,
    /// Nothing more comes: all is there, or the rest is damaged.
    ended: bool,
}

impl Unpacker {
    pub(crate) fn new(packed: Shared, size: usize) -> Self {
        Self {
            packed,
            size,
            decoder: Decompress::new(true),
            bytes: Vec::new(),
            ended: false,
        }
    }

    /// A part of the section, when it is all there.
    pub(crate) fn get(&mut self, range: Range<usize>) -> Option<&[u8]> {
        while self.bytes.len() < range.end && !self.ended {
            self.unpack_more(range.end);
        }
        self.bytes.get(range)
    }

    /// The whole section, as far as it can be unpacked.
    pub(crate) fn all(&mut self) -> &[u8] {
        while !self.ended {
            self.unpack_more(self.size);
        }
        &self.bytes
    }

    fn unpack_more(&mut self, end: usize) {
        let done = self.bytes.len();
        let room = (end.saturating_sub(done)).max(STEP).min(self.size.saturating_sub(done));
        self.bytes.reserve_exact(room);
        let input = usize::try_from(self.decoder.total_in()).unwrap_or(usize::MAX);
        let rest = self.packed.get(input..).unwrap_or_default();
        let status = self
            .decoder
            .decompress_vec(rest, &mut self.bytes, FlushDecompress::None);
        self.bytes.truncate(self.size);
        let advanced = self.bytes.len() > done && matches!(status, Ok(Status::Ok));
        self.ended = !advanced || self.bytes.len() == self.size;
    }
}

/// Bytes that are unpacked at least at a time.
const STEP: usize = 256 << 10;

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn packed(bytes: &[u8]) -> Shared {
        let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(bytes).expect("packs");
        encoder.finish().expect("packs").into()
    }

    #[test]
    fn parts_are_unpacked_in_any_order() {
        let bytes: Vec<u8> = (0..1_500_000_u32)
            .map(|number| (number.wrapping_mul(number) >> 7) as u8)
            .collect();
        let mut unpacker = Unpacker::new(packed(&bytes), bytes.len());
        for range in [10..20, 700_000..700_100, 0..4, 1_499_990..1_500_000] {
            assert_eq!(unpacker.get(range.clone()), bytes.get(range));
        }
        assert_eq!(unpacker.get(1_499_990..1_500_001), None);
        assert_eq!(unpacker.all(), bytes);
    }

    #[test]
    fn damage_ends_a_section_early() {
        let bytes = vec![7; 100_000];
        let whole = packed(&bytes);
        let cut: Shared = whole[..whole.len() / 2].to_vec().into();
        let mut unpacker = Unpacker::new(cut, bytes.len());
        assert_eq!(unpacker.get(99_000..100_000), None);
        assert!(unpacker.all().len() < bytes.len());
        // A size that is too small is believed: a section must not grow beyond what its file says.
        assert_eq!(Unpacker::new(whole, 50).all().len(), 50);
        assert_eq!(Unpacker::new(vec![1, 2, 3].into(), 50).all(), b"");
    }
}
