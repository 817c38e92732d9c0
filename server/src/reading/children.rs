//! The processes that read, as the server sees them.

use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::AsFd;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use whycrash_plugin_host::Input;
use whycrash_reading::stored::Parts;

use super::{Answer, ReadError, ReadReports, Request};
use crate::config::Config;

/// Reports that one process reads before another takes its place: whatever a flaw leaks is given back.
const REPORTS: u32 = 500;

/// Processes that read reports; as many as read at one time.
#[derive(Debug)]
pub struct Children {
    program: PathBuf,
    config: String,
    time: Duration,
    idle: Mutex<Vec<Process>>,
}

/// One process, which waits for a request.
#[derive(Debug)]
struct Process {
    child: Child,
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
    reports: u32,
}

impl Children {
    /// Children of this program with this configuration. None is started before there is something to read.
    ///
    /// # Errors
    /// When this program does not know where it is.
    pub fn new(config: &Config) -> anyhow::Result<Self> {
        let program = match &config.reader {
            Some(program) => program.clone(),
            None => std::env::current_exe()?,
        };
        Ok(Self {
            program,
            config: serde_json::to_string(config)?,
            time: Duration::from_secs(config.workers.read_seconds.max(1)),
            idle: Mutex::default(),
        })
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Process>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A process that waits. One that somebody ended meanwhile is no fault of the next report.
    fn living(&self) -> Option<Process> {
        loop {
            let mut process = self.idle().pop()?;
            if matches!(process.child.try_wait(), Ok(None)) {
                return Some(process);
            }
        }
    }

    fn start(&self) -> io::Result<Process> {
        let mut child = Command::new(&self.program)
            .arg("read")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let (requests, answers) = (child.stdin.take(), child.stdout.take());
        let (Some(requests), Some(answers)) = (requests, answers) else {
            return Err(io::Error::other("a reading process has no pipes"));
        };
        let mut process = Process {
            child,
            requests,
            answers: BufReader::new(answers),
            reports: 0,
        };
        process.send(&self.config)?;
        Ok(process)
    }
}

impl ReadReports for Children {
    fn read(&self, input: &Input, folder: &Path) -> Result<Parts, ReadError> {
        let request = serde_json::to_string(&Request::new(input, folder)).map_err(io::Error::from)?;
        let mut process = match self.living() {
            Some(process) => process,
            None => self.start()?,
        };
        let answer = process.ask(&request, self.time)?;
        process.reports += 1;
        if process.reports < REPORTS {
            self.idle().push(process);
        }
        match answer {
            Answer::Read(parts) => {
                let parts = parts.into_iter().map(|(name, sent)| Ok((name, sent.body()?)));
                parts.collect::<Result<_, _>>().map(Parts)
            }
            Answer::NoMemory => Err(ReadError::Died(
                "the process that read it got no more memory".to_owned(),
            )),
            Answer::Panicked(words) => Err(ReadError::Panicked(words)),
            Answer::Failed(Some(number), _) => Err(io::Error::from_raw_os_error(number).into()),
            Answer::Failed(None, words) => Err(io::Error::other(words).into()),
        }
    }
}

impl Process {
    fn send(&mut self, line: &str) -> io::Result<()> {
        self.requests.write_all(line.as_bytes())?;
        self.requests.write_all(b"\n")?;
        self.requests.flush()
    }

    /// The answer to a request. A process that gives none in time is ended.
    fn ask(&mut self, request: &str, time: Duration) -> Result<Answer, ReadError> {
        let mut line = String::new();
        let deadline = Instant::now() + time;
        // A process that died takes no request; how it died is told by its status.
        let in_time = self.send(request).is_err() || self.answers_by(deadline)?;
        if in_time {
            self.answers.read_line(&mut line)?;
        }
        if let Ok(answer) = serde_json::from_str(&line) {
            return Ok(answer);
        }
        drop(self.child.kill());
        let status = self.child.wait()?;
        Err(ReadError::Died(if in_time {
            ended(status)
        } else {
            format!("reading it took longer than {} seconds", time.as_secs())
        }))
    }

    /// Waits for an answer, or for the end of the process; false when neither comes in time.
    fn answers_by(&self, deadline: Instant) -> io::Result<bool> {
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let mut answers = [PollFd::new(self.answers.get_ref().as_fd(), PollFlags::POLLIN)];
            match poll(&mut answers, PollTimeout::try_from(left).unwrap_or(PollTimeout::MAX)) {
                Ok(0) if Instant::now() >= deadline => return Ok(false),
                Ok(0) | Err(Errno::EINTR) => {}
                Ok(_) => return Ok(true),
                Err(error) => return Err(error.into()),
            }
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// How a process ended, in words.
fn ended(status: ExitStatus) -> String {
    // Rust ends a program by SIGABRT when it gets no memory, the kernel by SIGKILL when there is none.
    let why = match status.signal() {
        Some(6) => "gave up, as it does where it gets no more memory".to_owned(),
        Some(9) => "was killed, as the kernel does when memory runs out".to_owned(),
        Some(signal) => format!("was ended by signal {signal}"),
        None => format!("ended with code {}", status.code().unwrap_or_default()),
    };
    format!("the process that read it {why}")
}
