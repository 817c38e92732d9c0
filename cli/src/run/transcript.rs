//! What a job printed, as much of it as is worth keeping.

use std::collections::VecDeque;

/// Bytes kept of the beginning: how the job was set up.
const HEAD: usize = 1 << 20;
/// Bytes kept of the end: how it died. Small enough to stay in a processor's cache.
const TAIL: usize = 8 << 20;

/// The beginning and the end of a stream of any length.
#[derive(Clone, Debug, Default)]
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
    /// Adds what was printed.
    pub fn push(&mut self, bytes: &[u8]) {
        let (head, rest) = bytes.split_at(bytes.len().min(HEAD - self.head.len()));
        self.head.extend_from_slice(head);
        let excess = (self.tail.len() + rest.len()).saturating_sub(TAIL);
        self.dropped += excess as u64;
        self.tail.drain(..excess.min(self.tail.len()));
        self.tail
            .extend(rest.get(rest.len().saturating_sub(TAIL)..).unwrap_or_default());
    }

    /// Notes that so many bytes were printed here that nobody has.
    pub fn skip(&mut self, bytes: u64) {
        if bytes > 0 {
            self.push(gap(bytes).as_bytes());
        }
    }

    /// Everything kept, with a line that says how much is not.
    pub fn finish(self) -> Vec<u8> {
        let mut bytes = self.head;
        if self.dropped > 0 {
            bytes.extend(gap(self.dropped).bytes());
        }
        bytes.extend(self.tail);
        bytes
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
            let kept = transcript.finish();
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
        assert_eq!(transcript.finish(), b"no newline at the end");
    }
}
