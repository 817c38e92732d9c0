//! Bodies of requests, as every handler that takes one reads them.

use std::cell::{Cell, RefCell};
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use actix_web::body::{BodySize, BoxBody, MessageBody};
use actix_web::dev::{Decompress, Payload, ServiceRequest, ServiceResponse};
use actix_web::error::PayloadError;
use actix_web::http::header::{CONTENT_ENCODING, CONTENT_LENGTH, ContentEncoding};
use actix_web::{HttpMessage, HttpRequest};
use bytes::Bytes;
use futures_util::stream::{self, LocalBoxStream};
use futures_util::{Stream, StreamExt};

use super::prelude::*;
use crate::ingest::pace::{Cut, PaceError, Upload};
use crate::ingest::{AppendError, Received};

/// Bytes of a packed body that are unpacked at a time: packed a thousandfold they are a MiB.
const PACKED_PIECE: usize = 1 << 10;
/// Bytes that a packed body may always have when it is unpacked.
const UNPACKED_FREE: u64 = 16 << 20;
/// Bytes of a body that is kept in memory; longer ones are kept in a file until all of it is here.
const IN_MEMORY: usize = 256 << 10;

/// The pieces of a body. They keep coming, or the last one is an error.
pub type Pieces = LocalBoxStream<'static, Result<Bytes, PayloadError>>;

/// The pieces of a request's body as they were sent.
pub fn pieces(services: &Services, payload: Payload) -> ApiResult<Pieces> {
    let upload = services.uploads.start();
    let upload = upload.ok_or_else(|| {
        let most = services.config.limits.uploads;
        ApiError::new(
            Code::TooManyRequests,
            format!("{most} requests are being received, as many as are allowed (`limits.uploads`)"),
        )
    })?;
    // Forms ask again after the end.
    Ok(stream::unfold(Some((payload, upload)), next).fuse().boxed_local())
}

/// The pieces of a request's body, unpacked if it has a `Content-Encoding`, as Crashpad sends it.
pub fn unpacked(services: &Services, request: &HttpRequest, payload: Payload) -> ApiResult<Pieces> {
    let encoding = match request.headers().get(CONTENT_ENCODING) {
        Some(value) => encoding(value.to_str().unwrap_or_default())?,
        None => ContentEncoding::Identity,
    };
    let pieces = pieces(services, payload)?;
    if encoding == ContentEncoding::Identity {
        return Ok(pieces);
    }
    let packed = Rc::new(Cell::new(0));
    let small = pieces.flat_map({
        let packed = Rc::clone(&packed);
        move |piece| stream::iter(split(piece, &packed))
    });
    let ratio = services.config.limits.unpack_ratio;
    let mut unpacked = 0;
    let pieces = Decompress::new(small, encoding).map(move |piece| {
        let piece = piece?;
        unpacked += piece.len() as u64;
        if unpacked > UNPACKED_FREE.saturating_add(ratio.saturating_mul(packed.get())) {
            return Err(PayloadError::Io(io::Error::other(Inflated(ratio))));
        }
        Ok(piece)
    });
    Ok(pieces.boxed_local())
}

fn encoding(name: &str) -> ApiResult<ContentEncoding> {
    match name.trim().parse() {
        Ok(known @ (ContentEncoding::Identity | ContentEncoding::Gzip | ContentEncoding::Deflate)) => Ok(known),
        _ => Err(ApiError::new(
            Code::UnsupportedType,
            format!("the Content-Encoding {name:?} is not gzip or deflate"),
        )),
    }
}

/// A packed piece in small ones, counted.
fn split(piece: Result<Bytes, PayloadError>, packed: &Cell<u64>) -> Vec<Result<Bytes, PayloadError>> {
    let Ok(mut piece) = piece else {
        return vec![piece];
    };
    packed.set(packed.get() + piece.len() as u64);
    let mut small = Vec::with_capacity(piece.len() / PACKED_PIECE + 1);
    while !piece.is_empty() {
        small.push(Ok(piece.split_to(piece.len().min(PACKED_PIECE))));
    }
    small
}

type Receiving = Option<(Payload, Upload)>;

async fn next(state: Receiving) -> Option<(Result<Bytes, PayloadError>, Receiving)> {
    let (mut payload, upload) = state?;
    let piece = upload.next(&mut payload).await?;
    Some(match piece {
        Ok(piece) => (Ok(piece), Some((payload, upload))),
        Err(PaceError::Body(error)) => (Err(error), None),
        Err(PaceError::Cut(cut)) => (Err(PayloadError::Io(io::Error::other(cut))), None),
    })
}

/// A body that unpacks to too much.
#[derive(Debug, thiserror::Error)]
#[error("the body unpacks to more than 16 MiB and {0} times its size (`limits.unpack_ratio`)")]
struct Inflated(u64);

