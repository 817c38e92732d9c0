//! The diagnosis with all that is known of it.

use serde_json::Value;
use whycrash_evidence::Evidence;
use whycrash_evidence::model::{Crash, EventPayload};
use whycrash_plugin_host::{ArtifactHead, Document, Finding, Fix, Outcome, PluginRun, ReportHead};

use super::answer::{Answer, percent};
use super::cause::whose;
use super::evidence::odd_series;
use super::page::{Page, columns, count, style};
use super::{Files, frames, inventory, proof};
use crate::output::Clean;

/// Frames shown of the crashed thread when no cause was found.
const FRAMES: usize = 8;

/// Files listed by name; of more, those with problems come first.
const FILES: usize = 24;

/// The whole document on a page of `width` columns.
pub fn document(answer: &Answer<'_>, width: usize) -> Clean {
    let (document, files) = (answer.document, answer.files);
    let mut page = Page::new(width);
    page.title(&answer.headline());
    if !document.report.id.is_empty() {
        page.title_note(&format!("report {}", document.report.id));
    }
    answer.notes.iter().for_each(|note| page.title_note(note));
    match document.findings.split_first() {
        Some((best, others)) => {
            page.section("Failed");
            page.paragraph(0, &document.report.title);
            finding(&mut page, &document.report, best, &document.evidence, files);
            alternatives(&mut page, others);
        }
        None => no_finding(&mut page, answer),
    }
    next(&mut page, document);
    odd_series(&mut page, &document.evidence.series);
    artifacts(&mut page, &document.report.artifacts);
    unavailable(&mut page, document);
    failed_plugins(&mut page, &document.plugins);
    page.finish()
}

/// What happened in a line, and the report's id.
pub fn head(page: &mut Page, report: &ReportHead, evidence: &Evidence) {
    let title = if report.title.is_empty() {
        ending(report, evidence)
    } else {
        report.title.clone()
    };
    page.title(&title);
    if !report.id.is_empty() {
        page.title_note(&format!("report {}", report.id));
    }
}

/// How the process ended, in words.
pub fn ending(report: &ReportHead, evidence: &Evidence) -> String {
    match (
        &report.exit.signal,
        report.exit.code,
        evidence.crash.as_ref().and_then(|crash| crash.signal.as_ref()),
    ) {
        (Some(signal), _, _) | (None, None, Some(signal)) => format!("died of {signal}"),
        (None, Some(code), _) => format!("exited with code {code}"),
        (None, None, None) => "a crash of unknown kind".to_owned(),
    }
}

fn finding(page: &mut Page, report: &ReportHead, finding: &Finding, evidence: &Evidence, files: &Files) {
    page.section("Cause");
    page.styled_item(0, "", style::STRONG, &finding.title);
    page.line(
        0,
        format!(
            "{} sure · {} · says {}",
            percent(finding.confidence),
            finding.cause,
            finding.plugin.name
        ),
    );
    page.section("Why");
    page.paragraph(0, &finding.explanation);
    if !finding.citations.is_empty() {
        page.section("Proof");
        proof::citations(page, report, &finding.citations, evidence, files);
    }
    if !finding.contradictions.is_empty() {
        page.section("Against");
        proof::citations(page, report, &finding.contradictions, evidence, files);
    }
    if !finding.domain.is_empty() {
        page.section("Whose");
        page.paragraph(0, &whose(&finding.domain, &finding.retry));
    }
    fixes(page, &finding.fixes);
    if !finding.references.is_empty() {
        page.section("More");
        page.line(0, format!("whycrash cause {}", finding.cause));
        finding.references.iter().for_each(|reference| page.line(0, reference));
    }
}

/// Numbered fixes, each with its steps.
pub fn fixes(page: &mut Page, fixes: &[Fix]) {
    if !fixes.is_empty() {
        page.section("Fix");
    }
    for (number, fix) in (1..).zip(fixes) {
        page.item(0, &format!("{number}."), &fix.summary);
        fix.steps.iter().for_each(|step| page.item(3, "-", step));
        if let Some(not_when) = &fix.not_when {
            page.item(3, "not when:", not_when);
        }
    }
}

fn alternatives(page: &mut Page, others: &[Finding]) {
    if !others.is_empty() {
        page.section("Or");
    }
    for other in others {
        page.item(
            0,
            &format!("{:>4}", percent(other.confidence)),
            &format!("{} ({})", other.title, other.cause),
        );
    }
}

fn no_finding(page: &mut Page, answer: &Answer<'_>) {
    let evidence = &answer.document.evidence;
    if !answer.why().is_empty() {
        page.section("Why");
        page.paragraph(0, answer.why());
    }
    if let Some(crash) = &evidence.crash {
        page.section("Signal");
        page.paragraph(0, &describe(crash));
    }
    if let Some(thread) = evidence.threads.iter().find(|thread| thread.crashed) {
        page.section("Stack");
        page.line(0, style::faint(&format!("{}, thread {}", thread.artifact, thread.id)));
        frames::stack(page, 2, thread, FRAMES);
        frames::source_of_first(page, 4, frames::from_signal(thread));
    }
    let last = evidence.timeline.iter().rev().find_map(|event| match &event.payload {
        EventPayload::PythonException(exception) => Some((event, exception)),
        _ => None,
    });
    if let Some((event, exception)) = last {
        page.section("Raised");
        page.paragraph(
            0,
            format!("{}: {}", exception.exception, exception.message).trim_end_matches([':', ' ']),
        );
        page.line(0, style::faint(&format!("in {}", event.artifact)));
    }
}

