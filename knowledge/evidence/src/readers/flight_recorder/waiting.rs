//! Who waits for whom.

use std::collections::{BTreeMap, BTreeSet};

use super::groups::{Group, GroupKey};
use crate::model::CollectiveVerdict;

/// The ranks where the trouble starts.
///
/// A rank that asked for something else, or that is stuck in what its peers completed, is one. A rank that is missing
/// is one only if it is not held up itself by yet another rank.
pub(super) fn culprits<'v>(
    groups: &BTreeMap<GroupKey, Group>,
    verdicts: impl Iterator<Item = &'v CollectiveVerdict>,
) -> Vec<u32> {
    let mut direct: BTreeSet<u32> = BTreeSet::new();
    let mut missing: BTreeSet<u32> = BTreeSet::new();
    let mut held_up: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
    for verdict in verdicts {
        let members = groups
            .iter()
            .find(|(key, _)| key.name == verdict.group)
            .map_or(0, |(_, group)| group.members.len());
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
        return direct.into_iter().collect();
    }
    missing.into_iter().filter(|rank| !held_up.contains_key(rank)).collect()
}
