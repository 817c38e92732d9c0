//! The real server, in a process of its own over a folder of its own.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use reqwest::blocking::Client;
use rustix::process::{Pid, Resource, Rlimit, Signal, kill_process, prlimit};
use serde_json::{Value, json};

use crate::client::client;

/// How often the server's memory is looked at.
const LOOK: Duration = Duration::from_millis(100);
/// Lines of its log that are kept for when it ends.
const LOG_LINES: usize = 200;

/// A server that ends with its owner.
#[derive(Debug)]
pub struct Server {
    child: Child,
    address: SocketAddr,
    data: PathBuf,
    /// For healthy requests.
    pub client: Client,
    peak: Arc<AtomicU64>,
    log: Arc<Mutex<Vec<String>>>,
}

impl Server {
    /// Starts the binary over a data folder, with these settings beside its defaults (TOML), and waits until it
    /// listens.
    pub fn start(binary: &Path, data: &Path, settings: &str) -> anyhow::Result<Self> {
        Self::start_as(Command::new(binary), data, settings)
    }

    /// The same with a command that starts it.
    pub fn start_as(mut program: Command, data: &Path, settings: &str) -> anyhow::Result<Self> {
        let config = data.with_extension("toml");
        fs::write(&config, settings)?;
        let binary = PathBuf::from(program.get_program());
        let mut child = program
            .args(["--listen", "127.0.0.1:0", "--log-format", "text", "--config"])
            .arg(&config)
            .arg("--data")
            .arg(data)
            .env("RUST_LOG", "warn,whycrash_server=info")
            .stderr(Stdio::piped())
            .spawn()
            .with_context(|| format!("can not start {}: build it with `cargo build`", binary.display()))?;
        let mut lines = BufReader::new(child.stderr.take().context("it has an error output")?).lines();
        let log = Arc::new(Mutex::new(Vec::new()));
        let address = loop {
            let Some(line) = lines.next().transpose()? else {
                bail!(
                    "the server ended at its start: {:#?}",
                    log.lock().unwrap_or_else(PoisonError::into_inner)
                );
            };
            if let Some((_, rest)) = line.split_once("listening on http://") {
                let address = rest.split(|c: char| !(c.is_ascii_digit() || ".:".contains(c))).next();
                break address.unwrap_or_default().parse()?;
            }
            keep(&log, line);
        };
        let kept = Arc::clone(&log);
        std::thread::spawn(move || lines.map_while(Result::ok).for_each(|line| keep(&kept, line)));
        let peak = Arc::new(AtomicU64::new(0));
        watch(child.id(), &peak);
        Ok(Self {
            child,
            address,
            data: data.to_owned(),
            client: client(Duration::from_secs(60))?,
            peak,
            log,
        })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its folder.
    pub fn data(&self) -> &Path {
        &self.data
    }

    /// The most memory it has had at one time, in KiB.
    pub fn peak(&self) -> u64 {
        self.peak.load(Ordering::Relaxed)
    }

    /// File descriptors it has open.
    pub fn descriptors(&self) -> usize {
        fs::read_dir(format!("/proc/{}/fd", self.child.id())).map_or(0, Iterator::count)
    }

    /// Lets it have no more descriptors than this; none for as many as before.
    pub fn limit_descriptors(&self, most: Option<u64>) -> anyhow::Result<()> {
        let pid = Pid::from_child(&self.child);
        let own = rustix::process::getrlimit(Resource::Nofile);
        let limit = Rlimit {
            current: most.or(own.current),
            maximum: own.maximum,
        };
        prlimit(Some(pid), Resource::Nofile, limit)?;
        Ok(())
    }

    /// Why it has ended, if it has.
    pub fn ended(&mut self) -> Option<String> {
        let status = self.child.try_wait().ok()??;
        Some(format!("the server ended ({status}): {:#?}", self.last_words(20)))
    }

    /// The last lines of its log.
    pub fn last_words(&self, lines: usize) -> Vec<String> {
        let log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        log.iter().rev().take(lines).rev().cloned().collect()
    }

    /// Ends it as `kill -9` does.
    pub fn kill(self) -> anyhow::Result<()> {
        self.end(Signal::KILL)
    }

    /// Sends it a signal that ends it, and waits until it has ended.
    pub fn end(mut self, signal: Signal) -> anyhow::Result<()> {
        self.signal(signal)?;
        self.child.wait()?;
        Ok(())
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: Signal) -> anyhow::Result<()> {
        Ok(kill_process(Pid::from_child(&self.child), signal)?)
    }

    /// The processes that it has read for it.
    pub fn readers(&self) -> Vec<Pid> {
        let tasks = fs::read_dir(format!("/proc/{}/task", self.child.id()));
        let children = tasks.into_iter().flatten().flatten();
        let children = children.filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
        let pids = children.flat_map(|pids| pids.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
        pids.filter_map(|pid| Pid::from_raw(pid.parse().ok()?)).collect()
    }

    /// The JSON at a path.
    pub fn json(&self, path: &str) -> anyhow::Result<Value> {
        let answer = self.client.get(format!("http://{}{path}", self.address)).send()?;
        let status = answer.status();
        let text = answer.text()?;
        if !status.is_success() {
            bail!("{path}: {status}: {text}");
        }
        serde_json::from_str(&text).with_context(|| format!("{path} is no JSON"))
    }

    /// Sends a report of one artifact; its id.
    pub fn send(&self, name: &str, data: &[u8]) -> anyhow::Result<String> {
        self.post(&json!({"artifacts": [{"name": name, "data": STANDARD.encode(data)}]}))
    }

    /// Sends a report as JSON; its id.
    pub fn post(&self, report: &Value) -> anyhow::Result<String> {
        let reports = format!("http://{}/api/v1/reports", self.address);
        let answer = self.client.post(reports).json(report).send()?.error_for_status()?;
        let accepted: Value = answer.json()?;
        Ok(accepted["id"].as_str().context("a report has an id")?.to_owned())
    }

    /// The state of a report, and what its failure says.
    pub fn state(&self, id: &str) -> anyhow::Result<(String, Value)> {
        let document = self.json(&format!("/api/v1/reports/{id}"))?;
        Ok((document["state"].as_str().unwrap_or_default().to_owned(), document))
    }

    /// The document of a report that must end as done.
    pub fn done(&self, id: &str, patience: Duration) -> anyhow::Result<Value> {
        let deadline = Instant::now() + patience;
        loop {
            let (state, document) = self.state(id)?;
            match state.as_str() {
                "done" => return Ok(document),
                "failed" => bail!("report {id} failed: {}", document["failure"]),
                _ if Instant::now() > deadline => bail!("report {id} is still {state} after {} s", patience.as_secs()),
                _ => std::thread::sleep(Duration::from_millis(50)),
            }
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn keep(log: &Mutex<Vec<String>>, line: String) {
    let mut log = log.lock().unwrap_or_else(PoisonError::into_inner);
    if log.len() == LOG_LINES {
        log.remove(0);
    }
    log.push(line);
}

/// Notes the most memory that a process has, until it ends.
fn watch(pid: u32, peak: &Arc<AtomicU64>) {
    let peak = Arc::downgrade(peak);
    std::thread::spawn(move || {
        while let (Some(peak), Some(resident)) = (peak.upgrade(), resident(pid)) {
            peak.fetch_max(resident, Ordering::Relaxed);
            std::thread::sleep(LOOK);
        }
    });
}

/// Memory of a process that is its own, in KiB: pages of files that it maps come and go with the cache.
fn resident(pid: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"))?;
    line.trim().trim_end_matches(" kB").parse().ok()
}

/// Bytes of all files below a folder.
pub fn disk_use(folder: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(folder) else { return 0 };
    let size = |entry: fs::DirEntry| match entry.metadata() {
        Ok(metadata) if metadata.is_dir() => disk_use(&entry.path()),
        Ok(metadata) => metadata.len(),
        Err(_) => 0,
    };
    entries.flatten().map(size).sum()
}

/// A binary of this workspace, which lies beside the folder of the test's own.
///
/// # Panics
/// When it was not built.
pub fn binary(name: &str) -> PathBuf {
    let test = std::env::current_exe().expect("a test knows where it is");
    let folder = test
        .ancestors()
        .nth(2)
        .expect("it lies in a folder of the target folder");
    let path = folder.join(name);
    assert!(path.is_file(), "{} is missing: run `make build`", path.display());
    path
}
