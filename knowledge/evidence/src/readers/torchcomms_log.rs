//! torchcomms' own log of one rank (its `clog` hook, version 1): each call with when it was queued, started and ended.
//!
//! That is what a flight recorder holds, and it becomes one. A signature is written once and named by number; of calls
//! with the same one, the first that has not started is the one that starts.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::io::{self, BufRead};
use std::sync::Arc;

use super::lines::next_line;
use super::{Input, Reading, read_problem};
use crate::limits::GROUPS;
use crate::model::{EntryState, Peers, Progress, Recorder, RecorderEntry, RecorderGroup};
use crate::{Limits, Problem};

/// Signatures of one log.
const SIGNATURES: usize = 1 << 16;
/// Bytes kept of one name or list of sizes.
const TEXT_BYTES: usize = 1024;

/// True for text that starts like such a log.
pub fn is_log(head: &[u8]) -> bool {
    let line = head.split(|byte| *byte == b'\n').next().unwrap_or_default();
    line.starts_with(b"V|") && memchr::memmem::find(line, b"|base_timestamp=").is_some()
}

/// Reads a log.
pub fn read(input: &Input, limits: &Limits) -> Reading {
    let mut log = Log::new(limits);
    let torn = input.stream().and_then(|stream| log.read(stream, limits)).err();
    let mut reading = Reading::default();
    if log.left_out > 0 {
        let message = format!(
            "{} earlier calls were left out: the latest {} are kept",
            log.left_out, limits.events
        );
        reading.problems.push(Problem::new("limit-events", message));
    }
    if log.is_full {
        let message =
            "the log has more communicators, ranks or signatures than any job: what was beyond the limits is left out";
        reading.problems.push(Problem::new("limit-recorder", message));
    }
    if log.rank.is_none() {
        let message = "the log names no communicator, and so not the rank that wrote it";
        reading.problems.push(Problem::new("no-rank", message));
    }
    reading.problems.extend(torn.as_ref().map(read_problem));
    reading.evidence.recorders = vec![log.finish(input.name())];
    reading
}

/// What all calls of one signature share.
#[derive(Debug, Clone)]
struct Signature {
    communicator: Arc<str>,
    operation: Arc<str>,
    inputs: Arc<str>,
    outputs: Arc<str>,
    dtype: Arc<str>,
    /// The other end of a send or receive.
    peer: Option<u32>,
}

#[derive(Debug)]
struct Log {
    base_ns: u64,
    rank: Option<u32>,
    /// Size of the communicator that told the rank: that of the whole job has the most.
    size: u32,
    groups: BTreeMap<String, RecorderGroup>,
    /// Numbers of the communicators, and how many calls each has had.
    numbers: HashMap<Arc<str>, (u64, u64, u64)>,
    signatures: HashMap<u64, Signature>,
    texts: HashSet<Arc<str>>,
    text_bytes: usize,
    entries: VecDeque<RecorderEntry>,
    /// Calls of each signature that have not ended, by number.
    open: HashMap<u64, VecDeque<u64>>,
    records: u64,
    left_out: u64,
    ranks_left: usize,
    texts_left: usize,
    most: usize,
    is_full: bool,
}

impl Log {
    fn new(limits: &Limits) -> Self {
        Self {
            base_ns: 0,
            rank: None,
            size: 0,
            groups: BTreeMap::new(),
            numbers: HashMap::new(),
            signatures: HashMap::new(),
            texts: HashSet::new(),
            text_bytes: 0,
            entries: VecDeque::new(),
            open: HashMap::new(),
            records: 0,
            left_out: 0,
            ranks_left: limits.recorder_ranks,
            texts_left: limits.recorder_text_bytes,
            most: limits.events.max(1),
            is_full: false,
        }
    }

    fn read(&mut self, stream: impl BufRead, limits: &Limits) -> io::Result<()> {
        let mut stream = stream.take(limits.text_bytes);
        let mut raw = Vec::new();
        while next_line(&mut stream, &mut raw, limits.line_bytes)?.is_some() {
            self.line(String::from_utf8_lossy(&raw).trim_end());
        }
        Ok(())
    }

