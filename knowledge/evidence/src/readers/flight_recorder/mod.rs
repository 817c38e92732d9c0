//! Reads NCCL flight recorder dumps.
//!
//! Each rank writes what it handed to the collective library lately. What all of them say together is judged elsewhere
//! ([`crate::judge()`]).

mod dump;
mod node;

use std::io::{BufRead, Read};

use crate::model::{Evidence, Recorder};
use crate::readers::pickle::{self, Keep};
use crate::readers::{Reading, json as whole_json};
use crate::{ArtifactKind, Limits, Problem};
use node::Node;

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
        recorders: vec![recorder],
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
    let mut problems = pickle.problems;
    let root = Node::Pickle(&pickle.heap, pickle.root);
    (dump::recorder(root, name, limits, &mut problems), problems)
}

fn json(input: impl Read, name: &str, limits: &Limits) -> (Recorder, Vec<Problem>) {
    let (text, torn) = match whole_json::text(input, limits) {
        Ok(text) => text,
        Err(problem) => return (dump::empty(name), vec![problem]),
    };
    let mut problems = Vec::from_iter(torn);
    let root = whole_json::parse(&text).unwrap_or_else(|mut problem: Problem| {
        if problem.code == "bad-json" {
            "damaged-json".clone_into(&mut problem.code);
            problem.message += "; use the pickle that lies beside it, if there is one";
        }
        problems.push(problem);
        serde_json::Value::Null
    });
    let recorder = dump::recorder(Node::Json(&root), name, limits, &mut problems);
    (recorder, problems)
}