/// The signal with what the kernel told about it.
pub fn describe(crash: &Crash) -> String {
    let address = crash.address.and_then(|address| serde_json::to_value(address).ok());
    let address = address.as_ref().and_then(|address| address.as_str()).map(|address| {
        let kind = crash
            .address_kind
            .as_ref()
            .map(|kind| format!(" ({kind})"))
            .unwrap_or_default();
        format!("{} address {address}{kind}", crash.access.as_deref().unwrap_or("at"))
    });
    let code = crash.exit_code.map(|code| format!("exit code {code}"));
    let thread = crash.thread.as_ref().map(|thread| format!("thread {thread}"));
    let message = crash.message.as_ref().map(|message| format!("last words: {message}"));
    let rank = crash.rank.map(|rank| format!("rank {rank}"));
    let parts = [
        rank,
        crash.signal.clone(),
        code,
        crash.code.clone(),
        address,
        thread,
        message,
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn next(page: &mut Page, document: &Document) {
    if document.next.is_empty() {
        return;
    }
    page.section("Collect");
    for item in &document.next {
        let between = match item.decides_between.as_slice() {
            [] => String::new(),
            causes => format!(" (tells apart {})", causes.join(", ")),
        };
        page.item(0, "-", &format!("{}: {}{between}", item.artifact, item.how));
    }
}

/// The report's artifacts in a table, each with what was wrong with it.
pub fn artifacts(page: &mut Page, artifacts: &[ArtifactHead]) {
    if artifacts.is_empty() {
        return;
    }
    page.section("Files");
    let mut shown: Vec<&ArtifactHead> = artifacts.iter().collect();
    if artifacts.len() > FILES {
        page.line(0, inventory::files(artifacts, page.room()));
        shown.sort_by_key(|artifact| artifact.problems.is_empty());
        shown.truncate(FILES);
    }
    let names = shown.iter().map(|artifact| columns(&artifact.name)).max().unwrap_or(0);
    for artifact in shown {
        let kind = serde_json::to_value(artifact.kind).ok();
        let kind = kind.as_ref().and_then(|kind| kind.as_str()).unwrap_or("unknown");
        let size = indicatif::HumanBytes(artifact.bytes).to_string();
        let pad = names - columns(&artifact.name);
        page.line(0, format!("{}{:pad$}  {kind:<15}  {size:>10}", artifact.name, ""));
        for problem in &artifact.problems {
            page.styled_item(2, "!", style::WARN, &format!("{}: {}", problem.code, problem.message));
        }
    }
    if let Some(left) = artifacts.len().checked_sub(FILES).filter(|left| *left > 0) {
        page.line(
            0,
            style::faint(&format!("… {} more: see --format json", count(left, "file"))),
        );
    }
}

/// What the collector could not get, as it wrote it down: in full when it may be what kept a cause from being found.
fn unavailable(page: &mut Page, document: &Document) {
    let items = document.evidence.context.get("unavailable").and_then(Value::as_array);
    let items: Vec<&Value> = items
        .into_iter()
        .flatten()
        .filter(|item| said(item, "what").is_some())
        .collect();
    if items.is_empty() {
        return;
    }
    page.section("Missing");
    if !document.findings.is_empty() {
        let names: Vec<&str> = items.iter().filter_map(|item| said(item, "what")).collect();
        return page.paragraph(
            0,
            &format!("{} (why, and how to mend it: context.json)", names.join(", ")),
        );
    }
    for item in items {
        let parts = [said(item, "what"), said(item, "why"), said(item, "mend")];
        page.item(0, "-", &parts.into_iter().flatten().collect::<Vec<_>>().join(": "));
    }
}

fn said<'v>(item: &'v Value, member: &str) -> Option<&'v str> {
    item.get(member).and_then(Value::as_str)
}

fn failed_plugins(page: &mut Page, plugins: &[PluginRun]) {
    let failed: Vec<_> = plugins
        .iter()
        .filter(|plugin| plugin.outcome == Outcome::Failed)
        .collect();
    if failed.is_empty() {
        return;
    }
    page.section("Plugins");
    page.line(
        0,
        format!("{} failed; what the others say stands", count(failed.len(), "plugin")),
    );
    for plugin in failed {
        let reason = plugin.reason.as_deref().unwrap_or("no reason given");
        page.styled_item(
            0,
            "!",
            style::WARN,
            &format!("{} {}: {reason}", plugin.name, plugin.version),
        );
    }
}
