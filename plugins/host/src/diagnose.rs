//! The one way from artifacts to evidence, and from evidence to a diagnosis, shared by the command line and the server.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context as _;
use whycrash_catalog::recognise::Sign;
use whycrash_catalog::{Catalog, Folder};
use whycrash_evidence::{Evidence, Limits};
use whycrash_reading::{Input, Reader, Report, ReportLimits};
use whycrash_symbols::Sources;

use crate::case::Case;
use crate::diagnosis::{self, Diagnosis, Echo, Outcome, PluginRun};
use crate::judge::{Judge, Verdict};
use crate::registry::{Installed, Loader, Offered, Registry};
use crate::sandbox::{Knowledge, Plugin, PluginError, PluginLimits, Sandbox, Usage, types};
use crate::version::{self, Version};
use crate::{Document, PluginInfo, calibration, coverage, first, fold, rank};

/// What a [`Diagnoser`] works with.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// Where symbols come from.
    pub symbols: Sources,
    /// The readers' caps for one artifact.
    pub limits: Limits,
    /// Those for all artifacts of a report together.
    pub report_limits: ReportLimits,
    /// Folders of plugin components (`*.wasm`) and packages (`*.zip`) to run beside the built-in ones.
    pub plugin_folders: Vec<PathBuf>,
    /// Folders of pages of causes beside ours. A page with the id of one of ours stands in its place.
    pub knowledge_folders: Vec<PathBuf>,
    /// Where compiled plugins are kept between runs; nowhere when absent.
    pub cache: Option<PathBuf>,
    /// The program whose `main` begins with [`crate::compile_if_asked`]: it compiles plugins in a process of its own, with
    /// limits. When absent they are compiled in this process, which then has no protection from what that costs.
    pub compiler: Option<PathBuf>,
    /// What one run of one plugin may use; the built-in ones have the defaults.
    pub plugin_limits: PluginLimits,
}

/// Reads, symbolicates and diagnoses. Cheap to share between threads; make one and keep it.
#[derive(Debug)]
pub struct Diagnoser {
    reader: Reader,
    catalog: Arc<Catalog>,
    /// See [`Version::knowledge`].
    knowledge: String,
    plugin_limits: PluginLimits,
    registry: Arc<Registry>,
    /// Absent where there is no plugin folder.
    loader: Option<Arc<Loader>>,
}

impl Diagnoser {
    /// A diagnoser with the built-in plugins and those in the settings' folders. A plugin that can not be used is no error
    /// here: it is listed with its problem, and has a failed row in every document.
    pub fn new(settings: Settings) -> anyhow::Result<Self> {
        let catalog = Arc::new(catalog(&settings.knowledge_folders)?);
        let (limits, knowledge) = (&settings.plugin_limits, Arc::new(knowledge(&catalog)));
        let sandbox = |limits: &PluginLimits| {
            let (cache, compiler) = (settings.cache.clone(), settings.compiler.clone());
            Sandbox::new(limits.clone(), Arc::clone(&knowledge), cache, compiler)
        };
        // Two sandboxes, so that the built-in plugins have their places and their limits whatever the others have.
        let loader = (!settings.plugin_folders.is_empty()).then(|| {
            anyhow::Ok(Arc::new(Loader {
                sandbox: sandbox(limits)?,
                folders: settings.plugin_folders.clone(),
                limits: limits.clone(),
                catalog: Arc::clone(&catalog),
            }))
        });
        let loader = loader.transpose()?;
        let registry = Registry::start(&sandbox(&PluginLimits::default())?, loader.as_ref())?;
        if registry.built_in().is_empty() {
            tracing::warn!("no plugins: this program was built without them; run `make plugins` and build again");
        }
        Ok(Self {
            reader: Reader::new(settings.symbols, settings.limits, settings.report_limits),
            knowledge: version::of_knowledge(&catalog),
            catalog,
            plugin_limits: settings.plugin_limits,
            registry,
            loader,
        })
    }

    /// The plugins that are known now, by name; those of plugin folders come one after the other as they are compiled. None
    /// when the program was built without them and there is no plugin folder.
    pub fn plugins(&self) -> Vec<PluginInfo> {
        let told = |installed: &Arc<Installed>| PluginInfo {
            notice: installed.set_aside(&self.plugin_limits),
            ..installed.info.clone()
        };
        self.registry.now().iter().map(told).collect()
    }

