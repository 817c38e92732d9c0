//! Matches what the ranks did, group by group and collective by collective.

use std::collections::{BTreeMap, BTreeSet};

use super::exchanges;
use super::groups::{Group, GroupKey, Member, groups};
use super::waiting::{Waiting, circle_in_words, waiting};
use crate::model::{CollectiveVerdict, Collectives, EntryState, Recorder, RecorderEntry};

/// Verdicts reported. The first ones matter; what follows a divergence is its consequence.
const VERDICTS: usize = 64;

/// Sends and receives that do not match, of which the waiting ranks are followed.
const EXCHANGES: usize = 4096;

/// When the backend gives an operation up, where the dump does not say: ten minutes, the default for NCCL
/// (`torch.distributed.init_process_group`).
const TIMEOUT_MS: u64 = 600_000;

/// Matches the recorders of all ranks.
///
/// Of several dumps of one rank (a pickle and the JSON beside it, or one made later) the one that tells most counts. A
/// collective that left a rank's ring because it is older than what the ring holds, or because the dump lists active
/// ones only, counts as done there, not as missing.
pub fn match_ranks(recorders: &[Recorder]) -> Collectives {
    let recorders = one_per_rank(recorders);
    let groups = groups(&recorders);
    let ranks: BTreeSet<u32> = recorders.iter().filter_map(|recorder| recorder.rank).collect();
    let named: BTreeSet<u32> = groups.keys().flat_map(|key| key.ranks.iter().copied()).collect();
    let entries = recorders.iter().copied().flat_map(|recorder| &recorder.entries);
    let now_ns = entries.map(|entry| entry.seen_ns).max().unwrap_or(0);
    let mut verdicts: Vec<Judged> = groups
        .iter()
        .flat_map(|(key, group)| judge_group(key, group, now_ns))
        .collect();
    let mut exchanges_left = EXCHANGES;
    for (key, group) in &groups {
        let exchanges = exchanges::judge(key, group, now_ns, exchanges_left);
        exchanges_left -= exchanges.len();
        verdicts.extend(exchanges);
    }
    // Where nothing else went wrong, a rank that is a moment behind is no finding; where the job hangs, it is.
    if verdicts.iter().all(|judged| judged.only_pending || judged.may_be_lag) {
        verdicts.retain(|judged| !judged.may_be_lag);
    }
    verdicts.sort_by_key(|judged| (judged.time_ns, judged.verdict.sequence));
    let waiting = waiting(verdicts.iter().map(|judged| (&judged.verdict, judged.members)));
    for judged in &mut verdicts {
        judged.verdict.detail += &circle_in_words(&waiting.circle, &judged.verdict);
    }
    let told: Vec<Vec<u32>> = verdicts
        .iter()
        .filter(|judged| !judged.verdict.point_to_point && !judged.only_pending)
        .map(|judged| judged.verdict.ranks.clone())
        .collect();
    verdicts.sort_by_key(|judged| turn(&judged.verdict, &waiting, &told));
    let decided = verdicts.iter().any(|judged| !judged.only_pending);
    verdicts.retain(|judged| !(decided && judged.only_pending));
    let verdicts = verdicts
        .into_iter()
        .map(|judged| judged.verdict)
        .take(VERDICTS)
        .collect();
    Collectives {
        ranks_without_recorder: named.difference(&ranks).copied().collect(),
        ranks: ranks.into_iter().collect(),
        verdicts,
        culprits: waiting.culprits,
        circle: waiting.circle,
        behind_once: Vec::new(),
    }
}

/// Who waits in a send or receive often waits for a rank that waits itself: what names the ranks to blame comes first,
/// and where a collective names them, that is enough.
fn turn(verdict: &CollectiveVerdict, waiting: &Waiting, told: &[Vec<u32>]) -> u8 {
    let is_in = |list: &[u32]| verdict.ranks.iter().all(|rank| list.contains(rank));
    if !verdict.point_to_point {
        0
    } else if !is_in(&waiting.culprits) && !is_in(&waiting.circle) {
        2
    } else {
        u8::from(told.iter().any(|ranks| is_in(ranks)))
    }
}

fn one_per_rank(recorders: &[Recorder]) -> Vec<&Recorder> {
    let mut best: BTreeMap<Option<u32>, &Recorder> = BTreeMap::new();
    // The later dump tells how it ended. A pickle has the stacks that JSON lacks.
    let worth = |recorder: &Recorder| {
        let latest = recorder.entries.iter().map(|entry| entry.seen_ns).max();
        let stacks = recorder.entries.iter().filter(|entry| !entry.frames.is_empty()).count();
        (latest, recorder.entries.len(), stacks)
    };
    for recorder in recorders {
        match best.entry(recorder.rank) {
            std::collections::btree_map::Entry::Vacant(place) => {
                place.insert(recorder);
            }
            std::collections::btree_map::Entry::Occupied(mut place) => {
                if worth(recorder) > worth(place.get()) {
                    place.insert(recorder);
                }
            }
        }
    }
    best.into_values().collect()
}

