//! `whycrash cause check` and `whycrash cause try`: pages that people write beside ours.

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context as _, bail};
use serde::Serialize;
use whycrash_catalog::recognise::LINE;
use whycrash_catalog::{Catalog, Folder};
use whycrash_plugin_host::{Diagnoser, Explanation, Finding, Settings, TableTrial};

use crate::config::Config;
use crate::inputs;
use crate::output::{self, Clean, Format};

/// Say what is wrong with the pages of a folder
#[derive(Debug, clap::Args)]
pub struct CheckArgs {
    /// The folder with pages (*.md)
    #[arg(value_name = "FOLDER")]
    folder: PathBuf,
    /// How to answer
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Say what a page with recognise tables would say about crashes
#[derive(Debug, clap::Args)]
pub struct TryArgs {
    /// The page (*.md)
    #[arg(value_name = "PAGE")]
    page: PathBuf,
    /// Files or folders that crashes left, each a report of its own
    #[arg(required = true, value_name = "CASE")]
    cases: Vec<PathBuf>,
    /// How to answer
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// What a folder has.
#[derive(Debug, Serialize)]
struct Checked {
    pages: Vec<CheckedPage>,
    faults: Vec<String>,
}

#[derive(Debug, Serialize)]
struct CheckedPage {
    id: String,
    title: String,
    /// Recognise tables it has.
    tables: usize,
    /// Whether it stands in the place of one of ours.
    overrides: bool,
}

/// What a page says about one crash.
#[derive(Debug, Serialize)]
struct Tried {
    case: PathBuf,
    /// Its own finding, if it makes one.
    finding: Option<Finding>,
    /// The place of that among all findings, counted from 1.
    place: Option<usize>,
    /// The cause that stands first.
    first: Option<String>,
    /// Why it says nothing, where it does not.
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<Explanation>,
}

/// Our pages, with those of the folders that environment and settings name.
pub fn catalog(config: &Config) -> anyhow::Result<Catalog> {
    inputs::knowledge_folders(&[], config)
        .iter()
        .try_fold(Catalog::embedded(), |catalog, folder| {
            let read = Folder::read(folder, &catalog)
                .with_context(|| format!("can not read the knowledge folder {}", folder.display()))?;
            Ok(catalog.with(read.pages.into_iter().map(|page| page.cause).collect()))
        })
}

/// Reads all pages of a folder and tells what is wrong with each.
pub fn check(args: &CheckArgs, config: &Config) -> anyhow::Result<ExitCode> {
    let others = catalog(config)?;
    let read = Folder::read(&args.folder, &others)
        .with_context(|| format!("can not read the folder {}", args.folder.display()))?;
    let fault = |fault: &whycrash_catalog::Fault| {
        format!(
            "{}:{}: {}",
            args.folder.join(&fault.file).display(),
            fault.line,
            fault.message
        )
    };
    let page = |page: &whycrash_catalog::Page| CheckedPage {
        id: page.cause.id.clone(),
        title: page.cause.title.clone(),
        tables: page.cause.recognise.len(),
        overrides: page.overrides,
    };
    let checked = Checked {
        pages: read.pages.iter().map(page).collect(),
        faults: read.faults.iter().map(fault).collect(),
    };
    output::answer(args.format, &checked, |checked| {
        let mut text = Clean::default();
        for page in &checked.pages {
            let overrides = if page.overrides { ", in the place of ours" } else { "" };
            text.push(format!(
                "ok  {} ({} recognise tables{overrides}): {}",
                page.id, page.tables, page.title
            ));
            text.end_line();
        }
        for fault in &checked.faults {
            text.push(fault);
            text.end_line();
        }
        text
    })?;
    let is_right = checked.faults.is_empty();
    Ok(if is_right { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Diagnoses each case with the page beside ours.
pub fn try_page(args: &TryArgs) -> anyhow::Result<ExitCode> {
    let folder = tempfile::tempdir()?;
    let name = args.page.file_name().context("the page has no name")?;
    fs::copy(&args.page, folder.path().join(name)).with_context(|| format!("can not read {}", args.page.display()))?;
    let read = Folder::read(folder.path(), &Catalog::embedded())?;
    if !read.faults.is_empty() {
        let faults = read.faults.iter();
        let faults: Vec<String> = faults
            .map(|fault| format!("{}:{}: {}", args.page.display(), fault.line, fault.message))
            .collect();
        bail!("{}", faults.join("\n"));
    }
    let page = read.pages.first().context("the page's name must end in .md")?;
    if page.cause.recognise.is_empty() {
        bail!(
            "{} has no [[recognise]] table, and without one a page says nothing by itself",
            args.page.display()
        );
    }
    let diagnoser = Diagnoser::new(Settings {
        knowledge_folders: vec![folder.path().to_owned()],
        ..Settings::default()
    })?;
    let try_case = |case: &PathBuf| -> anyhow::Result<Tried> {
        let artifacts = inputs::from_paths(std::slice::from_ref(case))?;
        let input = crate::diagnoser::input(artifacts);
        let document = diagnoser.diagnose(&input);
        let place = document
            .findings
            .iter()
            .position(|finding| finding.cause == page.cause.id);
        let why = || diagnoser.explain(&Arc::new(diagnoser.read(&input)), &page.cause.id);
        Ok(Tried {
            case: case.clone(),
            first: document.findings.first().map(|finding| finding.cause.clone()),
            finding: place.and_then(|place| document.findings.get(place)).cloned(),
            why: if place.is_none() { why() } else { None },
            place: place.map(|place| place + 1),
        })
    };
    let tried: Vec<Tried> = args.cases.iter().map(try_case).collect::<anyhow::Result<_>>()?;
    output::answer(args.format, &tried, |tried| text(tried))?;
    Ok(ExitCode::SUCCESS)
}

fn text(tried: &[Tried]) -> Clean {
    let mut text = Clean::default();
    for tried in tried {
        for line in lines(tried) {
            text.push(line);
            text.end_line();
        }
    }
    text
}

/// What is told of a page and a crash.
fn lines(tried: &Tried) -> Vec<String> {
    let case = tried.case.display();
    if let (Some(finding), Some(place)) = (&tried.finding, tried.place) {
        let cited = finding.citations.iter();
        let cited = cited.map(|citation| format!("    {}: {}", citation.artifact, citation.quote));
        let said = format!(
            "{case}: place {place}, {:.2}: {}",
            finding.confidence, finding.explanation
        );
        return std::iter::once(said).chain(cited).collect();
    }
    let first = tried.first.as_deref().unwrap_or("nothing");
    let mut lines = vec![format!("{case}: says nothing; first is {first}")];
    if let Some(why) = &tried.why {
        let events: Vec<String> = why
            .events
            .iter()
            .map(|(kind, count)| format!("{count} {kind}"))
            .collect();
        lines.push(match events.is_empty() {
            true => "    there are no events".to_owned(),
            false => format!("    there are these events: {}", events.join(", ")),
        });
        lines.extend(why.tables.iter().flat_map(of_table));
    }
    lines
}

/// Why a table says nothing.
fn of_table(table: &TableTrial) -> Vec<String> {
    let (number, kind) = (table.table, &table.kind);
    let what = match kind.as_str() {
        LINE => "line matches its `text`".to_owned(),
        kind => format!("event is of kind `{kind}`"),
    };
    let Some(nearest) = &table.nearest else {
        return vec![format!("    table {number}: no {what}")];
    };
    let there = format!("{}: {}", nearest.artifact, nearest.text);
    if table.matches {
        return vec![
            format!("    table {number} matches: {there}"),
            "        what it finds gives way to another finding, or the program went on behind that line".to_owned(),
        ];
    }
    let of_kind = match kind.as_str() {
        LINE => format!("{} lines match its `text`", table.of_kind),
        kind => format!("{} events of kind `{kind}`", table.of_kind),
    };
    let mut lines = vec![format!("    table {number}: {of_kind}; the nearest is {there}")];
    lines.extend(nearest.failed.iter().map(|test| {
        let found = match &test.found {
            Some(found) => format!("there is {found:?}"),
            None => "there is no value".to_owned(),
        };
        format!("        `{}` asks for {}; {found}", test.member, test.wanted)
    }));
    lines
}
