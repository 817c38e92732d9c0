//! Reads the dump of one rank: pickle (libtorch's C++ writer, protocol 2) or JSON, formats 2.4 to 2.10.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use super::node::{Node, cut};
use crate::limits::GROUPS;
use crate::model::{EntryState, Peers, Progress, Recorder, RecorderEntry, RecorderGroup};
use crate::{Limits, Problem};

/// Frames kept of one stack.
const FRAMES: usize = 32;
/// Bytes kept of one name.
const NAME_BYTES: usize = 1024;
/// Bytes kept of the sizes or types of one operation: room for some two hundred tensors.
const SHAPE_BYTES: usize = 4096;
/// Bytes that a rank takes where a group lists it, as it is written.
const RANK_BYTES: usize = 16;

/// Reads a dump; what is left out of it is named.
pub(super) fn recorder(root: Node, artifact: &str, limits: &Limits, problems: &mut Vec<Problem>) -> Recorder {
    let entry_cap = limits.events;
    let entries = root.get("entries").map(Node::items);
    let count = entries.as_ref().map_or(0, ExactSizeIterator::len);
    if count > entry_cap {
        let message = format!("the recorder holds {count} entries; only the latest {entry_cap} were read");
        problems.push(Problem::new("limit-events", message));
    }
    let mut pool = Pool::new(limits.recorder_text_bytes);
    let latest = entries.into_iter().flatten().skip(count.saturating_sub(entry_cap));
    let mut entries: Vec<RecorderEntry> = latest.map(|entry| pool.entry(entry)).collect();
    entries.sort_by_key(|entry| entry.record);
    let (groups, complete) = groups(root, limits.recorder_ranks);
    let numbers: HashSet<u64> = entries.iter().map(|entry| entry.group_number).collect();
    if pool.is_full() || !complete || numbers.len() > GROUPS {
        let message = "the recorder has more groups, ranks or distinct texts than any job: what was beyond the limits is \
                       left out, and ranks may be judged wrongly";
        problems.push(Problem::new("limit-recorder", message));
    }
    Recorder {
        groups,
        progress: progress(root),
        entries,
        text_bytes: pool.bytes,
        version: name(root.get("version")).to_owned(),
        ..empty(artifact)
    }
}

/// The recorder of a dump that could not be read.
pub(super) fn empty(artifact: &str) -> Recorder {
    Recorder {
        artifact: artifact.to_owned(),
        rank: rank(artifact),
        ..Recorder::default()
    }
}

/// The rank is nowhere in the file. Its name ends in it (`nccl_trace_rank_3`, `trace_3.json`, `host_3.pickle.zst`).
pub(super) fn rank(artifact: &str) -> Option<u32> {
    let mut stem = artifact;
    while let Some((front, extension)) = stem.rsplit_once('.') {
        if extension.bytes().all(|byte| byte.is_ascii_digit()) {
            break;
        }
        stem = front;
    }
    let digits = stem.len() - stem.trim_end_matches(|c: char| c.is_ascii_digit()).len();
    stem.get(stem.len() - digits..)?.parse().ok()
}

/// The groups, and whether those are all.
fn groups(root: Node, most_ranks: usize) -> (BTreeMap<String, RecorderGroup>, bool) {
    let config = root.get("pg_config");
    let mut complete = config.map_or(0, Node::member_count) <= GROUPS;
    let (mut ranks_left, mut text_left) = (most_ranks, most_ranks.saturating_mul(RANK_BYTES));
    let mut groups = BTreeMap::new();
    for (group, config) in config.map(|config| config.members(GROUPS)).unwrap_or_default() {
        let listed = config.get("ranks").and_then(Node::text).unwrap_or_default();
        complete &= listed.len() <= text_left;
        let listed = cut(listed, text_left);
        text_left -= listed.len();
        let mut listed = ranks(listed);
        let ranks: Vec<u32> = listed.by_ref().take(ranks_left).collect();
        ranks_left -= ranks.len();
        complete &= listed.next().is_none();
        let group = cut(group, NAME_BYTES).to_owned();
        let description = name(config.get("desc")).to_owned();
        groups.insert(group, RecorderGroup { description, ranks });
    }
    (groups, complete)
}

/// Ranks are a list written as a string: `"[0, 1, 2]"`.
fn ranks(list: &str) -> impl Iterator<Item = u32> {
    let numbers = list.split(|c: char| !c.is_ascii_digit());
    numbers.filter_map(|number| number.parse().ok())
}

fn progress(root: Node) -> BTreeMap<u64, Progress> {
    let members = root
        .get("pg_status")
        .map(|status| status.members(GROUPS))
        .unwrap_or_default();
    let progress = members.into_iter().filter_map(|(number, status)| {
        let last = |key| status.get(key).and_then(Node::number);
        let progress = Progress {
            enqueued: last("last_enqueued_collective"),
            completed: last("last_completed_collective"),
        };
        Some((number.parse().ok()?, progress))
    });
    progress.collect()
}

