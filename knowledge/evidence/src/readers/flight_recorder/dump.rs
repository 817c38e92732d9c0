//! Reads the dump of one rank: pickle (libtorch's C++ writer, protocol 2) or JSON, formats 2.4 to 2.10.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use super::node::Node;
use crate::model::{EntryState, Progress, Recorder, RecorderEntry, RecorderGroup};

/// Frames kept of one stack.
const FRAMES: usize = 32;

pub(super) fn recorder(root: Node, artifact: &str, entry_cap: usize) -> Recorder {
    let entries = root.get("entries").map(Node::items).unwrap_or_default();
    let kept = entries.len().saturating_sub(entry_cap);
    let mut pool = Pool::default();
    let mut entries: Vec<RecorderEntry> = entries.into_iter().skip(kept).map(|entry| pool.entry(entry)).collect();
    entries.sort_by_key(|entry| entry.record);
    Recorder {
        artifact: artifact.to_owned(),
        rank: rank(artifact),
        version: text(root.get("version")).to_owned(),
        groups: groups(root),
        progress: progress(root),
        entries,
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

fn groups(root: Node) -> BTreeMap<String, RecorderGroup> {
    let members = root.get("pg_config").map(Node::members).unwrap_or_default();
    let groups = members.into_iter().map(|(name, config)| {
        let description = text(config.get("desc")).to_owned();
        (
            name.to_owned(),
            RecorderGroup {
                description,
                ranks: ranks(text(config.get("ranks"))),
            },
        )
    });
    groups.collect()
}

/// Ranks are a list written as a string: `"[0, 1, 2]"`.
fn ranks(list: &str) -> Vec<u32> {
    let numbers = list.split(|c: char| !c.is_ascii_digit());
    numbers.filter_map(|number| number.parse().ok()).collect()
}

fn progress(root: Node) -> BTreeMap<u64, Progress> {
    let members = root.get("pg_status").map(Node::members).unwrap_or_default();
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
#[derive(Debug, Default)]
struct Pool {
    texts: HashSet<Arc<str>>,
    stacks: HashMap<Vec<String>, Arc<[String]>>,
}

impl Pool {
    fn entry(&mut self, entry: Node) -> RecorderEntry {
        let number = |key| entry.get(key).and_then(Node::number).unwrap_or(0);
        let flag = |key| entry.get(key).and_then(Node::flag).unwrap_or(false);
        let group = entry.get("process_group").map(Node::items).unwrap_or_default();
        let [name, description] = [0, 1].map(|index| text(group.get(index).copied()));
        // A backend's name may hold colons itself.
        let profiling = text(entry.get("profiling_name"));
        let (backend, operation) = profiling.rsplit_once(':').unwrap_or(("", profiling));
        let operation = operation.split(' ').next().unwrap_or(operation);
        let shown = |key, depth| entry.get(key).map_or_else(String::new, |node: Node| node.show(depth));
        RecorderEntry {
            record: number("record_id"),
            group_number: number("pg_id"),
            group: self.text(name),
            group_description: self.text(description),
            sequence: number("collective_seq_id"),
            backend: self.text(backend),
            operation: self.text(operation),
            input_sizes: self.text(&shown("input_sizes", 2)),
            output_sizes: self.text(&shown("output_sizes", 2)),
            input_dtypes: self.text(&shown("input_dtypes", 1)),
            output_dtypes: self.text(&shown("output_dtypes", 1)),
            state: match text(entry.get("state")) {
                "completed" => EntryState::Completed,
                "started" => EntryState::Started,
                _ => EntryState::Scheduled,
            },
            retired: flag("retired"),
            point_to_point: flag("is_p2p"),
            created_ns: number("time_created_ns"),
            frames: self.stack(entry.get("frames")),
        }
    }

    fn text(&mut self, text: &str) -> Arc<str> {
        if let Some(known) = self.texts.get(text) {
            return known.clone();
        }
        let new: Arc<str> = text.into();
        self.texts.insert(new.clone());
        new
    }

    fn stack(&mut self, frames: Option<Node>) -> Arc<[String]> {
        let frames = frames.map(Node::items).unwrap_or_default();
        let frames: Vec<String> = frames.into_iter().take(FRAMES).map(frame).collect();
        let stack = self
            .stacks
            .entry(frames)
            .or_insert_with_key(|frames| frames.as_slice().into());
        stack.clone()
    }
}

fn frame(frame: Node) -> String {
    let (function, file) = (text(frame.get("name")), text(frame.get("filename")));
    match frame.get("line").and_then(Node::number) {
        _ if matches!(file, "" | "??") => function.to_owned(),
        Some(line) if line > 0 => format!("{function} ({file}:{line})"),
        _ => format!("{function} ({file})"),
    }
}

fn text(node: Option<Node<'_>>) -> &str {
    node.and_then(Node::text).unwrap_or("")
}
