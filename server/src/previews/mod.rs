//! Trying a plugin or a page on stored reports before it is installed.
//!
//! A preview ([`crate::store::Previews`]) goes through its reports one by one, on threads of low priority, and says of
//! each what would be concluded from its stored evidence with what is tried. Everything about it is kept, so that it
//! goes on where it was when the server is started again. Applying one publishes what was tried and makes what was seen
//! true; undoing that puts back both.

mod look;
mod runner;

use std::io;
use std::sync::Arc;

use tokio::sync::{Mutex, Notify};
use whycrash_plugin_host::{Offered, Panel, Trial};
use whycrash_reading::READER_VERSION;

pub use self::runner::run;
use crate::pipeline::Diagnose;
use crate::pipeline::renewal::Renewed;
use crate::plugins::PublishError;
use crate::search::{self, SearchRequest, Sort};
use crate::services::Services;
use crate::shelf::{Shelf, Standing};
use crate::store::{Digest, MadeWith, NewPreview, PreviewRecord, PreviewState, ReportId, StoreError};

/// Previews that are kept.
const KEPT: usize = 20;
/// Results of a search that something is done to, and how many are asked for at a time.
const RESULTS: usize = 10_000;
const BATCH: usize = 500;

/// What previews need beside the stores.
#[derive(Debug)]
pub struct Tried {
    /// The files that are tried, and those they took the place of, by their digests.
    files: Shelf,
    /// Wakes who runs previews.
    wake: Notify,
    /// Held while one is applied or undone.
    changing: Mutex<()>,
}

/// Why something was not done.
#[derive(Debug, thiserror::Error)]
pub enum PreviewError {
    /// What is to be tried can not be used.
    #[error("{0}")]
    Refused(String),
    /// There is no preview of this number.
    #[error("there is no preview {0}")]
    Unknown(u64),
    /// It is in another state than it would have to be, or the world is.
    #[error("{0}")]
    Conflict(String),
    /// The search can not be understood, or finds too much.
    #[error("{0}")]
    Query(String),
    /// A store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<io::Error> for PreviewError {
    fn from(error: io::Error) -> Self {
        Self::Store(error.into())
    }
}

impl From<PublishError> for PreviewError {
    fn from(error: PublishError) -> Self {
        match error {
            PublishError::Io(error) => error.into(),
            PublishError::Taken { .. } | PublishError::Overtaken(_) => Self::Conflict(error.to_string()),
            other => Self::Refused(other.to_string()),
        }
    }
}

type Result<T> = std::result::Result<T, PreviewError>;

impl Tried {
    /// With the files of this folder.
    pub fn new(files: Shelf) -> Self {
        Self {
            files,
            wake: Notify::new(),
            changing: Mutex::default(),
        }
    }
}

/// Begins a preview of the plugin in these bytes, or of a page where they come from a file of this name, over the
/// results of a search or over all reports.
pub async fn begin(
    services: &Services,
    bytes: Vec<u8>,
    page: Option<String>,
    query: Option<String>,
) -> Result<PreviewRecord> {
    let diagnoser = Arc::clone(&services.diagnoser);
    let trial = blocking(move || trial(diagnoser.as_ref(), bytes, page.as_deref())).await?;
    let scope = match &query {
        Some(query) => Some(results(services, query).await?),
        None => None,
    };
    let Offered { info, bytes, extension } = trial.offered;
    let sha256 = Digest::of(&bytes).to_string();
    services.tried.files.put(&sha256, extension, &bytes)?;
    let new = NewPreview {
        name: info.name,
        version: info.version,
        sha256,
        extension: extension.to_owned(),
        query,
        made_with: made_with(&trial.panel),
    };
    let previews = &services.stores.previews;
    let number = previews.create_preview(&new, scope.as_deref()).await?;
    forget_old_ones(services).await?;
    services.tried.wake.notify_one();
    find(services, number).await
}

/// The preview of this number.
pub async fn find(services: &Services, number: u64) -> Result<PreviewRecord> {
    let found = services.stores.previews.preview(number).await?;
    found.ok_or(PreviewError::Unknown(number))
}

