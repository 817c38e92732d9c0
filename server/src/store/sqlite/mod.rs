//! Records, jobs and tokens in one SQLite file.
//!
//! One thread writes, so that writers never wait for each other's locks, and commits once for all who wait at that
//! moment; several connections read beside it, which WAL allows. `synchronous=FULL` makes every commit durable before
//! it returns: in WAL mode the default of many set-ups (`NORMAL`) may lose the last commits when the power fails
//! (<https://sqlite.org/pragma.html#pragma_synchronous>).

mod jobs;
mod kin;
mod modules;
mod outbox;
mod outcomes;
mod previews;
mod readers;
mod records;
mod schema;
mod tokens;
mod upkeep;
mod writer;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode};

use self::readers::Readers;
use self::writer::Writer;
use super::{Clock, Result, SteadyClock, StoreError};

/// Bytes of the write-ahead log that stay on the disk once it has been written back.
const LOG_BYTES: u32 = 16 << 20;

/// The database of the single binary. Clones share it.
#[derive(Clone)]
pub struct Sqlite {
    writer: Writer,
    readers: Arc<Readers>,
    /// By which jobs are lent.
    clock: Arc<dyn Clock>,
}

impl std::fmt::Debug for Sqlite {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sqlite")
            .field("path", &self.readers.path())
            .finish_non_exhaustive()
    }
}

impl Sqlite {
    /// Opens the database file, making it or bringing it up to date where needed.
    pub fn open(path: &Path) -> Result<Self> {
        Self::with_clock(path, Arc::new(SteadyClock))
    }

    /// The same with a clock of another's choice.
    pub fn with_clock(path: &Path, clock: Arc<dyn Clock>) -> Result<Self> {
        let mut connection = Connection::open(path)?;
        prepare(&connection)?;
        // Says something before the first table only: lets deleted rows give their space back.
        connection.pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
        // Returns the mode as a row; only WAL lets readers work beside the writer.
        connection.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(()))?;
        connection.pragma_update(None, "synchronous", "FULL")?;
        connection.query_row(&format!("PRAGMA journal_size_limit = {LOG_BYTES}"), [], |_| Ok(()))?;
        schema::migrate(&mut connection)?;
        Ok(Self {
            readers: Arc::new(Readers::open(path)?),
            writer: Writer::start(connection)?,
            clock,
        })
    }

    /// Runs `work` in a transaction on the writing thread; committed, and durable, when this returns `Ok`.
    async fn write<T, F>(&self, work: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> Result<T> + Send + 'static,
    {
        self.writer.in_transaction(work).await
    }

    /// Runs `work` on the writing thread while no transaction is open.
    async fn outside_transactions<T, F>(&self, work: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> Result<T> + Send + 'static,
    {
        self.writer.alone(work).await
    }

    /// Runs `work` on a reading connection, off the async threads.
    async fn read<T, F>(&self, work: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> Result<T> + Send + 'static,
    {
        let readers = Arc::clone(&self.readers);
        blocking(move || readers.with(work)).await
    }
}

/// Runs blocking work on the runtime's threads for that.
pub(crate) async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|error| StoreError::Failed(error.to_string()))?
}

/// Statements that a connection keeps prepared: more than there are. Else it parses them anew each time.
const STATEMENTS: usize = 256;

/// Settings of every connection.
fn prepare(connection: &Connection) -> rusqlite::Result<()> {
    connection.busy_timeout(Duration::from_secs(10))?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    // Else a statement is planned anew for the values that it is given, each time it runs.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.pragma_update(None, "foreign_keys", "ON")
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        // A file that may not grow (quota, RLIMIT_FSIZE) is a failed write to SQLite, not a full disk.
        const IOERR_WRITE: i32 = rusqlite::ffi::SQLITE_IOERR_WRITE;
        let text = error.to_string();
        let rusqlite::Error::SqliteFailure(cause, _) = &error else {
            return Self::Failed(text);
        };
        match cause.code {
            ErrorCode::DiskFull => Self::Full(text),
            _ if cause.extended_code == IOERR_WRITE => Self::Full(text),
            ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase => Self::Damaged(text),
            // No file descriptor, no memory, or a file system that fails: what was not done can be done again.
            ErrorCode::CannotOpen
            | ErrorCode::SystemIoFailure
            | ErrorCode::OutOfMemory
            | ErrorCode::DatabaseBusy
            | ErrorCode::DatabaseLocked
            | ErrorCode::FileLockingProtocolFailed => Self::Unavailable(text),
            _ => Self::Failed(text),
        }
    }
}

/// Reads a stored value back; what does not parse was damaged since it was written.
fn parse<T>(what: &str, parsed: std::result::Result<T, impl std::fmt::Display>) -> Result<T> {
    parsed.map_err(|error| StoreError::Damaged(format!("{what}: {error}")))
}

/// A number to look up. No row has the largest, which stands for those that SQLite can not keep.
fn wanted(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn millis(time: Timestamp) -> i64 {
    time.as_millisecond()
}

fn timestamp(millis: i64) -> Result<Timestamp> {
    parse("time", Timestamp::from_millisecond(millis))
}