    /// What a file of a plugin is, as if it were installed: what a server asks before it keeps one. It may have to be compiled,
    /// which can take minutes.
    pub fn look_at(&self, bytes: Vec<u8>) -> Result<Offered, String> {
        match &self.loader {
            Some(loader) => loader.look_at(bytes, self.registry.built_in()),
            None => Err("there is no folder for plugins".to_owned()),
        }
    }

    /// The documented causes, and those that plugins bring.
    pub fn catalog(&self) -> Arc<Catalog> {
        self.registry.catalog().unwrap_or_else(|| Arc::clone(&self.catalog))
    }

    /// Waits until the plugins of all folders are loaded, as every diagnosis does.
    pub fn wait_for_plugins(&self) {
        self.registry.wait();
    }

    /// Looks into the plugin folders again. Diagnoses that are under way end with the plugins they began with.
    pub fn reload(&self) {
        if let Some(loader) = &self.loader {
            self.registry.load(loader);
        }
    }

    /// What diagnoses made now depend on beside the evidence.
    pub fn version(&self) -> Version {
        Version {
            plugins: version::of_plugins(self.registry.wait().iter().map(Arc::as_ref)),
            knowledge: self.knowledge.clone(),
        }
    }

    /// Reads the artifacts: evidence, and what is wrong with them, but no findings.
    pub fn read(&self, input: &Input) -> Report {
        self.reader.read(input)
    }

    /// Runs the plugins on what was read. It opens no artifact, and depends on nothing but the report, the plugins and
    /// the knowledge ([`Self::version`]).
    pub fn conclude(&self, report: &Arc<Report>) -> Diagnosis {
        self.conclude_with(report, &self.registry.wait())
    }

    /// The same with the built-in plugins alone: what it costs is known, and it waits for nothing.
    pub fn first_look(&self, report: &Arc<Report>) -> Diagnosis {
        self.conclude_with(report, self.registry.built_in())
    }

    /// The document of a report by the other plugins alone, for whoever writes one.
    pub fn diagnose_from_outside(&self, input: &Input) -> Document {
        let report = Arc::new(self.read(input));
        let mut installed = self.registry.wait();
        installed.retain(|installed| !installed.is_built_in());
        let diagnosis = self.conclude_with(&report, &installed);
        Document::render(report.head.clone(), report.evidence.clone(), diagnosis, &self.catalog())
    }

    fn conclude_with(&self, report: &Arc<Report>, installed: &[Arc<Installed>]) -> Diagnosis {
        let case = Arc::new(Case::new(Arc::clone(report)));
        let (mut findings, mut plugins, mut next) = (Vec::new(), Vec::new(), Vec::new());
        for installed in installed {
            let (row, verdict) = self.run(installed, &case);
            plugins.push(row);
            findings.extend(verdict.findings);
            next.extend(verdict.next);
        }
        let (mut findings, folded) = fold::fold(&case, &self.catalog, rank::rank(&case, findings));
        first::name(&case, &mut findings);
        Diagnosis {
            schema: diagnosis::SCHEMA,
            findings,
            plugins,
            next: rank::unique(next),
            echoes: echoes(&report.evidence, folded),
            coverage: coverage::coverage(report),
        }
    }

    /// Reads the artifacts, runs the plugins on what they say, and says what is known of the causes.
    pub fn diagnose(&self, input: &Input) -> Document {
        let report = Arc::new(self.read(input));
        let diagnosis = self.conclude(&report);
        // Plugins are gone by now and with them every other holder; a copy would only be made if one were not.
        let (head, evidence) = match Arc::try_unwrap(report) {
            Ok(report) => (report.head, report.evidence),
            Err(report) => (report.head.clone(), report.evidence.clone()),
        };
        Document::render(head, evidence, diagnosis, &self.catalog())
    }

