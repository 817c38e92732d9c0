//! What went from each rank to each other one, and how that ended.

use std::collections::BTreeMap;

use super::super::groups::{Group, GroupKey, Member, Past};
use super::super::matching::is_nccl;
use crate::model::{EntryState, RecorderEntry};

/// All channels of a group, by source and destination.
#[derive(Debug, Default)]
pub(super) struct Channels<'a> {
    pub by_ends: BTreeMap<(u32, u32), Channel<'a>>,
    /// The destinations that also take from whoever sends first.
    pub pools: BTreeMap<u32, Pool>,
}

/// What went from one rank to another, oldest first.
#[derive(Debug, Default)]
pub(super) struct Channel<'a> {
    pub sends: Vec<End<'a>>,
    pub receives: Vec<End<'a>>,
}

/// What went to one rank that also takes from whoever sends first.
#[derive(Debug, Default)]
pub(super) struct Pool {
    sends: usize,
    receives: usize,
    /// False where some of it is not known any more.
    is_whole: bool,
}

impl Pool {
    /// True when more was sent than asked for.
    pub(super) fn is_oversent(&self) -> bool {
        self.is_whole && self.sends > self.receives
    }
}

/// One end of a message.
#[derive(Clone, Copy, Debug)]
pub(super) struct End<'a> {
    pub entry: &'a RecorderEntry,
    pub state: State,
    /// True when its rank recorded nothing after it.
    is_latest: bool,
}

impl End<'_> {
    /// True when its rank waits in it. A backend that never tells of completion leaves only the order: whoever went on
    /// was not held up.
    pub(super) fn is_waiting(&self) -> bool {
        self.state == State::Open || (self.state == State::Unknown && self.is_latest)
    }
}

/// What is known of an operation's end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// It completed.
    Done,
    /// It has not, when the dump was made.
    Open,
    /// The recorder does not say.
    Unknown,
}

/// The recorded operations of some ends.
pub(super) fn entries<'a>(ends: &[End<'a>]) -> Vec<&'a RecorderEntry> {
    ends.iter().map(|end| end.entry).collect()
}

impl<'a> Channels<'a> {
    /// A send stands in its source's recorder, a receive in its destination's.
    pub(super) fn new(key: &GroupKey, group: &Group<'a>) -> Self {
        let mut channels = Self::default();
        for (rank, member) in &group.members {
            for end in ends(member) {
                channels.add(key, *rank, end);
            }
        }
        let is_whole = key.ranks.iter().all(|rank| {
            let member = group.members.get(rank);
            member.is_some_and(|member| member.past == Past::Whole)
        });
        for ((_, destination), channel) in &channels.by_ends {
            if let Some(pool) = channels.pools.get_mut(destination) {
                pool.sends += channel.sends.len();
                pool.receives += channel.receives.len();
            }
        }
        for pool in channels.pools.values_mut() {
            pool.is_whole = is_whole;
        }
        channels
    }

    fn add(&mut self, key: &GroupKey, rank: u32, end: End<'a>) {
        let Some(peers) = end.entry.peers else { return };
        let Some(destination) = global(key, peers.destination) else {
            return;
        };
        let Some(source) = peers.source else {
            if destination == rank {
                self.pools.entry(destination).or_default().receives += 1;
            }
            return;
        };
        let Some(source) = global(key, source) else { return };
        let is_send = &*end.entry.operation == "send";
        // Whoever recorded it is one end of it; else the group's ranks are not what they seem.
        let own = if is_send { source } else { destination };
        if own != rank {
            return;
        }
        let channel = self.by_ends.entry((source, destination)).or_default();
        if is_send {
            channel.sends.push(end);
        } else {
            channel.receives.push(end);
        }
    }
}

/// The job's rank of a group's. A group without a list is the whole job.
fn global(key: &GroupKey, rank: u32) -> Option<u32> {
    if key.ranks.is_empty() {
        return Some(rank);
    }
    key.ranks.get(usize::try_from(rank).ok()?).copied()
}

/// The sends and receives of a rank. Those of a batch share a number and are never updated themselves: the call that
/// closes the batch stands behind them under the same number, and is. Where it is not listed, nothing tells.
fn ends<'a>(member: &Member<'a>) -> Vec<End<'a>> {
    let same = |a: &&RecorderEntry, b: &&RecorderEntry| a.point_to_point_sequence == b.point_to_point_sequence;
    let mut ends = Vec::new();
    for batch in member.exchanges.chunk_by(same) {
        let closing = batch.iter().find(|entry| &*entry.operation == "coalesced");
        let parts = batch
            .iter()
            .filter(|entry| matches!(&*entry.operation, "send" | "recv"));
        let is_torn = closing.is_none() && parts.clone().count() > 1;
        for entry in parts {
            let state = if is_torn {
                State::Unknown
            } else {
                state(closing.unwrap_or(entry))
            };
            let is_latest = !is_torn && closing.unwrap_or(entry).record == member.latest_record;
            ends.push(End {
                entry,
                state,
                is_latest,
            });
        }
    }
    ends
}

/// For NCCL, retired without having completed means given up. Other backends may retire what they only have started.
fn state(entry: &RecorderEntry) -> State {
    if entry.state == EntryState::Completed {
        State::Done
    } else if !entry.retired || is_nccl(&entry.backend) {
        State::Open
    } else {
        State::Unknown
    }
}
