//! Why the tables of a page say nothing about a report: what there was, and which test the nearest of it failed.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Value, json};
use whycrash_catalog::recognise::{Framed, Happened, LINE, LineSearch, Rule, Surroundings, Table, Trial, as_exception};
use whycrash_evidence::model::{Event, Frame, FrameKind, Place, Thread};
use whycrash_evidence::{ArtifactKind, printable};
use whycrash_frames::{Names, Owner};

use crate::case::Case;
use crate::sandbox::detail;

/// Lines kept that match what a table asks for.
const LINES: usize = 32;

/// What there was in a report for the tables of a page.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Explanation {
    /// How many events of each kind there are.
    pub events: BTreeMap<String, usize>,
    /// The tables, in the order of the page.
    pub tables: Vec<TableTrial>,
}

/// A table held against a report.
#[derive(Clone, Debug, Default, Serialize)]
pub struct TableTrial {
    /// Its number in the page, counted from 1.
    pub table: usize,
    /// Kind of the event that it looks for.
    pub kind: String,
    /// How many there are: of lines those that match its `text`.
    pub of_kind: usize,
    /// Whether one of them is what it looks for.
    pub matches: bool,
    /// What the nearest of them says, and which artifact says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nearest: Option<Nearest>,
}

/// An event that is nearly what a table looks for.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Nearest {
    /// The artifact that tells of it.
    pub artifact: String,
    /// The line that says it.
    pub text: String,
    /// The tests that it fails.
    pub failed: Vec<FailedTest>,
}

/// A test of a table that fails.
#[derive(Clone, Debug, Default, Serialize)]
pub struct FailedTest {
    /// The member that asks, such as `where.message`.
    pub member: String,
    /// What it asks for.
    pub wanted: String,
    /// What there is, if there is a value.
    pub found: Option<String>,
}

/// Holds tables against a report.
pub(crate) fn explain(case: &Case, tables: &[Table]) -> Explanation {
    let mut events = BTreeMap::new();
    for (kind, _) in case.events(None) {
        *events.entry(kind.to_owned()).or_default() += 1;
    }
    let tables = (1..).zip(tables).map(|(number, table)| trial(case, number, table));
    Explanation {
        events,
        tables: tables.collect(),
    }
}

fn trial(case: &Case, number: usize, table: &Table) -> TableTrial {
    let around = Around::of(case, table);
    let Ok(rule) = Rule::new(table) else {
        return TableTrial::default();
    };
    let like_exceptions: Vec<Happened> = around.happened.iter().filter_map(as_exception).collect();
    let of_kind = around.happened.iter().chain(&like_exceptions);
    let of_kind: Vec<&Happened> = of_kind.filter(|event| event.kind == table.kind).collect();
    let tried = of_kind.iter().map(|event| (*event, rule.trials(event, &around)));
    let failed = |trials: &[Trial]| trials.iter().filter(|trial| !trial.holds).count();
    // Of several that are as near the first one: the others follow from it.
    let nearest = tried.min_by_key(|(_, trials)| failed(trials));
    TableTrial {
        table: number,
        kind: table.kind.clone(),
        of_kind: of_kind.len(),
        matches: nearest.as_ref().is_some_and(|(_, trials)| failed(trials) == 0),
        nearest: nearest.map(|(event, trials)| Nearest {
            artifact: event.artifact.clone(),
            text: printable(event.text.lines().next().unwrap_or_default()).into_owned(),
            failed: trials
                .into_iter()
                .filter(|trial| !trial.holds)
                .map(FailedTest::of)
                .collect(),
        }),
    }
}

impl FailedTest {
    fn of(trial: Trial) -> Self {
        let plain = |text: String| printable(&text).into_owned();
        Self {
            member: trial.member,
            wanted: plain(trial.wanted),
            found: trial.found.map(plain),
        }
    }
}