    fn run(&self, installed: &Installed, case: &Arc<Case>) -> (PluginRun, Verdict) {
        let info = &installed.info;
        let row = |outcome, reason| PluginRun {
            name: info.name.clone(),
            version: info.version.clone(),
            outcome,
            reason,
            fuel: 0,
            millis: None,
            memory: 0,
            log: Vec::new(),
        };
        let Some(plugin) = &installed.plugin else {
            return (row(Outcome::Failed, info.problem.clone()), Verdict::default());
        };
        if let Some(notice) = installed.set_aside(&self.plugin_limits) {
            return (row(Outcome::Skipped, Some(notice)), Verdict::default());
        }
        if let Some(absent) = absent(plugin, case) {
            return (row(Outcome::Skipped, Some(absent)), Verdict::default());
        }
        let answer = plugin.run(case);
        let (outcome, verdict) = match answer.diagnosis {
            Ok(diagnosis) => self.judge(installed, case, diagnosis),
            Err(error) => (failure(&error), Verdict::failed(error.to_string())),
        };
        note(installed, plugin, outcome, &answer.usage, verdict.failure.as_deref());
        let usage = answer.usage;
        let row = PluginRun {
            fuel: usage.fuel,
            millis: Some(usage.millis),
            memory: usage.memory,
            log: usage.log,
            ..row(outcome, verdict.failure.clone())
        };
        (row, verdict)
    }

    /// Holds a plugin's claims against the report.
    fn judge(&self, installed: &Installed, case: &Case, diagnosis: types::Diagnosis) -> (Outcome, Verdict) {
        let judge = Judge {
            case,
            catalog: &self.catalog,
            own: &installed.pages,
            limits: &self.plugin_limits,
        };
        let mut verdict = judge.judge(&installed.info, diagnosis);
        if installed.is_built_in() {
            for finding in &mut verdict.findings {
                finding.confidence = calibration::calibrated(finding.confidence);
            }
        }
        let outcome = if verdict.failure.is_some() {
            Outcome::Failed
        } else {
            Outcome::Ok
        };
        (outcome, verdict)
    }
}

/// How a run ended that gave no diagnosis.
fn failure(error: &PluginError) -> Outcome {
    match error {
        PluginError::Host(_) => Outcome::Unavailable,
        _ => Outcome::Failed,
    }
}

/// Remembers whether the plugin was worth its run.
fn note(installed: &Installed, plugin: &Plugin, outcome: Outcome, usage: &Usage, failure: Option<&str>) {
    let limits = plugin.limits();
    let is_costly = usage.millis > limits.millis as f64 / 2.0;
    match outcome {
        Outcome::Ok if is_costly => {
            let why = format!(
                "it took {:.0} of the {} ms that are allowed",
                usage.millis, limits.millis
            );
            installed.health.strike(&why);
        }
        Outcome::Failed => installed.health.strike(failure.unwrap_or("it failed")),
        Outcome::Ok => installed.health.well(),
        Outcome::Skipped | Outcome::Unavailable => {}
    }
}

/// The documented causes, and those of people's own folders.
fn catalog(folders: &[PathBuf]) -> anyhow::Result<Catalog> {
    let mut catalog = Catalog::embedded();
    for folder in folders {
        let read = Folder::read(folder, &catalog)
            .with_context(|| format!("the knowledge folder {} can not be read", folder.display()))?;
        for fault in &read.faults {
            let (folder, file) = (folder.display(), &fault.file);
            tracing::warn!(
                "{folder}/{file}:{}: {}; the page is left out",
                fault.line,
                fault.message
            );
        }
        catalog = catalog.with(read.pages.into_iter().map(|page| page.cause).collect());
    }
    Ok(catalog)
}

/// What plugins are told about the documented causes.
fn knowledge(catalog: &Catalog) -> Knowledge {
    let ids = |cause: &whycrash_catalog::Cause| {
        let also = cause.also.iter().cloned();
        std::iter::once(cause.id.clone()).chain(also).collect::<Vec<_>>()
    };
    Knowledge {
        tables: tables(catalog),
        causes: catalog.causes().iter().flat_map(ids).collect(),
    }
}

/// The recognise tables of all pages as plugins get them.
fn tables(catalog: &Catalog) -> Vec<String> {
    let of_cause = |cause: &whycrash_catalog::Cause| {
        let id = cause.id.clone();
        let tables = cause.recognise.clone().into_iter();
        tables.filter_map(move |table| serde_json::to_string(&Sign::new(&id, table)).ok())
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

/// Events that follow from others, as the readers tied them, and as the pages of what was found say.
fn echoes(evidence: &Evidence, folded: Vec<Echo>) -> Vec<Echo> {
    let tied = evidence.timeline.iter().filter_map(|event| {
        Some(Echo {
            event: event.event,
            of: event.echo_of?,
        })
    });
    let mut echoes: Vec<Echo> = tied.collect();
    for echo in folded {
        if !echoes.iter().any(|known| known.event == echo.event) {
            echoes.push(echo);
        }
    }
    echoes
}
