//! Where reports wait for their server.
//!
//! An entry is a small file that names a report's folder and a server. It is there before the first attempt and goes
//! after the last one, so that nothing that happens in between loses a report; whoever works on it holds a lock.

mod room;

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use jiff::Timestamp;
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};
use serde_json::Map;
use whycrash_evidence::Artifact;

use crate::client::{Client, Progress, Refused, Uploaded};
use crate::config::{self, Config};
use crate::inputs;
use crate::output::{self, Clean};
use crate::report;

/// First and last pause between two attempts, and how long the process that made a report goes on trying.
const PAUSES: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(60));
const PATIENCE: Duration = Duration::from_secs(10 * 60);

/// A report that waits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Where the report is.
    pub folder: PathBuf,
    /// Where it is to go.
    pub server: String,
    /// Since when it waits.
    pub since: Timestamp,
    /// How often it was tried.
    pub attempts: u32,
    /// Why the last attempt failed.
    pub error: Option<String>,
    /// Whether the server does not want it, so that trying again is of no use.
    #[serde(default)]
    pub refused: bool,
}

/// An entry in its place.
#[derive(Clone, Debug, Serialize)]
pub struct Waiting {
    /// Its file.
    #[serde(skip)]
    path: PathBuf,
    /// What it is called, unlike all others.
    pub id: String,
    /// What is in it.
    #[serde(flatten)]
    pub entry: Entry,
}

impl Waiting {
    fn of(path: PathBuf, entry: Entry) -> Self {
        let id = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        Self { path, id, entry }
    }
}

/// What is done with the address of a report, as soon as the server has given it one.
pub type Announce<'a> = &'a dyn Fn(&Uploaded) -> anyhow::Result<()>;

/// Sends a report that was just made, from the spool where it could be kept, and goes on trying for a while.
pub fn send(
    server: String,
    artifacts: &[Artifact],
    kept: Option<PathBuf>,
    config: &Config,
    announce: Announce<'_>,
) -> anyhow::Result<()> {
    let Some(folder) = kept else {
        let client = Client::new(Some(&server), config)?;
        return client.upload(artifacts, &Map::new(), &Silent, announce).map(drop);
    };
    let waiting = add(folder, server)?;
    room::make(&list(), config.spool_megabytes.saturating_mul(1_000_000));
    let end = Instant::now() + PATIENCE;
    let mut pause = PAUSES.0;
    loop {
        match attempt(&waiting, None, config, &Silent, announce) {
            Ok(_) => return Ok(()),
            Err(error) if Instant::now() + pause > end || error.is::<Refused>() => return Err(error),
            Err(error) => {
                // Once: after that nobody listens, and nobody waits.
                let waits = "the report waits for it, and is sent when it can be (`whycrash spool list`)";
                output::tell(&Clean::from(format!("{error:#}; {waits}")));
                output::be_silent();
            }
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(PAUSES.1);
    }
}

/// The reports that wait, the oldest first.
pub fn list() -> Vec<Waiting> {
    let mut all: Vec<Waiting> = places().iter().flat_map(|place| entries(place)).collect();
    all.sort_by_key(|waiting| waiting.entry.since);
    all
}

/// Takes one of them out of the spool without sending it; its folder stays. False when somebody else is at it.
pub fn drop_one(waiting: &Waiting) -> anyhow::Result<bool> {
    let Some((lock, _)) = claim(&waiting.path) else {
        return Ok(false);
    };
    std::fs::remove_file(&waiting.path).context("can not take the report out of the spool")?;
    drop(lock);
    Ok(true)
}

/// Tries to send one of them, to another server if one is named, and takes it out of the spool when it is sent. None when
/// somebody else is at it.
pub fn attempt(
    waiting: &Waiting,
    server: Option<&str>,
    config: &Config,
    progress: &impl Progress,
    announce: Announce<'_>,
) -> anyhow::Result<Option<Uploaded>> {
    let Some((lock, mut entry)) = claim(&waiting.path) else {
        return Ok(None);
    };
    let sent = inputs::to_upload(std::slice::from_ref(&entry.folder)).and_then(|artifacts| {
        let client = Client::new(Some(server.unwrap_or(&entry.server)), config)?;
        client.upload(&artifacts, &Map::new(), progress, announce)
    });
    match sent {
        Ok(uploaded) => {
            std::fs::remove_file(&waiting.path).context("can not take the report out of the spool")?;
            drop(lock);
            Ok(Some(uploaded))
        }
        Err(error) => {
            entry.attempts += 1;
            entry.error = Some(format!("{error:#}"));
            entry.refused = error.is::<Refused>();
            write(&waiting.path, &entry).context("can not write to the spool")?;
            Err(error)
        }
    }
}

/// Takes a report into the spool.
fn add(folder: PathBuf, server: String) -> anyhow::Result<Waiting> {
    let folder = std::path::absolute(&folder).unwrap_or(folder);
    let entry = Entry {
        folder,
        server,
        since: Timestamp::now(),
        attempts: 0,
        error: None,
        refused: false,
    };
    let name = format!("{}.json", report::unique_name());
    let mut last = anyhow::anyhow!("no place for it");
    for place in places() {
        let path = place.join(&name);
        match std::fs::create_dir_all(&place).and_then(|()| write(&path, &entry)) {
            Ok(()) => return Ok(Waiting::of(path, entry)),
            Err(error) => last = error.into(),
        }
    }
    Err(last.context("the report can not wait for its server"))
}

/// Whole or not at all.
fn write(path: &Path, entry: &Entry) -> std::io::Result<()> {
    let partial = path.with_extension("partial");
    let mut file = File::create(&partial)?;
    serde_json::to_writer(&file, entry)?;
    file.flush()?;
    file.sync_all()?;
    std::fs::rename(&partial, path)
}

/// The entry, for whoever is the only one to work on it; until the file is closed.
fn claim(path: &Path) -> Option<(File, Entry)> {
    let lock = File::create(path.with_extension("lock")).ok()?;
    flock(&lock, FlockOperation::NonBlockingLockExclusive).ok()?;
    // It may have been sent while we came.
    let entry = std::fs::read(path)
        .ok()
        .and_then(|bytes| serde_json::from_slice(&bytes).ok());
    let _ = std::fs::remove_file(path.with_extension("lock"));
    Some((lock, entry?))
}

fn entries(place: &Path) -> Vec<Waiting> {
    let files = std::fs::read_dir(place).into_iter().flatten().flatten();
    let paths = files.map(|entry| entry.path());
    paths
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        .filter_map(|path| {
            let entry = serde_json::from_slice(&std::fs::read(&path).ok()?).ok()?;
            Some(Waiting::of(path, entry))
        })
        .collect()
}

/// Where entries are: at home, or where reports go without one.
fn places() -> Vec<PathBuf> {
    let home = config::state_folder().into_iter();
    home.chain([report::temporary()])
        .map(|folder| folder.join("spool"))
        .collect()
}

/// Nobody watches.
#[derive(Clone, Copy, Debug)]
struct Silent;

impl Progress for Silent {
    fn begin(&self, _: &str, _: u64) {}
    fn advance(&self, _: u64) {}
    fn finish(&self) {}
}
