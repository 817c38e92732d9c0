//! What became of a report's findings from one diagnosis to another.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::diagnosis::{Claim, Diagnosis, Outcome, PluginRun};

/// Changes of confidence that are no news.
const SAME_CONFIDENCE: f64 = 0.005;

/// What changed from one diagnosis to another.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct Diff {
    /// Causes that only the later one names, with their places there (0 is the best).
    pub gained: Vec<Ranked>,
    /// Causes that only the earlier one names, with their places there.
    pub lost: Vec<Ranked>,
    /// Causes that both name, in another place, with other confidence, or for other reasons.
    pub changed: Vec<Changed>,
    /// Plugins that came, went, have another version, or ended otherwise.
    pub plugins: Vec<PluginChange>,
}

/// A cause and its place among the findings.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Ranked {
    /// Id of the cause.
    pub cause: String,
    /// 0 for the best finding.
    pub rank: usize,
    /// 0 to 1.
    pub confidence: f64,
}

/// A cause that both diagnoses name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Changed {
    /// Id of the cause.
    pub cause: String,
    /// Places before and after.
    #[schema(min_items = 2, max_items = 2)]
    pub rank: [usize; 2],
    /// Confidence before and after.
    #[schema(min_items = 2, max_items = 2)]
    pub confidence: [f64; 2],
    /// Whether it is explained otherwise, or other places are cited.
    pub reasons: bool,
}

/// A plugin of which something changed; absent members for one that was not there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PluginChange {
    /// Name.
    pub name: String,
    /// Version before and after.
    #[schema(min_items = 2, max_items = 2)]
    pub version: [Option<String>; 2],
    /// How its runs ended.
    #[schema(min_items = 2, max_items = 2)]
    pub outcome: [Option<Outcome>; 2],
}

impl Diff {
    /// What changed from `before` to `after`.
    pub fn between(before: &Diagnosis, after: &Diagnosis) -> Self {
        let (old, new) = (&before.findings, &after.findings);
        Self {
            gained: only_in(new, old),
            lost: only_in(old, new),
            changed: old.iter().enumerate().filter_map(|place| changed(place, new)).collect(),
            plugins: plugin_changes(&before.plugins, &after.plugins),
        }
    }

    /// Whether the same was concluded, by whichever plugins.
    pub fn is_empty(&self) -> bool {
        self.gained.is_empty() && self.lost.is_empty() && self.changed.is_empty()
    }
}

fn only_in(these: &[Claim], others: &[Claim]) -> Vec<Ranked> {
    let is_new = |claim: &Claim| others.iter().all(|other| other.cause != claim.cause);
    let ranked = these.iter().enumerate().filter(|(_, claim)| is_new(claim));
    ranked
        .map(|(rank, claim)| Ranked {
            cause: claim.cause.clone(),
            rank,
            confidence: claim.confidence,
        })
        .collect()
}

fn changed((rank, before): (usize, &Claim), new: &[Claim]) -> Option<Changed> {
    let (now, after) = new.iter().enumerate().find(|(_, claim)| claim.cause == before.cause)?;
    let reasons = (&before.explanation, &before.citations, &before.contradictions)
        != (&after.explanation, &after.citations, &after.contradictions);
    let moved = rank != now || (before.confidence - after.confidence).abs() > SAME_CONFIDENCE;
    (moved || reasons).then(|| Changed {
        cause: before.cause.clone(),
        rank: [rank, now],
        confidence: [before.confidence, after.confidence],
        reasons,
    })
}

fn plugin_changes(before: &[PluginRun], after: &[PluginRun]) -> Vec<PluginChange> {
    let mut names: Vec<&str> = before.iter().chain(after).map(|run| run.name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    let of = |runs: &[PluginRun], name: &str| {
        let run = runs.iter().find(|run| run.name == name);
        (run.map(|run| run.version.clone()), run.map(|run| run.outcome))
    };
    let change = |name: &str| {
        let (old, new) = (of(before, name), of(after, name));
        (old != new).then(|| PluginChange {
            name: name.to_owned(),
            version: [old.0, new.0],
            outcome: [old.1, new.1],
        })
    };
    names.into_iter().filter_map(change).collect()
}
