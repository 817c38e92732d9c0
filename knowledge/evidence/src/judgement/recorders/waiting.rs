//! Who waits for whom.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::CollectiveVerdict;

/// What the verdicts say about where to look.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    /// The ranks where the trouble starts.
    pub culprits: Vec<u32>,
    /// Ranks that wait for each other, each for the next and the last for the first; empty when there are none.
    pub circle: Vec<u32>,
}

/// Looks for who holds up the others, given each verdict with the number of ranks in its group that left a recorder.
///
/// A rank that asked for something else, or that is stuck in what its peers completed, is a culprit. A rank that is
/// missing is one only if it is not held up itself by yet another rank.
pub(super) fn waiting<'v>(verdicts: impl Iterator<Item = (&'v CollectiveVerdict, usize)>) -> Waiting {
    let mut direct: BTreeSet<u32> = BTreeSet::new();
    let mut missing: BTreeSet<u32> = BTreeSet::new();
    let mut held_up: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
    for (verdict, members) in verdicts {
        match verdict.kind.as_str() {
            "missing-rank" => {
                missing.extend(&verdict.ranks);
                for waiting in &verdict.entered {
                    held_up.entry(*waiting).or_default().extend(&verdict.ranks);
                }
            }
            // Where everybody is stuck, nobody stands out.
            _ if verdict.ranks.len() < members => direct.extend(&verdict.ranks),
            _ => {}
        }
    }
    if !direct.is_empty() {
        return Waiting {
            culprits: direct.into_iter().collect(),
            circle: Vec::new(),
        };
    }
    let culprits: Vec<u32> = missing.into_iter().filter(|rank| !held_up.contains_key(rank)).collect();
    let circle = if culprits.is_empty() {
        circle(&held_up)
    } else {
        Vec::new()
    };
    Waiting { culprits, circle }
}

/// Follows who waits for whom until a rank comes round again. Where nobody is free of waiting, every way ends so.
fn circle(held_up: &BTreeMap<u32, BTreeSet<u32>>) -> Vec<u32> {
    let mut way: Vec<u32> = Vec::new();
    let mut places: BTreeMap<u32, usize> = BTreeMap::new();
    let mut next = held_up.keys().next().copied();
    while let Some(rank) = next {
        if let Some(start) = places.get(&rank) {
            return way.split_off(*start);
        }
        places.insert(rank, way.len());
        way.push(rank);
        next = held_up.get(&rank).and_then(|ranks| ranks.first()).copied();
    }
    Vec::new()
}

/// What a verdict's detail ends in when its ranks wait for each other.
pub(super) fn circle_in_words(circle: &[u32], verdict: &CollectiveVerdict) -> String {
    let is_in = |ranks: &[u32]| ranks.iter().any(|rank| circle.contains(rank));
    let (Some(first), true) = (circle.first(), is_in(&verdict.ranks) && is_in(&verdict.entered)) else {
        return String::new();
    };
    let others: Vec<String> = circle.iter().skip(1).map(|rank| format!("rank {rank}")).collect();
    format!(
        "; they wait in a circle: rank {first} for {} for rank {first}",
        others.join(" for ")
    )
}
