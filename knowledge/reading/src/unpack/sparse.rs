//! Sparse files of tar, of which only the parts that are not zero are stored.

use std::io::{self, Read};

/// The content of a sparse file, of which only the parts that are not zero are stored one behind the other.
pub(super) struct Holed<R> {
    stored: R,
    /// Where the parts are in the file, and how many bytes they have; the last one first.
    parts: Vec<(u64, u64)>,
    at: u64,
    size: u64,
}

impl<R: Read> Holed<R> {
    /// A file of so many bytes with these parts, if they are in order and within it.
    pub(super) fn new(stored: R, mut parts: Vec<(u64, u64)>, size: u64) -> Option<Self> {
        let mut end = 0;
        for (start, length) in &parts {
            if *start < end {
                return None;
            }
            end = start.checked_add(*length)?;
        }
        parts.retain(|(_, length)| *length > 0);
        parts.reverse();
        (end <= size).then_some(Self {
            stored,
            parts,
            at: 0,
            size,
        })
    }
}

impl<R: Read> Read for Holed<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let most = |bytes: u64| usize::try_from(bytes).unwrap_or(usize::MAX).min(buffer.len());
        let next = self.parts.last_mut();
        let hole_end = next.as_ref().map_or(self.size, |(start, _)| *start);
        if self.at < hole_end {
            let count = most(hole_end - self.at);
            buffer.get_mut(..count).unwrap_or_default().fill(0);
            self.at += count as u64;
            return Ok(count);
        }
        let Some((start, length)) = next else { return Ok(0) };
        let count = most(*length);
        let read = self.stored.read(buffer.get_mut(..count).unwrap_or_default())?;
        self.at += read as u64;
        *start += read as u64;
        *length -= read as u64;
        if *length == 0 {
            self.parts.pop();
        }
        Ok(read)
    }
}
