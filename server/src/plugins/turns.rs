//! Turns at something of which there is not enough for all at once.

use std::time::Duration;

use tokio::sync::{Semaphore, SemaphorePermit};

/// Turns, in the order in which they were asked for.
#[derive(Debug)]
pub struct Turns {
    free: Semaphore,
    patience: Duration,
}

impl Turns {
    /// So many at one time, for which nobody waits longer than this.
    pub fn new(at_once: usize, patience: Duration) -> Self {
        Self {
            free: Semaphore::new(at_once),
            patience,
        }
    }

    /// The next turn; none where it does not come in time.
    pub async fn next(&self) -> Option<SemaphorePermit<'_>> {
        // They are never closed.
        tokio::time::timeout(self.patience, self.free.acquire())
            .await
            .ok()?
            .ok()
    }
}
