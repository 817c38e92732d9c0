//! Everything that requests and workers share, put together from the configuration.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use metrics_exporter_prometheus::PrometheusHandle;
use tokio::runtime::Handle;
use tokio::sync::{Notify, Semaphore};
use tokio::task::JoinHandle;
use whycrash_plugin_host::{Diagnoser, Settings};
use whycrash_reading::READER_VERSION;
use whycrash_symbols::{DebuginfodLimits, Sources};

use crate::config::Config;
use crate::documents::Documents;
use crate::ingest::pace::Uploads;
use crate::ingest::{Ingest, Staging};
use crate::lines::LineCache;
use crate::pipeline::indexer::{self, Indexer};
use crate::pipeline::renewal::{self, Renewals, Renewed, Renewer};
use crate::pipeline::reopen::Reopener;
use crate::pipeline::{Diagnose, Pipeline, Stores};
use crate::plugins::{self, Published, Shelves};
use crate::previews::Tried;
use crate::reading::{Children, ReadReports};
use crate::search::tantivy::TantivySearch;
use crate::shelf::Shelf;
use crate::store::files::FileBlobs;
use crate::store::sqlite::Sqlite;
use crate::store::{Outdated, StoreError, Tokens, Work};
use crate::symbols::SymbolFolder;
use crate::telemetry;
use crate::watching::Watching;

/// JSON bodies that are read into memory at one time: each takes several times its size.
const PARSES: usize = 2;

/// Folder in the data folder for symbols that were uploaded.
const SYMBOLS: &str = "symbols";

/// Everything that requests and workers share.
#[derive(Debug)]
pub struct Services {
    /// Settings.
    pub config: Config,
    /// Where things are kept.
    pub stores: Stores,
    /// Access tokens.
    pub tokens: Arc<dyn Tokens>,
    /// Takes in reports.
    pub ingest: Ingest,
    /// Symbols that were uploaded.
    pub symbols: SymbolFolder,
    /// Reads artifacts.
    pub reader: Arc<dyn ReadReports>,
    /// Diagnoses.
    pub diagnoser: Arc<dyn Diagnose>,
    /// The plugins and pages that were published here.
    pub published: Published,
    /// What is tried on stored reports.
    pub tried: Tried,
    /// What is measured.
    pub metrics: PrometheusHandle,
    /// Threads for what no client waits for, while a server runs.
    pub background: Option<Handle>,
    /// Threads for taking in what clients send, while a server runs.
    pub intake: Option<Handle>,
    /// Wakes workers.
    pub wake: Arc<Notify>,
    /// Bodies that are being received.
    pub uploads: Arc<Uploads>,
    /// JSON bodies that may be read into memory.
    pub parses: Semaphore,
    /// What the indexer is doing.
    pub indexer: Arc<indexer::Shared>,
    /// Stored reports that are diagnosed anew.
    pub renewals: Arc<Renewals>,
    /// Searches that may run.
    pub searches: Arc<Semaphore>,
    /// Provisional diagnoses that may run.
    pub provisional: Arc<Semaphore>,
    /// Clients that are told how far things have come.
    pub watching: Arc<Watching>,
    /// Text artifacts that people look at.
    pub lines: Arc<LineCache>,
    /// Keeps a second server out of the data folder.
    _lock: File,
}

