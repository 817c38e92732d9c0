//! What several reports of one incident tell together.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::judge;
use crate::model::{Collectives, Communicator, Recorder, RecorderEntry};

/// How far apart, in nanoseconds, the dumps of one incident may have been made: ranks give up one after the other, each
/// after its own time.
const INCIDENT_NS: u64 = 6 * 3600 * 1_000_000_000;

/// What one report tells of the ranks of a job.
#[derive(Clone, Debug, Default)]
pub struct Account {
    /// Whose it is.
    pub report: String,
    /// The job that the report names ([`super::Kinship::job`]).
    pub job: Option<String>,
    /// Its flight recorders.
    pub recorders: Vec<Recorder>,
    /// What it has of communicators.
    pub communicators: Vec<Communicator>,
}

impl Account {
    fn latest_ns(&self) -> Option<u64> {
        let entries = self.recorders.iter().flat_map(|recorder| &recorder.entries);
        let seen = entries.map(|entry| entry.seen_ns).filter(|time| *time > 0);
        let told = self.communicators.iter().filter_map(|state| {
            let time: Timestamp = state.time.as_deref()?.parse().ok()?;
            u64::try_from(time.as_nanosecond()).ok()
        });
        seen.chain(told).max()
    }

    fn ranks(&self) -> BTreeSet<u32> {
        self.recorders.iter().filter_map(|recorder| recorder.rank).collect()
    }
}

/// Judges what a report tells together with what others tell that may be of the same incident: the judgement, and the
/// reports whose accounts are in it, this one's among them.
///
/// Others do not count when they were made at another time, or name another job. Where nobody names the job and two
/// reports tell of one rank, one of them is another job's, and nobody knows which: then the report stands alone.
pub fn judge_together(own: Account, others: Vec<Account>) -> (Option<Collectives>, BTreeSet<String>) {
    let at = own.latest_ns();
    let is_near = |other: &Account| match (at, other.latest_ns()) {
        (Some(own), Some(other)) => own.abs_diff(other) <= INCIDENT_NS,
        _ => true,
    };
    let mut accounts: Vec<Account> = others.into_iter().filter(is_near).collect();
    accounts.push(own);
    accounts.sort_by(|a, b| a.report.cmp(&b.report));
    let jobs: BTreeSet<&str> = accounts.iter().filter_map(|account| account.job.as_deref()).collect();
    let names_all = accounts.iter().all(|account| account.job.is_some());
    if jobs.len() > 1 || (!names_all && tell_of_one_rank(&accounts)) {
        return (None, BTreeSet::new());
    }
    let reports = accounts.iter().map(|account| account.report.clone()).collect();
    let (mut recorders, mut communicators) = (Vec::new(), Vec::new());
    for account in accounts {
        recorders.extend(account.recorders);
        communicators.extend(account.communicators);
    }
    (judge(&recorders, &communicators), reports)
}

/// Whether several reports have a recorder of the same rank, and not the very same one.
fn tell_of_one_rank(accounts: &[Account]) -> bool {
    let mut of_rank: BTreeMap<u32, &Account> = BTreeMap::new();
    accounts.iter().any(|account| {
        account.ranks().into_iter().any(|rank| {
            let earlier = of_rank.insert(rank, account);
            earlier.is_some_and(|earlier| recorders_of(earlier, rank) != recorders_of(account, rank))
        })
    })
}

fn recorders_of(account: &Account, rank: u32) -> Vec<&[RecorderEntry]> {
    let recorders = account.recorders.iter().filter(|recorder| recorder.rank == Some(rank));
    recorders.map(|recorder| recorder.entries.as_slice()).collect()
}
