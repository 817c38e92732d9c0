//! Which memory is in a core, and where.

use std::ops::Range;

/// A range of addresses whose bytes are in the core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Held {
    pub(super) start: u64,
    /// First address after it.
    pub(super) end: u64,
    /// Where its bytes are in the core.
    pub(super) offset: u64,
}

/// What holds an address, of ranges by ascending address.
pub(super) fn at(all: &[Held], address: u64) -> Option<&Held> {
    let after = all.partition_point(|held| held.start <= address);
    let held = all.get(after.checked_sub(1)?)?;
    (address < held.end).then_some(held)
}

/// What is left of it where only these ranges are true; both by ascending address.
pub(super) fn only(all: &[Held], ranges: &[Range<u64>]) -> Vec<Held> {
    let mut left = Vec::with_capacity(ranges.len());
    for range in ranges {
        let first = all.partition_point(|held| held.end <= range.start);
        let overlapping = all.get(first..).unwrap_or_default().iter();
        for held in overlapping.take_while(|held| held.start < range.end) {
            let (start, end) = (held.start.max(range.start), held.end.min(range.end));
            if start < end {
                left.push(Held {
                    start,
                    end,
                    offset: held.offset.saturating_add(start - held.start),
                });
            }
        }
    }
    left
}

#[cfg(test)]
mod tests {
    use super::{Held, at, only};

    #[test]
    fn what_is_left_is_where_it_was() {
        let held = |start, end, offset| Held { start, end, offset };
        let all = [held(10, 20, 100), held(20, 30, 500), held(40, 50, 600)];
        let left = only(&all, &[0..12, 15..25, 28..45, 60..70]);
        let expected = [
            held(10, 12, 100),
            held(15, 20, 105),
            held(20, 25, 500),
            held(28, 30, 508),
            held(40, 45, 600),
        ];
        assert_eq!(left, expected);
        assert_eq!(at(&left, 24), Some(&held(20, 25, 500)));
        assert_eq!(at(&left, 25), None);
        assert_eq!(at(&left, 9), None);
    }
}
