//! What changed between two diagnoses.

use serde_json::Value;

use super::page::{Page, style};
use crate::output::Clean;

/// The causes that were gained, lost and changed, and the plugins that did it.
pub fn diff(changes: &Value, width: usize) -> Clean {
    let mut page = Page::new(width);
    let number = |member: &str| changes.get(member).and_then(Value::as_u64).unwrap_or_default();
    page.title(&format!("From diagnosis {} to {}", number("from"), number("to")));
    let list = |member: &str| {
        changes
            .get(member)
            .and_then(Value::as_array)
            .cloned()
            .unwrap_or_default()
    };
    for (sign, member) in [("+", "gained"), ("-", "lost")] {
        for cause in list(member) {
            page.item(0, sign, &ranked(&cause));
        }
    }
    for cause in list("changed") {
        page.item(0, "~", &changed(&cause));
    }
    if ["gained", "lost", "changed"]
        .iter()
        .all(|member| list(member).is_empty())
    {
        page.line(0, style::faint("the same was concluded"));
    }
    let plugins = list("plugins");
    if !plugins.is_empty() {
        page.section("Plugins");
    }
    for plugin in plugins {
        page.item(0, &format!("{}:", text(&plugin, "name")), &plugin_change(&plugin));
    }
    page.finish()
}

fn text<'a>(value: &'a Value, member: &str) -> &'a str {
    value.get(member).and_then(Value::as_str).unwrap_or_default()
}

fn ranked(cause: &Value) -> String {
    let confidence = cause.get("confidence").and_then(Value::as_f64).unwrap_or_default();
    let rank = cause.get("rank").and_then(Value::as_u64).unwrap_or_default() + 1;
    format!("{} (number {rank}, confidence {confidence:.2})", text(cause, "cause"))
}

fn changed(cause: &Value) -> String {
    let pair = |member: &str, shown: fn(&Value) -> String| {
        let of = |index: usize| cause.get(member).and_then(|pair| pair.get(index)).map(shown);
        (of(0).unwrap_or_default(), of(1).unwrap_or_default())
    };
    let rank = pair("rank", |rank| (rank.as_u64().unwrap_or_default() + 1).to_string());
    let confidence = pair("confidence", |value| {
        format!("{:.2}", value.as_f64().unwrap_or_default())
    });
    let mut what = Vec::new();
    for (name, (before, after)) in [("number", rank), ("confidence", confidence)] {
        if before != after {
            what.push(format!("{name} {before} → {after}"));
        }
    }
    if cause.get("reasons").and_then(Value::as_bool) == Some(true) {
        what.push("for other reasons".to_owned());
    }
    format!("{}: {}", text(cause, "cause"), what.join(", "))
}

fn plugin_change(plugin: &Value) -> String {
    let pair = |member: &str| {
        let of = |index: usize| {
            let value = plugin.get(member).and_then(|pair| pair.get(index));
            value.and_then(Value::as_str).unwrap_or("none").to_owned()
        };
        format!("{} → {}", of(0), of(1))
    };
    format!("{}, {}", pair("version"), pair("outcome"))
}
