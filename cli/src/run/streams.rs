//! How the job's standard output and error are recorded without the job noticing.
//!
//! What the job sees must be what it would see without us, so each stream is treated by what it is:
//!
//! - A **regular file** is left alone. What the job adds to it is read from the file afterwards.
//! - A **terminal** is replaced by a pseudo-terminal of the same size and settings, so that the job still sees one
//!   (colours, line buffering, progress bars). Only the stream is replaced: the controlling terminal, standard input
//!   and the process group stay, so that reading keys, Ctrl-C, Ctrl-Z and `/dev/tty` work through the kernel as ever.
//!   Its output processing is off: the real terminal does that, once. The one thing this does not carry over is a
//!   change of terminal modes made *through standard output*, and reading from it, as full-screen programs do; those
//!   want `--no-output`.
//! - A **pipe** is replaced by a pipe, and a **local stream socket** from which nothing can be read, as the journal's,
//!   by such a pair. When the far end goes away, ours is closed too, so that the job gets its `SIGPIPE`.
//! - Anything else is the job's own and is not recorded: a stream that is closed, `/dev/null`, `/dev/full`, a
//!   connection over the network or of messages, a socket that is standard input as well, which may be written and shut
//!   down through that, or that can be read, over which answers and descriptors may come and go, a named pipe that can
//!   be read as well, what can not be written, and what there are no means to replace.
//!
//! Two streams that are one and the same (`2>&1`) get one replacement, which keeps their order. Standard input is
//! always inherited.

use std::ffi::OsString;
use std::fs::File;
use std::net::Shutdown;
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

use anyhow::Context as _;
use nix::pty::openpty;
use rustix::fs::{FileType, Mode, OFlags, SeekFrom};
use rustix::io::FdFlags;
use rustix::termios::{OptionalActions, OutputModes};
use socket2::{SockRef, Type};

/// One of the two streams that are recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// Standard output.
    Out = 1,
    /// Standard error.
    Err = 2,
}

impl Output {
    /// The descriptor as this process has it.
    pub fn descriptor(self) -> BorrowedFd<'static> {
        // SAFETY: the standard streams stay open for as long as the process lives; they are only ever replaced.
        unsafe { BorrowedFd::borrow_raw(self as i32) }
    }

    /// Lets go of the stream, so that a reader of it sees its end once the job has closed it too.
    pub fn close(self) {
        let Some(nothing) = nothing() else { return };
        let _ = match self {
            Self::Out => nix::unistd::dup2_stdout(&nothing),
            Self::Err => nix::unistd::dup2_stderr(&nothing),
        };
    }
}

/// What stands in place of a stream that we let go of: `/dev/null`, or where there is none, what can not be read or
/// written.
pub fn nothing() -> Option<File> {
    let null = File::options().read(true).write(true).open("/dev/null");
    null.or_else(|_| File::open("/")).ok()
}

/// From the job to where its output goes.
#[derive(Debug)]
pub struct Relay {
    /// Our end of the pipe or pseudo-terminal.
    pub source: OwnedFd,
    /// Where what comes from it belongs.
    pub to: Output,
    /// What it is.
    pub kind: Kind,
}

/// What a stream is replaced by, and so what it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A pseudo-terminal, whose size follows that of the real one.
    Terminal,
    /// A pipe.
    Pipe,
    /// A pair of connected sockets.
    Socket,
}

/// A regular file that the job writes to by itself.
#[derive(Debug)]
pub struct Direct {
    /// Which stream.
    stream: Output,
    /// Where the file is. It is not open: that would keep the job from taking a lease on it.
    at: OwnedFd,
    /// Where the job's part of it begins.
    pub from: u64,
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
    pub fn arrange() -> Self {
        let mut streams = Self::default();
        streams.out = streams.arrange_one(Output::Out);
        let shared = is_shared();
        streams.err = match &streams.out {
            Some(out) if shared => out.try_clone().ok(),
            None if shared => None,
            _ => streams.arrange_one(Output::Err),
        };
        streams
    }

