//! Symbols that come while reports are read.
//!
//! A report that is being read may have looked for a file a moment before it came, and is not yet noted among those
//! that wait for it. So each worker looks, once it has noted the outcome, at what came since it began. What came before
//! it began it has found; what came after it looked finds the report's note.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use tokio::sync::Notify;

use crate::store::ModuleUse;

/// Arrivals that are remembered: far more than come while a report is read.
pub const REMEMBERED: usize = 10_000;

/// The symbols that came last.
#[derive(Debug, Default)]
pub struct Arrivals {
    latest: Mutex<Latest>,
    /// Wakes who has reports read again.
    pub came: Notify,
}

#[derive(Debug, Default)]
struct Latest {
    /// How many came since the process started.
    count: u64,
    /// Ids of the last ones, the newest last.
    modules: VecDeque<String>,
}

impl Arrivals {
    /// Where things stand: to be asked before a report's symbols are looked for.
    pub fn now(&self) -> u64 {
        self.latest().count
    }

    /// Notes that symbols for a binary are there; `module` is in lower case.
    pub fn add(&self, module: &str) {
        let mut latest = self.latest();
        latest.count += 1;
        if latest.modules.len() == REMEMBERED {
            latest.modules.pop_front();
        }
        latest.modules.push_back(module.to_owned());
    }

    /// Whether symbols for one of these binaries came since then; also true when too many came to tell.
    pub fn since(&self, then: u64, modules: &[ModuleUse]) -> bool {
        let latest = self.latest();
        let new = usize::try_from(latest.count - then).unwrap_or(usize::MAX);
        let mut newest = latest.modules.iter().rev().take(new);
        !modules.is_empty()
            && (new > latest.modules.len() || newest.any(|came| modules.iter().any(|module| module.id == *came)))
    }

    fn latest(&self) -> std::sync::MutexGuard<'_, Latest> {
        self.latest.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
