//! From complete reports to diagnoses that can be searched.
//!
//! Workers are threads of their own: reading a core of tens of GB never slows the HTTP runtime. Everything a worker
//! does can be done again with the same outcome, and becomes true in one step with the end of its job. So a job that
//! was cut off at any point simply runs again, and what a worker finds that lost its lease changes nothing. The
//! [`indexer`] follows with the index.

pub mod arrivals;
pub mod digest;
pub mod evidence;
pub mod fresh;
pub mod history;
pub mod incident;
pub mod indexer;
mod process;
pub mod renewal;
pub mod reopen;
mod text;
mod worker;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::Notify;
use whycrash_catalog::Catalog;
use whycrash_evidence::ArtifactKind;
use whycrash_plugin_host::{
    ArtifactHead, Diagnoser, Diagnosis, LeftOut, Offered, PluginInfo, Report, ReportHead, Trial, Version,
};

use crate::config;
use crate::reading::ReadReports;
use crate::search::Search;
use crate::store::{
    Blobs, Jobs, Lane, Modules, Outbox, Outcomes, Previews, Records, ReportId, ReportRecord, ReportState, Result,
    Upkeep, Work,
};
use crate::threads::Priority;
use arrivals::Arrivals;
use process::Processor;
use worker::Worker;

/// How many reports are looked at together when the stores are compared.
const BATCH: u32 = 500;

/// From evidence to a diagnosis.
pub trait Diagnose: Send + Sync + std::fmt::Debug {
    /// Says why the process died.
    fn conclude(&self, report: &Arc<Report>) -> Diagnosis;

    /// What a diagnosis made now depends on beside the evidence.
    fn version(&self) -> Version;

    /// Whether a plugin may ask for what is known of other reports.
    fn asks_for_history(&self) -> bool {
        false
    }

    /// The same without what may take long: plugins from outside.
    fn first_look(&self, report: &Arc<Report>) -> Diagnosis {
        self.conclude(report)
    }

    /// The plugins that take part.
    fn plugins(&self) -> Vec<PluginInfo>;

    /// The documented causes, with those that plugins bring.
    fn catalog(&self) -> Arc<Catalog>;

    /// What is wrong with pages that are left out.
    fn left_out(&self) -> Vec<LeftOut> {
        Vec::new()
    }

    /// Digest of their pages: documents that were rendered with others may say something else.
    fn pages(&self) -> String;

    /// What a file of a plugin is, as if it were installed.
    fn look_at(&self, _: Vec<u8>) -> std::result::Result<Offered, String> {
        Err("no plugins are taken here".to_owned())
    }

    /// The plugins as they would be with the one in these bytes.
    fn trial(&self, _: Vec<u8>) -> std::result::Result<Trial, String> {
        Err("no plugins are taken here".to_owned())
    }

    /// The plugins as they would be with this page, which comes from a file of this name.
    fn trial_of_page(&self, _: &str, _: &str) -> std::result::Result<Trial, String> {
        Err("no pages are taken here".to_owned())
    }

    /// Looks into the folders of plugins and pages again.
    fn reload(&self) {}

    /// Whether a plugin is set aside, because it keeps failing.
    fn sets_aside(&self) -> bool {
        false
    }

    /// Lets a plugin run again that is set aside; false where none of this name is.
    fn forgive(&self, _: &str) -> bool {
        false
    }
}

impl Diagnose for Diagnoser {
    fn conclude(&self, report: &Arc<Report>) -> Diagnosis {
        self.conclude(report)
    }

    fn version(&self) -> Version {
        self.version()
    }

    fn asks_for_history(&self) -> bool {
        self.panel().asks_for_history()
    }

    fn first_look(&self, report: &Arc<Report>) -> Diagnosis {
        self.first_look(report)
    }

    fn plugins(&self) -> Vec<PluginInfo> {
        self.plugins()
    }

    fn catalog(&self) -> Arc<Catalog> {
        self.catalog()
    }

    fn left_out(&self) -> Vec<LeftOut> {
        self.left_out()
    }

    fn pages(&self) -> String {
        self.pages()
    }

    fn look_at(&self, bytes: Vec<u8>) -> std::result::Result<Offered, String> {
        self.look_at(bytes)
    }

    fn trial(&self, bytes: Vec<u8>) -> std::result::Result<Trial, String> {
        self.trial(bytes)
    }

    fn trial_of_page(&self, file: &str, text: &str) -> std::result::Result<Trial, String> {
        self.trial_of_page(file, text)
    }

    fn reload(&self) {
        self.reload();
    }

    fn sets_aside(&self) -> bool {
        self.sets_aside()
    }

    fn forgive(&self, name: &str) -> bool {
        self.forgive(name)
    }
}

