//! Whether a process does anything.

use std::time::Duration;

use crate::collect::tree::stat;

/// A process that uses less of a processor only waits: launchers and watchdogs look around now and then.
const BUSY: f64 = 0.1;
/// `USER_HZ`, which is the same on all processors that Linux runs on.
const TICKS_PER_SECOND: f64 = 100.0;

/// What a process has done since it started.
#[derive(Clone, Copy, Debug)]
pub struct Work {
    /// Seconds that it has run, or would have run if there had been a processor for it.
    seconds: f64,
    /// Pages that it has waited for to come from a disk.
    pages: u64,
    /// Whether it waits for a disk, or for its turn, just now.
    pending: bool,
}

impl Work {
    /// Of a process that lives.
    pub fn of(pid: u32) -> Option<Self> {
        let stat = stat(pid)?;
        let field = |number: usize| stat.get(number.checked_sub(3)?);
        let number = |at| field(at)?.parse::<u64>().ok();
        let run = (number(14)? + number(15)?) as f64 / TICKS_PER_SECOND;
        Some(Self {
            seconds: run + delayed(pid).unwrap_or_default(),
            pages: number(12)?,
            pending: matches!(field(3)?.as_str(), "R" | "D"),
        })
    }

    /// Whether it has done anything to speak of since; a new one has.
    pub fn is_at_work(&self, before: Option<&Self>, elapsed: Duration) -> bool {
        before.is_none_or(|before| {
            self.pending || self.pages > before.pages || self.seconds - before.seconds > BUSY * elapsed.as_secs_f64()
        })
    }
}

/// Seconds that the main thread was ready to run and had to wait (`/proc/PID/schedstat`).
fn delayed(pid: u32) -> Option<f64> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/schedstat")).ok()?;
    let nanoseconds: u64 = text.split_whitespace().nth(1)?.parse().ok()?;
    Some(Duration::from_nanos(nanoseconds).as_secs_f64())
}
