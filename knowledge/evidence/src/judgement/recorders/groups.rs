//! Process groups across ranks: who is in them, and how far each rank is.

use std::collections::{BTreeMap, BTreeSet};

use crate::limits::GROUPS;
use crate::model::{Progress, Recorder, RecorderEntry};

/// What makes a group the same on two ranks. Names alone do not: the default group is `""` in one place of a dump and
/// `"0"` in another, and two jobs' dumps may be in one folder.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct GroupKey {
    pub name: String,
    pub ranks: Vec<u32>,
}

/// One rank's part in one group.
#[derive(Clone, Debug, Default)]
pub(super) struct Member<'a> {
    /// Collectives the ring still holds, by sequence number. A coalesced call has several under one number.
    pub calls: BTreeMap<u64, Vec<&'a RecorderEntry>>,
    /// The last collective this rank is known to have entered.
    pub reach: Option<u64>,
    /// The last one it is known to have completed.
    pub completed: Option<u64>,
    /// Sends and receives that the ring still holds, oldest first, with the calls that close a batch of them.
    pub exchanges: Vec<&'a RecorderEntry>,
    /// How far the status says this rank is. In a group with sends and receives, their numbers are in it as well.
    pub status: Progress,
    /// How much of the rank's past its recorder holds.
    pub past: Past,
    /// Number of the latest operation that the rank recorded in any group.
    pub latest_record: u64,
}

/// How much of what a rank did its recorder still tells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Past {
    /// Everything in this group since it was made.
    Whole,
    /// The latest operations without a gap: the ring is full.
    Latest,
    /// Some: only what was active has been listed.
    #[default]
    Gaps,
}

/// A group with the ranks whose recorders know it.
#[derive(Clone, Debug, Default)]
pub(super) struct Group<'a> {
    pub description: String,
    pub members: BTreeMap<u32, Member<'a>>,
    /// True when sends and receives were made in it: they count in the same status numbers.
    point_to_point: bool,
}

/// All groups that any recorder knows.
pub(super) fn groups<'a>(recorders: &[&'a Recorder]) -> BTreeMap<GroupKey, Group<'a>> {
    let mut groups: BTreeMap<GroupKey, Group> = BTreeMap::new();
    for recorder in recorders {
        if let Some(rank) = recorder.rank {
            add(&mut groups, recorder, rank);
        }
    }
    for group in groups.values_mut().filter(|group| group.point_to_point) {
        for member in group.members.values_mut() {
            // Status numbers of such a group count sends and receives: only entries tell how far collectives are.
            member.reach = member.calls.keys().next_back().copied();
            member.completed = None;
        }
    }
    groups
}

fn add<'a>(groups: &mut BTreeMap<GroupKey, Group<'a>>, recorder: &'a Recorder, rank: u32) {
    let names = names_by_number(recorder);
    let mut by_number: BTreeMap<u64, Vec<&RecorderEntry>> = BTreeMap::new();
    for entry in &recorder.entries {
        by_number.entry(entry.group_number).or_default().push(entry);
    }
    for (number, config_name) in names.iter().take(GROUPS) {
        let config = recorder.groups.get(*config_name).cloned().unwrap_or_default();
        let entries = by_number.remove(number).unwrap_or_default();
        let entry_name = entries.first().map(|entry| entry.group.to_string());
        let name = entry_name.unwrap_or_else(|| default_name(config_name));
        let group = groups
            .entry(GroupKey {
                name,
                ranks: config.ranks,
            })
            .or_default();
        let member = group.members.entry(rank).or_default();
        for entry in entries {
            if group.description.is_empty() {
                group.description = entry.group_description.to_string();
            }
            if entry.point_to_point {
                group.point_to_point = true;
                member.exchanges.push(entry);
            } else {
                member.calls.entry(entry.sequence).or_default().push(entry);
            }
        }
        if group.description.is_empty() {
            group.description = config.description;
        }
        let progress = recorder.progress.get(number).copied().unwrap_or_default();
        member.reach = member.calls.keys().next_back().copied().max(progress.enqueued);
        member.completed = progress.completed;
        member.status = progress;
        member.past = past(recorder, member);
        member.latest_record = recorder.entries.last().map_or(0, |entry| entry.record);
    }
}

/// Records are numbered from nought in each process, sends and receives from one in each group. Where the status knows
/// of more than the entries, the dump was cut off.
fn past(recorder: &Recorder, member: &Member) -> Past {
    let records = recorder.entries.first().zip(recorder.entries.last());
    let Some((first, last)) = records.map(|(first, last)| (first.record, last.record)) else {
        return Past::Gaps;
    };
    let exchanged = member.exchanges.iter().map(|entry| entry.point_to_point_sequence).max();
    let known = exchanged.max(member.calls.keys().next_back().copied());
    let count = recorder.entries.len() as u64;
    if last.saturating_sub(first).saturating_add(1) != count || member.status.enqueued > known {
        return Past::Gaps;
    }
    let starts = member
        .exchanges
        .first()
        .is_some_and(|entry| entry.point_to_point_sequence == 1);
    if first == 0 || starts {
        Past::Whole
    } else {
        Past::Latest
    }
}

/// In `pg_config` the default group has no name; entries call it `0`.
fn default_name(config_name: &str) -> String {
    if config_name.is_empty() {
        "0".to_owned()
    } else {
        config_name.to_owned()
    }
}

/// Which name of `pg_config` each of the process's group numbers stands for. Entries tell, where there are any whose
/// name is in `pg_config`; the rest follows from order: both names and numbers count up as groups are made.
fn names_by_number(recorder: &Recorder) -> BTreeMap<u64, &str> {
    let mut names: BTreeMap<u64, &str> = BTreeMap::new();
    for entry in &recorder.entries {
        if let Some((name, _)) = recorder.groups.get_key_value(&*entry.group) {
            names.insert(entry.group_number, name);
        }
    }
    let numbers: BTreeSet<u64> = recorder.entries.iter().map(|entry| entry.group_number).collect();
    let numbers: BTreeSet<u64> = numbers.into_iter().chain(recorder.progress.keys().copied()).collect();
    let mut by_age: Vec<&str> = recorder.groups.keys().map(String::as_str).collect();
    by_age.sort_by_key(|name| (name.parse::<u64>().unwrap_or(0), *name));
    if numbers.len() == by_age.len() {
        for (number, name) in numbers.iter().zip(by_age) {
            names.entry(*number).or_insert(name);
        }
    }
    // A group that only entries know still matches by its name.
    for entry in &recorder.entries {
        names.entry(entry.group_number).or_insert(&entry.group);
    }
    names
}
