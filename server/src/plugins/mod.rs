//! The plugins and the pages that were published to this server.
//!
//! They are files in folders of the data, one for each name, which are among the diagnoser's folders. A plugin is
//! looked at as if it were installed before it is kept, so that what is refused leaves nothing. Versions that were
//! published before are kept beside (`history.rs`), and a file that is none of them does not run.

pub mod history;
pub mod runs;

use std::fs;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use whycrash_plugin_host::{Offered, PINS, PluginInfo, PluginLimits};

use crate::pipeline::Diagnose;
use crate::shelf::{self, Shelf, Standing};
pub use history::{History, PublishedVersion};

/// What files of plugins are called at their end.
pub const PLUGINS: &[&str] = &["zip", "wasm"];
/// What files of pages are called at their end.
pub const PAGES: &[&str] = &["md"];

/// What was published.
#[derive(Debug)]
pub struct Published {
    plugins: Shelf,
    /// Plugins that are kept and do not take part.
    disabled: Shelf,
    pages: Shelf,
    history: History,
    diagnoser: Arc<dyn Diagnose>,
    /// Held while something is looked at, which takes the memory and time of compiling it.
    looking: Mutex<()>,
    /// Held while something changes.
    changing: Mutex<()>,
}

/// Why something was not published, or not removed.
#[derive(Debug, thiserror::Error)]
pub enum PublishError {
    /// It can not be used.
    #[error("{0}")]
    Refused(String),
    /// There is none of this name.
    #[error("no plugin called {0} was published")]
    Unknown(String),
    /// There is none before it.
    #[error("no version of {0} that was published before this one is kept")]
    First(String),
    /// The folder can not be written.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl Published {
    /// What stands in two folders of the diagnoser's, and in one for plugins that are disabled.
    pub fn new(plugins: Shelf, disabled: Shelf, pages: Shelf, history: History, diagnoser: Arc<dyn Diagnose>) -> Self {
        Self {
            plugins,
            disabled,
            pages,
            history,
            diagnoser,
            looking: Mutex::default(),
            changing: Mutex::default(),
        }
    }

    /// Bytes that a package may have.
    pub fn package_bytes(&self) -> u64 {
        PluginLimits::default().component_bytes as u64 * 2
    }

    /// Keeps the plugin in this file, and lets it run. May take as long as compiling it does.
    pub fn publish(&self, file: &Path) -> Result<PluginInfo, PublishError> {
        let offered = self.look_at(|| fs::read(file))?;
        self.put(&offered)
    }

    /// Looks at one after the other: who waits has nothing in memory yet.
    fn look_at(&self, read: impl FnOnce() -> io::Result<Vec<u8>>) -> Result<Offered, PublishError> {
        let _looking = self.looking.lock().unwrap_or_else(PoisonError::into_inner);
        self.diagnoser.look_at(read()?).map_err(PublishError::Refused)
    }

    /// Keeps a plugin or a page that was looked at before, and lets it take part.
    pub fn put(&self, offered: &Offered) -> Result<PluginInfo, PublishError> {
        let _changing = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        self.put_alone(offered)
    }

    /// The same for who is the only one to change something.
    fn put_alone(&self, offered: &Offered) -> Result<PluginInfo, PublishError> {
        let name = &offered.info.name;
        if PAGES.contains(&offered.extension) {
            self.stand(offered)?;
        } else {
            let known = self.history.of(name)?;
            let stands = self.remember(offered).map_err(PublishError::from);
            if let Err(error) = stands.and_then(|()| self.stand(offered)) {
                self.forget(name, known);
                return Err(error);
            }
        }
        self.disabled.remove(name)?;
        Ok(offered.info.clone())
    }

    /// Has these be the versions of a plugin again. What keeps a new one out, such as a full disk, may keep that from
    /// being written too: then a version is listed that never took part.
    fn forget(&self, name: &str, known: Vec<PublishedVersion>) {
        if let Err(error) = self.history.go_back(name, known).and_then(|()| self.pin()) {
            tracing::warn!(plugin = name, %error, "a version that was not published is still listed");
        }
    }

    /// Has it stand under its name and take part; where it can not, what stood there before stays.
    fn stand(&self, offered: &Offered) -> Result<(), PublishError> {
        let (shelf, name) = (self.shelf(offered.extension), &offered.info.name);
        let before = shelf.get(name)?;
        shelf.put(name, offered.extension, &offered.bytes)?;
        self.diagnoser.reload();
        let Some(problem) = self.problem(offered) else {
            return Ok(());
        };
        // Another folder has a plugin of this name.
        shelf.put_back(name, before.as_ref())?;
        self.diagnoser.reload();
        Err(PublishError::Refused(problem))
    }