/// Texts and stacks repeat from entry to entry: each is stored once.
#[derive(Debug)]
struct Pool {
    texts: HashSet<Arc<str>>,
    stacks: HashMap<Vec<String>, Arc<[String]>>,
    /// Bytes of all of them, and how many there may be.
    bytes: usize,
    most: usize,
}

impl Pool {
    fn new(most: usize) -> Self {
        Self {
            texts: HashSet::new(),
            stacks: HashMap::new(),
            bytes: 0,
            most,
        }
    }

    fn is_full(&self) -> bool {
        self.bytes > self.most
    }

    fn entry(&mut self, entry: Node) -> RecorderEntry {
        let number = |key| entry.get(key).and_then(Node::number).unwrap_or(0);
        let flag = |key| entry.get(key).and_then(Node::flag).unwrap_or(false);
        let mut group = entry.get("process_group").into_iter().flat_map(Node::items);
        let [group, description] = [(); 2].map(|()| name(group.next()));
        // A backend's name may hold colons itself.
        let profiling = name(entry.get("profiling_name"));
        let (backend, operation) = profiling.rsplit_once(':').unwrap_or(("", profiling));
        let (operation, between) = operation.split_once(' ').unwrap_or((operation, ""));
        let shown = |key, depth| {
            entry
                .get(key)
                .map_or_else(String::new, |node: Node| node.show(depth, SHAPE_BYTES))
        };
        RecorderEntry {
            record: number("record_id"),
            group_number: number("pg_id"),
            group: self.text(group),
            group_description: self.text(description),
            sequence: number("collective_seq_id"),
            backend: self.text(backend),
            operation: self.text(operation),
            input_sizes: self.text(&shown("input_sizes", 2)),
            output_sizes: self.text(&shown("output_sizes", 2)),
            input_dtypes: self.text(&shown("input_dtypes", 1)),
            output_dtypes: self.text(&shown("output_dtypes", 1)),
            state: match name(entry.get("state")) {
                "completed" => EntryState::Completed,
                "started" => EntryState::Started,
                _ => EntryState::Scheduled,
            },
            retired: flag("retired"),
            point_to_point: flag("is_p2p"),
            point_to_point_sequence: number("p2p_seq_id"),
            peers: peers(between),
            created_ns: number("time_created_ns"),
            seen_ns: number("time_created_ns")
                .max(number("time_discovered_started_ns"))
                .max(number("time_discovered_completed_ns")),
            timeout_ms: Some(number("timeout_ms")).filter(|timeout| *timeout > 0),
            frames: self.stack(entry.get("frames")),
        }
    }

    fn text(&mut self, text: &str) -> Arc<str> {
        if let Some(known) = self.texts.get(text) {
            return known.clone();
        }
        self.bytes += text.len();
        if self.is_full() {
            return Arc::default();
        }
        let new: Arc<str> = text.into();
        self.texts.insert(new.clone());
        new
    }

    fn stack(&mut self, frames: Option<Node>) -> Arc<[String]> {
        if self.is_full() {
            return Arc::default();
        }
        let frames: Vec<String> = frames
            .into_iter()
            .flat_map(Node::items)
            .take(FRAMES)
            .map(frame)
            .collect();
        if let Some(known) = self.stacks.get(&frames) {
            return known.clone();
        }
        self.bytes += frames.iter().map(String::len).sum::<usize>() * 2;
        let stack: Arc<[String]> = frames.as_slice().into();
        self.stacks.insert(frames, stack.clone());
        stack
    }
}

/// `0->3` of a send, `3<-0` of a receive, `3<-?` of one from whoever sends first.
fn peers(between: &str) -> Option<Peers> {
    if let Some((source, destination)) = between.split_once("->") {
        let (source, destination) = (Some(source.parse().ok()?), destination.parse().ok()?);
        return Some(Peers { source, destination });
    }
    let (destination, source) = between.split_once("<-")?;
    let source = match source {
        "?" => None,
        rank => Some(rank.parse().ok()?),
    };
    let destination = destination.parse().ok()?;
    Some(Peers { source, destination })
}

fn frame(frame: Node) -> String {
    let (function, file) = (name(frame.get("name")), name(frame.get("filename")));
    match frame.get("line").and_then(Node::number) {
        _ if matches!(file, "" | "??") => function.to_owned(),
        Some(line) if line > 0 => format!("{function} ({file}:{line})"),
        _ => format!("{function} ({file})"),
    }
}

/// A text, as far as names go.
fn name(node: Option<Node<'_>>) -> &str {
    cut(node.and_then(Node::text).unwrap_or(""), NAME_BYTES)
}
