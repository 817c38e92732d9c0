//! How large an xz stream is unpacked, by what its chunks say of themselves: the decoder keeps whatever they make, and
//! a hundred KiB can make a GiB of it. Format: xz 1.2.1 (`xz-file-format.txt`), and the chunks of LZMA2.

/// Size of the stream header: magic bytes, flags, checksum.
const STREAM_HEADER: usize = 12;

/// Bytes that the blocks of a stream unpack to; nothing when it is damaged.
pub(crate) fn unpacked_size(stream: &[u8]) -> Option<u64> {
    let check = match stream.get(7)? & 15 {
        0 => 0,
        kind => 4 << ((kind - 1) / 3),
    };
    let mut at = STREAM_HEADER;
    let mut size = 0;
    // The size of a block's header is in units of four bytes; 0 starts the index.
    while let words @ 1.. = *stream.get(at)? {
        at += (usize::from(words) + 1) * 4;
        size += block(stream, &mut at)?;
        at = at.next_multiple_of(4) + check;
    }
    Some(size)
}

/// The chunks of one block, and its end.
fn block(stream: &[u8], at: &mut usize) -> Option<u64> {
    let half = |at: usize| {
        let bytes = stream.get(at..)?.first_chunk()?;
        Some(u64::from(u16::from_be_bytes(*bytes)) + 1)
    };
    let mut size = 0;
    loop {
        let control = *stream.get(*at)?;
        let (unpacked, length) = match control {
            0 => {
                *at += 1;
                return Some(size);
            }
            // Bytes as they are.
            1..0x80 => (half(*at + 1)?, 3 + half(*at + 1)?),
            // Compressed, the upper bits of the size in the control byte; from 0xc0 on with properties.
            _ => {
                let unpacked = (u64::from(control & 0x1f) << 16) + half(*at + 1)?;
                (unpacked, 5 + u64::from(control >= 0xc0) + half(*at + 3)?)
            }
        };
        size += unpacked;
        *at += length as usize;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_those_of_the_decoder() {
        for length in [0, 1, 100, 70_000, 300_000] {
            let bytes: Vec<u8> = (0..length).map(|number: u32| (number >> 3) as u8).collect();
            let mut packed = Vec::new();
            lzma_rs::xz_compress(&mut bytes.as_slice(), &mut packed).expect("packs");
            assert_eq!(unpacked_size(&packed), Some(u64::from(length)));
            for end in 0..packed.len().min(100) {
                unpacked_size(packed.get(..end).unwrap_or_default());
            }
        }
    }

    #[test]
    fn chunks_say_what_they_become() {
        let mut stream = vec![0; STREAM_HEADER];
        stream.extend([2; 12]);
        // Chunks that reset everything, of 2 MiB from one byte each.
        for _ in 0..40 {
            stream.extend([0xff, 0xff, 0xff, 0, 0, 0x5d, 0]);
        }
        stream.extend([0; 8]);
        assert_eq!(unpacked_size(&stream), Some(40 << 21));
    }
}
