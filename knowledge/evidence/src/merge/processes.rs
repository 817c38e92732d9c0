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
    let mut process_of = |pid: u32, with: &mut dyn FnMut(&mut Process)| {
        with(by_pid.entry(pid).or_insert_with(|| {
            order.push(pid);
            Process {
                pid,
                ..Process::default()
            }
        }));
    };
    for one in told {
        let described = member(&one.context, "pid");
        if let Some(pid) = described {
            process_of(pid, &mut |process| {
                process.rank = process.rank.or_else(|| member(&one.context, "rank"));
                add(&mut process.context, &one.context);
            });
        }
        // The collector tells of the end of one process in the context of the job that it belongs to.
        let Some((crash, pid)) = one
            .crash
            .as_ref()
            .and_then(|crash| Some((crash, crash.pid.or(described)?)))
        else {
            continue;
        };
        process_of(pid, &mut |process| {
            process.rank = process.rank.or(crash.rank);
            // The first crash that is told is the most direct: dumps stand before what was written about the end.
            let is_better = crash.code.is_some() || crash.thread.is_some() || process.crash.is_none();
            if is_better {
                process.crash = Some(crash.clone());
            }
        });
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
