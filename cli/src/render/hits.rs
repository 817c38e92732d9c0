//! Search results.

use serde_json::Value;

use super::page::{Page, count, cut, style};
use crate::output::Clean;
use crate::when;

/// A table of hits, and what they have in common.
pub fn hits(found: &Value, width: usize) -> Clean {
    let mut page = Page::new(width);
    let hits = found
        .get("hits")
        .and_then(Value::as_array)
        .map(Vec::as_slice)
        .unwrap_or_default();
    let total = found.get("total").and_then(Value::as_u64).unwrap_or(0);
    page.title(&format!("{} found", count(total as usize, "report")));
    for hit in hits {
        let text = |member: &str| hit.get(member).and_then(Value::as_str).unwrap_or_default();
        page.section("");
        page.line(0, style::strong(&cut(text("title"), page.room())));
        let times = hit.get("count").and_then(Value::as_u64).filter(|count| *count > 1);
        let times = times.map(|times| format!("seen {times} times")).unwrap_or_default();
        let facts = [
            text("cause"),
            text("signal"),
            text("exception"),
            text("host"),
            text("time"),
            &times,
        ];
        let facts: Vec<&str> = facts.into_iter().filter(|fact| !fact.is_empty()).collect();
        page.line(0, cut(&facts.join(" · "), page.room()));
        page.line(0, style::faint(text("id")));
    }
    facets(&mut page, found);
    page.finish()
}

/// The hits, a line for each: short id, when, title, cause.
pub fn hit_lines(found: &Value, width: usize) -> Clean {
    let mut lines = Clean::default();
    for hit in found.get("hits").and_then(Value::as_array).into_iter().flatten() {
        let text = |member: &str| hit.get(member).and_then(Value::as_str).unwrap_or_default();
        let time = text("time").parse().map(when::short);
        let cause = hit.get("cause").and_then(Value::as_str);
        let cause = cause.map(|cause| format!("  ({cause})")).unwrap_or_default();
        let head = format!(
            "{}  {}  ",
            text("id").get(..8).unwrap_or_default(),
            time.unwrap_or_default()
        );
        let room = width.saturating_sub(head.chars().count() + cause.chars().count());
        lines.push(format!("{head}{}{cause}", cut(text("title"), room.max(20))));
        lines.end_line();
    }
    lines
}

fn facets(page: &mut Page, found: &Value) {
    let facets = found.get("facets").and_then(Value::as_object).into_iter().flatten();
    let mut first = true;
    for (field, values) in facets {
        let value = |value: &Value| Some(format!("{} ({})", value.get("value")?.as_str()?, value.get("count")?));
        let values: Vec<String> = values
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(value)
            .take(6)
            .collect();
        if values.is_empty() {
            continue;
        }
        if std::mem::take(&mut first) {
            page.section("Among");
        }
        page.item(0, &format!("{field}:"), &values.join(", "));
    }
}
