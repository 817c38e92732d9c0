//! The plugins that look at a report together.

use std::collections::BTreeMap;
use std::sync::Arc;

use whycrash_catalog::Catalog;
use whycrash_evidence::Evidence;
use whycrash_reading::Report;

use crate::case::Case;
use crate::diagnosis::{self, Claim, Diagnosis, Echo, Incident, Outcome, PluginRun};
use crate::documented::{Documented, LeftOut};
use crate::judge::{Judge, Verdict};
use crate::registry::{Installed, Known, Offered, RECOGNISE_PAGES};
use crate::sandbox::{Knowledge, KnownTable, Plugin, PluginError, PluginLimits, Said, Usage, types};
use crate::version::{self, Version};
use crate::{calibration, coverage, first, fold, rank};

/// Pages that may fail by themselves before the others are not evaluated any more: each may take as long as a plugin.
const PAGES_FAILED: usize = 3;

/// The interface that a plugin imports which asks for other reports.
const HISTORY: &str = "whycrash:plugin/history@";

/// The plugins and pages of one moment: what a diagnosis depends on beside the evidence.
#[derive(Clone, Debug)]
pub struct Panel {
    pub(crate) known: Known,
    pub(crate) limits: Arc<PluginLimits>,
}

/// A plugin or a page that is not installed, and the plugins as they would be with it.
#[derive(Debug)]
pub struct Trial {
    /// What it is.
    pub offered: Offered,
    /// The plugins and pages with it, in the place of one of its name.
    pub panel: Panel,
}

impl Panel {
    /// What diagnoses of these depend on beside the evidence.
    pub fn version(&self) -> Version {
        Version {
            plugins: version::of_plugins(self.known.plugins.iter().map(Arc::as_ref)),
            knowledge: self.known.documented.version.clone(),
        }
    }

    /// Whether a plugin may ask for what is known of other reports.
    pub fn asks_for_history(&self) -> bool {
        let mut imports = self.known.plugins.iter().flat_map(|plugin| &plugin.info.imports);
        imports.any(|import| import.starts_with(HISTORY))
    }

    /// The documented causes, and those that these plugins bring.
    pub fn catalog(&self) -> &Arc<Catalog> {
        &self.known.catalog
    }

    /// What is wrong with pages that are left out.
    pub fn left_out(&self) -> &[LeftOut] {
        &self.known.documented.left_out
    }

    /// Runs the plugins on what was read. It opens no artifact, and depends on nothing but the report, with
    /// its history, and [`Self::version`].
    pub fn conclude(&self, report: &Arc<Report>) -> Diagnosis {
        let case = Arc::new(Case::new(Arc::clone(report)));
        let mut foreign = Foreign::default();
        let run = |installed: &Arc<Installed>| {
            let (row, mut verdict) = self.run(installed, &case);
            if installed.is_of_pages() {
                foreign.weigh(&mut verdict.findings);
            }
            (row, verdict)
        };
        let rows: Vec<_> = self.known.plugins.iter().map(run).collect();
        self.concluded(report, &case, rows, &foreign)
    }

    /// What runs of plugins come to, all of them together.
    pub(crate) fn concluded(
        &self,
        report: &Arc<Report>,
        case: &Case,
        rows: impl IntoIterator<Item = (PluginRun, Verdict)>,
        foreign: &Foreign,
    ) -> Diagnosis {
        let (mut findings, mut plugins, mut next) = (Vec::new(), Vec::new(), Vec::new());
        for (row, verdict) in rows {
            plugins.push(row);
            findings.extend(verdict.findings);
            next.extend(verdict.next);
        }
        let (mut findings, folded) = fold::fold(case, &self.known.catalog, rank::rank(case, findings));
        foreign.tell(&mut findings);
        first::name(case, &mut findings);
        Diagnosis {
            schema: diagnosis::SCHEMA,
            findings,
            plugins,
            next: rank::unique(next),
            echoes: echoes(&report.evidence, folded),
            coverage: coverage::coverage(report),
            incident: incident(report),
            history: report.history.clone(),
        }
    }

