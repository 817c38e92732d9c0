//! What NCCL's RAS answers in JSON (`ncclras -f json`, NCCL 2.28.7 and later): the state of every communicator at one
//! moment, and in its monitoring mode what happened to peers. The answer in words is read with the other texts.
//!
//! A file may hold several answers, one after the other: those tell who did not move. NCCL 2.28.9 leaves out a comma
//! among the missing ranks.

use std::collections::BTreeMap;

use serde_json::Value;

use super::events::{Events, Locator};
use super::json::{list, word};
use super::{Input, Reading, json};
use crate::model::{
    Communicator, CommunicatorRank, Event, EventPayload, MissingRank, NcclError, NcclWarning, Place, RankProcess,
};
use crate::{Limits, Problem};

/// The number of `ncclInProgress`: no error.
const IN_PROGRESS: u64 = 7;
/// Results of NCCL by number (`ncclResult_t` in `nccl.h`).
const RESULTS: [&str; 8] = [
    "ncclSuccess",
    "ncclUnhandledCudaError",
    "ncclSystemError",
    "ncclInternalError",
    "ncclInvalidArgument",
    "ncclInvalidUsage",
    "ncclRemoteError",
    "ncclInProgress",
];

/// What marks such an answer in the beginning of a JSON text: a state, or an event.
const MARKS: [&[&[u8]]; 2] = [
    &[b"\"communicators_count\"", b"\"nccl_version\""],
    &[b"\"LIFECYCLE\"", b"\"peer\"", b"\"event\""],
];

/// True for JSON that starts like such an answer.
pub fn is_answer(head: &[u8]) -> bool {
    let has = |mark: &[u8]| memchr::memmem::find(head, mark).is_some();
    head.trim_ascii_start().starts_with(b"{") && MARKS.iter().any(|marks| marks.iter().all(|mark| has(mark)))
}

/// Reads all answers of a file.
pub fn read(input: &Input, limits: &Limits) -> Reading {
    let (text, torn) = match json::bytes(input, limits) {
        Ok(text) => text,
        Err(problem) => return Reading::problem(problem),
    };
    let text = with_commas(&text);
    let (documents, damage) = json::documents(&text);
    let mut reader = Reader {
        artifact: input.name(),
        ranks_left: limits.recorder_ranks,
        places: Locator::new(&text),
        events: Events::new(input.name(), limits),
        communicators: Vec::new(),
    };
    for (place, document) in &documents {
        let line = reader.places.line_at(*place);
        reader.document(document, line);
    }
    let mut reading = Reading::default();
    if reader.ranks_left == 0 {
        let message = "the answers name more ranks than any job has: what was beyond the limit is left out";
        reading.problems.push(Problem::new("limit-recorder", message));
    }
    let (timeline, left_out) = reader.events.finish();
    reading.evidence.timeline = timeline;
    reading.evidence.communicators = reader.communicators;
    reading.problems.extend(left_out);
    reading.problems.extend(torn.or(damage));
    reading
}

/// The name of a result.
pub(super) fn result_name(number: u64) -> String {
    let known = usize::try_from(number).ok().and_then(|number| RESULTS.get(number));
    known.map_or_else(|| format!("ncclResult {number}"), |name| (*name).to_owned())
}

/// What RAS says of a process that it lost, as an event.
pub(super) fn lost_process(process: &RankProcess, dead: bool) -> (NcclWarning, String) {
    let pid = process.pid.map_or_else(|| "?".to_owned(), |pid| pid.to_string());
    let host = process.host.clone().unwrap_or_default();
    let text = if dead {
        format!("process {pid} on {host} is considered dead: NCCL could not reach it for a minute")
    } else {
        format!("process {pid} on {host} does not answer NCCL")
    };
    let warning = NcclWarning {
        host,
        device: process.device.and_then(|device| i32::try_from(device).ok()),
        source: None,
        message: text.clone(),
        family: if dead { "ras-dead" } else { "ras-unresponsive" }.to_owned(),
    };
    (warning, text)
}

/// The error that NCCL keeps of a rank, as an event.
pub(super) fn failure(rank: &CommunicatorRank) -> Option<(NcclError, String)> {
    let result = rank.error.clone()?;
    let host = rank.process.host.as_deref().unwrap_or("?");
    let pid = rank.process.pid.map_or_else(|| "?".to_owned(), |pid| pid.to_string());
    let text = format!("process {pid} on {host} has {result} in NCCL");
    let error = NcclError {
        result: Some(result),
        message: text.clone(),
        ..NcclError::default()
    };
    Some((error, text))
}

struct Reader<'a> {
    artifact: &'a str,
    ranks_left: usize,
    places: Locator<'a>,
    events: Events<'a>,
    communicators: Vec<Communicator>,
}

