//! The plugins and the pages that were published to this server.
//!
//! They are files in folders of the data (`shelves.rs`), one for each name, which are among the diagnoser's folders. A
//! plugin is looked at as if it were installed before it is kept, so that what is refused leaves nothing. Versions that
//! were published before are kept beside (`history.rs`), and a file that is none of them does not run.
//!
//! Looking at one may take as long as compiling does, so nothing waits for that but other looks: who changes something
//! looks first, and begins anew where somebody else has changed the same meanwhile.

pub mod history;
pub mod runs;
pub mod shelves;
pub mod turns;

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::SemaphorePermit;
use whycrash_evidence::did_you_mean;
use whycrash_plugin_host::{Offered, PluginInfo, PluginLimits, compiled_side_by_side};

use crate::pipeline::Diagnose;
use crate::shelf::{Shelf, Standing};
use crate::store::Digest;
pub use history::{History, PublishedVersion};
use shelves::PAGES;
pub use shelves::Shelves;
use turns::Turns;

/// Changes of plugins that are made at one time, or wait for each other on a thread.
const CHANGES: usize = 4;
/// How long somebody waits for a turn before being told to come again.
const PATIENCE: Duration = Duration::from_secs(60);

/// What was published.
#[derive(Debug)]
pub struct Published {
    shelves: Shelves,
    diagnoser: Arc<dyn Diagnose>,
    /// Taken by who looks at something new, which takes the memory and time of compiling it.
    looks: Turns,
    /// Taken by who changes what is here.
    changes: Turns,
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
    #[error("no plugin called {0} was published{near}", near = did_you_mean(.0, .1.iter().map(String::as_str)))]
    Unknown(String, Vec<String>),
    /// There is no page of this name.
    #[error("no page called {0} was published{near}", near = did_you_mean(.0, .1.iter().map(String::as_str)))]
    UnknownPage(String, Vec<String>),
    /// There is none before it.
    #[error("no version of {0} that was published before this one is kept")]
    First(String),
    /// Something else was published under the version's number.
    #[error(
        "{name} {} was published on {} with other bytes (sha256 {}…): give it a higher version, build and publish that",
        there.version, there.published, there.sha256.get(..12).unwrap_or_default()
    )]
    Taken {
        /// The plugin.
        name: String,
        /// What is kept.
        there: Box<PublishedVersion>,
    },
    /// Somebody else was faster.
    #[error("{0} was published, disabled or removed by somebody else meanwhile: look what is there now")]
    Overtaken(String),
    /// The folder can not be written.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl Published {
    /// What stands on these shelves, which are folders of the diagnoser's.
    pub fn new(shelves: Shelves, diagnoser: Arc<dyn Diagnose>) -> Self {
        Self {
            shelves,
            diagnoser,
            looks: Turns::new(compiled_side_by_side(), PATIENCE),
            changes: Turns::new(CHANGES, PATIENCE),
            changing: Mutex::default(),
        }
    }

    /// Bytes that a package may have.
    pub fn package_bytes(&self) -> u64 {
        PluginLimits::default().component_bytes as u64 * 2
    }

    /// The turn to look at something new, for as many as are compiled at one time. Who waits has nothing in memory, and
    /// holds no thread; none where that would take too long.
    pub async fn turn_to_look(&self) -> Option<SemaphorePermit<'_>> {
        self.looks.next().await
    }

    /// The turn to change something that is here already.
    pub async fn turn_to_change(&self) -> Option<SemaphorePermit<'_>> {
        self.changes.next().await
    }

    /// Keeps the plugin in these bytes, and lets it run. May take as long as compiling it does.
    pub fn publish(&self, bytes: Vec<u8>) -> Result<PluginInfo, PublishError> {
        let offered = self.look_at(bytes)?;
        let _changing = self.alone();
        self.put(&offered)
    }

    /// The same for a plugin or a page that was looked at before, while nothing else stands there than this.
    pub fn replace(&self, offered: &Offered, there: Option<&Standing>) -> Result<PluginInfo, PublishError> {
        let _changing = self.alone();
        self.check_overtaken(&offered.info.name, offered.extension, there)?;
        self.put(offered)
    }

    fn look_at(&self, bytes: Vec<u8>) -> Result<Offered, PublishError> {
        self.diagnoser.look_at(bytes).map_err(PublishError::Refused)
    }

    /// Being the only one who changes something.
    fn alone(&self) -> MutexGuard<'_, ()> {
        self.changing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn check_overtaken(&self, name: &str, extension: &str, there: Option<&Standing>) -> Result<(), PublishError> {
        if self.shelf(extension).get(name)?.as_ref() == there {
            return Ok(());
        }
        Err(PublishError::Overtaken(name.to_owned()))
    }

    /// Has it stand under its name; the same bytes as stand there change nothing.
    fn put(&self, offered: &Offered) -> Result<PluginInfo, PublishError> {
        let name = &offered.info.name;
        if PAGES.contains(&offered.extension) {
            self.stand(offered)?;
            return Ok(offered.info.clone());
        }
        if let Some(there) = self.of_the_same_sources(&offered.info)? {
            return Ok(there);
        }
        let known = self.shelves.history.of(name)?;
        check_version(offered, &known)?;
        let before = self.shelves.plugins.get(name)?;
        if !self.takes_part(offered, before.as_ref()) {
            let stands = self.remember(offered).map_err(PublishError::from);
            if let Err(error) = stands.and_then(|()| self.stand(offered)) {
                self.go_back(name, known);
                return Err(error);
            }
            self.shelves.disabled.remove(name)?;
            self.trim(name, before.as_ref());
        }
        Ok(offered.info.clone())
    }

    /// What was published already and was built of the same sources, by the same people: the tools of some languages write
    /// other bytes each time, and what stands there stays.
    fn of_the_same_sources(&self, offered: &PluginInfo) -> io::Result<Option<PluginInfo>> {
        if offered.sources.is_none() || self.shelves.plugins.get(&offered.name)?.is_none() {
            return Ok(None);
        }
        let of = |plugin: &PluginInfo| {
            let PluginInfo {
                name,
                version,
                sources,
                signed_by,
                ..
            } = plugin.clone();
            (name, version, sources, signed_by)
        };
        let is_the_same = |there: &PluginInfo| there.problem.is_none() && of(there) == of(offered);
        let there = self.diagnoser.plugins().into_iter().find(is_the_same);
        Ok(there.map(|there| PluginInfo {
            sha256: there.sha256,
            ..offered.clone()
        }))
    }

    /// Whether this very file stands there and nothing is wrong with it.
    fn takes_part(&self, offered: &Offered, standing: Option<&Standing>) -> bool {
        let mut plugins = self.diagnoser.plugins().into_iter();
        standing.is_some_and(|(extension, bytes)| extension == offered.extension && *bytes == offered.bytes)
            && plugins.any(|plugin| plugin.sha256 == offered.info.sha256 && plugin.problem.is_none())
    }

    /// Has these be the versions of a plugin again. What keeps a new one out, such as a full disk, may keep that from
    /// being written too: then a version is listed that never took part.
    fn go_back(&self, name: &str, known: Vec<PublishedVersion>) {
        let listed = self.shelves.history.go_back(name, known);
        if let Err(error) = listed.and_then(|()| self.shelves.pin()) {
            tracing::warn!(plugin = name, %error, "a version that was not published is still listed");
        }
    }

    /// Forgets the oldest versions. The new one is published, whatever comes of this.
    fn trim(&self, name: &str, before: Option<&Standing>) {
        let trimmed = self.shelves.history.trim(name, before);
        if let Err(error) = trimmed.and_then(|()| self.shelves.pin()) {
            tracing::warn!(plugin = name, %error, "versions that are too old stay until the next one comes");
        }
    }

    /// Has it stand under its name and take part; where it can not, what stood there before stays.
    fn stand(&self, offered: &Offered) -> Result<(), PublishError> {
        let (shelf, name) = (self.shelf(offered.extension), &offered.info.name);
        let (before, others) = (shelf.get(name)?, self.diagnoser.plugins());
        shelf.put(name, offered.extension, &offered.bytes)?;
        self.diagnoser.reload();
        let Some(problem) = self.problem(offered, &others) else {
            return Ok(());
        };
        shelf.put_back(name, before.as_ref())?;
        self.diagnoser.reload();
        Err(PublishError::Refused(problem))
    }

    /// Puts the version that was published before the present one in its place.
    pub fn step_back(&self, name: &str) -> Result<PluginInfo, PublishError> {
        loop {
            let standing = self.shelves.plugins.get(name)?;
            let standing = standing.ok_or_else(|| self.unknown(name))?;
            let before = self.shelves.history.before(name, &standing)?;
            let (_, bytes) = before.ok_or_else(|| PublishError::First(name.to_owned()))?;
            let offered = self.look_at(bytes)?;
            let _changing = self.alone();
            if self.shelves.plugins.get(name)?.as_ref() == Some(&standing) {
                self.stand(&offered)?;
                return Ok(offered.info);
            }
        }
    }

    /// The versions of a plugin that were published, oldest first.
    pub fn versions(&self, name: &str) -> io::Result<Vec<PublishedVersion>> {
        if !self.shelves.has(name) {
            return Ok(Vec::new());
        }
        self.shelves.history.of(name)
    }

    /// Adds a plugin to those that may run. What stood there before there was a history of it becomes a part of it.
    fn remember(&self, offered: &Offered) -> io::Result<()> {
        let Shelves { plugins, history, .. } = &self.shelves;
        for name in plugins.names()? {
            if let (true, Some((extension, bytes))) = (history.of(&name)?.is_empty(), plugins.get(&name)?) {
                let standing = self.diagnoser.plugins().into_iter().find(|plugin| plugin.name == name);
                history.add(&name, &standing.unwrap_or_default(), &extension, &bytes)?;
            }
        }
        history.add(&offered.info.name, &offered.info, offered.extension, &offered.bytes)?;
        self.shelves.pin()
    }

    /// Keeps a plugin that was published from taking part, until it is enabled.
    pub fn disable(&self, name: &str) -> Result<(), PublishError> {
        let _changing = self.alone();
        if !self.shelves.plugins.hand_over(name, &self.shelves.disabled)? {
            return Err(self.unknown(name));
        }
        self.diagnoser.reload();
        Ok(())
    }

    /// Lets a plugin take part again that was disabled, or set aside because it kept failing.
    pub fn enable(&self, name: &str) -> Result<PluginInfo, PublishError> {
        let Shelves { plugins, disabled, .. } = &self.shelves;
        while let Some(standing) = disabled.get(name)? {
            let offered = self.look_at(standing.1.clone())?;
            let _changing = self.alone();
            // Who removed it, or published another one, while this one was looked at has the last word.
            if disabled.get(name)?.as_ref() != Some(&standing) {
                continue;
            }
            let known = self.shelves.history.of(name)?;
            if !known.iter().any(|version| version.sha256 == offered.info.sha256) {
                self.remember(&offered)?;
            }
            let others = self.diagnoser.plugins();
            disabled.hand_over(name, plugins)?;
            self.diagnoser.reload();
            if let Some(problem) = self.problem(&offered, &others) {
                plugins.hand_over(name, disabled)?;
                self.diagnoser.reload();
                return Err(PublishError::Refused(problem));
            }
            self.diagnoser.forgive(name);
            return Ok(offered.info);
        }
        let mut plugins = self.diagnoser.plugins().into_iter();
        match plugins.find(|plugin| plugin.name == name) {
            Some(plugin) if self.diagnoser.forgive(name) => Ok(plugin),
            _ => Err(self.unknown(name)),
        }
    }

    /// Names of the plugins that are disabled.
    pub fn disabled(&self) -> io::Result<Vec<String>> {
        self.shelves.disabled.names()
    }

    /// What stands under the name of a plugin, or of a page for the extension `md`.
    pub fn standing(&self, name: &str, extension: &str) -> io::Result<Option<Standing>> {
        self.shelf(extension).get(name)
    }

    /// Makes what did before stand under the name of a plugin or page, or nothing, while this does.
    pub fn put_back(
        &self,
        name: &str,
        extension: &str,
        there: Option<&Standing>,
        before: Option<&Standing>,
    ) -> Result<(), PublishError> {
        let _changing = self.alone();
        self.check_overtaken(name, extension, there)?;
        self.shelf(extension).put_back(name, before)?;
        if before.is_none() && !PAGES.contains(&extension) {
            self.shelves.forget(name);
        }
        self.diagnoser.reload();
        Ok(())
    }

    /// Removes a plugin that was published.
    pub fn remove(&self, name: &str) -> Result<(), PublishError> {
        let _changing = self.alone();
        let (took_part, was_kept) = (self.shelves.plugins.remove(name)?, self.shelves.disabled.remove(name)?);
        if !took_part && !was_kept {
            return Err(self.unknown(name));
        }
        self.shelves.forget(name);
        self.diagnoser.reload();
        Ok(())
    }

    /// The pages that were published: their ids, and the SHA-256 of their files.
    pub fn pages(&self) -> io::Result<Vec<(String, String)>> {
        let names = self.shelves.pages.names()?.into_iter();
        let page = |name: String| {
            let standing = self.shelves.pages.get(&name)?;
            Ok(standing.map(|(_, bytes)| (name, Digest::of(&bytes).to_string())))
        };
        // One that is removed at this moment is in the list no more.
        let pages: Vec<Option<_>> = names.map(page).collect::<io::Result<_>>()?;
        let mut pages: Vec<_> = pages.into_iter().flatten().collect();
        pages.sort();
        Ok(pages)
    }

    /// Removes a page that was published.
    pub fn remove_page(&self, name: &str) -> Result<(), PublishError> {
        let _changing = self.alone();
        if !self.shelves.pages.remove(name)? {
            return Err(PublishError::UnknownPage(name.to_owned(), self.shelves.pages.names()?));
        }
        self.diagnoser.reload();
        Ok(())
    }

    /// That no plugin of this name was published; others were.
    fn unknown(&self, name: &str) -> PublishError {
        let names = [&self.shelves.plugins, &self.shelves.disabled].map(|shelf| shelf.names().unwrap_or_default());
        PublishError::Unknown(name.to_owned(), names.concat())
    }

    fn shelf(&self, extension: &str) -> &Shelf {
        if PAGES.contains(&extension) {
            &self.shelves.pages
        } else {
            &self.shelves.plugins
        }
    }

    /// Why it does not take part although it is kept, such as for a name that another folder has; or which of the others
    /// does not any more, now that it does.
    fn problem(&self, offered: &Offered, others: &[PluginInfo]) -> Option<String> {
        let now = self.diagnoser.plugins();
        let problem = |sha256: &str| {
            let mut of_these_bytes = now.iter().filter(|plugin| plugin.sha256 == sha256);
            of_these_bytes.find_map(|plugin| plugin.problem.clone())
        };
        let mut others = others.iter().filter(|other| other.problem.is_none());
        let keeps_out = |other: &PluginInfo| {
            let problem = problem(&other.sha256).filter(|_| other.name != offered.info.name)?;
            Some(format!(
                "it keeps the plugin {} from taking part: {problem}",
                other.name
            ))
        };
        problem(&offered.info.sha256).or_else(|| others.find_map(keeps_out))
    }
}

/// A version is one file for ever: who reads its number knows what ran.
fn check_version(offered: &Offered, known: &[PublishedVersion]) -> Result<(), PublishError> {
    let info = &offered.info;
    if known.iter().any(|there| there.sha256 == info.sha256) {
        return Ok(());
    }
    match known.iter().find(|there| there.version == info.version) {
        None => Ok(()),
        Some(there) => Err(PublishError::Taken {
            name: info.name.clone(),
            there: Box::new(there.clone()),
        }),
    }
}
