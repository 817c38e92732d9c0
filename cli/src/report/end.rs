//! The end of a run, in the process that everybody waits for.

use std::fs::File;
use std::io::Read as _;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use rustix::pipe::{PipeFlags, pipe_with};

use super::handover::{Handover, Options, Piece};
use super::hang::HangReport;
use crate::collect::{Missing, Watch};
use crate::config::Config;
use crate::output::{self, Clean};
use crate::run::{Ending, Over, Signal, Signals};

/// Before its time is up, this much is left to end in order.
const LAST_WORDS: Duration = Duration::from_millis(100);

/// Has a report made of a crash, or of a job that somebody ended because it stood still, for at most so long; of anything
/// else, nothing. Reports of hangs that were made before are announced.
pub fn end(
    mut over: Over,
    mut watch: Watch,
    hangs: Vec<HangReport>,
    mut options: Options,
    config: &Config,
    bound: Duration,
) -> anyhow::Result<()> {
    let now = Instant::now();
    let deadline = now + bound;
    let is_crash = over.is_crash();
    let is_told = is_crash || (hangs.is_empty() && watch.stood_still(&over));
    let announced = if options.quiet { Vec::new() } else { hangs };
    options.brief = !is_crash;
    if !is_told {
        over.drain();
        announce(announced);
        leave_by(over.signals, over.ending, deadline, Arc::new(AtomicBool::new(true)));
        watch.clear_away(over.ending, now + bound.saturating_sub(LAST_WORDS));
        return Ok(());
    }
    let output = pieces_of_output(&mut over);
    let seen = watch.finish(&over);
    let is_handed_over = Arc::new(AtomicBool::new(false));
    leave_by(over.signals, over.ending, deadline, Arc::clone(&is_handed_over));
    let mut unavailable = seen.unavailable;
    let mut pieces = Vec::new();
    let kernel_log = seen.kernel_log.as_deref().unwrap_or_default();
    let files = seen.pieces.iter().map(|(name, bytes)| piece(name, bytes));
    let kernel_log = piece("kernel.log", kernel_log.as_bytes());
    for piece in output.into_iter().chain([kernel_log]).chain(files) {
        match piece {
            Ok(piece) => pieces.extend(piece),
            Err(missing) => unavailable.push(missing),
        }
    }
    let handover = Handover {
        context: seen.context,
        unavailable,
        search: seen.search,
        scratch: seen.scratch,
        ended: true,
        gpus: seen.gpus,
        pieces,
        options,
        config: config.clone(),
    };
    let spawned = spawn(&handover);
    is_handed_over.store(true, Ordering::Relaxed);
    let shown = match spawned {
        Ok(said) => show(said, handover.options.quiet, deadline),
        // No room for another process: then it is made here, for as long as there is time.
        Err(_) => super::finish(handover),
    };
    announce(announced);
    shown
}

/// Says where the reports are that were made while the job ran.
fn announce(hangs: Vec<HangReport>) {
    for hang in hangs {
        output::tell(&Clean::from(hang.announcement()));
    }
}

/// What the job printed, by the names of the artifacts.
fn pieces_of_output(over: &mut Over) -> Vec<Result<Option<Piece>, Missing>> {
    let transcript = match over.transcript() {
        Ok(bytes) => piece("output.log", &bytes),
        Err(error) => Err(Missing::for_good("output", format!("{error:#}"))),
    };
    let files = over.direct.drain(..).map(|direct| {
        let name = direct.name();
        direct
            .open()
            .and_then(|file| Piece::of_file(name, file, direct.from))
            .map(Some)
            .map_err(|error| Missing::for_good(name, format!("can not read it back: {error}")))
    });
    std::iter::once(transcript).chain(files).collect()
}

pub(super) fn piece(name: &str, bytes: &[u8]) -> Result<Option<Piece>, Missing> {
    if bytes.is_empty() {
        return Ok(None);
    }
    Piece::of_bytes(name, bytes)
        .map(Some)
        .map_err(|error| Missing::for_good(name, format!("no memory to hand it over: {error}")))
}

/// Ends this process the way the job ended when the time is up, or when it is told to end and another one has the report,
/// whatever else it does.
fn leave_by(signals: Signals, ending: Ending, deadline: Instant, is_handed_over: Arc<AtomicBool>) {
    /// How often it is looked whether another one has it, once this is all that is waited for.
    const SOON: Duration = Duration::from_millis(2);
    let watch = move || {
        let mut is_told = false;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let pause = if is_told { SOON.min(left) } else { left };
            let pause = PollTimeout::try_from(pause).unwrap_or(PollTimeout::MAX);
            let _ = poll(&mut [PollFd::new(signals.as_fd(), PollFlags::POLLIN)], pause);
            let told = [Signal::INT, Signal::TERM, Signal::HUP, Signal::QUIT];
            is_told |= std::iter::from_fn(|| signals.next()).any(|received| told.contains(&received.signal));
            if left.is_zero() || (is_told && is_handed_over.load(Ordering::Relaxed)) {
                ending.imitate();
            }
        }
    };
    // Where there is no room for a thread, the other process alone keeps us waiting, and it has a bound too.
    let _ = std::thread::Builder::new().stack_size(128 << 10).spawn(watch);
}

/// Starts the process that makes the report; the end of the pipe that it speaks into.
fn spawn(handover: &Handover) -> anyhow::Result<OwnedFd> {
    let (said, speaks) = pipe_with(PipeFlags::CLOEXEC).context("no pipe to listen on")?;
    start(handover, Stdio::null(), File::from(speaks).into())?;
    Ok(said)
}

/// Starts it, with where it tells the folder and where it speaks to, in a session of its own.
pub(super) fn start(handover: &Handover, tells: Stdio, speaks: Stdio) -> anyhow::Result<()> {
    let mut finisher = Command::new("/proc/self/exe");
    finisher
        .arg("finish-report")
        .stdin(handover.write()?)
        .stdout(tells)
        .stderr(speaks);
    // SAFETY: between fork and exec, this only makes a system call.
    unsafe { finisher.pre_exec(|| rustix::process::setsid().map(drop).map_err(std::io::Error::from)) };
    finisher
        .spawn()
        .context("can not start the process that makes the report")?;
    Ok(())
}

/// Shows what the other process says, unless nothing is to be said, until it closes its end or the time is up.
fn show(said: OwnedFd, quiet: bool, deadline: Instant) -> anyhow::Result<()> {
    let mut said = File::from(said);
    let mut chunk = vec![0; 64 << 10];
    loop {
        let left = deadline.saturating_duration_since(Instant::now() + LAST_WORDS);
        let pause = PollTimeout::try_from(left).unwrap_or(PollTimeout::MAX);
        match poll(&mut [PollFd::new(said.as_fd(), PollFlags::POLLIN)], pause) {
            Ok(0) if quiet => return Ok(()),
            Ok(0) => {
                output::tell(&Clean::from(
                    "whycrash goes on making the report of this crash; `whycrash spool list` shows what became of it",
                ));
                return Ok(());
            }
            Ok(_) => {}
            Err(nix::Error::EINTR) => continue,
            Err(error) => return Err(error.into()),
        }
        match said.read(&mut chunk)? {
            0 => return Ok(()),
            _ if quiet => {}
            length => {
                output::pass_on(chunk.get(..length).unwrap_or_default());
            }
        }
    }
}
