//! Report documents, put together from what is stored whenever somebody asks: evidence, the last diagnosis, and what
//! today's pages say of its causes.

use std::collections::BTreeMap;
use std::sync::Arc;

use whycrash_evidence::Evidence;
use whycrash_plugin_host::{Claim, Diagnosis, Document, Finding, Incident, Report, ReportHead};
use whycrash_reading::Text;
use whycrash_reading::stored::{HEAD, ListPart, LoadError, Parts, text_part};

use crate::pipeline::{Diagnose, Stores, digest, evidence, unread};
use crate::store::sqlite::blocking;
use crate::store::{DiagnosisRecord, LocalBlob, ReportId, ReportRecord, Result, StoreError};

/// How much of the evidence a document has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Extent {
    /// Of long lists the first entries; `parts` says of which, and how many there are.
    #[default]
    Start,
    /// All of it.
    Whole,
}

/// A text that is stored with the evidence of a report.
#[derive(Debug)]
pub struct EvidenceText {
    /// Identifies it among all of them.
    pub key: String,
    /// Its lines.
    pub text: Text,
    /// What must be kept while they are read.
    pub blobs: Vec<LocalBlob>,
}

fn unusable(error: LoadError) -> StoreError {
    StoreError::Failed(error.to_string())
}

/// Makes documents.
#[derive(Clone, Debug)]
pub struct Documents {
    stores: Stores,
    diagnoser: Arc<dyn Diagnose>,
}

impl Documents {
    /// Documents of what is stored there, with the diagnoser's pages.
    pub fn new(stores: &Stores, diagnoser: &Arc<dyn Diagnose>) -> Self {
        Self {
            stores: stores.clone(),
            diagnoser: Arc::clone(diagnoser),
        }
    }

    /// The document of a report; of one that was not read yet, what was sent.
    pub async fn of(&self, report: &ReportRecord, extent: Extent) -> Result<Document> {
        let wanted: Option<&[&str]> = match extent {
            Extent::Start => Some(&[HEAD]),
            Extent::Whole => None,
        };
        let stored = self.stores.outcomes.evidence(&report.id, wanted).await?;
        let diagnosis = self.stores.outcomes.diagnosis(&report.id, None).await?;
        let loaded = match stored {
            Some(stored) => Some(evidence::load(self.stores.blobs.as_ref(), stored).await?),
            None => None,
        };
        let read = blocking(move || Ok(loaded.map(|loaded| read(&loaded.parts, extent)))).await?;
        let is_read = matches!(read, Some(Ok(_)));
        let (mut head, evidence, parts) = match read {
            None => (unread(report), Evidence::default(), BTreeMap::new()),
            Some(Ok(read)) => read,
            Some(Err(error)) => {
                tracing::warn!(report = %report.id, %error, "evidence is damaged; the artifacts are read again");
                self.stores.jobs.enqueue(&report.id, u64::MAX).await?;
                (unread(report), Evidence::default(), BTreeMap::new())
            }
        };
        digest::complete_head(&mut head, report);
        let diagnosis = diagnosis.as_ref().map(conclusion).transpose()?.unwrap_or_default();
        let document = Document::render(head, evidence, diagnosis, &self.diagnoser.catalog());
        Ok(Document {
            parts,
            left_out: self.diagnoser.left_out(),
            verdict: document.verdict.filter(|_| is_read),
            ..document
        })
    }

    /// The text of an artifact as it is stored with the evidence, if it is: what members of archives are known by, since
    /// their bytes are kept in the archive alone.
    pub async fn text(&self, id: &ReportId, artifact: &str) -> Result<Option<EvidenceText>> {
        let Some(stored) = self.stores.outcomes.evidence(id, Some(&[HEAD])).await? else {
            return Ok(None);
        };
        let head = evidence::load(self.stores.blobs.as_ref(), stored).await?;
        let head = blocking(move || Ok(head.parts.head())).await?.map_err(unusable)?;
        let number = head.texts.iter().position(|text| text.artifact == artifact);
        let Some(part) = number.map(text_part) else {
            return Ok(None);
        };
        let Some(stored) = self.stores.outcomes.evidence(id, Some(&[HEAD, &part])).await? else {
            return Ok(None);
        };
        let key = format!("{} {part}", stored.key);
        let loaded = evidence::load(self.stores.blobs.as_ref(), stored).await?;
        let text = loaded.parts.text_of(artifact).map_err(unusable)?;
        Ok(text.map(|text| EvidenceText {
            key,
            text,
            blobs: loaded.blobs,
        }))
    }

    /// Lists of the evidence by their names, whole, as JSON.
    pub async fn lists(&self, id: &ReportId, names: &'static [&'static str]) -> Result<Vec<String>> {
        let wanted: Vec<&str> = names.iter().copied().chain([HEAD]).collect();
        let Some(stored) = self.stores.outcomes.evidence(id, Some(&wanted)).await? else {
            return Ok(names.iter().map(|name| absent(name).to_owned()).collect());
        };
        let loaded = evidence::load(self.stores.blobs.as_ref(), stored).await?;
        let incident = match names.contains(&"collectives") {
            true => self.incident(id).await?,
            false => None,
        };
        blocking(move || {
            let mut head = loaded.parts.head().map_err(damaged)?;
            if let Some(incident) = incident {
                head.evidence.collectives = incident.collectives;
            }
            let whole = serde_json::to_value(&head.evidence).map_err(failed)?;
            let list = |name: &&str| {
                if head.parts.contains_key(*name) {
                    let json = loaded.parts.bytes(name).map_err(damaged)?;
                    return String::from_utf8(json).map_err(|error| StoreError::Damaged(format!("{name}: {error}")));
                }
                Ok(whole
                    .get(*name)
                    .map_or_else(|| absent(name).to_owned(), ToString::to_string))
            };
            names.iter().map(list).collect()
        })
        .await
    }

    /// What was judged together with other reports, by the report's last diagnosis.
    async fn incident(&self, id: &ReportId) -> Result<Option<Incident>> {
        let diagnosis = self.stores.outcomes.diagnosis(id, None).await?;
        Ok(diagnosis
            .as_ref()
            .map(conclusion)
            .transpose()?
            .and_then(|diagnosis| diagnosis.incident))
    }

    /// What a diagnosis found, with today's titles and fixes.
    pub fn findings(&self, claims: Vec<Claim>) -> Vec<Finding> {
        let catalog = &self.diagnoser.catalog();
        claims
            .into_iter()
            .map(|claim| Finding::render(claim, catalog))
            .collect()
    }
}

/// What a document has of stored evidence.
fn read(
    parts: &Parts,
    extent: Extent,
) -> std::result::Result<(ReportHead, Evidence, BTreeMap<String, ListPart>), LoadError> {
    match extent {
        Extent::Whole => Report::load(parts).map(|report| (report.head, report.evidence, BTreeMap::new())),
        Extent::Start => parts.head().map(|head| (head.report, head.evidence, head.parts)),
    }
}

/// What stands for a member of the evidence that is not there: of all that are asked for by themselves, one is no list.
fn absent(name: &str) -> &'static str {
    if name == "collectives" { "null" } else { "[]" }
}

/// A stored diagnosis.
pub fn conclusion(record: &DiagnosisRecord) -> Result<Diagnosis> {
    serde_json::from_str(&record.json).map_err(|error| StoreError::Damaged(format!("diagnosis: {error}")))
}

fn damaged(error: LoadError) -> StoreError {
    StoreError::Damaged(error.to_string())
}

/// What can not be put into words: a defect of ours.
pub fn failed(error: serde_json::Error) -> StoreError {
    StoreError::Failed(error.to_string())
}
