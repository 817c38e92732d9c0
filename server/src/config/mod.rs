//! Settings: flags over `WHYCRASH_*` variables over the file over these defaults.
//!
//! `server/whycrash.toml` in the source tree lists every setting with its default; a test keeps the two alike.

mod cli;
pub mod names;

use std::collections::{BTreeMap, HashMap};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use anyhow::Context;
use serde::{Deserialize, Serialize};
use whycrash_evidence::{ArtifactKind, did_they_mean};
use whycrash_plugin_host::PublicKey;

use crate::store::Lane;
pub use cli::{Cli, Command, Serve, TokenCommand};

/// Everything that can be set.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Address to listen on. Any but a loopback address needs a token (`whycrash-server token create`).
    pub listen: SocketAddr,
    /// Folder of the database, the artifacts and the index.
    pub data: PathBuf,
    /// Address under which people reach the server, for the links it gives out; from the request when absent.
    pub public_url: Option<String>,
    /// Names under which a server without tokens may be asked, beside loopback ones. It keeps web pages elsewhere from
    /// reaching a server on this machine; with tokens every name will do.
    pub hosts: Vec<String>,
    /// Folders searched for binaries and debug files, before the binaries of this machine.
    pub symbols: Vec<PathBuf>,
    /// Whether the files of this machine may be used as symbols, at the paths a core names.
    pub local_symbols: bool,
    /// Addresses of debuginfod servers that are asked for binaries and debug files that are not here.
    pub debuginfod: Vec<String>,
    /// Folders of plugin components to run beside the built-in ones.
    pub plugins: Vec<PathBuf>,
    /// Folders of pages of causes beside ours. A page with the id of one of ours stands in its place.
    pub knowledge: Vec<PathBuf>,
    /// Form of the log: `text` or `json`.
    pub log_format: LogFormat,
    /// What is taken in, and how much at a time.
    pub limits: Limits,
    /// How reports are processed.
    pub workers: Workers,
    /// How long things are kept.
    pub retention: Retention,
    /// What one run of one plugin may use; the built-in ones have the defaults.
    pub plugin_limits: PluginLimits,
    /// Whose plugins are taken.
    pub plugin_trust: PluginTrust,
    /// The program that compiles plugins in a process of its own; not set by anybody, but by the program's `main`.
    #[serde(skip)]
    pub compiler: Option<PathBuf>,
    /// Program whose command `read` reads artifacts, where this very program is not the server's.
    #[serde(skip)]
    pub reader: Option<PathBuf>,
}

/// Form of the log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// One JSON object a line.
    Json,
}

/// What is taken in, and how much at a time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Bytes of one artifact. Cores of tens of GB are normal.
    pub artifact_bytes: u64,
    /// Artifacts of one report: all ranks of a node with several files each fit well.
    pub artifacts: usize,
    /// Bytes of a JSON request body, inline artifacts included (base64 adds a third).
    pub json_bytes: usize,
    /// Bytes of a report's metadata: its names and texts, or the fields of a form.
    pub metadata_bytes: usize,
    /// Values in a report's metadata, those in lists and objects included.
    pub metadata_values: usize,
    /// Requests whose body is being received at one time; more are answered 429 with `Retry-After`. When all are
    /// taken, those that hardly send anything make room.
    pub uploads: usize,
    /// Connections at one time; more wait until others end.
    pub connections: usize,
    /// Seconds that a client may be silent in the middle of a request.
    pub idle_seconds: u64,
    /// Bytes a second that a body must have on average, beyond `idle_seconds`.
    pub bytes_per_second: u64,
    /// How many times its packed size a compressed body may have, beyond 16 MiB.
    pub unpack_ratio: u64,
    /// Jobs that may wait; more are answered 503 with `Retry-After`.
    pub queued_jobs: u64,
    /// Bytes of the disk that uploads leave free, so that the database and the index can go on.
    pub reserved_disk_bytes: u64,
    /// Bytes of artifacts that are diagnosed at once for the answer to a new report; 0 turns that off.
    pub provisional_bytes: u64,
    /// Seconds that the answer to a new report waits for that diagnosis.
    pub provisional_seconds: u64,
    /// Searches at one time; more wait a little and are then answered 503.
    pub searches: usize,
    /// Clients that are told at one time how far reports and previews have come; others ask again and again.
    pub watchers: usize,
    /// Seconds that one of them is told so, before it has to ask anew.
    pub watch_seconds: u64,
}

