//! The first screen: what happened, where in the program, and what to do, for somebody who was just woken.

use serde_json::Value;
use whycrash_evidence::model::EventPayload;
use whycrash_plugin_host::{Document, Finding, Outcome, VerdictKind};

use super::answer::{Answer, command, percent};
use super::page::{Page, clip, columns, count, cut, style};
use super::{frames, inventory};
use crate::output::Clean;

/// Lines of a screen.
const LINES: usize = 20;

/// Lines of proof.
const PROOF: usize = 2;

/// Files that could not be read, each with the reason.
const UNREAD: usize = 4;

/// Surer than this, nothing more has to be looked at to decide.
const DECIDED: f64 = 0.9;

/// The answer in no more lines than a screen has: where it would have more, sentences are cut shorter.
pub fn screen(answer: &Answer<'_>, width: usize) -> Clean {
    let lengths = [3, 2, 1];
    let mut screens = lengths.iter().map(|lines| page(answer, width, *lines));
    let fits = |text: &Clean| text.line_count() <= LINES;
    screens.by_ref().find(fits).unwrap_or_else(|| page(answer, width, 1))
}

fn page(answer: &Answer<'_>, width: usize, sentence: usize) -> Clean {
    let mut page = Page::new(width);
    page.clipped_title(&answer.headline(), 2);
    let note = note(answer);
    if !note.is_empty() {
        page.title_note(&note);
    }
    page.gap();
    if !answer.why().is_empty() {
        page.clipped("Why", answer.why(), sentence + usize::from(!answer.is_failure()));
    }
    if answer.is_failure() {
        code(&mut page, answer);
        proof(&mut page, answer);
    }
    if let Some(best) = answer.best() {
        fix(&mut page, best, sentence);
        whose(&mut page, best);
        others(&mut page, answer.document.findings.get(1..).unwrap_or_default());
    }
    next(&mut page, answer, sentence);
    missing(&mut page, answer.document, answer.kind());
    unread(&mut page, answer);
    let artifacts = &answer.document.report.artifacts;
    if !artifacts.is_empty() {
        page.label("Files", style::LABEL);
        let files = inventory::files(artifacts, page.room());
        page.line(0, files);
    }
    plugins(&mut page, answer.document);
    more(&mut page, answer);
    page.finish()
}

/// Id and history of the report in a line.
fn note(answer: &Answer<'_>) -> String {
    let id = &answer.document.report.id;
    let id = (!id.is_empty()).then(|| format!("report {id}"));
    id.into_iter()
        .chain(answer.notes.iter().cloned())
        .collect::<Vec<_>>()
        .join(" · ")
}

/// The program's own line and its text; where there is none, the frame that leads.
fn code(page: &mut Page, answer: &Answer<'_>) {
    let Some(place) = answer.place() else {
        return stack(page, answer);
    };
    let function = answer.code().and_then(|code| code.function.as_deref());
    let place = match function {
        Some(function) if function != "<module>" => format!("{place}, in {function}"),
        _ => place,
    };
    page.label("Code", style::LABEL);
    let place = cut(&place, page.room());
    page.line(0, style::strong(&place));
    if let Some(source) = answer.source() {
        let source = cut(&source, page.room().saturating_sub(2));
        page.line(2, source);
    }
}

/// The innermost frame of the thread that crashed which is not how every process dies.
fn stack(page: &mut Page, answer: &Answer<'_>) {
    let evidence = &answer.document.evidence;
    let thread = evidence
        .threads
        .iter()
        .find(|thread| thread.crashed && !thread.frames.is_empty());
    let Some(thread) = thread else { return };
    let Some(frame) = frames::lead(thread) else { return };
    page.label("Frame", style::LABEL);
    let label = cut(&format!("{}, thread {}", frames::label(frame), thread.id), page.room());
    page.line(0, label);
}

/// The lines that prove it; where there is one, in as much room as two have.
fn proof(page: &mut Page, answer: &Answer<'_>) {
    let proof = answer.proof();
    let lines = if proof.len() > 1 { 1 } else { PROOF };
    for (number, (place, text)) in proof.iter().take(PROOF).enumerate() {
        if number == 0 {
            page.label("Proof", style::LABEL);
        }
        let place = if place.is_empty() {
            String::new()
        } else {
            format!("{place}: ")
        };
        let text = format!("{place}{text}");
        let shown = match lines {
            1 => vec![cut(&text, page.room())],
            lines => clip(&text, page.room(), lines),
        };
        for (number, line) in shown.iter().enumerate() {
            match line.strip_prefix(&place).filter(|_| number == 0) {
                Some(text) => page.line(0, style::faint(&place).then(text)),
                None => page.line(0, line),
            }
        }
    }
}

/// The first thing to do; a command that does not stand in it in one piece has a line of its own, to be copied.
fn fix(page: &mut Page, best: &Finding, sentence: usize) {
    let Some(first) = best.fixes.first() else { return };
    let text = match first.steps.first() {
        Some(step) => format!("{}: {step}", first.summary.trim_end_matches(['.', ':'])),
        None => first.summary.clone(),
    };
    let shown = clip(&text, page.room(), sentence);
    page.clipped("Fix", &text, sentence);
    let is_whole = |command: &&str| shown.iter().any(|line| line.contains(*command));
    if let Some(command) = command(&text).filter(|command| !is_whole(command)) {
        page.line(2, format!("$ {command}"));
    }
}

