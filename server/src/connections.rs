//! The connections that are open, and what keeps a few clients from holding all of them.
//!
//! The first request of a connection has a time limit, an idle connection too, and an answer that nobody takes. Only a
//! request that begins on a connection that was used before may take for ever. So once half of the connections are
//! taken, each answer ends its connection: whoever holds one that way never gets more than the other half.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use actix_web::dev::Extensions;
use socket2::SockRef;

/// How long a client may take nothing of an answer before its connection is closed.
const UNREAD: Duration = Duration::from_secs(60);
/// One connection and one file of its upload leave two thirds of the files to the stores.
const FILES_PER_CONNECTION: u64 = 3;

/// The connections that are open.
#[derive(Debug)]
pub struct Connections {
    open: AtomicUsize,
    most: usize,
}

/// An open connection; counted until it is dropped.
struct Open(Arc<Connections>);

impl Connections {
    /// As many as are configured, and as the files allow that this process may open.
    pub fn new(configured: usize) -> Self {
        let most = allowed_by_files();
        if most < configured {
            tracing::warn!(
                "at most {most} connections at one time: raise the limit of open files (`ulimit -n`) for more"
            );
        }
        Self {
            open: AtomicUsize::new(0),
            most: configured.min(most).max(1),
        }
    }

    /// How many there may be.
    pub fn most(&self) -> usize {
        self.most
    }

    /// Whether so many are open that each shall end with its answer.
    pub fn are_many(&self) -> bool {
        self.open.load(Ordering::Relaxed) > self.most / 2
    }

    /// Counts a connection for as long as its data lives, and closes it when its client takes nothing of an answer.
    pub fn opened(self: &Arc<Self>, connection: &dyn Any, data: &mut Extensions) {
        self.open.fetch_add(1, Ordering::Relaxed);
        data.insert(Open(Arc::clone(self)));
        if let Some(stream) = connection.downcast_ref::<actix_web::rt::net::TcpStream>()
            && let Err(error) = SockRef::from(stream).set_tcp_user_timeout(Some(UNREAD))
        {
            tracing::debug!(%error, "can not bound how long a client may take nothing of its answer");
        }
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::Relaxed);
    }
}

/// How many connections the files allow that this process may open. Many systems start programs with a low limit that
/// they may raise.
fn allowed_by_files() -> usize {
    use nix::sys::resource::{Resource, getrlimit, setrlimit};
    /// What most systems start programs with, where a sandbox refuses the question.
    const USUAL: u64 = 1024;
    let files = match getrlimit(Resource::RLIMIT_NOFILE) {
        Ok((_, hard)) if setrlimit(Resource::RLIMIT_NOFILE, hard, hard).is_ok() => hard,
        Ok((soft, _)) => soft,
        Err(_) => USUAL,
    };
    usize::try_from(files / FILES_PER_CONNECTION).unwrap_or(usize::MAX)
}
