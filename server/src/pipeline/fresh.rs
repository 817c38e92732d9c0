//! Entries for the index that are at hand.
//!
//! Who has diagnosed a report has all of it in memory, and leaves here what the index holds of it. So the indexer, which
//! comes a moment later, need not load and unpack what is stored. Where there is nothing here the same is made of that.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::search::IndexDocument;
use crate::store::ReportId;

/// Bytes of text that wait here, give or take one report: what some thousand small reports have.
pub const BYTES: usize = 16 << 20;
/// How long an entry is kept: what the indexer has not asked for by then, it has made by itself.
const AGE: Duration = Duration::from_secs(60);

/// The entries of reports that were diagnosed lately.
#[derive(Debug, Default)]
pub struct Fresh(Mutex<Entries>);

#[derive(Debug, Default)]
struct Entries {
    by_report: HashMap<ReportId, Entry>,
    bytes: usize,
}

#[derive(Debug)]
struct Entry {
    /// Of the diagnosis.
    version: u64,
    made: Instant,
    bytes: usize,
    document: Box<IndexDocument>,
}

impl Fresh {
    /// Keeps the entry of a report whose diagnosis of this version has become true, while there is room.
    pub fn put(&self, version: u64, document: Box<IndexDocument>) {
        let mut entries = self.entries();
        entries.remove(&document.id);
        if entries.bytes > BYTES {
            entries.forget_old();
        }
        if entries.bytes > BYTES {
            return;
        }
        let bytes = document.text.iter().map(String::len).sum();
        entries.bytes += bytes;
        let entry = Entry {
            version,
            made: Instant::now(),
            bytes,
            document,
        };
        entries.by_report.insert(entry.document.id.clone(), entry);
    }

    /// The entry of a report, if it was made of this version of its diagnosis.
    pub fn take(&self, report: &ReportId, version: u64) -> Option<Box<IndexDocument>> {
        let entry = self.entries().remove(report)?;
        (entry.version == version && entry.made.elapsed() < AGE).then_some(entry.document)
    }

    /// Forgets all of them: titles come from pages, which may be others by now.
    pub fn clear(&self) {
        *self.entries() = Entries::default();
    }

    fn entries(&self) -> MutexGuard<'_, Entries> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Entries {
    fn remove(&mut self, report: &ReportId) -> Option<Entry> {
        let entry = self.by_report.remove(report)?;
        self.bytes -= entry.bytes;
        Some(entry)
    }

    fn forget_old(&mut self) {
        self.by_report.retain(|_, entry| entry.made.elapsed() < AGE);
        self.bytes = self.by_report.values().map(|entry| entry.bytes).sum();
    }
}
