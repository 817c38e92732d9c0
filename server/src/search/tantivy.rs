//! The index of the single binary, by the `tantivy` crate.
//!
//! It lives in the folder `index`; a new one is built beside it in `index.new`, and the one before is kept in
//! `index.old`. A writer that failed is replaced by the next change. What can not be opened is left as it is and
//! reported as damaged: then [`Search::begin`] and [`Search::publish`] put a new one in its place.

mod directory;
mod error;
mod fields;
mod find;
mod opened;
mod translate;

use std::fs::{self, File};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use ::tantivy::IndexWriter;
use async_trait::async_trait;

use self::opened::Opened;
use super::{Change, Search, SearchPage, SearchRequest};
use crate::store::sqlite::blocking;
use crate::store::{ReportId, Result, StoreError};

/// An index in a folder. Clones share it.
#[derive(Clone)]
pub struct TantivySearch {
    shared: Arc<Shared>,
}

struct Shared {
    /// Where the index is.
    folder: PathBuf,
    /// The one that is searched; none if it can not be opened.
    serving: RwLock<Option<Arc<Opened>>>,
    /// What changes go to.
    writing: Mutex<Writing>,
    /// Whether a search failed for no reason of its own.
    suspect: AtomicBool,
}

#[derive(Default)]
struct Writing {
    /// The new index, while one is built.
    new: Option<Arc<Opened>>,
    /// Made with the first change, and again after one that failed.
    writer: Option<IndexWriter>,
}

impl std::fmt::Debug for TantivySearch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TantivySearch")
            .field("folder", &self.shared.folder)
            .finish_non_exhaustive()
    }
}

impl TantivySearch {
    /// The index in this folder. It is not looked at before somebody asks: [`Search::check`] says how it is.
    pub fn new(folder: &Path) -> Self {
        Self {
            shared: Arc::new(Shared {
                folder: folder.to_owned(),
                serving: RwLock::default(),
                writing: Mutex::default(),
                suspect: AtomicBool::new(false),
            }),
        }
    }

    /// Runs blocking work on the index. The index is fit for use after a panic: what was begun is dropped with its
    /// writer.
    async fn run<T: Send + 'static>(&self, work: impl FnOnce(&Shared) -> Result<T> + Send + 'static) -> Result<T> {
        let shared = Arc::clone(&self.shared);
        blocking(move || {
            catch_unwind(AssertUnwindSafe(|| work(&shared))).unwrap_or_else(|_| {
                shared.suspect.store(true, Ordering::Release);
                Err(StoreError::Damaged("the index panicked".into()))
            })
        })
        .await
    }
}

impl Shared {
    fn beside(&self, suffix: &str) -> PathBuf {
        let mut name = self.folder.as_os_str().to_owned();
        name.push(suffix);
        name.into()
    }

