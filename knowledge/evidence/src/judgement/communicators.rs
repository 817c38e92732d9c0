//! What NCCL's own view of its communicators tells: who is dead, who failed, and who did not move.
//!
//! Ranks start operations ahead of each other, so counts that differ at one moment prove nothing. At two moments they
//! do: a rank that is behind and has not moved while time went by is what the others wait for.

use std::collections::{BTreeMap, BTreeSet};

use super::recorders::{list, minority, said};
use crate::model::{CollectiveVerdict, Communicator, CommunicatorRank, MissingRank, RankProcess};

/// Seconds without any movement that count: the largest collectives take less.
const STILL_SECONDS: i64 = 2;
/// Verdicts of one kind.
const VERDICTS: usize = 16;
/// Processes that a verdict names in words.
const NAMED: usize = 4;

/// What communicators say.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub verdicts: Vec<CollectiveVerdict>,
    /// The ranks where the trouble starts.
    pub culprits: Vec<u32>,
    /// Ranks that were behind others at the only moment that is known.
    pub behind_once: Vec<u32>,
}

/// Judges all states of all communicators.
pub(super) fn judge(communicators: &[Communicator]) -> Found {
    let job = Job::of(communicators);
    let mut states: BTreeMap<(&str, &str), Vec<&Communicator>> = BTreeMap::new();
    for communicator in communicators {
        let key = (communicator.source.as_str(), communicator.hash.as_str());
        states.entry(key).or_default().push(communicator);
    }
    let mut largest_first: Vec<History> = states
        .into_values()
        .filter_map(|states| History::new(&job, states))
        .collect();
    largest_first.sort_by_key(|history| std::cmp::Reverse(history.latest.size));
    let mut found = Found::default();
    for kind in [
        History::dead,
        History::failed,
        History::unresponsive,
        History::mismatch,
        History::behind,
    ] {
        // What a process is in one communicator, it is in all: the largest tells it once.
        let mut named: BTreeSet<u32> = BTreeSet::new();
        for verdict in largest_first.iter().filter_map(kind).take(VERDICTS) {
            if verdict.ranks.iter().any(|rank| !named.contains(rank)) {
                named.extend(&verdict.ranks);
                found.verdicts.push(verdict);
            }
        }
        if found.culprits.is_empty() {
            found.culprits = named.into_iter().collect();
        }
    }
    if found.verdicts.is_empty() {
        let behind: BTreeSet<u32> = largest_first.iter().flat_map(History::behind_once).collect();
        found.behind_once = behind.into_iter().collect();
    }
    found
}

/// Which rank of the job a process is: the largest communicator has them all.
#[derive(Debug, Default)]
struct Job<'a> {
    size: Option<u32>,
    ranks: BTreeMap<&'a RankProcess, u32>,
}

impl<'a> Job<'a> {
    fn of(communicators: &'a [Communicator]) -> Self {
        let size = communicators.iter().filter_map(|communicator| communicator.size).max();
        let all = communicators.iter().filter(|communicator| communicator.size == size);
        let ranks = all.flat_map(|communicator| {
            let present = communicator.ranks.iter().map(|rank| (&rank.process, rank.rank));
            present.chain(communicator.missing.iter().map(|rank| (&rank.process, rank.rank)))
        });
        Self {
            size,
            ranks: ranks.filter(|(process, _)| process.pid.is_some()).collect(),
        }
    }

    /// The rank in the job; where nobody knows, the one in the communicator.
    fn rank(&self, communicator: &Communicator, rank: u32, process: &RankProcess) -> u32 {
        if communicator.size == self.size {
            return rank;
        }
        self.ranks.get(process).copied().unwrap_or(rank)
    }
}

/// The states of one communicator, oldest first.
#[derive(Debug)]
struct History<'a> {
    job: &'a Job<'a>,
    states: Vec<&'a Communicator>,
    latest: &'a Communicator,
}

/// A rank that has started fewer of an operation than others.
struct Behind<'a> {
    rank: &'a CommunicatorRank,
    operation: &'a str,
    count: u64,
    front: u64,
}

