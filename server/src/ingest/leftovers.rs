//! What uploads leave in the folder of files that are still coming in.

use std::fs;
use std::path::PathBuf;

use jiff::Timestamp;

use super::Ingest;
use crate::store::sqlite::blocking;
use crate::store::{Digest, ReportId, Result, StoreError};

/// A file that is still coming in, or was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leftover {
    /// The report and the digest of the artifact it is a part of; none for an upload in one go.
    pub part: Option<(ReportId, Digest)>,
    /// Its size.
    pub bytes: u64,
    /// When something came last.
    pub touched: Timestamp,
    path: PathBuf,
}

impl Ingest {
    /// The files that are there.
    pub async fn leftovers(&self) -> Result<Vec<Leftover>> {
        let folder = self.staging.folder().to_owned();
        blocking(move || {
            let mut leftovers = Vec::new();
            for entry in fs::read_dir(folder)? {
                let path = entry?.path();
                // One that goes away meanwhile is not left over.
                let Ok(about) = fs::metadata(&path) else { continue };
                let touched = Timestamp::try_from(about.modified()?);
                leftovers.push(Leftover {
                    part: part_of(&path),
                    bytes: about.len(),
                    touched: touched.map_err(|error| StoreError::Damaged(error.to_string()))?,
                    path,
                });
            }
            Ok(leftovers)
        })
        .await
    }

    /// Whether something of the report has come since this time.
    pub async fn is_coming_since(&self, report: &ReportId, time: Timestamp) -> Result<bool> {
        let leftovers = self.leftovers().await?;
        let mut parts = leftovers.iter().filter(|file| file.touched >= time);
        Ok(parts.any(|file| file.part.as_ref().is_some_and(|(id, _)| id == report)))
    }

    /// Removes what came of an artifact, unless more of it is coming right now; whether it is gone. Who sends looks at
    /// the report at the end, while it still holds the part: whichever comes last, here or there, removes it.
    pub async fn discard(&self, report: &ReportId, digest: &Digest) -> Result<bool> {
        let Some(mut part) = self.staging.part_soon(report, digest).await else {
            return Ok(false);
        };
        blocking(move || {
            part.clear()?;
            Ok(true)
        })
        .await
    }

    /// Removes such a file, unless more of it is coming right now; whether it is gone.
    pub async fn remove(&self, leftover: &Leftover) -> Result<bool> {
        match &leftover.part {
            Some((report, digest)) => self.discard(report, digest).await,
            None => Ok(fs::remove_file(&leftover.path).is_ok()),
        }
    }
}

fn part_of(path: &std::path::Path) -> Option<(ReportId, Digest)> {
    let (report, digest) = path.file_name()?.to_str()?.strip_suffix(".part")?.split_once('-')?;
    Some((report.parse().ok()?, digest.parse().ok()?))
}
