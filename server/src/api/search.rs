//! Searching.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use actix_web::{HttpRequest, HttpResponse};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use tokio::sync::OwnedSemaphorePermit;
use utoipa::{IntoParams, ToSchema};

use super::prelude::*;
use super::{conditional, cursor};
use crate::search::{self, FacetValue, SearchPage, SearchRequest, Sort};
use crate::store::{StoreError, Summary};

/// How long a search waits while as many are running as may.
const PATIENCE: Duration = Duration::from_secs(2);

/// What is asked.
#[derive(Debug, Deserialize, IntoParams)]
pub struct SearchQuery {
    /// Words, `"phrases"`, `field:value`, `-not`, `prefix*`. Fields: cause, signal, exception, host, job, rank, gpu,
    /// driver, torch, kind, plugin, signature. A value is also found by its first or last parts between dots, and by
    /// its words: `host:node-1` of `node-1.cluster`, `torch:2.11` of `2.11.0`, `gpu:H100`. Everything matches when
    /// absent.
    #[serde(default)]
    pub q: String,
    /// Only what happened then or later (RFC 3339).
    pub since: Option<String>,
    /// Only what happened before then (RFC 3339).
    pub until: Option<String>,
    /// Results at most, 20 if absent, at most 200.
    pub limit: Option<usize>,
    /// Where the page before ended: its `next`. The first page when absent.
    pub after: Option<String>,
    /// `relevance` (if absent) or `newest`.
    #[serde(default)]
    pub sort: Sort,
    /// Values at most per facet, 10 if absent, at most 100; 0 for none.
    pub facet_values: Option<u32>,
}

/// What is found.
#[derive(Debug, Serialize, ToSchema)]
pub struct Found {
    /// All matches.
    pub total: u64,
    /// Those asked for.
    pub hits: Vec<Hit>,
    /// What to give as `after` for the next page; absent on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
    /// Values by field, most frequent first, counted over all matches.
    pub facets: BTreeMap<&'static str, Vec<FacetValue>>,
}

/// A report that was found.
#[derive(Debug, Serialize, ToSchema)]
pub struct Hit {
    /// What it is.
    #[serde(flatten)]
    pub summary: Summary,
    /// How many reports have the same signature, this one included, counted up to 10,000.
    pub count: u64,
}

/// Runs a search that keeps its permit to its end: it goes on when nobody waits for it any more.
async fn search_to_the_end(
    services: &Services,
    request: SearchRequest,
    permit: OwnedSemaphorePermit,
) -> crate::store::Result<SearchPage> {
    let index = Arc::clone(&services.stores.search);
    let searched = tokio::spawn(async move {
        let page = index.search(&request).await;
        drop(permit);
        page
    });
    searched.await.map_err(|error| StoreError::Failed(error.to_string()))?
}

/// When it may have happened.
fn period(query: &SearchQuery) -> ApiResult<Option<Range<i64>>> {
    let time = |name: &str, text: &Option<String>| {
        let parsed = text.as_ref().map(|text| text.parse::<Timestamp>()).transpose();
        let parsed =
            parsed.map_err(|error| ApiError::new(Code::InvalidRequest, format!("`{name}` is no time: {error}")));
        Ok::<_, ApiError>(parsed?.map(Timestamp::as_millisecond))
    };
    let (since, until) = (time("since", &query.since)?, time("until", &query.until)?);
    let asked = since.is_some() || until.is_some();
    Ok(asked.then(|| since.unwrap_or(i64::MIN)..until.unwrap_or(i64::MAX)))
}

/// Finds reports. 304 while what is found is what `If-None-Match` names.
#[utoipa::path(get, path = "/api/v1/search", tag = "search", params(SearchQuery),
    responses((status = 200, body = Found), (status = 304), (status = "default", response = super::problem::ProblemDocument)))]
pub async fn search(
    _: Allowed<Read>,
    services: Data<Services>,
    http: HttpRequest,
    query: Query<SearchQuery>,
) -> ApiResult<HttpResponse> {
    let request = SearchRequest {
        query: search::Query::parse(&query.q)?,
        period: period(&query)?,
        limit: query.limit.unwrap_or(20).min(200),
        after: cursor::place(query.after.as_ref())?,
        sort: query.sort,
        facet_values: query.facet_values.unwrap_or(10).min(100),
    };
    let permit = tokio::time::timeout(PATIENCE, Arc::clone(&services.searches).acquire_owned()).await;
    let Ok(Ok(permit)) = permit else {
        return Err(ApiError::new(Code::Busy, "as many searches are running as are allowed"));
    };
    let page = match search_to_the_end(&services, request, permit).await {
        Err(error @ (StoreError::Unavailable(_) | StoreError::Damaged(_))) => {
            tracing::warn!(%error, "a search was not answered");
            let index = services.indexer.status(&services.stores).await?;
            return Err(ApiError::new(Code::IndexUnavailable, index.describe()));
        }
        page => page?,
    };
    let signatures: Vec<String> = page.hits.iter().filter_map(|hit| hit.signature.clone()).collect();
    let mut sizes = services.stores.records.group_sizes(&signatures).await?.into_iter();
    let hits = page.hits.into_iter().map(|summary| {
        let count = summary.signature.as_ref().and_then(|_| sizes.next()).unwrap_or(1);
        Hit { summary, count }
    });
    conditional::answer(
        &http,
        &Found {
            total: page.total,
            hits: hits.collect(),
            next: cursor::word(page.next.as_ref())?,
            facets: page.facets,
        },
    )
}
