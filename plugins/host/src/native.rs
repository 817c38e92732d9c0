//! A plugin that runs as a program of its author's machine while it is written: what it says is held to the same rules as
//! what a component says, without one having to be built.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use serde::Deserialize;
use whycrash_catalog::Cause;

use crate::case::Case;
use crate::diagnosis::{Outcome, PluginRun};
use crate::judge::Verdict;
use crate::package;
use crate::panel::{Foreign, Panel, absent, plugin_row};
use crate::registry::{Installed, Known};
use crate::sandbox::{Said, clean, cut, knowledge, types};
use crate::{Diagnoser, Document, History, Input, PluginInfo, Report, Told};

/// What a plugin says about itself, as JSON.
#[derive(Clone, Debug, Deserialize)]
pub struct NativeInfo {
    name: String,
    version: String,
    causes: Vec<String>,
    needs_any_of: Vec<String>,
    needs_all_of: Vec<String>,
}

/// What a plugin says of a report, as JSON.
#[derive(Debug, Default, Deserialize)]
pub struct NativeDiagnosis {
    findings: Vec<NativeFinding>,
    next: Vec<NativeNext>,
    advice: Vec<NativeAdvice>,
}

#[derive(Debug, Deserialize)]
struct NativeFinding {
    cause: String,
    title: Option<String>,
    confidence: f64,
    explanation: String,
    citations: Vec<NativeCitation>,
    contradictions: Vec<NativeCitation>,
    first_step: Option<String>,
}

#[derive(Debug, Deserialize)]
struct NativeCitation {
    artifact: String,
    at: NativePlace,
    quote: String,
}

/// A place, in the form that the report document has for it.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum NativePlace {
    Line(u64, u64),
    Frame { thread: String, index: u32 },
    Event(u32),
    Bytes(u64, u64),
    Fact(String),
}

#[derive(Debug, Deserialize)]
struct NativeNext {
    artifact: String,
    how: String,
    decides_between: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct NativeAdvice {
    cause: String,
    domain: Option<String>,
    retry: Option<String>,
    because: Option<String>,
}

/// One run of the program: what it said, or why it failed, and what it logged.
#[derive(Debug)]
pub struct NativeRun {
    /// What it said of the report, or why it could not.
    pub said: Result<NativeDiagnosis, String>,
    /// What it logged.
    pub log: Vec<String>,
    /// Wall time in milliseconds.
    pub millis: f64,
}

/// A plugin that is no component, as if it were installed.
#[derive(Debug)]
pub struct NativePlugin {
    info: types::PluginInfo,
    panel: Panel,
}

impl NativePlugin {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.info.name
    }
}

impl Diagnoser {
    /// The plugin that says this about itself and brings these pages, by the names of their files.
    ///
    /// # Errors
    /// Why a component that says so would be refused.
    pub fn native_plugin(&self, info: NativeInfo, pages: BTreeMap<String, Vec<u8>>) -> Result<NativePlugin, String> {
        let panel = self.panel();
        let documented = Arc::clone(&panel.known.documented);
        let pages = package::pages(pages, &info.name, &documented.catalog).map_err(|error| error.to_string())?;
        let info = types::PluginInfo {
            name: info.name,
            version: info.version,
            causes: info.causes,
            needs: types::Needs {
                any_of: info.needs_any_of,
                all_of: info.needs_all_of,
            },
        };
        crate::sandbox::check_info(&info, &documented.told, &pages).map_err(|error| error.to_string())?;
        let installed = installed(&info, pages);
        Ok(NativePlugin {
            info,
            panel: Panel {
                known: Known::new(vec![Arc::new(installed)], documented),
                ..panel
            },
        })
    }