/// A verdict with what orders it.
#[derive(Debug)]
pub(super) struct Judged {
    pub verdict: CollectiveVerdict,
    pub time_ns: u64,
    /// Ranks of its group that left a recorder.
    pub members: usize,
    /// Everybody entered and nobody completed: it may just have been under way, so anything else says more.
    pub only_pending: bool,
    /// Others got out, and those who did not are not overdue by what the dumps tell.
    pub may_be_lag: bool,
}

/// The first verdict of each kind: what follows in the same group is its consequence.
fn judge_group(key: &GroupKey, group: &Group, now_ns: u64) -> Vec<Judged> {
    let sequences: BTreeSet<u64> = group
        .members
        .values()
        .flat_map(|member| member.calls.keys().copied())
        .collect();
    let mut found: Vec<Judged> = Vec::new();
    let standing = Standing::new(key, group, now_ns);
    for sequence in sequences {
        let call = Call::new(key, group, sequence, &standing);
        // What is missing from one collective is missing from those after it: that is said once.
        let missing_found = found.iter().any(|earlier| earlier.verdict.kind == "missing-rank");
        let Some(judged) = call.judge(missing_found) else {
            continue;
        };
        if found.iter().all(|earlier| earlier.verdict.kind != judged.verdict.kind) {
            let mismatch = judged.verdict.kind.ends_with("-mismatch");
            found.push(judged);
            if mismatch {
                break;
            }
        }
    }
    found
}

/// How the ranks of a group stand when the dumps were made, worked out once: a group may have a hundred thousand ranks.
#[derive(Debug)]
struct Standing {
    /// The latest time that any recorder has: no dump was made before it.
    now_ns: u64,
    /// Those that did, in the order of the group's list.
    present: Vec<u32>,
    /// Those that did not.
    silent: Vec<u32>,
}

impl Standing {
    fn new(key: &GroupKey, group: &Group, now_ns: u64) -> Self {
        let ranks = key.ranks.iter().copied();
        let (present, silent) = ranks.partition(|rank| group.members.contains_key(rank));
        Self {
            now_ns,
            present,
            silent,
        }
    }
}

/// One collective of one group, across ranks.
#[derive(Debug)]
struct Call<'a> {
    key: &'a GroupKey,
    standing: &'a Standing,
    group: &'a Group<'a>,
    sequence: u64,
    entries: BTreeMap<u32, &'a [&'a RecorderEntry]>,
}

impl<'a> Call<'a> {
    fn new(key: &'a GroupKey, group: &'a Group<'a>, sequence: u64, standing: &'a Standing) -> Self {
        let entries = group
            .members
            .iter()
            .filter_map(|(rank, member)| Some((*rank, member.calls.get(&sequence)?.as_slice())));
        Self {
            key,
            standing,
            group,
            sequence,
            entries: entries.collect(),
        }
    }

    /// The first thing that is wrong with it; nothing when that is missing ranks and those are known already.
    fn judge(&self, missing_found: bool) -> Option<Judged> {
        if let Some(judged) = self.mismatch() {
            return Some(judged);
        }
        let (behind, silent) = self.missing();
        if behind.is_empty() && silent.is_empty() {
            return self.not_completed();
        }
        (!missing_found).then(|| self.missing_verdict(behind, silent))
    }

    /// The ranks that asked for something else than the others.
    fn mismatch(&self) -> Option<Judged> {
        if self.entries.len() < 2 {
            return None;
        }
        let kinds: [(&str, Property); 3] = [
            ("op-mismatch", operation),
            ("shape-mismatch", shape),
            ("dtype-mismatch", dtype),
        ];
        kinds.into_iter().find_map(|(kind, property)| {
            let by_rank = |entries: &[&RecorderEntry]| {
                entries
                    .iter()
                    .map(|entry| property(entry))
                    .collect::<Vec<_>>()
                    .join(" + ")
            };
            let values: BTreeMap<u32, String> = self
                .entries
                .iter()
                .map(|(rank, entries)| (*rank, by_rank(entries)))
                .collect();
            let ranks = minority(&values)?;
            Some(self.verdict(kind, ranks, said(&values)))
        })
    }

