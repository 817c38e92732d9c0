//! Matches sends with receives.
//!
//! From one rank to another, messages arrive in the order in which they were sent: the third send is taken by the third
//! receive. The one whose other end never came is what its rank waits for.

mod channel;
mod tensors;

use super::alignment::{self, partner, shared};
use super::groups::{Group, GroupKey};
use super::matching::{Judged, is_nccl, is_overdue, list, time};
use crate::model::CollectiveVerdict;
use channel::{Channel, Channels, End, State};

/// What does not match between any two ranks of a group, at most `cap` pairs: of each two the first thing.
pub(super) fn judge(key: &GroupKey, group: &Group, now_ns: u64, cap: usize) -> Vec<Judged> {
    let channels = Channels::new(key, group);
    let place = Place { key, group, now_ns };
    let all = channels.by_ends.iter();
    all.filter_map(|((source, destination), channel)| {
        let pair = Pair {
            place: &place,
            source: *source,
            destination: *destination,
            channel,
            is_pooled: channels.pools.contains_key(destination),
            is_oversent: channels.pools.get(destination).is_some_and(|pool| pool.is_oversent()),
        };
        pair.judge()
    })
    .take(cap)
    .collect()
}

/// Where and when.
#[derive(Debug)]
struct Place<'a> {
    key: &'a GroupKey,
    group: &'a Group<'a>,
    now_ns: u64,
}

/// What went from one rank to another.
#[derive(Debug)]
struct Pair<'a> {
    place: &'a Place<'a>,
    source: u32,
    destination: u32,
    channel: &'a Channel<'a>,
    /// True when the destination also takes from whoever sends first: then order tells nothing.
    is_pooled: bool,
    /// True when more was sent to such a destination than it asked for.
    is_oversent: bool,
}

