//! What a job printed, as much of it as is worth keeping.

use std::collections::VecDeque;
use std::io::{self, Write};

/// Bytes kept of the beginning: how the job was set up.
const HEAD: usize = 1 << 20;
/// Bytes kept of the end: how it died. Small enough to stay in a processor's cache.
const TAIL: usize = 8 << 20;
/// Bytes that are given back when memory has no room for more: what little is asked for after that must be had, since
/// whoever fails to get it ends, and the job with it.
const SPARE: usize = 64 << 10;

/// The beginning and the end of a stream of any length.
#[derive(Debug, Default)]
pub struct Transcript {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    dropped: u64,
    /// Taken until memory is short.
    spare: Vec<u8>,
    /// Memory was short: what is held grows no more.
    is_full: bool,
}

/// The line where bytes are missing. It is on the stack: it may be needed where there is no memory.
#[derive(Debug)]
struct Gap {
    text: [u8; 80],
    length: usize,
}

impl Gap {
    fn of(bytes: u64) -> Self {
        let mut text = [0; 80];
        let size = text.len();
        let mut left = text.as_mut_slice();
        // It fits, whatever the number.
        let _ = write!(left, "\n[whycrash: {bytes} bytes of output left out here]\n");
        let length = size - left.len();
        Self { text, length }
    }

    fn bytes(&self) -> &[u8] {
        self.text.get(..self.length).unwrap_or_default()
    }
}

impl Transcript {
    /// An empty one, with memory put aside for when there is no more.
    pub fn with_spare() -> Self {
        Self {
            spare: Vec::with_capacity(SPARE),
            ..Self::default()
        }
    }

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
        if !self.is_full && self.tail.try_reserve(more).is_err() {
            self.is_full = true;
            self.spare = Vec::new();
        }
        self.tail.capacity().min(TAIL)
    }

    /// Notes that so many bytes were printed here that nobody has.
    pub fn skip(&mut self, bytes: u64) {
        if bytes > 0 {
            self.push(Gap::of(bytes).bytes());
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
            ..Self::default()
        })
    }

    /// Bytes that [`Self::write_to`] writes.
    pub fn length(&self) -> u64 {
        let gap = self.gap().map_or(0, |gap| gap.length);
        (self.head.len() + gap + self.tail.len()) as u64
    }

    /// Writes everything kept, with a line that says how much is not.
    pub fn write_to(&self, to: &mut impl Write) -> io::Result<()> {
        to.write_all(&self.head)?;
        if let Some(gap) = self.gap() {
            to.write_all(gap.bytes())?;
        }
        let (older, newer) = self.tail.as_slices();
        to.write_all(older)?;
        to.write_all(newer)
    }

    fn gap(&self) -> Option<Gap> {
        (self.dropped > 0).then(|| Gap::of(self.dropped))
    }
}

#[cfg(test)]
mod tests {
    use super::{Gap, HEAD, TAIL, Transcript};

    fn kept(transcript: &Transcript) -> Vec<u8> {
        let mut kept = Vec::new();
        transcript.write_to(&mut kept).unwrap();
        assert_eq!(transcript.length(), kept.len() as u64);
        kept
    }

    #[test]
    fn the_line_about_a_gap_is_whole_whatever_is_missing() {
        for bytes in [1, u64::MAX] {
            let line = format!("\n[whycrash: {bytes} bytes of output left out here]\n");
            assert_eq!(Gap::of(bytes).bytes(), line.as_bytes());
        }
    }

    #[test]
    fn the_beginning_and_the_end_are_kept() {
        let numbered: Vec<u8> = (0u32..).flat_map(u32::to_le_bytes).take(HEAD + TAIL + 5000).collect();
        for chunk in [1000, 65_536, numbered.len()] {
            let mut transcript = Transcript::default();
            numbered.chunks(chunk).for_each(|bytes| transcript.push(bytes));
            let kept = kept(&transcript);
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
        assert_eq!(kept(&transcript), b"no newline at the end");
    }
}
