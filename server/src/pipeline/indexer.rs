//! Keeps the index in step with what was found.
//!
//! The index follows the [`Outbox`](crate::store::Outbox) and may lag behind it. An entry is made from the stored
//! evidence and diagnosis, without an artifact and without diagnosing again, and taken out of the outbox once the index
//! has it. The indexer is also the one that looks after the index: where it is damaged or gone, a new one is built
//! beside it from everything that is stored, and put in its place.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use serde::Serialize;
use tokio::runtime::Handle;
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use utoipa::ToSchema;
use whycrash_catalog::Catalog;
use whycrash_plugin_host::{Diagnosis, Report};
use whycrash_reading::stored::Parts;

use super::fresh::Fresh;
use super::{BATCH, Diagnose, Stores, digest, evidence, text};
use crate::search::{Change, IndexDocument};
use crate::store::{ReportRecord, Result, StoreError, Waiting};

/// How long it waits for others to come after it has taken over a few: a commit costs as much for one as for hundreds,
/// and each makes every search look anew.
const GATHER: Duration = Duration::from_millis(200);
/// How long it waits without being woken.
const POLL: Duration = Duration::from_secs(1);
/// Reports taken over with one commit at most.
const REPORTS: u32 = 256;
/// Bytes of text taken over with one commit at most, give or take one report.
const TEXT_BYTES: usize = 16 << 20;
/// The pause after the first failure; it doubles with each that follows.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
/// The longest pause.
const LONGEST_PAUSE: Duration = Duration::from_secs(15);
/// How often a report may fail by itself, on an index that is whole, before it is left out.
const ATTEMPTS: u32 = 3;

/// What the index is doing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, ToSchema)]
pub struct IndexStatus {
    /// Whether searches are answered from a whole index.
    pub state: IndexState,
    /// Reports whose latest document is not in the index yet.
    pub waiting: u64,
    /// Seconds that the first of them has waited.
    pub lag_seconds: f64,
    /// While an index is built: reports that are in it already.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub built: Option<u64>,
    /// While an index is built: reports that will be in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<u64>,
    /// Why it is not ready, or why it lags.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Whether searches are answered from a whole index.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum IndexState {
    /// They are.
    #[default]
    Ready,
    /// A new one is being built; the old one answers as far as it can.
    Rebuilding,
    /// It can not be opened or written now; that is tried again and again.
    Unavailable,
}

impl IndexStatus {
    /// In words, for people whose search was not answered.
    pub fn describe(&self) -> String {
        match (self.state, self.built, self.total) {
            (IndexState::Rebuilding, Some(built), Some(total)) => {
                format!("the search index is being built anew: {built} of {total} reports are in it")
            }
            _ => "the search index can not be read now; what was sent is safe and will be found again".to_owned(),
        }
    }
}

/// An index that is being built.
#[derive(Clone, Copy, Debug)]
struct Build {
    /// The change up to which everything must be in it.
    until: i64,
    /// Reports that wait for it.
    total: u64,
}

/// What requests and the indexer share.
#[derive(Debug, Default)]
pub struct Shared {
    /// Wakes the indexer.
    pub wake: Notify,
    /// Entries that need not be made.
    pub fresh: Fresh,
    build: Mutex<Option<Build>>,
    trouble: Mutex<Option<StoreError>>,
    stop: AtomicBool,
}

impl Shared {
    /// What the index is doing.
    pub async fn status(&self, stores: &Stores) -> Result<IndexStatus> {
        let backlog = stores.outbox.backlog().await?;
        let build = *self.build.lock().unwrap_or_else(PoisonError::into_inner);
        let trouble = self.trouble.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let lag = backlog
            .oldest
            .map(|since| Timestamp::now().duration_since(since).as_secs_f64().max(0.0));
        Ok(IndexStatus {
            state: match (&build, &trouble) {
                (Some(_), _) => IndexState::Rebuilding,
                (None, Some(_)) => IndexState::Unavailable,
                (None, None) => IndexState::Ready,
            },
            waiting: backlog.waiting,
            lag_seconds: lag.unwrap_or_default(),
            built: build.map(|build| build.total.saturating_sub(backlog.waiting)),
            total: build.map(|build| build.total),
            reason: trouble.map(|trouble| trouble.public()),
        })
    }