/// Bytes that reading a report always may take: what readers keep at most with their own limits.
const LEAST_MEMORY: u64 = 512 << 20;
/// Bytes of memory of a machine that does not say.
const DEFAULT_MEMORY: u64 = 2 << 30;

/// How reports are processed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Workers {
    /// Reports processed at one time; 0 stands for half of the processors, at least two: one is left to small reports.
    pub threads: usize,
    /// How often a report is tried whose processing panicked or failed, before it is given up.
    pub attempts: u32,
    /// How often the process that reads a report may die of it, before the report is put into quarantine.
    pub deaths: u32,
    /// Bytes of memory that reading one report may take; 0 stands for a share of this machine's memory that leaves
    /// half of it to everything else, at least 512 MiB.
    pub memory_bytes: u64,
    /// Seconds that reading one report may take.
    pub read_seconds: u64,
    /// Seconds that a worker holds a job without a sign of life before another may take it.
    pub lease_seconds: u64,
    /// Seconds a job that failed waits before it is tried again, times the attempts so far.
    pub retry_seconds: u64,
    /// Versions of a report's diagnosis that are kept.
    pub diagnoses: u32,
    /// Reports that previews of plugins look at in a second, at most; 0 for as many as there is time for.
    pub previews_per_second: u32,
}

/// How long things are kept. Days count from the time a report came; 0 stands for ever.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Retention {
    /// Days that reports are kept, with everything that belongs to them.
    pub reports_days: u32,
    /// Days that artifacts of a kind are kept; their documents stay.
    pub artifacts_days: HashMap<ArtifactKind, u32>,
    /// Days that uploaded symbols are kept, counted from when they were sent last; stacks that were named with them
    /// keep their names.
    pub symbols_days: u32,
    /// Days that an upload may stand still before what came of it is removed.
    pub unfinished_days: u32,
    /// Hours that bytes are kept which no report refers to: how long an upload may take from its first artifact to its
    /// report, at least 1.
    pub unreferenced_hours: u32,
    /// Seconds from one round of removing to the next; 0 turns it off.
    pub every_seconds: u64,
}

/// What one run of one plugin may use. A plugin that carries an interpreter has a hundred times the fuel and six times
/// the time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PluginLimits {
    /// Fuel: about one unit for each instruction.
    pub fuel: u64,
    /// Processor time in milliseconds: the backstop behind the fuel.
    pub millis: u64,
    /// Bytes of memory.
    pub memory_bytes: usize,
    /// Runs in a row that failed or cost most of what they may, after which a plugin is set aside; 0 for never.
    pub strikes: u32,
}

impl Default for PluginLimits {
    fn default() -> Self {
        let limits = whycrash_plugin_host::PluginLimits::default();
        Self {
            fuel: limits.fuel,
            millis: limits.millis,
            memory_bytes: limits.memory,
            strikes: limits.strikes,
        }
    }
}

impl From<&PluginLimits> for whycrash_plugin_host::PluginLimits {
    fn from(limits: &PluginLimits) -> Self {
        Self {
            fuel: limits.fuel,
            millis: limits.millis,
            memory: limits.memory_bytes,
            strikes: limits.strikes,
            ..Self::default()
        }
    }
}

/// Whose plugins are taken, beside the built-in ones.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PluginTrust {
    /// Whether only packages are taken that one of the keys has signed.
    pub require_signature: bool,
    /// Public keys by the names of those who have them.
    pub trusted_keys: BTreeMap<String, PublicKey>,
}

impl From<&PluginTrust> for whycrash_plugin_host::Trust {
    fn from(trust: &PluginTrust) -> Self {
        Self {
            keys: trust.trusted_keys.clone(),
            required: trust.require_signature,
        }
    }
}

