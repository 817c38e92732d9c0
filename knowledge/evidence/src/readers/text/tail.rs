//! The last lines of a text.
//!
//! Once a text has more failures than are kept, its lines are looked at late: those that are still here when it ends
//! are read with fresh allowances. How a job ended stands in the last lines, whatever flooded the log before.

use std::collections::VecDeque;

use super::allowance::RuleSet;

/// What is kept.
const LINES: usize = 4096;
const BYTES: usize = 256 << 10;

#[derive(Debug, Default)]
pub struct Tail {
    /// The lines, one after the other, after some that have gone.
    bytes: Vec<u8>,
    gone: usize,
    /// Number and length of each, and the rules of which it has a literal.
    lines: VecDeque<(u64, usize, RuleSet)>,
}

impl Tail {
    /// Adds a line.
    pub fn push(&mut self, number: u64, raw: &[u8], rules: RuleSet) {
        if self.gone >= BYTES {
            self.bytes.drain(..self.gone);
            self.gone = 0;
        }
        self.bytes.extend_from_slice(raw);
        self.lines.push_back((number, raw.len(), rules));
    }

    /// Whether there is more than is kept.
    pub fn is_over(&self) -> bool {
        self.lines.len() > LINES || self.bytes.len() - self.gone > BYTES
    }

    /// Takes the oldest line out, into `raw`; gives its number and its rules.
    pub fn pop(&mut self, raw: &mut Vec<u8>) -> Option<(u64, RuleSet)> {
        let (number, length, rules) = self.lines.pop_front()?;
        let end = self.gone + length;
        raw.clear();
        raw.extend_from_slice(self.bytes.get(self.gone..end).unwrap_or_default());
        self.gone = end;
        Some((number, rules))
    }
}