impl Services {
    /// Opens everything under the configured data folder.
    pub fn open(config: Config) -> anyhow::Result<Self> {
        let data = &config.data;
        fs::create_dir_all(data).with_context(|| format!("can not make the data folder {}", data.display()))?;
        let data = fs::canonicalize(data).with_context(|| cannot_open(data))?;
        let lock = lock(&data)?;
        let database = open_database(&config)?;
        let (blobs, index) = (data.join("blobs"), data.join("index"));
        let stores = Stores {
            records: Arc::new(database.clone()),
            outcomes: Arc::new(database.clone()),
            jobs: Arc::new(database.clone()),
            modules: Arc::new(database.clone()),
            arrivals: Arc::default(),
            judgements: Arc::default(),
            blobs: Arc::new(FileBlobs::open(&blobs).with_context(|| cannot_open(&blobs))?),
            outbox: Arc::new(database.clone()),
            upkeep: Arc::new(database.clone()),
            previews: Arc::new(database.clone()),
            search: Arc::new(TantivySearch::new(&index)),
            owner: owner(&data)?,
            work: work_folder(&data)?,
        };
        let wake = Arc::new(Notify::new());
        let ingest = Ingest::new(
            Arc::clone(&stores.records),
            Arc::clone(&stores.jobs),
            Arc::clone(&stores.blobs),
            Staging::open(&data.join("staging"), config.limits.reserved_disk_bytes)
                .with_context(|| cannot_open(&data.join("staging")))?,
            config.limits.clone(),
            Arc::clone(&wake),
        );
        let symbols = data.join(SYMBOLS);
        let symbols = SymbolFolder::open(symbols.clone()).with_context(|| cannot_open(&symbols))?;
        let shelves = Shelves::open(&data)?;
        let tried = data.join("previews");
        let tried = Shelf::open(tried.clone(), &["zip", "wasm", "md"]).with_context(|| cannot_open(&tried))?;
        let settings = Settings {
            symbols: symbol_sources(&config, &data),
            plugin_folders: [&config.plugins[..], &[shelves.plugins.folder().to_owned()]].concat(),
            knowledge_folders: [&config.knowledge[..], &[shelves.pages.folder().to_owned()]].concat(),
            cache: Some(data.join("cache")),
            compiler: config.compiler.clone(),
            plugin_limits: (&config.plugin_limits).into(),
            trust: (&config.plugin_trust).into(),
            runs_before: plugins::runs::load(&data),
            ..Settings::default()
        };
        let diagnoser: Arc<dyn Diagnose> = Arc::new(Diagnoser::new(settings).context("can not set up the plugins")?);
        Ok(Self {
            published: Published::new(shelves, Arc::clone(&diagnoser)),
            tried: Tried::new(tried),
            stores,
            tokens: Arc::new(database),
            ingest,
            symbols,
            reader: Arc::new(Children::new(&Config {
                data: data.clone(),
                ..config.clone()
            })?),
            diagnoser,
            metrics: telemetry::metrics(),
            background: None,
            intake: None,
            wake,
            uploads: Arc::new(Uploads::new(&config.limits)),
            parses: Semaphore::new(PARSES),
            indexer: Arc::default(),
            renewals: Arc::default(),
            searches: Arc::new(Semaphore::new(config.limits.searches)),
            provisional: Arc::new(Semaphore::new(1)),
            watching: Arc::new(Watching::new(config.limits.watchers)),
            lines: Arc::default(),
            config,
            _lock: lock,
        })
    }

    /// Puts documents together.
    pub fn documents(&self) -> Documents {
        Documents::new(&self.stores, &self.diagnoser)
    }

    /// What has reports read again when symbols come.
    pub fn reopener(&self) -> Reopener {
        Reopener {
            stores: self.stores.clone(),
            wake: Arc::clone(&self.wake),
            queued_jobs: self.config.limits.queued_jobs,
        }
    }

    /// What has reports diagnosed anew when plugins or pages change.
    pub fn renewer(&self) -> Renewer {
        Renewer {
            stores: self.stores.clone(),
            diagnoser: Arc::clone(&self.diagnoser),
            renewals: Arc::clone(&self.renewals),
            wake: Arc::clone(&self.wake),
        }
    }

    /// Has the reports diagnosed anew that are outdated, after plugins or pages were changed; how many that will be. That
    /// is unknown where a store can not be asked now, and happens all the same.
    pub async fn renew(&self) -> Option<Renewed> {
        match self.count_outdated().await {
            Ok((outdated, queued)) => {
                self.renewals.tell(Some(outdated.reports), queued);
                Some(Renewed {
                    reports: (outdated.reports + queued).min(outdated.of),
                    of: outdated.of,
                })
            }
            Err(error) => {
                tracing::warn!(%error, "can not count the reports that are diagnosed anew");
                self.renewals.tell(None, 0);
                None
            }
        }
    }

    /// The reports that are outdated, and how many are to be diagnosed anew already.
    async fn count_outdated(&self) -> Result<(Outdated, u64), StoreError> {
        let now = renewal::current(&self.diagnoser).await?;
        let outdated = self.stores.outcomes.count_outdated(&now, READER_VERSION).await?;
        Ok((outdated, self.stores.jobs.unfinished(Work::Diagnose).await?))
    }

