//! The time by which a store lends and takes back.

use std::sync::LazyLock;
use std::time::Instant;

use jiff::Timestamp;

/// Tells the time to all who use a store: whoever holds a lease never asks a clock of its own.
pub trait Clock: Send + Sync + std::fmt::Debug {
    /// The time.
    fn now(&self) -> Timestamp;
}

/// The wall clock as it stood when this process first asked, and what has passed since. Somebody who sets the wall clock
/// ends no lease with it, and keeps nobody waiting for a time that has been.
#[derive(Clone, Copy, Debug, Default)]
pub struct SteadyClock;

static START: LazyLock<(Timestamp, Instant)> = LazyLock::new(|| (Timestamp::now(), Instant::now()));

impl Clock for SteadyClock {
    fn now(&self) -> Timestamp {
        let (start, since) = *START;
        start.saturating_add(since.elapsed()).unwrap_or(Timestamp::MAX)
    }
}

/// The time for what is kept from now on: by the clock that is ahead, if somebody has set the wall clock since the start.
/// Together with [`age_now`] nothing seems older than it is.
pub fn kept_now() -> Timestamp {
    SteadyClock.now().max(Timestamp::now())
}

/// The time by which the age of what is kept is reckoned: by the clock that is behind.
pub fn age_now() -> Timestamp {
    SteadyClock.now().min(Timestamp::now())
}
