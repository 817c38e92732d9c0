//! One plugin, and one run of it.

use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use wasmtime::component::Resource;
use wasmtime::{Engine, PoolConcurrencyLimitError, Store, Trap, UpdateDeadline, WasmBacktrace};
use whycrash_catalog::Cause;
use whycrash_symbols::demangle;

use super::bindings::{self, knowledge, types};
use super::limits::Meter;
use super::slots::Slots;
use super::spending::{Spending, Stopped};
use super::view::HostFailure;
use super::{Knowledge, PluginError, PluginLimits, about, clean, cut};
use crate::case::Case;

/// How often a run is tried that the host could not do.
const TRIES: u32 = 4;
/// How long it waits before it tries again.
const PAUSE: Duration = Duration::from_millis(50);
/// How what Rust says of a panic begins.
const PANICKED: &str = "panicked at ";
/// Functions that are told of where a trap came from, and bytes of their names.
const FUNCTIONS: usize = 3;
const PLACE_BYTES: usize = 300;

/// A compiled plugin that said what it is.
pub(crate) struct Plugin {
    ready: bindings::PluginPre<Run>,
    limits: Arc<PluginLimits>,
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

impl Usage {
    /// Adds what another run cost, whose log goes on behind.
    pub(crate) fn add(&mut self, other: &Self) {
        self.fuel += other.fuel;
        self.millis += other.millis;
        self.memory = self.memory.max(other.memory);
        self.log.extend(other.log.iter().cloned());
    }
}

/// How a run ended, and what it cost.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) diagnosis: Result<Said, PluginError>,
    pub(crate) usage: Usage,
}

/// What a plugin said of a report.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) diagnosis: types::Diagnosis,
    /// Of its findings, besides; one for a cause at most.
    pub(crate) advice: Vec<knowledge::Advice>,
}

/// The state of one run: what the plugin reads, and what is left of its allowances.
#[derive(Debug)]
pub(crate) struct Run {
    pub(super) case: Arc<Case>,
    pub(super) knowledge: Arc<Knowledge>,
    pub(super) limits: Arc<PluginLimits>,
    pub(super) meter: Meter,
    pub(super) spending: Rc<Spending>,
    /// Patterns it has paid for.
    pub(super) patterns: BTreeSet<String>,
    pub(super) read_left: usize,
    pub(super) log: Vec<String>,
    pub(super) log_calls: usize,
    /// What it logged last, also where that is not kept: what panics says why before it does.
    pub(super) last_line: Option<String>,
    pub(super) advice: Vec<knowledge::Advice>,
}

impl Plugin {
    /// Asks a component what it is.
    pub(super) fn new(
        ready: bindings::PluginPre<Run>,
        limits: Arc<PluginLimits>,
        knowledge: &Arc<Knowledge>,
        slots: Arc<Slots>,
        own: &[Cause],
    ) -> Result<Self, PluginError> {
        let info = ask(&ready, &limits, knowledge, &slots, own)?;
        Ok(Self {
            ready,
            limits,
            slots,
            info,
        })
    }

    /// What it says about itself where this is documented: the one that evaluates the pages' tables names what they
    /// name.
    pub(crate) fn asked_again(
        &self,
        knowledge: &Arc<Knowledge>,
        own: &[Cause],
    ) -> Result<types::PluginInfo, PluginError> {
        ask(&self.ready, &self.limits, knowledge, &self.slots, own)
    }

    /// What one run of it may use.
    pub(crate) fn limits(&self) -> &PluginLimits {
        &self.limits
    }

    /// Runs the plugin on a case, with what it may know of the causes. Whatever it does, this returns within its
    /// limits.
    pub(crate) fn run(&self, case: &Arc<Case>, knowledge: &Arc<Knowledge>) -> Answer {
        let mut usage = Usage::default();
        let diagnosis = attempt(|| self.run_once(case, knowledge, &mut usage));
        Answer { diagnosis, usage }
    }

    fn run_once(&self, case: &Arc<Case>, knowledge: &Arc<Knowledge>, usage: &mut Usage) -> Result<Said, PluginError> {
        let _slot = self.slots.take();
        let mut store = store(self.ready.engine(), &self.limits, knowledge, case.clone())?;
        let result = self
            .ready
            .instantiate(&mut store)
            .and_then(|plugin| plugin.call_diagnose(&mut store, Resource::new_own(0)));
        let fuel = self.limits.fuel.saturating_sub(store.get_fuel().unwrap_or_default());
        let mut run = store.into_data();
        let last_line = run.last_line.take();
        let advice = std::mem::take(&mut run.advice);
        *usage = Usage {
            fuel: fuel + run.spending.charged(),
            millis: run.spending.clock().spent().as_secs_f64() * 1e3,
            memory: run.meter.peak() as u64,
            log: run.log,
        };
        match result {
            Ok(Ok(diagnosis)) => Ok(Said { diagnosis, advice }),
            Ok(Err(said)) => Err(PluginError::Reported(clean::lines(&cut(&said, self.limits.text_bytes)))),
            Err(error) => Err(stopped(&error, &self.limits, last_line.as_deref())),
        }
    }
}

