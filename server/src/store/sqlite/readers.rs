//! Connections that read.

use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rusqlite::{Connection, OpenFlags};

use super::prepare;
use crate::store::{Result, StoreError};

/// Connections that are open from the start: without them a process that has run out of file descriptors could not
/// read a single report.
const FIRST: usize = 2;
/// Most connections.
const MOST: usize = 8;
/// How long a reader waits for a connection when all are in use.
const PATIENCE: Duration = Duration::from_secs(10);

/// Connections that read, opened as needed and kept.
pub struct Readers {
    path: PathBuf,
    state: Mutex<State>,
    freed: Condvar,
}

#[derive(Default)]
struct State {
    idle: Vec<Connection>,
    open: usize,
}

impl Readers {
    /// Readers of the database at `path`.
    pub fn open(path: &Path) -> Result<Self> {
        let idle: Vec<_> = (0..FIRST).map(|_| connect(path)).collect::<Result<_>>()?;
        Ok(Self {
            path: path.to_owned(),
            state: Mutex::new(State { open: idle.len(), idle }),
            freed: Condvar::new(),
        })
    }

    /// The database file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Runs `work` on a connection, waiting for one if need be.
    pub fn with<T>(&self, work: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        let lent = Lent {
            connection: Some(self.take()?),
            readers: self,
        };
        lent.connection.as_ref().map_or_else(
            || Err(StoreError::Failed("a connection that was lent is gone".into())),
            work,
        )
    }

    fn take(&self) -> Result<Connection> {
        let deadline = Instant::now() + PATIENCE;
        let mut state = self.lock();
        loop {
            if let Some(connection) = state.idle.pop() {
                return Ok(connection);
            }
            if state.open < MOST
                && let Ok(connection) = connect(&self.path)
            {
                state.open += 1;
                return Ok(connection);
            }
            // All are in use, or no more can be opened: one of them comes back.
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(StoreError::Unavailable("all connections that read are in use".into()));
            }
            state = self
                .freed
                .wait_timeout(state, left)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A connection that comes back however the work with it ends.
struct Lent<'a> {
    connection: Option<Connection>,
    readers: &'a Readers,
}

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        self.readers.lock().idle.extend(self.connection.take());
        self.readers.freed.notify_one();
    }
}

fn connect(path: &Path) -> Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    prepare(&connection)?;
    // Opening is lazy: the first statement opens the files.
    connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
    Ok(connection)
}
