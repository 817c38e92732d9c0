//! Answers to requests.

use std::collections::BTreeMap;
use std::ops::{Bound, Range};

use ::tantivy::aggregation::agg_req::Aggregations;
use ::tantivy::aggregation::agg_result::{AggregationResult, AggregationResults, BucketResult};
use ::tantivy::aggregation::{AggContextParams, AggregationCollector, AggregationLimitsGuard, Key};
use ::tantivy::collector::sort_key::{NaturalComparator, SegmentSortKeyComputer, SortKeyComputer};
use ::tantivy::collector::{Count, TopDocs};
use ::tantivy::columnar::Column;
use ::tantivy::query::{BooleanQuery, ConstScoreQuery, Query, RangeQuery};
use ::tantivy::schema::{Term, Value as _};
use ::tantivy::{DocAddress, DocId, Index, Score, Searcher, SegmentReader, TantivyDocument, TantivyError};

use super::fields::{self, Fields};
use super::translate;
use crate::search::{FacetValue, Field, Rank, SearchPage, SearchRequest, Sort};
use crate::store::Summary;

/// What the index answers to a request.
pub fn find(
    searcher: &Searcher,
    index: &Index,
    fields: Fields,
    request: &SearchRequest,
) -> ::tantivy::Result<SearchPage> {
    let query = within(
        translate::query(&request.query, &fields),
        fields,
        request.period.as_ref(),
    );
    let total = searcher.search(&query, &Count)? as u64;
    let (addresses, next) = top(searcher, query.as_ref(), request)?;
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
    Ok(SearchPage {
        total,
        hits,
        next,
        facets,
    })
}

/// What a query finds of the time that is asked for.
fn within(query: Box<dyn Query>, fields: Fields, period: Option<&Range<i64>>) -> Box<dyn Query> {
    let Some(period) = period else { return query };
    let term = |time: i64| Term::from_field_i64(fields.time, time);
    let range = RangeQuery::new(Bound::Included(term(period.start)), Bound::Excluded(term(period.end)));
    // When it happened says nothing about how well it matches.
    let range = ConstScoreQuery::new(Box::new(range), 0.0);
    Box::new(BooleanQuery::intersection(vec![query, Box::new(range)]))
}

/// The results that come first behind the place where the page before ended, and the place where this one ends.
fn top(
    searcher: &Searcher,
    query: &dyn Query,
    request: &SearchRequest,
) -> ::tantivy::Result<(Vec<DocAddress>, Option<Rank>)> {
    if request.limit == 0 {
        return Ok((Vec::new(), None));
    }
    let ranked = Ranked {
        by_score: request.sort == Sort::Relevance && request.query.has_words(),
        after: request.after,
    };
    let found = searcher.search(query, &TopDocs::with_limit(request.limit + 1).order_by(ranked))?;
    let mut page: Vec<(Rank, DocAddress)> = found
        .into_iter()
        .filter_map(|(rank, address)| Some((rank?, address)))
        .collect();
    let more = page.len() > request.limit;
    page.truncate(request.limit);
    let next = page.last().filter(|_| more).map(|(rank, _)| *rank);
    Ok((page.into_iter().map(|(_, address)| address).collect(), next))
}

/// Gives each match its place; those that were on earlier pages have none, and come last.
struct Ranked {
    by_score: bool,
    after: Option<Rank>,
}

struct RankedSegment {
    by_score: bool,
    after: Option<Rank>,
    times: Column<i64>,
    orders: Column<u64>,
}

impl SortKeyComputer for Ranked {
    type SortKey = Option<Rank>;
    type Child = RankedSegment;
    type Comparator = NaturalComparator;

    fn requires_scoring(&self) -> bool {
        self.by_score
    }

    fn segment_sort_key_computer(&self, segment: &SegmentReader) -> ::tantivy::Result<RankedSegment> {
        Ok(RankedSegment {
            by_score: self.by_score,
            after: self.after,
            times: segment.fast_fields().i64(fields::TIME)?,
            orders: segment.fast_fields().u64(fields::ORDER)?,
        })
    }
}

impl SegmentSortKeyComputer for RankedSegment {
    type SortKey = Option<Rank>;
    type SegmentSortKey = Option<Rank>;
    type SegmentComparator = NaturalComparator;

    fn segment_sort_key(&mut self, doc: DocId, score: Score) -> Option<Rank> {
        let rank = Rank {
            // Scores are not negative: their bits compare as they do.
            score: if self.by_score { score.to_bits() } else { 0 },
            time: self.times.first(doc).unwrap_or_default(),
            id: self.orders.first(doc).unwrap_or_default(),
        };
        self.after.is_none_or(|after| rank < after).then_some(rank)
    }

    fn convert_segment_sort_key(&self, rank: Option<Rank>) -> Option<Rank> {
        rank
    }
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
