//! What is remembered of one GPU over time. Only changes are kept: between two, nothing changed. All of it is bounded.

use std::collections::{BTreeMap, VecDeque};

use serde_json::{Value, json};

/// Changes of memory remembered, the last ones.
const CHANGES: usize = 20_000;
/// Changes remembered of everything that is asked for less often.
const SLOW_CHANGES: usize = 2_000;
/// Series of values, processes, and what a device told of, each at most.
const SERIES: usize = 64;
const PROCESSES: usize = 256;
const TOLD: usize = 100;

/// Values, each with the milliseconds since the job's start from which on it was so.
type Series<T> = VecDeque<(u64, T)>;

/// One device over time.
#[derive(Debug, Default)]
pub struct Device {
    /// Bytes used on the device by everybody.
    used: Series<u64>,
    peak: u64,
    total: u64,
    /// How it does, by the name of what was asked.
    health: BTreeMap<String, Series<Value>>,
    /// Bytes used by each process.
    processes: BTreeMap<u32, Series<u64>>,
    xids: Vec<(u64, u32)>,
    failures: Vec<(u64, String)>,
}

impl Device {
    /// So many bytes of all are used.
    pub fn use_memory(&mut self, at: u64, used: u64, total: u64) {
        self.total = total;
        self.peak = self.peak.max(used);
        add(&mut self.used, CHANGES, at, used);
    }

    /// A value is another one than before.
    pub fn change(&mut self, at: u64, name: String, value: Value) {
        if self.health.len() < SERIES || self.health.contains_key(&name) {
            add(self.health.entry(name).or_default(), SLOW_CHANGES, at, value);
        }
    }

    /// A process uses so many bytes.
    pub fn use_by(&mut self, at: u64, pid: u32, used: u64) {
        if self.processes.len() < PROCESSES || self.processes.contains_key(&pid) {
            add(self.processes.entry(pid).or_default(), SLOW_CHANGES, at, used);
        }
    }

    /// The driver told of an error.
    pub fn tell_xid(&mut self, at: u64, code: u32) {
        // The first ones are what the others follow from.
        if self.xids.len() < TOLD {
            self.xids.push((at, code));
        }
    }

    /// It did not answer.
    pub fn fail(&mut self, at: u64, why: String) {
        if self.failures.len() < TOLD {
            self.failures.push((at, why));
        }
    }

    /// As the context tells it.
    pub fn told(&self, index: usize, uuid: Value) -> Value {
        let failures = self.failures.iter().map(|(at, why)| json!({"at": at, "why": why}));
        let failures: Vec<Value> = failures.collect();
        let mut told = json!({"device": index, "uuid": uuid, "total": self.total, "peak_used": self.peak,
            "used": self.used, "failures": failures});
        if !self.health.is_empty() {
            told["health"] = json!(self.health);
        }
        if !self.processes.is_empty() {
            let processes = self
                .processes
                .iter()
                .map(|(pid, used)| json!({"pid": pid, "used": used}));
            told["processes"] = processes.collect();
        }
        if !self.xids.is_empty() {
            told["xids"] = self
                .xids
                .iter()
                .map(|(at, code)| json!({"at": at, "code": code}))
                .collect();
        }
        told
    }
}

fn add<T>(series: &mut Series<T>, most: usize, at: u64, value: T) {
    if series.len() == most {
        series.pop_front();
    }
    series.push_back((at, value));
}
