//! What is kept of a core that arrives as a stream: its non-zero pages, in memory up to a cap, then on disk.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use super::image::read_fully;

/// Granularity of keeping. Kernels write cores page by page, so zero pages are aligned to this.
pub(super) const PAGE: usize = 4096;

/// A sparse byte sequence, written front to back and then read anywhere.
#[derive(Debug)]
pub(super) struct Pages {
    /// Length of the whole sequence, zeros included.
    len: u64,
    /// Runs of kept pages, ascending.
    runs: Vec<Run>,
    /// Kept pages in the order of arrival, as far as they fit under `cap`.
    resident: Vec<u8>,
    /// The others: an unlinked temporary file.
    spilled: Option<File>,
    /// Number of pages kept so far.
    kept: u64,
    /// Most bytes that `resident` may hold.
    cap: usize,
}

/// `count` consecutive kept pages: page `first` of the sequence is kept page `slot`.
#[derive(Debug)]
struct Run {
    first: u64,
    count: u64,
    slot: u64,
}

impl Pages {
    pub(super) fn new(cap: u64) -> Self {
        let cap = usize::try_from(cap).unwrap_or(usize::MAX) / PAGE * PAGE;
        Self {
            len: 0,
            runs: Vec::new(),
            resident: Vec::new(),
            spilled: None,
            kept: 0,
            cap,
        }
    }

    pub(super) fn len(&self) -> u64 {
        self.len
    }

    /// Appends bytes. Every call but the last must bring a whole number of pages.
    pub(super) fn push(&mut self, bytes: &[u8]) -> io::Result<()> {
        for page in bytes.chunks(PAGE) {
            if page.iter().any(|byte| *byte != 0) {
                self.keep(page)?;
            }
            self.len += page.len() as u64;
        }
        Ok(())
    }

    fn keep(&mut self, page: &[u8]) -> io::Result<()> {
        let number = self.len / PAGE as u64;
        match self.runs.last_mut() {
            Some(run) if run.first + run.count == number => run.count += 1,
            _ => self.runs.push(Run {
                first: number,
                count: 1,
                slot: self.kept,
            }),
        }
        if self.resident.len() < self.cap {
            self.resident.extend_from_slice(page);
            self.resident.resize(self.resident.len().next_multiple_of(PAGE), 0);
        } else {
            self.spill(page)?;
        }
        self.kept += 1;
        Ok(())
    }

    fn spill(&mut self, page: &[u8]) -> io::Result<()> {
        let file = match self.spilled.take() {
            Some(file) => file,
            None => tempfile::tempfile()?,
        };
        let offset = self.kept * PAGE as u64 - self.resident.len() as u64;
        let written = file.write_all_at(page, offset);
        self.spilled = Some(file);
        written
    }

    /// Fills `buffer` from `offset` on; says how many bytes there were.
    pub(super) fn read_at(&self, offset: u64, buffer: &mut [u8]) -> usize {
        let available = self.len.saturating_sub(offset).min(buffer.len() as u64) as usize;
        let mut done = 0;
        while done < available {
            let at = offset + done as u64;
            let within = (at % PAGE as u64) as usize;
            let count = (PAGE - within).min(available - done);
            let Some(part) = buffer.get_mut(done..done + count) else {
                break;
            };
            if !self.read_page(at / PAGE as u64, within, part) {
                break;
            }
            done += count;
        }
        done
    }

    /// Reads within one page; false when the disk failed.
    fn read_page(&self, number: u64, within: usize, part: &mut [u8]) -> bool {
        let after = self.runs.partition_point(|run| run.first <= number);
        let run = after.checked_sub(1).and_then(|index| self.runs.get(index));
        let Some(run) = run.filter(|run| number < run.first + run.count) else {
            part.fill(0);
            return true;
        };
        let at = (run.slot + number - run.first) * PAGE as u64 + within as u64;
        if let Some(kept) = usize::try_from(at)
            .ok()
            .and_then(|at| self.resident.get(at..at + part.len()))
        {
            part.copy_from_slice(kept);
            return true;
        }
        self.spilled
            .as_ref()
            .is_some_and(|file| read_fully(file, at - self.resident.len() as u64, part) == part.len())
    }
}
