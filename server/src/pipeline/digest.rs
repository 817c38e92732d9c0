//! What lists, groups and the index take from what was found.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde_json::{Map, Value};
use whycrash_catalog::Catalog;
use whycrash_evidence::model::{EventPayload, Evidence};
use whycrash_plugin_host::{Diagnosis, Finding, ReportHead, VerdictKind, title};

use crate::search::{Field, IndexDocument, cut};
use crate::store::{ReportRecord, Summary};

/// Bytes of a value that lists show; the document has all of it.
const SHOWN_BYTES: usize = 200;
/// Characters of a value of the metadata that are looked at: names of machines have 253 at most.
const WORD: usize = 256;
/// Bytes of a title that are searched.
const TITLE_BYTES: usize = 2000;
/// Ranks that lists show of a report, and ranks by which it is found.
const RANKS: (usize, usize) = (64, 4096);
/// Values of one field by which a report is found, but for ranks.
const VALUES: usize = 64;

/// What was found of a report.
#[derive(Debug)]
pub struct Found<'a> {
    /// What crashed, and what it left.
    pub head: &'a ReportHead,
    /// What the readers found.
    pub evidence: &'a Evidence,
    /// What was concluded, best first.
    pub findings: Vec<Finding>,
}

impl<'a> Found<'a> {
    /// What was found, with titles from these pages.
    pub fn new(head: &'a ReportHead, evidence: &'a Evidence, diagnosis: &Diagnosis, catalog: &Catalog) -> Self {
        let findings = diagnosis.findings.iter().cloned();
        Self {
            head,
            evidence,
            findings: findings.map(|claim| Finding::render(claim, catalog)).collect(),
        }
    }
}

/// What the store knows of the report better than who read it.
pub fn complete_head(head: &mut ReportHead, report: &ReportRecord) {
    report.id.as_str().clone_into(&mut head.id);
    for read in &mut head.artifacts {
        if let Some(artifact) = report.artifacts.iter().find(|artifact| artifact.name == read.name) {
            read.bytes = artifact.bytes;
            artifact.digest.as_str().clone_into(&mut read.sha256);
        }
    }
}

/// Kinds of the artifacts by their names.
pub fn kinds(found: &Found<'_>) -> Vec<(String, String)> {
    let heads = found.head.artifacts.iter();
    heads
        .filter_map(|head| Some((head.name.clone(), name_of(&head.kind)?)))
        .collect()
}

/// The report as it is indexed with this text.
pub fn indexed(found: &Found<'_>, report: &ReportRecord, text: Vec<String>) -> IndexDocument {
    let summary = summary(found, report);
    IndexDocument {
        id: report.id.clone(),
        time: summary
            .time
            .parse::<Timestamp>()
            .unwrap_or(report.received)
            .as_millisecond(),
        title: title_lines(found, &summary),
        text,
        fields: fields(found, report, &summary, &causes(found)),
        summary,
    }
}

/// Ids of all causes found, best first.
pub fn causes(found: &Found<'_>) -> Vec<String> {
    let mut causes: Vec<String> = Vec::new();
    for finding in &found.findings {
        if !causes.contains(&finding.cause) {
            causes.push(finding.cause.clone());
        }
    }
    causes
}

/// What lists show of the report.
pub fn summary(found: &Found<'_>, report: &ReportRecord) -> Summary {
    let (head, evidence) = (found.head, found.evidence);
    let best = found.findings.first();
    let signature = Some(head.signature.key.clone()).filter(|key| !key.is_empty());
    let signal = head
        .exit
        .signal
        .clone()
        .or_else(|| evidence.crash.as_ref().and_then(|crash| crash.signal.clone()));
    let title = [
        Some(title(head, evidence, &found.findings)),
        best.map(|finding| finding.title.clone()),
        signal.clone(),
    ]
    .into_iter()
    .flatten()
    .find(|title| !title.is_empty());
    let names = || {
        report
            .artifacts
            .iter()
            .map(|artifact| artifact.name.as_str())
            .collect::<Vec<_>>()
            .join(", ")
    };
    let ranks = ranks(evidence, &report.metadata);
    Summary {
        id: report.id.to_string(),
        title: shown(title.unwrap_or_else(names)),
        verdict: Some(VerdictKind::of(head, evidence, &found.findings)),
        cause: best.map(|finding| shown(finding.cause.clone())),
        finding: best.map(|finding| shown(finding.title.clone())),
        signal: signal.map(shown),
        signature,
        host: word(&report.metadata, "host")
            .or_else(|| word(&evidence.context, "host"))
            .map(shown),
        exception: exception(evidence).map(shown),
        time: time(evidence, report).to_string(),
        received: report.received.to_string(),
        ranks_omitted: ranks.len().saturating_sub(RANKS.0) as u64,
        ranks: ranks.into_iter().take(RANKS.0).collect(),
    }
}

/// The value as lists show it.
fn shown(value: String) -> String {
    match cut(&value, SHOWN_BYTES) {
        whole if whole.len() == value.len() => value,
        start => format!("{start}…"),
    }
}

/// When it happened: as the collector says, as the last event says, or when the report came.
fn time(evidence: &Evidence, report: &ReportRecord) -> Timestamp {
    let ended = word(&report.metadata, "ended").or_else(|| word(&evidence.context, "ended"));
    let last = evidence.timeline.iter().rev().find_map(|event| event.time.clone());
    [ended, last]
        .into_iter()
        .flatten()
        .find_map(|time| time.parse().ok())
        .unwrap_or(report.received)
}