    fn building(&self) -> Option<Build> {
        *self.build.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set_build(&self, build: Option<Build>) {
        *self.build.lock().unwrap_or_else(PoisonError::into_inner) = build;
    }

    fn set_trouble(&self, trouble: Option<StoreError>) {
        *self.trouble.lock().unwrap_or_else(PoisonError::into_inner) = trouble;
    }
}

/// The indexer, while it runs.
#[derive(Debug)]
pub struct Running {
    shared: Arc<Shared>,
    task: JoinHandle<()>,
}

impl Running {
    /// Lets it end what it is at.
    pub async fn stop(self) {
        self.shared.stop.store(true, Ordering::Release);
        self.shared.wake.notify_one();
        // It ends by returning; a panic in it was logged.
        drop(self.task.await);
    }
}

/// Keeps the index in step with what was found.
#[derive(Debug)]
pub struct Indexer {
    stores: Stores,
    diagnoser: Arc<dyn Diagnose>,
    shared: Arc<Shared>,
    /// Reports taken over with the next commit.
    batch: u32,
    /// How often the first report that waits has failed by itself.
    failures: u32,
    looked: Option<Instant>,
}

impl Indexer {
    /// An indexer of these stores, with the diagnoser's pages.
    pub fn new(stores: &Stores, diagnoser: &Arc<dyn Diagnose>, shared: &Arc<Shared>) -> Self {
        Self {
            stores: stores.clone(),
            diagnoser: Arc::clone(diagnoser),
            shared: Arc::clone(shared),
            batch: REPORTS,
            failures: 0,
            looked: None,
        }
    }

    /// Opens the index, and begins a new one where that is needed; an empty archive has its index when this returns.
    /// Trouble is no reason not to start: it goes on being tried.
    pub async fn open(&mut self) {
        let result = async {
            self.look().await?;
            let build = self.shared.building();
            if build.is_some_and(|build| build.total == 0) {
                self.publish().await?;
            }
            Ok(())
        };
        self.note(&result.await);
    }

    /// Begins a new index.
    pub async fn rebuild(&self) -> Result<()> {
        self.stores.search.begin().await?;
        self.shared.fresh.clear();
        let (until, total) = self.stores.outbox.index_all().await?;
        self.shared.set_build(Some(Build { until, total }));
        metrics::counter!("whycrash_index_rebuilds_total").increment(1);
        Ok(())
    }

    /// Starts to index what waits, on the threads of `background`, until told to stop.
    pub fn start(self, background: &Handle) -> Running {
        let shared = Arc::clone(&self.shared);
        let task = background.spawn(self.run());
        Running { shared, task }
    }

    async fn run(mut self) {
        let mut compared = false;
        let mut pause = FIRST_PAUSE;
        while !self.shared.stop.load(Ordering::Acquire) {
            let result = self.round().await;
            self.note(&result);
            let wait = match result {
                Ok(0) if !compared => {
                    compared = self.compare().await.is_ok();
                    POLL
                }
                Ok(0) => POLL,
                Ok(taken) => {
                    pause = FIRST_PAUSE;
                    if taken < u64::from(REPORTS) {
                        tokio::time::sleep(GATHER).await;
                    }
                    continue;
                }
                Err(_) => {
                    pause = (pause * 2).min(LONGEST_PAUSE);
                    pause
                }
            };
            // A time-out is as good a reason to look again as a wake-up.
            drop(tokio::time::timeout(wait, self.shared.wake.notified()).await);
        }
    }

