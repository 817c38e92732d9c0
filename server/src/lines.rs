//! Windows into text artifacts, for people who read logs.
//!
//! Whether an artifact is text is told from its first bytes: a core of tens of GB is never unpacked for this. A text is
//! unpacked and its lines found once, by whom it is asked for first; who asks for another one does not wait for that.

use std::ops::RangeInclusive;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{OnceCell, Semaphore};
use whycrash_evidence::readers::{Input, Lines, detect};
use whycrash_evidence::{Artifact, ArtifactKind, Limits};

use crate::documents::EvidenceText;
use crate::store::sqlite::blocking;
use crate::store::{Digest, LocalBlob, Result, StoreError};

/// Artifacts kept open: finding the lines of a large log costs a pass over it.
const KEPT: usize = 64;
/// Bytes of unpacked texts that are kept on the disk.
const KEPT_BYTES: u64 = 8 << 30;
/// Bytes that one text is unpacked to; what comes after is not shown.
const UNPACKED_BYTES: u64 = 2 << 30;
/// Bytes of one text whose lines are found.
const TEXT_BYTES: u64 = 16 << 30;
/// Texts that are unpacked, or have their lines found, at one time.
const OPENED_AT_ONCE: usize = 2;
/// Most lines of one window.
const MAX_LINES: u64 = 2000;
/// Most bytes of one window.
const MAX_BYTES: usize = 4 << 20;

/// Some lines of an artifact.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Window {
    /// The lines, without line ends.
    pub lines: Vec<String>,
    /// How many lines the artifact has.
    pub total: u64,
    /// False when there are more, which are not looked at or can not be unpacked.
    pub complete: bool,
}

/// A text artifact with its lines found; the copies of the blobs that it is read from live as long as it does.
#[derive(Debug)]
struct Text {
    lines: whycrash_reading::Text,
    blobs: Vec<LocalBlob>,
    /// Bytes that it takes on the disk beside those.
    unpacked_bytes: u64,
}

/// Nothing for what is no text.
type Cell = Arc<OnceCell<Option<Text>>>;

/// The artifacts that were looked at last.
#[derive(Debug)]
pub struct LineCache {
    /// Those looked at last are at the end.
    kept: Mutex<Vec<(String, Cell)>>,
    opening: Arc<Semaphore>,
}

impl Default for LineCache {
    fn default() -> Self {
        Self {
            kept: Mutex::default(),
            opening: Arc::new(Semaphore::new(OPENED_AT_ONCE)),
        }
    }
}

impl LineCache {
    /// Lines `range` of an artifact, fewer if they are more than a window holds; none if it is no text.
    pub async fn window(
        &self,
        name: &str,
        digest: &Digest,
        blob: LocalBlob,
        range: RangeInclusive<u64>,
    ) -> Result<Option<Window>> {
        let artifact = Artifact::new(name, &blob.path);
        let open = || {
            self.open(move || {
                let limits = limits();
                if !is_text(&Input::open(&artifact, &limits)?) {
                    return Ok(None);
                }
                let lines = Lines::open(&artifact, &limits)?;
                Ok(Some(Text {
                    unpacked_bytes: lines.unpacked_bytes(),
                    lines: whycrash_reading::Text::new(artifact.name, lines),
                    blobs: vec![blob],
                }))
            })
        };
        let cell = self.cell(digest.as_str());
        cell.get_or_try_init(open).await?;
        self.window_of(cell, range).await
    }

    /// The same of a text that is stored with the evidence.
    pub async fn stored_window(&self, stored: EvidenceText, range: RangeInclusive<u64>) -> Result<Option<Window>> {
        let EvidenceText { key, text, blobs } = stored;
        let open = || {
            self.open(move || {
                let unpacked_bytes = text.lines()?.bytes();
                Ok(Some(Text {
                    lines: text,
                    blobs,
                    unpacked_bytes,
                }))
            })
        };
        let cell = self.cell(&key);
        cell.get_or_try_init(open).await?;
        self.window_of(cell, range).await
    }

    async fn window_of(&self, cell: Cell, range: RangeInclusive<u64>) -> Result<Option<Window>> {
        self.make_room();
        blocking(move || match cell.get() {
            Some(Some(text)) => Ok(Some(window(text.lines.lines()?, range)?)),
            _ => Ok(None),
        })
        .await
    }

    /// Opens a text when it is its turn.
    async fn open(&self, open: impl FnOnce() -> Result<Option<Text>> + Send + 'static) -> Result<Option<Text>> {
        let permit = Arc::clone(&self.opening).acquire_owned().await;
        let permit = permit.map_err(|error| StoreError::Failed(error.to_string()))?;
        blocking(move || {
            // Held to the end of the work, which goes on when nobody waits for it any more.
            let _permit = permit;
            open()
        })
        .await
    }

    /// The place of an artifact, which is then the last one looked at.
    fn cell(&self, key: &str) -> Cell {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let known = kept.iter().position(|(known, _)| known == key);
        let entry = known.map_or_else(|| (key.to_owned(), Cell::default()), |index| kept.remove(index));
        let cell = Arc::clone(&entry.1);
        kept.push(entry);
        cell
    }

    /// Closes artifacts whose blobs were removed, so that their space is free.
    pub fn forget_removed(&self) {
        let is_there = |cell: &Cell| match cell.get() {
            Some(Some(text)) => text.blobs.iter().all(|blob| blob.path.exists()),
            _ => true,
        };
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|(_, cell)| is_there(cell));
    }

    /// Forgets what was looked at longest ago until the rest fits. Who reads in it at this moment goes on.
    fn make_room(&self) {
        let bytes = |cell: &Cell| match cell.get() {
            Some(Some(text)) => text.unpacked_bytes,
            _ => 0,
        };
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let mut held: u64 = kept.iter().map(|(_, cell)| bytes(cell)).sum();
        while kept.len() > KEPT || held > KEPT_BYTES {
            let (_, cell) = kept.remove(0);
            held -= bytes(&cell);
        }
    }
}

fn limits() -> Limits {
    Limits {
        spilled_bytes: UNPACKED_BYTES,
        text_bytes: TEXT_BYTES,
        ..Limits::default()
    }
}

/// Whether an artifact is text, or shown as one, as far as its first bytes tell: its first line has no NUL, and no reader
/// knows it as something else.
fn is_text(input: &Input) -> bool {
    let first_line = input.head().split(|byte| *byte == b'\n').next().unwrap_or_default();
    match detect(input.head()) {
        ArtifactKind::ElfCore | ArtifactKind::GpuCore | ArtifactKind::Minidump | ArtifactKind::Tfevents => false,
        ArtifactKind::WandbRun => true,
        _ => !first_line.contains(&0),
    }
}

fn window(lines: &Lines, range: RangeInclusive<u64>) -> std::io::Result<Window> {
    let (first, last) = range.into_inner();
    let last = last.min(first.saturating_add(MAX_LINES - 1));
    Ok(Window {
        lines: lines.range_within(first, last, MAX_BYTES)?,
        total: lines.count(),
        complete: lines.problems().is_empty(),
    })
}
