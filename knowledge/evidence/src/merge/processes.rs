//! The processes of a report: what was written down about each, and how each ended.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::model::{Crash, Process};

/// What one artifact says about a process.
#[derive(Debug, Default)]
pub(super) struct Told {
    pub context: Map<String, Value>,
    pub crash: Option<Crash>,
}

/// Joins what artifacts say about the same process, in the order in which processes are told of first. A context that
/// names no process is about the machine, and about none of them.
pub(super) fn processes(told: &[Told]) -> Vec<Process> {
    let mut order: Vec<u32> = Vec::new();
    let mut by_pid: BTreeMap<u32, Process> = BTreeMap::new();
    for one in told {
        let crash_pid = one.crash.as_ref().and_then(|crash| crash.pid);
        let Some(pid) = member(&one.context, "pid").or(crash_pid) else {
            continue;
        };
        let process = by_pid.entry(pid).or_insert_with(|| {
            order.push(pid);
            Process {
                pid,
                ..Process::default()
            }
        });
        process.rank = process.rank.or_else(|| member(&one.context, "rank"));
        // The first crash that is told is the most direct: dumps stand before what was written about the end.
        let is_better = |crash: &Crash| crash.code.is_some() || crash.thread.is_some() || process.crash.is_none();
        if let Some(crash) = one.crash.as_ref().filter(|crash| is_better(crash)) {
            process.crash = Some(crash.clone());
        }
        add(&mut process.context, &one.context);
    }
    order.iter().filter_map(|pid| by_pid.remove(pid)).collect()
}

/// Adds members that are not there yet: what was said first stands.
pub(super) fn add(context: &mut Map<String, Value>, more: &Map<String, Value>) {
    for (name, value) in more {
        if !context.contains_key(name) {
            context.insert(name.clone(), value.clone());
        }
    }
}

pub(super) fn member(context: &Map<String, Value>, name: &str) -> Option<u32> {
    context
        .get(name)
        .and_then(Value::as_u64)
        .and_then(|value| u32::try_from(value).ok())
}
