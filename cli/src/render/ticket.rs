//! The answer as Markdown, to be put into a ticket or a chat.

use super::answer::Answer;
use super::inventory;
use crate::output::Clean;

/// Lines of proof.
const PROOF: usize = 4;

/// Columns that a list of files may take.
const COLUMNS: usize = 200;

/// The answer under a heading, with what it quotes in blocks of code.
pub fn ticket(answer: &Answer<'_>) -> Clean {
    let mut lines = vec![format!("### {}", plain(&answer.headline())), String::new()];
    if !answer.why().is_empty() {
        lines.extend([plain(answer.why()), String::new()]);
    }
    if answer.is_failure() {
        code(&mut lines, answer);
        proof(&mut lines, answer);
    }
    if let Some(best) = answer.best() {
        if !best.fixes.is_empty() {
            lines.extend(["**What to do**".to_owned(), String::new()]);
        }
        for (number, fix) in (1..).zip(&best.fixes) {
            lines.push(format!("{number}. {}", prose(&fix.summary)));
            lines.extend(fix.steps.iter().map(|step| format!("   - {}", prose(step))));
        }
        if !best.fixes.is_empty() {
            lines.push(String::new());
        }
        lines.push(format!("Cause: `{}` (`whycrash cause {}`)", best.cause, best.cause));
    }
    let files = inventory::files(&answer.document.report.artifacts, COLUMNS);
    lines.push(format!("Files: {}", plain(&files)));
    if !answer.document.report.id.is_empty() {
        lines.push(format!("Report: `{}`", answer.document.report.id));
    }
    Clean::lines(&(lines.join("\n") + "\n"))
}

fn code(lines: &mut Vec<String>, answer: &Answer<'_>) {
    let Some(place) = answer.place() else { return };
    let function = answer.code().and_then(|code| code.function.as_deref());
    let within = function
        .map(|function| format!(" in `{}`", quoted(function)))
        .unwrap_or_default();
    lines.extend([format!("**Where**: `{}`{within}", quoted(&place)), String::new()]);
    if let Some(source) = answer.source() {
        block(lines, &[source]);
    }
}

fn proof(lines: &mut Vec<String>, answer: &Answer<'_>) {
    let proof = answer.proof();
    let shown: Vec<String> = proof
        .iter()
        .take(PROOF)
        .map(|(place, text)| match place.is_empty() {
            true => text.clone(),
            false => format!("{place}: {text}"),
        })
        .collect();
    if !shown.is_empty() {
        lines.extend(["**Proof**".to_owned(), String::new()]);
        block(lines, &shown);
    }
}

/// Lines in a fence that none of them closes.
fn block(lines: &mut Vec<String>, quoted: &[String]) {
    let longest = quoted
        .iter()
        .flat_map(|line| line.split(|letter| letter != '`'))
        .map(str::len)
        .max()
        .unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    lines.push(fence.clone());
    lines.extend(quoted.iter().map(|line| line.replace('\n', " ")));
    lines.extend([fence, String::new()]);
}

/// Text in which nothing is markup, on one line.
fn plain(text: &str) -> String {
    let is_markup = |letter: char| "\\`*_{}[]<>#|~".contains(letter);
    text.chars().fold(String::new(), |mut plain, letter| {
        if is_markup(letter) {
            plain.push('\\');
        }
        plain.push(if letter == '\n' { ' ' } else { letter });
        plain
    })
}

/// Text of a page, whose backticks stand for code, on one line.
fn prose(text: &str) -> String {
    let balanced = text.matches('`').count().is_multiple_of(2);
    if !balanced {
        return plain(text);
    }
    let parts = text.split('`').enumerate();
    parts
        .map(|(place, part)| {
            if place.is_multiple_of(2) {
                plain(part)
            } else {
                format!("`{part}`")
            }
        })
        .collect()
}

/// Text that stands between backticks.
fn quoted(text: &str) -> String {
    text.replace(['`', '\n'], " ")
}