/// What went wrong with a body, as an answer.
pub fn broken(error: &PayloadError) -> ApiError {
    let cause = match error {
        PayloadError::Io(error) => error.get_ref(),
        _ => None,
    };
    if let Some(cut) = cause.and_then(|cause| cause.downcast_ref::<Cut>()) {
        return ApiError::new(Code::TooSlow, cut);
    }
    if let Some(inflated) = cause.and_then(|cause| cause.downcast_ref::<Inflated>()) {
        return ApiError::new(Code::TooLarge, inflated);
    }
    ApiError::new(Code::InvalidRequest, format!("the body broke off: {error}"))
}

/// Whether the request says that its body has more bytes than `most`.
pub fn says_more_than(request: &HttpRequest, most: u64) -> bool {
    let length = request.headers().get(CONTENT_LENGTH);
    let length = length.and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
    length.is_some_and(|length| length > most)
}

/// A body that is all here.
#[derive(Debug)]
pub enum Whole {
    /// A short one.
    Memory(Vec<u8>),
    /// A longer one; the file is removed when dropped.
    File(Received),
}

impl Whole {
    /// Whether it is so long that it waits in a file.
    pub fn is_long(&self) -> bool {
        matches!(self, Self::File(_))
    }

    /// All of its bytes. Reads a file, so not for async threads.
    pub fn read(self) -> io::Result<Vec<u8>> {
        match self {
            Self::Memory(bytes) => Ok(bytes),
            Self::File(file) => std::fs::read(&file.path),
        }
    }
}

/// Receives a whole body of up to `most` bytes, which `setting` limits. Bodies that come slowly wait on the disk, so
/// that many of them take no memory.
pub async fn whole(services: &Services, mut pieces: Pieces, most: u64, setting: &str) -> ApiResult<Whole> {
    let not_kept = |error| append_error(error, || too_long(most, setting));
    let (mut start, mut file, mut bytes) = (Vec::new(), None, 0_u64);
    while let Some(piece) = pieces.next().await {
        let piece = piece.map_err(|error| broken(&error))?;
        bytes += piece.len() as u64;
        if bytes > most {
            return Err(too_long(most, setting));
        }
        start.extend_from_slice(&piece);
        if start.len() > IN_MEMORY {
            let file = match &mut file {
                Some(file) => file,
                none => none.insert(services.ingest.receive(most)?),
            };
            file.write(&start).await.map_err(not_kept)?;
            start.clear();
        }
    }
    let Some(mut file) = file else {
        return Ok(Whole::Memory(start));
    };
    file.write(&start).await.map_err(not_kept)?;
    Ok(Whole::File(file.finish().await.map_err(not_kept)?))
}

/// What went wrong with bytes that were to be kept, as an answer.
pub fn append_error(error: AppendError, too_long: impl FnOnce() -> ApiError) -> ApiError {
    match error {
        AppendError::TooLong => too_long(),
        AppendError::Store(error) => error.into(),
    }
}

/// The answer to a body that is longer than a setting allows.
pub fn too_long(most: u64, setting: &str) -> ApiError {
    ApiError::new(
        Code::TooLarge,
        format!("the body has more than the {most} bytes that are allowed (`{setting}`)"),
    )
    .with("limit", most)
}

/// A request's body, which its handler may leave unread. Held until the answer has been sent: the HTTP layer goes on
/// reading a chunked body that nobody holds any more, without an end; while somebody does, it closes the connection
/// after the answer.
#[derive(Clone)]
pub struct Unread(Rc<RefCell<Payload>>);

impl Unread {
    /// Shares the body of a request, if it has one, with its handler.
    pub fn of(request: &mut ServiceRequest) -> Option<Self> {
        let payload = request.take_payload();
        if matches!(payload, Payload::None) {
            return None;
        }
        let shared = Self(Rc::new(RefCell::new(payload)));
        request.set_payload(Payload::Stream {
            payload: Box::pin(shared.clone()),
        });
        Some(shared)
    }

    /// Makes the answer hold what is left.
    pub fn held_by(self, response: ServiceResponse<BoxBody>) -> ServiceResponse<BoxBody> {
        response.map_body(|_, body| BoxBody::new(Holding { body, _unread: self }))
    }
}

impl Stream for Unread {
    type Item = Result<Bytes, PayloadError>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        Pin::new(&mut *self.0.borrow_mut()).poll_next(context)
    }
}

struct Holding {
    body: BoxBody,
    _unread: Unread,
}

impl MessageBody for Holding {
    type Error = <BoxBody as MessageBody>::Error;

    fn size(&self) -> BodySize {
        self.body.size()
    }

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, Self::Error>>> {
        Pin::new(&mut self.body).poll_next(context)
    }
}
