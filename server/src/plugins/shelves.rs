//! Where plugins stand that were published, and pages.
//!
//! What is true of a plugin is where its file stands: among those that take part, or among those that are disabled. Each
//! change is one step of the file system there; what else is written before or behind it (versions, pins) is brought
//! in line with it at the next start when the server is killed in between.

use std::io;
use std::path::Path;

use anyhow::Context as _;
use whycrash_plugin_host::PINS;

use super::history::History;
use crate::shelf::{self, Shelf};

/// What files of plugins are called at their end.
const PLUGINS: &[&str] = &["zip", "wasm"];
/// What files of pages are called at their end.
pub(super) const PAGES: &[&str] = &["md"];

/// The folders.
#[derive(Debug)]
pub struct Shelves {
    /// Plugins that take part.
    pub plugins: Shelf,
    /// Plugins that are kept and do not.
    pub disabled: Shelf,
    /// Pages.
    pub pages: Shelf,
    /// Versions of plugins.
    pub history: History,
}

impl Shelves {
    /// Those in a folder of data, which are made where they are not there, as a server that was killed should have left
    /// them.
    pub fn open(data: &Path) -> anyhow::Result<Self> {
        let shelf = |name: &str, extensions| {
            let folder = data.join(name);
            Shelf::open(folder.clone(), extensions).with_context(|| format!("can not open {}", folder.display()))
        };
        let versions = data.join("plugin-versions");
        let shelves = Self {
            plugins: shelf("plugins", PLUGINS)?,
            disabled: shelf("plugins-disabled", PLUGINS)?,
            pages: shelf("knowledge", PAGES)?,
            history: History::open(versions.clone()).with_context(|| format!("can not open {}", versions.display()))?,
        };
        // A disk that is full keeps no server from starting.
        if let Err(error) = shelves.mend() {
            tracing::warn!(%error, "what a server that was killed left of plugins stays");
        }
        Ok(shelves)
    }

    /// Whether a plugin of this name was published.
    pub fn has(&self, name: &str) -> bool {
        self.plugins.has(name) || self.disabled.has(name)
    }

    /// Writes which files may run.
    pub fn pin(&self) -> io::Result<()> {
        shelf::write(self.plugins.folder(), PINS, self.history.pins()?.as_bytes())
    }

    /// Forgets the versions of a plugin that stands nowhere any more. It is gone by then, whatever comes of this.
    pub fn forget(&self, name: &str) {
        if let Err(error) = self.history.remove(name).and_then(|()| self.pin()) {
            tracing::warn!(plugin = name, %error, "versions of a plugin that was removed stay until the next start");
        }
    }

    /// Ends what was begun: who published a plugin that was disabled had it enabled, and a plugin that stands nowhere
    /// was removed, or never came to stand.
    fn mend(&self) -> io::Result<()> {
        for name in self.disabled.names()? {
            if self.plugins.has(&name) {
                self.disabled.remove(&name)?;
            }
        }
        for name in self.history.names()? {
            if !self.has(&name) {
                self.history.remove(&name)?;
                self.pin()?;
            }
        }
        Ok(())
    }
}