impl<'a> History<'a> {
    fn new(job: &'a Job<'a>, mut states: Vec<&'a Communicator>) -> Option<Self> {
        states.sort_by(|one, other| one.time.cmp(&other.time));
        let latest = states.last().copied()?;
        Some(Self { job, states, latest })
    }

    fn rank(&self, rank: u32, process: &RankProcess) -> u32 {
        self.job.rank(self.latest, rank, process)
    }

    fn dead(&self) -> Option<CollectiveVerdict> {
        self.lost("dead-rank", "NCCL gave up reaching", |rank| rank.dead)
    }

    fn unresponsive(&self) -> Option<CollectiveVerdict> {
        self.lost("unresponsive-rank", "NCCL got no answer from", |rank| {
            rank.unresponsive && !rank.dead
        })
    }

    fn lost(&self, kind: &str, words: &str, is_lost: fn(&MissingRank) -> bool) -> Option<CollectiveVerdict> {
        let lost: Vec<&MissingRank> = self.latest.missing.iter().filter(|rank| is_lost(rank)).collect();
        let ranks: Vec<u32> = lost.iter().map(|rank| self.rank(rank.rank, &rank.process)).collect();
        let detail = format!(
            "{words} {}{}",
            list(&ranks),
            processes(lost.iter().map(|rank| &rank.process))
        );
        (!lost.is_empty()).then(|| self.verdict(kind, ranks, detail))
    }

    fn failed(&self) -> Option<CollectiveVerdict> {
        let failed = || self.latest.ranks.iter().filter(|rank| rank.error.is_some());
        let error = failed().find_map(|rank| rank.error.clone())?;
        let ranks: Vec<u32> = failed().map(|rank| self.rank(rank.rank, &rank.process)).collect();
        let named = processes(failed().map(|rank| &rank.process));
        let detail = format!("{error} on {}{named}", list(&ranks));
        Some(self.verdict("failed-rank", ranks, detail))
    }

    /// Ranks that called something else: each is behind in what others called.
    fn mismatch(&self) -> Option<CollectiveVerdict> {
        let all = self.all_behind();
        if !self.is_crossed(&all) || !all.iter().all(|behind| self.is_still(behind)) {
            return None;
        }
        let counts = self.latest.ranks.iter().map(|rank| {
            let counts = rank.counts.iter().filter(|(_, count)| **count > 0);
            let counts: Vec<String> = counts
                .map(|(operation, count)| format!("{count} {operation}"))
                .collect();
            (self.rank(rank.rank, &rank.process), counts.join(", "))
        });
        let counts: BTreeMap<u32, String> = counts.collect();
        let detail = format!("started by {}", said(&counts));
        Some(self.verdict("op-mismatch", minority(&counts)?, detail))
    }

    /// Whether every rank there is is behind in something.
    fn is_crossed(&self, behind: &[Behind]) -> bool {
        behind.len() > 1 && behind.len() == self.latest.ranks.len() && self.latest.others.is_empty()
    }

    /// The ranks that are behind and did not move.
    fn behind(&self) -> Option<CollectiveVerdict> {
        let all = self.all_behind();
        if self.is_crossed(&all) {
            return None;
        }
        let still: Vec<&Behind> = all.iter().filter(|behind| self.is_still(behind)).collect();
        // Where all that are behind go on, they catch up.
        let first = still.iter().max_by_key(|behind| behind.front - behind.count)?;
        let same = || still.iter().filter(|behind| behind.operation == first.operation);
        let ranks: BTreeSet<u32> = same()
            .map(|behind| self.rank(behind.rank.rank, &behind.rank.process))
            .collect();
        let ranks: Vec<u32> = ranks.into_iter().collect();
        let named = processes(same().map(|behind| &behind.rank.process));
        let detail = format!(
            "{}{named} had started {} of {} while others had started {}, and started nothing more{}",
            list(&ranks),
            first.count,
            first.operation,
            first.front,
            self.meanwhile()
        );
        let waiting = self.latest.ranks.iter().map(|rank| self.rank(rank.rank, &rank.process));
        Some(CollectiveVerdict {
            sequence: first.front,
            operation: format!("nccl:{}", snake(first.operation)),
            entered: waiting.filter(|rank| !ranks.contains(rank)).collect(),
            ..self.verdict("behind-rank", ranks, detail)
        })
    }

