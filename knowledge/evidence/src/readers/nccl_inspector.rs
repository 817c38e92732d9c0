//! NCCL Inspector's logs: JSON objects one after another, one for each operation that a process completed.
//!
//! Small operations are left out, and nothing is written of what never ended: what a file tells is how far each rank of
//! each communicator has come for certain, and that is all that is kept of it.

use std::collections::BTreeMap;
use std::io::{self, BufRead};

use serde::Deserialize;

use super::lines::next_line;
use super::{Input, Reading, read_problem};
use crate::model::{Communicator, CommunicatorRank, Place, RankProcess};
use crate::{Limits, Problem};

/// Communicators of one file.
const COMMUNICATORS: usize = 4096;
/// Kinds of operations of one communicator.
const OPERATIONS: usize = 64;

/// What marks such a log in its beginning.
const MARKS: [&[u8]; 3] = [
    b"\"inspector_output_format_version\"",
    b"\"coll_perf\"",
    b"\"p2p_perf\"",
];

#[derive(Deserialize)]
struct Record {
    header: Header,
    #[serde(default)]
    metadata: Metadata,
    coll_perf: Option<Completed>,
}

#[derive(Deserialize)]
struct Header {
    id: String,
    rank: u32,
    n_ranks: Option<u32>,
}

#[derive(Default, Deserialize)]
struct Metadata {
    dump_timestamp_us: Option<i64>,
    hostname: Option<String>,
    pid: Option<u32>,
}

#[derive(Deserialize)]
struct Completed {
    coll: String,
    coll_sn: u64,
}

/// True for JSON that starts like such a log.
pub fn is_log(head: &[u8]) -> bool {
    let has = |mark: &[u8]| memchr::memmem::find(head, mark).is_some();
    let is_record = || has(b"\"header\"") && has(b"\"n_ranks\"");
    head.trim_ascii_start().starts_with(b"{") && MARKS.iter().any(|mark| has(mark)) && is_record()
}

/// Reads a log.
pub fn read(input: &Input, limits: &Limits) -> Reading {
    let mut log = Log {
        artifact: input.name(),
        ..Log::default()
    };
    let torn = input.stream().and_then(|stream| log.read(stream, limits)).err();
    let mut reading = Reading::default();
    if log.skipped > 0 {
        let message = format!("{} of its records do not parse and were passed over", log.skipped);
        reading.problems.push(Problem::new("bad-json", message));
    }
    if log.is_full {
        let message =
            format!("the log tells of more than {COMMUNICATORS} communicators; those after them are left out");
        reading.problems.push(Problem::new("limit-recorder", message));
    }
    reading.problems.extend(torn.as_ref().map(read_problem));
    reading.evidence.communicators = log.communicators.into_values().collect();
    reading
}

#[derive(Default)]
struct Log<'a> {
    artifact: &'a str,
    communicators: BTreeMap<(String, u32), Communicator>,
    skipped: u64,
    is_full: bool,
}

impl Log<'_> {
    /// A record is a line; one that was printed to be read by people goes on until it parses, or until it is too long.
    fn read(&mut self, stream: impl BufRead, limits: &Limits) -> io::Result<()> {
        let mut stream = stream.take(limits.text_bytes);
        let (mut raw, mut record, mut number, mut first) = (Vec::new(), Vec::new(), 0, 1);
        while next_line(&mut stream, &mut raw, limits.line_bytes)?.is_some() {
            number += 1;
            if record.is_empty() {
                first = number;
            }
            record.extend_from_slice(&raw);
            match serde_json::from_slice::<Record>(&record) {
                Ok(parsed) => self.add(parsed, [first, number]),
                Err(error) if error.is_eof() && record.len() < limits.line_bytes => continue,
                Err(_) => self.skipped += 1,
            }
            record.clear();
        }
        self.skipped += u64::from(!record.trim_ascii().is_empty());
        Ok(())
    }

    fn add(&mut self, record: Record, lines: [u64; 2]) {
        let Record {
            header,
            metadata,
            coll_perf,
        } = record;
        let key = (header.id, header.rank);
        if self.communicators.len() >= COMMUNICATORS && !self.communicators.contains_key(&key) {
            self.is_full = true;
            return;
        }
        let (hash, rank) = (key.0.trim_start_matches("0x").to_owned(), key.1);
        let artifact = self.artifact;
        let communicator = self.communicators.entry(key).or_insert_with(|| Communicator {
            artifact: artifact.to_owned(),
            source: "inspector".to_owned(),
            hash,
            size: header.n_ranks,
            ranks: vec![CommunicatorRank {
                rank,
                process: RankProcess {
                    host: metadata.hostname,
                    pid: metadata.pid,
                    device: None,
                },
                ..CommunicatorRank::default()
            }],
            ..Communicator::default()
        });
        communicator.at = Some(Place::Line(lines));
        let time = metadata.dump_timestamp_us.map(jiff::Timestamp::from_microsecond);
        if let Some(Ok(time)) = time {
            communicator.time = Some(time.to_string());
        }
        let counts = communicator.ranks.first_mut().map(|rank| &mut rank.counts);
        if let (Some(counts), Some(completed)) = (counts, coll_perf)
            && (counts.len() < OPERATIONS || counts.contains_key(&completed.coll))
        {
            let latest = counts.entry(completed.coll).or_default();
            *latest = (*latest).max(completed.coll_sn);
        }
    }
}
