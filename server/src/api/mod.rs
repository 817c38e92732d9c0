//! The HTTP API: thin handlers over the library.

pub mod access;
mod artifacts;
mod body;
mod conditional;
mod cursor;
mod deletion;
mod diagnoses;
mod direct;
pub mod disposition;
mod events;
mod evidence;
pub mod head;
mod health;
mod json;
mod knowledge;
mod look;
mod minidump;
mod multipart;
pub mod openapi;
mod pages;
pub mod plugins;
pub mod previews;
pub mod problem;
pub mod range;
mod reports;
mod search;
mod symbols;
mod uploads;

use std::time::Instant;

use actix_web::body::{BoxBody, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::header::{self, HeaderName, HeaderValue};
use actix_web::http::{ConnectionType, Method};
use actix_web::middleware::Next;
use actix_web::web::{self, ServiceConfig};
use actix_web::{HttpRequest, Resource, Responder, ResponseError, guard};

use self::body::Unread;
use self::problem::{ApiError, Code};
use crate::connections::Connections;
use crate::services::Services;
use crate::ui;

/// Makes an app serve the API and the user interface.
pub fn configure(app: &mut ServiceConfig, services: web::Data<Services>) {
    let limits = &services.config.limits;
    app.app_data(
        web::JsonConfig::default()
            .limit(limits.json_bytes)
            .error_handler(|error, _| json_error(&error).into()),
    )
    .app_data(web::QueryConfig::default().error_handler(|error, _| invalid(&error).into()))
    // An id that is none names nothing.
    .app_data(web::PathConfig::default().error_handler(|error, _| ApiError::new(Code::NotFound, error).into()))
    .app_data(services)
    .service(
        web::scope("/api/v1")
            .configure(routes)
            .default_service(web::to(no_such_address)),
    )
    .service(only("/healthz", "GET").get(health::healthz))
    .service(only("/readyz", "GET").get(health::readyz))
    .service(only("/metrics", "GET").get(health::metrics))
    // The addresses that debuginfod's clients know. They take a page for the file they asked for.
    .service(
        web::scope("/buildid")
            .service(only("/{build_id}/{kind}", "GET, HEAD").get(symbols::debuginfod))
            .default_service(web::to(no_such_address)),
    )
    .default_service(web::to(ui::serve));
}

fn routes(app: &mut ServiceConfig) {
    app.service(only("/reports", "GET, POST").get(reports::list).post(reports::create))
        .service(
            only("/reports/{id}", "DELETE, GET")
                .get(reports::show)
                .delete(deletion::delete),
        )
        .service(only("/reports/{id}/state", "GET").get(reports::state))
        .service(only("/reports/{id}/events", "GET").get(events::report))
        .service(only("/reports/{id}/threads", "GET").get(evidence::threads))
        .service(only("/reports/{id}/timeline", "GET").get(evidence::timeline))
        .service(only("/reports/{id}/modules", "GET").get(evidence::modules))
        .service(only("/reports/{id}/memory", "GET").get(evidence::memory))
        .service(only("/reports/{id}/memory-details", "GET").get(evidence::memory_details))
        .service(only("/reports/{id}/gpu-cores", "GET").get(evidence::gpu_cores))
        .service(only("/reports/{id}/collectives", "GET").get(evidence::collectives))
        .service(
            only("/reports/{id}/diagnoses", "GET, POST")
                .get(diagnoses::list)
                .post(diagnoses::again),
        )
        .service(only("/reports/{id}/diagnoses/{version}", "GET").get(diagnoses::show))
        .service(only("/reports/{id}/diff", "GET").get(diagnoses::diff))
        .service(only("/reports/{id}/complete", "POST").post(reports::complete))
        .service(
            only("/reports/{id}/artifacts/{name}", "GET, HEAD, PUT")
                .head(artifacts::head)
                .get(artifacts::download)
                .put(uploads::put),
        )
        .service(only("/reports/{id}/artifacts/{name}/lines", "GET").get(artifacts::lines))
        .service(only("/minidump", "POST").post(minidump::create))
        .service(only("/search", "GET").get(search::search))
        .service(only("/symbols", "POST, PUT").post(symbols::keep).put(symbols::replace))
        .service(only("/symbols/{build_id}", "GET").get(symbols::known))
        .service(only("/groups/{signature}", "GET").get(knowledge::group))
        .service(only("/causes", "GET").get(knowledge::causes))
        .service(only("/causes/{id}", "GET").get(knowledge::cause))
        .service(only("/plugins", "GET, POST").get(plugins::list).post(plugins::publish))
        .service(only("/plugins/{name}", "DELETE").delete(plugins::remove))
        .service(only("/plugins/{name}/disable", "POST").post(plugins::disable))
        .service(only("/plugins/{name}/enable", "POST").post(plugins::enable))
        .service(only("/plugins/{name}/rollback", "POST").post(plugins::roll_back))
        .service(only("/pages", "GET").get(pages::list))
        .service(only("/pages/{id}", "DELETE").delete(pages::remove))
        .service(
            only("/diagnoses", "GET, POST")
                .get(diagnoses::progress)
                .post(diagnoses::renew),
        )
        .service(only("/previews", "GET, POST").get(previews::list).post(previews::begin))
        .service(only("/previews/{number}", "GET").get(previews::show))
        .service(only("/previews/{number}/events", "GET").get(events::preview))
        .service(only("/previews/{number}/reports", "GET").get(previews::reports))
        .service(only("/previews/{number}/reports/{id}", "GET").get(previews::compare))
        .service(only("/previews/{number}/apply", "POST").post(previews::apply))
        .service(only("/previews/{number}/undo", "POST").post(previews::undo))
        .service(only("/previews/{number}/cancel", "POST").post(previews::cancel))
        .service(only("/openapi.json", "GET").get(openapi::serve));
}

/// A resource that answers other methods than those in `allow` with 405. GET brings HEAD with it.
fn only(path: &str, allow: &str) -> Methods {
    let allow = match allow.contains("HEAD") {
        true => allow.to_owned(),
        false => allow.replace("GET", "GET, HEAD"),
    };
    let refuse = move || {
        let error = ApiError::method_not_allowed(&allow);
        async move { Err::<&str, _>(error) }
    };
    Methods(web::resource(path).default_service(web::to(refuse)))
}

struct Methods(Resource);

macro_rules! methods {
    ($($method:ident = $guard:expr;)*) => {
        impl Methods {
            $(fn $method<F, Args>(self, handler: F) -> Self
            where
                F: actix_web::Handler<Args>,
                Args: actix_web::FromRequest + 'static,
                F::Output: Responder + 'static,
            {
                Self(self.0.route(web::route().guard($guard).to(handler)))
            })*
        }
    };
}

methods! {
    // HEAD is a GET whose body is not sent. One that costs less goes before it.
    get = guard::Any(guard::Get()).or(guard::Head());
    head = guard::Head();
    post = guard::Post();
    put = guard::Put();
    delete = guard::Delete();
}

impl actix_web::dev::HttpServiceFactory for Methods {
    fn register(self, config: &mut actix_web::dev::AppService) {
        self.0.register(config);
    }
}

async fn no_such_address(request: HttpRequest) -> Result<&'static str, ApiError> {
    Err(ApiError::new(
        Code::NotFound,
        format!("{} is no address of this API", request.path()),
    ))
}