/// What follows for the reports that do not change at once when a preview is applied.
pub async fn follows(services: &Services, record: &PreviewRecord) -> Result<Renewed> {
    let outcomes = &services.stores.outcomes;
    let outdated = outcomes.count_outdated(&record.of.made_with, READER_VERSION).await?;
    Ok(Renewed {
        reports: outdated.reports.saturating_sub(record.changed),
        of: outdated.of,
    })
}

/// Ends a preview that is running or ready.
pub async fn cancel(services: &Services, number: u64) -> Result<PreviewRecord> {
    let record = find(services, number).await?;
    let previews = &services.stores.previews;
    for from in [PreviewState::Running, PreviewState::Ready] {
        if previews
            .move_preview(number, from, PreviewState::Cancelled, None)
            .await?
        {
            return find(services, number).await;
        }
    }
    Err(is_not(&record, "running or ready"))
}

/// What applying or undoing a preview did.
#[derive(Clone, Copy, Debug)]
pub struct Done {
    /// Reports that changed at once.
    pub changed: u64,
    /// Those that follow: what came or changed meanwhile, what a search left out, and those in which only the list of
    /// plugins changes.
    pub renewed: Option<Renewed>,
}

/// Publishes what was tried, and makes what was seen true.
pub async fn apply(services: &Arc<Services>, number: u64) -> Result<Done> {
    let _changing = services.tried.changing.lock().await;
    let record = find(services, number).await?;
    if record.state != PreviewState::Ready {
        return Err(is_not(&record, "ready"));
    }
    let trial = reopened(services, &record).await?;
    let (name, extension) = (record.of.name.as_str(), record.of.extension.as_str());
    if services.published.disabled()?.contains(&record.of.name) {
        return Err(PreviewError::Conflict(format!(
            "{name} is disabled: enable or remove it, and make a new preview"
        )));
    }
    let before = services.published.standing(name, extension)?;
    let replaced = match &before {
        Some((extension, bytes)) => {
            let digest = Digest::of(bytes).to_string();
            services.tried.files.put(&digest, extension, bytes)?;
            Some((digest, extension.clone()))
        }
        None => None,
    };
    let (publisher, there) = (Arc::clone(services), before.clone());
    let applied = (trial.offered.extension.to_owned(), trial.offered.bytes.clone());
    blocking(move || Ok(publisher.published.replace(&trial.offered, there.as_ref())?)).await?;
    match services.stores.previews.apply_preview(number, replaced.as_ref()).await {
        Ok(Some(changed)) => Ok(follow_up(services, changed).await),
        other => {
            put_back(services, &record, Some(applied), before).await?;
            services.renew().await;
            other?;
            Err(is_not(&record, "ready any more"))
        }
    }
}

/// Puts back what stood in the place of what was tried, and what was concluded before.
pub async fn undo(services: &Arc<Services>, number: u64) -> Result<Done> {
    let _changing = services.tried.changing.lock().await;
    let record = find(services, number).await?;
    if record.state != PreviewState::Applied {
        return Err(is_not(&record, "applied"));
    }
    let standing = services.published.standing(&record.of.name, &record.of.extension)?;
    let is_ours = |(_, bytes): &Standing| Digest::of(bytes).to_string() == record.of.sha256;
    if !standing.as_ref().is_some_and(is_ours) {
        return Err(PreviewError::Conflict(format!(
            "{} was published again, or removed, since preview {number} was applied",
            record.of.name
        )));
    }
    let before = match &record.replaced {
        Some((digest, _)) => services.tried.files.get(digest)?,
        None => None,
    };
    put_back(services, &record, standing, before).await?;
    let undone = services.stores.previews.undo_preview(number).await?;
    let done = follow_up(services, undone.unwrap_or_default()).await;
    undone.map(|_| done).ok_or_else(|| is_not(&record, "applied any more"))
}

/// All other reports are diagnosed one after the other.
async fn follow_up(services: &Services, changed: u64) -> Done {
    services.indexer.wake.notify_one();
    Done {
        changed,
        renewed: services.renew().await,
    }
}