    /// Puts the version that was published before the present one in its place.
    pub fn step_back(&self, name: &str) -> Result<PluginInfo, PublishError> {
        let _changing = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let standing = self.plugins.get(name)?;
        let standing = standing.ok_or_else(|| PublishError::Unknown(name.to_owned()))?;
        let before = self.history.before(name, &standing)?;
        let (_, bytes) = before.ok_or_else(|| PublishError::First(name.to_owned()))?;
        let offered = self.look_at(|| Ok(bytes))?;
        self.stand(&offered)?;
        Ok(offered.info)
    }

    /// The versions of a plugin that were published, oldest first.
    pub fn versions(&self, name: &str) -> io::Result<Vec<PublishedVersion>> {
        if !self.plugins.has(name) && !self.disabled.has(name) {
            return Ok(Vec::new());
        }
        self.history.of(name)
    }

    /// Adds a plugin to those that may run. What stood there before there was a history of it becomes a part of it.
    fn remember(&self, offered: &Offered) -> io::Result<()> {
        for name in self.plugins.names()? {
            if let (true, Some((extension, bytes))) = (self.history.of(&name)?.is_empty(), self.plugins.get(&name)?) {
                let standing = self.diagnoser.plugins().into_iter().find(|plugin| plugin.name == name);
                self.history
                    .add(&name, &standing.unwrap_or_default(), &extension, &bytes)?;
            }
        }
        self.history
            .add(&offered.info.name, &offered.info, offered.extension, &offered.bytes)?;
        self.pin()
    }

    fn pin(&self) -> io::Result<()> {
        shelf::write(self.plugins.folder(), PINS, self.history.pins()?.as_bytes())
    }

    /// Keeps a plugin that was published from taking part, until it is enabled.
    pub fn disable(&self, name: &str) -> Result<(), PublishError> {
        let _changing = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let standing = self.plugins.get(name)?;
        let (extension, bytes) = standing.ok_or_else(|| PublishError::Unknown(name.to_owned()))?;
        self.disabled.put(name, &extension, &bytes)?;
        self.plugins.remove(name)?;
        self.diagnoser.reload();
        Ok(())
    }

    /// Lets a plugin take part again that was disabled, or set aside because it kept failing.
    pub fn enable(&self, name: &str) -> Result<PluginInfo, PublishError> {
        while let Some(standing) = self.disabled.get(name)? {
            let offered = self.look_at(|| Ok(standing.1.clone()))?;
            let _changing = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
            // Who removed it, or published another one, while this one was looked at has the last word.
            if self.disabled.get(name)?.as_ref() == Some(&standing) {
                let enabled = self.put_alone(&offered)?;
                self.diagnoser.forgive(name);
                return Ok(enabled);
            }
        }
        let mut plugins = self.diagnoser.plugins().into_iter();
        match plugins.find(|plugin| plugin.name == name) {
            Some(plugin) if self.diagnoser.forgive(name) => Ok(plugin),
            _ => Err(PublishError::Unknown(name.to_owned())),
        }
    }

    /// Names of the plugins that are disabled.
    pub fn disabled(&self) -> io::Result<Vec<String>> {
        self.disabled.names()
    }

    /// What stands under the name of a plugin, or of a page for the extension `md`.
    pub fn standing(&self, name: &str, extension: &str) -> io::Result<Option<Standing>> {
        self.shelf(extension).get(name)
    }

    /// Makes this stand under the name of a plugin or page: what did before, or nothing.
    pub fn put_back(&self, name: &str, extension: &str, standing: Option<&Standing>) -> io::Result<()> {
        let _changing = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        self.shelf(extension).put_back(name, standing)?;
        self.diagnoser.reload();
        Ok(())
    }

    /// Removes a plugin that was published.
    pub fn remove(&self, name: &str) -> Result<(), PublishError> {
        let _changing = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        if !self.plugins.has(name) && !self.disabled.has(name) {
            return Err(PublishError::Unknown(name.to_owned()));
        }
        // Its file goes last, so that who is interrupted finds it there to remove.
        self.history.remove(name)?;
        self.pin()?;
        self.plugins.remove(name)?;
        self.disabled.remove(name)?;
        self.diagnoser.reload();
        Ok(())
    }

    fn shelf(&self, extension: &str) -> &Shelf {
        if PAGES.contains(&extension) {
            &self.pages
        } else {
            &self.plugins
        }
    }

    /// Why it does not take part although it is kept.
    fn problem(&self, offered: &Offered) -> Option<String> {
        let plugins = self.diagnoser.plugins().into_iter();
        let mut of_these_bytes = plugins.filter(|plugin| plugin.sha256 == offered.info.sha256);
        of_these_bytes.find_map(|plugin| plugin.problem)
    }
}
