//! One stream of the job's output on its way to where it belongs.

use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd, OwnedFd};
use std::sync::{Arc, Barrier, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::unistd::Pid;

use super::flood::Flood;
use super::streams::{Kind, Output, Relay, copy_size};
use super::transcript::Transcript;

/// Read at once: what a pipe holds.
const CHUNK: usize = 64 << 10;

/// What the recorder's threads share. None once nobody will ask for it.
pub type Shared = Arc<Mutex<Option<Transcript>>>;

/// One relay at work.
#[derive(Debug)]
pub struct Channel {
    to: Output,
    kind: Kind,
    /// The job's process group.
    group: Pid,
    /// None once the stream has ended.
    source: Mutex<Option<Arc<OwnedFd>>>,
    /// Locked from before a chunk is read until it has been written: whoever holds this and finds nothing to read
    /// knows that all has arrived.
    passing: Mutex<Flood>,
}

impl Channel {
    pub fn new(relay: Relay, group: Pid) -> Self {
        Self {
            group,
            to: relay.to,
            kind: relay.kind,
            source: Mutex::new(Some(Arc::new(relay.source))),
            passing: Mutex::new(Flood::new()),
        }
    }

    /// Passes on and records until the stream ends at either side. Then both sides are closed: the job gets its
    /// `SIGPIPE` when nobody reads any more, and a reader its end of file when nobody writes any more. All are `ready`
    /// once each has the memory that it can not do without: where it is refused, this process ends before a job counts
    /// on it.
    pub fn pass_on(&self, transcript: &Shared, ready: &Barrier) {
        let mut chunk = vec![0; CHUNK];
        ready.wait();
        let Some(source) = self.source() else { return };
        while self.wait_for(source.as_fd()) {
            let mut flood = lock(&self.passing);
            let moved = if self.kind == Kind::Pipe && flood.is_on() {
                flood.move_on(source.as_fd(), self.to.descriptor())
            } else {
                self.copy(source.as_fd(), &mut chunk, transcript)
            };
            let Some(moved) = moved else { break };
            if flood.passed(moved, source.as_fd(), self.to.descriptor()) {
                settle(&mut flood, transcript);
            }
            let pause = flood.pause(moved);
            drop(flood);
            pause.into_iter().for_each(std::thread::sleep);
        }
        settle(&mut lock(&self.passing), transcript);
        lock(&self.source).take();
        drop(source);
        self.to.close();
    }

    /// Reads, records and writes what is there; how many bytes that were. None at the end of either side.
    fn copy(&self, source: BorrowedFd<'_>, chunk: &mut [u8], transcript: &Shared) -> Option<u64> {
        use rustix::io::Errno;
        let length = match rustix::io::read(source, &mut *chunk) {
            Ok(0) => return None,
            Ok(length) => length,
            Err(Errno::INTR | Errno::AGAIN) => return Some(0),
            // A pseudo-terminal that nobody has open any more answers EIO.
            Err(_) => return None,
        };
        // Whoever draws may have been told of another size where we were not: in a process group of its own.
        self.resize_source(source);
        let bytes = chunk.get(..length)?;
        if let Some(transcript) = lock(transcript).as_mut() {
            transcript.push(bytes);
        }
        write_all(self.to.descriptor(), bytes).ok()?;
        Some(length as u64)
    }

    /// True when there is something to pass on; false when the far end has gone, and with it the reason to.
    fn wait_for(&self, source: BorrowedFd<'_>) -> bool {
        let gone = PollFlags::POLLERR | PollFlags::POLLHUP | PollFlags::POLLNVAL;
        loop {
            let mut ready = [
                PollFd::new(source, PollFlags::POLLIN),
                PollFd::new(self.to.descriptor(), PollFlags::empty()),
            ];
            match poll(&mut ready, PollTimeout::NONE) {
                Ok(_) | Err(nix::Error::EINTR) => {}
                Err(_) => return false,
            }
            let [source, sink] = ready.map(|fd| fd.revents().unwrap_or(PollFlags::empty()));
            if sink.intersects(gone) {
                return false;
            }
            if !source.is_empty() {
                return true;
            }
        }
    }

    /// Waits until what the source holds has been passed on, or the deadline.
    pub fn drain(&self, deadline: Instant) {
        while Instant::now() < deadline {
            let nothing = |source: Arc<OwnedFd>| !is_ready(source.as_fd(), PollFlags::POLLIN, PollTimeout::ZERO);
            let passed_on = self.passing.try_lock().is_ok() && self.source().is_none_or(nothing);
            if passed_on {
                return;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Puts the end of a flood into the transcript, unless its reader holds it up.
    pub fn settle(&self, transcript: &Shared) {
        if let Ok(mut flood) = self.passing.try_lock() {
            settle(&mut flood, transcript);
        }
    }

    /// Follows the real terminal's size. The job may have asked for it before we did: its group is told once more.
    pub fn resize(&self) {
        if let Some(source) = self.source() {
            self.resize_source(source.as_fd());
        }
    }

    fn resize_source(&self, source: BorrowedFd<'_>) {
        if self.kind == Kind::Terminal && copy_size(self.to.descriptor(), source) {
            let _ = nix::sys::signal::killpg(self.group, nix::sys::signal::Signal::SIGWINCH);
        }
    }

    fn source(&self) -> Option<Arc<OwnedFd>> {
        lock(&self.source).clone()
    }

    /// The stream that this one goes to.
    pub fn output(&self) -> Output {
        self.to
    }
}

fn settle(flood: &mut Flood, transcript: &Shared) {
    if flood.is_on() {
        flood.settle(lock(transcript).as_mut());
    }
}

/// A panic of another thread leaves a transcript that is still worth having.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whoever gave us a descriptor may have made it non-blocking.
pub fn wait_until_writable(descriptor: BorrowedFd<'_>) {
    is_ready(descriptor, PollFlags::POLLOUT, PollTimeout::NONE);
}

/// True when the descriptor is ready, or has come to its end.
fn is_ready(descriptor: BorrowedFd<'_>, what: PollFlags, timeout: PollTimeout) -> bool {
    loop {
        match poll(&mut [PollFd::new(descriptor, what)], timeout) {
            Ok(ready) => return ready > 0,
            Err(nix::Error::EINTR) => {}
            Err(error) => {
                tracing::debug!("can not wait for descriptor {}: {error}", descriptor.as_raw_fd());
                return false;
            }
        }
    }
}

fn write_all(to: BorrowedFd<'_>, mut bytes: &[u8]) -> rustix::io::Result<()> {
    while !bytes.is_empty() {
        match rustix::io::write(to, bytes) {
            Ok(written) => bytes = bytes.get(written..).unwrap_or_default(),
            Err(rustix::io::Errno::INTR) => {}
            Err(rustix::io::Errno::AGAIN) => wait_until_writable(to),
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
