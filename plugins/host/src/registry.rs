//! The installed plugins: those built in, and those of the plugin folders.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::{self, ScopedJoinHandle};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use utoipa::ToSchema;
use whycrash_catalog::{Catalog, Cause};

use crate::builtin::{BUILTIN, Builtin};
use crate::documented::Documented;
use crate::files;
use crate::health::{Health, Runs};
use crate::package::Package;
use crate::pins::Pins;
use crate::sandbox::{Knowledge, Plugin, PluginError, PluginLimits, Sandbox, check_size, clean, cut, imports};
use crate::signing::Trust;
use crate::version;

/// Where built-in plugins come from.
const BUILT_IN: &str = "built-in";
/// The built-in plugin that evaluates the recognise tables of our pages.
const RECOGNISE: &str = "recognise";
/// The same for those of all other pages, in runs of its own: what others write can not keep ours from being evaluated.
pub(crate) const RECOGNISE_PAGES: &str = "recognise-pages";
/// How often a plugin is tried that could not be loaded for no reason of its own, and the pause between.
const TRIES: u32 = 3;
const PAUSE: Duration = Duration::from_secs(1);

/// An installed plugin, as command line, server and UI list it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
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
    /// Digest of the sources that it was built of, where its package says so: builds of the same sources have it in
    /// common, also where their bytes differ.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sources: Option<String>,
    /// Ids of the causes whose pages it brings.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pages: Vec<String>,
    /// What its component imports.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub imports: Vec<String>,
    /// Who signed its package: the name of a trusted key, or an unknown one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signed_by: Option<String>,
    /// Why it can not be used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// Why it is not used at the moment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub notice: Option<String>,
    /// How its runs went, in a program that goes on running.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runs: Option<Runs>,
}

/// One installed plugin, usable or not.
#[derive(Debug)]
pub(crate) struct Installed {
    pub(crate) info: PluginInfo,
    /// Absent when it can not be used.
    pub(crate) plugin: Option<Arc<Plugin>>,
    /// Whether that is because the host lacked something when it was to be loaded, for good: it says nothing about the
    /// plugin. Plugins of folders are looked at again.
    pub(crate) is_unavailable: bool,
    /// The pages that it brings.
    pub(crate) pages: Vec<Cause>,
    pub(crate) health: Arc<Health>,
}

/// A plugin, or a page, that may be installed.
#[derive(Clone, Debug)]
pub struct Offered {
    /// What it is; of a page, the id of its cause and nothing else.
    pub info: PluginInfo,
    /// Its bytes, to be kept.
    pub bytes: Vec<u8>,
    /// `zip` of a package, `wasm` of a component, `md` of a page.
    pub extension: &'static str,
}

impl Installed {
    /// Built into this program, and so trusted to be worth its costs.
    pub(crate) fn is_built_in(&self) -> bool {
        self.info.source == BUILT_IN
    }

    /// Whether it evaluates the tables of pages that are not ours.
    pub(crate) fn is_of_pages(&self) -> bool {
        self.is_built_in() && self.info.name == RECOGNISE_PAGES
    }

