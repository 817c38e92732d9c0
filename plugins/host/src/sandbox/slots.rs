//! How many runs there may be at once.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// A number of places, one for each run. Who finds none free waits: runs are short, and the pool of instances has no
/// more.
#[derive(Debug)]
pub(super) struct Slots {
    free: Mutex<u32>,
    freed: Condvar,
}

/// A place that was taken; given back when dropped.
#[derive(Debug)]
pub(super) struct Slot<'a>(&'a Slots);

impl Slots {
    pub(super) fn new(count: u32) -> Self {
        Self {
            free: Mutex::new(count),
            freed: Condvar::new(),
        }
    }

    pub(super) fn take(&self) -> Slot<'_> {
        let mut free = self
            .freed
            .wait_while(self.count(), |free| *free == 0)
            .unwrap_or_else(PoisonError::into_inner);
        *free -= 1;
        Slot(self)
    }

    fn count(&self) -> MutexGuard<'_, u32> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Slot<'_> {
    fn drop(&mut self) {
        *self.0.count() += 1;
        self.0.freed.notify_one();
    }
}
