//! How much the grammars may work.
//!
//! A line that is like one before costs next to nothing, but a text may be made of nothing but failures that differ.
//! The grammars take some lines whatever the text, and then a share of its bytes; each rule has some lines for itself,
//! so that a flood of one kind does not silence another. It is counted, not timed: the same text always gives the same
//! evidence.

/// Lines that the grammars take of any text.
const LINES: u64 = 60_000;
/// Of a long text, one line for so many bytes more.
const BYTES_A_LINE: u64 = 1024;
/// Lines that each rule has for itself.
const RESERVE: u64 = 256;
/// A long line counts as several.
const LINE_BYTES: u64 = 256;
/// And so does one that told of nothing new: it counts as so many more.
const NOTHING_NEW: u64 = 3;

/// Rules, as the bits of a number.
pub type RuleSet = u64;

#[derive(Debug)]
pub struct Allowance {
    left: u64,
    /// Bytes that have not made a line yet.
    bytes: u64,
    reserves: [u64; RuleSet::BITS as usize],
    /// Lines that were not read.
    pub refused: u64,
}

impl Allowance {
    pub fn new() -> Self {
        Self {
            left: LINES,
            bytes: 0,
            reserves: [RESERVE; RuleSet::BITS as usize],
            refused: 0,
        }
    }

    /// So many bytes of the text have come.
    pub fn earn(&mut self, bytes: u64) {
        self.bytes += bytes;
        self.left += self.bytes / BYTES_A_LINE;
        self.bytes %= BYTES_A_LINE;
    }

    /// Allows what is left of the text anew.
    pub fn refresh(&mut self) {
        *self = Self {
            refused: self.refused,
            ..Self::new()
        };
    }

    /// A line that was read told of something, and of nothing new.
    pub fn told_nothing_new(&mut self) {
        self.left = self.left.saturating_sub(NOTHING_NEW);
    }

    /// Whether these rules may read a line of so many bytes.
    pub fn spend(&mut self, rules: RuleSet, bytes: usize) -> bool {
        let cost = 1 + bytes as u64 / LINE_BYTES;
        if let Some(left) = self.left.checked_sub(cost) {
            self.left = left;
            return true;
        }
        let own = self.reserves.iter_mut().enumerate();
        for (_, reserve) in own.filter(|(rule, _)| rules >> rule & 1 == 1) {
            if let Some(left) = reserve.checked_sub(cost) {
                *reserve = left;
                return true;
            }
        }
        self.refused += 1;
        false
    }
}
