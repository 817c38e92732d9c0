//! One job, from the artifacts or the evidence to what becomes true of the report.
//!
//! Whatever is concluded is concluded from evidence as it is stored, so that the same comes out when it is done again
//! without the artifacts.

use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

use tokio::runtime::Handle;
use whycrash_evidence::Artifact;
use whycrash_plugin_host::{Diagnosis, Input, Outcome as RunOutcome, Report, Version};
use whycrash_reading::READER_VERSION;
use whycrash_reading::stored::{LoadError, Parts};

use super::incident::{self, JoinError};
use super::{Diagnose, Stores, digest, evidence, history, reopen, text};
use crate::public_text::without_paths;
use crate::reading::child::words;
use crate::reading::{ReadError, ReadReports, Scratch};
use crate::search::IndexDocument;
use crate::store::{Job, LocalBlob, MadeWith, ModuleUse, Outcome, ReportRecord, StoreError, StoredEvidence, Work};

/// Behind the version of the plugins of a diagnosis for which some were set aside: it is no diagnosis of that version,
/// and made anew when the server starts.
const LACKING: &str = " but those set aside";

/// Why a report was not processed.
#[derive(Debug, thiserror::Error)]
pub enum Trouble {
    #[error("diagnosing it panicked: {0}")]
    Panic(String),
    #[error(transparent)]
    Reading(ReadError),
    #[error("artifact {0:?} is not in the store")]
    NoBlob(String),
    #[error("the plugin {plugin} could not be run: {reason}")]
    Plugins { plugin: String, reason: String },
    #[error("what was read of it can not be loaded: {0}")]
    Evidence(#[from] LoadError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<ReadError> for Trouble {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Io(error) => Self::Store(error.into()),
            other => Self::Reading(other),
        }
    }
}

impl From<JoinError> for Trouble {
    fn from(error: JoinError) -> Self {
        match error {
            JoinError::Own(error) => error.into(),
            JoinError::Store(error) => error.into(),
        }
    }
}

impl Trouble {
    /// Whether it says nothing about the report: then it waits, however often.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Store(error) => error.is_transient(),
            Self::Plugins { .. } => true,
            _ => false,
        }
    }

    /// Whether the process that read it died of it.
    pub fn is_deadly(&self) -> bool {
        matches!(self, Self::Reading(ReadError::Died(_)))
    }

    /// In words for people who look at the report.
    pub fn public(&self) -> String {
        match self {
            Self::Store(error) => error.public(),
            other => without_paths(&other.to_string()),
        }
    }
}

/// What was found of a report.
#[derive(Debug)]
pub struct Concluded {
    /// What becomes true.
    pub outcome: Outcome,
    /// The plugins and pages it was concluded with.
    pub with: Version,
    /// What the index has of it then.
    pub entry: Box<IndexDocument>,
}

/// What processing a report needs.
#[derive(Clone, Debug)]
pub struct Processor {
    pub stores: Stores,
    pub reader: Arc<dyn ReadReports>,
    pub diagnoser: Arc<dyn Diagnose>,
    pub runtime: Handle,
}

impl Processor {
    /// What is found of the job's report; nothing if there is nothing to do, because it is gone, or because its
    /// artifacts are and its evidence says more than could be read now.
    pub fn process(&self, job: &Job) -> Result<Option<Concluded>, Trouble> {
        let Some(report) = self.wait(self.stores.records.report(&job.report))? else {
            return Ok(None);
        };
        let stored = self.wait(self.stores.outcomes.evidence(&report.id, None))?;
        let expired = report.artifacts.iter().any(|artifact| artifact.expired);
        let usable = |stored: &StoredEvidence| expired || stored.reader == READER_VERSION;
        if let Some(stored) = stored.filter(|stored| (expired || job.work == Work::Diagnose) && usable(stored)) {
            match self.from_evidence(&report, stored) {
                // What a plugin can not read may be damaged: it would wait for that for ever.
                Err(trouble @ (Trouble::Evidence(_) | Trouble::Plugins { .. })) if !expired => {
                    tracing::warn!(report = %report.id, reason = %trouble, "the artifacts are read again");
                }
                concluded => return concluded.map(Some),
            }
        }
        if expired {
            Ok(None)
        } else {
            self.from_artifacts(&report).map(Some)
        }
    }

    fn from_evidence(&self, report: &ReportRecord, stored: StoredEvidence) -> Result<Concluded, Trouble> {
        let key = stored.key.clone();
        let loaded = self.wait(evidence::load(self.stores.blobs.as_ref(), stored))?;
        self.conclude(report, &key, &loaded.parts, |_| None)
    }

    fn from_artifacts(&self, report: &ReportRecord) -> Result<Concluded, Trouble> {
        let scratch = Scratch::below(&self.stores.work);
        let symbols = self.wait(self.stores.outcomes.symbol_generation())?;
        let parts = self.read(report, scratch.path())?;
        let head = parts.head()?;
        let key = evidence::key(report, READER_VERSION, symbols);
        let modules = |report: &Report| Some(reopen::modules_of(&report.evidence));
        let mut concluded = self.conclude(report, &key, &parts, modules)?;
        let stored = self.wait(evidence::take_over(self.stores.blobs.as_ref(), parts, &head, key))?;
        if let Some((evidence, _)) = &mut concluded.outcome.evidence {
            *evidence = stored;
        }
        Ok(concluded)
    }