    /// Ranks that are behind in the only state there is.
    fn behind_once(&self) -> Vec<u32> {
        let behind = self.all_behind();
        let ranks = behind
            .iter()
            .map(|behind| self.rank(behind.rank.rank, &behind.rank.process));
        ranks.collect()
    }

    /// Each rank that is behind in some operation, with the one in which it is most. A communicator that is being made
    /// or torn down has ranks that are not in it yet or any more.
    fn all_behind(&self) -> Vec<Behind<'a>> {
        let latest = self.latest;
        if latest.source != "ras" || latest.in_transition {
            return Vec::new();
        }
        let mut front: BTreeMap<&str, u64> = BTreeMap::new();
        let counts = latest.ranks.iter().flat_map(|rank| &rank.counts).chain(&latest.others);
        for (operation, count) in counts {
            let most = front.entry(operation).or_default();
            *most = (*most).max(*count);
        }
        let behind = latest.ranks.iter().filter_map(|rank| {
            let counts = rank.counts.iter().filter_map(|(operation, count)| {
                let front = *front.get(operation.as_str())?;
                (*count < front).then_some(Behind {
                    rank,
                    operation,
                    count: *count,
                    front,
                })
            });
            counts.max_by_key(|behind| behind.front - behind.count)
        });
        behind.collect()
    }

    /// Whether a rank stands where it stood, for long enough.
    fn is_still(&self, behind: &Behind) -> bool {
        let earlier = self.states.iter().rev().skip(1);
        let mut same = earlier.take_while(|state| {
            let then = state.ranks.iter().find(|rank| rank.rank == behind.rank.rank);
            then.is_some_and(|then| then.counts == behind.rank.counts)
        });
        same.any(|state| self.seconds_since(state).is_none_or(|seconds| seconds >= STILL_SECONDS))
    }

    fn seconds_since(&self, state: &Communicator) -> Option<i64> {
        let instant = |state: &Communicator| state.time.as_deref()?.parse::<jiff::Timestamp>().ok();
        Some(instant(self.latest)?.as_second() - instant(state)?.as_second())
    }

    fn meanwhile(&self) -> String {
        let first = self.states.iter().find_map(|state| state.time.as_deref());
        match (first, self.latest.time.as_deref()) {
            (Some(first), Some(last)) if first != last => format!(" between {first} and {last}"),
            _ => String::new(),
        }
    }

    fn verdict(&self, kind: &str, ranks: Vec<u32>, detail: String) -> CollectiveVerdict {
        let local = self.latest.size != self.job.size && self.job.ranks.is_empty();
        let whose = if local { " (ranks of this communicator)" } else { "" };
        CollectiveVerdict {
            group: self.latest.hash.clone(),
            kind: kind.to_owned(),
            ranks,
            detail: format!("{detail}{whose}"),
            time: self.latest.time.clone(),
            ..CollectiveVerdict::default()
        }
    }
}

/// ` (process 4711 on 10.0.0.3, GPU 5)`, of the first few.
fn processes<'a>(processes: impl Iterator<Item = &'a RankProcess>) -> String {
    let known: Vec<&RankProcess> = processes.filter(|process| process.pid.is_some()).collect();
    let words = known.iter().take(NAMED).map(|process| {
        let host = process.host.as_ref().map(|host| format!(" on {host}"));
        let device = process.device.map(|device| format!(", GPU {device}"));
        let pid = process.pid.unwrap_or_default();
        format!(
            "process {pid}{}{}",
            host.unwrap_or_default(),
            device.unwrap_or_default()
        )
    });
    let words: Vec<String> = words.collect();
    if words.is_empty() {
        return String::new();
    }
    let more = if known.len() > NAMED { "; …" } else { "" };
    format!(" ({}{more})", words.join("; "))
}

/// `AllReduce` as flight recorders call it.
fn snake(operation: &str) -> String {
    let mut name = String::new();
    for letter in operation.chars() {
        if letter.is_ascii_uppercase() && !name.is_empty() {
            name.push('_');
        }
        name.push(letter.to_ascii_lowercase());
    }
    name
}
