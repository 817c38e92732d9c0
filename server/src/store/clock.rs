//! The time by which a store lends and takes back.

use std::time::Instant;

use jiff::Timestamp;

/// Tells the time to all who use a store: whoever holds a lease never asks a clock of its own.
pub trait Clock: Send + Sync + std::fmt::Debug {
    /// The time.
    fn now(&self) -> Timestamp;
}

/// The wall clock as it stood at the start, and what has passed since. Somebody who sets the wall clock ends no lease
/// with it, and keeps nobody waiting for a time that has been.
#[derive(Debug)]
pub struct SteadyClock {
    start: Timestamp,
    since: Instant,
}

impl Default for SteadyClock {
    fn default() -> Self {
        Self {
            start: Timestamp::now(),
            since: Instant::now(),
        }
    }
}

impl Clock for SteadyClock {
    fn now(&self) -> Timestamp {
        self.start
            .saturating_add(self.since.elapsed())
            .unwrap_or(Timestamp::MAX)
    }
}
