//! What is kept of a core that arrives as a stream: its non-zero pages, in memory up to a cap, then on disk.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use super::image::read_fully;

/// Granularity of keeping. Kernels write cores page by page, so zero pages are aligned to this.
pub(super) const PAGE: usize = 4096;

const ZEROS: [u8; PAGE] = [0; PAGE];

/// Most pages a sequence can have: their numbers are four bytes, which is 16 TiB.
const PAGES: u64 = u32::MAX as u64;

/// A sparse byte sequence, written front to back and then read anywhere.
#[derive(Debug)]
pub(super) struct Pages {
    /// Length of the whole sequence, zeros included.
    len: u64,
    /// Runs of kept pages, ascending.
    runs: Vec<Run>,
    /// Kept pages in the order of arrival, as far as they fit under `resident_cap`.
    resident: Vec<u8>,
    /// The others: an unlinked temporary file.
    spilled: Option<File>,
    /// Number of pages kept so far.
    kept: u32,
    /// Most bytes that `resident` may hold.
    resident_cap: usize,
    /// Most bytes that `spilled` may hold.
    spilled_cap: u64,
}

/// Consecutive kept pages: page `first` of the sequence is kept page `slot`, and so on up to the slot of the next run.
/// Eight bytes each, because there may be one for every second page of a core.
#[derive(Debug)]
struct Run {
    first: u32,
    slot: u32,
}

/// Why no more pages are kept.
#[derive(Debug)]
pub(super) enum Full {
    /// The cap on what is put on disk.
    Cap(u64),
    /// The disk itself.
    Disk(io::Error),
}

impl Pages {
    pub(super) fn new(resident_cap: u64, spilled_cap: u64) -> Self {
        Self {
            len: 0,
            runs: Vec::new(),
            resident: Vec::new(),
            spilled: None,
            kept: 0,
            resident_cap: usize::try_from(resident_cap).unwrap_or(usize::MAX) / PAGE * PAGE,
            spilled_cap,
        }
    }

    pub(super) fn len(&self) -> u64 {
        self.len
    }

    /// Appends bytes. Every call but the last must bring a whole number of pages.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Result<(), Full> {
        for page in bytes.chunks(PAGE) {
            if ZEROS.get(..page.len()) != Some(page) {
                self.keep(page)?;
            }
            self.len += page.len() as u64;
        }
        Ok(())
    }

    fn keep(&mut self, page: &[u8]) -> Result<(), Full> {
        let number = self.len / PAGE as u64;
        let spilled = (u64::from(self.kept) * PAGE as u64).saturating_sub(self.resident.len() as u64);
        let fits = self.resident.len() < self.resident_cap;
        if number >= PAGES || (!fits && spilled.saturating_add(PAGE as u64) > self.spilled_cap) {
            return Err(Full::Cap(self.spilled_cap));
        }
        if fits {
            self.resident.extend_from_slice(page);
            self.resident.resize(self.resident.len().next_multiple_of(PAGE), 0);
        } else {
            self.spill(page, spilled).map_err(Full::Disk)?;
        }
        let number = number as u32;
        let continues = |run: &Run| self.kept - run.slot == number - run.first;
        if !self.runs.last().is_some_and(continues) {
            self.runs.push(Run {
                first: number,
                slot: self.kept,
            });
        }
        self.kept += 1;
        Ok(())
    }

    fn spill(&mut self, page: &[u8], offset: u64) -> io::Result<()> {
        let file = match self.spilled.take() {
            Some(file) => file,
            None => tempfile::tempfile()?,
        };
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

    /// The slot of a page, when it is kept.
    fn slot(&self, number: u64) -> Option<u64> {
        let after = self.runs.partition_point(|run| u64::from(run.first) <= number);
        let run = self.runs.get(after.checked_sub(1)?)?;
        let end = self.runs.get(after).map_or(self.kept, |next| next.slot);
        let slot = u64::from(run.slot) + number - u64::from(run.first);
        (slot < u64::from(end)).then_some(slot)
    }

    /// Reads within one page; false when the disk failed.
    fn read_page(&self, number: u64, within: usize, part: &mut [u8]) -> bool {
        let Some(slot) = self.slot(number) else {
            part.fill(0);
            return true;
        };
        let at = slot * PAGE as u64 + within as u64;
        if let Some(kept) = usize::try_from(at)
            .ok()
            .and_then(|at| self.resident.get(at..at.checked_add(part.len())?))
        {
            part.copy_from_slice(kept);
            return true;
        }
        self.spilled
            .as_ref()
            .is_some_and(|file| read_fully(file, at - self.resident.len() as u64, part) == part.len())
    }
}
