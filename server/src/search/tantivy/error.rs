//! What tantivy's errors mean.

use std::io;
use std::sync::Arc;

use ::tantivy::TantivyError;
use ::tantivy::directory::error::{LockError, OpenDirectoryError, OpenReadError, OpenWriteError};

use crate::store::{StoreError, is_full, is_short};

/// An error while files of the index were opened or read: unless the machine is short of something, they are damaged.
pub fn of_files(error: &TantivyError) -> StoreError {
    match io_error(error) {
        Some(io) if is_full(io) || is_short(io) => io.into(),
        _ => StoreError::Damaged(error.to_string()),
    }
}

/// An error while something was written: whether the index is damaged has to be looked at.
pub fn of_writing(error: &TantivyError) -> StoreError {
    io_error(error).map_or_else(|| StoreError::Failed(error.to_string()), StoreError::from)
}

/// Whether the error comes from the request and says nothing about the index.
pub fn is_of_request(error: &TantivyError) -> bool {
    matches!(
        error,
        TantivyError::AggregationError(_)
            | TantivyError::InvalidArgument(_)
            | TantivyError::FieldNotFound(_)
            | TantivyError::SchemaError(_)
    )
}

fn io_error(error: &TantivyError) -> Option<&io::Error> {
    let io: &Arc<io::Error> = match error {
        TantivyError::IoError(io)
        | TantivyError::OpenReadError(OpenReadError::IoError { io_error: io, .. })
        | TantivyError::OpenWriteError(OpenWriteError::IoError { io_error: io, .. })
        | TantivyError::OpenDirectoryError(OpenDirectoryError::IoError { io_error: io, .. })
        | TantivyError::LockFailure(LockError::IoError(io), _) => io,
        _ => return None,
    };
    Some(io)
}