    fn note<T>(&self, result: &Result<T>) {
        if let Err(error) = result {
            tracing::error!(%error, "the index can not follow the reports; it will be tried again");
        }
        self.shared.set_trouble(result.as_ref().err().cloned());
    }

    /// Takes over what waits, a bounded part of it; how many reports.
    async fn round(&mut self) -> Result<u64> {
        let due = self.looked.is_none_or(|looked| looked.elapsed() >= POLL);
        if self.shared.building().is_none() && due {
            self.look().await?;
            self.looked = Some(Instant::now());
        }
        let waiting = self.stores.outbox.waiting(self.batch).await?;
        let taken = self.take_over(&waiting).await;
        if let Err(error) = &taken {
            self.looked = None;
            if self.shared.building().is_some() && !error.is_transient() {
                self.rebuild().await?;
            }
        }
        let taken = taken?;
        if let Some(build) = self.shared.building() {
            let left = waiting.get(taken..).and_then(<[_]>::first);
            let next = match left {
                Some(waiting) => Some(waiting.clone()),
                None => self.stores.outbox.waiting(1).await?.into_iter().next(),
            };
            if next.is_none_or(|next| next.change > build.until) {
                self.publish().await?;
            }
        }
        Ok(taken as u64)
    }

    /// Looks after the index: a damaged one is replaced.
    async fn look(&self) -> Result<()> {
        match self.stores.search.check().await {
            Err(StoreError::Damaged(reason)) => {
                let begun = self.rebuild().await;
                if begun.is_ok() && !self.is_building_of_reports() {
                    tracing::debug!(reason, "nothing is to be in the index yet: an empty one is begun");
                } else {
                    tracing::warn!(reason, "the index is gone or damaged: a new one is built beside it");
                }
                begun
            }
            checked => checked,
        }
    }

    /// Whether a new index is being built that will have anything in it. An archive begins with one that has not.
    fn is_building_of_reports(&self) -> bool {
        self.shared.building().is_some_and(|build| build.total > 0)
    }

    async fn publish(&self) -> Result<()> {
        self.stores.search.publish().await?;
        if self.is_building_of_reports() {
            tracing::info!("the new index is in use; the one before is kept beside it");
        }
        self.shared.set_build(None);
        Ok(())
    }

    /// Makes the index have the first of these; how many. All of them were tried.
    async fn take_over(&mut self, waiting: &[Waiting]) -> Result<usize> {
        let (mut changes, mut bytes) = (Vec::new(), 0);
        for entry in waiting {
            if bytes >= TEXT_BYTES {
                break;
            }
            let change = self.change(entry).await?;
            if let Change::Put(document) = &change {
                bytes += document.text.iter().map(String::len).sum::<usize>();
            }
            changes.push(change);
        }
        let count = changes.len();
        if count == 0 {
            return Ok(0);
        }
        let done = waiting.get(..count).unwrap_or_default();
        match self.stores.search.apply(changes).await {
            Ok(()) => (self.batch, self.failures) = ((self.batch * 2).min(REPORTS), 0),
            Err(error) => self.failed(done, error).await?,
        }
        self.stores.outbox.indexed(done).await?;
        metrics::counter!("whycrash_index_reports_total").increment(count as u64);
        Ok(count)
    }

    /// One report that the index can not take must not keep out all that come after it: it is found by taking fewer and
    /// fewer at a time, and left out when it fails alone, again and again, on an index that is whole.
    async fn failed(&mut self, tried: &[Waiting], error: StoreError) -> Result<()> {
        let alone = tried.len() == 1;
        self.batch = (self.batch / 4).max(1);
        if error.is_transient() || self.stores.search.check().await.is_err() {
            return Err(error);
        }
        self.failures += u32::from(alone);
        if !alone || self.failures < ATTEMPTS {
            return Err(error);
        }
        self.failures = 0;
        let report = tried.first().map(|waiting| waiting.report.to_string());
        tracing::error!(report, %error, "the index does not take this report: searches will not find it");
        metrics::counter!("whycrash_index_refused_total").increment(1);
        Ok(())
    }

