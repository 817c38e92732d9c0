//! Which reports tell of one incident, as far as each says so by itself.
//!
//! The ranks of a job may send what they have in reports of their own, hours apart. Two of them belong together when
//! they name the same attempt of the same job; and where one of them names none, when they recorded the same calls of
//! the same group at the same moment, or name the same communicator. A rank that left nothing but a log belongs to the
//! incident too, but has nothing that could be judged together with what the others tell.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

use crate::Evidence;
use crate::model::{Recorder, RecorderEntry};

/// Calls by which a recorder is known again.
const CALLS: usize = 8;
/// Communicators by which a report is known again.
const COMMUNICATORS: usize = 64;
/// How far apart, in nanoseconds, the ranks of a job enter one call: twice that is told apart for certain.
const APART_NS: u64 = 2_000_000_000;
/// What launchers call a job that nobody has named.
const NO_NAMES: [&str; 5] = ["", "none", "null", "default", "0"];

/// By what a report is known to tell of the same incident as another.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kinship {
    /// The attempt of a job, where the report names one: reports of other jobs, or attempts, are never kin.
    pub job: Option<String>,
    /// Digests, one of which kin have in common that are judged together; none where there is nothing to judge.
    pub keys: BTreeSet<String>,
    /// What all reports have in common that name this attempt of a job, whatever they hold.
    pub attempt: Option<String>,
}

/// What a report's evidence, with these recorders, is known by.
pub fn kinship(evidence: &Evidence, recorders: &[Recorder]) -> Kinship {
    let named = job(&evidence.context);
    let (job, attempt) = (
        named.as_ref().map(|job| digest("job", job)),
        named.as_ref().map(|job| digest("attempt", job)),
    );
    if recorders.is_empty() && evidence.communicators.is_empty() {
        return Kinship {
            job,
            keys: BTreeSet::new(),
            attempt,
        };
    }
    let calls = recorders.iter().flat_map(call_keys);
    let hashes = evidence
        .communicators
        .iter()
        .map(|communicator| communicator.hash.as_str());
    let hashes: BTreeSet<&str> = hashes.filter(|hash| !hash.is_empty()).collect();
    let communicators = hashes.into_iter().take(COMMUNICATORS);
    let keys = calls
        .chain(communicators.map(|hash| digest("communicator", &[hash])))
        .chain(job.clone());
    Kinship {
        keys: keys.collect(),
        job,
        attempt,
    }
}

/// The attempt of the job that a context names, in parts; none where nobody has named the job.
fn job(context: &Map<String, Value>) -> Option<[String; 4]> {
    let members = |name: &str| context.get(name).and_then(Value::as_object);
    let scheduler = members("scheduler");
    let first = |names: &[&str]| {
        let said = |object: &Map<String, Value>| names.iter().find_map(|name| word(object.get(*name)?));
        said(context).or_else(|| scheduler.and_then(said))
    };
    let job = first(&["job", "job_id"])?;
    // A pod's name stands for the job's where nothing else names it, and each rank has a pod of its own.
    let is_a_pod = first(&["job_name"]).is_some_and(|name| name == job);
    if is_a_pod || NO_NAMES.contains(&job.to_ascii_lowercase().as_str()) {
        return None;
    }
    // What restarts the ranks of a job that goes on counts by itself.
    let restarts = members("environment").and_then(|variables| word(variables.get("TORCHELASTIC_RESTART_COUNT")?));
    Some([
        job,
        first(&["task"]).unwrap_or_default(),
        first(&["attempt"]).unwrap_or_else(|| "0".to_owned()),
        restarts.unwrap_or_else(|| "0".to_owned()),
    ])
}

fn word(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.trim().to_owned()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// Keys of some of the collectives that a recorder still holds. Those whose sequence numbers have the most trailing
/// zeros are the same ones on all ranks, however far each has come; and of two ways to cut time into pieces, one has
/// what happened at about the same moment in one piece.
fn call_keys(recorder: &Recorder) -> Vec<String> {
    let ranks = recorder
        .groups
        .values()
        .map(|group| &group.ranks)
        .max_by_key(|ranks| ranks.len());
    let mut calls: Vec<&RecorderEntry> = recorder
        .entries
        .iter()
        .filter(|entry| !entry.point_to_point && entry.created_ns > 0 && entry.sequence > 0)
        .collect();
    calls.sort_by_key(|entry| (Reverse(entry.sequence.trailing_zeros()), Reverse(entry.sequence)));
    let keys = calls.into_iter().take(CALLS).flat_map(|entry| {
        let piece = 2 * APART_NS;
        [0, APART_NS].map(|shift| {
            let at = format!("{shift} {}", entry.created_ns.saturating_add(shift) / piece);
            let (ranks, sequence) = (format!("{ranks:?}"), entry.sequence.to_string());
            let names: [&str; 4] = [
                &entry.group,
                &entry.group_description,
                &entry.operation,
                &entry.input_sizes,
            ];
            digest("call", &[names.as_slice(), &[&ranks, &sequence, &at]].concat())
        })
    });
    keys.collect()
}

fn digest(kind: &str, parts: &[impl AsRef<str>]) -> String {
    let mut hasher = Sha256::new();
    hasher.update(kind);
    for part in parts {
        // A length before each part keeps one from running into the next.
        hasher.update(part.as_ref().len().to_le_bytes());
        hasher.update(part.as_ref());
    }
    let hash = hasher.finalize();
    hex::encode(&hash[..16])
}
