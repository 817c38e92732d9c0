//! Reads NCCL flight recorder dumps, and matches those of all ranks.
//!
//! Each rank writes what it handed to the collective library lately. One dump alone says where its rank stands; only
//! together they say who is missing: [`read`] gives the recorder of one rank, [`match_ranks`] the verdicts of all.

mod dump;
mod groups;
mod matching;
mod node;
mod waiting;

use std::io::{BufRead, Read};

use crate::model::{Evidence, Recorder};
use crate::readers::pickle::{self, Keep};
use crate::readers::{Reading, read_problem};
use crate::{ArtifactKind, Limits, Problem};
use node::Node;

pub use matching::match_ranks;

/// JSON of more bytes than this is cut: a full ring of 2000 entries is 1 MB.
const JSON_BYTES: u64 = 256 << 20;

/// Reads the dump of one rank from its uncompressed bytes; the rank is in `name`, the artifact's.
pub fn read(mut input: impl BufRead, name: &str, limits: &Limits) -> Reading {
    let is_json = input
        .fill_buf()
        .is_ok_and(|head| head.trim_ascii_start().starts_with(b"{"));
    let (recorder, mut problems) = if is_json {
        json(input, name, limits)
    } else {
        pickled(input, name, limits)
    };
    if recorder.rank.is_none() {
        let message = "the rank of a flight recorder dump is only in its file name, which must end in it, such as nccl_trace_rank_3";
        problems.push(Problem::new("no-rank", message));
    }
    let evidence = Evidence {
        collectives: Some(match_ranks(vec![recorder])),
        ..Evidence::default()
    };
    Reading {
        kind: Some(ArtifactKind::FlightRecorder),
        evidence,
        problems,
        ..Reading::default()
    }
}

fn pickled(input: impl Read, name: &str, limits: &Limits) -> (Recorder, Vec<Problem>) {
    let pickle = pickle::load(input, limits, &mut Keep);
    let root = Node::Pickle(&pickle.heap, pickle.root);
    (dump::recorder(root, name, limits.events), pickle.problems)
}

fn json(input: impl Read, name: &str, limits: &Limits) -> (Recorder, Vec<Problem>) {
    let mut text = Vec::new();
    let torn = input.take(JSON_BYTES).read_to_end(&mut text).err();
    let mut problems: Vec<Problem> = torn.iter().map(read_problem).collect();
    let root = serde_json::from_slice(&text).unwrap_or_else(|error| {
        let message = format!(
            "the flight recorder's JSON is damaged ({error}); use the pickle that lies beside it, if there is one"
        );
        problems.push(Problem::new("damaged-json", message));
        serde_json::Value::Null
    });
    (dump::recorder(Node::Json(&root), name, limits.events), problems)
}
