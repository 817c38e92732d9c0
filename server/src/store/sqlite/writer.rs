//! The one thread that writes.
//!
//! A commit costs a sync of the disk whether it holds one change or fifty, so all writes that wait share one. Each has
//! a savepoint of its own: one that fails takes nothing of the others with it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc;
use std::thread;

use rusqlite::Connection;
use tokio::sync::oneshot;

use super::blocking;
use crate::store::{Result, StoreError};
use crate::threads::Priority;

/// Writes that may wait for the thread; more make their callers wait.
const QUEUE: usize = 256;
/// Most writes in one commit.
const BATCH: usize = 64;

/// Tells who waits how a write ended, once it is known whether it was committed.
type Answer = Box<dyn FnOnce(Result<()>) + Send>;

/// Part of a transaction. It is not begun where the transaction has failed already, and says whether it went well.
type Change = Box<dyn FnOnce(Result<&Connection>) -> (Answer, bool) + Send>;

enum Write {
    InTransaction(Change),
    /// By itself, outside any transaction.
    Alone(Box<dyn FnOnce(&Connection) + Send>),
}

/// Hands work to the thread. Clones share it.
#[derive(Clone)]
pub struct Writer {
    writes: mpsc::SyncSender<Write>,
}

impl Writer {
    /// Starts the thread, which has the connection from then on.
    pub fn start(connection: Connection) -> Result<Self> {
        let (writes, waiting) = mpsc::sync_channel(QUEUE);
        thread::Builder::new().name("sqlite-writer".into()).spawn(move || {
            Priority::Intake.take();
            run(&connection, &waiting);
        })?;
        Ok(Self { writes })
    }

    /// Runs `work` in a transaction; committed, and durable, when this returns `Ok`.
    pub async fn in_transaction<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let (sender, answer) = oneshot::channel();
        let change: Change = Box::new(move |connection| {
            let value = connection.and_then(|connection| guarded(|| work(connection)));
            let good = value.is_ok();
            let answer = move |committed: Result<()>| {
                // Nobody may be waiting any more; the write counts all the same.
                drop(sender.send(value.and_then(|value| committed.map(|()| value))));
            };
            (Box::new(answer), good)
        });
        self.send(Write::InTransaction(change)).await?;
        answer.await.map_err(|_| gone())?
    }

    /// Runs `work` while no transaction is open.
    pub async fn alone<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let (sender, answer) = oneshot::channel();
        self.send(Write::Alone(Box::new(move |connection| {
            drop(sender.send(guarded(|| work(connection))));
        })))
        .await?;
        answer.await.map_err(|_| gone())?
    }

    async fn send(&self, write: Write) -> Result<()> {
        if let Err(mpsc::TrySendError::Full(write)) = self.writes.try_send(write) {
            let writes = self.writes.clone();
            return blocking(move || writes.send(write).map_err(|_| gone())).await;
        }
        Ok(())
    }
}

fn gone() -> StoreError {
    StoreError::Failed("the database's writing thread has ended".into())
}

/// The outcome of `work`, also where it panics: the thread serves everybody.
fn guarded<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| Err(StoreError::Failed("a write panicked".into())))
}

fn run(connection: &Connection, writes: &mpsc::Receiver<Write>) {
    while let Ok(first) = writes.recv() {
        let mut changes = Vec::new();
        for write in std::iter::once(first).chain(writes.try_iter().take(BATCH - 1)) {
            match write {
                Write::InTransaction(change) => changes.push(change),
                Write::Alone(work) => {
                    commit(connection, std::mem::take(&mut changes));
                    work(connection);
                }
            }
        }
        commit(connection, changes);
    }
}

/// Runs all changes in one transaction and answers each.
fn commit(connection: &Connection, changes: Vec<Change>) {
    if changes.is_empty() {
        return;
    }
    let mut answers = Vec::with_capacity(changes.len());
    let mut outcome = execute(connection, "BEGIN IMMEDIATE");
    for change in changes {
        outcome = outcome.and_then(|()| execute(connection, "SAVEPOINT change"));
        let (answer, good) = change(outcome.clone().map(|()| connection));
        answers.push(answer);
        outcome = outcome.and_then(|()| settle(connection, good));
    }
    let committed = outcome.and_then(|()| execute(connection, "COMMIT"));
    if !connection.is_autocommit() {
        // What was begun and not committed must not stay open; it fails only where nothing is left to take back.
        drop(execute(connection, "ROLLBACK"));
    }
    for answer in answers {
        answer(committed.clone());
    }
}

/// Keeps what a change did, or takes it back.
fn settle(connection: &Connection, good: bool) -> Result<()> {
    if connection.is_autocommit() {
        // On errors such as a full disk SQLite takes the whole transaction back by itself.
        return Err(StoreError::Unavailable("the transaction was taken back".into()));
    }
    if !good {
        execute(connection, "ROLLBACK TO change")?;
    }
    execute(connection, "RELEASE change")
}

fn execute(connection: &Connection, statement: &str) -> Result<()> {
    connection.prepare_cached(statement)?.execute([])?;
    Ok(())
}
