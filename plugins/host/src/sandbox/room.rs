//! How much is compiled at one time: as many components as there are processors, within a bound of memory, in the order
//! in which they came.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Components at most, however many processors there are.
const MOST: usize = 4;

/// How many components this process compiles at one time, at most.
pub fn compiled_side_by_side() -> usize {
    let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    processors.clamp(1, MOST)
}

/// Places for those that compile.
#[derive(Debug)]
pub(super) struct Room {
    /// Bytes of memory for all of them together.
    memory: u64,
    taken: Mutex<Taken>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Taken {
    places: usize,
    memory: u64,
    /// The number of whoever comes next, and of whoever has the next turn.
    comes: u64,
    turn: u64,
}

/// A place, which is free again when this goes.
#[derive(Debug)]
pub(super) struct Place<'a> {
    room: &'a Room,
    memory: u64,
}

impl Room {
    /// Room for this many bytes of memory.
    pub(super) const fn new(memory: u64) -> Self {
        Self {
            memory,
            taken: Mutex::new(Taken {
                places: 0,
                memory: 0,
                comes: 0,
                turn: 0,
            }),
            changed: Condvar::new(),
        }
    }

    /// Waits for a place with so much memory. One that wants more than there is has all of it.
    pub(super) fn place(&self, memory: u64, places: usize) -> Place<'_> {
        let memory = memory.min(self.memory);
        let mut taken = self.taken();
        let number = taken.comes;
        taken.comes += 1;
        let is_full =
            |taken: &mut Taken| taken.turn != number || taken.places >= places || taken.memory + memory > self.memory;
        let mut taken = self
            .changed
            .wait_while(taken, is_full)
            .unwrap_or_else(PoisonError::into_inner);
        taken.turn += 1;
        taken.places += 1;
        taken.memory += memory;
        drop(taken);
        // The next one may have room beside it.
        self.changed.notify_all();
        Place { room: self, memory }
    }

    fn taken(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let mut taken = self.room.taken();
        taken.places -= 1;
        taken.memory -= self.memory;
        drop(taken);
        self.room.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
    use std::sync::mpsc;
    use std::thread;
    use std::time::Duration;

    use super::Room;

    #[test]
    fn places_and_memory_are_bounded() {
        let room = Room::new(100);
        let (places, memory) = (AtomicUsize::new(0), AtomicU64::new(0));
        thread::scope(|scope| {
            for number in 0..40_u64 {
                let (room, places, memory) = (&room, &places, &memory);
                scope.spawn(move || {
                    let wanted = 10 + number % 7 * 15;
                    let _place = room.place(wanted, 3);
                    assert!(places.fetch_add(1, Ordering::SeqCst) < 3);
                    assert!(memory.fetch_add(wanted, Ordering::SeqCst) + wanted <= 100);
                    thread::sleep(Duration::from_millis(2));
                    memory.fetch_sub(wanted, Ordering::SeqCst);
                    places.fetch_sub(1, Ordering::SeqCst);
                });
            }
        });
    }

    /// A large one is not passed by small ones for which there would be room.
    #[test]
    fn who_comes_first_is_served_first() {
        let room = Room::new(100);
        let (done, order) = mpsc::channel();
        thread::scope(|scope| {
            let first = room.place(60, 4);
            for (come, (name, wanted)) in (2..).zip([("large", 1000), ("small", 10)]) {
                let (room, done) = (&room, done.clone());
                scope.spawn(move || {
                    let _place = room.place(wanted, 4);
                    done.send(name).unwrap();
                });
                while room.taken().comes < come {
                    thread::sleep(Duration::from_millis(1));
                }
            }
            // One that was let in would say so by then.
            thread::sleep(Duration::from_millis(100));
            assert!(order.try_recv().is_err());
            drop(first);
            assert_eq!(order.recv(), Ok("large"));
            assert_eq!(order.recv(), Ok("small"));
        });
    }
}
