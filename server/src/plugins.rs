//! The plugins that were published to this server.
//!
//! They are files in a folder of the data, one for each name, which is one of the diagnoser's plugin folders. A plugin is
//! looked at as if it were installed before it is kept, so that what is refused leaves nothing.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use tempfile::NamedTempFile;
use whycrash_plugin_host::{Offered, PluginInfo, PluginLimits};

use crate::pipeline::Diagnose;

/// What files of plugins are called at their end.
const EXTENSIONS: [&str; 2] = ["zip", "wasm"];

/// The folder of published plugins.
#[derive(Debug)]
pub struct PluginFolder {
    folder: PathBuf,
    diagnoser: Arc<dyn Diagnose>,
    /// Held while the folder changes.
    changing: Mutex<()>,
}

/// Why a plugin was not published, or not removed.
#[derive(Debug, thiserror::Error)]
pub enum PublishError {
    /// It can not be used.
    #[error("{0}")]
    Refused(String),
    /// There is none of this name.
    #[error("no plugin called {0} was published")]
    Unknown(String),
    /// The folder can not be written.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl PluginFolder {
    /// The folder, which is made where it is not there, and whose plugins this diagnoser runs.
    pub fn open(folder: PathBuf, diagnoser: Arc<dyn Diagnose>) -> io::Result<Self> {
        fs::create_dir_all(&folder)?;
        Ok(Self {
            folder,
            diagnoser,
            changing: Mutex::default(),
        })
    }

    /// Bytes that a package may have.
    pub fn package_bytes(&self) -> u64 {
        PluginLimits::default().component_bytes as u64 * 2
    }

    /// Keeps the plugin in this file, and lets it run. May take as long as compiling it does.
    pub fn publish(&self, file: &Path) -> Result<PluginInfo, PublishError> {
        let _changing = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let offered = self.diagnoser.look_at(fs::read(file)?).map_err(PublishError::Refused)?;
        let name = offered.info.name.clone();
        self.keep(&offered)?;
        self.diagnoser.reload();
        let plugins = self.diagnoser.plugins();
        let installed = plugins.into_iter().find(|plugin| plugin.sha256 == offered.info.sha256);
        let installed = installed.unwrap_or(offered.info);
        match installed.problem {
            // Another folder has a plugin of this name.
            Some(problem) => {
                self.forget(&name)?;
                self.diagnoser.reload();
                Err(PublishError::Refused(problem))
            }
            None => Ok(installed),
        }
    }

    /// Removes a plugin that was published.
    pub fn remove(&self, name: &str) -> Result<(), PublishError> {
        let _changing = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        if !self.forget(name)? {
            return Err(PublishError::Unknown(name.to_owned()));
        }
        self.diagnoser.reload();
        Ok(())
    }

    fn keep(&self, offered: &Offered) -> io::Result<()> {
        let mut file = NamedTempFile::new_in(&self.folder)?;
        file.write_all(&offered.bytes)?;
        file.as_file().sync_all()?;
        file.persist(self.path(&offered.info.name, offered.extension))?;
        // A package takes the place of a component, and the other way round.
        let other = EXTENSIONS
            .into_iter()
            .filter(|extension| *extension != offered.extension);
        for extension in other {
            remove_file(&self.path(&offered.info.name, extension))?;
        }
        fs::File::open(&self.folder)?.sync_all()
    }

    /// Whether there was such a plugin. Names that no plugin can have lead nowhere.
    fn forget(&self, name: &str) -> io::Result<bool> {
        if name.is_empty() || name.contains(|c: char| !(c.is_ascii_alphanumeric() || c == '-')) {
            return Ok(false);
        }
        let mut removed = false;
        for extension in EXTENSIONS {
            removed |= remove_file(&self.path(name, extension))?;
        }
        Ok(removed)
    }

    fn path(&self, name: &str, extension: &str) -> PathBuf {
        self.folder.join(format!("{name}.{extension}"))
    }
}

/// Whether there was such a file.
fn remove_file(path: &Path) -> io::Result<bool> {
    match fs::remove_file(path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}