/// What a component says that it is, held against what is documented.
fn ask(
    ready: &bindings::PluginPre<Run>,
    limits: &Arc<PluginLimits>,
    knowledge: &Arc<Knowledge>,
    slots: &Slots,
    own: &[Cause],
) -> Result<types::PluginInfo, PluginError> {
    let asked = attempt(|| {
        let _slot = slots.take();
        let mut store = store(ready.engine(), limits, knowledge, Arc::default())?;
        let said = ready
            .instantiate(&mut store)
            .and_then(|plugin| plugin.call_about(&mut store));
        // The whole of it: what is refused has no row that shows its log.
        said.map_err(|error| stopped(&error, limits, Some(&store.data().log.join(" "))))
    });
    let info = asked.map_err(|error| match error {
        PluginError::Host(_) => error,
        error => PluginError::Refused(format!("it does not say what it is: {error}")),
    })?;
    about::check(&info, knowledge, own)?;
    Ok(info)
}

/// Tries again what failed for no reason of the plugin's.
fn attempt<T>(mut run: impl FnMut() -> Result<T, PluginError>) -> Result<T, PluginError> {
    for number in 1..TRIES {
        match run() {
            Err(PluginError::Host(reason)) => tracing::warn!(reason, number, "a plugin could not be run; trying again"),
            settled => return settled,
        }
        std::thread::sleep(PAUSE * number);
    }
    run()
}

fn store(
    engine: &Engine,
    limits: &Arc<PluginLimits>,
    knowledge: &Arc<Knowledge>,
    case: Arc<Case>,
) -> Result<Store<Run>, PluginError> {
    let run = Run {
        case,
        knowledge: knowledge.clone(),
        limits: limits.clone(),
        meter: Meter::new(limits.memory),
        spending: Rc::new(Spending::new(limits.fuel, limits.time())),
        patterns: BTreeSet::new(),
        read_left: limits.read_bytes,
        log: Vec::new(),
        log_calls: 0,
        last_line: None,
        advice: Vec::new(),
    };
    let mut store = Store::new(engine, run);
    store.limiter(|run| &mut run.meter);
    store.set_hostcall_fuel(limits.answer_bytes);
    store.set_epoch_deadline(1);
    store.epoch_deadline_callback(|store| {
        store.data().spending.clock().check()?;
        Ok(UpdateDeadline::Continue(1))
    });
    store
        .set_fuel(limits.fuel)
        .map_err(|error| PluginError::Host(format!("{error:#}")))?;
    Ok(store)
}

/// Why a run was stopped, and whose doing that was. What the plugin logged last says most of a panic.
fn stopped(error: &wasmtime::Error, limits: &PluginLimits, logged: Option<&str>) -> PluginError {
    if let Some(reason) = hosts(error) {
        return PluginError::Host(reason);
    }
    PluginError::Stopped(match error.downcast_ref::<Trap>() {
        Some(Trap::OutOfFuel) => format!("it used up its {} units of fuel", limits.fuel),
        Some(Trap::StackOverflow) => "its call stack overflowed".to_owned(),
        Some(Trap::UnreachableCodeReached) => panicked(logged.unwrap_or_default()),
        Some(trap) => {
            let trap = trap.to_string();
            format!("it trapped: {}{}", trap.trim_start_matches("wasm trap: "), place(error))
        }
        None => clean::line(&cut(&error.root_cause().to_string(), limits.text_bytes)),
    })
}

/// What is said of an unreachable instruction, which panics end in: where and why, if the plugin logged that.
fn panicked(logged: &str) -> String {
    match logged.find(PANICKED) {
        Some(at) => format!("it {}", &logged[at..]),
        None if logged.is_empty() => "it panicked (it executed an unreachable instruction)".to_owned(),
        None => format!("it panicked (it executed an unreachable instruction) after it had logged: {logged}"),
    }
}

/// The functions that a trap came from, innermost first, as far as they have names.
fn place(error: &wasmtime::Error) -> String {
    let frames = error
        .downcast_ref::<WasmBacktrace>()
        .map_or(&[][..], WasmBacktrace::frames);
    let mut names: Vec<String> = frames
        .iter()
        .filter_map(|frame| frame.func_name())
        .map(demangle)
        .collect();
    // A function that calls itself is named once.
    names.dedup();
    names.truncate(FUNCTIONS);
    let place = clean::line(&cut(&names.join(", called by "), PLACE_BYTES));
    if place.is_empty() {
        place
    } else {
        format!(", in {place}")
    }
}

/// Resource of the machine that a failed run lacked, if that is why it failed.
fn hosts(error: &wasmtime::Error) -> Option<String> {
    is_hosts(error).then(|| format!("the host could not run it: {error:#}"))
}

/// Whether the host lacked something: places in the pool, memory, address space, an artifact that was there before.
pub(super) fn is_hosts(error: &wasmtime::Error) -> bool {
    let is_plugins = error.is::<Stopped>() || error.is::<Trap>();
    let lacks = error.is::<PoolConcurrencyLimitError>()
        || error.is::<HostFailure>()
        || error.is::<rustix::io::Errno>()
        || error.is::<std::io::Error>();
    lacks && !is_plugins
}
