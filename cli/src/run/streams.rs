//! How the job's standard output and error are recorded without the job noticing.
//!
//! What the job sees must be what it would see without us, so each stream is treated by what it is:
//!
//! - A **regular file** is left alone. What the job adds to it is read from the file afterwards.
//! - A **terminal** is replaced by a pseudo-terminal of the same size and settings, so that the job still sees one
//!   (colours, line buffering, progress bars). Only the stream is replaced: the controlling terminal, standard input
//!   and the process group stay, so that reading keys, Ctrl-C, Ctrl-Z and `/dev/tty` work through the kernel as ever.
//!   Its output processing is off: the real terminal does that, once. The one thing this does not carry over is a change of terminal modes made
//!   *through standard output*, as full-screen programs do; those want `--no-output`.
//! - Anything else (a pipe, a socket, `/dev/null`) is replaced by a **pipe**. When the far end goes away, ours is
//!   closed too, so that the job gets its `SIGPIPE`.
//!
//! Two streams that are one and the same (`2>&1`) get one replacement, which keeps their order. Standard input is
//! always inherited.

use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;

use anyhow::Context as _;
use nix::pty::openpty;
use rustix::fs::{FileType, SeekFrom};
use rustix::io::FdFlags;
use rustix::termios::{OptionalActions, OutputModes};

/// One of the two streams that are recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// Standard output.
    Out,
    /// Standard error.
    Err,
}

impl Output {
    /// The descriptor as this process has it.
    pub fn descriptor(self) -> BorrowedFd<'static> {
        let number = match self {
            Self::Out => 1,
            Self::Err => 2,
        };
        // SAFETY: the standard streams stay open for as long as the process lives; they are only ever replaced.
        unsafe { BorrowedFd::borrow_raw(number) }
    }

    /// Lets go of the stream, so that a reader of it sees its end once the job has closed it too.
    pub fn close(self) {
        let Ok(nothing) = File::options().read(true).write(true).open("/dev/null") else {
            return;
        };
        let _ = match self {
            Self::Out => nix::unistd::dup2_stdout(&nothing),
            Self::Err => nix::unistd::dup2_stderr(&nothing),
        };
    }
}

/// From the job to where its output goes.
#[derive(Debug)]
pub struct Relay {
    /// Our end of the pipe or pseudo-terminal.
    pub source: OwnedFd,
    /// Where what comes from it belongs.
    pub to: Output,
    /// True for a pseudo-terminal, whose size follows that of the real one.
    pub terminal: bool,
}

/// A regular file that the job writes to by itself.
#[derive(Debug)]
pub struct Direct {
    /// Which stream.
    pub stream: Output,
    /// The file, opened for reading.
    file: File,
    /// Where the job's part of it begins.
    from: u64,
}

/// The arrangement for one run.
#[derive(Debug, Default)]
pub struct Streams {
    /// The job's end of its standard output, unless it is inherited.
    pub out: Option<OwnedFd>,
    /// The job's end of its standard error, unless it is inherited.
    pub err: Option<OwnedFd>,
    /// Our ends.
    pub relays: Vec<Relay>,
    /// Streams that go to files.
    pub direct: Vec<Direct>,
}

impl Streams {
    /// Decides for both streams by what they are.
    pub fn arrange() -> anyhow::Result<Self> {
        let mut streams = Self::default();
        streams.out = streams.arrange_one(Output::Out)?;
        streams.err = match (&streams.out, shared()) {
            (Some(out), true) => Some(out.try_clone().context("can not share the job's output")?),
            (None, true) => None,
            (_, false) => streams.arrange_one(Output::Err)?,
        };
        Ok(streams)
    }

    fn arrange_one(&mut self, stream: Output) -> anyhow::Result<Option<OwnedFd>> {
        if is_file(stream) {
            self.direct.extend(Direct::open(stream));
            return Ok(None);
        }
        let terminal = is_terminal(stream);
        let (source, job) = if terminal { pseudo_terminal(stream)? } else { pipe()? };
        self.relays.push(Relay {
            source,
            to: stream,
            terminal,
        });
        Ok(Some(job))
    }
}

impl Direct {
    /// None where the file can not be opened for reading: then its owner has it, and we do not.
    fn open(stream: Output) -> Option<Self> {
        use std::os::fd::AsRawFd as _;
        let descriptor = stream.descriptor();
        let appends = rustix::fs::fcntl_getfl(descriptor)
            .ok()?
            .contains(rustix::fs::OFlags::APPEND);
        let from = match appends {
            true => rustix::fs::fstat(descriptor).ok()?.st_size as u64,
            false => rustix::fs::seek(descriptor, SeekFrom::Current(0)).ok()?,
        };
        let path = PathBuf::from(format!("/proc/self/fd/{}", descriptor.as_raw_fd()));
        Some(Self {
            stream,
            file: File::open(path).ok()?,
            from,
        })
    }

    /// What the job wrote; `limit` bytes at most, the last ones.
    pub fn written(&mut self, limit: u64) -> std::io::Result<Vec<u8>> {
        use std::io::{Read as _, Seek as _};
        let end = self.file.metadata()?.len();
        self.file
            .seek(std::io::SeekFrom::Start(self.from.max(end.saturating_sub(limit))))?;
        let mut bytes = Vec::new();
        self.file.by_ref().take(limit).read_to_end(&mut bytes)?;
        Ok(bytes)
    }
}

/// True when both streams are one and the same thing: then one arrangement serves both, and keeps their order.
fn shared() -> bool {
    let identity = |stream: Output| {
        let about = rustix::fs::fstat(stream.descriptor()).ok()?;
        Some((about.st_dev, about.st_ino, about.st_rdev))
    };
    identity(Output::Out).is_some() && identity(Output::Out) == identity(Output::Err)
}

fn is_terminal(stream: Output) -> bool {
    rustix::termios::isatty(stream.descriptor())
}

fn is_file(stream: Output) -> bool {
    rustix::fs::fstat(stream.descriptor())
        .is_ok_and(|about| FileType::from_raw_mode(about.st_mode) == FileType::RegularFile)
}

/// Our end and the job's.
fn pipe() -> anyhow::Result<(OwnedFd, OwnedFd)> {
    rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).context("can not make a pipe for the job's output")
}

/// Our end and the job's of a terminal like the one `like` is.
fn pseudo_terminal(like: Output) -> anyhow::Result<(OwnedFd, OwnedFd)> {
    let pty = openpty(None, None).context("can not make a pseudo-terminal for the job's output")?;
    for end in [&pty.master, &pty.slave] {
        rustix::io::fcntl_setfd(end, FdFlags::CLOEXEC)?;
    }
    let mut settings = rustix::termios::tcgetattr(like.descriptor())?;
    settings.output_modes.remove(OutputModes::OPOST);
    rustix::termios::tcsetattr(&pty.slave, OptionalActions::Now, &settings)?;
    copy_size(like.descriptor(), pty.master.as_fd());
    Ok((pty.master, pty.slave))
}

/// Gives a pseudo-terminal the size of a terminal; true when that changed it.
pub fn copy_size(from: BorrowedFd<'_>, to: BorrowedFd<'_>) -> bool {
    let size = |terminal| rustix::termios::tcgetwinsize(terminal).ok();
    let Some(wanted) = size(from) else { return false };
    let same = |now: rustix::termios::Winsize| (now.ws_row, now.ws_col) == (wanted.ws_row, wanted.ws_col);
    !size(to).is_some_and(same) && rustix::termios::tcsetwinsize(to, wanted).is_ok()
}
