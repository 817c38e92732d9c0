//! The API's description, made from the handlers themselves.

use actix_web::HttpResponse;
use utoipa::OpenApi;

use super::problem::ProblemDocument;
use super::{
    artifacts, deletion, diagnoses, events, evidence, health, knowledge, minidump, pages, plugins, previews, reports,
    search, symbols, uploads,
};
use crate::documents::Extent;
use crate::search::Sort;
use crate::store::Change;

#[derive(Debug, OpenApi)]
#[openapi(
    info(
        title = "whycrash",
        description = "Takes in crash reports, diagnoses them, and finds them again. Errors are problem documents \
            (RFC 9457) with a stable `code` and a `hint`. Addresses and 64-bit numbers in documents are hex strings. \
            While a token exists, requests carry `Authorization: Bearer …`."
    ),
    // Those that only queries refer to.
    components(schemas(Extent, Sort, Change, ProblemDocument), responses(ProblemDocument)),
    paths(
        reports::create,
        reports::complete,
        reports::show,
        reports::state,
        events::report,
        reports::list,
        evidence::threads,
        evidence::timeline,
        evidence::modules,
        evidence::memory,
        evidence::memory_details,
        evidence::gpu_cores,
        evidence::collectives,
        diagnoses::list,
        diagnoses::show,
        diagnoses::again,
        diagnoses::diff,
        diagnoses::progress,
        diagnoses::renew,
        deletion::delete,
        uploads::put,
        minidump::create,
        artifacts::download,
        artifacts::head,
        artifacts::lines,
        search::search,
        symbols::keep,
        symbols::replace,
        symbols::known,
        knowledge::group,
        knowledge::causes,
        knowledge::cause,
        plugins::list,
        plugins::publish,
        plugins::remove,
        plugins::disable,
        plugins::enable,
        plugins::roll_back,
        pages::list,
        pages::remove,
        previews::list,
        previews::begin,
        previews::show,
        events::preview,
        previews::reports,
        previews::compare,
        previews::apply,
        previews::undo,
        previews::cancel,
        health::healthz,
        health::readyz,
        health::metrics
    )
)]
struct Description;

/// The description, which is the contract: every other form of the model is made from it.
pub fn description() -> utoipa::openapi::OpenApi {
    Description::openapi()
}

/// The description as JSON.
pub async fn serve() -> HttpResponse {
    HttpResponse::Ok().json(description())
}
