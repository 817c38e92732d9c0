//! Records, jobs and tokens in one SQLite file.
//!
//! One thread writes, so that writers never wait for each other's locks; several connections read beside it, which
//! WAL allows. `synchronous=FULL` makes every commit durable before it returns: in WAL mode the default of many
//! set-ups (`NORMAL`) may lose the last commits when the power fails (<https://sqlite.org/pragma.html#pragma_synchronous>).

mod jobs;
mod modules;
mod records;
mod schema;
mod tokens;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread;
use std::time::Duration;

use jiff::Timestamp;
use rusqlite::{Connection, ErrorCode, OpenFlags, Transaction, TransactionBehavior};
use tokio::sync::oneshot;

use super::{Result, StoreError};

/// Writes that may wait for the writer; more make their callers wait.
const WRITE_QUEUE: usize = 256;
/// Reading connections kept open.
const IDLE_READERS: usize = 8;

type Write = Box<dyn FnOnce(&mut Connection) + Send>;

/// The database of the single binary. Clones share it.
#[derive(Clone)]
pub struct Sqlite {
    writer: mpsc::SyncSender<Write>,
    readers: Arc<Readers>,
}

impl std::fmt::Debug for Sqlite {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sqlite")
            .field("path", &self.readers.path)
            .finish_non_exhaustive()
    }
}

impl Sqlite {
    /// Opens the database file, making it or bringing it up to date where needed.
    pub fn open(path: &Path) -> Result<Self> {
        let mut connection = Connection::open(path)?;
        prepare(&connection)?;
        // Returns the mode as a row; only WAL lets readers work beside the writer.
        connection.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(()))?;
        connection.pragma_update(None, "synchronous", "FULL")?;
        schema::migrate(&mut connection)?;

        let (writer, writes) = mpsc::sync_channel::<Write>(WRITE_QUEUE);
        thread::Builder::new().name("sqlite-writer".into()).spawn(move || {
            for write in writes {
                write(&mut connection);
            }
        })?;
        Ok(Self {
            writer,
            readers: Arc::new(Readers {
                path: path.to_owned(),
                idle: Mutex::default(),
            }),
        })
    }

    /// Runs `work` in a transaction on the writing thread; committed, and durable, when this returns `Ok`.
    async fn write<T, F>(&self, work: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnOnce(&Transaction<'_>) -> Result<T> + Send + 'static,
    {
        let (answer, result) = oneshot::channel();
        let write: Write = Box::new(move |connection| {
            // Nobody may be waiting any more; the write counts all the same.
            let _ = answer.send(in_transaction(connection, work));
        });
        if let Err(mpsc::TrySendError::Full(write)) = self.writer.try_send(write) {
            let writer = self.writer.clone();
            blocking(move || writer.send(write).map_err(|_| writer_gone())).await?;
        }
        result.await.map_err(|_| writer_gone())?
    }

    /// Runs `work` on a reading connection, off the async threads.
    async fn read<T, F>(&self, work: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> Result<T> + Send + 'static,
    {
        let readers = Arc::clone(&self.readers);
        blocking(move || {
            let connection = readers.take()?;
            let result = work(&connection);
            readers.give_back(connection);
            result
        })
        .await
    }
}

fn in_transaction<T>(connection: &mut Connection, work: impl FnOnce(&Transaction<'_>) -> Result<T>) -> Result<T> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let value = work(&transaction)?;
    transaction.commit()?;
    Ok(value)
}

/// Runs blocking work on the runtime's threads for that.
pub(crate) async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|error| StoreError::Failed(error.to_string()))?
}

fn writer_gone() -> StoreError {
    StoreError::Failed("the database's writing thread has ended".into())
}

/// Settings of every connection.
fn prepare(connection: &Connection) -> rusqlite::Result<()> {
    connection.busy_timeout(Duration::from_secs(10))?;
    connection.pragma_update(None, "foreign_keys", "ON")
}

/// Reading connections, opened as needed.
struct Readers {
    path: PathBuf,
    idle: Mutex<Vec<Connection>>,
}

impl Readers {
    fn take(&self) -> Result<Connection> {
        if let Some(connection) = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop() {
            return Ok(connection);
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(&self.path, flags)?;
        prepare(&connection)?;
        Ok(connection)
    }

    fn give_back(&self, connection: Connection) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < IDLE_READERS {
            idle.push(connection);
        }
    }
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        // A file that may not grow (quota, RLIMIT_FSIZE) is a failed write to SQLite, not a full disk.
        const IOERR_WRITE: i32 = rusqlite::ffi::SQLITE_IOERR_WRITE;
        match &error {
            rusqlite::Error::SqliteFailure(cause, _)
                if cause.code == ErrorCode::DiskFull || cause.extended_code == IOERR_WRITE =>
            {
                Self::Full(error.to_string())
            }
            rusqlite::Error::SqliteFailure(cause, _)
                if matches!(cause.code, ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) =>
            {
                Self::Damaged(error.to_string())
            }
            _ => Self::Failed(error.to_string()),
        }
    }
}

/// Reads a stored value back; what does not parse was damaged since it was written.
fn parse<T>(what: &str, parsed: std::result::Result<T, impl std::fmt::Display>) -> Result<T> {
    parsed.map_err(|error| StoreError::Damaged(format!("{what}: {error}")))
}

fn millis(time: Timestamp) -> i64 {
    time.as_millisecond()
}

fn timestamp(millis: i64) -> Result<Timestamp> {
    parse("time", Timestamp::from_millisecond(millis))
}