/// Who has to act, and whether it is worth another try.
fn whose(page: &mut Page, best: &Finding) {
    let again = match best.retry.advice.as_str() {
        "retry" => "yes, it is worth another try",
        "retry-elsewhere" => "yes, on another machine",
        "change-first" => "no, change something first",
        "ask-owner" => "ask whoever ended it, or has to act",
        _ => return,
    };
    let whose = match best.domain.as_str() {
        "" | "unknown" => String::new(),
        domain => format!(" · whose: {domain}"),
    };
    page.clipped("Retry", &format!("{again}{whose}"), 1);
}

/// Other causes that may be meant, in a line.
fn others(page: &mut Page, others: &[Finding]) {
    if others.is_empty() {
        return;
    }
    let listed: Vec<String> = others
        .iter()
        .map(|other| format!("{} {}", percent(other.confidence), other.cause))
        .collect();
    page.clipped("Or", &listed.join(" · "), 1);
}

/// What to collect, where the causes that are left can not be told apart, or where none was found.
fn next(page: &mut Page, answer: &Answer<'_>, sentence: usize) {
    let is_decided = answer.best().is_some_and(|best| best.confidence >= DECIDED);
    let Some(item) = answer.document.next.first().filter(|_| !is_decided) else {
        return;
    };
    page.clipped("Collect", &format!("{}: {}", item.artifact, item.how), sentence.min(2));
}

/// What the collector could not get, where that may be what kept a cause from being found.
fn missing(page: &mut Page, document: &Document, kind: Option<VerdictKind>) {
    let likely = document.findings.first().is_some_and(|best| best.confidence >= DECIDED);
    if likely || kind == Some(VerdictKind::NothingFailed) {
        return;
    }
    let Some(item) = unavailable(document).find(|item| could_decide(said(item, "what"), document)) else {
        return;
    };
    let parts = [said(item, "what"), said(item, "why"), said(item, "mend")];
    let text = parts
        .into_iter()
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join(": ");
    page.clipped("Missing", &text, 2);
}

fn unavailable(document: &Document) -> impl Iterator<Item = &Value> {
    let items = document.evidence.context.get("unavailable").and_then(Value::as_array);
    items.into_iter().flatten()
}

fn said<'v>(item: &'v Value, member: &str) -> &'v str {
    item.get(member).and_then(Value::as_str).unwrap_or_default()
}

/// Whether what is missing would tell more of a failure of this kind.
fn could_decide(what: &str, document: &Document) -> bool {
    let signal = document.report.exit.signal.as_deref().unwrap_or_default();
    let is_fault = ["SIGSEGV", "SIGBUS", "SIGILL", "SIGFPE", "SIGABRT", "SIGTRAP"].contains(&signal);
    let is_of_gpu = || {
        document.evidence.timeline.iter().any(|event| {
            matches!(
                event.payload,
                EventPayload::CudaOom(_)
                    | EventPayload::CudaError(_)
                    | EventPayload::DeviceAssert(_)
                    | EventPayload::GpuException(_)
                    | EventPayload::Xid(_)
            )
        })
    };
    match what {
        "core dump" => is_fault,
        "kernel log" => matches!(signal, "SIGKILL" | "SIGBUS" | "SIGSEGV"),
        "GPUs" | "GPUs over time" | "CUDA driver" => is_of_gpu(),
        "output" | "failures" => true,
        _ => false,
    }
}

/// The files that could not be read, each with what is wrong and what to do.
fn unread(page: &mut Page, answer: &Answer<'_>) {
    if answer.kind() != Some(VerdictKind::Unreadable) {
        return;
    }
    // The first one is told of in the sentence above.
    let unread: Vec<(&str, &str)> = inventory::unread(&answer.document.report.artifacts).skip(1).collect();
    if unread.is_empty() {
        return;
    }
    page.label("Unread", style::LABEL);
    for (name, why) in unread.iter().take(UNREAD) {
        let line = cut(&format!("{name}: {why}"), page.room());
        page.line(0, line);
    }
    if let Some(left) = unread.len().checked_sub(UNREAD).filter(|left| *left > 0) {
        page.line(0, style::faint(&format!("… {} more", count(left, "file"))));
    }
}

/// Plugins that failed: without them this may not be the whole answer. Of those that the machine could not run it is told at
/// the end what to do.
fn plugins(page: &mut Page, document: &Document) {
    let failed: Vec<&str> = document
        .plugins
        .iter()
        .filter(|run| run.outcome == Outcome::Failed)
        .map(|run| run.name.as_str())
        .collect();
    if let Some(first) = failed.first() {
        let who = match failed.len() {
            1 => format!("{first} failed"),
            count => format!("{count} of {} failed, such as {first}", document.plugins.len()),
        };
        page.clipped("Plugins", &format!("{who}; what the others say stands"), 1);
    }
}

/// What to type for more; where that is too long for a line, what to add.
fn more(page: &mut Page, answer: &Answer<'_>) {
    let cause = answer.best().map(|best| format!("whycrash cause {}", best.cause));
    let line = |whole: &str| {
        let commands: Vec<&str> = cause
            .as_deref()
            .into_iter()
            .chain([whole])
            .filter(|text| !text.is_empty())
            .collect();
        commands.join("  ·  ")
    };
    let whole = line(&answer.whole);
    let line = if columns(&whole) > page.room() {
        line("the same with --full")
    } else {
        whole
    };
    page.label("More", style::LABEL);
    page.line(0, line);
}
