//! Taking reports away for good.

use std::time::Duration;

use serde::Serialize;
use utoipa::ToSchema;

use super::access::Write;
use super::prelude::*;
use super::reports::report_id;
use crate::maintenance;
use crate::store::ReportId;

/// How long an answer waits for searches to stop finding the report.
const PATIENCE: Duration = Duration::from_secs(2);
/// How often that is looked at.
const LOOK: Duration = Duration::from_millis(10);

/// What became of a report that shall be gone.
#[derive(Debug, Serialize, ToSchema)]
pub struct Deleted {
    /// Its id.
    #[schema(value_type = String)]
    pub id: ReportId,
    /// False if there was no such report.
    pub deleted: bool,
}

/// Deletes a report with its document, its place in the index and what of it is being processed or uploaded. Its
/// artifacts' bytes are removed a while later, unless other reports have the same. Deleting what is not there changes
/// nothing.
#[utoipa::path(delete, path = "/api/v1/reports/{id}", tag = "reports", params(("id" = String, Path)),
    responses((status = 200, body = Deleted), (status = "default", response = super::problem::ProblemDocument)))]
pub async fn delete(_: Allowed<Write>, services: Data<Services>, path: Path<String>) -> ApiResult<Json<Deleted>> {
    let id = report_id(&path)?;
    let deleted = maintenance::delete(&services, &id).await?;
    if deleted {
        // The index follows by itself; who deletes and then searches shall not see it lag, if that can be had.
        drop(tokio::time::timeout(PATIENCE, unfound(&services, &id)).await);
    }
    Ok(Json(Deleted { id, deleted }))
}

/// Waits until searches do not find the report, or can not find anything.
async fn unfound(services: &Services, id: &ReportId) {
    let id = std::slice::from_ref(id);
    while services
        .stores
        .search
        .missing(id)
        .await
        .is_ok_and(|missing| missing.is_empty())
    {
        tokio::time::sleep(LOOK).await;
    }
}
