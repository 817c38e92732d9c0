//! The one way from artifacts to a document, shared by the command line and the server.

use std::path::PathBuf;
use std::sync::{Arc, RwLock};

use serde_json::{Map, Value};
use whycrash_catalog::Catalog;
use whycrash_evidence::{Artifact, Evidence, Limits};
use whycrash_symbols::{Sources, Symbols};

use crate::budget::ReportLimits;
use crate::case::Case;
use crate::judge::{Judge, Verdict};
use crate::read::{self, Read};
use crate::registry::{Installed, Registry};
use crate::sandbox::{Plugin, PluginLimits, Sandbox};
use crate::{Document, Echo, Outcome, PluginInfo, PluginRun, ReportHead, rank};

/// What a [`Diagnoser`] works with.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// Where symbols come from.
    pub symbols: Sources,
    /// The readers' caps for one artifact.
    pub limits: Limits,
    /// Those for all artifacts of a report together.
    pub report_limits: ReportLimits,
    /// Folders of plugin components (`*.wasm`) to run beside the built-in ones.
    pub plugin_folders: Vec<PathBuf>,
    /// Where compiled plugins are kept between runs; nowhere when absent.
    pub cache: Option<PathBuf>,
    /// What one run of one plugin may use.
    pub plugin_limits: PluginLimits,
}

/// The artifacts of one report and what is known about them.
#[derive(Clone, Debug, Default)]
pub struct Input {
    /// What the crash left.
    pub artifacts: Vec<Artifact>,
    /// Metadata sent with it: host, rank, job, command (free form; part of the evidence's context).
    pub metadata: Map<String, Value>,
}

/// Reads, symbolicates and diagnoses. Cheap to share between threads; make one and keep it.
#[derive(Debug)]
pub struct Diagnoser {
    symbols: Symbols,
    limits: Limits,
    report_limits: ReportLimits,
    catalog: Catalog,
    sandbox: Sandbox,
    plugin_limits: PluginLimits,
    folders: Vec<PathBuf>,
    registry: RwLock<Registry>,
}

impl Diagnoser {
    /// A diagnoser with the built-in plugins and those in the settings' folders. A plugin that can not be used is no error
    /// here: it is listed with its problem, and has a failed row in every document.
    pub fn new(settings: Settings) -> anyhow::Result<Self> {
        let catalog = Catalog::embedded();
        let sandbox = Sandbox::new(settings.plugin_limits.clone(), tables(&catalog), settings.cache)?;
        let registry = Registry::load(&sandbox, &settings.plugin_folders);
        if registry.plugins.is_empty() {
            tracing::warn!("no plugins: this program was built without them; run `make plugins` and build again");
        }
        Ok(Self {
            symbols: Symbols::new(settings.symbols),
            limits: settings.limits,
            report_limits: settings.report_limits,
            catalog,
            sandbox,
            plugin_limits: settings.plugin_limits,
            folders: settings.plugin_folders,
            registry: RwLock::new(registry),
        })
    }

    /// The installed plugins, by name; none when the program was built without them and there is no plugin folder.
    pub fn plugins(&self) -> Vec<PluginInfo> {
        self.installed()
            .iter()
            .map(|installed| installed.info.clone())
            .collect()
    }

    /// Looks into the plugin folders again. Diagnoses that are under way end with the plugins they began with.
    pub fn reload(&self) {
        let registry = Registry::load(&self.sandbox, &self.folders);
        *self.registry.write().unwrap_or_else(std::sync::PoisonError::into_inner) = registry;
    }

    /// Reads the artifacts: evidence, and what is wrong with them, but no findings.
    pub fn inspect(&self, input: &Input) -> (ReportHead, Evidence) {
        let Read { head, case } = read::read(&self.symbols, &self.limits, &self.report_limits, input);
        (head, case.evidence)
    }

    /// Reads the artifacts and runs the plugins on what they say.
    pub fn diagnose(&self, input: &Input) -> Document {
        let Read { head, case } = read::read(&self.symbols, &self.limits, &self.report_limits, input);
        let case = Arc::new(case);
        let (mut findings, mut plugins, mut next) = (Vec::new(), Vec::new(), Vec::new());
        for installed in self.installed() {
            let (row, verdict) = self.run(&installed, &case);
            plugins.push(row);
            findings.extend(verdict.findings);
            next.extend(verdict.next);
        }
        let findings = rank::rank(&case, findings);
        // Plugins are gone by now and with them every other holder; a copy would only be made if one were not.
        let evidence = Arc::try_unwrap(case).map_or_else(|case| case.evidence.clone(), |case| case.evidence);
        Document {
            schema: crate::SCHEMA,
            report: head,
            findings,
            plugins,
            next: rank::unique(next),
            echoes: echoes(&evidence),
            evidence,
        }
    }

    fn installed(&self) -> Vec<Arc<Installed>> {
        self.registry
            .read()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
            .plugins
            .clone()
    }

    fn run(&self, installed: &Installed, case: &Arc<Case>) -> (PluginRun, Verdict) {
        let info = &installed.info;
        let row = |outcome, reason| PluginRun {
            name: info.name.clone(),
            version: info.version.clone(),
            outcome,
            reason,
            fuel: 0,
            millis: 0.0,
            memory: 0,
            log: Vec::new(),
        };
        let Some(plugin) = &installed.plugin else {
            return (row(Outcome::Failed, info.problem.clone()), Verdict::default());
        };
        if let Some(absent) = absent(plugin, case) {
            return (row(Outcome::Skipped, Some(absent)), Verdict::default());
        }
        let answer = plugin.run(case);
        let judge = Judge {
            case,
            catalog: &self.catalog,
            limits: &self.plugin_limits,
        };
        let verdict = match answer.diagnosis {
            Ok(diagnosis) => judge.judge(info, diagnosis),
            Err(error) => Verdict {
                failure: Some(error.to_string()),
                ..Verdict::default()
            },
        };
        let outcome = if verdict.failure.is_some() {
            Outcome::Failed
        } else {
            Outcome::Ok
        };
        let usage = answer.usage;
        let row = PluginRun {
            fuel: usage.fuel,
            millis: usage.millis,
            memory: usage.memory,
            log: usage.log,
            ..row(outcome, verdict.failure.clone())
        };
        (row, verdict)
    }
}

/// The recognise tables of all pages as plugins get them.
fn tables(catalog: &Catalog) -> Vec<String> {
    let of_cause = |cause: &whycrash_catalog::Cause| {
        let id = cause.id.clone();
        let tables = cause.recognise.clone().into_iter();
        tables.map(move |table| serde_json::json!({"cause": id, "table": table}).to_string())
    };
    catalog.causes().iter().flat_map(of_cause).collect()
}

/// Which evidence that the plugin needs is not there, in words.
fn absent(plugin: &Plugin, case: &Case) -> Option<String> {
    let needs = &plugin.info.needs;
    if let Some(kind) = needs.all_of.iter().find(|kind| !case.has(kind)) {
        return Some(format!("the report has no {kind}"));
    }
    let any = needs.any_of.is_empty() || needs.any_of.iter().any(|kind| case.has(kind));
    (!any).then(|| format!("the report has none of: {}", needs.any_of.join(", ")))
}

/// Events that follow from others, as the readers tied them.
fn echoes(evidence: &Evidence) -> Vec<Echo> {
    evidence
        .timeline
        .iter()
        .filter_map(|event| {
            Some(Echo {
                event: event.event,
                of: event.echo_of?,
            })
        })
        .collect()
}