    fn line(&mut self, line: &str) {
        // Calls that a graph captured run once while it is captured; its replays are not told apart by call.
        let line = match line.split_once('|') {
            Some((graph, rest)) if is_numbered(graph, 'G').is_some() => rest,
            _ => line,
        };
        let mut fields = line.split('|');
        let Some(first) = fields.next() else { return };
        match first {
            "V" => self.base_ns = member(line, "base_timestamp").and_then(nanoseconds).unwrap_or(0),
            "new_comm" => self.communicator(line),
            "split" => self.split(line),
            _ => {
                let Some(number) = is_numbered(first, 'C') else { return };
                match fields.next() {
                    Some("sig") => self.sign(number, line, fields.next().unwrap_or_default()),
                    Some("Q") => self.queue(number, line),
                    Some("S") => self.advance(number, line, EntryState::Started),
                    Some("E") => self.advance(number, line, EntryState::Completed),
                    _ => {}
                }
            }
        }
    }

    /// `new_comm|comm=world|rank=0|world_size=8`.
    fn communicator(&mut self, line: &str) {
        let number = |name| member(line, name).and_then(|number| number.parse::<u32>().ok());
        let (Some(name), Some(rank), Some(size)) = (member(line, "comm"), number("rank"), number("world_size")) else {
            return;
        };
        if size > self.size {
            (self.size, self.rank) = (size, Some(rank));
        }
        // Of a split the ranks of the job were told.
        if !self.groups.contains_key(name) {
            self.group(name, 0..size);
        }
    }

    /// `split|parent=world|child=tp|ranks=0,1`.
    fn split(&mut self, line: &str) {
        if let (Some(child), Some(ranks)) = (member(line, "child"), member(line, "ranks")) {
            self.group(child, ranks.split(',').filter_map(|rank| rank.parse().ok()));
        }
    }

    fn group(&mut self, name: &str, ranks: impl Iterator<Item = u32>) {
        if self.groups.len() >= GROUPS {
            self.is_full = true;
            return;
        }
        let mut ranks = ranks.peekable();
        let kept: Vec<u32> = ranks.by_ref().take(self.ranks_left).collect();
        self.is_full |= ranks.peek().is_some();
        self.ranks_left -= kept.len();
        let description = shorten(name).to_owned();
        self.groups.insert(
            description.clone(),
            RecorderGroup {
                description,
                ranks: kept,
            },
        );
    }

    /// `C1|sig|all_reduce|in_count=1024|out_count=1024|dtype=f32|red_op=sum|async_op=f|comm=world`.
    fn sign(&mut self, number: u64, line: &str, operation: &str) {
        if self.signatures.len() >= SIGNATURES {
            self.is_full = true;
            return;
        }
        let sizes = |names: [&str; 3]| {
            let found = names.into_iter().find_map(|name| member(line, name));
            found.map(|sizes| format!("[[{}]]", shorten(sizes))).unwrap_or_default()
        };
        let signature = Signature {
            communicator: self.text(member(line, "comm").unwrap_or_default()),
            operation: self.text(operation),
            inputs: self.text(&sizes(["in_count", "in_counts", "in_splits"])),
            outputs: self.text(&sizes(["out_count", "out_counts", "out_splits"])),
            dtype: self.text(member(line, "dtype").unwrap_or_default()),
            peer: member(line, "peer").and_then(|peer| peer.parse().ok()),
        };
        self.signatures.insert(number, signature);
    }

    /// `C1|Q|work_id=3|+0.012`.
    fn queue(&mut self, number: u64, line: &str) {
        let Some(signature) = self.signatures.get(&number).cloned() else {
            return;
        };
        let next = self.numbers.len() as u64;
        let (group_number, calls, exchanges) = self
            .numbers
            .entry(Arc::clone(&signature.communicator))
            .or_insert((next, 0, 0));
        let point_to_point = signature.peer.is_some();
        *calls += u64::from(!point_to_point);
        *exchanges += u64::from(point_to_point);
        let created_ns = self.base_ns + elapsed(line);
        let own = self.groups.get(&*signature.communicator).map(|group| &group.ranks);
        let own = own.and_then(|ranks| ranks.iter().position(|rank| Some(*rank) == self.rank));
        let entry = RecorderEntry {
            record: self.records,
            group_number: *group_number,
            group: Arc::clone(&signature.communicator),
            group_description: Arc::clone(&signature.communicator),
            sequence: *calls,
            point_to_point_sequence: *exchanges,
            point_to_point,
            peers: signature
                .peer
                .zip(own)
                .map(|(peer, own)| ends(&signature.operation, own as u32, peer)),
            operation: signature.operation,
            backend: self.text("nccl"),
            input_sizes: signature.inputs,
            output_sizes: signature.outputs,
            input_dtypes: Arc::clone(&signature.dtype),
            output_dtypes: signature.dtype,
            created_ns,
            seen_ns: created_ns,
            ..RecorderEntry::default()
        };
        if self.entries.len() >= self.most {
            self.entries.pop_front();
            self.left_out += 1;
        }
        self.entries.push_back(entry);
        let open = self.open.entry(number).or_default();
        open.push_back(self.records);
        // What is older than all that is kept never ends any more.
        while open.front().is_some_and(|record| *record < self.left_out) {
            open.pop_front();
        }
        self.records += 1;
    }