    /// Reads the artifacts, and stores what they say.
    fn read(&self, report: &ReportRecord, folder: &Path) -> Result<Parts, Trouble> {
        let (input, blobs) = self.wait(self.input(report))?;
        // A reader takes a file that can not be opened for one that can not be read, and says so for good: a machine
        // that is short of file descriptors must not become part of what is known about a crash.
        open_all(&input)?;
        let parts = self.reader.read(&input, folder)?;
        open_all(&input)?;
        drop(blobs);
        Ok(parts)
    }

    fn conclude(
        &self,
        report: &ReportRecord,
        evidence: &str,
        parts: &Parts,
        modules: impl FnOnce(&Report) -> Option<Vec<ModuleUse>>,
    ) -> Result<Concluded, Trouble> {
        // Before the plugins run: those that come meanwhile make it outdated at worst, never wrongly current.
        let version = self.diagnoser.version();
        let mut read = Report::load(parts)?;
        digest::complete_head(&mut read.head, report);
        let is_told = self.diagnoser.asks_for_history();
        let join = incident::join(&self.stores, &report.id, evidence, parts, &mut read, is_told);
        let kin = self.wait(join)?;
        if is_told {
            let last = self.wait(self.stores.outcomes.diagnosis(&report.id, None))?;
            let known = history::of(&self.stores, &report.id, &read, &kin.looked_at, last.as_ref());
            read.history = Some(self.wait(known)?);
        }
        let read = Arc::new(read);
        let lacking = self.diagnoser.sets_aside();
        let mut diagnosis = guarded(|| self.diagnoser.conclude(&read))?;
        let lacking = lacking || self.diagnoser.sets_aside();
        all_ran(&diagnosis)?;
        count_plugins(&mut diagnosis);
        let made_with = MadeWith {
            plugins: format!("{}{}", version.plugins, if lacking { LACKING } else { "" }),
            knowledge: version.knowledge.clone(),
        };
        let catalog = self.diagnoser.catalog();
        let found = digest::Found::new(&read.head, &read.evidence, &diagnosis, &catalog);
        let entry = digest::indexed(&found, report, text::of(&found, &read, &catalog));
        let json = serde_json::to_string(&diagnosis).map_err(|error| StoreError::Failed(error.to_string()))?;
        let outcome = Outcome {
            evidence: modules(&read).map(|modules| (StoredEvidence::default(), modules)),
            diagnosis: json,
            made_with,
            summary: entry.summary.clone(),
            causes: digest::causes(&found),
            kinds: digest::kinds(&found),
            kin,
        };
        let entry = Box::new(entry);
        Ok(Concluded {
            outcome,
            with: version,
            entry,
        })
    }

    async fn input(&self, report: &ReportRecord) -> Result<(Input, Vec<LocalBlob>), Trouble> {
        let mut input = Input {
            metadata: report.metadata.clone(),
            ..Input::default()
        };
        let mut blobs = Vec::new();
        for artifact in &report.artifacts {
            let blob = self.stores.blobs.local(&artifact.digest).await?;
            let blob = blob.ok_or_else(|| Trouble::NoBlob(artifact.name.clone()))?;
            let known = Artifact::new(artifact.name.clone(), blob.path.clone());
            input.artifacts.push(known.with_sha256(artifact.digest.as_str()));
            blobs.push(blob);
        }
        Ok((input, blobs))
    }

    fn wait<T, E>(&self, future: impl Future<Output = Result<T, E>>) -> Result<T, Trouble>
    where
        Trouble: From<E>,
    {
        Ok(self.runtime.block_on(future)?)
    }
}

/// What `work` returns, or how it panicked.
fn guarded<T>(work: impl FnOnce() -> T) -> Result<T, Trouble> {
    // The diagnoser keeps caches only, each consistent after every step, so it is fit for use after a panic.
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| Trouble::Panic(words(panic.as_ref())))
}

/// Fails where the artifacts' files can not be opened now.
fn open_all(input: &Input) -> Result<(), StoreError> {
    let mut artifacts = input.artifacts.iter();
    Ok(artifacts.try_for_each(|artifact| File::open(&artifact.path).map(drop))?)
}

/// Fails where the machine lacked what a plugin needs: the diagnosis lacks what that one would have found.
fn all_ran(diagnosis: &Diagnosis) -> Result<(), Trouble> {
    match diagnosis.unavailable() {
        None => Ok(()),
        Some(run) => Err(Trouble::Plugins {
            plugin: run.name.clone(),
            reason: run.reason.clone().unwrap_or_default(),
        }),
    }
}

/// Measures what the plugins did. How long it took is no part of a diagnosis: the same evidence gives the same one.
fn count_plugins(diagnosis: &mut Diagnosis) {
    for run in &mut diagnosis.plugins {
        let outcome = match run.outcome {
            RunOutcome::Ok => "ok",
            RunOutcome::Failed => "failed",
            RunOutcome::Skipped => "skipped",
            RunOutcome::Unavailable => "unavailable",
        };
        let name = run.name.clone();
        metrics::counter!("whycrash_plugin_runs_total", "plugin" => name.clone(), "outcome" => outcome).increment(1);
        metrics::counter!("whycrash_plugin_fuel_total", "plugin" => name.clone()).increment(run.fuel);
        if let Some(millis) = run.millis.take() {
            metrics::histogram!("whycrash_plugin_seconds", "plugin" => name).record(millis / 1e3);
        }
    }
}