impl Pair<'_> {
    fn judge(&self) -> Option<Judged> {
        let members = &self.place.group.members;
        let (sends, receives) = (&self.channel.sends, &self.channel.receives);
        match (members.get(&self.source), members.get(&self.destination)) {
            (Some(_), None) => self.waits(sends.iter().find(|end| end.is_waiting())?, self.destination, true),
            (None, Some(_)) => self.waits(receives.iter().find(|end| end.is_waiting())?, self.source, true),
            (Some(source), Some(destination)) => match alignment::shift(
                (&channel::entries(sends), source.past),
                (&channel::entries(receives), destination.past),
            ) {
                Some(shift) if self.is_pooled => self.pooled(shift),
                Some(shift) => self.mismatch(shift).or_else(|| self.aligned(shift)),
                None => self.unaligned(),
            },
            (None, None) => None,
        }
    }

    /// What stands beyond the other end's last, or the first message that is under way.
    fn aligned(&self, shift: i64) -> Option<Judged> {
        let (sends, receives) = (&self.channel.sends, &self.channel.receives);
        let shared = shared(sends.len(), receives.len(), shift);
        // A message may complete at its sender before anybody asks for it.
        if let Some(send) = sends.get(shared.end..)?.iter().find(|end| end.is_waiting()) {
            return self.waits(send, self.destination, false);
        }
        if let Some(receive) = partner(shared.end, shift).and_then(|index| receives.get(index)) {
            // One that has completed took something: then the two do not belong together as they were laid.
            return self.waits(receive, self.source, false).filter(|_| receive.is_waiting());
        }
        shared.into_iter().find_map(|index| {
            let (send, receive) = (sends.get(index)?, receives.get(partner(index, shift)?)?);
            self.not_completed(send, receive)
        })
    }

    /// Where the destination takes from whoever sends first, only sums tell; and what it asks of this source by name.
    fn pooled(&self, shift: i64) -> Option<Judged> {
        let (sends, receives) = (&self.channel.sends, &self.channel.receives);
        if receives.len() > sends.len() && shift == 0 {
            let receive = receives.get(sends.len()).filter(|end| end.is_waiting())?;
            return self.waits(receive, self.source, false);
        }
        let send = sends.iter().find(|end| end.is_waiting()).filter(|_| self.is_oversent)?;
        self.waits(send, self.destination, false)
    }

    /// Where order can not tell, as the rings hold too little, a rank is missing only if it has nothing open while the
    /// other's operation is overdue, or if the numbers of a group of two say so: both count the same messages.
    fn unaligned(&self) -> Option<Judged> {
        let ends = [
            (
                &self.channel.sends,
                &self.channel.receives,
                self.source,
                self.destination,
            ),
            (
                &self.channel.receives,
                &self.channel.sends,
                self.destination,
                self.source,
            ),
        ];
        ends.into_iter().find_map(|(ends, others, rank, peer)| {
            let end = ends.iter().find(|end| end.state == State::Open)?;
            if others.iter().any(|other| other.state != State::Done) {
                return None;
            }
            let is_missing = is_overdue(end.entry, self.place.now_ns) || self.is_ahead(end, rank, peer);
            is_missing.then(|| self.waits(end, peer, false))?
        })
    }

    /// True when a rank of a group of two has gone on from where both were alike and the other one still is.
    fn is_ahead(&self, end: &End, rank: u32, peer: u32) -> bool {
        let members = &self.place.group.members;
        let (Some(rank), Some(peer)) = (members.get(&rank), members.get(&peer)) else {
            return false;
        };
        let alike = rank.status.completed.is_some() && rank.status.completed == peer.status.completed;
        let rests = peer.status.enqueued == peer.status.completed;
        let beyond = peer
            .status
            .enqueued
            .is_some_and(|reach| reach < end.entry.point_to_point_sequence);
        self.place.key.ranks.len() == 2 && alike && rests && beyond
    }

    /// The first message whose ends do not fit, unless both ranks went on after it.
    fn mismatch(&self, shift: i64) -> Option<Judged> {
        let (sends, receives) = (&self.channel.sends, &self.channel.receives);
        let shared = shared(sends.len(), receives.len(), shift);
        let pair = |index: usize| Some((sends.get(index)?, receives.get(partner(index, shift)?)?));
        let has_ended = |index: &usize| {
            pair(*index).is_some_and(|(send, receive)| send.state != State::Open && receive.state != State::Open)
        };
        let last_ended = shared.clone().rev().find(has_ended);
        for index in shared {
            let (send, receive) = pair(index)?;
            let Some(kind) = tensors::mismatch(send.entry, receive.entry) else {
                continue;
            };
            let was_survived = last_ended.is_some_and(|last| index < last);
            if was_survived || self.is_out_of_order(index, partner(index, shift)?) {
                return None;
            }
            return Some(self.verdict(
                kind,
                vec![self.source, self.destination],
                &[send, receive],
                format!("{}; {}", said(send, self.source), said(receive, self.destination)),
            ));
        }
        None
    }

    /// Where messages may have tags, which no recorder tells, they need not be taken in the order of sending.
    fn is_out_of_order(&self, send: usize, receive: usize) -> bool {
        let fits = |send: &End, receive: &End| tensors::mismatch(send.entry, receive.entry).is_none();
        let (sends, receives) = (&self.channel.sends, &self.channel.receives);
        let (Some(first), Some(second)) = (sends.get(send), receives.get(receive)) else {
            return false;
        };
        let later_receives = receives.iter().skip(receive + 1);
        let later_sends = sends.iter().skip(send + 1);
        !is_nccl(&first.entry.backend)
            && (later_receives.into_iter().any(|end| fits(first, end))
                || later_sends.into_iter().any(|end| fits(end, second)))
    }

    /// Both ends came, and one of them at least has not got out.
    fn not_completed(&self, send: &End, receive: &End) -> Option<Judged> {
        let open: Vec<(&End, u32)> = [(send, self.source), (receive, self.destination)]
            .into_iter()
            .filter(|(end, _)| end.state == State::Open)
            .collect();
        let is_overdue = open.iter().any(|(end, _)| is_overdue(end.entry, self.place.now_ns));
        if open.is_empty() || (open.len() == 1 && !is_overdue) {
            return None;
        }
        let ranks: Vec<u32> = open.iter().map(|(_, rank)| *rank).collect();
        let detail = format!(
            "{}; {}; not completed by {}",
            said(send, self.source),
            said(receive, self.destination),
            list(&ranks)
        );
        let judged = self.verdict("not-completed", ranks, &[send, receive], detail);
        Some(Judged {
            only_pending: !is_overdue,
            ..judged
        })
    }

    /// One rank waits in an operation for a peer that has not come to its end of it.
    #[expect(clippy::unnecessary_wraps, reason = "every caller looks for one")]
    fn waits(&self, end: &End, peer: u32, is_silent: bool) -> Option<Judged> {
        let waiting = if peer == self.source {
            self.destination
        } else {
            self.source
        };
        let missing = if is_silent {
            "no recorder from"
        } else {
            "not entered by"
        };
        let detail = format!("{}; {missing} {}", said(end, waiting), list(&[peer]));
        let mut judged = self.verdict("missing-rank", vec![peer], &[end], detail);
        judged.verdict.entered = vec![waiting];
        Some(judged)
    }

    fn verdict(&self, kind: &str, mut ranks: Vec<u32>, ends: &[&End], detail: String) -> Judged {
        ranks.sort_unstable();
        ranks.dedup();
        let mut entered = vec![self.source, self.destination];
        entered.sort_unstable();
        entered.dedup();
        let time_ns = ends.iter().map(|end| end.entry.created_ns).min().unwrap_or(0);
        let frames = ends
            .iter()
            .map(|end| &end.entry.frames)
            .find(|frames| !frames.is_empty());
        let first = ends.first().map(|end| end.entry);
        let verdict = CollectiveVerdict {
            group: self.place.key.name.clone(),
            group_description: self.place.group.description.clone(),
            sequence: first.map_or(0, |entry| entry.point_to_point_sequence),
            kind: kind.to_owned(),
            ranks,
            detail,
            operation: first.map_or_else(String::new, |entry| format!("{}:{}", entry.backend, entry.operation)),
            entered,
            time: time(time_ns),
            point_to_point: true,
            frames: frames.map_or_else(Vec::new, |frames| frames.to_vec()),
        };
        Judged {
            verdict,
            time_ns,
            members: self.place.group.members.len(),
            only_pending: false,
            may_be_lag: false,
        }
    }
}

/// `rank 4: recv 1<-0 of [[1024]] Float`, with the group's own numbers.
fn said(end: &End, rank: u32) -> String {
    let entry = end.entry;
    let (sizes, dtypes) = tensors::moved(entry);
    let peers = entry.peers.map_or_else(String::new, |peers| {
        let source = peers.source.map_or_else(|| "?".to_owned(), |source| source.to_string());
        match &*entry.operation {
            "send" => format!(" {source}->{}", peers.destination),
            _ => format!(" {}<-{source}", peers.destination),
        }
    });
    format!("{}: {}{peers} of {sizes} {dtypes}", list(&[rank]), entry.operation)
}
