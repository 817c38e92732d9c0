//! One plugin, and one run of it.

use std::sync::Arc;
use std::time::Instant;

use wasmtime::component::Resource;
use wasmtime::{Engine, Store, Trap};

use super::bindings::{self, types};
use super::engine::TICK;
use super::limits::Meter;
use super::slots::Slots;
use super::{PluginError, PluginLimits, cut};
use crate::case::Case;

/// A compiled plugin that said what it is.
pub(crate) struct Plugin {
    ready: bindings::PluginPre<Run>,
    limits: Arc<PluginLimits>,
    tables: Arc<[String]>,
    slots: Arc<Slots>,
    pub(crate) info: types::PluginInfo,
}

impl std::fmt::Debug for Plugin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Plugin")
            .field("info", &self.info)
            .finish_non_exhaustive()
    }
}

/// What a run cost, however it ended.
#[derive(Debug, Default)]
pub(crate) struct Usage {
    pub(crate) fuel: u64,
    pub(crate) millis: f64,
    pub(crate) memory: u64,
    pub(crate) log: Vec<String>,
}

/// How a run ended, and what it cost.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) diagnosis: Result<types::Diagnosis, PluginError>,
    pub(crate) usage: Usage,
}

/// The state of one run: what the plugin reads, and what is left of its allowances.
#[derive(Debug)]
pub(crate) struct Run {
    pub(super) case: Arc<Case>,
    pub(super) tables: Arc<[String]>,
    pub(super) limits: Arc<PluginLimits>,
    pub(super) meter: Meter,
    pub(super) read_left: usize,
    pub(super) search_left: u64,
    pub(super) log: Vec<String>,
    pub(super) log_calls: usize,
}

impl Plugin {
    /// Asks a component what it is.
    pub(super) fn new(
        ready: bindings::PluginPre<Run>,
        limits: Arc<PluginLimits>,
        tables: Arc<[String]>,
        slots: Arc<Slots>,
    ) -> Result<Self, PluginError> {
        let info = ask(&ready, &limits, &tables, &slots)?;
        check_info(&info)?;
        Ok(Self {
            ready,
            limits,
            tables,
            slots,
            info,
        })
    }

    /// Runs the plugin on a case. Whatever it does, this returns within its limits.
    pub(crate) fn run(&self, case: &Arc<Case>) -> Answer {
        let _slot = self.slots.take();
        let started = Instant::now();
        let mut store = match store(self.ready.engine(), &self.limits, &self.tables, case.clone()) {
            Ok(store) => store,
            Err(error) => {
                return Answer {
                    diagnosis: Err(error),
                    usage: Usage::default(),
                };
            }
        };
        let result = self
            .ready
            .instantiate(&mut store)
            .and_then(|plugin| plugin.call_diagnose(&mut store, Resource::new_own(0)));
        let fuel = self.limits.fuel.saturating_sub(store.get_fuel().unwrap_or_default());
        let run = store.into_data();
        let usage = Usage {
            fuel,
            millis: started.elapsed().as_secs_f64() * 1e3,
            memory: run.meter.peak() as u64,
            log: run.log,
        };
        let diagnosis = match result {
            Ok(Ok(diagnosis)) => Ok(diagnosis),
            Ok(Err(said)) => Err(PluginError::Reported(cut(&said, self.limits.text_bytes))),
            Err(error) => Err(PluginError::Stopped(reason(&error, &self.limits))),
        };
        Answer { diagnosis, usage }
    }
}

fn ask(
    ready: &bindings::PluginPre<Run>,
    limits: &Arc<PluginLimits>,
    tables: &Arc<[String]>,
    slots: &Slots,
) -> Result<types::PluginInfo, PluginError> {
    let _slot = slots.take();
    let mut store = store(ready.engine(), limits, tables, Arc::default())?;
    ready
        .instantiate(&mut store)
        .and_then(|plugin| plugin.call_about(&mut store))
        .map_err(|error| PluginError::Refused(format!("it does not say what it is: {}", reason(&error, limits))))
}

fn store(
    engine: &Engine,
    limits: &Arc<PluginLimits>,
    tables: &Arc<[String]>,
    case: Arc<Case>,
) -> Result<Store<Run>, PluginError> {
    let run = Run {
        case,
        tables: tables.clone(),
        limits: limits.clone(),
        meter: Meter::new(limits.memory),
        read_left: limits.read_bytes,
        search_left: limits.search_bytes,
        log: Vec::new(),
        log_calls: 0,
    };
    let mut store = Store::new(engine, run);
    store.limiter(|run| &mut run.meter);
    store.set_hostcall_fuel(limits.answer_bytes);
    store.set_epoch_deadline(limits.millis.div_ceil(TICK.as_millis() as u64).max(1));
    store
        .set_fuel(limits.fuel)
        .map_err(|error| PluginError::Stopped(format!("{error:#}")))?;
    Ok(store)
}

/// Names and ids end up in documents and pages, so they are held to their form.
fn check_info(info: &types::PluginInfo) -> Result<(), PluginError> {
    let kebab = |text: &str| {
        !text.is_empty()
            && text.len() <= 64
            && text
                .bytes()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
    };
    if !kebab(&info.name) {
        return Err(PluginError::Refused(format!(
            "it calls itself {:?}: a plugin's name has lower-case letters, digits and hyphens, 64 at most",
            cut(&info.name, 80)
        )));
    }
    if info.version.is_empty() || info.version.len() > 64 || info.version.chars().any(char::is_control) {
        return Err(PluginError::Refused(
            "its version is empty, too long or not printable".to_owned(),
        ));
    }
    match info.causes.iter().find(|cause| !kebab(cause)) {
        Some(cause) => Err(PluginError::Refused(format!(
            "it names the cause {:?}, which is no id",
            cut(cause, 80)
        ))),
        None => Ok(()),
    }
}

/// Why a run was stopped, in words.
fn reason(error: &wasmtime::Error, limits: &PluginLimits) -> String {
    match error.downcast_ref::<Trap>() {
        Some(Trap::OutOfFuel) => format!("it used up its {} units of fuel", limits.fuel),
        Some(Trap::Interrupt) => format!("it ran for more than {} ms", limits.millis),
        Some(Trap::StackOverflow) => "its call stack overflowed".to_owned(),
        Some(Trap::UnreachableCodeReached) => "it panicked (it executed an unreachable instruction)".to_owned(),
        Some(trap) => format!("it trapped: {}", trap.to_string().trim_start_matches("wasm trap: ")),
        None => error.root_cause().to_string(),
    }
}