    /// Leaves both streams alone, but reads files all the same.
    pub fn inherit(mut self) -> Self {
        (self.out, self.err) = (None, None);
        self.relays.clear();
        self
    }

    /// What the job's environment is to say otherwise than ours: `JOURNAL_STREAM` names the stream that leads to the
    /// journal (systemd.exec(5)), which is our replacement where we replaced it.
    pub fn variables(&self) -> Option<(OsString, OsString)> {
        const NAME: &str = "JOURNAL_STREAM";
        let said = std::env::var(NAME).ok()?;
        let ends = [(Output::Out, self.out.as_ref()), (Output::Err, self.err.as_ref())];
        let replaced = ends.into_iter().find_map(|(stream, end)| {
            let end = end.filter(|_| identity(stream.descriptor()).as_ref() == Some(&said))?;
            identity(end.as_fd())
        });
        Some((NAME.into(), replaced?.into()))
    }

    /// None where the job gets the stream itself.
    fn arrange_one(&mut self, stream: Output) -> Option<OwnedFd> {
        if super::inherited::is_closed(stream as usize) || !is_writable(stream) {
            return None;
        }
        let kind = match file_type(stream)? {
            FileType::RegularFile => {
                self.direct.extend(Direct::of(stream));
                return None;
            }
            FileType::CharacterDevice if is_terminal(stream) => Kind::Terminal,
            FileType::Fifo if !is_readable(stream) => Kind::Pipe,
            FileType::Socket if is_local(stream) && !is_input(stream) && is_one_way(stream) => Kind::Socket,
            _ => return None,
        };
        match kind.ends(stream) {
            Ok((source, job)) => {
                self.relays.push(Relay {
                    source,
                    to: stream,
                    kind,
                });
                Some(job)
            }
            Err(error) => {
                tracing::warn!("the job's output is not recorded: {error:#}");
                None
            }
        }
    }
}

impl Kind {
    /// Our end and the job's, which has what the stream that it stands for was set to.
    fn ends(self, like: Output) -> anyhow::Result<(OwnedFd, OwnedFd)> {
        let (ours, job) = match self {
            Self::Terminal => pseudo_terminal(like)?,
            Self::Pipe => rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)
                .context("can not make a pipe for the job's output")?,
            Self::Socket => {
                let (ours, job) = UnixStream::pair().context("can not make sockets for the job's output")?;
                ours.shutdown(Shutdown::Write)?;
                (ours.into(), job.into())
            }
        };
        let kept = OFlags::NONBLOCK | OFlags::DIRECT;
        let flags = rustix::fs::fcntl_getfl(like.descriptor())? & kept;
        if !flags.is_empty() {
            rustix::fs::fcntl_setfl(&job, rustix::fs::fcntl_getfl(&job)? | flags)?;
        }
        if self == Self::Pipe {
            copy_room(like.descriptor(), job.as_fd());
        }
        Ok((ours, job))
    }
}

impl Direct {
    /// None where there are no means to find it again.
    fn of(stream: Output) -> Option<Self> {
        let descriptor = stream.descriptor();
        let appends = rustix::fs::fcntl_getfl(descriptor).ok()?.contains(OFlags::APPEND);
        let from = match appends {
            true => rustix::fs::fstat(descriptor).ok()?.st_size as u64,
            false => rustix::fs::seek(descriptor, SeekFrom::Current(0)).ok()?,
        };
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        let at = rustix::fs::open(by_number(descriptor), flags, Mode::empty()).ok()?;
        Some(Self { stream, at, from })
    }

    /// The file, opened for reading. Whoever has a lease on it by now is not waited for.
    pub fn open(&self) -> std::io::Result<File> {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        Ok(rustix::fs::open(by_number(self.at.as_fd()), flags, Mode::empty())?.into())
    }

    /// Its size in bytes; 0 where that is not known.
    pub fn size(&self) -> u64 {
        rustix::fs::fstat(&self.at).map_or(0, |about| about.st_size as u64)
    }

