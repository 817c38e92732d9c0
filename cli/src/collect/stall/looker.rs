//! The process that looks at a job which stands still.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Seek as _, SeekFrom};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::process::{Pid, PidfdFlags, Resource, Rlimit, pidfd_open, setpriority_process, setrlimit};

use super::look::Line;

/// Seconds of processor time that it may take.
const TIME: u64 = 30;
/// It gives way to everything else.
const NICE: i32 = 19;

/// Somebody who looks.
#[derive(Debug)]
pub struct Looker {
    /// Readable when it has ended.
    process: OwnedFd,
    found: File,
}

impl Looker {
    /// Has these processes looked at; none where there is no room for that.
    pub fn start(pids: &[u32]) -> Option<Self> {
        let found: File = memfd_create("found", MemfdFlags::CLOEXEC).ok()?.into();
        let mut looker = Command::new("/proc/self/exe");
        looker
            .arg("look-at")
            .args(pids.iter().map(u32::to_string))
            .stdin(Stdio::null())
            .stdout(found.try_clone().ok()?)
            .stderr(Stdio::null());
        // SAFETY: between fork and exec, this only makes system calls.
        unsafe { looker.pre_exec(prepare) };
        let child = looker.spawn().ok()?;
        let process = pidfd_open(Pid::from_child(&child), PidfdFlags::empty()).ok()?;
        Some(Self { process, found })
    }

    /// What becomes readable when it has seen all.
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.process.as_fd()
    }

    /// What it has found, once it has ended.
    pub fn found(&mut self) -> Option<Vec<Line>> {
        let mut ended = [PollFd::new(self.process.as_fd(), PollFlags::POLLIN)];
        if !poll(&mut ended, PollTimeout::ZERO).is_ok_and(|count| count > 0) {
            return None;
        }
        self.found.seek(SeekFrom::Start(0)).ok()?;
        let lines = BufReader::new(&self.found).lines().map_while(Result::ok);
        Some(lines.filter_map(|line| serde_json::from_str(&line).ok()).collect())
    }
}

/// In a session of its own, so that no signal for the job reaches it, and at nobody's expense.
fn prepare() -> std::io::Result<()> {
    rustix::process::setsid()?;
    let _ = setpriority_process(None, NICE);
    let time = Rlimit {
        current: Some(TIME),
        maximum: Some(TIME),
    };
    let _ = setrlimit(Resource::Cpu, time);
    Ok(())
}
