//! The byte stream under the machine: buffered, counted, and never ahead of what the input really has.

use std::io::Read;

use super::Stop;

/// Large enough to make system calls rare, small enough to stay in the second-level cache.
const BUFFER: usize = 256 << 10;

/// Reads fixed-size arguments out of a buffer, and long strings piece by piece.
#[derive(Debug)]
pub(super) struct Source<R> {
    input: R,
    buffer: Box<[u8]>,
    start: usize,
    end: usize,
    /// Bytes handed out before `buffer[start]`.
    before: u64,
}

impl<R: Read> Source<R> {
    pub fn new(input: R) -> Self {
        Self {
            input,
            buffer: vec![0; BUFFER].into_boxed_slice(),
            start: 0,
            end: 0,
            before: 0,
        }
    }

    /// Bytes consumed so far.
    pub fn offset(&self) -> u64 {
        self.before + self.start as u64
    }

    pub fn byte(&mut self) -> Result<u8, Stop> {
        if self.start == self.end {
            self.refill(1)?;
        }
        let byte = self.buffer.get(self.start).copied().ok_or(Stop::Truncated)?;
        self.start += 1;
        Ok(byte)
    }

    /// The next `N` bytes.
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], Stop> {
        if self.end - self.start < N {
            self.refill(N)?;
        }
        let bytes = self.buffer[self.start..self.end]
            .first_chunk::<N>()
            .copied()
            .ok_or(Stop::Truncated)?;
        self.start += N;
        Ok(bytes)
    }

    /// Puts the next `length` bytes into `into`, which grows only as bytes really arrive.
    pub fn bytes(&mut self, length: usize, into: &mut Vec<u8>) -> Result<(), Stop> {
        into.clear();
        while into.len() < length {
            if self.start == self.end {
                self.refill(1)?;
            }
            let piece = (length - into.len()).min(self.end - self.start);
            into.extend_from_slice(&self.buffer[self.start..self.start + piece]);
            self.start += piece;
        }
        Ok(())
    }

    /// Makes at least `wanted` bytes available; `wanted` is at most the buffer's size.
    fn refill(&mut self, wanted: usize) -> Result<(), Stop> {
        self.buffer.copy_within(self.start..self.end, 0);
        self.before += self.start as u64;
        self.end -= self.start;
        self.start = 0;
        while self.end < wanted {
            match self.input.read(&mut self.buffer[self.end..]) {
                Ok(0) => return Err(Stop::Truncated),
                Ok(read) => self.end += read,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                // A decompressor says so when its input is cut off: to a reader that is the same as an early end.
                Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => return Err(Stop::Truncated),
                Err(error) => return Err(Stop::Io(error)),
            }
        }
        Ok(())
    }
}
