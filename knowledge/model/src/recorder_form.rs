//! The form in which recorders are stored: names, shapes and stacks repeat from entry to entry, and are written once.

use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{EntryState, Peers, Progress, Recorder, RecorderEntry, RecorderGroup};

/// A recorder whose entries name their texts and stacks by number.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct Form {
    artifact: String,
    rank: Option<u32>,
    version: String,
    groups: BTreeMap<String, RecorderGroup>,
    progress: BTreeMap<u64, Progress>,
    texts: Vec<Arc<str>>,
    stacks: Vec<Arc<[String]>>,
    entries: Vec<Entry>,
    text_bytes: usize,
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct Entry {
    record: u64,
    group_number: u64,
    sequence: u64,
    /// Of the group and its description, the backend and the operation, the sizes in and out, and the types in and out.
    texts: [usize; 8],
    stack: usize,
    state: EntryState,
    retired: bool,
    point_to_point: bool,
    point_to_point_sequence: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    peers: Option<Peers>,
    created_ns: u64,
    seen_ns: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    timeout_ms: Option<u64>,
}

impl Serialize for Recorder {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut texts = Table::default();
        let mut stacks = Table::default();
        let entries = self.entries.iter().map(|entry| {
            let named = [
                &entry.group,
                &entry.group_description,
                &entry.backend,
                &entry.operation,
                &entry.input_sizes,
                &entry.output_sizes,
                &entry.input_dtypes,
                &entry.output_dtypes,
            ];
            Entry {
                record: entry.record,
                group_number: entry.group_number,
                sequence: entry.sequence,
                texts: named.map(|text| texts.number(text)),
                stack: stacks.number(&entry.frames),
                state: entry.state,
                retired: entry.retired,
                point_to_point: entry.point_to_point,
                point_to_point_sequence: entry.point_to_point_sequence,
                peers: entry.peers,
                created_ns: entry.created_ns,
                seen_ns: entry.seen_ns,
                timeout_ms: entry.timeout_ms,
            }
        });
        let entries = entries.collect();
        let form = Form {
            artifact: self.artifact.clone(),
            rank: self.rank,
            version: self.version.clone(),
            groups: self.groups.clone(),
            progress: self.progress.clone(),
            texts: texts.list,
            stacks: stacks.list,
            entries,
            text_bytes: self.text_bytes,
        };
        form.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Recorder {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let form = Form::deserialize(deserializer)?;
        let text = |number: usize| form.texts.get(number).cloned().unwrap_or_default();
        let entries = form.entries.iter().map(|entry| {
            let [
                group,
                description,
                backend,
                operation,
                sizes_in,
                sizes_out,
                types_in,
                types_out,
            ] = entry.texts.map(text);
            RecorderEntry {
                record: entry.record,
                group_number: entry.group_number,
                group,
                group_description: description,
                sequence: entry.sequence,
                backend,
                operation,
                input_sizes: sizes_in,
                output_sizes: sizes_out,
                input_dtypes: types_in,
                output_dtypes: types_out,
                state: entry.state,
                retired: entry.retired,
                point_to_point: entry.point_to_point,
                point_to_point_sequence: entry.point_to_point_sequence,
                peers: entry.peers,
                created_ns: entry.created_ns,
                seen_ns: entry.seen_ns,
                timeout_ms: entry.timeout_ms,
                frames: form.stacks.get(entry.stack).cloned().unwrap_or_default(),
            }
        });
        let entries = entries.collect();
        Ok(Self {
            artifact: form.artifact,
            rank: form.rank,
            version: form.version,
            groups: form.groups,
            progress: form.progress,
            entries,
            text_bytes: form.text_bytes,
        })
    }
}

/// Things by number, each once.
#[derive(Debug)]
struct Table<T: ?Sized> {
    list: Vec<Arc<T>>,
    numbers: HashMap<Arc<T>, usize>,
}

impl<T: ?Sized> Default for Table<T> {
    fn default() -> Self {
        Self {
            list: Vec::new(),
            numbers: HashMap::new(),
        }
    }
}

impl<T: ?Sized + Eq + Hash> Table<T> {
    fn number(&mut self, thing: &Arc<T>) -> usize {
        if let Some(number) = self.numbers.get(thing) {
            return *number;
        }
        let number = self.list.len();
        self.list.push(Arc::clone(thing));
        self.numbers.insert(Arc::clone(thing), number);
        number
    }
}
