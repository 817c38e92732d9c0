//! What a plugin may use, and the meter that counts its memory.

use std::time::Duration;

use wasmtime::ResourceLimiter;

use super::parts::{self, INSTANCES, MEMORIES, TABLE_ELEMENTS, TABLES};
use super::run;
use super::spending::Stopped;

/// Components of at least this size carry an interpreter and a library: a Python one has 18 MB, a JavaScript one 12 MB,
/// what is compiled from Rust or C less than one.
const INTERPRETER_BYTES: usize = 4 << 20;
/// How much more fuel a plugin gets that is interpreted: about what an interpreter needs for the same work.
const INTERPRETED_FUEL: u64 = 100;
/// How much more time.
const INTERPRETED_TIME: u64 = 6;

/// Upper bounds on one run of one plugin. A run that goes over one of them fails, and its row says which.
#[derive(Clone, Debug)]
pub struct PluginLimits {
    /// The public budget: about one unit for each WebAssembly instruction (wasmtime's fuel). What the host does for the
    /// plugin has a budget of the same size, at the rates that `docs/plugins.md` lists. Components of 4 MiB and more,
    /// which carry an interpreter, have a hundred times as much.
    pub fuel: u64,
    /// Processor time in milliseconds: the backstop behind `fuel`. Interpreted plugins have six times as much.
    pub millis: u64,
    /// Bytes of linear memory and tables.
    pub memory: usize,
    /// Bytes that one call may make the host allocate: the size of a diagnosis.
    pub answer_bytes: usize,
    /// Bytes of evidence that the host hands over in one run.
    pub read_bytes: usize,
    /// Bytes of linear-time matcher that one pattern may compile to.
    pub pattern_bytes: usize,
    /// Findings, and entries of what to collect next.
    pub findings: usize,
    /// Citations and contradictions of one finding.
    pub citations: usize,
    /// Bytes of any one text of a diagnosis.
    pub text_bytes: usize,
    /// Lines kept of what it logs.
    pub log_lines: usize,
    /// Bytes kept of a line of its log.
    pub log_line_bytes: usize,
    /// Calls of `log` before the run is stopped as a flood.
    pub log_calls: usize,
    /// Bytes of a component's file.
    pub component_bytes: usize,
    /// Failed or costly runs in a row after which a plugin is set aside; 0 for never. Built-in ones never are.
    pub strikes: u32,
}

impl Default for PluginLimits {
    fn default() -> Self {
        Self {
            fuel: 1_000_000_000,
            millis: 10_000,
            memory: 256 << 20,
            answer_bytes: 4 << 20,
            read_bytes: 64 << 20,
            pattern_bytes: 1 << 20,
            findings: 32,
            citations: 32,
            text_bytes: 16 << 10,
            log_lines: 100,
            log_line_bytes: 1 << 10,
            log_calls: 10_000,
            component_bytes: 64 << 20,
            strikes: 20,
        }
    }
}

impl PluginLimits {
    /// The limits of a component of this size.
    #[must_use]
    pub fn of_component(&self, bytes: usize) -> Self {
        if bytes < INTERPRETER_BYTES {
            return self.clone();
        }
        Self {
            fuel: self.fuel.saturating_mul(INTERPRETED_FUEL),
            millis: self.millis.saturating_mul(INTERPRETED_TIME),
            ..self.clone()
        }
    }

    /// `millis` as a span of time.
    pub(crate) fn time(&self) -> Duration {
        Duration::from_millis(self.millis)
    }
}

/// Counts the memory of one run across all memories and tables of its component, and holds their numbers to what the
/// pool has room for where there is no pool.
#[derive(Debug)]
pub(crate) struct Meter {
    limit: usize,
    used: usize,
    peak: usize,
}

/// Bytes that an element of a table costs the host.
const TABLE_ELEMENT_BYTES: usize = size_of::<usize>();

impl Meter {
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            limit,
            used: 0,
            peak: 0,
        }
    }

    /// The most memory that was in use, in bytes.
    pub(crate) fn peak(&self) -> usize {
        self.peak
    }

    fn grow(&mut self, bytes: usize) -> wasmtime::Result<bool> {
        self.used = self.used.saturating_add(bytes);
        if self.used > self.limit {
            // An error and not a refusal: a refusal reaches the plugin as a failed allocation, and the reason would be
            // lost in whatever it does then.
            return Err(wasmtime::Error::new(Stopped(format!(
                "it asked for more than {} bytes of memory",
                self.limit
            ))));
        }
        self.peak = self.peak.max(self.used);
        Ok(true)
    }
}

impl ResourceLimiter for Meter {
    fn memory_growing(&mut self, current: usize, desired: usize, _maximum: Option<usize>) -> wasmtime::Result<bool> {
        self.grow(desired.saturating_sub(current))
    }

    /// What the machine has no room for is told as that. A plugin would only see that it gets no more, and fall over it.
    fn memory_grow_failed(&mut self, error: wasmtime::Error) -> wasmtime::Result<()> {
        if run::is_hosts(&error) { Err(error) } else { Ok(()) }
    }

    fn table_growing(&mut self, current: usize, desired: usize, _maximum: Option<usize>) -> wasmtime::Result<bool> {
        if desired > TABLE_ELEMENTS {
            return Err(wasmtime::Error::new(Stopped(parts::large_table(desired as u64))));
        }
        self.grow(desired.saturating_sub(current).saturating_mul(TABLE_ELEMENT_BYTES))
    }

    fn instances(&self) -> usize {
        INSTANCES as usize
    }

    fn memories(&self) -> usize {
        MEMORIES as usize
    }

    fn tables(&self) -> usize {
        TABLES as usize
    }
}
