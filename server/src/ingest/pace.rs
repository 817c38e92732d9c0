//! Bodies that are being received: how many, and that they keep coming.
//!
//! A client that stalls costs nothing but its connection, and that only for a while: a body may lag behind a minimal
//! rate by so many seconds of waiting for the client (time that the server itself needs is not counted). When all
//! places are taken, the one that lags most makes room for a newcomer, so that clients which send nothing, or a byte
//! now and then, never keep others out however many they are.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use futures_util::{Stream, StreamExt};
use tokio::sync::Notify;

use crate::config::Limits;

/// How far a body may lag when others want its place.
const CROWDED: Duration = Duration::from_secs(1);

/// All bodies that are being received.
#[derive(Debug)]
pub struct Uploads {
    most: usize,
    idle: Duration,
    rate: u64,
    count: AtomicU64,
    running: Mutex<HashMap<u64, Arc<Place>>>,
}

/// One body that is being received; its place is free when dropped.
#[derive(Debug)]
pub struct Upload {
    uploads: Arc<Uploads>,
    number: u64,
    place: Arc<Place>,
}

#[derive(Debug, Default)]
struct Place {
    progress: Mutex<Progress>,
    /// Told when another body gets the place.
    lost: Notify,
}

#[derive(Clone, Copy, Debug, Default)]
struct Progress {
    bytes: u64,
    waited: Duration,
    waiting_since: Option<Instant>,
}

/// Why a body was cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Cut {
    /// Nothing came.
    #[error("nothing of the body came for {0} seconds (`limits.idle_seconds`)")]
    Idle(u64),
    /// Too little came.
    #[error("less than {0} bytes of the body came a second (`limits.bytes_per_second`)")]
    Slow(u64),
    /// Others wanted the place.
    #[error("the body came slowly, and others were waiting (`limits.uploads`)")]
    Crowded,
}

/// Why there is no next piece.
#[derive(Debug)]
pub enum PaceError<E> {
    /// It was cut.
    Cut(Cut),
    /// It broke off.
    Body(E),
}

impl Uploads {
    /// Nobody sends yet.
    pub fn new(limits: &Limits) -> Self {
        Self {
            most: limits.uploads,
            idle: Duration::from_secs(limits.idle_seconds.max(1)),
            rate: limits.bytes_per_second,
            count: AtomicU64::new(0),
            running: Mutex::default(),
        }
    }

    /// A place for one more body; none if all are taken by clients that send.
    pub fn start(self: &Arc<Self>) -> Option<Upload> {
        let place = Arc::new(Place::default());
        let number = self.count.fetch_add(1, Ordering::Relaxed);
        let mut running = self.running();
        if running.len() >= self.most {
            let lost = self.slowest(&running)?;
            if let Some(place) = running.remove(&lost) {
                place.lost.notify_one();
            }
        }
        running.insert(number, Arc::clone(&place));
        drop(running);
        Some(Upload {
            uploads: Arc::clone(self),
            number,
            place,
        })
    }

    /// The body that lags most, if that is enough to cut it.
    fn slowest(&self, running: &HashMap<u64, Arc<Place>>) -> Option<u64> {
        let now = Instant::now();
        let lags = running
            .iter()
            .map(|(number, place)| (self.lag(place.progress(), now), *number));
        let (lag, number) = lags.max()?;
        (lag >= CROWDED).then_some(number)
    }

    /// Seconds of waiting that are not made up for by bytes.
    fn lag(&self, progress: Progress, now: Instant) -> Duration {
        let waiting = progress
            .waiting_since
            .map_or(Duration::ZERO, |since| now.saturating_duration_since(since));
        (progress.waited + waiting).saturating_sub(self.earned(progress))
    }

    /// The time that the bytes so far may take.
    fn earned(&self, progress: Progress) -> Duration {
        match self.rate {
            0 => progress.waited,
            rate => Duration::from_millis(progress.bytes.saturating_mul(1000) / rate),
        }
    }

    fn running(&self) -> MutexGuard<'_, HashMap<u64, Arc<Place>>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Upload {
    /// The next piece of the body, or why there is none although the body has not ended.
    pub async fn next<B, E>(
        &self,
        body: &mut (impl Stream<Item = Result<B, E>> + Unpin),
    ) -> Option<Result<B, PaceError<E>>>
    where
        B: AsRef<[u8]>,
    {
        let Uploads { idle, rate, .. } = *self.uploads;
        let progress = self.place.wait();
        let patience = (idle + self.uploads.earned(progress)).saturating_sub(progress.waited);
        let piece = tokio::select! {
            biased;
            piece = body.next() => piece.map(|piece| piece.map_err(PaceError::Body)),
            () = self.place.lost.notified() => Some(Err(PaceError::Cut(Cut::Crowded))),
            () = tokio::time::sleep(patience.min(idle)) => {
                let cut = if patience < idle { Cut::Slow(rate) } else { Cut::Idle(idle.as_secs()) };
                Some(Err(PaceError::Cut(cut)))
            }
        };
        let bytes = match &piece {
            Some(Ok(piece)) => piece.as_ref().len(),
            _ => 0,
        };
        self.place.came(bytes as u64);
        piece
    }
}

impl Drop for Upload {
    fn drop(&mut self) {
        self.uploads.running().remove(&self.number);
    }
}

impl Place {
    fn progress(&self) -> Progress {
        *self.lock()
    }

    fn wait(&self) -> Progress {
        let mut progress = self.lock();
        progress.waiting_since = Some(Instant::now());
        *progress
    }

    fn came(&self, bytes: u64) {
        let mut progress = self.lock();
        progress.bytes += bytes;
        let waited = progress
            .waiting_since
            .take()
            .map_or(Duration::ZERO, |since| since.elapsed());
        progress.waited += waited;
    }

    fn lock(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
