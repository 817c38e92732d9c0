//! Threads that give way to those that answer requests.
//!
//! They have a lower priority, and runtimes of their own, so that neither processors nor threads are taken from people
//! who look something up by what may as well come a moment later. On Linux a priority is a thread's own, and threads
//! inherit it from the one that starts them: those of the index's writer too, which the indexer makes.

use std::io;

use rustix::process::{getpid, getpriority_process, setpriority_process};
use tokio::runtime::{Builder, Handle, Runtime};

/// How far a thread gives way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Priority {
    /// Taking in what clients send: they wait for it, and a crowd of them must not keep searches waiting.
    Intake,
    /// What no client waits for: reading reports, indexing, removing what is old.
    Background,
}

impl Priority {
    /// How much is added to the niceness. Beside a busy thread that answers, one with 5 more gets about a third of
    /// what that one gets, and one with 10 more about a tenth.
    const fn niceness(self) -> i32 {
        match self {
            Self::Intake => 5,
            Self::Background => 10,
        }
    }

    /// Gives it to the calling thread. Whatever that had before, it is counted from the process's first thread.
    pub fn take(self) {
        let taken = getpriority_process(Some(getpid()))
            .and_then(|first| setpriority_process(None, first.saturating_add(self.niceness())));
        if let Err(error) = taken {
            tracing::debug!(%error, ?self, "a thread keeps the priority it has");
        }
    }
}

/// A runtime on threads of one priority; what runs on it is left alone when this is dropped.
#[derive(Debug)]
pub struct Threads {
    runtime: Option<Runtime>,
    handle: Handle,
}

impl Threads {
    /// Starts them.
    pub fn start(name: &str, priority: Priority) -> io::Result<Self> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name(name)
            .on_thread_start(move || priority.take())
            .enable_all()
            .build()?;
        Ok(Self {
            handle: runtime.handle().clone(),
            runtime: Some(runtime),
        })
    }

    /// Starts tasks and blocking work on these threads.
    pub fn handle(&self) -> &Handle {
        &self.handle
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            // The last owner may be an async thread, which must not wait for others.
            runtime.shutdown_background();
        }
    }
}
