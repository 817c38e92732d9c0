//! Unpacking xz streams of a bounded size.

use crate::shared::Shared;

/// Most bytes that a stream may unpack to; libc's packed symbol table has a quarter of a MiB.
const MAX_UNPACKED: u64 = 256 << 20;

/// What a stream unpacks to; nothing when it is damaged or too large. The decoder keeps all it has unpacked before it
/// writes any, so that a limit on what it may write would come too late.
pub(crate) fn unpack(stream: &[u8]) -> Option<Shared> {
    unpacked_size(stream).filter(|size| *size <= MAX_UNPACKED)?;
    let mut unpacked = Vec::new();
    lzma_rs::xz_decompress(&mut &*stream, &mut unpacked).ok()?;
    Some(unpacked.into())
}

/// Sum of the sizes that the chunks of a stream give for themselves, which a decoder keeps to (the .xz file format 1.2,
/// sections 2 and 3; LZMA2 chunks as in `linux/lib/xz/xz_dec_lzma2.c`).
fn unpacked_size(stream: &[u8]) -> Option<u64> {
    const HEADER: usize = 12;
    let check = match stream.get(7)? & 0xf {
        0 => 0,
        1 => 4,
        4 => 8,
        10 => 32,
        _ => return None,
    };
    let mut rest = stream.get(HEADER..)?;
    let mut sum = 0;
    // A header size of zero is the start of the index.
    while let Some(words) = rest.first().filter(|words| **words != 0) {
        let header = (usize::from(*words) + 1) * 4;
        let (packed, unpacked) = chunks(rest.get(header..)?)?;
        rest = rest.get(header + packed.next_multiple_of(4) + check..)?;
        sum += unpacked;
    }
    Some(sum)
}

/// Bytes of the LZMA2 chunks of a block, packed and unpacked.
fn chunks(block: &[u8]) -> Option<(usize, u64)> {
    let (mut at, mut unpacked) = (0, 0);
    let word = |at: usize| {
        let bytes = block.get(at..at + 2)?;
        Some(u64::from(u16::from_be_bytes(bytes.try_into().ok()?)))
    };
    loop {
        let control = *block.get(at)?;
        let (header, packed, size) = match control {
            0 => return Some((at + 1, unpacked)),
            // Not compressed.
            1 | 2 => (3, word(at + 1)? + 1, word(at + 1)? + 1),
            0x80.. => {
                let properties = usize::from(control >= 0xc0);
                let size = (u64::from(control & 0x1f) << 16) + word(at + 1)? + 1;
                (5 + properties, word(at + 3)? + 1, size)
            }
            _ => return None,
        };
        at += header + packed as usize;
        unpacked += size;
    }
}

#[cfg(test)]
mod tests {
    use super::{MAX_UNPACKED, unpack, unpacked_size};

    #[test]
    fn the_size_is_known_before() {
        for bytes in [vec![], vec![7; 100], vec![1; 200_000]] {
            let mut packed = Vec::new();
            lzma_rs::xz_compress(&mut &*bytes, &mut packed).expect("packs");
            assert_eq!(unpacked_size(&packed), Some(bytes.len() as u64));
            assert_eq!(unpack(&packed).as_deref(), Some(&*bytes));
            for length in 0..packed.len().min(60) {
                assert!(unpack(&packed[..length]).is_none(), "{length}");
            }
        }
    }

    #[test]
    fn what_would_be_too_large_is_not_begun() {
        let mut stream = b"\xfd7zXZ\0\0\x01....".to_vec();
        stream.extend([2, 0, 0x21, 1, 22, 0, 0, 0, 0, 0, 0, 0]);
        // Chunks of 2 MiB out of one byte each.
        let count = MAX_UNPACKED / (2 << 20) + 1;
        stream.extend([0xff, 0xff, 0xff, 0, 0, 93, 0].repeat(count as usize));
        stream.extend([0; 20]);
        assert_eq!(unpacked_size(&stream), Some(count * (2 << 20)));
        assert!(unpack(&stream).is_none());
    }
}