    /// A call of a signature starts or ends: the first of which that was not told yet.
    fn advance(&mut self, number: u64, line: &str, state: EntryState) {
        let Some(open) = self.open.get_mut(&number) else { return };
        let (entries, left_out) = (&mut self.entries, self.left_out);
        let at = |record: u64| usize::try_from(record.saturating_sub(left_out)).unwrap_or(usize::MAX);
        let waits = |record: &u64| {
            let entry = entries.get(at(*record));
            *record >= left_out && entry.is_some_and(|entry| entry.state == EntryState::Scheduled)
        };
        let is_end = state == EntryState::Completed;
        let record = if is_end {
            open.pop_front()
        } else {
            open.iter().copied().find(waits)
        };
        if let Some(entry) = record
            .filter(|record| *record >= left_out)
            .and_then(|record| entries.get_mut(at(record)))
        {
            entry.state = state;
            entry.retired = is_end;
            entry.seen_ns = entry.seen_ns.max(self.base_ns + elapsed(line));
        }
    }

    /// A text, once.
    fn text(&mut self, text: &str) -> Arc<str> {
        let text = shorten(text);
        if let Some(known) = self.texts.get(text) {
            return Arc::clone(known);
        }
        if text.len() > self.texts_left {
            self.is_full = true;
            return Arc::default();
        }
        self.texts_left -= text.len();
        self.text_bytes += text.len();
        let text: Arc<str> = text.into();
        self.texts.insert(Arc::clone(&text));
        text
    }

    /// How far each communicator is: what was queued last, and what ended before anything that did not.
    fn progress(&self) -> BTreeMap<u64, Progress> {
        let numbers = self.numbers.values();
        let mut progress: BTreeMap<u64, Progress> = numbers
            .map(|(number, calls, _)| {
                let enqueued = (*calls > 0).then_some(*calls);
                (
                    *number,
                    Progress {
                        enqueued,
                        completed: None,
                    },
                )
            })
            .collect();
        let mut stuck: HashSet<u64> = HashSet::new();
        for entry in self.entries.iter().filter(|entry| !entry.point_to_point) {
            if entry.state != EntryState::Completed {
                stuck.insert(entry.group_number);
            } else if let Some(progress) = progress.get_mut(&entry.group_number)
                && !stuck.contains(&entry.group_number)
            {
                progress.completed = Some(entry.sequence);
            }
        }
        progress
    }

    fn finish(self, artifact: &str) -> Recorder {
        Recorder {
            progress: self.progress(),
            artifact: artifact.to_owned(),
            rank: self.rank,
            version: "clog".to_owned(),
            groups: self.groups,
            entries: self.entries.into(),
            text_bytes: self.text_bytes,
        }
    }
}

/// The two ends of a send or receive of this rank.
fn ends(operation: &str, own: u32, peer: u32) -> Peers {
    let (source, destination) = if operation.starts_with("recv") {
        (peer, own)
    } else {
        (own, peer)
    };
    Peers {
        source: Some(source),
        destination,
    }
}

/// The value of `name=value` between bars.
fn member<'l>(line: &'l str, name: &str) -> Option<&'l str> {
    line.split('|')
        .find_map(|field| field.strip_prefix(name)?.strip_prefix('='))
}

/// `C12`, for its letter.
fn is_numbered(field: &str, letter: char) -> Option<u64> {
    field.strip_prefix(letter)?.parse().ok()
}

/// Seconds with a fraction as nanoseconds.
fn nanoseconds(seconds: &str) -> Option<u64> {
    let seconds: f64 = seconds.parse().ok()?;
    (0.0..1e10)
        .contains(&seconds)
        .then(|| (seconds * 1e3).round() as u64 * 1_000_000)
}

/// The time at the end of a line, `+0.012`, since the log began.
fn elapsed(line: &str) -> u64 {
    let last = line.rsplit('|').next().and_then(|field| field.strip_prefix('+'));
    last.and_then(nanoseconds).unwrap_or(0)
}

fn shorten(text: &str) -> &str {
    text.get(..text.floor_char_boundary(TEXT_BYTES)).unwrap_or_default()
}
