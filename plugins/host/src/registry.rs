//! The installed plugins: those built in, and those of the plugin folders.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::builtin::{BUILTIN, Builtin};
use crate::files;
use crate::health::Health;
use crate::sandbox::{Plugin, PluginError, PluginLimits, Sandbox, check_size, clean};

/// Where built-in plugins come from.
const BUILT_IN: &str = "built-in";
/// How often a plugin is tried that could not be loaded for no reason of its own, and the pause between.
const TRIES: u32 = 3;
const PAUSE: Duration = Duration::from_secs(1);

/// An installed plugin, as command line, server and UI list it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PluginInfo {
    /// Name, unique among installed plugins; of one that can not be used, its file's name.
    pub name: String,
    /// Semantic version; empty for one that can not be used.
    pub version: String,
    /// Ids of the causes it can name.
    pub causes: Vec<String>,
    /// Evidence of which it needs at least one kind.
    pub needs_any_of: Vec<String>,
    /// Evidence of which it needs every kind.
    pub needs_all_of: Vec<String>,
    /// Where it comes from: `built-in`, or its file.
    pub source: String,
    /// SHA-256 of the component, lower-case hex; empty for one that could not be read.
    pub sha256: String,
    /// Why it can not be used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// Why it is not used at the moment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub notice: Option<String>,
}

/// One installed plugin, usable or not.
#[derive(Debug)]
pub(crate) struct Installed {
    pub(crate) info: PluginInfo,
    /// Absent when it can not be used.
    pub(crate) plugin: Option<Plugin>,
    pub(crate) health: Arc<Health>,
}

impl Installed {
    /// Built into this program, and so trusted to be worth its costs.
    pub(crate) fn is_built_in(&self) -> bool {
        self.info.source == BUILT_IN
    }

    /// Why it is not run, if it keeps failing.
    pub(crate) fn set_aside(&self, limits: &PluginLimits) -> Option<String> {
        (!self.is_built_in())
            .then(|| self.health.set_aside(limits.strikes))
            .flatten()
    }
}

/// All installed plugins by name.
///
/// The built-in ones are there at once. Those of the folders may have to be compiled, which can take minutes, so a thread
/// loads them; whoever diagnoses waits for it, and nobody else.
#[derive(Debug)]
pub(crate) struct Registry {
    built_in: Vec<Arc<Installed>>,
    folders: Mutex<Folders>,
    loaded: Condvar,
}

#[derive(Debug, Default)]
struct Folders {
    plugins: Vec<Arc<Installed>>,
    /// Whether they were looked through yet.
    is_loaded: bool,
}

/// Loads the plugins of folders.
#[derive(Debug)]
pub(crate) struct Loader {
    pub(crate) sandbox: Sandbox,
    pub(crate) folders: Vec<PathBuf>,
    pub(crate) limits: PluginLimits,
}

impl Registry {
    /// The built-in plugins, and those that the loader brings from another thread.
    pub(crate) fn start(sandbox: &Sandbox, loader: Option<&Arc<Loader>>) -> std::io::Result<Arc<Self>> {
        let load = |Builtin { wasm, code }: &Builtin| {
            Arc::new(installed(
                BUILT_IN,
                BUILT_IN,
                wasm,
                sandbox.load_compiled(wasm, code),
                Arc::default(),
            ))
        };
        let mut built_in: Vec<_> = BUILTIN.iter().map(load).collect();
        built_in.sort_by(|a, b| a.info.name.cmp(&b.info.name));
        let registry = Arc::new(Self {
            built_in,
            folders: Mutex::default(),
            loaded: Condvar::new(),
        });
        let Some(loader) = loader.cloned() else {
            registry.folders().is_loaded = true;
            return Ok(registry);
        };
        let target = Arc::clone(&registry);
        std::thread::Builder::new()
            .name("plugin-loader".to_owned())
            .spawn(move || target.load(&loader))?;
        Ok(registry)
    }

    /// Those built into this program.
    pub(crate) fn built_in(&self) -> &[Arc<Installed>] {
        &self.built_in
    }

    /// All plugins by name, once those of the folders are loaded.
    pub(crate) fn wait(&self) -> Vec<Arc<Installed>> {
        let folders = self
            .loaded
            .wait_while(self.folders(), |folders| !folders.is_loaded)
            .unwrap_or_else(PoisonError::into_inner);
        self.with(&folders.plugins)
    }

    /// All plugins that are known now.
    pub(crate) fn now(&self) -> Vec<Arc<Installed>> {
        self.with(&self.folders().plugins)
    }

    /// Looks through the folders, and puts what is there in place of what was.
    pub(crate) fn load(&self, loader: &Loader) {
        let known = self.folders().plugins.clone();
        let plugins = loader.load(&self.built_in, &known);
        let mut folders = self.folders();
        folders.plugins = plugins;
        folders.is_loaded = true;
        drop(folders);
        self.loaded.notify_all();
    }

    fn with(&self, plugins: &[Arc<Installed>]) -> Vec<Arc<Installed>> {
        let mut all: Vec<_> = self.built_in.iter().chain(plugins).cloned().collect();
        all.sort_by(|a, b| a.info.name.cmp(&b.info.name));
        all
    }

