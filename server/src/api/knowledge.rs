//! Groups and causes.

use serde::Serialize;
use utoipa::ToSchema;
use whycrash_catalog::Cause;
use whycrash_evidence::did_you_mean;

use super::prelude::*;
use crate::store::Group;

/// Reports shown of a group.
const LATEST: u32 = 20;

/// All reports with one signature: how many, since when, and the newest.
#[utoipa::path(get, path = "/api/v1/groups/{signature}", tag = "search", params(("signature" = String, Path)),
    responses((status = 200, body = Group), (status = "default", response = super::problem::ProblemDocument)))]
pub async fn group(_: Allowed<Read>, services: Data<Services>, path: Path<String>) -> ApiResult<Json<Group>> {
    let group = services.stores.records.group(&path, LATEST).await?;
    let group = group.ok_or_else(|| ApiError::new(Code::NoGroup, format!("no report has the signature {path}")))?;
    Ok(Json(group))
}

/// A cause in the list of causes.
#[derive(Debug, Serialize, ToSchema)]
pub struct CauseHead {
    /// Kebab-case id.
    pub id: String,
    /// One line.
    pub title: String,
    /// A few sentences.
    pub summary: String,
    /// `fatal`, `wrong-results`, `slow` or `notice`.
    pub severity: String,
    /// Who owns such a failure, such as `program` or `hardware`; or `unknown`.
    pub domain: String,
    /// Words to find it by.
    pub tags: Vec<String>,
    /// Other ids that its page answers for.
    pub also: Vec<String>,
    /// What a person sees.
    pub signs: Vec<String>,
    /// Reports it was found in.
    pub reports: u64,
}

/// The documented causes.
#[derive(Debug, Serialize, ToSchema)]
pub struct Causes {
    /// By id.
    pub causes: Vec<CauseHead>,
}

/// All documented causes, with how many reports have each.
#[utoipa::path(get, path = "/api/v1/causes", tag = "knowledge",
    responses((status = 200, body = Causes), (status = "default", response = super::problem::ProblemDocument)))]
pub async fn causes(_: Allowed<Read>, services: Data<Services>) -> ApiResult<Json<Causes>> {
    let counts = services.stores.records.causes().await?;
    let catalog = services.diagnoser.catalog();
    let causes = catalog.causes().iter().map(|cause| CauseHead {
        id: cause.id.clone(),
        title: cause.title.clone(),
        summary: cause.summary.clone(),
        severity: cause.severity.clone(),
        domain: cause.domain.clone(),
        tags: cause.tags.clone(),
        also: cause.also.clone(),
        signs: cause.signs.clone(),
        reports: counts
            .iter()
            .filter(|count| count.cause == cause.id)
            .map(|count| count.reports)
            .sum(),
    });
    Ok(Json(Causes {
        causes: causes.collect(),
    }))
}

/// A cause with its page.
#[derive(Debug, Serialize, ToSchema)]
pub struct CausePage {
    /// Its front matter: id, title, summary, signs, fixes, references and more.
    #[serde(flatten)]
    pub cause: Cause,
    /// Its prose as HTML that is safe to put into a page.
    pub html: String,
    /// Reports it was found in.
    pub reports: u64,
}

/// A documented cause, by its id or by one that its page answers for.
#[utoipa::path(get, path = "/api/v1/causes/{id}", tag = "knowledge", params(("id" = String, Path)),
    responses((status = 200, body = CausePage), (status = "default", response = super::problem::ProblemDocument)))]
pub async fn cause(_: Allowed<Read>, services: Data<Services>, path: Path<String>) -> ApiResult<Json<CausePage>> {
    let catalog = services.diagnoser.catalog();
    let cause = catalog
        .get(&path)
        .ok_or_else(|| {
            let near = did_you_mean(&path, catalog.causes().iter().map(|cause| cause.id.as_str()));
            ApiError::new(Code::NoCause, format!("no cause is called {path}{near}"))
        })?
        .clone();
    let counts = services.stores.records.causes().await?;
    let reports = counts
        .iter()
        .filter(|count| count.cause == cause.id)
        .map(|count| count.reports)
        .sum();
    Ok(Json(CausePage {
        html: cause.body_html(|id| format!("/causes/{id}")),
        cause,
        reports,
    }))
}