    /// The ranks that never came to what others entered: those that are behind, and those without a recorder.
    fn missing(&self) -> (Vec<u32>, &[u32]) {
        let complete = |entry: &&RecorderEntry| entry.state == EntryState::Completed;
        if self.entries.values().flat_map(|entries| entries.iter()).all(complete) {
            return (Vec::new(), &[]);
        }
        let is_behind = |rank: &u32| {
            let reach = self.group.members.get(rank).and_then(|member| member.reach);
            reach.is_some_and(|reach| reach < self.sequence)
        };
        let behind = self.standing.present.iter().copied().filter(is_behind).collect();
        // A rank without a recorder is missing only if others still wait: it may have come and gone.
        let waited_for = !self.group.members.values().any(|member| self.is_done_by(member));
        (behind, if waited_for { &self.standing.silent } else { &[] })
    }

    fn missing_verdict(&self, behind: Vec<u32>, silent: &[u32]) -> Judged {
        let entered: Vec<u32> = self.entries.keys().copied().collect();
        let part = |words: &str, ranks: &[u32]| (!ranks.is_empty()).then(|| format!("{words} {}", list(ranks)));
        let parts = [
            part("entered by", &entered),
            part("not entered by", &behind),
            part("no recorder from", silent),
        ];
        let detail = parts.into_iter().flatten().collect::<Vec<_>>().join("; ");
        let missing: BTreeSet<u32> = behind.into_iter().chain(silent.iter().copied()).collect();
        self.verdict("missing-rank", missing.into_iter().collect(), detail)
    }

    /// The ranks that entered and did not get out: some of them, when others did; all, when nobody did.
    ///
    /// Where others got out, a rank may just be a moment behind: it counts only if it was given up, or is older than
    /// its timeout by what the dumps themselves tell.
    fn not_completed(&self) -> Option<Judged> {
        let (done, stuck): (Vec<_>, Vec<_>) = self
            .group
            .members
            .iter()
            .filter(|(_, member)| self.is_known_to(member))
            .partition(|(_, member)| self.is_done_by(member));
        let only_pending = done.is_empty();
        let may_be_lag = !only_pending && !stuck.iter().any(|(_, member)| self.is_overdue_in(member));
        let stuck: Vec<u32> = stuck
            .into_iter()
            .filter(|(_, member)| only_pending || may_be_lag || self.is_overdue_in(member))
            .map(|(rank, _)| *rank)
            .collect();
        if stuck.is_empty() {
            return None;
        }
        let done: Vec<u32> = done.into_iter().map(|(rank, _)| *rank).collect();
        let detail = if only_pending {
            "entered by all ranks that left a recorder, completed by none".to_owned()
        } else {
            format!(
                "completed by {}; entered and not completed by {}",
                list(&done),
                list(&stuck)
            )
        };
        Some(Judged {
            only_pending,
            may_be_lag,
            ..self.verdict("not-completed", stuck, detail)
        })
    }

    /// True when a member gave the collective up, or should have.
    fn is_overdue_in(&self, member: &Member) -> bool {
        let entries = member.calls.get(&self.sequence).into_iter().flatten();
        let mut open = entries.filter(|entry| !is_done(entry));
        open.any(|entry| is_overdue(entry, self.standing.now_ns))
    }

    fn is_known_to(&self, member: &Member) -> bool {
        member.calls.contains_key(&self.sequence) || member.reach.is_some_and(|reach| reach >= self.sequence)
    }

    /// An entry that is gone from the ring, or not listed among the active ones, is done.
    fn is_done_by(&self, member: &Member) -> bool {
        match member.calls.get(&self.sequence) {
            Some(entries) => entries.iter().all(|entry| is_done(entry)),
            None => member.reach.is_some_and(|reach| reach >= self.sequence),
        }
    }

    fn verdict(&self, kind: &str, ranks: Vec<u32>, detail: String) -> Judged {
        let first = self
            .entries
            .values()
            .flat_map(|entries| entries.iter())
            .min_by_key(|entry| entry.created_ns);
        let time_ns = first.map_or(0, |entry| entry.created_ns);
        let differing = ranks.iter().filter_map(|rank| self.entries.get(rank));
        let mut stacks = differing
            .chain(self.entries.values())
            .flat_map(|entries| entries.iter())
            .map(|entry| &entry.frames);
        let verdict = CollectiveVerdict {
            group: self.key.name.clone(),
            group_description: self.group.description.clone(),
            sequence: self.sequence,
            kind: kind.to_owned(),
            detail,
            operation: first.map_or_else(String::new, |entry| format!("{}:{}", entry.backend, entry.operation)),
            entered: self.entries.keys().copied().collect(),
            time: time(time_ns),
            point_to_point: false,
            frames: stacks
                .find(|frames| !frames.is_empty())
                .map_or_else(Vec::new, |frames| frames.to_vec()),
            ranks,
        };
        Judged {
            verdict,
            time_ns,
            members: self.group.members.len(),
            only_pending: false,
            may_be_lag: false,
        }
    }
}

