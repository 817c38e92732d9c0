//! A look at a text that tells which words are not in it, without looking for them.
//!
//! Which runs of three letters a text has is known after one pass over it, for all words of all patterns together.

use serde_json::Value;

/// Bits of a glance.
const BITS: usize = 1 << 16;
/// Letters that are looked at together.
pub(crate) const RUN: usize = 3;

/// Which runs of letters a text has, as far as that fits in so many bits. Case does not count.
#[derive(Clone, Debug)]
pub(crate) struct Glance(Vec<u64>);

impl Default for Glance {
    fn default() -> Self {
        Self(vec![0; BITS / 64])
    }
}

impl Glance {
    pub(crate) fn of(text: &str, detail: &Value) -> Self {
        let mut glance = Self::default();
        glance.add_event(text, detail);
        glance
    }

    pub(crate) fn add_event(&mut self, text: &str, detail: &Value) {
        self.add(text);
        self.add_all(detail);
    }

    fn add_all(&mut self, value: &Value) {
        match value {
            Value::Array(items) => items.iter().for_each(|item| self.add_all(item)),
            Value::Object(members) => members.values().for_each(|member| self.add_all(member)),
            Value::String(text) => self.add(text),
            other => self.add(&other.to_string()),
        }
    }

    fn add(&mut self, text: &str) {
        for run in text.as_bytes().windows(RUN) {
            let bit = bit(run);
            self.0[bit / 64] |= 1 << (bit % 64);
        }
    }

    /// Whether the text may have a word. It certainly has not when this is false.
    pub(crate) fn may_have(&self, word: &[u8]) -> bool {
        word.windows(RUN).all(|run| {
            let bit = bit(run);
            self.0[bit / 64] >> (bit % 64) & 1 == 1
        })
    }
}

fn bit(run: &[u8]) -> usize {
    let folded = run.iter().fold(0_u32, |sum, byte| {
        sum.wrapping_mul(0x0100_0193) ^ u32::from(byte.to_ascii_lowercase()).wrapping_mul(0x9e37_79b1)
    });
    (folded >> 16) as usize % BITS
}