/// Has what stood there before stand there again, where this does now.
async fn put_back(
    services: &Arc<Services>,
    record: &PreviewRecord,
    there: Option<Standing>,
    before: Option<Standing>,
) -> Result<()> {
    let (publisher, of) = (Arc::clone(services), record.of.clone());
    blocking(move || {
        let published = &publisher.published;
        Ok(published.put_back(&of.name, &of.extension, there.as_ref(), before.as_ref())?)
    })
    .await
}

/// The plugins with what a preview tries, as they were when it began.
async fn reopened(services: &Services, record: &PreviewRecord) -> Result<Trial> {
    let file = services.tried.files.get(&record.of.sha256)?;
    let (extension, bytes) = file.ok_or_else(|| PreviewError::Refused("its file is gone".to_owned()))?;
    let page = (extension == "md").then(|| format!("{}.md", record.of.name));
    let diagnoser = Arc::clone(&services.diagnoser);
    let trial = blocking(move || trial(diagnoser.as_ref(), bytes, page.as_deref())).await?;
    if made_with(&trial.panel) != record.of.made_with {
        return Err(PreviewError::Conflict(
            "other plugins or pages are installed than when it began: make a new preview".to_owned(),
        ));
    }
    Ok(trial)
}

fn trial(diagnoser: &dyn Diagnose, bytes: Vec<u8>, page: Option<&str>) -> Result<Trial> {
    let trial = match page {
        None => diagnoser.trial(bytes),
        Some(file) => {
            let text = String::from_utf8(bytes).map_err(|_| PreviewError::Refused("the page is no text".to_owned()))?;
            diagnoser.trial_of_page(file, &text)
        }
    };
    trial.map_err(PreviewError::Refused)
}

fn made_with(panel: &Panel) -> MadeWith {
    let version = panel.version();
    MadeWith {
        plugins: version.plugins,
        knowledge: version.knowledge,
    }
}

/// The reports that a search finds.
pub async fn results(services: &Services, query: &str) -> Result<Vec<ReportId>> {
    let parsed = search::Query::parse(query).map_err(|error| PreviewError::Query(error.to_string()))?;
    let (mut ids, mut after) = (Vec::new(), None);
    loop {
        let request = SearchRequest {
            query: parsed.clone(),
            period: None,
            limit: BATCH,
            after,
            sort: Sort::Newest,
            facet_values: 0,
        };
        let page = services.stores.search.search(&request).await?;
        if page.total > RESULTS as u64 {
            return Err(PreviewError::Query(format!(
                "it finds {} reports, more than the {RESULTS} that are taken from a search: narrow it, or leave it out \
                 for all reports",
                page.total
            )));
        }
        ids.extend(page.hits.iter().filter_map(|hit| hit.id.parse::<ReportId>().ok()));
        after = page.next;
        if after.is_none() {
            return Ok(ids);
        }
    }
}

/// Forgets what was tried long ago, and the files that nobody needs any more.
async fn forget_old_ones(services: &Services) -> Result<()> {
    let previews = services.stores.previews.previews().await?;
    for old in previews.iter().skip(KEPT) {
        services.stores.previews.forget_preview(old.number).await?;
    }
    let kept = services.stores.previews.previews().await?;
    let is_needed = |name: &String| {
        let mut replaced = kept.iter().filter_map(|preview| preview.replaced.as_ref());
        kept.iter().any(|preview| preview.of.sha256 == *name) || replaced.any(|(digest, _)| digest == name)
    };
    for name in services.tried.files.names()? {
        if !is_needed(&name) {
            services.tried.files.remove(&name)?;
        }
    }
    Ok(())
}

fn is_not(record: &PreviewRecord, wanted: &str) -> PreviewError {
    PreviewError::Conflict(format!(
        "preview {} is {}, not {wanted}",
        record.number,
        record.state.as_str()
    ))
}

/// What takes as long as compiling does keeps no other request waiting.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|error| StoreError::Failed(error.to_string()))?
}