/// Gloo entries stay `scheduled` when all is well: there, retired means done. For NCCL, retired without having
/// completed means that it timed out.
fn is_done(entry: &RecorderEntry) -> bool {
    entry.state == EntryState::Completed || (entry.retired && !is_nccl(&entry.backend))
}

/// True when an operation was given up, or should have been at the time given.
pub(super) fn is_overdue(entry: &RecorderEntry, now_ns: u64) -> bool {
    let age_ns = now_ns.saturating_sub(entry.created_ns);
    let timeout_ms = entry.timeout_ms.unwrap_or(TIMEOUT_MS);
    entry.retired || (entry.created_ns > 0 && age_ns / 1_000_000 >= timeout_ms)
}

/// RFC 3339; nothing for a time that was not recorded.
pub(super) fn time(time_ns: u64) -> Option<String> {
    let time = jiff::Timestamp::from_nanosecond(time_ns.into()).ok();
    time.filter(|_| time_ns > 0).map(|time| time.to_string())
}

pub(super) fn is_nccl(backend: &str) -> bool {
    ["nccl", "rccl", "xccl", "hccl", "mccl"]
        .iter()
        .any(|name| backend.contains(name))
}

/// What ranks must agree on, as text.
type Property = fn(&RecorderEntry) -> String;

fn operation(entry: &RecorderEntry) -> String {
    entry.operation.to_string()
}

/// Sizes that all ranks must agree on; where each rank has its own by nature, nothing.
fn shape(entry: &RecorderEntry) -> String {
    let operation = &*entry.operation;
    let uneven = operation.starts_with("all_to_all") || operation.ends_with("_v") || operation.ends_with("_v_single");
    let inputs = if uneven || operation.starts_with("scatter") {
        ""
    } else {
        &*entry.input_sizes
    };
    let outputs = if uneven || operation.starts_with("gather") {
        ""
    } else {
        &*entry.output_sizes
    };
    if inputs == outputs {
        inputs.to_owned()
    } else {
        format!("{inputs} to {outputs}")
    }
}

fn dtype(entry: &RecorderEntry) -> String {
    let (inputs, outputs) = (&*entry.input_dtypes, &*entry.output_dtypes);
    // Only the root of a gather has outputs, only that of a scatter has inputs.
    match &*entry.operation {
        operation if operation.starts_with("gather") => inputs.to_owned(),
        operation if operation.starts_with("scatter") => outputs.to_owned(),
        _ if inputs == outputs => inputs.to_owned(),
        _ => format!("{inputs} to {outputs}"),
    }
}

/// The ranks outside the largest set of ranks that agree; all of them when there is no such set. `None` when all agree.
pub(in crate::judgement) fn minority(values: &BTreeMap<u32, String>) -> Option<Vec<u32>> {
    let mut sizes: BTreeMap<&str, usize> = BTreeMap::new();
    for value in values.values() {
        *sizes.entry(value).or_default() += 1;
    }
    if sizes.len() < 2 {
        return None;
    }
    let largest = sizes.values().copied().max()?;
    let alone = sizes.values().filter(|size| **size == largest).count() == 1;
    let agrees = |value: &String| alone && sizes.get(value.as_str()) == Some(&largest);
    Some(
        values
            .iter()
            .filter(|(_, value)| !agrees(value))
            .map(|(rank, _)| *rank)
            .collect(),
    )
}

/// What each rank said, equal ones together: `ranks 0, 1: all_reduce; rank 2: broadcast`.
pub(in crate::judgement) fn said(values: &BTreeMap<u32, String>) -> String {
    let mut by_value: BTreeMap<&str, Vec<u32>> = BTreeMap::new();
    for (rank, value) in values {
        by_value.entry(value).or_default().push(*rank);
    }
    let parts: Vec<String> = by_value
        .iter()
        .map(|(value, ranks)| format!("{}: {value}", list(ranks)))
        .collect();
    parts.join("; ")
}

/// `rank 3`, `ranks 0, 1, 2`, or the first few of many.
pub(in crate::judgement) fn list(ranks: &[u32]) -> String {
    const SHOWN: usize = 16;
    let shown: Vec<String> = ranks.iter().take(SHOWN).map(u32::to_string).collect();
    let more = if ranks.len() > SHOWN {
        format!(" and {} more", ranks.len() - SHOWN)
    } else {
        String::new()
    };
    format!(
        "rank{} {}{more}",
        if ranks.len() == 1 { "" } else { "s" },
        shown.join(", ")
    )
}