    /// What the index has to do for a report.
    async fn change(&self, waiting: &Waiting) -> Result<Change> {
        let removal = Change::Remove(waiting.report.clone());
        let Some(report) = self.stores.records.report(&waiting.report).await? else {
            return Ok(removal);
        };
        if let Some(document) = self.shared.fresh.take(&waiting.report, report.version) {
            return Ok(Change::Put(document));
        }
        let outcomes = &self.stores.outcomes;
        let Some(evidence) = outcomes.evidence(&waiting.report, None).await? else {
            return Ok(removal);
        };
        let Some(diagnosis) = outcomes.diagnosis(&waiting.report, None).await? else {
            return Ok(removal);
        };
        let loaded = evidence::load(self.stores.blobs.as_ref(), evidence).await?;
        let catalog = self.diagnoser.catalog();
        let made = tokio::task::spawn_blocking(move || entry(&report, &loaded.parts, &diagnosis.json, &catalog));
        match made.await {
            Ok(Ok(document)) => Ok(Change::Put(Box::new(document))),
            Ok(Err(error)) if error.is_transient() => Err(error),
            // It can be read where it stands, but not be searched.
            other => {
                tracing::error!(report = %waiting.report, ?other, "no index entry can be made of what was found");
                Ok(removal)
            }
        }
    }

    /// Brings index and documents in step where notes are lost, as after a backup of one of the two was put back.
    async fn compare(&self) -> Result<()> {
        self.add_missing().await?;
        self.remove_vanished().await
    }

    /// Makes reports wait whose entries are gone.
    async fn add_missing(&self) -> Result<()> {
        let mut last = None;
        loop {
            let ids = self.stores.outbox.documented(last.as_ref(), BATCH).await?;
            let Some(end) = ids.last() else { return Ok(()) };
            last = Some(end.clone());
            let missing = self.stores.search.missing(&ids).await?;
            if !missing.is_empty() {
                tracing::info!(reports = missing.len(), "reports are not in the index, and will be");
                self.stores.outbox.index_again(&missing).await?;
            }
        }
    }

    /// Makes entries wait whose reports are gone.
    async fn remove_vanished(&self) -> Result<()> {
        let mut last = None;
        loop {
            let ids = self.stores.search.indexed(last.as_ref(), BATCH as usize).await?;
            let Some(end) = ids.last() else { return Ok(()) };
            last = Some(end.clone());
            let vanished = self.stores.outbox.undocumented(&ids).await?;
            if !vanished.is_empty() {
                tracing::info!(
                    entries = vanished.len(),
                    "entries of the index have no report, and will go"
                );
                self.stores.outbox.index_again(&vanished).await?;
            }
        }
    }
}

/// What the index holds of a report.
fn entry(report: &ReportRecord, parts: &Parts, diagnosis: &str, catalog: &Catalog) -> Result<IndexDocument> {
    let damaged = |what: &str, error: &dyn std::fmt::Display| StoreError::Damaged(format!("{what}: {error}"));
    let diagnosis: Diagnosis = serde_json::from_str(diagnosis).map_err(|error| damaged("diagnosis", &error))?;
    // Another version may have written what this one does not know: it is found by its title and group at least.
    let read = Report::load(parts).or_else(|error| {
        tracing::warn!(report = %report.id, %error, "a report is indexed by its head alone");
        parts.report_head().map(|head| Report {
            head,
            ..Report::default()
        })
    });
    let mut read = read.map_err(|error| damaged("evidence", &error))?;
    diagnosis.complete(&mut read.head, &mut read.evidence);
    let found = digest::Found::new(&read.head, &read.evidence, &diagnosis, catalog);
    let lines = text::of(&found, &read, catalog);
    Ok(digest::indexed(&found, report, lines))
}