    fn folders(&self) -> MutexGuard<'_, Folders> {
        self.folders.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Loader {
    /// The plugins of all folders. The first that takes a name has it; nobody takes that of a built-in one.
    fn load(&self, built_in: &[Arc<Installed>], known: &[Arc<Installed>]) -> Vec<Arc<Installed>> {
        let mut plugins: Vec<Arc<Installed>> = Vec::new();
        for folder in &self.folders {
            let files = files::components(folder).unwrap_or_else(|error| {
                plugins.push(Arc::new(missing(folder, &error)));
                Vec::new()
            });
            if files.len() > files::FILES {
                let reason = format!("it has more than {} plugins; the others are left out", files::FILES);
                plugins.push(Arc::new(missing(folder, &std::io::Error::other(reason))));
            }
            for file in files.iter().take(files::FILES) {
                let mut plugin = self.load_file(file, known);
                let taken = built_in.iter().chain(&plugins).find(|other| {
                    other.plugin.is_some() && plugin.plugin.is_some() && other.info.name == plugin.info.name
                });
                if let Some(other) = taken {
                    plugin = refused_name(&file_name(file), plugin, other);
                }
                if let Some(problem) = &plugin.info.problem {
                    tracing::warn!(
                        plugin = plugin.info.name,
                        source = plugin.info.source,
                        problem,
                        "plugin can not be used"
                    );
                }
                plugins.push(Arc::new(plugin));
            }
        }
        plugins
    }

    fn load_file(&self, file: &Path, known: &[Arc<Installed>]) -> Installed {
        let name = file_name(file);
        let source = file.display().to_string();
        let read = files::read_regular(file, self.limits.component_bytes)
            .map_err(|error| PluginError::Refused(format!("its file can not be read: {error}")))
            .and_then(|wasm| check_size(wasm.len() as u64, &self.limits).map(|()| wasm));
        match read {
            Err(error) => installed(&name, &source, &[], Err(error), Arc::default()),
            Ok(wasm) => {
                let sha256 = hex::encode(Sha256::digest(&wasm));
                let before = known.iter().find(|known| known.info.sha256 == sha256);
                let health = before.map(|before| Arc::clone(&before.health)).unwrap_or_default();
                installed(&name, &source, &wasm, self.load_component(&wasm), health)
            }
        }
    }

    fn load_component(&self, wasm: &[u8]) -> Result<Plugin, PluginError> {
        for _ in 1..TRIES {
            match self.sandbox.load(wasm) {
                Err(PluginError::Host(reason)) => tracing::warn!(reason, "a plugin could not be loaded; trying again"),
                settled => return settled,
            }
            std::thread::sleep(PAUSE);
        }
        self.sandbox.load(wasm)
    }
}

/// What a plugin is called that does not say.
fn file_name(file: &Path) -> String {
    clean::line(&file.file_stem().unwrap_or_default().to_string_lossy())
}

fn installed(
    name: &str,
    source: &str,
    wasm: &[u8],
    loaded: Result<Plugin, PluginError>,
    health: Arc<Health>,
) -> Installed {
    let mut info = PluginInfo {
        name: name.to_owned(),
        source: clean::line(source),
        ..PluginInfo::default()
    };
    if !wasm.is_empty() {
        info.sha256 = hex::encode(Sha256::digest(wasm));
    }
    match loaded {
        Ok(plugin) => {
            let said = &plugin.info;
            info.name = said.name.clone();
            info.version = said.version.clone();
            info.causes = said.causes.clone();
            info.needs_any_of = said.needs.any_of.clone();
            info.needs_all_of = said.needs.all_of.clone();
            Installed {
                info,
                plugin: Some(plugin),
                health,
            }
        }
        Err(error) => {
            info.problem = Some(clean::line(&error.to_string()));
            Installed {
                info,
                plugin: None,
                health,
            }
        }
    }
}

/// A plugin that calls itself like another. It is listed by its file's name, so that no row seems to be the other's.
fn refused_name(file: &str, plugin: Installed, other: &Installed) -> Installed {
    let problem = if other.is_built_in() {
        format!("it calls itself `{}`, the name of a built-in plugin", plugin.info.name)
    } else {
        format!(
            "it calls itself `{}`, and so does another that came first",
            plugin.info.name
        )
    };
    Installed {
        info: PluginInfo {
            name: file.to_owned(),
            problem: Some(problem),
            ..plugin.info
        },
        plugin: None,
        health: plugin.health,
    }
}

/// What stands for a folder whose plugins can not be had.
fn missing(folder: &Path, error: &std::io::Error) -> Installed {
    tracing::warn!(folder = %folder.display(), %error, "plugin folder can not be read; its plugins do not run");
    let name = folder.file_name().unwrap_or(folder.as_os_str()).to_string_lossy();
    let info = PluginInfo {
        name: clean::line(&name),
        source: clean::line(&folder.display().to_string()),
        problem: Some(format!("the plugin folder can not be read: {error}")),
        ..PluginInfo::default()
    };
    Installed {
        info,
        plugin: None,
        health: Arc::default(),
    }
}
