//! Whether a process does anything.

use std::time::Duration;

use crate::collect::tree::stat;

/// A process that uses less of a processor only waits: launchers and watchdogs look around now and then.
const BUSY: f64 = 0.1;
/// `USER_HZ`, which is the same on all processors that Linux runs on.
const TICKS_PER_SECOND: f64 = 100.0;

/// What a process has done since it started.
#[derive(Clone, Copy, Debug, Default)]
pub struct Work {
    /// Seconds of processor time.
    run: f64,
    /// Seconds that its main thread was ready to run and had to wait.
    delayed: f64,
    /// Pages that it has waited for to come from a disk.
    pages: u64,
    /// Whether it waits for a disk just now.
    on_disk: bool,
}

impl Work {
    /// Of a process that lives.
    pub fn of(pid: u32) -> Option<Self> {
        let stat = stat(pid)?;
        let field = |number: usize| stat.get(number.checked_sub(3)?);
        let number = |at| field(at)?.parse::<u64>().ok();
        Some(Self {
            run: (number(14)? + number(15)?) as f64 / TICKS_PER_SECOND,
            delayed: delayed(pid).unwrap_or_default(),
            pages: number(12)?,
            on_disk: field(3)? == "D",
        })
    }

    /// Whether it has done anything to speak of since; a new one has. On a busy machine, what counts is the time in
    /// which it had its turn.
    pub fn is_at_work(&self, before: Option<&Self>, elapsed: Duration) -> bool {
        before.is_none_or(|before| {
            let own = (elapsed.as_secs_f64() - (self.delayed - before.delayed)).max(0.0);
            self.on_disk || self.pages > before.pages || self.run - before.run > BUSY * own
        })
    }
}

/// Seconds that the main thread was ready to run and had to wait (`/proc/PID/schedstat`).
fn delayed(pid: u32) -> Option<f64> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/schedstat")).ok()?;
    let nanoseconds: u64 = text.split_whitespace().nth(1)?.parse().ok()?;
    Some(Duration::from_nanos(nanoseconds).as_secs_f64())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::Work;

    fn is_at_work(run: f64, delayed: f64) -> bool {
        let now = Work {
            run,
            delayed,
            ..Work::default()
        };
        now.is_at_work(Some(&Work::default()), Duration::from_secs(1))
    }

    #[test]
    fn who_looks_around_waits_and_who_gets_no_turn_works() {
        assert!(is_at_work(0.5, 0.0));
        assert!(!is_at_work(0.02, 0.0), "a launcher that looks at its processes");
        assert!(!is_at_work(0.02, 0.5), "the same on a busy machine");
        assert!(is_at_work(0.05, 0.9), "a program that hardly gets a turn");
        assert!(
            Work::default().is_at_work(None, Duration::from_secs(1)),
            "a new process"
        );
    }
}