/// A report as a table sees it.
struct Around<'c> {
    case: &'c Case,
    happened: Vec<Happened>,
}

impl<'c> Around<'c> {
    fn of(case: &'c Case, table: &Table) -> Self {
        let events = case.events(None).map(|(kind, event)| Happened {
            kind: kind.to_owned(),
            text: event.text.clone(),
            detail: detail(event).unwrap_or_default(),
            artifact: event.artifact.clone(),
            primary: event.primary,
            survived: event.survived,
            ..Happened::default()
        });
        let lines = LineSearch::all(table)
            .into_iter()
            .flat_map(|search| lines(case, &search));
        Self {
            case,
            happened: events.chain(lines).collect(),
        }
    }
}

/// The lines that a table asks for.
fn lines(case: &Case, search: &LineSearch) -> Vec<Happened> {
    let mut found = Vec::new();
    let is_log = |name: &str| {
        case.report
            .artifact(name)
            .is_none_or(|artifact| artifact.kind != ArtifactKind::Context)
    };
    for text in case.report.texts.iter().filter(|text| is_log(text.artifact())) {
        let Ok(all) = text.lines() else { continue };
        // What can not be read is not there.
        let _ = all.walk(1, u64::MAX, &|_| Ok(()), |number, line| {
            let line = String::from_utf8_lossy(line);
            if search.is_in(&line) {
                found.push(line_happened(case, text.artifact(), number, &line));
            }
            Ok(found.len() < LINES)
        });
    }
    found
}

fn line_happened(case: &Case, artifact: &str, number: u64, line: &str) -> Happened {
    let is_there = |event: &&Event| {
        let is_inside = matches!(event.at, Some(Place::Line([first, last])) if (first..=last).contains(&number));
        event.artifact == artifact && is_inside
    };
    let there: Vec<&Event> = case.report.evidence.timeline.iter().filter(is_there).collect();
    Happened {
        kind: LINE.to_owned(),
        text: line.to_owned(),
        detail: json!({ "artifact": artifact }),
        artifact: artifact.to_owned(),
        primary: there.is_empty() || there.iter().any(|event| event.primary),
        survived: !there.is_empty() && there.iter().all(|event| event.survived),
        ..Happened::default()
    }
}

impl Surroundings for Around<'_> {
    fn context(&self, path: &str) -> Option<Value> {
        self.case.context(path)
    }

    fn fact(&self, path: &str) -> Option<Value> {
        self.case.fact(path)
    }

    fn events(&self) -> &[Happened] {
        &self.happened
    }

    fn stack(&self, event: &Happened) -> Vec<Framed> {
        let own = ["thread", "stack"]
            .iter()
            .find_map(|name| event.detail.get(name)?.as_str());
        let mut threads = self.case.report.evidence.threads.iter();
        let is_own = |thread: &&Thread, id: &str| thread.artifact == event.artifact && thread.id.to_string() == id;
        let thread = match own {
            Some(id) => threads.find(|thread| is_own(thread, id)),
            None => threads.next().filter(|thread| thread.crashed),
        };
        thread.map_or_else(Vec::new, |thread| thread.frames.iter().map(framed).collect())
    }
}

fn framed(frame: &Frame) -> Framed {
    let names = Names {
        python: frame.kind == FrameKind::Python,
        function: frame.function.as_deref(),
        file: frame.file.as_deref(),
        module: frame.module.as_deref(),
    };
    let whose = match whycrash_frames::owner(&names) {
        Owner::Program => "program",
        Owner::Library => "library",
        Owner::Machinery => "machinery",
    };
    let world = match frame.kind {
        FrameKind::Native => "native",
        FrameKind::Python => "python",
        FrameKind::Gpu => "gpu",
    };
    Framed {
        world: world.to_owned(),
        whose: whose.to_owned(),
        function: frame.function.clone(),
        file: frame.file.clone(),
        line: frame.line,
        module: frame.module.clone(),
    }
}
