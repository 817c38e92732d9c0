//! Settings from the file; flags and `WHYCRASH_*` variables are clap's, and win over these.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use serde::{Deserialize, Serialize};
use whycrash_evidence::did_they_mean;

use crate::arm::Switch;

/// Where a server listens when nobody says otherwise.
const DEFAULT_SERVER: &str = "http://127.0.0.1:7311";

/// Room for a few cores of large jobs.
const SPOOL_MEGABYTES: u64 = 50_000;

/// `config.toml`. Every entry is optional.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Base URL of the server for `upload`, `search` and `show`, and where `run` uploads to when it is set here.
    pub server: Option<String>,
    /// Token for that server.
    pub token: Option<String>,
    /// Folders searched for binaries and debug files.
    pub symbols: Vec<PathBuf>,
    /// Folders of plugins to run beside the built-in ones.
    pub plugins: Vec<PathBuf>,
    /// Folders of pages of causes beside the built-in ones.
    pub knowledge: Vec<PathBuf>,
    /// Whether texts are sent without the secrets and names of people in them; they are unless this is false.
    pub scrub: bool,
    /// Evidence that `run` has a job leave beside what it does by default.
    pub arm: Vec<Switch>,
    /// Evidence that it does not have a job leave.
    pub no_arm: Vec<Switch>,
    /// How much room reports that wait for their server may take, in megabytes.
    pub spool_megabytes: u64,
    /// How often `run` samples GPU memory, such as `100ms`.
    pub gpu_interval: Option<String>,
    /// How long after a crash `run` may wait before it ends as its job did, such as `10s`.
    pub wait: Option<String>,
    /// How long of that it may wait for the answer of a server, such as `3s`.
    pub server_wait: Option<String>,
    /// How long a job of `run` makes no progress before a report of a hang is made, such as `10m`.
    pub hang_after: Option<String>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            server: None,
            token: None,
            symbols: Vec::new(),
            plugins: Vec::new(),
            knowledge: Vec::new(),
            scrub: true,
            arm: Vec::new(),
            no_arm: Vec::new(),
            spool_megabytes: SPOOL_MEGABYTES,
            gpu_interval: None,
            wait: None,
            server_wait: None,
            hang_after: None,
        }
    }
}

impl Config {
    /// Reads `path`, or the default place where a missing file means no settings. `WHYCRASH_SCRUB` wins over either.
    pub fn load(path: Option<&Path>) -> anyhow::Result<Self> {
        let mut config = Self::from_file(path)?;
        match std::env::var("WHYCRASH_SCRUB").as_deref() {
            Ok("true") => config.scrub = true,
            Ok("false") => config.scrub = false,
            Ok(other) => bail!("WHYCRASH_SCRUB is {other:?}: say true or false"),
            Err(_) => {}
        }
        Ok(config)
    }

    fn from_file(path: Option<&Path>) -> anyhow::Result<Self> {
        let (path, must_exist) = match path {
            Some(path) => (path.to_owned(), true),
            None => match config_home() {
                Some(home) => (home.join("whycrash/config.toml"), false),
                None => return Ok(Self::default()),
            },
        };
        match std::fs::read_to_string(&path) {
            Ok(text) => toml::from_str(&text).map_err(|error| {
                let meant = did_they_mean(error.message());
                anyhow::Error::new(error).context(format!("the settings in {} do not parse{meant}", path.display()))
            }),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound && !must_exist => Ok(Self::default()),
            Err(error) => Err(error).with_context(|| format!("can not read the settings in {}", path.display())),
        }
    }

    /// The server to talk to: the flag (or variable), else the file's, else the default.
    pub fn server(&self, flag: Option<&str>) -> String {
        let url = flag.or(self.server.as_deref()).unwrap_or(DEFAULT_SERVER);
        url.trim_end_matches('/').to_owned()
    }
}

/// `$XDG_CONFIG_HOME`, or `~/.config`.
fn config_home() -> Option<PathBuf> {
    xdg("XDG_CONFIG_HOME", ".config")
}

/// Where reports are kept: `$XDG_STATE_HOME/whycrash`, or `~/.local/state/whycrash`.
pub fn state_folder() -> Option<PathBuf> {
    xdg("XDG_STATE_HOME", ".local/state").map(|home| home.join("whycrash"))
}

/// Where compiled plugins are kept: `$XDG_CACHE_HOME/whycrash`, or `~/.cache/whycrash`.
pub fn cache_folder() -> Option<PathBuf> {
    xdg("XDG_CACHE_HOME", ".cache").map(|home| home.join("whycrash"))
}

/// A base folder of the XDG specification, which wants relative values ignored.
fn xdg(variable: &str, under_home: &str) -> Option<PathBuf> {
    let set = std::env::var_os(variable)
        .map(PathBuf::from)
        .filter(|path| path.is_absolute());
    set.or_else(|| std::env::home_dir().map(|home| home.join(under_home)))
}
