//! What a job printed, as much of it as is worth keeping.

use std::borrow::Cow;
use std::collections::VecDeque;

/// Bytes kept of the beginning: how the job was set up.
const HEAD: usize = 1 << 20;
/// Bytes kept of the end: how it died. Small enough to stay in a processor's cache.
const TAIL: usize = 8 << 20;

/// The beginning and the end of a stream of any length.
#[derive(Debug, Default)]
pub struct Transcript {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    dropped: u64,
}

/// Where bytes are missing.
fn gap(bytes: u64) -> String {
    format!("\n[whycrash: {bytes} bytes of output left out here]\n")
}

impl Transcript {
    /// Adds what was printed. Where memory has no room for as much as is worth keeping, less is kept.
    pub fn push(&mut self, bytes: &[u8]) {
        let (head, rest) = bytes.split_at(self.fit_of_head(bytes.len()));
        self.head.extend_from_slice(head);
        let room = self.room_of_tail(rest.len());
        let excess = (self.tail.len() + rest.len()).saturating_sub(room);
        self.dropped += excess as u64;
        self.tail.drain(..excess.min(self.tail.len()));
        self.tail
            .extend(rest.get(rest.len().saturating_sub(room)..).unwrap_or_default());
    }

    /// How many of so many bytes belong to the beginning.
    fn fit_of_head(&mut self, bytes: usize) -> usize {
        let fit = bytes.min(HEAD - self.head.len());
        let goes_on = self.tail.is_empty() && self.dropped == 0;
        if goes_on && self.head.try_reserve(fit).is_ok() {
            fit
        } else {
            0
        }
    }

    /// How long the end may be when so many bytes come.
    fn room_of_tail(&mut self, bytes: usize) -> usize {
        let more = bytes.min(TAIL.saturating_sub(self.tail.len()));
        let _ = self.tail.try_reserve(more);
        self.tail.capacity().min(TAIL)
    }

    /// Notes that so many bytes were printed here that nobody has.
    pub fn skip(&mut self, bytes: u64) {
        if bytes > 0 {
            self.push(gap(bytes).as_bytes());
        }
    }

    /// The same once more; none where memory has no room for it.
    pub fn copy(&self) -> Option<Self> {
        let mut head = Vec::new();
        head.try_reserve_exact(self.head.len()).ok()?;
        head.extend_from_slice(&self.head);
        let mut tail = VecDeque::new();
        tail.try_reserve_exact(self.tail.len()).ok()?;
        tail.extend(&self.tail);
        Some(Self {
            head,
            tail,
            dropped: self.dropped,
        })
    }

    /// Everything kept, in pieces, with a line that says how much is not.
    pub fn pieces(&self) -> [Cow<'_, [u8]>; 4] {
        let left_out = if self.dropped > 0 {
            gap(self.dropped).into_bytes()
        } else {
            Vec::new()
        };
        let (older, newer) = self.tail.as_slices();
        [self.head.as_slice().into(), left_out.into(), older.into(), newer.into()]
    }
}

#[cfg(test)]
mod tests {
    use super::{HEAD, TAIL, Transcript};

    #[test]
    fn the_beginning_and_the_end_are_kept() {
        let numbered: Vec<u8> = (0u32..).flat_map(u32::to_le_bytes).take(HEAD + TAIL + 5000).collect();
        for chunk in [1000, 65_536, numbered.len()] {
            let mut transcript = Transcript::default();
            numbered.chunks(chunk).for_each(|bytes| transcript.push(bytes));
            let kept = transcript.pieces().concat();
            assert!(kept.starts_with(&numbered[..HEAD]), "chunks of {chunk}");
            assert!(kept.ends_with(&numbered[numbered.len() - TAIL..]), "chunks of {chunk}");
            let note = String::from_utf8_lossy(&kept[HEAD..kept.len() - TAIL]);
            assert_eq!(
                note, "\n[whycrash: 5000 bytes of output left out here]\n",
                "chunks of {chunk}"
            );
        }
    }

    #[test]
    fn short_output_is_kept_as_it_is() {
        let mut transcript = Transcript::default();
        transcript.push(b"no newline at the end");
        assert_eq!(transcript.pieces().concat(), b"no newline at the end");
    }
}
