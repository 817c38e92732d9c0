//! Tells of a call into the driver that does not come back.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// A call that takes longer than this hangs, as far as anybody can tell.
const PATIENCE: Duration = Duration::from_secs(3);
/// How often it is looked at.
const PAUSE: Duration = Duration::from_secs(1);

/// What is being done: what it is done for, since when, and whether it was told of.
type Doing = Option<(Option<usize>, Instant, bool)>;

/// Knows which call is being made.
#[derive(Clone, Debug, Default)]
pub struct Watchdog {
    doing: Arc<Mutex<Doing>>,
}

impl Watchdog {
    /// Starts looking; `tell` gets the device that a call hangs for, none where it is for all of them, and is called
    /// once a call.
    pub fn start(tell: impl Fn(Option<usize>) + Send + 'static) -> Self {
        let watchdog = Self::default();
        let doing = watchdog.clone();
        let look = move || {
            loop {
                std::thread::sleep(PAUSE);
                if doing.is_overdue() {
                    tell(doing.device());
                }
            }
        };
        // Without room for a thread, nobody tells.
        let _ = std::thread::Builder::new().stack_size(64 << 10).spawn(look);
        watchdog
    }

    /// Makes a call, for one device or for all.
    pub fn over<T>(&self, device: Option<usize>, call: impl FnOnce() -> T) -> T {
        *self.lock() = Some((device, Instant::now(), false));
        let result = call();
        *self.lock() = None;
        result
    }

    /// Whether a call takes too long, the first time that this is asked.
    fn is_overdue(&self) -> bool {
        let mut doing = self.lock();
        let Some((_, since, told)) = doing.as_mut() else {
            return false;
        };
        let overdue = since.elapsed() > PATIENCE;
        overdue && !std::mem::replace(told, true)
    }

    /// The device that a call is made for; none where it is for all of them.
    fn device(&self) -> Option<usize> {
        self.lock().as_ref().and_then(|(device, _, _)| *device)
    }

    fn lock(&self) -> MutexGuard<'_, Doing> {
        self.doing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