    /// The indexer, which is not started yet.
    pub fn indexer(&self) -> Indexer {
        Indexer::new(&self.stores, &self.diagnoser, &self.indexer)
    }

    /// Takes in what a client sent on the threads for that, so that searches do not wait behind a crowd of senders. It
    /// goes on to its end when the client is gone.
    pub async fn take_in<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Result<T, StoreError> {
        match &self.intake {
            Some(threads) => threads
                .spawn(work)
                .await
                .map_err(|error| StoreError::Failed(error.to_string())),
            None => Ok(work.await),
        }
    }

    /// Runs work that is long, off the async threads, on those that give way to requests.
    pub fn spawn_long<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
        match &self.background {
            Some(threads) => threads.spawn_blocking(work),
            None => tokio::task::spawn_blocking(work),
        }
    }

    /// Starts the workers, on the threads of `background`.
    pub fn start_workers(&self, background: &Handle) -> std::io::Result<Pipeline> {
        Pipeline::start(
            &self.stores,
            &self.reader,
            &self.diagnoser,
            &self.indexer,
            &self.config.workers,
            &self.wake,
            background,
        )
    }
}

/// Opens the database of the configured data folder; several processes may have it open at one time.
pub fn open_database(config: &Config) -> anyhow::Result<Sqlite> {
    let path = config.data.join("whycrash.sqlite");
    fs::create_dir_all(&config.data).with_context(|| cannot_open(&config.data))?;
    Sqlite::open(&path).map_err(|error| {
        let what = match &error {
            StoreError::Damaged(_) => format!(
                "the database {} is damaged: put a backup in its place, or move it away to start with an empty one; \
                 the artifacts in the folder `blobs` stay",
                path.display()
            ),
            _ => format!("can not open the database {}", path.display()),
        };
        anyhow::Error::new(error).context(what)
    })
}

/// Where symbols come from, for a server with its data in this folder.
pub fn symbol_sources(config: &Config, data: &Path) -> Sources {
    Sources {
        folders: config.symbols.clone(),
        store: Some(data.join(SYMBOLS)),
        local_files: config.local_symbols,
        debuginfod: whycrash_debuginfod::client(
            &config.debuginfod.join(" "),
            data.join("debuginfod"),
            DebuginfodLimits::default(),
            "",
        ),
    }
}

/// The name of this data folder among those whose servers share a store: made once.
fn owner(data: &Path) -> anyhow::Result<String> {
    let path = data.join("name");
    if let Some(name) = fs::read_to_string(&path).ok().filter(|name| !name.is_empty()) {
        return Ok(name);
    }
    let mut random = [0; 16];
    getrandom::fill(&mut random).context("can not make a name for the data folder")?;
    let name = hex::encode(random);
    fs::write(&path, &name).with_context(|| cannot_open(&path))?;
    Ok(name)
}

/// The folder for what is being read; what an earlier process left in it goes.
fn work_folder(data: &Path) -> anyhow::Result<PathBuf> {
    let folder = data.join("work");
    match fs::remove_dir_all(&folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
        _ => fs::create_dir(&folder),
    }
    .with_context(|| cannot_open(&folder))?;
    Ok(folder)
}

/// How long the lock of a server that was killed may outlive it: a child that it was about to start shares the lock until
/// it runs its own program, which on a busy machine takes a moment.
const LOCK_PATIENCE: Duration = Duration::from_secs(3);

/// Takes the lock of the data folder; the kernel ends it with the process, however that ends.
fn lock(data: &Path) -> anyhow::Result<File> {
    let path = data.join("lock");
    let opened = File::options().create(true).truncate(false).write(true).open(&path);
    let file = opened.with_context(|| cannot_open(&path))?;
    let deadline = Instant::now() + LOCK_PATIENCE;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(fs::TryLockError::WouldBlock) if Instant::now() < deadline => thread::sleep(Duration::from_millis(50)),
            Err(fs::TryLockError::WouldBlock) => bail!(
                "another server uses the data folder {}: stop it, or choose another with --data",
                data.display()
            ),
            Err(fs::TryLockError::Error(error)) => return Err(error).with_context(|| cannot_open(&path)),
        }
    }
}

fn cannot_open(path: &Path) -> String {
    format!("can not open {}", path.display())
}