fn invalid(error: &impl std::fmt::Display) -> ApiError {
    ApiError::new(Code::InvalidRequest, error)
}

fn json_error(error: &actix_web::error::JsonPayloadError) -> ApiError {
    use actix_web::error::JsonPayloadError as E;
    let code = match error {
        E::OverflowKnownLength { .. } | E::Overflow { .. } => Code::TooLarge,
        E::ContentType => Code::UnsupportedType,
        _ => Code::InvalidJson,
    };
    ApiError::new(code, error)
}

/// Counts and times every request, and adds the headers that keep browsers from doing more than they must.
pub async fn observe(
    mut request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<BoxBody>, actix_web::Error> {
    const HEADERS: [(HeaderName, &str); 4] = [
        (
            header::CONTENT_SECURITY_POLICY,
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; \
             connect-src 'self'; worker-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'self'; \
             frame-ancestors 'none'",
        ),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::REFERRER_POLICY, "same-origin"),
    ];
    let started = Instant::now();
    let method = known_method(request.method());
    let unread = Unread::of(&mut request);
    let connections = request.app_data::<web::Data<Connections>>().cloned();
    let mut response = as_problem(next.call(request).await?.map_into_boxed_body());
    for (name, value) in HEADERS {
        if !response.headers().contains_key(&name) {
            response.headers_mut().insert(name, HeaderValue::from_static(value));
        }
    }
    if connections.is_some_and(|connections| connections.are_many()) {
        response
            .response_mut()
            .head_mut()
            .set_connection_type(ConnectionType::Close);
    }
    let route = response.request().match_pattern().unwrap_or_else(|| "other".to_owned());
    let (status, seconds) = (response.status().as_u16(), started.elapsed().as_secs_f64());
    tracing::debug!(method, path = response.request().path(), status, seconds, "answered");
    let labels = [
        ("method", method.to_owned()),
        ("route", route.clone()),
        ("status", status.to_string()),
    ];
    metrics::counter!("whycrash_requests_total", &labels).increment(1);
    metrics::histogram!("whycrash_request_seconds", "route" => route).record(seconds);
    Ok(match unread {
        Some(unread) => unread.held_by(response),
        None => response,
    })
}

/// The method as a label. A client can send any word as a method, and each label is kept for ever.
fn known_method(method: &Method) -> &'static str {
    const KNOWN: [Method; 7] = [
        Method::GET,
        Method::HEAD,
        Method::POST,
        Method::PUT,
        Method::PATCH,
        Method::DELETE,
        Method::OPTIONS,
    ];
    const NAMES: [&str; 7] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];
    let known = KNOWN.iter().zip(NAMES).find(|(known, _)| *known == method);
    known.map_or("other", |(_, name)| name)
}

/// Refusals of the HTTP layer itself, such as of an `Accept-Encoding` that allows nothing, as problem documents too.
fn as_problem(response: ServiceResponse<BoxBody>) -> ServiceResponse<BoxBody> {
    let status = response.status();
    let is_problem = response
        .headers()
        .get(header::CONTENT_TYPE)
        .is_some_and(|kind| kind == "application/problem+json");
    if is_problem || !(status.is_client_error() || status.is_server_error()) {
        return response;
    }
    let same_status = |code: &&Code| code.row().status == status.as_u16();
    let code = Code::ALL.iter().find(same_status).copied();
    let code = code.unwrap_or(if status.is_client_error() {
        Code::InvalidRequest
    } else {
        Code::Internal
    });
    let reason = status.canonical_reason().unwrap_or("refused");
    let problem = ApiError::new(code, format!("the request was refused: {reason}")).error_response();
    response.into_response(problem)
}

/// What every handler needs.
pub(crate) mod prelude {
    pub(crate) use actix_web::web::{Data, Json, Path, Query};

    pub(crate) use super::access::{Allowed, Ingest, Read};
    pub(crate) use super::problem::{ApiError, ApiResult, Code};
    pub(crate) use crate::services::Services;
}