    /// The document of a report by this plugin alone, which `run` runs on what it is told of the report.
    ///
    /// # Errors
    /// When a text of the report can not be read any more.
    pub fn diagnose_natively(
        &self,
        plugin: &NativePlugin,
        input: &Input,
        history: Option<History>,
        run: impl FnOnce(&Told<'_>) -> NativeRun,
    ) -> io::Result<Document> {
        let report = Arc::new(Report {
            history,
            ..self.read(input)
        });
        let case = Case::new(Arc::clone(&report));
        let panel = &plugin.panel;
        let row = match absent(&plugin.info.needs, &case) {
            Some(absent) => {
                let row = plugin_row(&plugin.info.name, &plugin.info.version, Outcome::Skipped, Some(absent));
                (row, Verdict::default())
            }
            None => panel.judged(&plugin.info, &case, run(&Told::of(&report)?)),
        };
        let diagnosis = panel.concluded(&report, &case, [row], &Foreign::default());
        Ok(Document::render(
            report.head.clone(),
            report.evidence.clone(),
            diagnosis,
            panel.catalog(),
        ))
    }
}

impl Panel {
    /// What a run of the only plugin comes to.
    fn judged(&self, info: &types::PluginInfo, case: &Case, run: NativeRun) -> (PluginRun, Verdict) {
        let limits = &self.limits;
        let said = run.said.and_then(NativeDiagnosis::said);
        let (outcome, verdict) = match (said, self.known.plugins.first()) {
            (Ok(said), Some(installed)) => self.judge(installed, case, said),
            (Ok(_), None) => (Outcome::Ok, Verdict::default()),
            (Err(reason), _) => {
                let reason = clean::lines(&cut(&reason, limits.text_bytes));
                (Outcome::Failed, Verdict::failed(reason))
            }
        };
        let log = run.log.iter().take(limits.log_lines);
        let why = verdict.unreadable.as_ref().or(verdict.failure.as_ref()).cloned();
        let row = PluginRun {
            millis: Some(run.millis),
            log: log.map(|line| clean::line(&cut(line, limits.log_line_bytes))).collect(),
            ..plugin_row(&info.name, &info.version, outcome, why)
        };
        (row, verdict)
    }
}

fn installed(info: &types::PluginInfo, pages: Vec<Cause>) -> Installed {
    Installed {
        info: PluginInfo {
            name: info.name.clone(),
            version: info.version.clone(),
            causes: info.causes.clone(),
            ..PluginInfo::default()
        },
        plugin: None,
        is_unavailable: false,
        pages,
        health: Arc::default(),
    }
}

impl NativeDiagnosis {
    /// The same as a component would have returned it.
    fn said(self) -> Result<Said, String> {
        let finding = |finding: NativeFinding| types::Finding {
            cause: finding.cause,
            title: finding.title,
            confidence: finding.confidence,
            explanation: finding.explanation,
            citations: finding.citations.into_iter().map(citation).collect(),
            contradictions: finding.contradictions.into_iter().map(citation).collect(),
            first_step: finding.first_step,
        };
        let next = |next: NativeNext| types::CollectNext {
            artifact: next.artifact,
            how: next.how,
            decides_between: next.decides_between,
        };
        Ok(Said {
            diagnosis: types::Diagnosis {
                findings: self.findings.into_iter().map(finding).collect(),
                next: self.next.into_iter().map(next).collect(),
            },
            advice: self.advice.into_iter().map(advice).collect::<Result<_, _>>()?,
        })
    }
}

fn citation(citation: NativeCitation) -> types::Citation {
    let at = match citation.at {
        NativePlace::Line(first, last) => types::Place::Line(types::LineRange { first, last }),
        NativePlace::Frame { thread, index } => types::Place::Frame(types::FramePlace { thread, index }),
        NativePlace::Event(number) => types::Place::Event(number),
        NativePlace::Bytes(first, end) => types::Place::Bytes(types::ByteRange { first, end }),
        NativePlace::Fact(path) => types::Place::Fact(path),
    };
    types::Citation {
        artifact: citation.artifact,
        at,
        quote: citation.quote,
    }
}

/// Owners and kinds of advice by the names that the interface has for them.
const DOMAINS: [(&str, knowledge::Domain); 8] = [
    ("program", knowledge::Domain::Program),
    ("data", knowledge::Domain::Data),
    ("environment", knowledge::Domain::Environment),
    ("framework", knowledge::Domain::Framework),
    ("hardware", knowledge::Domain::Hardware),
    ("network", knowledge::Domain::Network),
    ("operator", knowledge::Domain::Operator),
    ("unknown", knowledge::Domain::Unknown),
];
const RETRIES: [(&str, knowledge::Retry); 5] = [
    ("again", knowledge::Retry::Again),
    ("elsewhere", knowledge::Retry::Elsewhere),
    ("change-first", knowledge::Retry::ChangeFirst),
    ("ask-owner", knowledge::Retry::AskOwner),
    ("unknown", knowledge::Retry::Unknown),
];

fn advice(advice: NativeAdvice) -> Result<knowledge::Advice, String> {
    Ok(knowledge::Advice {
        domain: called(&DOMAINS, advice.domain.as_deref())?,
        retry: called(&RETRIES, advice.retry.as_deref())?,
        cause: advice.cause,
        because: advice.because,
    })
}

fn called<T: Copy>(names: &[(&str, T)], name: Option<&str>) -> Result<Option<T>, String> {
    let Some(name) = name else { return Ok(None) };
    let found = names.iter().find(|(known, _)| *known == name);
    let found = found.map(|(_, value)| Some(*value));
    found.ok_or_else(|| format!("it gave the advice {name:?}, and there is no such advice"))
}
