//! Where plugins run: each in a store of its own that is thrown away afterwards, with no capability but reading the report.

mod bindings;
mod cache;
mod convert;
mod engine;
mod inspect;
mod limits;
mod run;
mod slots;
mod view;

use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

use wasmtime::Engine;
use wasmtime::component::{Component, HasSelf, Linker};

pub(crate) use self::bindings::types;
pub(crate) use self::cache::CodeCache;
pub use self::limits::PluginLimits;
pub(crate) use self::run::Plugin;
use self::run::Run;
use self::slots::Slots;
pub(crate) use self::view::cut;

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
    tables: Arc<[String]>,
    slots: Arc<Slots>,
}

impl std::fmt::Debug for Sandbox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sandbox")
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

impl Sandbox {
    /// A sandbox whose plugins get these recognise tables, as JSON, and keep their compiled code in this folder.
    pub(crate) fn new(limits: PluginLimits, tables: Vec<String>, cache: Option<PathBuf>) -> anyhow::Result<Self> {
        let engine = engine::engine(&limits).map_err(anyhow::Error::from)?;
        let mut linker = Linker::new(&engine);
        bindings::Plugin::add_to_linker::<_, HasSelf<Run>>(&mut linker, |run| run).map_err(anyhow::Error::from)?;
        let cache = CodeCache::new(cache, &engine);
        let slots = Arc::new(Slots::new(engine::POOLED_RUNS));
        Ok(Self {
            engine,
            linker,
            cache,
            limits: Arc::new(limits),
            tables: tables.into(),
            slots,
        })
    }

    /// Loads a component from anybody: inspects it before anything else, compiles it, and asks what it is.
    pub(crate) fn load(&self, wasm: &[u8]) -> Result<Plugin, PluginError> {
        inspect::inspect(wasm, &self.limits)?;
        let component = self.cache.load(&self.engine, wasm)?;
        self.prepare(&component)
    }

    /// Loads a component that was compiled when this program was built, or compiles it if that does not fit this machine.
    pub(crate) fn load_compiled(&self, wasm: &[u8], code: &[u8]) -> Result<Plugin, PluginError> {
        match cache::deserialize(&self.engine, code) {
            Ok(component) => self.prepare(&component),
            Err(_) => self.load(wasm),
        }
    }

    fn prepare(&self, component: &Component) -> Result<Plugin, PluginError> {
        let ready = self
            .linker
            .instantiate_pre(component)
            .and_then(bindings::PluginPre::new)
            .map_err(|error| PluginError::Refused(format!("it does not fit the plugin interface: {error:#}")))?;
        Plugin::new(ready, self.limits.clone(), self.tables.clone(), self.slots.clone())
    }
}

/// Compiles a plugin component to native code that runs on every machine of this architecture.
///
/// The error says why the component is refused, or why it does not compile.
pub fn precompile(wasm: &[u8]) -> anyhow::Result<Vec<u8>> {
    inspect::inspect(wasm, &PluginLimits::default())?;
    engine::precompile(wasm).map_err(anyhow::Error::from)
}

/// Bytes as lower-case hex.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes
        .iter()
        .fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        })
}