    /// What it is told of what is documented.
    pub(crate) fn told_of<'d>(&self, documented: &'d Documented) -> &'d Arc<Knowledge> {
        match self.info.name.as_str() {
            RECOGNISE if self.is_built_in() => &documented.ours,
            RECOGNISE_PAGES if self.is_built_in() => &documented.others,
            _ => &documented.told,
        }
    }

    /// What evaluates the tables of other pages, where there are any.
    fn of_pages(recognise: &Self, documented: &Documented) -> Option<Self> {
        let tables = &documented.others.tables;
        let causes: BTreeSet<&String> = tables.iter().map(|table| &table.sign.cause).collect();
        (!tables.is_empty()).then(|| Self {
            info: PluginInfo {
                name: RECOGNISE_PAGES.to_owned(),
                causes: causes.into_iter().cloned().collect(),
                needs_any_of: Vec::new(),
                ..recognise.info.clone()
            },
            plugin: recognise.plugin.clone(),
            is_unavailable: recognise.is_unavailable,
            pages: Vec::new(),
            health: Arc::default(),
        })
    }

    /// The same plugin where this is documented. One that can not be asked now says what it said before.
    pub(crate) fn knowing(&self, documented: &Documented) -> Self {
        let asked = self
            .plugin
            .as_ref()
            .map(|plugin| plugin.asked_again(self.told_of(documented), &self.pages));
        let causes = match asked {
            Some(Ok(info)) => info.causes,
            _ => self.info.causes.clone(),
        };
        Self {
            info: PluginInfo {
                causes,
                ..self.info.clone()
            },
            plugin: self.plugin.clone(),
            is_unavailable: self.is_unavailable,
            pages: self.pages.clone(),
            health: Arc::clone(&self.health),
        }
    }

    /// The same plugin in another file.
    fn standing_in(&self, source: &str) -> Self {
        Self {
            info: PluginInfo {
                source: clean::line(source),
                ..self.info.clone()
            },
            plugin: self.plugin.clone(),
            is_unavailable: self.is_unavailable,
            pages: self.pages.clone(),
            health: Arc::clone(&self.health),
        }
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
/// The built-in ones are there at once. Those of the folders may have to be compiled, which can take minutes, so a
/// thread loads them; whoever diagnoses waits for it, and nobody else.
#[derive(Debug)]
pub(crate) struct Registry {
    built_in: Vec<Arc<Installed>>,
    folders: Mutex<Folders>,
    loaded: Condvar,
    /// Held by who looks through the folders, so that who began later is not overtaken.
    loading: Mutex<()>,
}

#[derive(Debug)]
struct Folders {
    known: Known,
    /// Whether they were looked through yet.
    is_loaded: bool,
}

/// All that is known at one moment.
#[derive(Clone, Debug)]
pub(crate) struct Known {
    /// The plugins, by name.
    pub(crate) plugins: Vec<Arc<Installed>>,
    /// What is documented.
    pub(crate) documented: Arc<Documented>,
    /// The same with the pages that the plugins bring.
    pub(crate) catalog: Arc<Catalog>,
    /// See [`Self::pages`].
    digest: Arc<OnceLock<String>>,
}

impl Known {
    pub(crate) fn new(mut plugins: Vec<Arc<Installed>>, documented: Arc<Documented>) -> Self {
        plugins.retain(|plugin| !plugin.is_of_pages());
        let recognise = plugins
            .iter()
            .find(|plugin| plugin.is_built_in() && plugin.info.name == RECOGNISE);
        let of_pages = recognise.and_then(|recognise| Installed::of_pages(recognise, &documented));
        plugins.extend(of_pages.map(Arc::new));
        plugins.sort_by(|a, b| a.info.name.cmp(&b.info.name));
        let pages: Vec<Cause> = plugins.iter().flat_map(|plugin| plugin.pages.clone()).collect();
        let catalog = documented.catalog.as_ref().clone().with(pages);
        Self {
            plugins,
            documented,
            digest: Arc::default(),
            catalog: Arc::new(catalog),
        }
    }

    /// Digest of those pages.
    pub(crate) fn pages(&self) -> String {
        self.digest.get_or_init(|| version::of_pages(&self.catalog)).clone()
    }
}

/// Loads the plugins of folders.
#[derive(Debug)]
pub(crate) struct Loader {
    pub(crate) sandbox: Sandbox,
    pub(crate) folders: Vec<PathBuf>,
    pub(crate) limits: Arc<PluginLimits>,
    pub(crate) trust: Trust,
    /// How runs went before, by the SHA-256 of a plugin's file.
    pub(crate) runs_before: BTreeMap<String, Runs>,
}

/// What a plugin's file holds, and who signed it.
type Loaded = (Plugin, Package, Option<String>);

impl Registry {
    /// The built-in plugins, and those that the loader brings from another thread.
    pub(crate) fn start(
        sandbox: &Sandbox,
        documented: Arc<Documented>,
        loader: Option<&Arc<Loader>>,
    ) -> std::io::Result<Arc<Self>> {
        let mut built_in = load_built_in(sandbox, &documented)?;
        built_in.sort_by(|a, b| a.info.name.cmp(&b.info.name));
        let registry = Arc::new(Self {
            folders: Mutex::new(Folders {
                known: Known::new(built_in.clone(), Arc::clone(&documented)),
                is_loaded: loader.is_none(),
            }),
            built_in,
            loaded: Condvar::new(),
            loading: Mutex::default(),
        });
        if let Some(loader) = loader.cloned() {
            let target = Arc::clone(&registry);
            thread::Builder::new()
                .name("plugin-loader".to_owned())
                .spawn(move || target.load(Some(loader.as_ref()), documented))?;
        }
        Ok(registry)
    }

    /// Those built into this program.
    pub(crate) fn built_in(&self) -> &[Arc<Installed>] {
        &self.built_in
    }

    /// What is known once the plugins of the folders are loaded.
    pub(crate) fn wait(&self) -> Known {
        let folders = self.loaded.wait_while(self.folders(), |folders| !folders.is_loaded);
        folders.unwrap_or_else(PoisonError::into_inner).known.clone()
    }

    /// What is known now.
    pub(crate) fn now(&self) -> Known {
        self.folders().known.clone()
    }

    /// Looks through the folders, and puts what is there, and what is documented now, in place of what was.
    pub(crate) fn load(&self, loader: Option<&Loader>, documented: Arc<Documented>) {
        let _loading = self.loading.lock().unwrap_or_else(PoisonError::into_inner);
        let known = self.now();
        let built_in = self.built_in.iter().map(|plugin| Arc::new(plugin.knowing(&documented)));
        let mut plugins: Vec<_> = built_in.collect();
        if let Some(loader) = loader {
            plugins.extend(loader.load(&self.built_in, &known, &documented));
        }
        let known = Known::new(plugins, documented);
        let mut folders = self.folders();
        folders.known = known;
        folders.is_loaded = true;
        drop(folders);
        self.loaded.notify_all();
    }

    fn folders(&self) -> MutexGuard<'_, Folders> {
        self.folders.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The built-in plugins, side by side: somebody waits for them at every start of the command line.
fn load_built_in(sandbox: &Sandbox, documented: &Documented) -> std::io::Result<Vec<Arc<Installed>>> {
    let load = |builtin: &Builtin| {
        let (wasm, code) = (builtin.component()?, builtin.code()?);
        let (sha256, package) = (hex::encode(Sha256::digest(&wasm)), Package::default());
        let loaded = match sandbox.load_compiled(&wasm, &code, &documented.ours) {
            Ok(plugin) => usable(BUILT_IN, sha256, (plugin, package, None), Arc::default()),
            Err(error) => unusable(BUILT_IN, BUILT_IN, sha256, &error),
        };
        Ok(Arc::new(loaded))
    };
    let load = &load;
    thread::scope(|scope| {
        // Where there may be no more threads this one does it all, in its turn.
        let begin = |builtin| {
            (
                builtin,
                thread::Builder::new().spawn_scoped(scope, move || load(builtin)).ok(),
            )
        };
        let begun: Vec<_> = BUILTIN.iter().map(begin).collect();
        let end = |(builtin, thread): (_, Option<ScopedJoinHandle<'_, _>>)| match thread {
            Some(thread) => thread.join().unwrap_or_else(|panic| resume_unwind(panic)),
            None => load(builtin),
        };
        begun.into_iter().map(end).collect()
    })
}

impl Loader {
    /// The plugins of all folders. The first that takes a name has it; nobody takes that of a built-in one.
    fn load(&self, built_in: &[Arc<Installed>], known: &Known, documented: &Documented) -> Vec<Arc<Installed>> {
        let mut plugins: Vec<Arc<Installed>> = Vec::new();
        for folder in &self.folders {
            let files = files::components(folder).unwrap_or_else(|error| {
                plugins.push(Arc::new(missing(folder, &error)));
                Vec::new()
            });
            let pins = Pins::of(folder);
            if files.len() > files::FILES {
                let reason = format!("it has more than {} plugins; the others are left out", files::FILES);
                plugins.push(Arc::new(missing(folder, &std::io::Error::other(reason))));
            }
            for file in files.iter().take(files::FILES) {
                let mut plugin = self.load_file(file, &pins, known, documented);
                let taken = built_in.iter().chain(&plugins).find(|other| {
                    other.plugin.is_some() && plugin.plugin.is_some() && other.info.name == plugin.info.name
                });
                if plugin.plugin.is_some() && plugin.info.name == RECOGNISE_PAGES {
                    let reason = reserved_name(&plugin);
                    plugin = refused(&file_name(file), plugin, reason);
                } else if let Some(other) = taken {
                    plugin = refused_name(&file_name(file), plugin, other);
                } else if let Some((other, id)) = plugins.iter().find_map(|other| shared_page(other, &plugin)) {
                    let reason = format!("it brings a page for {id}, and so does {other}, which came first");
                    plugin = refused(&file_name(file), plugin, reason);
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

    /// The plugin in a file. One that is known by its bytes, where the same is documented, is neither compiled nor asked
    /// again.
    fn load_file(&self, file: &Path, pins: &Pins, known: &Known, documented: &Documented) -> Installed {
        let (name, source) = (file_name(file), file.display().to_string());
        // A package has its pages besides.
        let most = self.limits.component_bytes.saturating_mul(2);
        let read = files::read_regular(file, most)
            .map_err(|error| PluginError::Refused(format!("its file can not be read: {error}")));
        match read {
            Err(error) => unusable(&name, &source, String::new(), &error),
            Ok(bytes) => {
                let sha256 = hex::encode(Sha256::digest(&bytes));
                if let Err(reason) = pins.check(file, &sha256) {
                    return unusable(&name, &source, sha256, &PluginError::Refused(reason));
                }
                let before = known.plugins.iter().find(|known| known.info.sha256 == sha256);
                let is_as_before = known.documented.version == documented.version;
                if let Some(before) = before.filter(|before| is_as_before && before.plugin.is_some()) {
                    return before.standing_in(&source);
                }
                let earlier = || {
                    Arc::new(Health::after(
                        self.runs_before.get(&sha256).cloned().unwrap_or_default(),
                    ))
                };
                let health = before.map_or_else(earlier, |before| Arc::clone(&before.health));
                match self.load_bytes(bytes, documented) {
                    Err(error) => unusable(&name, &source, sha256, &error),
                    Ok(loaded) => usable(&source, sha256, loaded, health),
                }
            }
        }
    }

    /// What a file of a plugin is, as if it were installed.
    pub(crate) fn look_at(
        &self,
        bytes: Vec<u8>,
        built_in: &[Arc<Installed>],
        documented: &Documented,
    ) -> Result<(Offered, Installed), String> {
        let (sha256, kept) = (hex::encode(Sha256::digest(&bytes)), bytes.clone());
        let loaded = self
            .load_bytes(bytes, documented)
            .map_err(|error| clean::line(&error.to_string()))?;
        let extension = if loaded.1.name.is_some() { "zip" } else { "wasm" };
        let offered = usable("offered", sha256, loaded, Arc::default());
        if offered.info.name == RECOGNISE_PAGES {
            return Err(reserved_name(&offered));
        }
        if let Some(other) = built_in.iter().find(|other| other.info.name == offered.info.name) {
            let refused = refused_name("offered", offered, other);
            return Err(refused.info.problem.unwrap_or_default());
        }
        let offer = Offered {
            info: offered.info.clone(),
            bytes: kept,
            extension,
        };
        Ok((offer, offered))
    }

    /// Loads what a file holds. Whoever waits for plugins must not wait for ever, so a fault of ours is a refusal too.
    fn load_bytes(&self, bytes: Vec<u8>, documented: &Documented) -> Result<Loaded, PluginError> {
        let loaded = catch_unwind(AssertUnwindSafe(|| self.load_package(bytes, documented)));
        loaded.unwrap_or_else(|_| Err(PluginError::Refused("this program falls over it".to_owned())))
    }

    fn load_package(&self, bytes: Vec<u8>, documented: &Documented) -> Result<Loaded, PluginError> {
        let package = Package::open(bytes, &documented.catalog, &self.limits)?;
        check_size(package.component.len() as u64, &self.limits)?;
        let signer = self.trust.signer(package.signed_by).map_err(PluginError::Refused)?;
        let plugin = self.load_component(&package.component, documented, &package.pages)?;
        match &package.name {
            Some(name) if *name != plugin.info.name => Err(PluginError::Refused(format!(
                "its component calls itself `{}`, and its plugin.toml {:?}",
                plugin.info.name,
                cut(name, 80)
            ))),
            _ => Ok((plugin, package, signer)),
        }
    }

    fn load_component(&self, wasm: &[u8], documented: &Documented, own: &[Cause]) -> Result<Plugin, PluginError> {
        for _ in 1..TRIES {
            match self.sandbox.load(wasm, &documented.told, own) {
                Err(PluginError::Host(reason)) => tracing::warn!(reason, "a plugin could not be loaded; trying again"),
                settled => return settled,
            }
            thread::sleep(PAUSE);
        }
        self.sandbox.load(wasm, &documented.told, own)
    }
}

/// What a plugin is called that does not say.
fn file_name(file: &Path) -> String {
    clean::line(&file.file_stem().unwrap_or_default().to_string_lossy())
}

fn usable(source: &str, sha256: String, (plugin, package, signed_by): Loaded, health: Arc<Health>) -> Installed {
    let said = &plugin.info;
    let info = PluginInfo {
        name: said.name.clone(),
        version: said.version.clone(),
        causes: said.causes.clone(),
        needs_any_of: said.needs.any_of.clone(),
        needs_all_of: said.needs.all_of.clone(),
        source: clean::line(source),
        sha256,
        sources: package.sources.as_deref().map(clean::line),
        pages: package.pages.iter().map(|page| page.id.clone()).collect(),
        imports: imports(&package.component),
        signed_by,
        ..PluginInfo::default()
    };
    Installed {
        info,
        plugin: Some(Arc::new(plugin)),
        is_unavailable: false,
        pages: package.pages,
        health,
    }
}

fn unusable(name: &str, source: &str, sha256: String, error: &PluginError) -> Installed {
    let info = PluginInfo {
        name: name.to_owned(),
        source: clean::line(source),
        sha256,
        problem: Some(clean::line(&error.to_string())),
        ..PluginInfo::default()
    };
    Installed {
        info,
        plugin: None,
        is_unavailable: source == BUILT_IN && matches!(error, PluginError::Host(_)),
        pages: Vec::new(),
        health: Arc::default(),
    }
}

/// A plugin that came before with a page for an id that this one has a page for too, and that id.
fn shared_page(earlier: &Installed, plugin: &Installed) -> Option<(String, String)> {
    let ids = plugin.pages.iter().flat_map(|page| page.also.iter().chain([&page.id]));
    let has_page = |id: &&String| earlier.pages.iter().any(|page| page.answers_for(id));
    let mut shared = ids.filter(has_page);
    let id = shared.next().filter(|_| earlier.plugin.is_some())?;
    Some((earlier.info.name.clone(), id.clone()))
}

/// A plugin that calls itself like another. It is listed by its file's name, so that no row seems to be the other's.
fn refused_name(file: &str, plugin: Installed, other: &Installed) -> Installed {
    let problem = if other.is_built_in() {
        reserved_name(&plugin)
    } else {
        format!(
            "it calls itself `{}`, and so does another that came first",
            plugin.info.name
        )
    };
    refused(file, plugin, problem)
}

fn reserved_name(plugin: &Installed) -> String {
    format!("it calls itself `{}`, the name of a built-in plugin", plugin.info.name)
}

/// A plugin that can not take part beside the others, listed by its file's name.
fn refused(file: &str, plugin: Installed, problem: String) -> Installed {
    Installed {
        info: PluginInfo {
            name: file.to_owned(),
            problem: Some(problem),
            ..plugin.info
        },
        plugin: None,
        is_unavailable: false,
        pages: Vec::new(),
        health: plugin.health,
    }
}

/// What stands for a folder whose plugins can not be had.
fn missing(folder: &Path, error: &std::io::Error) -> Installed {
    tracing::warn!(folder = %folder.display(), %error, "plugin folder can not be read; its plugins do not run");
    let name = clean::line(&folder.file_name().unwrap_or(folder.as_os_str()).to_string_lossy());
    let problem = PluginError::Refused(format!("the plugin folder can not be read: {error}"));
    unusable(&name, &folder.display().to_string(), String::new(), &problem)
}
