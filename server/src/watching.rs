//! Telling clients how far something has come, for as long as they look.
//!
//! The store is the truth, because another process may do the work. It is asked once for all who watch the same thing,
//! less and less often, and not at all while nobody watches. Each watcher is told what is true now and not what was:
//! one that is slow, or gone, holds a place and nothing else.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::sleep;

use crate::store::Result;

/// The first pause between two questions, and the longest one: what takes long may be told a little late.
const PAUSES: (Duration, Duration) = (Duration::from_millis(150), Duration::from_secs(2));
/// By how many per cent each pause is longer than the one before.
const GROWTH: u32 = 20;

/// How far something has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// As JSON.
    pub json: String,
    /// Whether it will not change any more by itself.
    pub is_last: bool,
}

/// Who watches what.
#[derive(Debug)]
pub struct Watching {
    places: Arc<Semaphore>,
    watched: Mutex<HashMap<String, watch::Sender<Seen>>>,
    stop: watch::Sender<bool>,
}

/// What one watcher sees. It gives its place back when it is dropped.
#[derive(Debug)]
pub struct Watcher {
    seen: watch::Receiver<Seen>,
    stop: watch::Receiver<bool>,
    _place: OwnedSemaphorePermit,
}

impl Watching {
    /// Has places for so many watchers.
    pub fn new(places: usize) -> Self {
        Self {
            places: Arc::new(Semaphore::new(places)),
            watched: Mutex::default(),
            stop: watch::Sender::new(false),
        }
    }

    /// How many things are watched.
    pub fn watched(&self) -> usize {
        self.lock().len()
    }

    /// Ends all watching: the server stops.
    pub fn end(&self) {
        self.stop.send_replace(true);
    }

    /// Begins to watch what goes by this name, of which `now` is known and of which `look` tells more; nothing when all
    /// places are taken. `look` tells nothing of what is gone.
    pub fn watch<Look, Looking>(self: &Arc<Self>, name: String, now: Seen, look: Look) -> Option<Watcher>
    where
        Look: Fn() -> Looking + Send + 'static,
        Looking: Future<Output = Result<Option<Seen>>> + Send + 'static,
    {
        let place = Arc::clone(&self.places).try_acquire_owned().ok()?;
        let mut watched = self.lock();
        let seen = match watched.get(&name) {
            Some(sender) => sender.subscribe(),
            None => {
                let (sender, seen) = watch::channel(now);
                watched.insert(name.clone(), sender);
                tokio::spawn(Arc::clone(self).follow(name, look));
                seen
            }
        };
        Some(Watcher {
            seen,
            stop: self.stop.subscribe(),
            _place: place,
        })
    }

    /// Asks how far it is until nobody watches or there is no more to tell.
    async fn follow<Look, Looking>(self: Arc<Self>, name: String, look: Look)
    where
        Look: Fn() -> Looking + Send + 'static,
        Looking: Future<Output = Result<Option<Seen>>> + Send + 'static,
    {
        let mut pause = PAUSES.0;
        loop {
            sleep(pause).await;
            pause = PAUSES.1.min(pause + pause * GROWTH / 100);
            if self.is_left(&name) {
                return;
            }
            match look().await {
                Ok(Some(now)) => {
                    if !self.tell(&name, now) {
                        return;
                    }
                }
                // What is gone is told by the end of the watching.
                Ok(None) => return drop(self.lock().remove(&name)),
                Err(error) => tracing::debug!(name, %error, "can not tell how far it is now"),
            }
        }
    }

    /// Whether nobody watches this any more; it is not watched then.
    fn is_left(&self, name: &str) -> bool {
        let mut watched = self.lock();
        let is_left = watched.get(name).is_none_or(watch::Sender::is_closed);
        if is_left {
            watched.remove(name);
        }
        is_left
    }

    /// Tells what is true now; false when that is the last there is to tell.
    fn tell(&self, name: &str, now: Seen) -> bool {
        let mut watched = self.lock();
        let is_last = now.is_last;
        if let Some(sender) = watched.get(name) {
            sender.send_if_modified(|seen| {
                let is_new = *seen != now;
                *seen = now;
                is_new
            });
        }
        if is_last {
            watched.remove(name);
        }
        !is_last
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, watch::Sender<Seen>>> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Watcher {
    /// What is true now.
    pub fn now(&mut self) -> Seen {
        self.seen.borrow_and_update().clone()
    }

    /// What is true next; nothing when there is no more to tell, or the server stops.
    pub async fn next(&mut self) -> Option<Seen> {
        let changed = tokio::select! {
            changed = self.seen.changed() => changed.is_ok(),
            _ = self.stop.wait_for(|stop| *stop) => false,
        };
        changed.then(|| self.now())
    }
}
