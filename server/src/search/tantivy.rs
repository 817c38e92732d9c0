//! The index of the single binary, by the `tantivy` crate.
//!
//! One thread writes and commits for all who wait at that moment, because a commit costs a few disk syncs whether
//! it holds one document or a hundred. A folder that can not be opened is emptied: the index is derived data.

mod fields;
mod translate;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::mpsc;
use std::thread;

use ::tantivy::aggregation::agg_req::Aggregations;
use ::tantivy::aggregation::agg_result::{AggregationResult, AggregationResults, BucketResult};
use ::tantivy::aggregation::{AggContextParams, AggregationCollector, AggregationLimitsGuard, Key};
use ::tantivy::collector::{Count, TopDocs};
use ::tantivy::schema::{Term, Value as _};
use ::tantivy::{
    DocAddress, Index, IndexReader, IndexWriter, Order, ReloadPolicy, Searcher, TantivyDocument, TantivyError,
};
use async_trait::async_trait;
use tokio::sync::oneshot;

use self::fields::Fields;
use super::{FacetValue, Field, IndexDocument, Search, SearchPage, SearchRequest, Sort};
use crate::store::sqlite::blocking;
use crate::store::{ReportId, Result, StoreError, Summary};

/// Memory of the writer, in bytes: documents of a few hundred KB of text, a commit every few of them.
const WRITER_BYTES: usize = 64 << 20;
/// Changes that may wait for the writer; more make their callers wait.
const WRITE_QUEUE: usize = 64;

enum Change {
    Upsert(Vec<IndexDocument>),
    Delete(Vec<ReportId>),
    Clear,
}

type Write = (Change, oneshot::Sender<Result<()>>);

/// An index in a folder.
pub struct TantivySearch {
    reader: IndexReader,
    index: Index,
    fields: Fields,
    writer: mpsc::SyncSender<Write>,
}

impl std::fmt::Debug for TantivySearch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TantivySearch")
            .field("index", &self.index)
            .finish_non_exhaustive()
    }
}

impl TantivySearch {
    /// Opens the index in this folder, or makes an empty one.
    pub fn open(folder: &Path) -> Result<Self> {
        let (schema, fields) = Fields::schema();
        fs::create_dir_all(folder)?;
        let index = match Index::open_in_dir(folder) {
            Ok(index) if index.schema() == schema => index,
            other => {
                let reason = other.map_or_else(|error| error.to_string(), |_| "it has other fields".to_owned());
                tracing::debug!(reason, "no usable index, starting with an empty one");
                fs::remove_dir_all(folder)?;
                fs::create_dir_all(folder)?;
                Index::create_in_dir(folder, schema)?
            }
        };
        fields::register_tokenizers(&index);
        let reader = index.reader_builder().reload_policy(ReloadPolicy::Manual).try_into()?;
        let writer = index.writer_with_num_threads(1, WRITER_BYTES)?;
        let (sender, writes) = mpsc::sync_channel(WRITE_QUEUE);
        let thread = WriterThread {
            writer,
            fields,
            reader: reader.clone(),
        };
        thread::Builder::new()
            .name("index-writer".into())
            .spawn(move || thread.run(&writes))?;
        Ok(Self {
            reader,
            index,
            fields,
            writer: sender,
        })
    }

    async fn change(&self, change: Change) -> Result<()> {
        let (answer, result) = oneshot::channel();
        if let Err(mpsc::TrySendError::Full(write)) = self.writer.try_send((change, answer)) {
            let writer = self.writer.clone();
            blocking(move || writer.send(write).map_err(|_| writer_gone())).await?;
        }
        result.await.map_err(|_| writer_gone())?
    }
}

fn writer_gone() -> StoreError {
    StoreError::Failed("the index's writing thread has ended".into())
}

struct WriterThread {
    writer: IndexWriter,
    fields: Fields,
    reader: IndexReader,
}

impl WriterThread {
    fn run(mut self, writes: &mpsc::Receiver<Write>) {
        while let Ok(first) = writes.recv() {
            let batch: Vec<Write> = std::iter::once(first).chain(writes.try_iter()).collect();
            let (changes, answers): (Vec<_>, Vec<_>) = batch.into_iter().unzip();
            let result = self.apply(changes);
            for answer in answers {
                let result = result.as_ref().copied().map_err(store_error);
                // Who does not wait any more does not need the answer.
                let _ = answer.send(result);
            }
        }
    }

    fn apply(&mut self, changes: Vec<Change>) -> ::tantivy::Result<()> {
        let applied = self.add_all(changes).and_then(|()| self.writer.commit());
        if applied.is_err() {
            self.writer.rollback()?;
        }
        applied.and_then(|_| self.reader.reload())
    }

    fn add_all(&self, changes: Vec<Change>) -> ::tantivy::Result<()> {
        for change in changes {
            match change {
                Change::Upsert(documents) => {
                    for document in documents {
                        self.delete(&document.id);
                        self.writer.add_document(self.fields.document(&document))?;
                    }
                }
                Change::Delete(ids) => ids.iter().for_each(|id| self.delete(id)),
                Change::Clear => {
                    self.writer.delete_all_documents()?;
                }
            }
        }
        Ok(())
    }

    fn delete(&self, id: &ReportId) {
        self.writer
            .delete_term(Term::from_field_text(self.fields.id, id.as_str()));
    }
}

#[async_trait]
impl Search for TantivySearch {
    async fn upsert(&self, documents: Vec<IndexDocument>) -> Result<()> {
        self.change(Change::Upsert(documents)).await
    }

    async fn delete(&self, ids: &[ReportId]) -> Result<()> {
        self.change(Change::Delete(ids.to_vec())).await
    }

    async fn clear(&self) -> Result<()> {
        self.change(Change::Clear).await
    }

    async fn search(&self, request: &SearchRequest) -> Result<SearchPage> {
        let (searcher, index, fields, request) =
            (self.reader.searcher(), self.index.clone(), self.fields, request.clone());
        blocking(move || Ok(find(&searcher, &index, fields, &request)?)).await
    }

    async fn missing(&self, ids: &[ReportId]) -> Result<Vec<ReportId>> {
        let (searcher, field, ids) = (self.reader.searcher(), self.fields.id, ids.to_vec());
        blocking(move || {
            let mut missing = Vec::new();
            for id in ids {
                if searcher.doc_freq(&Term::from_field_text(field, id.as_str()))? == 0 {
                    missing.push(id);
                }
            }
            Ok(missing)
        })
        .await
    }
}

fn find(searcher: &Searcher, index: &Index, fields: Fields, request: &SearchRequest) -> ::tantivy::Result<SearchPage> {
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

impl From<TantivyError> for StoreError {
    fn from(error: TantivyError) -> Self {
        store_error(&error)
    }
}

fn store_error(error: &TantivyError) -> StoreError {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(current) = cause {
        if current
            .downcast_ref::<std::io::Error>()
            .is_some_and(crate::store::is_full)
        {
            return StoreError::Full(error.to_string());
        }
        cause = current.source();
    }
    StoreError::Failed(error.to_string())
}
