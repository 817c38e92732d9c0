//! What the host does on behalf of one run, counted as it is done.
//!
//! The guest pays fuel for its own instructions. What it asks the host for is work too, and here it is charged at fixed
//! rates, so that a run ends at the same place on every machine. Behind that stands the processor time of the run's own
//! thread: time in which the machine does something else does not count.

use std::cell::Cell;
use std::io;
use std::time::{Duration, Instant};

use nix::time::{ClockId, clock_gettime};

/// Fuel for any call of the host.
pub(super) const CALL: u64 = 500;
/// Fuel for an entry that is looked at or handed over.
pub(super) const ENTRY: u64 = 10;
/// Fuel for a byte of a pattern that is compiled: character classes and repetitions make a great deal of few bytes.
pub(super) const PATTERN_BYTE: u64 = 10_000;
/// Bytes that are read, searched or made into JSON for one unit of fuel.
const BYTES_PER_UNIT: u64 = 16;
/// Fuel between two looks at the clock: at most some milliseconds.
const LOOK: u64 = 100_000;

/// Why the host stopped a run: something that the plugin did, in words.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct Stopped(pub(super) String);

/// Fuel and time that one run has.
#[derive(Debug)]
pub(super) struct Spending {
    fuel: u64,
    left: Cell<u64>,
    /// Charged since the clock was looked at.
    unlooked: Cell<u64>,
    clock: Clock,
}

impl Spending {
    /// What a run with this much fuel and time may have done for it.
    pub(super) fn new(fuel: u64, time: Duration) -> Self {
        Self {
            fuel,
            left: Cell::new(fuel),
            unlooked: Cell::new(0),
            clock: Clock::start(time),
        }
    }

    /// Takes this much fuel for work that is about to be done.
    pub(super) fn charge(&self, fuel: u64) -> Result<(), Stopped> {
        let Some(left) = self.left.get().checked_sub(fuel) else {
            self.left.set(0);
            return Err(Stopped(format!(
                "what it asked of the host used up its {} units of fuel",
                self.fuel
            )));
        };
        self.left.set(left);
        let unlooked = self.unlooked.get().saturating_add(fuel);
        self.unlooked.set(if unlooked < LOOK { unlooked } else { 0 });
        if unlooked < LOOK { Ok(()) } else { self.clock.check() }
    }

    /// Takes the fuel for so many bytes.
    pub(super) fn charge_bytes(&self, bytes: usize) -> Result<(), Stopped> {
        self.charge(bytes as u64 / BYTES_PER_UNIT + 1)
    }

    /// The same while a file is read.
    pub(super) fn pace(&self, bytes: usize) -> io::Result<()> {
        self.charge_bytes(bytes).map_err(io::Error::other)
    }

    /// Fuel charged so far.
    pub(super) fn charged(&self) -> u64 {
        self.fuel - self.left.get()
    }

    /// The clock of the run.
    pub(super) fn clock(&self) -> &Clock {
        &self.clock
    }
}

/// Processor time of the thread that runs a plugin, since the run began.
#[derive(Clone, Debug)]
pub(super) struct Clock {
    started: Instant,
    /// The thread's processor time then; none where the kernel does not tell.
    cpu: Option<Duration>,
    limit: Duration,
}

impl Clock {
    fn start(limit: Duration) -> Self {
        Self {
            started: Instant::now(),
            cpu: thread_time(),
            limit,
        }
    }

    /// Fails when the run has had its time.
    pub(super) fn check(&self) -> Result<(), Stopped> {
        if self.spent() <= self.limit {
            return Ok(());
        }
        Err(Stopped(format!("it ran for more than {} ms", self.limit.as_millis())))
    }

    /// Processor time of the run; wall time where there is none to be had.
    pub(super) fn spent(&self) -> Duration {
        match (self.cpu, thread_time()) {
            (Some(then), Some(now)) => now.saturating_sub(then),
            _ => self.started.elapsed(),
        }
    }
}

/// Processor time of this thread (clock_gettime(2)).
fn thread_time() -> Option<Duration> {
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).ok().map(Duration::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fuel_ends_at_the_same_place_every_time() {
        let spending = Spending::new(1000, Duration::from_secs(3600));
        assert!(spending.charge(999).is_ok() && spending.charge(1).is_ok());
        let stopped = spending.charge(1).unwrap_err();
        assert!(stopped.to_string().contains("1000 units of fuel"), "{stopped}");
        assert_eq!(spending.charged(), 1000);
    }

    #[test]
    fn time_ends_what_fuel_does_not() {
        let spending = Spending::new(u64::MAX, Duration::ZERO);
        let stopped = (0..u32::MAX).find_map(|_| spending.charge(LOOK).err());
        assert!(stopped.is_some_and(|stopped| stopped.to_string() == "it ran for more than 0 ms"));
    }
}
