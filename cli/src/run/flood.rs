//! Output that comes faster than anybody reads. Between two pipes the kernel can move it without copying it, and
//! without this process looking at it: then all that is kept is its end.

use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::pipe::{PipeFlags, SpliceFlags, fcntl_getpipe_size, fcntl_setpipe_size, pipe_with, splice, tee};

use super::transcript::Transcript;

/// How long a rate is looked at, and the bytes in that time from which on output is a flood: 80 MB/s. So many have gone
/// through the transcript before it begins that nothing older is lost to it.
const WINDOW: Duration = Duration::from_millis(100);
const FLOOD: u64 = 8 << 20;
/// Moved at once.
const CHUNK: usize = 256 << 10;
/// Where less than this has come, more is let come for a moment: each time that somebody is woken costs more than it
/// takes to move a page.
const LITTLE: u64 = CHUNK as u64 / 2;
const MOMENT: Duration = Duration::from_micros(250);
/// Bytes of its end that are kept, and that either pipe may hold: whoever writes or reads has to wait less often then.
/// Little enough to stay in a processor's cache, which is what makes moving cheap.
const TAIL: usize = 1 << 20;

/// How fast output comes, and the end of it while it is a flood.
#[derive(Debug)]
pub struct Flood {
    since: Instant,
    bytes: u64,
    tail: Option<Tail>,
}

/// A pipe of our own that refers to what passed last, and `/dev/null` for what is older.
#[derive(Debug)]
struct Tail {
    read: OwnedFd,
    write: OwnedFd,
    nothing: File,
    held: u64,
    /// Bytes that passed and are no longer held.
    gone: u64,
}

impl Flood {
    pub fn new() -> Self {
        Self {
            since: Instant::now(),
            bytes: 0,
            tail: None,
        }
    }

    /// Whether output is to be moved and not looked at.
    pub fn is_on(&self) -> bool {
        self.tail.is_some()
    }

    /// How long to wait before the next bytes are moved, when so many were just now.
    pub fn pause(&self, moved: u64) -> Option<Duration> {
        (self.is_on() && moved < LITTLE).then_some(MOMENT)
    }

    /// Notes that so many bytes went from a pipe to another: a flood begins where there are many. True where it is over,
    /// and to be settled.
    pub fn passed(&mut self, bytes: u64, from: BorrowedFd<'_>, to: BorrowedFd<'_>) -> bool {
        self.bytes += bytes;
        let elapsed = self.since.elapsed();
        if elapsed < WINDOW {
            if self.tail.is_none() && self.bytes >= FLOOD {
                self.tail = Tail::new();
                [from, to].into_iter().for_each(widen);
            }
            return false;
        }
        let few = self.bytes < FLOOD;
        (self.since, self.bytes) = (Instant::now(), 0);
        few && self.is_on()
    }

    /// Moves what is there from one pipe to another; how many bytes that were. None at the end of either.
    pub fn move_on(&mut self, from: BorrowedFd<'_>, to: BorrowedFd<'_>) -> Option<u64> {
        let tail = self.tail.as_mut()?;
        let seen = tail.remember(from)?;
        let mut left = seen;
        while left > 0 {
            match splice(from, None, to, None, left, SpliceFlags::empty()) {
                Ok(0) => return None,
                Ok(moved) => left -= moved,
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => super::relay::wait_until_writable(to),
                Err(_) => return None,
            }
        }
        Some(seen as u64)
    }

    /// Ends a flood, if there is one: its end goes into the transcript, where there is one.
    pub fn settle(&mut self, transcript: Option<&mut Transcript>) {
        if let (Some(tail), Some(transcript)) = (self.tail.take(), transcript) {
            transcript.skip(tail.gone);
            tail.into_transcript(transcript);
        }
    }
}

/// Has a pipe hold as much as the tail does, where that may be had. What is no pipe stays as it is.
fn widen(pipe: BorrowedFd<'_>) {
    if fcntl_getpipe_size(pipe).is_ok_and(|room| room < TAIL) {
        let _ = fcntl_setpipe_size(pipe, TAIL);
    }
}

impl Tail {
    /// None where there is no room for another pipe.
    fn new() -> Option<Self> {
        let (read, write) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK).ok()?;
        fcntl_setpipe_size(&write, TAIL).ok()?;
        let nothing = File::options().write(true).open("/dev/null").ok()?;
        Some(Self {
            read,
            write,
            nothing,
            held: 0,
            gone: 0,
        })
    }

    /// Refers to what is in a pipe without taking it out, and lets go of what is oldest; how many bytes that were.
    fn remember(&mut self, from: BorrowedFd<'_>) -> Option<usize> {
        loop {
            match tee(from, &self.write, CHUNK, SpliceFlags::NONBLOCK) {
                Ok(0) => return None,
                Ok(seen) => {
                    self.held += seen as u64;
                    return Some(seen);
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) if self.held > 0 => self.forget(),
                Err(Errno::AGAIN) => return Some(0),
                Err(_) => return None,
            }
        }
    }

    fn forget(&mut self) {
        let dropped = splice(
            self.read.as_fd(),
            None,
            self.nothing.as_fd(),
            None,
            CHUNK,
            SpliceFlags::NONBLOCK,
        );
        let dropped = dropped.unwrap_or(0) as u64;
        self.gone += dropped;
        // Where nothing can be dropped, nothing is held: then the next attempt is the last.
        self.held = if dropped == 0 {
            0
        } else {
            self.held - dropped.min(self.held)
        };
    }

    /// In pieces that need no memory: there may be none.
    fn into_transcript(self, transcript: &mut Transcript) {
        let mut piece = [0; 16 << 10];
        loop {
            match rustix::io::read(&self.read, &mut piece) {
                Ok(length @ 1..) => transcript.push(piece.get(..length).unwrap_or_default()),
                Err(Errno::INTR) => {}
                // It waits for nothing: what is not there does not come.
                Ok(_) | Err(_) => return,
            }
        }
    }
}
