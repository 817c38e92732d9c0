//! Windows into text artifacts, for people who read logs.

use std::ops::RangeInclusive;
use std::sync::{Arc, Mutex, PoisonError};

use whycrash_evidence::readers::Lines;
use whycrash_evidence::{Artifact, Limits};

use crate::store::sqlite::blocking;
use crate::store::{Digest, LocalBlob, Result};

/// Artifacts kept open: finding the lines of a large log costs a pass over it.
const KEPT: usize = 16;
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
}

/// A text artifact with its lines found; the blob's copy lives as long as it does.
#[derive(Debug)]
struct Open {
    lines: Lines,
    _blob: LocalBlob,
}

/// The artifacts that were looked at last.
#[derive(Debug, Default)]
pub struct LineCache {
    open: Mutex<Vec<(Digest, Arc<Mutex<Open>>)>>,
}

impl LineCache {
    /// Lines `range` of an artifact, fewer if they are more than a window holds; none if it is no text.
    pub async fn window(
        self: &Arc<Self>,
        name: &str,
        digest: &Digest,
        blob: LocalBlob,
        range: RangeInclusive<u64>,
    ) -> Result<Option<Window>> {
        let (cache, name, digest) = (Arc::clone(self), name.to_owned(), digest.clone());
        blocking(move || {
            let open = cache.open(&name, &digest, blob)?;
            // A file has one position, so readers of the same artifact take turns.
            let open = open.lock().unwrap_or_else(PoisonError::into_inner);
            Ok(window(&open.lines, range)?)
        })
        .await
    }

    fn open(&self, name: &str, digest: &Digest, blob: LocalBlob) -> Result<Arc<Mutex<Open>>> {
        if let Some(known) = self.kept().iter().find(|(kept, _)| kept == digest) {
            return Ok(Arc::clone(&known.1));
        }
        let lines = Lines::open(&Artifact::new(name, &blob.path), &Limits::default())?;
        let opened = Arc::new(Mutex::new(Open { lines, _blob: blob }));
        let mut kept = self.kept();
        if kept.len() == KEPT {
            kept.remove(0);
        }
        kept.push((digest.clone(), Arc::clone(&opened)));
        Ok(opened)
    }

    fn kept(&self) -> std::sync::MutexGuard<'_, Vec<(Digest, Arc<Mutex<Open>>)>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn window(lines: &Lines, range: RangeInclusive<u64>) -> std::io::Result<Option<Window>> {
    // Text has no NUL; what is binary has one early.
    if lines.range(1, 1)?.first().is_some_and(|line| line.contains('\0')) {
        return Ok(None);
    }
    let (first, last) = range.into_inner();
    let last = last.min(first.saturating_add(MAX_LINES - 1));
    let mut left = MAX_BYTES;
    let mut found = lines.range(first, last)?;
    let fit = found.iter().take_while(|line| {
        let fits = line.len() <= left;
        left = left.saturating_sub(line.len());
        fits
    });
    let fit = fit.count();
    found.truncate(fit);
    Ok(Some(Window {
        lines: found,
        total: lines.count(),
    }))
}
