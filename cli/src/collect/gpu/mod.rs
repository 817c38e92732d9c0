//! GPUs over time, as a process of its own hears them from the driver. A driver that hangs or crashes costs the record,
//! and nothing else.

mod cuda;
mod device;
mod health;
mod nvml;
mod watchdog;
mod xids;

use std::fs::File;
use std::io::Read as _;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::unistd::{ForkResult, Pid, fork, setpgid};
use rustix::pipe::{PipeFlags, pipe_with};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::Missing;
pub use cuda::{Asked as AskedDriver, tell as ask_driver};
use device::Device;

/// A line of the other process is never longer.
const LINE: usize = 1 << 20;

/// What the other process tells, a line each.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Line {
    /// Driver, CUDA version and devices.
    Facts(Value),
    /// There is nothing to be had.
    Missing(Missing),
    /// The memory used on a device has changed.
    Used {
        device: usize,
        at: u64,
        used: u64,
        total: u64,
    },
    /// A value of one of the series of [`health`] has changed.
    Changed {
        device: usize,
        at: u64,
        name: String,
        value: Value,
    },
    /// A process uses so much of a device's memory now.
    Process {
        device: usize,
        at: u64,
        pid: u32,
        used: u64,
    },
    /// The driver tells of an error of a device.
    Xid { device: usize, at: u64, code: u32 },
    /// A device does not answer any more.
    Failed { device: usize, at: u64, why: String },
    /// Something about the driver as a whole.
    Note { at: u64, text: String },
}

/// What is known about the GPUs of this machine, growing while the job runs.
#[derive(Debug)]
pub struct Gpus {
    /// None once the other process is gone.
    lines: Option<File>,
    unread: Vec<u8>,
    facts: Option<Result<Value, Missing>>,
    devices: Vec<Device>,
    notes: Vec<(u64, String)>,
    started: Instant,
    /// When the other process was gone.
    gone: Option<Duration>,
}

impl Gpus {
    /// Starts looking at them. To be called while there is no other thread.
    pub fn watch(interval: Duration) -> Self {
        let lines = start(interval);
        let facts = lines
            .as_ref()
            .err()
            .map(|error| Err(Missing::for_good("GPUs", format!("{error:#}"))));
        Self {
            lines: lines.ok(),
            unread: Vec::new(),
            facts,
            devices: Vec::new(),
            notes: Vec::new(),
            started: Instant::now(),
            gone: None,
        }
    }

    /// Waits for the facts, if need be.
    pub fn wait(&mut self, patience: Duration) {
        let deadline = Instant::now() + patience;
        while self.facts.is_none() && self.lines.is_some() {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            let pause = PollTimeout::try_from(left).unwrap_or(PollTimeout::MAX);
            let mut ready: Vec<_> = self
                .descriptor()
                .map(|lines| PollFd::new(lines, PollFlags::POLLIN))
                .into_iter()
                .collect();
            let _ = poll(&mut ready, pause);
            drop(ready);
            self.attend();
        }
    }

    /// What becomes readable when there is something new.
    pub fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.lines.as_ref().map(|lines| lines.as_fd())
    }

    /// Takes in what is new.
    pub fn attend(&mut self) {
        let Some(lines) = &mut self.lines else { return };
        let mut chunk = [0; 16 << 10];
        loop {
            match lines.read(&mut chunk) {
                Ok(length) if length > 0 => self.unread.extend_from_slice(chunk.get(..length).unwrap_or_default()),
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                _ => {
                    self.lines = None;
                    self.gone = Some(self.started.elapsed());
                    break;
                }
            }
        }
        while let Some(end) = self.unread.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.unread.drain(..=end).collect();
            if let Ok(line) = serde_json::from_slice(&line) {
                self.take(line);
            }
        }
        if self.unread.len() > LINE {
            self.unread.clear();
        }
    }

    /// Facts about driver and devices.
    pub fn facts(&self) -> Result<Value, Missing> {
        let why = if self.lines.is_some() {
            "the driver's management library has not answered yet: the job was short, or the driver hangs"
        } else {
            "the driver's management library ended the process that asked it"
        };
        let none = || Err(Missing::for_good("GPUs", why));
        self.facts.clone().unwrap_or_else(none)
    }

    /// Each device over time.
    pub fn timeline(&self) -> Value {
        let devices = self.devices.iter().enumerate();
        devices
            .map(|(index, device)| device.told(index, self.uuid(index)))
            .collect()
    }

    /// What was noted about the driver as a whole, each with its time; none where that is nothing.
    pub fn notes(&self) -> Value {
        let note = |(at, text): &(u64, String)| json!({"at": at, "text": text});
        json!((!self.notes.is_empty()).then(|| self.notes.iter().map(note).collect::<Vec<_>>()))
    }

    /// Where the record ends before the job, because the driver's library ended the process that asked it.
    pub fn broken_off(&self) -> Option<Missing> {
        let gone = self.gone.filter(|_| matches!(self.facts, Some(Ok(_))))?;
        let why = format!(
            "the driver's management library ended the process that asked it, {:.1} s after the job's start",
            gone.as_secs_f64()
        );
        Some(Missing::for_good("GPUs over time", why))
    }

    fn uuid(&self, index: usize) -> Value {
        let facts = self.facts.as_ref().and_then(|facts| facts.as_ref().ok());
        facts.map_or(Value::Null, |facts| facts["devices"][index]["uuid"].clone())
    }

    fn take(&mut self, line: Line) {
        match line {
            Line::Facts(facts) => self.facts = Some(Ok(facts)),
            Line::Missing(missing) => self.facts = Some(Err(missing)),
            Line::Used {
                device,
                at,
                used,
                total,
            } => self.with(device, |device| device.use_memory(at, used, total)),
            Line::Changed {
                device,
                at,
                name,
                value,
            } => self.with(device, |device| device.change(at, name, value)),
            Line::Process { device, at, pid, used } => self.with(device, |device| device.use_by(at, pid, used)),
            Line::Xid { device, at, code } => self.with(device, |device| device.tell_xid(at, code)),
            Line::Failed { device, at, why } => self.with(device, |device| device.fail(at, why)),
            Line::Note { at, text } => {
                /// A driver that changes all the time is told of so often.
                const NOTES: usize = 100;
                if self.notes.len() < NOTES {
                    self.notes.push((at, text));
                }
            }
        }
    }

    fn with(&mut self, index: usize, change: impl FnOnce(&mut Device)) {
        /// No machine has more.
        const DEVICES: usize = 256;
        if index >= self.devices.len() {
            self.devices.resize_with(index.min(DEVICES) + 1, Device::default);
        }
        self.devices.get_mut(index).map(change);
    }
}

/// The end of a pipe that the new process tells over.
fn start(interval: Duration) -> anyhow::Result<File> {
    let (ours, theirs) = pipe_with(PipeFlags::CLOEXEC).context("can not make a pipe")?;
    // SAFETY: no other thread exists, so the new process may go on like any.
    match unsafe { fork() }.context("no room for a process that asks the driver")? {
        ForkResult::Parent { .. } => {
            rustix::fs::fcntl_setfl(&ours, rustix::fs::OFlags::NONBLOCK)?;
            Ok(ours.into())
        }
        ForkResult::Child => {
            drop(ours);
            let _ = setpgid(Pid::from_raw(0), Pid::from_raw(0));
            crate::run::serve_the_parent();
            nvml::serve(theirs.into(), interval);
            // SAFETY: this ends the process; what would be run on the way out is our parent's to run.
            unsafe { libc::_exit(0) }
        }
    }
}
