//! Who may do what.
//!
//! A handler says what it needs by taking an [`Allowed`] argument. While no token exists a server on a loopback
//! address is open to the people of this machine; [`guard`] keeps the web pages they visit out all the same.

use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;

use actix_web::body::{EitherBody, MessageBody};
use actix_web::dev::{Payload, ServiceRequest, ServiceResponse};
use actix_web::http::header::{AUTHORIZATION, HOST, HeaderMap, ORIGIN};
use actix_web::middleware::Next;
use actix_web::{FromRequest, HttpRequest, ResponseError, web};

use super::problem::{ApiError, Code};
use crate::config::Config;
use crate::services::Services;
use crate::store::{Scope, Token};

/// A scope as a type.
pub trait Needs: 'static {
    /// The scope.
    const SCOPE: Scope;
}

macro_rules! needs {
    ($($name:ident),*) => {
        $(
            #[doc = concat!("Needs [`Scope::", stringify!($name), "`].")]
            #[derive(Debug)]
            pub struct $name;

            impl Needs for $name {
                const SCOPE: Scope = Scope::$name;
            }
        )*
    };
}

needs!(Ingest, Read, Write, Admin);

/// Proof that the request may do what needs the scope.
#[derive(Debug)]
pub struct Allowed<S>(PhantomData<S>);

impl<S: Needs> FromRequest for Allowed<S> {
    type Error = ApiError;
    type Future = Pin<Box<dyn Future<Output = Result<Self, ApiError>>>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let request = request.clone();
        Box::pin(async move { authorize(&request, S::SCOPE).await.map(|()| Self(PhantomData)) })
    }
}

async fn authorize(request: &HttpRequest, needed: Scope) -> Result<(), ApiError> {
    let services: &web::Data<Services> = request
        .app_data()
        .ok_or_else(|| ApiError::new(Code::Internal, "the server is not set up"))?;
    let Some(secret) = bearer(request.headers()) else {
        if services.config.is_loopback() && services.tokens.tokens().await?.is_empty() {
            return Ok(());
        }
        return Err(ApiError::new(Code::Unauthorized, "the request has no token"));
    };
    let token = services.tokens.token(&Token::hash(secret)).await?;
    let token = token.ok_or_else(|| ApiError::new(Code::Unauthorized, "the token is not known, or was revoked"))?;
    if token.scopes.iter().any(|scope| scope.allows(needed)) {
        return Ok(());
    }
    Err(ApiError::new(
        Code::Forbidden,
        format!("this needs the scope `{}`", needed.as_str()),
    ))
}

/// The token of `Authorization: Bearer …`.
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, secret) = headers.get(AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then_some(secret.trim())
}

/// Refuses what a browser sends on behalf of another site.
///
/// Two attacks reach servers on loopback through a visitor's browser: a page that posts to `http://127.0.0.1:7311`
/// (stopped by `Sec-Fetch-Site` and `Origin`), and a page whose own name is made to resolve to 127.0.0.1, so that
/// its requests count as same-site (DNS rebinding; stopped by the `Host` header). A token that a page can not know
/// stops both, so the name is not looked at when one is sent.
pub async fn guard<B: MessageBody>(
    request: ServiceRequest,
    next: Next<B>,
) -> Result<ServiceResponse<EitherBody<B>>, actix_web::Error> {
    match check_origin(&request) {
        Ok(()) => next.call(request).await.map(ServiceResponse::map_into_left_body),
        Err(error) => Ok(request.into_response(error.error_response()).map_into_right_body()),
    }
}

fn check_origin(request: &ServiceRequest) -> Result<(), ApiError> {
    let headers = request.headers();
    let host = headers
        .get(HOST)
        .and_then(|host| host.to_str().ok())
        .unwrap_or_default();
    if !request.method().is_safe() && is_cross_site(headers, host) {
        return Err(ApiError::new(
            Code::CrossSite,
            "the request comes from a page of another site",
        ));
    }
    let config = request
        .app_data::<web::Data<Services>>()
        .map(|services| &services.config);
    if bearer(headers).is_none() && config.is_some_and(|config| config.is_loopback() && !is_own_name(host, config)) {
        return Err(ApiError::new(
            Code::UnknownHost,
            format!("the server was asked as {host:?}"),
        ));
    }
    Ok(())
}

fn is_cross_site(headers: &HeaderMap, host: &str) -> bool {
    if let Some(site) = headers.get("sec-fetch-site") {
        return !matches!(site.as_bytes(), b"same-origin" | b"none");
    }
    let Some(origin) = headers.get(ORIGIN) else {
        return false;
    };
    let authority = origin
        .to_str()
        .ok()
        .and_then(|origin| origin.split_once("://"))
        .map(|(_, authority)| authority);
    authority != Some(host)
}

/// Whether the server knows itself under the name in a `Host` header.
fn is_own_name(host: &str, config: &Config) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) => name,
        _ => host,
    };
    let public = config
        .public_url
        .as_deref()
        .and_then(|url| url.split_once("://"))
        .map(|(_, rest)| rest);
    let public = public.and_then(|rest| rest.split(['/', ':']).next());
    // HTTP/1.0 clients send no name; browsers always do.
    name.is_empty()
        || matches!(name, "localhost" | "[::1]")
        || name
            .parse::<std::net::Ipv4Addr>()
            .is_ok_and(|address| address.is_loopback())
        || public.is_some_and(|public| public.eq_ignore_ascii_case(name))
        || config.hosts.iter().any(|own| own.eq_ignore_ascii_case(name))
}
