//! What a minicore says about itself, in a note of its own: which bytes of its pages are those of the process.
//!
//! Words of 64 bits: the version (1), whether memory that is needed was left out (0 or 1), the bytes that the full core
//! held, and then pairs of first address and first address after it, ascending.

use std::ops::Range;

use super::little_endian::u64_at;
use crate::Problem;

const VERSION: u64 = 1;
const HEAD_WORDS: usize = 3;

/// Which bytes of a minicore are those of the process; in between, its pages are blank.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Kept {
    /// Whether memory was left out that is needed.
    pub(super) is_cut: bool,
    /// Bytes of memory that the full core held.
    pub(super) full: u64,
    /// By ascending address.
    pub(super) ranges: Vec<Range<u64>>,
}

impl Kept {
    /// Reads the note; nothing of a version to come. Ranges that are not in order end it.
    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        if u64_at(bytes, 0)? != VERSION {
            return None;
        }
        let pairs = bytes.get(HEAD_WORDS * 8..)?.chunks_exact(16);
        let mut end = 0;
        let ranges = pairs.map_while(|pair| {
            let range = u64_at(pair, 0)?..u64_at(pair, 8)?;
            let is_next = end <= range.start && range.start < range.end;
            end = range.end;
            is_next.then_some(range)
        });
        Some(Self {
            ranges: ranges.collect(),
            is_cut: u64_at(bytes, 8)? != 0,
            full: u64_at(bytes, 16)?,
        })
    }

    /// The note.
    pub(super) fn write(&self) -> Vec<u8> {
        let head = [VERSION, u64::from(self.is_cut), self.full];
        let ranges = self.ranges.iter().flat_map(|range| [range.start, range.end]);
        head.into_iter().chain(ranges).flat_map(u64::to_le_bytes).collect()
    }

    /// Says so where memory was left out.
    pub(super) fn problem(&self) -> Option<Problem> {
        self.is_cut.then(|| {
            Problem::new(
                "minicore-cut",
                "the minicore lacks memory that its stacks lead to: there was more than one keeps, or the core that it was \
                 made of ended early",
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Kept;

    #[test]
    fn what_is_written_is_read_and_disorder_ends_it() {
        let kept = Kept {
            is_cut: true,
            full: 4711,
            ranges: vec![0x1000..0x1040, 0x1040..0x2000, 0x8000..0x8001],
        };
        assert_eq!(Kept::parse(&kept.write()), Some(kept.clone()));
        let mut wild = kept.clone();
        wild.ranges[1] = 0x1020..0x3000;
        let read = Kept::parse(&wild.write()).expect("a note");
        assert_eq!(read.ranges, kept.ranges[..1]);
        assert_eq!(Kept::parse(&[2, 0, 0, 0, 0, 0, 0, 0]), None);
        assert_eq!(Kept::parse(b"short"), None);
    }
}