/// A member that is a string, a number, or an object with a `name`, as one short line.
fn word(members: &Map<String, Value>, name: &str) -> Option<String> {
    let text = match members.get(name)? {
        Value::String(text) => text.chars().filter(|c| !c.is_control()).take(WORD).collect(),
        Value::Number(number) => number.to_string(),
        Value::Object(object) => return word(object, "name"),
        _ => return None,
    };
    (!text.is_empty()).then_some(text)
}

fn exception(evidence: &Evidence) -> Option<String> {
    let python = evidence.timeline.iter().rev().find_map(|event| match &event.payload {
        EventPayload::PythonException(exception) if !exception.exception.is_empty() => {
            Some(exception.exception.clone())
        }
        _ => None,
    });
    python.or_else(|| evidence.gpu_cores.iter().find_map(|core| core.exception.clone()))
}

fn ranks(evidence: &Evidence, metadata: &Map<String, Value>) -> BTreeSet<u32> {
    let named = [metadata.get("rank"), evidence.context.get("rank")]
        .into_iter()
        .flatten();
    let named = named.filter_map(|rank| rank.as_u64().or_else(|| rank.as_str()?.parse().ok()));
    let mut ranks: BTreeSet<u32> = named.filter_map(|rank| u32::try_from(rank).ok()).collect();
    ranks.extend(evidence.threads.iter().filter_map(|thread| thread.rank));
    ranks.extend(evidence.timeline.iter().filter_map(|event| event.rank));
    ranks.extend(evidence.collectives.iter().flat_map(|collectives| &collectives.ranks));
    ranks
}

fn title_lines(found: &Found<'_>, summary: &Summary) -> Vec<String> {
    let findings = found
        .findings
        .iter()
        .flat_map(|finding| [finding.title.clone(), finding.cause.clone()]);
    [
        Some(summary.title.clone()),
        summary.exception.clone(),
        summary.signal.clone(),
    ]
    .into_iter()
    .flatten()
    .chain(findings)
    .map(|line| cut(&line, TITLE_BYTES).to_owned())
    .collect()
}

fn fields(
    found: &Found<'_>,
    report: &ReportRecord,
    summary: &Summary,
    causes: &[String],
) -> BTreeMap<Field, Vec<String>> {
    let one = |value: &Option<String>| value.iter().cloned().collect::<Vec<_>>();
    let kinds = kinds(found).into_iter().map(|(_, kind)| kind);
    let plugins = found.findings.iter().map(|finding| finding.plugin.name.clone());
    let ranks = ranks(found.evidence, &report.metadata);
    let ranks = ranks.iter().take(RANKS.1).map(ToString::to_string);
    let facts = Machine::of(found.evidence);
    let mut fields = BTreeMap::from([
        (Field::Signal, one(&summary.signal)),
        (Field::Signature, one(&summary.signature)),
        (Field::Host, one(&summary.host)),
        (Field::Exception, one(&summary.exception)),
        (Field::Cause, causes.to_vec()),
        (Field::Rank, ranks.collect()),
        (Field::Kind, kinds.collect()),
        (Field::Plugin, plugins.collect()),
        (Field::Gpu, facts.gpus),
        (Field::Driver, facts.drivers),
        (Field::Torch, facts.torch),
        (Field::Job, facts.jobs),
    ]);
    for (field, values) in &mut fields {
        values.sort();
        values.dedup();
        values.truncate(if *field == Field::Rank { RANKS.1 } else { VALUES });
    }
    fields
}

/// The name an enum value has in JSON.
fn name_of(value: &impl serde::Serialize) -> Option<String> {
    serde_json::to_value(value).ok()?.as_str().map(str::to_owned)
}

/// What the context and the GPU cores plainly say of machine and job.
struct Machine {
    gpus: Vec<String>,
    drivers: Vec<String>,
    torch: Vec<String>,
    jobs: Vec<String>,
}

impl Machine {
    /// Variables that schedulers and launchers name a job in.
    const JOB_VARIABLES: [&str; 3] = ["SLURM_JOB_ID", "SLURM_JOB_NAME", "TORCHELASTIC_RUN_ID"];

    fn of(evidence: &Evidence) -> Self {
        let context = &evidence.context;
        let members = |name: &str| context.get(name).and_then(Value::as_object);
        let devices = context.get("gpus").and_then(Value::as_array).into_iter().flatten();
        let devices = devices.filter_map(|device| word(device.as_object()?, "name"));
        let cores = &evidence.gpu_cores;
        let variables = members("environment")
            .into_iter()
            .flat_map(|variables| Self::JOB_VARIABLES.iter().filter_map(|name| word(variables, name)));
        Self {
            gpus: devices
                .chain(cores.iter().filter_map(|core| core.name.clone()))
                .collect(),
            drivers: word(context, "driver")
                .into_iter()
                .chain(cores.iter().filter_map(|core| core.driver.clone()))
                .collect(),
            torch: members("packages")
                .and_then(|packages| word(packages, "torch"))
                .into_iter()
                .collect(),
            jobs: word(context, "job").into_iter().chain(variables).collect(),
        }
    }
}
