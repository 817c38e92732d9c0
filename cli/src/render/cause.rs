//! Pages of the catalogue.

use whycrash_catalog::{Cause, Retry};

use super::markdown;
use super::page::{Page, style};
use crate::output::Clean;

/// One cause in full.
pub fn cause(cause: &Cause, width: usize) -> Clean {
    let mut page = Page::new(width);
    page.title(&cause.title);
    let origin = if cause.origin.is_empty() {
        String::new()
    } else {
        format!(" · from {}", cause.origin)
    };
    page.title_note(&format!("{} · {}{origin}", cause.id, cause.severity));
    page.section("What");
    page.paragraph(0, &cause.summary);
    list(&mut page, "Signs", &cause.signs);
    page.section("Whose");
    page.paragraph(0, &whose(&cause.domain, &cause.retry));
    if !cause.fixes.is_empty() {
        page.section("Fix");
    }
    for (number, fix) in (1..).zip(&cause.fixes) {
        page.item(0, &format!("{number}."), &fix.summary);
        fix.steps.iter().for_each(|step| page.item(3, "-", step));
        if let Some(not_when) = &fix.not_when {
            page.item(3, "not when:", not_when);
        }
    }
    list(&mut page, "Applies", &cause.applies_to);
    if let Some(version) = &cause.fixed_in {
        page.section("Fixed in");
        page.paragraph(0, version);
    }
    markdown::render(&mut page, &cause.body);
    let seen = cause
        .verified
        .iter()
        .map(|seen| format!("{}, {}: {}", seen.date, seen.on, seen.observed));
    list(&mut page, "Seen", &seen.collect::<Vec<_>>());
    if let Some(reproducer) = &cause.reproducer {
        page.section("Try it");
        page.line(0, reproducer);
    }
    if !cause.undetectable.is_empty() {
        page.section("Not told by artifacts");
        page.paragraph(0, &cause.undetectable);
    }
    if !cause.references.is_empty() {
        page.section("More");
        cause.references.iter().for_each(|reference| page.line(0, reference));
    }
    if let Some(date) = &cause.references_opened {
        page.line(0, format!("(opened on {date})"));
    }
    page.finish()
}

/// Who owns a failure, and whether the job is worth a second try, in words.
pub fn whose(domain: &str, retry: &Retry) -> String {
    let advice = match retry.advice.as_str() {
        "retry" => "Worth another try",
        "retry-elsewhere" => "Worth another try on another machine",
        "change-first" => "Change something before you try again",
        "ask-owner" => "Ask whoever ended it or has to act",
        _ => return format!("{domain} · whether another try helps is not known"),
    };
    format!("{domain} · {advice}: {}", retry.because)
}

/// A line or two for each of several causes.
pub fn causes(causes: &[&Cause], width: usize) -> Clean {
    let mut text = Clean::default();
    let widest = causes.iter().map(|cause| cause.id.len()).max().unwrap_or(0);
    let room = width.saturating_sub(widest + 2).max(20);
    for cause in causes {
        let lines = textwrap::wrap(&cause.title, room);
        for (index, line) in lines.iter().enumerate() {
            let id = if index == 0 { cause.id.as_str() } else { "" };
            text.push(style::strong(&format!("{id:<widest$}")));
            text.push(format!("  {line}"));
            text.end_line();
        }
    }
    text
}

fn list(page: &mut Page, label: &'static str, items: &[String]) {
    if !items.is_empty() {
        page.section(label);
    }
    items.iter().for_each(|item| page.item(0, "-", item));
}