    fn run(&self, installed: &Installed, case: &Arc<Case>) -> (PluginRun, Verdict) {
        let (row, verdict) = self.considered(installed, case);
        let limits = installed.plugin.as_ref().map(|plugin| plugin.limits());
        installed
            .health
            .note(&row, limits.and_then(|limits| costly(&row, limits)));
        (row, verdict)
    }

    fn considered(&self, installed: &Installed, case: &Arc<Case>) -> (PluginRun, Verdict) {
        let info = &installed.info;
        let row = |outcome, reason| plugin_row(&info.name, &info.version, outcome, reason);
        let Some(plugin) = &installed.plugin else {
            let outcome = if installed.is_unavailable {
                Outcome::Unavailable
            } else {
                Outcome::Failed
            };
            return (row(outcome, info.problem.clone()), Verdict::default());
        };
        if let Some(notice) = installed.set_aside(&self.limits) {
            return (row(Outcome::Skipped, Some(notice)), Verdict::default());
        }
        if let Some(absent) = absent_for(installed, plugin, case, &self.known.documented) {
            return (row(Outcome::Skipped, Some(absent)), Verdict::default());
        }
        let told = installed.told_of(&self.known.documented);
        let mut answer = plugin.run(case, told);
        let (outcome, verdict) = match answer.diagnosis {
            Ok(said) => self.judge(installed, case, said),
            Err(PluginError::Stopped(_) | PluginError::Reported(_)) if installed.is_of_pages() => {
                let verdict = self.page_by_page(installed, plugin, case, &mut answer.usage);
                (Outcome::Failed, verdict)
            }
            Err(error) => (failure(&error), Verdict::failed(error.to_string())),
        };
        let (usage, why) = (answer.usage, verdict.unreadable.as_ref().or(verdict.failure.as_ref()));
        let row = PluginRun {
            fuel: usage.fuel,
            millis: Some(usage.millis),
            memory: usage.memory,
            log: usage.log,
            ..row(outcome, why.cloned())
        };
        (row, verdict)
    }

    /// Evaluates the tables of each page by themselves, because those of all pages together could not be: what can not
    /// be evaluated is named, and the others stand.
    fn page_by_page(&self, installed: &Installed, plugin: &Plugin, case: &Arc<Case>, usage: &mut Usage) -> Verdict {
        let told = installed.told_of(&self.known.documented);
        let mut tables: BTreeMap<&str, Vec<Arc<KnownTable>>> = BTreeMap::new();
        for table in told.tables.iter().filter(|table| case.shown().may_have(&table.sign)) {
            tables.entry(&table.sign.cause).or_default().push(Arc::clone(table));
        }
        let (mut whole, mut failed) = (Verdict::default(), Vec::new());
        for (cause, tables) in tables {
            if failed.len() >= PAGES_FAILED {
                failed.push("others were not evaluated any more".to_owned());
                break;
            }
            let page = Arc::new(Knowledge {
                tables,
                catalog: Arc::clone(&told.catalog),
            });
            let answer = plugin.run(case, &page);
            usage.add(&answer.usage);
            let verdict = match answer.diagnosis {
                Ok(said) => self.judge(installed, case, said).1,
                Err(error) => Verdict::failed(error.to_string()),
            };
            let why = verdict.failure.or(verdict.unreadable);
            failed.extend(why.map(|why| format!("the page {cause} was passed over: {why}")));
            whole.findings.extend(verdict.findings);
        }
        whole.failure = Some(match failed.as_slice() {
            [] => "the tables of all pages together are too much to evaluate; each was evaluated by itself".to_owned(),
            failed => failed.join("; "),
        });
        whole
    }

