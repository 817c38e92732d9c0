//! Answers to requests.

use std::collections::BTreeMap;

use ::tantivy::aggregation::agg_req::Aggregations;
use ::tantivy::aggregation::agg_result::{AggregationResult, AggregationResults, BucketResult};
use ::tantivy::aggregation::{AggContextParams, AggregationCollector, AggregationLimitsGuard, Key};
use ::tantivy::collector::{Count, TopDocs};
use ::tantivy::schema::Value as _;
use ::tantivy::{DocAddress, Index, Order, Searcher, TantivyDocument, TantivyError};

use super::fields::{self, Fields};
use super::translate;
use crate::search::{FacetValue, Field, SearchPage, SearchRequest, Sort};
use crate::store::Summary;

/// What the index answers to a request.
pub fn find(
    searcher: &Searcher,
    index: &Index,
    fields: Fields,
    request: &SearchRequest,
) -> ::tantivy::Result<SearchPage> {
    let query = translate::query(&request.query, &fields);
    let total = searcher.search(&query, &Count)? as u64;
    let addresses = top(searcher, query.as_ref(), request)?;
    let hits = addresses
        .into_iter()
        .map(|address| summary(searcher, fields, address))
        .collect::<::tantivy::Result<_>>()?;
    let facets = if request.facet_values == 0 {
        BTreeMap::new()
    } else {
        let aggregations = facet_request(request.facet_values)?;
        let context = AggContextParams::new(AggregationLimitsGuard::default(), index.tokenizers().clone());
        facets(searcher.search(&query, &AggregationCollector::from_aggs(aggregations, context))?)
    };
    Ok(SearchPage { total, hits, facets })
}

fn top(
    searcher: &Searcher,
    query: &dyn ::tantivy::query::Query,
    request: &SearchRequest,
) -> ::tantivy::Result<Vec<DocAddress>> {
    if request.limit == 0 {
        return Ok(Vec::new());
    }
    let top = TopDocs::with_limit(request.limit).and_offset(request.offset);
    if request.sort == Sort::Relevance && request.query.has_words() {
        let found = searcher.search(query, &top.order_by_score())?;
        return Ok(found.into_iter().map(|(_, address)| address).collect());
    }
    let found = searcher.search(query, &top.order_by_fast_field::<i64>(fields::TIME, Order::Desc))?;
    Ok(found.into_iter().map(|(_, address)| address).collect())
}

fn summary(searcher: &Searcher, fields: Fields, address: DocAddress) -> ::tantivy::Result<Summary> {
    let document: TantivyDocument = searcher.doc(address)?;
    let json = document
        .get_first(fields.summary)
        .and_then(|value| value.as_str().map(str::to_owned));
    serde_json::from_str(&json.unwrap_or_default()).map_err(|error| TantivyError::InternalError(error.to_string()))
}

fn facet_request(values: u32) -> ::tantivy::Result<Aggregations> {
    let facets: serde_json::Map<String, serde_json::Value> = Field::ALL
        .into_iter()
        .map(|field| {
            (
                field.name().to_owned(),
                serde_json::json!({"terms": {"field": field.name(), "size": values}}),
            )
        })
        .collect();
    serde_json::from_value(facets.into()).map_err(|error| TantivyError::InternalError(error.to_string()))
}

fn facets(results: AggregationResults) -> BTreeMap<&'static str, Vec<FacetValue>> {
    let mut facets = BTreeMap::new();
    for (name, result) in results.0 {
        let Some(field) = Field::named(&name) else { continue };
        let AggregationResult::BucketResult(BucketResult::Terms { buckets, .. }) = result else {
            continue;
        };
        let values = buckets.into_iter().map(|bucket| {
            let value = match bucket.key {
                Key::Str(text) => text,
                other => other.to_string(),
            };
            FacetValue {
                value,
                count: bucket.doc_count,
            }
        });
        facets.insert(field.name(), values.collect());
    }
    facets
}
