//! How far the clocks of ranks differ.
//!
//! Hosts of a cluster are meant to agree on the time and often do not. A collective ties ranks together: none can be a
//! step ahead for long, so a rank whose flight recorder has every collective later than another rank's, always by
//! about as much, has a clock that is ahead. A rank that is merely slow is waited for.

use std::collections::{BTreeMap, HashMap};

use crate::model::Recorder;

/// Collectives that two ranks must both have recorded before their clocks are compared.
const ENOUGH: usize = 5;
/// Differences up to this many milliseconds are lag, not skew: ranks may queue work for some steps ahead.
const LAG_MS: i64 = 5_000;

/// Milliseconds by which the clock of a rank is ahead of the reference rank's, for ranks where that matters.
#[derive(Debug, Default)]
pub(super) struct Clocks {
    /// The rank whose clock the others are compared with: the lowest that has a recorder.
    pub reference: u32,
    ahead_ms: BTreeMap<u32, i64>,
}

impl Clocks {
    pub fn of<'a>(recorders: impl Iterator<Item = &'a Recorder>) -> Self {
        let mut entered: BTreeMap<u32, HashMap<(&str, u64), i64>> = BTreeMap::new();
        for recorder in recorders {
            let Some(rank) = recorder.rank else { continue };
            let times = recorder
                .entries
                .iter()
                .filter(|entry| !entry.point_to_point && entry.created_ns > 0);
            let times = times.map(|entry| ((&*entry.group, entry.sequence), (entry.created_ns / 1_000_000) as i64));
            entered.entry(rank).or_default().extend(times);
        }
        let Some((reference, base)) = entered.pop_first() else {
            return Self::default();
        };
        let ahead = entered.into_iter().filter_map(|(rank, times)| {
            let differences = times.iter().filter_map(|(key, time)| Some(time - base.get(key)?));
            Some((rank, skew(differences.collect())?))
        });
        Self {
            reference,
            ahead_ms: ahead.collect(),
        }
    }

    /// How far a rank's clock is ahead (negative: behind); none when it agrees or nothing is known.
    pub fn ahead_ms(&self, rank: Option<u32>) -> Option<i64> {
        self.ahead_ms.get(&rank?).copied()
    }
}

/// The median of the differences, if they are many, large, and alike.
fn skew(mut differences: Vec<i64>) -> Option<i64> {
    if differences.len() < ENOUGH {
        return None;
    }
    let median = middle(&mut differences)?;
    let mut deviations: Vec<i64> = differences
        .iter()
        .map(|difference| (difference - median).abs())
        .collect();
    let spread = middle(&mut deviations)?;
    (median.abs() > LAG_MS && spread < median.abs() / 4).then_some(median)
}

fn middle(values: &mut [i64]) -> Option<i64> {
    values.sort_unstable();
    values.get(values.len() / 2).copied()
}
