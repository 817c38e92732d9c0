//! What a plugin says about itself, before anybody believes it.
//!
//! Names and ids end up in documents, pages and addresses, so they are held to their form; a need or a cause that does
//! not exist would be silence for ever, so it is an error now.

use whycrash_catalog::{Cause, Vocabulary};
use whycrash_evidence::nearest;

use super::bindings::types::PluginInfo;
use super::{Knowledge, PluginError, cut};

/// Bytes of a name or an id.
const NAME_BYTES: usize = 64;
/// Causes that one plugin can name, or as many as are documented if these are more.
const CAUSES: usize = 1024;
/// Kinds of evidence that one plugin can need.
const NEEDS: usize = 512;
/// Bytes of a name that are repeated when it is wrong.
const TOLD: usize = 80;

/// Whether a plugin may say this about itself.
pub(crate) fn check(info: &PluginInfo, knowledge: &Knowledge, own: &[Cause]) -> Result<(), PluginError> {
    let refuse = |reason: String| Err(PluginError::Refused(reason));
    if !is_name(&info.name) {
        return refuse(format!(
            "it calls itself {:?}: a plugin's name has lower-case letters, digits and hyphens, {NAME_BYTES} at most",
            cut(&info.name, TOLD)
        ));
    }
    if !is_version(&info.version) {
        return refuse(format!(
            "its version is {:?}: a version is three numbers, such as 1.0.2 or 1.1.0-rc.1",
            cut(&info.version, TOLD)
        ));
    }
    let needs = || info.needs.any_of.iter().chain(&info.needs.all_of);
    let causes = CAUSES.max(knowledge.catalog.causes().len());
    for (what, count, most) in [("causes", info.causes.len(), causes), ("needs", needs().count(), NEEDS)] {
        if count > most {
            return refuse(format!(
                "it lists {count} {what}, more than the {most} that are allowed"
            ));
        }
    }
    let is_known = |id: &str| knowledge.catalog.get(id).is_some() || own.iter().any(|page| page.answers_for(id));
    if let Some(cause) = info.causes.iter().find(|cause| !is_known(cause)) {
        let documented = knowledge
            .catalog
            .causes()
            .iter()
            .chain(own)
            .map(|page| page.id.as_str());
        let meant = nearest(&cut(cause, TOLD), documented);
        let meant = meant.map_or_else(String::new, |id| format!("; did you mean `{id}`?"));
        return refuse(format!(
            "it says that it can name the cause {:?}, which is not documented{meant}",
            cut(cause, TOLD)
        ));
    }
    let words = Vocabulary::of_model();
    match needs().find_map(|need| Some((need, words.of_need(need)?))) {
        Some((need, flaw)) => refuse(format!("it needs {:?}: {flaw}", cut(need, TOLD))),
        None => Ok(()),
    }
}

fn is_name(text: &str) -> bool {
    let is_plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    !text.is_empty() && text.len() <= NAME_BYTES && text.bytes().all(is_plain)
}

/// Three numbers, and perhaps a label behind a hyphen or a plus (semver.org).
fn is_version(text: &str) -> bool {
    let (numbers, label) = text.split_at(text.find(['-', '+']).unwrap_or(text.len()));
    let is_number = |part: &str| !part.is_empty() && part.len() <= 9 && part.bytes().all(|b| b.is_ascii_digit());
    let is_plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.' | b'+');
    text.len() <= NAME_BYTES
        && numbers.split('.').count() == 3
        && numbers.split('.').all(is_number)
        && label.bytes().all(is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_three_numbers_and_perhaps_a_label() {
        for version in ["0.1.0", "1.20.300", "1.0.0-rc.1", "1.0.0+build"] {
            assert!(is_version(version), "{version}");
        }
        for version in [
            "",
            "1",
            "1.0",
            "1.0.0.0",
            "v1.0.0",
            "1.0.x",
            "1.0.0 ",
            "1.0.0-\u{1b}[2J",
            "1.0.0-\u{202e}",
        ] {
            assert!(!is_version(version), "{version:?}");
        }
    }
}