impl Reader<'_> {
    fn document(&mut self, document: &Value, line: u64) {
        let time = document.get("timestamp").and_then(Value::as_str).and_then(time);
        if document.get("event").and_then(Value::as_str) == Some("PEER_DEAD") {
            self.peer_dead(document, time, line);
            return;
        }
        for communicator in list(document, "communicators") {
            let hash = [communicator.get("hash"), communicator.get("secondary_hash")];
            let hash = hash.into_iter().flatten().filter_map(Value::as_str).map(plain);
            let state = Communicator {
                artifact: self.artifact.to_owned(),
                at: Some(Place::Line([line; 2])),
                source: "ras".to_owned(),
                hash: hash.collect::<Vec<_>>().join(":"),
                time: time.clone(),
                size: number(communicator, "size"),
                ranks: self.take(list(communicator, "ranks")).iter().map(rank).collect(),
                others: BTreeMap::new(),
                in_transition: list(communicator, "ranks").iter().any(is_in_transition),
                missing: self
                    .take(list(communicator, "missing_ranks"))
                    .iter()
                    .map(missing)
                    .collect(),
            };
            for lost in state.missing.iter().filter(|rank| rank.dead || rank.unresponsive) {
                let place = lost.process.pid.and_then(|pid| self.places.line_of_member("pid", pid));
                self.lost(&lost.process, lost.dead, time.clone(), [place.unwrap_or(line); 2]);
            }
            for failed in &state.ranks {
                let place = failed
                    .process
                    .pid
                    .and_then(|pid| self.places.line_of_member("pid", pid));
                if let Some((error, text)) = failure(failed) {
                    let event = Event {
                        time_note: time.is_some().then(|| "no zone".to_owned()),
                        time: time.clone(),
                        pid: failed.process.pid,
                        text: text.clone(),
                        ..Event::new(EventPayload::NcclError(error))
                    };
                    self.events.add(&text, event, [place.unwrap_or(line); 2]);
                }
            }
            self.communicators.push(state);
        }
    }

    /// As many ranks as there is room for.
    fn take<'v>(&mut self, ranks: &'v [Value]) -> &'v [Value] {
        let count = ranks.len().min(self.ranks_left);
        self.ranks_left -= count;
        ranks.get(..count).unwrap_or_default()
    }

    fn peer_dead(&mut self, document: &Value, time: Option<String>, line: u64) {
        let peer = document.get("peer").unwrap_or(&Value::Null);
        let device = list(peer, "cuda_devs").first().and_then(Value::as_u64);
        let process = RankProcess {
            host: word(peer, "host").or_else(|| word(peer, "addr")),
            pid: number(peer, "pid"),
            device: device.and_then(|device| u32::try_from(device).ok()),
        };
        self.lost(&process, true, time, [line; 2]);
    }

    fn lost(&mut self, process: &RankProcess, dead: bool, time: Option<String>, lines: [u64; 2]) {
        let (warning, text) = lost_process(process, dead);
        let event = Event {
            time_note: time.is_some().then(|| "no zone".to_owned()),
            time,
            pid: process.pid,
            text: text.clone(),
            ..Event::new(EventPayload::NcclWarning(warning))
        };
        self.events.add(&text, event, lines);
    }
}

fn process(value: &Value) -> RankProcess {
    RankProcess {
        host: word(value, "host"),
        pid: number(value, "pid"),
        device: number(value, "cuda_dev"),
    }
}

fn rank(value: &Value) -> CommunicatorRank {
    let status = value.get("status").unwrap_or(&Value::Null);
    let result = |name: &str| status.get(name).and_then(Value::as_u64).unwrap_or(0);
    let error = [result("init_state"), result("async_error")]
        .into_iter()
        .find(|result| ![0, IN_PROGRESS].contains(result));
    let counts = value.get("collective_counts").and_then(Value::as_object);
    let counts = counts.into_iter().flatten();
    CommunicatorRank {
        rank: number(value, "rank").unwrap_or_default(),
        process: process(value),
        counts: counts
            .filter_map(|(name, count)| Some((name.clone(), count.as_u64()?)))
            .collect(),
        error: error.map(result_name),
    }
}

/// Whether a rank is entering its communicator or leaving it.
fn is_in_transition(rank: &Value) -> bool {
    let status = rank.get("status").unwrap_or(&Value::Null);
    let flag = |name: &str| status.get(name).and_then(Value::as_bool).unwrap_or(false);
    let is_made = status.get("init_state").and_then(Value::as_u64) == Some(IN_PROGRESS);
    is_made || ["finalize_called", "destroy_flag", "abort_flag"].into_iter().any(flag)
}

fn missing(value: &Value) -> MissingRank {
    let status = value.get("status").unwrap_or(value);
    let flag = |name: &str| status.get(name).and_then(Value::as_bool).unwrap_or(false);
    MissingRank {
        rank: number(value, "rank").unwrap_or_default(),
        process: process(value),
        dead: flag("considered_dead"),
        unresponsive: flag("unresponsive"),
    }
}

/// `2025-12-19 13:06:53`, by a clock whose zone is not told, as RFC 3339.
fn time(text: &str) -> Option<String> {
    let instant: jiff::Timestamp = format!("{}Z", text.trim().replacen(' ', "T", 1)).parse().ok()?;
    Some(instant.to_string())
}

/// `0x00ae94` as RAS writes it in words: `00ae94`.
fn plain(hash: &str) -> String {
    hash.replace("0x", "")
}

fn number(value: &Value, name: &str) -> Option<u32> {
    value
        .get(name)
        .and_then(Value::as_u64)
        .and_then(|number| u32::try_from(number).ok())
}

/// Puts a comma after each line that a member ends and after which another one begins without.
fn with_commas(text: &[u8]) -> Vec<u8> {
    let mut mended = Vec::with_capacity(text.len());
    let mut lines = text.split_inclusive(|byte| *byte == b'\n').peekable();
    while let Some(line) = lines.next() {
        let ends = line.trim_ascii_end();
        let next = lines.peek().map(|next| next.trim_ascii_start()).unwrap_or_default();
        let is_value = ends
            .last()
            .is_some_and(|last| last.is_ascii_alphanumeric() || b"\"}]".contains(last));
        if is_value && next.starts_with(b"\"") {
            mended.extend_from_slice(ends);
            mended.push(b',');
            mended.extend_from_slice(line.get(ends.len()..).unwrap_or_default());
        } else {
            mended.extend_from_slice(line);
        }
    }
    mended
}
