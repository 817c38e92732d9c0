//! Which rank a process is, where any artifact says so.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::processes::member;
use crate::model::{Event, Process, Thread};

/// Fills in ranks: from the artifact's name, from the process id where some line ties the two together, and from the
/// context when the report is about one rank.
pub(super) fn join(
    context: &Map<String, Value>,
    processes: &[Process],
    timelines: &mut [Vec<Event>],
    threads: &mut [Thread],
) {
    let rank_of = known_pairs(context, processes, timelines);
    let described = processes.iter().filter(|process| !process.context.is_empty());
    let own = member(context, "rank").filter(|_| described.count() < 2);
    for event in timelines.iter_mut().flatten() {
        event.rank = resolve(event.rank, event.pid, &event.artifact, &rank_of, own);
    }
    for thread in threads {
        thread.rank = resolve(thread.rank, thread.pid, &thread.artifact, &rank_of, own);
    }
}

fn resolve(
    known: Option<u32>,
    pid: Option<u32>,
    artifact: &str,
    rank_of: &HashMap<u32, u32>,
    own: Option<u32>,
) -> Option<u32> {
    known
        .or_else(|| pid.and_then(|pid| rank_of.get(&pid).copied()))
        .or_else(|| rank_in_name(artifact))
        .or(own)
}

fn known_pairs(context: &Map<String, Value>, processes: &[Process], timelines: &[Vec<Event>]) -> HashMap<u32, u32> {
    let mut pairs: HashMap<u32, u32> = timelines
        .iter()
        .flatten()
        .filter_map(|event| Some((event.pid?, event.rank?)))
        .collect();
    pairs.extend(
        processes
            .iter()
            .filter_map(|process| Some((process.pid, process.rank?))),
    );
    let stall = context.get("stall");
    let stood_still = stall.and_then(|stall| stall.get("processes")?.as_array());
    for process in stood_still.into_iter().flatten().filter_map(Value::as_object) {
        pairs.extend(member(process, "pid").zip(member(process, "rank")));
    }
    pairs
}

/// `rank3.log`, `rank_3/stderr.txt`, `core.rank-3.zst`.
fn rank_in_name(artifact: &str) -> Option<u32> {
    let name = artifact.to_ascii_lowercase();
    let mut words = name.match_indices("rank");
    words.find_map(|(start, word)| {
        let (before, after) = (name.get(..start)?, name.get(start + word.len()..)?);
        let number = after.strip_prefix(['_', '-']).unwrap_or(after);
        let end = number.find(|character: char| !character.is_ascii_digit());
        let is_word = !before.ends_with(|character: char| character.is_ascii_lowercase());
        is_word.then(|| number.get(..end.unwrap_or(number.len()))?.parse().ok())?
    })
}

#[cfg(test)]
mod tests {
    use super::rank_in_name;

    #[test]
    fn names_of_files_tell_ranks() {
        for (name, rank) in [
            ("rank3.log", Some(3)),
            ("logs/Rank_12/stderr.txt", Some(12)),
            ("core.rank-0.zst", Some(0)),
            ("frank1.log", None),
            ("ranks.txt", None),
            ("ranking-2_rank7", Some(7)),
            ("rank99999999999", None),
        ] {
            assert_eq!(rank_in_name(name), rank, "{name}");
        }
    }
}
