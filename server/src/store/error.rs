//! Why a store could not do what it was asked, and what of that is for everybody to read.

use std::io;

use rustix::io::Errno;

use super::ReportId;

/// What a store operation returns.
pub type Result<T> = std::result::Result<T, StoreError>;

/// Why a store could not do what it was asked. The texts inside are for the log: they may name paths and tables.
#[derive(Clone, Debug, thiserror::Error)]
pub enum StoreError {
    /// No space is left where it writes. Nothing was half-written.
    #[error("the disk is full: {0}")]
    Full(String),
    /// It is short of something that comes back by itself: file descriptors, memory, a lock.
    #[error("the store is not available now: {0}")]
    Unavailable(String),
    /// The job queue holds as many jobs as it may.
    #[error("the job queue is full")]
    QueueFull,
    /// Another worker holds the job's lease by now: this one's result is void.
    #[error("the lease on job {0} was lost")]
    LeaseLost(ReportId),
    /// What is stored does not have the form it must have.
    #[error("stored data is damaged: {0}")]
    Damaged(String),
    /// The store did not answer as it should.
    #[error("the store failed: {0}")]
    Failed(String),
}

impl StoreError {
    /// Whether the same may succeed later, when there is space, or less to do: a reason to wait, never to give up.
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Full(_) | Self::Unavailable(_) | Self::QueueFull)
    }

    /// The error in words for people who use the server: without paths, tables or addresses of the machine it runs on.
    pub fn public(&self) -> String {
        match self {
            Self::Full(_) => "the server has no space left on its disk".to_owned(),
            Self::Unavailable(_) => "the server is short of files, memory or time right now".to_owned(),
            Self::QueueFull | Self::LeaseLost(_) => self.to_string(),
            Self::Damaged(_) => "what the server has stored of it is damaged".to_owned(),
            Self::Failed(_) => "a store of the server failed".to_owned(),
        }
    }
}

impl From<io::Error> for StoreError {
    fn from(error: io::Error) -> Self {
        Self::from(&error)
    }
}

impl From<&io::Error> for StoreError {
    fn from(error: &io::Error) -> Self {
        if is_full(error) {
            Self::Full(error.to_string())
        } else if is_short(error) {
            Self::Unavailable(error.to_string())
        } else {
            Self::Failed(error.to_string())
        }
    }
}

/// Whether the error means that no more can be written: no space, over quota, or over the size a file may have.
pub(crate) fn is_full(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge
    )
}

/// Whether the error means that the machine is short of something that comes back.
pub(crate) fn is_short(error: &io::Error) -> bool {
    let short = [
        Errno::MFILE,
        Errno::NFILE,
        Errno::NOMEM,
        Errno::AGAIN,
        Errno::BUSY,
        Errno::INTR,
        Errno::TIMEDOUT,
    ];
    errno(error).is_some_and(|errno| short.contains(&errno))
}

/// What the kernel said. Errors that have the path added keep of its number only the words that end them.
fn errno(error: &io::Error) -> Option<Errno> {
    let in_words = || {
        let text = error.to_string();
        let (_, number) = text.split_once("(os error ")?;
        let number = number.split(')').next()?.parse().ok()?;
        Some(Errno::from_raw_os_error(number))
    };
    Errno::from_io_error(error).or_else(in_words)
}