impl Default for Retention {
    fn default() -> Self {
        Self {
            reports_days: 0,
            artifacts_days: HashMap::new(),
            symbols_days: 0,
            unfinished_days: 7,
            unreferenced_hours: 24,
            every_seconds: 600,
        }
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            listen: SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 7311),
            data: PathBuf::from("whycrash-data"),
            public_url: None,
            hosts: Vec::new(),
            symbols: Vec::new(),
            local_symbols: true,
            debuginfod: Vec::new(),
            plugins: Vec::new(),
            knowledge: Vec::new(),
            log_format: LogFormat::Text,
            limits: Limits::default(),
            workers: Workers::default(),
            retention: Retention::default(),
            plugin_limits: PluginLimits::default(),
            plugin_trust: PluginTrust::default(),
            compiler: None,
            reader: None,
        }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            artifact_bytes: 256 << 30,
            artifacts: 256,
            json_bytes: 16 << 20,
            metadata_bytes: 1 << 20,
            metadata_values: 10_000,
            uploads: 256,
            connections: 1024,
            idle_seconds: 20,
            bytes_per_second: 1024,
            unpack_ratio: 100,
            queued_jobs: 10_000,
            reserved_disk_bytes: 256 << 20,
            provisional_bytes: 4 << 20,
            provisional_seconds: 2,
            searches: 32,
            watchers: 128,
            watch_seconds: 600,
        }
    }
}

impl Default for Workers {
    fn default() -> Self {
        Self {
            threads: 0,
            attempts: 3,
            deaths: 2,
            memory_bytes: 0,
            read_seconds: 3600,
            lease_seconds: 60,
            retry_seconds: 5,
            diagnoses: 10,
            previews_per_second: 0,
        }
    }
}

impl Workers {
    /// How many threads that are.
    pub fn count(&self) -> usize {
        match self.threads {
            0 => std::thread::available_parallelism().map_or(4, |n| (2 * n.get()).max(4)),
            set => set,
        }
    }

    /// How many of them take any report; the others take small ones alone.
    pub fn any_count(&self) -> usize {
        self.count().div_ceil(4)
    }

    /// What the worker of this number, counted from 0, takes: from three on, the last one takes nothing but new reports.
    pub fn lane(&self, number: usize) -> Lane {
        if number < self.any_count() {
            Lane::Any
        } else if number >= 2 && number + 1 == self.count() {
            Lane::New
        } else {
            Lane::Small
        }
    }

    /// How much memory reading one report may take.
    pub fn memory_bytes(&self) -> u64 {
        match self.memory_bytes {
            0 => (total_memory() / 2 / self.count() as u64).max(LEAST_MEMORY),
            set => set,
        }
    }
}

/// Bytes of memory that this machine has, or the control group that this process is in.
fn total_memory() -> u64 {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let group = read("/sys/fs/cgroup/memory.max").trim().parse().unwrap_or(u64::MAX);
    let machine = read("/proc/meminfo");
    let total = machine.lines().find_map(|line| line.strip_prefix("MemTotal:"));
    let kibibytes = total.and_then(|total| total.trim().trim_end_matches(" kB").parse::<u64>().ok());
    group.min(kibibytes.map_or(DEFAULT_MEMORY, |count| count << 10))
}

impl Config {
    /// The settings of the file at `path`, with defaults for the rest.
    pub fn from_file(path: &Path) -> anyhow::Result<Self> {
        let text = std::fs::read_to_string(path).with_context(|| format!("can not read {}", path.display()))?;
        toml::from_str(&text).map_err(|error| {
            let meant = did_they_mean(error.message());
            anyhow::Error::new(error).context(format!("{} is no valid configuration{meant}", path.display()))
        })
    }

    /// The settings under these command line arguments and variables.
    pub fn load(args: &Serve) -> anyhow::Result<Self> {
        let mut config = args
            .config
            .as_deref()
            .map(Self::from_file)
            .transpose()?
            .unwrap_or_default();
        args.apply(&mut config);
        names::check(&config)?;
        Ok(config)
    }

    /// The command that makes a token for this server's data.
    pub fn first_token_command(&self) -> String {
        let data = std::path::absolute(&self.data).unwrap_or_else(|_| self.data.clone());
        let quoted = data.display().to_string().replace('\'', "'\\''");
        format!("whycrash-server --data '{quoted}' token create --scope admin")
    }

    /// Whether only this machine can reach the server.
    pub fn is_loopback(&self) -> bool {
        self.listen.ip().is_loopback()
    }
}
