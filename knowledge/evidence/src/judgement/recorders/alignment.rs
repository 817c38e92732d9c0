//! Which send belongs to which receive, where nothing but order tells.
//!
//! Neither end records a number that the other shares: each counts its own sends and receives to all peers. What is
//! known is that the messages from one rank to another arrive in the order in which they were sent.

use super::groups::Past;
use crate::model::RecorderEntry;

/// Pairs that full rings must share before their times say anything.
const PAIRS: usize = 4;
/// Latest pairs whose times are compared.
const COMPARED: usize = 64;
/// How far the two ends may be apart.
const SHIFTS: i64 = 8;
/// How much better than any other the right shift must fit.
const CLEARLY: u128 = 3;

/// The index of the receive that took the first send, less that of the send: `receives[i + shift]` takes `sends[i]`.
///
/// `None` where that cannot be told: operations are missing in between, or the times fit several ways.
pub(super) fn shift(sends: (&[&RecorderEntry], Past), receives: (&[&RecorderEntry], Past)) -> Option<i64> {
    match (sends.1, receives.1) {
        (Past::Whole, Past::Whole) => Some(0),
        (Past::Gaps, _) | (_, Past::Gaps) => None,
        _ => by_time(sends.0, receives.0),
    }
}

/// The two ends of a message are handed over within a step of each other, while messages are a step apart. Where one
/// shift fits the times far better than all others, it is the right one.
fn by_time(sends: &[&RecorderEntry], receives: &[&RecorderEntry]) -> Option<i64> {
    let middle = i64::try_from(receives.len()).ok()? - i64::try_from(sends.len()).ok()?;
    let mut costs: Vec<(u128, i64)> = (middle - SHIFTS..=middle + SHIFTS)
        .filter_map(|shift| Some((cost(sends, receives, shift)?, shift)))
        .collect();
    costs.sort_unstable();
    let (best, second) = (costs.first()?, costs.get(1)?);
    (best.0.saturating_mul(CLEARLY) < second.0).then_some(best.1)
}

/// Nanoseconds between the two ends of the latest messages, on average.
fn cost(sends: &[&RecorderEntry], receives: &[&RecorderEntry], shift: i64) -> Option<u128> {
    let shared = shared(sends.len(), receives.len(), shift);
    let compared = shared.len().min(COMPARED);
    if compared < PAIRS {
        return None;
    }
    let apart = shared.rev().take(compared).filter_map(|send| {
        let receive = receives.get(partner(send, shift)?)?;
        Some(u128::from(sends.get(send)?.created_ns.abs_diff(receive.created_ns)))
    });
    Some(apart.sum::<u128>() / compared as u128)
}

/// The sends whose receive is known too.
pub(super) fn shared(sends: usize, receives: usize, shift: i64) -> std::ops::Range<usize> {
    let (sends, receives) = (to_signed(sends), to_signed(receives));
    let from = (-shift).clamp(0, sends);
    let to = receives.saturating_sub(shift).clamp(from, sends);
    to_index(from)..to_index(to)
}

/// The receive of a send.
pub(super) fn partner(send: usize, shift: i64) -> Option<usize> {
    usize::try_from(to_signed(send) + shift).ok()
}

fn to_signed(index: usize) -> i64 {
    i64::try_from(index).unwrap_or(i64::MAX)
}

fn to_index(index: i64) -> usize {
    usize::try_from(index).unwrap_or(0)
}
