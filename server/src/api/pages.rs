//! Pages of causes that previews published.

use serde::Serialize;
use utoipa::ToSchema;

use super::access::Admin;
use super::plugins::{Removed, change};
use super::prelude::*;
use crate::store::{PreviewRecord, PreviewState};

/// The pages that were published here.
#[derive(Debug, Serialize, ToSchema)]
pub struct Pages {
    /// By id.
    pub pages: Vec<PublishedPage>,
}

/// A page that was published here.
#[derive(Debug, Serialize, ToSchema)]
pub struct PublishedPage {
    /// Id of its cause.
    pub id: String,
    /// One line; absent where the page can not be used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// SHA-256 of its file.
    pub sha256: String,
    /// Reports that its cause was found in.
    pub reports: u64,
    /// The preview that applied it, while that can be undone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preview: Option<u64>,
}

/// The pages of causes that were published to this server, by applying previews of them.
#[utoipa::path(get, path = "/api/v1/pages", tag = "knowledge",
    responses((status = 200, body = Pages), (status = "default", response = super::problem::ProblemDocument)))]
pub async fn list(_: Allowed<Read>, services: Data<Services>) -> ApiResult<Json<Pages>> {
    let (catalog, counts) = (services.diagnoser.catalog(), services.stores.records.causes().await?);
    let previews = services.stores.previews.previews().await?;
    let page = |(id, sha256): (String, String)| {
        let is_applied = |preview: &&PreviewRecord| {
            preview.state == PreviewState::Applied && preview.of.name == id && preview.of.sha256 == sha256
        };
        let cause = catalog
            .get(&id)
            .filter(|cause| cause.id == id && !cause.origin.is_empty());
        PublishedPage {
            title: cause.map(|cause| cause.title.clone()),
            reports: counts
                .iter()
                .filter(|count| count.cause == id)
                .map(|count| count.reports)
                .sum(),
            preview: previews.iter().find(is_applied).map(|preview| preview.number),
            sha256,
            id,
        }
    };
    Ok(Json(Pages {
        pages: services.published.pages()?.into_iter().map(page).collect(),
    }))
}

/// Removes a page that was published. Where it stood in the place of one of ours, that one is back; reports are diagnosed
/// anew without it.
#[utoipa::path(delete, path = "/api/v1/pages/{id}", tag = "knowledge", params(("id" = String, Path)),
    responses((status = 200, body = Removed), (status = "default", response = super::problem::ProblemDocument)))]
pub async fn remove(_: Allowed<Admin>, services: Data<Services>, path: Path<String>) -> ApiResult<Json<Removed>> {
    let name = path.into_inner();
    let removed = name.clone();
    let ((), diagnosed_anew) = change(services, move |published| published.remove_page(&removed)).await?;
    Ok(Json(Removed { name, diagnosed_anew }))
}