    fn serving(&self) -> Option<Arc<Opened>> {
        self.serving.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn serve(&self, opened: Option<Arc<Opened>>) {
        *self.serving.write().unwrap_or_else(PoisonError::into_inner) = opened;
    }

    fn writing(&self) -> MutexGuard<'_, Writing> {
        self.writing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The index that is searched, or why there is none.
    fn ready(&self) -> Result<Arc<Opened>> {
        self.serving()
            .ok_or_else(|| StoreError::Unavailable("there is no usable index".into()))
    }

    /// Opens the index unless it is open, and looks at its files: at what is in them where something went wrong.
    fn check(&self) -> Result<()> {
        if self.suspect.load(Ordering::Acquire) {
            self.verify()?;
        }
        if let Some(opened) = self.serving() {
            return opened.glance();
        }
        self.serve(Some(Arc::new(Opened::open(&self.folder)?)));
        Ok(())
    }

    fn verify(&self) -> Result<()> {
        let verified = opened::verify(&self.folder);
        let is_damaged = matches!(verified, Err(StoreError::Damaged(_)));
        if is_damaged {
            // What it says can not be relied on.
            self.serve(None);
        }
        if is_damaged || verified.is_ok() {
            self.suspect.store(is_damaged, Ordering::Release);
        }
        verified
    }

    fn apply(&self, changes: &[Change]) -> Result<()> {
        let mut writing = self.writing();
        let target = match &writing.new {
            Some(new) => Arc::clone(new),
            None => self.ready()?,
        };
        let writer = writing.writer.take();
        let mut writer = writer
            .map_or_else(|| target.writer(), Ok)
            .map_err(|error| self.failed(&error))?;
        target
            .apply(&mut writer, changes)
            .map_err(|error| self.failed(&error))?;
        // After an error, or a panic, it is dropped instead: a writer that failed once may go on failing.
        writing.writer = Some(writer);
        Ok(())
    }

    fn failed(&self, error: &::tantivy::TantivyError) -> StoreError {
        let error = error::of_writing(error);
        if !error.is_transient() {
            self.suspect.store(true, Ordering::Release);
        }
        error
    }

    fn begin(&self) -> Result<()> {
        let mut writing = self.writing();
        *writing = Writing::default();
        writing.new = Some(Arc::new(Opened::create(&self.beside(".new"))?));
        Ok(())
    }

    fn publish(&self) -> Result<()> {
        let mut writing = self.writing();
        if let Some(writer) = writing.writer.take() {
            writer
                .wait_merging_threads()
                .map_err(|error| error::of_writing(&error))?;
        }
        let (new, old) = (self.beside(".new"), self.beside(".old"));
        // Not begun, or published already by a call that failed later.
        if new.exists() {
            if self.folder.exists() {
                remove(&old)?;
                fs::rename(&self.folder, &old)?;
            }
            fs::rename(&new, &self.folder)?;
        }
        if let Some(parent) = self.folder.parent() {
            File::open(parent)?.sync_all()?;
        }
        self.serve(Some(Arc::new(Opened::open(&self.folder)?)));
        self.suspect.store(false, Ordering::Release);
        writing.new = None;
        Ok(())
    }

    fn search(&self, request: &SearchRequest) -> Result<SearchPage> {
        let opened = self.ready()?;
        find::find(&opened.reader.searcher(), &opened.index, opened.fields, request).map_err(|error| {
            if error::is_of_request(&error) {
                return StoreError::Failed(error.to_string());
            }
            tracing::warn!(%error, "a search failed, so the index will be looked at");
            self.suspect.store(true, Ordering::Release);
            StoreError::Unavailable(error.to_string())
        })
    }
}

/// Removes an index that was set aside: whatever stood in its place.
fn remove(path: &Path) -> std::io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(about) if about.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

#[async_trait]
impl Search for TantivySearch {
    async fn apply(&self, changes: Vec<Change>) -> Result<()> {
        self.run(move |shared| shared.apply(&changes)).await
    }

    async fn search(&self, request: &SearchRequest) -> Result<SearchPage> {
        let request = request.clone();
        self.run(move |shared| shared.search(&request)).await
    }

    async fn missing(&self, ids: &[ReportId]) -> Result<Vec<ReportId>> {
        let ids = ids.to_vec();
        self.run(move |shared| {
            let missing = shared.ready()?.missing(ids);
            missing.map_err(|error| error::of_files(&error))
        })
        .await
    }

    async fn indexed(&self, after: Option<&ReportId>, limit: usize) -> Result<Vec<ReportId>> {
        let after = after.cloned();
        self.run(move |shared| {
            let ids = shared.ready()?.ids(after.as_ref(), limit);
            ids.map_err(|error| error::of_files(&error))
        })
        .await
    }

    async fn check(&self) -> Result<()> {
        self.run(Shared::check).await
    }

    async fn verify(&self) -> Result<()> {
        self.run(Shared::verify).await
    }

    async fn begin(&self) -> Result<()> {
        self.run(Shared::begin).await
    }

    async fn publish(&self) -> Result<()> {
        self.run(Shared::publish).await
    }
}
