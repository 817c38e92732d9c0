//! What a change means for the reports that a server has.

use serde_json::Value;

use super::page::count;

/// How many stored reports are diagnosed anew, as a server says it; nothing where it says nothing.
pub fn diagnosed_anew(follows: &Value) -> Option<String> {
    let reports = follows["reports"].as_u64()?;
    let of = follows["of"].as_u64().map(|all| format!("of {all} "));
    Some(match reports {
        0 => "no stored report has to be diagnosed anew".to_owned(),
        _ => format!(
            "{} {}to be diagnosed anew, behind what is sent now; `whycrash rediagnose` says how far that has come",
            count(reports as usize, "stored report"),
            of.unwrap_or_default()
        ),
    })
}