/// What processing needs.
#[derive(Clone, Debug)]
pub struct Stores {
    /// Reports.
    pub records: Arc<dyn Records>,
    /// Evidence and diagnoses.
    pub outcomes: Arc<dyn Outcomes>,
    /// What is to be done.
    pub jobs: Arc<dyn Jobs>,
    /// Artifacts.
    pub blobs: Arc<dyn Blobs>,
    /// Binaries on the stacks of reports.
    pub modules: Arc<dyn Modules>,
    /// Symbols that come while reports are read.
    pub arrivals: Arc<Arrivals>,
    /// What reports of one incident told together lately.
    pub judgements: Arc<incident::Judgements>,
    /// What is to be indexed.
    pub outbox: Arc<dyn Outbox>,
    /// What has grown old.
    pub upkeep: Arc<dyn Upkeep>,
    /// What would be found with other plugins.
    pub previews: Arc<dyn Previews>,
    /// The index.
    pub search: Arc<dyn Search>,
    /// Names this server's leases. It is that of its data folder, which is locked: leases that it finds at its start are
    /// those of a process that is dead.
    pub owner: String,
    /// Folder for what is being read: of this process alone, on the file system of the blobs.
    pub work: PathBuf,
}

/// The running workers.
#[derive(Debug)]
pub struct Pipeline {
    stop: Arc<AtomicBool>,
    wake: Arc<Notify>,
    threads: Vec<JoinHandle<()>>,
}

impl Pipeline {
    /// Starts the workers, and has what they wait for run on the threads of `background`. They wait for `wake`, and
    /// look for jobs once in a while without it.
    pub fn start(
        stores: &Stores,
        reader: &Arc<dyn ReadReports>,
        diagnoser: &Arc<dyn Diagnose>,
        indexer: &Arc<indexer::Shared>,
        settings: &config::Workers,
        wake: &Arc<Notify>,
        background: &Handle,
    ) -> std::io::Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let worker = Worker {
            processor: Processor {
                stores: stores.clone(),
                reader: Arc::clone(reader),
                diagnoser: Arc::clone(diagnoser),
                runtime: background.clone(),
            },
            indexer: Arc::clone(indexer),
            settings: settings.clone(),
            wake: Arc::clone(wake),
            lane: Lane::Any,
            stop: Arc::clone(&stop),
        };
        let threads = (0..settings.count())
            .map(|number| {
                let lane = settings.lane(number);
                let worker = Worker { lane, ..worker.clone() };
                thread::Builder::new().name(format!("worker-{number}")).spawn(move || {
                    Priority::Background.take();
                    worker.run();
                })
            })
            .collect::<std::io::Result<_>>()?;
        Ok(Self {
            stop,
            wake: Arc::clone(wake),
            threads,
        })
    }

    /// Lets every worker finish the report it has, up to this long; what is left is taken up at the next start.
    pub async fn stop(self, patience: Duration) {
        self.stop.store(true, Ordering::Release);
        self.wake.notify_waiters();
        let deadline = tokio::time::Instant::now() + patience;
        while self.threads.iter().any(|thread| !thread.is_finished()) {
            if tokio::time::Instant::now() >= deadline {
                tracing::warn!("reports are still being processed; they will be processed again at the next start");
                return;
            }
            // A worker may have been about to wait when it was woken.
            self.wake.notify_waiters();
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}

/// Brings the queue back in step with the records after a process died.
pub async fn recover(stores: &Stores) -> Result<()> {
    let released = stores.jobs.release(&stores.owner).await?;
    stores.modules.take_up_arrivals().await?;
    let enqueue = async |ids: Vec<ReportId>| {
        stores.jobs.enqueue_all(&ids, Work::Read).await?;
        Ok(ids.len() as u64)
    };
    let queued = for_each(stores, ReportState::Processing, enqueue).await?;
    if released + queued > 0 {
        tracing::info!(released, queued, "took up what an earlier process left");
    }
    Ok(())
}

/// Queues every report that was ever complete to be read again; how many. Those with expired artifacts are not: their
/// documents say more than could be read now.
pub async fn reopen_all(stores: &Stores) -> Result<u64> {
    let reopen = async |ids: Vec<ReportId>| {
        // A report that is not reopened ends its job at once.
        stores.jobs.enqueue_all(&ids, Work::Read).await?;
        stores.records.reopen_all(&ids).await
    };
    let done = for_each(stores, ReportState::Done, reopen).await?;
    let failed = for_each(stores, ReportState::Failed, reopen).await?;
    Ok(done + failed)
}

/// Calls `act` with batches of all reports in a state; the sum of what it returns.
async fn for_each(stores: &Stores, state: ReportState, act: impl AsyncFn(Vec<ReportId>) -> Result<u64>) -> Result<u64> {
    let (mut last, mut sum) = (None, 0);
    loop {
        let ids = stores.records.in_state(state, last.as_ref(), BATCH).await?;
        if ids.is_empty() {
            return Ok(sum);
        }
        last = ids.last().cloned();
        sum += act(ids).await?;
    }
}

/// What is known of a report that was not read yet: what was sent.
pub fn unread(report: &ReportRecord) -> ReportHead {
    let artifacts = report.artifacts.iter().map(|artifact| ArtifactHead {
        name: artifact.name.clone(),
        kind: ArtifactKind::Unknown,
        bytes: artifact.bytes,
        sha256: artifact.digest.to_string(),
        archive: None,
        problems: Vec::new(),
        sections: Vec::new(),
    });
    ReportHead {
        id: report.id.to_string(),
        artifacts: artifacts.collect(),
        ..ReportHead::default()
    }
}
