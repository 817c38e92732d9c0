//! Whether a request comes directly from this machine: what a server without tokens answers, and nothing else.
//!
//! The address of the peer alone does not tell. A proxy on this machine passes on what others send; a page elsewhere
//! can make a visitor's browser post to `http://127.0.0.1:7311` (stopped by `Sec-Fetch-Site` and `Origin`); and a page
//! whose own name is made to resolve to 127.0.0.1 reads what it likes as if it were ours (DNS rebinding; stopped by the
//! `Host` header). Where nothing tells a request that was passed on from a direct one (a tunnel, a proxy that changes
//! nothing), only a token helps.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use actix_web::dev::ServiceRequest;
use actix_web::http::Version;
use actix_web::http::header::{HOST, HeaderMap, HeaderName, ORIGIN, REFERER};

use super::problem::{ApiError, Code};

/// Parts of the names of headers that only proxies write: `Forwarded`, `X-Forwarded-For`, `X-Real-IP`,
/// `True-Client-IP`, `X-Original-Host`, `Proxy-Connection`, `X-Remote-User`.
const FORWARDING: &[&str] = &[
    "forward",
    "proxy",
    "proxied",
    "real-ip",
    "realip",
    "client-ip",
    "clientip",
    "cluster-ip",
    "connecting-ip",
    "originating",
    "original-",
    "remote-",
    "auth-request",
];
/// How the names of headers begin that proxies and content delivery networks add.
const PROXIES: &[&str] = &[
    "via",
    "x-via",
    "x-host",
    "x-scheme",
    "x-envoy-",
    "x-amz-",
    "x-amzn-",
    "x-azure-",
    "x-appengine-",
    "x-cloud-trace-",
    "x-arr-",
    "x-vercel-",
    "x-nf-",
    "x-varnish",
    "cf-",
    "cdn-",
    "fly-",
    "fastly-",
    "akamai-",
    "incap-",
    "ngrok-",
    "surrogate-",
    "tailscale-",
];

/// Refuses a request that does not come directly from this machine under a name of it, or one of `hosts`.
pub fn check(request: &ServiceRequest, hosts: &[String]) -> Result<(), ApiError> {
    let headers = request.headers();
    if !request.peer_addr().is_some_and(|peer| is_this_machine(peer.ip())) {
        return Err(not_direct("it comes from another machine"));
    }
    if let Some(name) = headers.keys().find(|name| is_of_a_proxy(name)) {
        return Err(not_direct(format!("its header `{name}` is a proxy's")));
    }
    // What nginx speaks to what is behind it unless told otherwise, and no client of today.
    if request.version() < Version::HTTP_11 {
        return Err(not_direct("it came with HTTP/1.0, as from a proxy"));
    }
    let host = single_host(request)?;
    if !is_own_name(host, hosts) {
        return Err(ApiError::new(
            Code::UnknownHost,
            format!("the server was asked as {host:?}"),
        ));
    }
    match page(headers) {
        Some(page) if !is_own_name(page, hosts) => Err(not_direct(format!(
            "a page of {page:?} sent it, and something in between gave it the name {host:?}"
        ))),
        _ => Ok(()),
    }
}

fn not_direct(why: impl std::fmt::Display) -> ApiError {
    ApiError::new(
        Code::NotDirect,
        format!("the request does not come directly from this machine: {why}"),
    )
}

fn is_of_a_proxy(name: &HeaderName) -> bool {
    let name = name.as_str();
    FORWARDING.iter().any(|part| name.contains(part)) || PROXIES.iter().any(|start| name.starts_with(start))
}

/// The name that the request asks for: there must be one, and only one.
fn single_host(request: &ServiceRequest) -> Result<&str, ApiError> {
    let mut sent = request
        .headers()
        .get_all(HOST)
        .map(|host| host.to_str().unwrap_or_default());
    let host = sent.next().unwrap_or_default();
    let target = request.uri().authority().map(actix_web::http::uri::Authority::as_str);
    if let Some(other) = sent
        .next()
        .or(target.filter(|target| !target.eq_ignore_ascii_case(host)))
    {
        return Err(ApiError::new(
            Code::UnknownHost,
            format!("the server was asked as {host:?} and as {other:?}"),
        ));
    }
    Ok(host)
}

/// The authority of the page that a browser says the request is from; none for a link on a page of another site, which
/// anybody may follow.
fn page(headers: &HeaderMap) -> Option<&str> {
    let site = headers.get("sec-fetch-site").map(|site| site.as_bytes());
    if matches!(site, Some(b"cross-site" | b"same-site")) {
        return None;
    }
    let address = headers.get(ORIGIN).or_else(|| headers.get(REFERER))?;
    Some(address.to_str().ok().and_then(authority).unwrap_or("unknown"))
}

/// `host:port` of an address.
fn authority(address: &str) -> Option<&str> {
    address.split_once("://")?.1.split(['/', '?', '#']).next()
}

/// Whether a browser sends the request on behalf of a page of another site.
pub fn is_cross_site(headers: &HeaderMap) -> bool {
    if let Some(site) = headers.get("sec-fetch-site") {
        return !matches!(site.as_bytes(), b"same-origin" | b"none");
    }
    let Some(origin) = headers.get(ORIGIN) else {
        return false;
    };
    let host = headers
        .get(HOST)
        .and_then(|host| host.to_str().ok())
        .unwrap_or_default();
    origin.to_str().ok().and_then(authority) != Some(host)
}

/// Whether this machine is known under the name in `host`, which may have a port; or the server, by its settings.
fn is_own_name(host: &str, hosts: &[String]) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) => name,
        _ => host,
    };
    let six = name.strip_prefix('[').and_then(|name| name.strip_suffix(']'));
    name.eq_ignore_ascii_case("localhost")
        || name.parse::<Ipv4Addr>().is_ok_and(|address| address.is_loopback())
        || six.is_some_and(|six| six.parse::<Ipv6Addr>().is_ok_and(|six| is_this_machine(six.into())))
        || hosts.iter().any(|own| own.eq_ignore_ascii_case(name))
}

/// Loopback, also as an IPv4 address written as an IPv6 one.
fn is_this_machine(address: IpAddr) -> bool {
    address.to_canonical().is_loopback()
}
