//! What must hold among all documents together. The build script compiles this module too.

use std::collections::BTreeMap;

use pulldown_cmark::{Event, Parser, Tag};
use whycrash_model::nearest;

use crate::cause::Cause;
use crate::parse::{Fault, line_of};

/// The rules no document can keep alone: no id is claimed twice, be it by name or by `also`, and no link between pages,
/// no member of a family and no consequence dangles. Each cause comes with the text it was parsed from, which gives the
/// faults their lines.
pub fn check(documents: &[(Cause, &str)]) -> Vec<Fault> {
    let documents: Vec<(&Cause, &str)> = documents.iter().map(|(cause, text)| (cause, *text)).collect();
    check_beside(&documents, &[], &[])
}

/// The same of documents that stand beside others, which are right already, and such that are left out.
pub(crate) fn check_beside(documents: &[(&Cause, &str)], others: &[Cause], left_out: &[&str]) -> Vec<Fault> {
    let mut faults = Vec::new();
    let mut owners: BTreeMap<&str, &str> = BTreeMap::new();
    for cause in others {
        let ids = std::iter::once(&cause.id).chain(&cause.also);
        owners.extend(ids.map(|id| (id.as_str(), cause.id.as_str())));
    }
    for (cause, text) in documents {
        for id in std::iter::once(&cause.id).chain(&cause.also) {
            if let Some(other) = owners.insert(id, &cause.id) {
                let message = format!("the id `{id}` is already claimed by {other}.md");
                faults.push(fault(cause, text, &format!("\"{id}\""), message));
            }
        }
    }
    for (cause, text) in documents {
        let named = cause
            .members
            .iter()
            .chain(cause.leads_to.iter().map(|consequence| &consequence.cause));
        for id in named {
            let is_another = owners.get(id.as_str()).is_some_and(|owner| *owner != cause.id);
            if !is_another && !left_out.contains(&id.as_str()) {
                let others = owners.keys().copied().filter(|other| *other != cause.id);
                let meant = meant(id, others);
                let message = format!("`{id}`, among its members or what it leads to, is no other page{meant}");
                faults.push(fault(cause, text, &format!("\"{id}\""), message));
            }
        }
        for target in page_links(&cause.body) {
            if !owners.contains_key(target.as_str()) && !left_out.contains(&target.as_str()) {
                let meant = meant(&target, owners.keys().copied());
                let message = format!("no page answers for the link to {target}.md{meant}");
                faults.push(fault(cause, text, &format!("({target}.md)"), message));
            }
        }
    }
    faults
}

/// The id that a mistyped one may stand for, as the end of a sentence.
fn meant<'w>(id: &str, ids: impl Iterator<Item = &'w str>) -> String {
    nearest(id, ids).map_or_else(String::new, |nearest| format!("; did you mean `{nearest}`?"))
}

/// A fault of this document, on the line where `needle` first stands.
fn fault(cause: &Cause, text: &str, needle: &str, message: String) -> Fault {
    Fault::new(
        &format!("{}.md", cause.id),
        line_of(text, text.find(needle).unwrap_or(0)),
        message,
    )
}

/// Ids of the causes that this prose links to.
fn page_links(body: &str) -> impl Iterator<Item = String> + '_ {
    Parser::new(body).filter_map(|event| match event {
        Event::Start(Tag::Link { dest_url, .. }) => linked_cause(&dest_url).map(str::to_owned),
        _ => None,
    })
}

/// The cause that a link's target names: links between pages are relative file names.
pub(crate) fn linked_cause(target: &str) -> Option<&str> {
    target.strip_suffix(".md").filter(|id| !id.contains(['/', ':']))
}
