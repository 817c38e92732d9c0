//! Where plugins run: each in a store of its own that is thrown away afterwards, with no capability but reading the
//! report.

mod about;
mod bindings;
mod cache;
pub(crate) mod clean;
mod compiler;
mod convert;
mod details;
mod engine;
mod features;
mod inspect;
mod limits;
mod particulars;
mod parts;
mod pattern;
mod room;
mod run;
mod slots;
mod spending;
mod view;

use std::path::PathBuf;
use std::sync::Arc;

use wasmtime::Engine;
use wasmtime::component::{Component, HasSelf, Linker};
use whycrash_catalog::recognise::{Sign, Table};
use whycrash_catalog::{Catalog, Cause};

pub(crate) use self::about::check as check_info;
pub(crate) use self::bindings::{knowledge, types};
pub(crate) use self::cache::CodeCache;
pub(crate) use self::clean::cut;
pub use self::compiler::{THIS_PROGRAM, compile_if_asked};
pub(crate) use self::convert::detail;
pub(crate) use self::convert::knowledge::{domain_name, retry_advice};
pub(crate) use self::inspect::{check_size, imports};
pub use self::limits::PluginLimits;
pub(crate) use self::pattern::Patterns;
pub use self::room::compiled_side_by_side;
use self::run::Run;
pub(crate) use self::run::{Plugin, Said, Usage};
use self::slots::Slots;

/// Why a plugin can not be used, or why its run does not count.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PluginError {
    /// The file is not one that this host runs.
    #[error("{0}")]
    Refused(String),
    /// It trapped or went over a limit.
    #[error("{0}")]
    Stopped(String),
    /// It said itself that it could not.
    #[error("it reported an error: {0}")]
    Reported(String),
    /// The host could not: it says nothing about the plugin, and may be otherwise another time.
    #[error("{0}")]
    Host(String),
}

/// The report, as plugins hold it. There is one for each run, so that the handle has nothing to say.
#[derive(Debug)]
pub struct ReportHandle;

/// Compiles plugins and gives them what they may import.
pub(crate) struct Sandbox {
    engine: Engine,
    linker: Linker<Run>,
    cache: CodeCache,
    limits: Arc<PluginLimits>,
    slots: Arc<Slots>,
}

/// What plugins are told about the documented causes, and held against.
#[derive(Debug, Default)]
pub(crate) struct Knowledge {
    /// Recognise tables of the pages.
    pub(crate) tables: Vec<Arc<KnownTable>>,
    /// The pages.
    pub(crate) catalog: Arc<Catalog>,
}

/// A recognise table.
#[derive(Debug)]
pub(crate) struct KnownTable {
    /// The table.
    pub(crate) sign: Sign<Table>,
    /// The same as plugins get it.
    pub(crate) json: String,
}

impl std::fmt::Debug for Sandbox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sandbox")
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

impl Sandbox {
    /// A sandbox with places of its own: what runs in one takes none in another.
    pub(crate) fn new(limits: PluginLimits, cache: Option<PathBuf>, compiler: Option<PathBuf>) -> anyhow::Result<Self> {
        let (engine, runs) = engine::engine(&limits).map_err(anyhow::Error::from)?;
        let mut linker = Linker::new(&engine);
        bindings::Plugin::add_to_linker::<_, HasSelf<Run>>(&mut linker, |run| run).map_err(anyhow::Error::from)?;
        let cache = CodeCache::new(cache, compiler, &engine);
        let slots = Arc::new(Slots::new(runs));
        Ok(Self {
            engine,
            linker,
            cache,
            limits: Arc::new(limits),
            slots,
        })
    }

    /// Loads a component from anybody: inspects it before anything else, compiles it, and asks what it is.
    /// Besides the documented causes it may name those that it brings.
    pub(crate) fn load(&self, wasm: &[u8], knowledge: &Arc<Knowledge>, own: &[Cause]) -> Result<Plugin, PluginError> {
        let component = self.cache.load(&self.engine, wasm, &self.limits)?;
        self.prepare(&component, wasm.len(), knowledge, own)
    }

    /// Loads a component that was compiled when this program was built, or compiles it if that does not fit this
    /// machine.
    pub(crate) fn load_compiled(
        &self,
        wasm: &[u8],
        code: &[u8],
        knowledge: &Arc<Knowledge>,
    ) -> Result<Plugin, PluginError> {
        match cache::deserialize(&self.engine, code) {
            Ok(component) => self.prepare(&component, wasm.len(), knowledge, &[]),
            Err(_) => self.load(wasm, knowledge, &[]),
        }
    }

    fn prepare(
        &self,
        component: &Component,
        bytes: usize,
        knowledge: &Arc<Knowledge>,
        own: &[Cause],
    ) -> Result<Plugin, PluginError> {
        let ready = self
            .linker
            .instantiate_pre(component)
            .and_then(bindings::PluginPre::new)
            .map_err(|error| PluginError::Refused(format!("it does not fit the plugin interface: {error:#}")))?;
        let limits = Arc::new(self.limits.of_component(bytes));
        Plugin::new(ready, limits, knowledge, self.slots.clone(), own)
    }
}

/// Compiles a plugin component to native code that runs on every machine of this architecture.
///
/// The error says why the component is refused, or why it does not compile.
pub fn precompile(wasm: &[u8]) -> anyhow::Result<Vec<u8>> {
    inspect::inspect(wasm, &PluginLimits::default())?;
    whycrash_engine::precompile(wasm).map_err(anyhow::Error::from)
}
