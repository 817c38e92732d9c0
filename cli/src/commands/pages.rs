//! `whycrash cause check` and `whycrash cause try`: pages that people write beside ours.

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use serde::Serialize;
use whycrash_catalog::{Catalog, Folder};
use whycrash_plugin_host::{Diagnoser, Finding, Settings};

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
    if let Some(fault) = read.faults.first() {
        bail!("{}:{}: {}", args.page.display(), fault.line, fault.message);
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
        let document = diagnoser.diagnose(&crate::diagnoser::input(inputs::from_paths(std::slice::from_ref(
            case,
        ))?));
        let place = document
            .findings
            .iter()
            .position(|finding| finding.cause == page.cause.id);
        Ok(Tried {
            case: case.clone(),
            first: document.findings.first().map(|finding| finding.cause.clone()),
            finding: place.and_then(|place| document.findings.get(place)).cloned(),
            place: place.map(|place| place + 1),
        })
    };
    let tried: Vec<Tried> = args.cases.iter().map(try_case).collect::<anyhow::Result<_>>()?;
    output::answer(args.format, &tried, |tried| text(tried))?;
    Ok(ExitCode::SUCCESS)
}

fn text(tried: &[Tried]) -> Clean {
    let mut text = Clean::default();
    for Tried {
        case,
        finding,
        place,
        first,
    } in tried
    {
        let case = case.display();
        match (finding, place) {
            (Some(finding), Some(place)) => {
                text.push(format!(
                    "{case}: place {place}, {:.2}: {}",
                    finding.confidence, finding.explanation
                ));
                for citation in &finding.citations {
                    text.end_line();
                    text.push(format!("    {}: {}", citation.artifact, citation.quote));
                }
            }
            _ => text.push(format!(
                "{case}: says nothing; first is {}",
                first.as_deref().unwrap_or("nothing")
            )),
        }
        text.end_line();
    }
    text
}
