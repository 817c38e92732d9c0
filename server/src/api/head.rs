//! HEAD: what GET answers, without the body.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use actix_web::body::{BodySize, EitherBody, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::Method;
use actix_web::middleware::Next;
use bytes::Bytes;

/// Leaves out the bodies of answers to HEAD before anything is read for them; their sizes stay in the headers.
pub async fn without_body<B: MessageBody>(
    request: ServiceRequest,
    next: Next<B>,
) -> Result<ServiceResponse<EitherBody<B, SizeOnly>>, actix_web::Error> {
    let is_head = request.method() == Method::HEAD;
    let response = next.call(request).await?;
    Ok(if is_head {
        response.map_body(|_, body| EitherBody::right(SizeOnly(body.size())))
    } else {
        response.map_into_left_body()
    })
}

/// The size of a body, and nothing of it.
#[derive(Debug)]
pub struct SizeOnly(BodySize);

impl MessageBody for SizeOnly {
    type Error = Infallible;

    fn size(&self) -> BodySize {
        self.0
    }

    fn poll_next(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Bytes, Infallible>>> {
        Poll::Ready(None)
    }
}