    /// Holds a plugin's claims against the report.
    pub(crate) fn judge(&self, installed: &Installed, case: &Case, said: Said) -> (Outcome, Verdict) {
        let judge = Judge {
            case,
            catalog: &self.known.documented.catalog,
            own: &installed.pages,
            limits: &self.limits,
        };
        let mut verdict = judge.judge(&installed.info, said);
        if installed.is_built_in() && !installed.is_of_pages() {
            for finding in &mut verdict.findings {
                finding.confidence = calibration::calibrated(finding.confidence);
            }
        }
        let outcome = match (&verdict.unreadable, &verdict.failure) {
            (Some(_), _) => Outcome::Unavailable,
            (None, Some(_)) => Outcome::Failed,
            (None, None) => Outcome::Ok,
        };
        (outcome, verdict)
    }
}

/// The row of a plugin that has used nothing: it was not run, or runs as a program, which has no fuel.
pub(crate) fn plugin_row(name: &str, version: &str, outcome: Outcome, reason: Option<String>) -> PluginRun {
    PluginRun {
        name: name.to_owned(),
        version: version.to_owned(),
        outcome,
        reason,
        fuel: 0,
        millis: None,
        memory: 0,
        log: Vec::new(),
    }
}

/// How a run ended that gave no diagnosis.
fn failure(error: &PluginError) -> Outcome {
    match error {
        PluginError::Host(_) => Outcome::Unavailable,
        _ => Outcome::Failed,
    }
}

/// What a run cost, in words, if that is most of what it may.
fn costly(run: &PluginRun, limits: &PluginLimits) -> Option<String> {
    let millis = run.millis.unwrap_or_default();
    let is_costly = millis > limits.millis as f64 / 2.0;
    is_costly.then(|| format!("it took {millis:.0} of the {} ms that are allowed", limits.millis))
}

/// How sure pages that others wrote say that they are. That is shown as it is; what it stands beside is what our pages
/// mean by the same number.
#[derive(Debug, Default)]
pub(crate) struct Foreign(BTreeMap<String, f64>);

impl Foreign {
    /// Has these findings stand where ours would that are as sure.
    fn weigh(&mut self, findings: &mut [Claim]) {
        for finding in findings {
            self.0.insert(finding.cause.clone(), finding.confidence);
            finding.confidence = calibration::calibrated(finding.confidence);
        }
    }

    /// Gives them their own numbers back, once all stand in their order.
    fn tell(&self, findings: &mut [Claim]) {
        for finding in findings
            .iter_mut()
            .filter(|finding| finding.plugin.name == RECOGNISE_PAGES)
        {
            finding.confidence = self.0.get(&finding.cause).copied().unwrap_or(finding.confidence);
        }
    }
}

/// Which evidence that the plugin needs is not there, in words.
fn absent_for(installed: &Installed, plugin: &Plugin, case: &Case, documented: &Documented) -> Option<String> {
    if installed.is_of_pages() {
        let tables = &installed.told_of(documented).tables;
        let may_have = tables.iter().any(|table| case.shown().may_have(&table.sign));
        return (!may_have).then(|| "the report has nothing that the tables of these pages look for".to_owned());
    }
    absent(&plugin.info.needs, case)
}

/// Which of these needs are not there, in words.
pub(crate) fn absent(needs: &types::Needs, case: &Case) -> Option<String> {
    if let Some(kind) = needs.all_of.iter().find(|kind| !case.has(kind)) {
        return Some(format!("the report has no {kind}"));
    }
    let any = needs.any_of.is_empty() || needs.any_of.iter().any(|kind| case.has(kind));
    (!any).then(|| format!("the report has none of: {}", needs.any_of.join(", ")))
}

/// What was judged together with other reports.
fn incident(report: &Report) -> Option<Incident> {
    (!report.judged_with.is_empty()).then(|| Incident {
        reports: report.judged_with.clone(),
        collectives: report.evidence.collectives.clone(),
        title: report.head.title.clone(),
        signature: report.head.signature.clone(),
    })
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
