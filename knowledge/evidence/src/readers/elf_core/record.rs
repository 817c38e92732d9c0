//! What was read of a core's memory, so that a minicore can hold just that.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

/// Pages of this many bytes are kept or not, whatever the machine's own are.
pub(super) const PAGE: u64 = 4096;
/// Bytes of a page that are told apart: a bit each, in a word a page.
const PIECE: u64 = PAGE / 64;

/// Notes which memory is read, in pieces of 64 bytes.
#[derive(Debug)]
pub(super) struct Record {
    /// Most pages that are noted.
    limit: usize,
    noted: Mutex<Noted>,
}

#[derive(Debug, Default)]
struct Noted {
    /// By the number of the page: which of its pieces.
    pages: BTreeMap<u64, u64>,
    is_cut: bool,
}

impl Record {
    /// Of at most so many bytes.
    pub(super) fn new(limit: u64) -> Self {
        Self {
            limit: usize::try_from(limit / PAGE).unwrap_or(usize::MAX),
            noted: Mutex::default(),
        }
    }

    /// Notes a range of memory.
    pub(super) fn note(&self, address: u64, len: u64) {
        let mut noted = self.noted.lock().unwrap_or_else(PoisonError::into_inner);
        let Noted { pages, is_cut } = &mut *noted;
        let (mut at, end) = (address, address.saturating_add(len));
        while at < end {
            let page = at / PAGE;
            let page_end = (page + 1).saturating_mul(PAGE).min(end);
            if pages.len() >= self.limit && !pages.contains_key(&page) {
                *is_cut = true;
                return;
            }
            *pages.entry(page).or_default() |= pieces(at % PAGE / PIECE, (page_end - 1) % PAGE / PIECE);
            at = page_end;
        }
    }

    /// What was noted, by ascending address, and whether there was more.
    pub(super) fn ranges(&self) -> (Vec<Range<u64>>, bool) {
        let noted = self.noted.lock().unwrap_or_else(PoisonError::into_inner);
        let mut ranges: Vec<Range<u64>> = Vec::new();
        for (page, pieces) in &noted.pages {
            for piece in (0..64).filter(|piece| pieces >> piece & 1 != 0) {
                let start = page * PAGE + piece * PIECE;
                match ranges.last_mut().filter(|before| before.end == start) {
                    Some(before) => before.end = start.saturating_add(PIECE),
                    None => ranges.push(start..start.saturating_add(PIECE)),
                }
            }
        }
        (ranges, noted.is_cut)
    }
}

/// The bits from the first to the last of these.
fn pieces(first: u64, last: u64) -> u64 {
    u64::MAX >> (63 - last) & u64::MAX << first
}

#[cfg(test)]
mod tests {
    use super::{PAGE, Record};

    #[test]
    fn neighbours_are_one_range() {
        let record = Record::new(1 << 20);
        record.note(0x1000, 1);
        record.note(0x103f, 2);
        record.note(0x2fff, 0x1002);
        record.note(0x5010, 0);
        assert_eq!(record.ranges(), (vec![0x1000..0x1080, 0x2fc0..0x4040], false));
    }

    #[test]
    fn what_goes_beyond_the_limit_is_said() {
        let record = Record::new(2 * PAGE);
        record.note(0, 2 * PAGE);
        record.note(8, 8);
        assert!(!record.ranges().1);
        record.note(2 * PAGE - 8, 16);
        let (ranges, is_cut) = record.ranges();
        assert_eq!((ranges.len(), &ranges[0], is_cut), (1, &(0..2 * PAGE), true));
        record.note(u64::MAX - 3, 100);
    }
}
