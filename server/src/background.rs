//! Threads for work that no client waits for: reading reports, indexing, removing what is old.
//!
//! They have a lower priority than those that answer requests, and a runtime of their own, so that neither processors
//! nor threads are taken by what may as well come a moment later. On Linux a priority is a thread's own, and threads
//! inherit it from the one that starts them: those of the index's writer too, which the indexer makes.

use std::io;

use tokio::runtime::{Builder, Handle, Runtime};

/// How much is added to the niceness of these threads: beside a busy thread that answers, one of them gets about a
/// tenth of a processor.
const NICENESS: i32 = 10;

/// A runtime on such threads; what runs on it is left alone when this is dropped.
#[derive(Debug)]
pub struct Background {
    runtime: Option<Runtime>,
    handle: Handle,
}

impl Background {
    /// Starts the threads.
    pub fn start() -> io::Result<Self> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("background")
            .on_thread_start(give_way)
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

impl Drop for Background {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            // The last owner may be an async thread, which must not wait for others.
            runtime.shutdown_background();
        }
    }
}

/// Lowers the priority of the calling thread.
pub fn give_way() {
    if let Err(error) = rustix::process::nice(NICENESS) {
        tracing::debug!(%error, "a background thread keeps its priority");
    }
}
