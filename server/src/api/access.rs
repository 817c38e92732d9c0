//! Who may do what.
//!
//! [`guard`] finds out once who sends a request, and a handler says what it needs by taking an [`Allowed`] argument.
//! A server that never had a token is open to requests that come directly from its own machine ([`super::direct`]);
//! from the first token on every request needs one, also after the last was revoked.

use std::future::{Ready, ready};
use std::marker::PhantomData;

use actix_web::body::{EitherBody, MessageBody};
use actix_web::dev::{Payload, ServiceRequest, ServiceResponse};
use actix_web::http::header::{AUTHORIZATION, HeaderMap};
use actix_web::middleware::Next;
use actix_web::{FromRequest, HttpMessage, HttpRequest, ResponseError, web};

use super::direct;
use super::problem::{ApiError, Code};
use crate::services::Services;
use crate::store::{Scope, Token, TokenRecord};

/// One scope, or several of which one is enough, as a type.
pub trait Needs: 'static {
    /// The scopes.
    const SCOPES: &[Scope];
}

macro_rules! needs {
    ($($name:ident = $($scope:ident)|+;)*) => {
        $(
            #[doc = concat!("Needs one of ", $("`", stringify!($scope), "` ",)+ ".")]
            #[derive(Debug)]
            pub struct $name;

            impl Needs for $name {
                const SCOPES: &[Scope] = &[$(Scope::$scope),+];
            }
        )*
    };
}

needs! {
    Ingest = Ingest;
    Read = Read;
    Write = Write;
    Admin = Admin;
    IngestOrRead = Ingest | Read;
}

/// Proof that the request may do what needs the scope.
#[derive(Debug)]
pub struct Allowed<S>(PhantomData<S>);

impl<S: Needs> FromRequest for Allowed<S> {
    type Error = ApiError;
    type Future = Ready<Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let caller = request.extensions().get::<Caller>().cloned();
        // Without the guard before it nothing is allowed.
        ready(
            caller
                .unwrap_or(Caller::Unknown)
                .may(S::SCOPES)
                .map(|()| Self(PhantomData)),
        )
    }
}

/// Who sent a request.
#[derive(Clone, Debug)]
enum Caller {
    /// Somebody on this machine, at a server that never had a token.
    Local,
    /// Who has this token.
    Holder(TokenRecord),
    /// Anybody.
    Unknown,
}

impl Caller {
    fn may(&self, needed: &[Scope]) -> Result<(), ApiError> {
        match self {
            Self::Local => Ok(()),
            Self::Holder(token) if needed.iter().any(|scope| token.allows(*scope)) => Ok(()),
            Self::Holder(_) => {
                let names: Vec<&str> = needed.iter().map(|scope| scope.as_str()).collect();
                let detail = format!("this needs the scope `{}`", names.join("` or `"));
                Err(ApiError::new(Code::Forbidden, detail))
            }
            Self::Unknown => Err(ApiError::new(Code::Unauthorized, "the request has no token")),
        }
    }
}

/// Refuses what a browser sends on behalf of another site, what sends a token that is none, and, while there never
/// was a token, what does not come directly from this machine; notes who sends the rest.
pub async fn guard<B: MessageBody>(
    request: ServiceRequest,
    next: Next<B>,
) -> Result<ServiceResponse<EitherBody<B>>, actix_web::Error> {
    match caller(&request).await {
        Ok(caller) => {
            request.extensions_mut().insert(caller);
            next.call(request).await.map(ServiceResponse::map_into_left_body)
        }
        Err(error) => Ok(request.into_response(error.error_response()).map_into_right_body()),
    }
}

async fn caller(request: &ServiceRequest) -> Result<Caller, ApiError> {
    let services: &web::Data<Services> = request
        .app_data()
        .ok_or_else(|| ApiError::new(Code::Internal, "the server is not set up"))?;
    if !request.method().is_safe() && direct::is_cross_site(request.headers()) {
        return Err(ApiError::new(
            Code::CrossSite,
            "the request comes from a page of another site",
        ));
    }
    if request.headers().contains_key(AUTHORIZATION) {
        return holder(services, request.headers()).await;
    }
    if services.tokens.had_any().await? {
        return Ok(Caller::Unknown);
    }
    direct::check(request, &services.config.hosts).map(|()| Caller::Local)
}

/// Who has the token of the request.
async fn holder(services: &Services, headers: &HeaderMap) -> Result<Caller, ApiError> {
    let refused = |detail| ApiError::new(Code::Unauthorized, detail);
    let secret = bearer(headers).ok_or_else(|| refused("the Authorization header is not one `Bearer …`"))?;
    let token = services.tokens.token(&Token::hash(secret)).await?;
    token
        .map(Caller::Holder)
        .ok_or_else(|| refused("the token is not known, or was revoked"))
}

/// The token of a single `Authorization: Bearer …`.
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let mut sent = headers.get_all(AUTHORIZATION);
    let (scheme, secret) = sent.next()?.to_str().ok()?.split_once(' ')?;
    (sent.next().is_none() && scheme.eq_ignore_ascii_case("bearer")).then_some(secret.trim())
}