    /// The name of the artifact that is made of it.
    pub fn name(&self) -> &'static str {
        match self.stream {
            Output::Out => "stdout.log",
            Output::Err => "stderr.log",
        }
    }
}

/// What a descriptor refers to, to be opened anew.
fn by_number(descriptor: BorrowedFd<'_>) -> String {
    format!("/proc/self/fd/{}", descriptor.as_raw_fd())
}

/// True when both streams are one and the same thing: then one arrangement serves both, and keeps their order.
fn is_shared() -> bool {
    if super::inherited::is_closed(1) || super::inherited::is_closed(2) {
        return false;
    }
    let [out, err] = [Output::Out, Output::Err].map(|stream| identity(stream.descriptor()));
    let [out_terminal, err_terminal] = [Output::Out, Output::Err].map(terminal);
    (out.is_some() && out == err) || (out_terminal.is_some() && out_terminal == err_terminal)
}

/// The device that a terminal is, whichever name it was opened by: `/dev/tty` is another one's.
fn terminal(stream: Output) -> Option<libc::c_uint> {
    let mut device: libc::c_uint = 0;
    // SAFETY: the kernel fills the number, which outlives the call.
    let asked = unsafe { libc::ioctl(stream as i32, libc::TIOCGDEV as _, &raw mut device) };
    (asked == 0).then_some(device)
}

/// Whether it is what standard input is.
fn is_input(stream: Output) -> bool {
    !super::inherited::is_closed(0) && identity(std::io::stdin().as_fd()) == identity(stream.descriptor())
}

fn is_terminal(stream: Output) -> bool {
    rustix::termios::isatty(stream.descriptor())
}

fn is_writable(stream: Output) -> bool {
    rustix::fs::fcntl_getfl(stream.descriptor()).is_ok_and(|flags| flags & OFlags::ACCMODE != OFlags::RDONLY)
}

/// Whether the job may read from it as well, as from a named pipe that was opened for both.
fn is_readable(stream: Output) -> bool {
    rustix::fs::fcntl_getfl(stream.descriptor()).is_ok_and(|flags| flags & OFlags::ACCMODE != OFlags::WRONLY)
}

/// Gives a pipe as much room as another one has, where that may be had.
fn copy_room(from: BorrowedFd<'_>, to: BorrowedFd<'_>) {
    use rustix::pipe::{fcntl_getpipe_size, fcntl_setpipe_size};
    let (Ok(wanted), Ok(room)) = (fcntl_getpipe_size(from), fcntl_getpipe_size(to)) else {
        return;
    };
    if wanted != room {
        let _ = fcntl_setpipe_size(to, wanted);
    }
}

fn file_type(stream: Output) -> Option<FileType> {
    let about = rustix::fs::fstat(stream.descriptor()).ok()?;
    Some(FileType::from_raw_mode(about.st_mode))
}

/// Whether it is a socket that leads a stream of bytes, no messages, to somebody within this machine.
fn is_local(stream: Output) -> bool {
    let descriptor = stream.descriptor();
    let socket = SockRef::from(&descriptor);
    let is_stream = socket.r#type().is_ok_and(|kind| kind == Type::STREAM);
    is_stream && socket.peer_addr().is_ok_and(|peer| peer.is_unix())
}

/// Whether nothing will ever be read from a socket: one of both ends has shut that way.
fn is_one_way(stream: Output) -> bool {
    let mut asked = libc::pollfd {
        fd: stream as i32,
        events: libc::POLLRDHUP,
        revents: 0,
    };
    // SAFETY: the record outlives the call, which does not wait.
    unsafe { libc::poll(&raw mut asked, 1, 0) > 0 }
}

/// Device and inode, as programs tell each other which stream they mean.
fn identity(stream: BorrowedFd<'_>) -> Option<String> {
    let about = rustix::fs::fstat(stream).ok()?;
    Some(format!("{}:{}", about.st_dev, about.st_ino))
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
