//! Names the causes whose pages say how to recognise them: the tables of `knowledge/causes/`, held against a report.

mod surroundings;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::value::RawValue;
use whycrash_plugin::{Citation, Diagnosis, Finding, Info, Needs, Plugin, Report};
use whycrash_recognise::{Match, Rule, SAYING, Sign};

use crate::surroundings::Read;

struct Recognise;

/// Places that a finding cites at most: the event, others that the table asks for, and facts.
const CITATIONS: usize = 6;

/// Events that each table is held against at most: the first ones are those that the others follow from.
const CONSIDERED: usize = 48;

/// A table that is only read if an event may be what it looks for.
type Unread<'t> = Sign<&'t RawValue>;

impl Plugin for Recognise {
    fn about() -> Info {
        let tables = whycrash_plugin::recognise_tables();
        let signs = signs(&tables);
        let causes: BTreeSet<&str> = signs.iter().map(|sign| sign.cause.as_str()).collect();
        let kinds: BTreeSet<String> = signs.iter().map(|sign| format!("event:{}", sign.kind)).collect();
        Info::new("recognise", env!("CARGO_PKG_VERSION"))
            .names(causes)
            .needs(Needs::any_of(kinds.iter().map(String::as_str)))
    }

    fn diagnose(report: &Report) -> Result<Diagnosis, String> {
        let tables = report.recognise_tables();
        let signs = signs(&tables);
        let kinds = signs.iter().map(|sign| sign.kind.as_str());
        let read = Read::new(report, kinds.chain(SAYING));
        let rules = rules(&signs, &read)?;
        let mentioned = rules.iter().flat_map(|(_, rule)| rule.mentions()).map(|(kind, _)| kind);
        let read = read.with(mentioned);
        let mut best: BTreeMap<&str, (usize, Match)> = BTreeMap::new();
        for (sign, rule) in &rules {
            let Some(found) = first(sign, rule, &read) else {
                continue;
            };
            let (cause, found) = (sign.cause.as_str(), weighed(found, &read));
            let known = best.get(cause);
            if known.is_none_or(|(_, known)| known.confidence < found.1.confidence) {
                best.insert(cause, found);
            }
        }
        Ok(best
            .into_iter()
            .fold(Diagnosis::nothing(), |diagnosis, (cause, (event, found))| {
                diagnosis.with(finding(cause, event, found, &read))
            }))
    }
}

fn signs(tables: &[String]) -> Vec<Unread<'_>> {
    tables
        .iter()
        .filter_map(|table| serde_json::from_str(table).ok())
        .collect()
}

/// The tables that may look for something that happened, ready to be used.
fn rules<'s, 't>(signs: &'s [Unread<'t>], read: &Read) -> Result<Vec<(&'s Unread<'t>, Rule)>, String> {
    let ready = |sign: &'s Unread<'t>| {
        let flaw = |flaw: String| format!("a recognise table of {}: {flaw}", sign.cause);
        let table = serde_json::from_str(sign.table.get()).map_err(|error| flaw(error.to_string()))?;
        let rule = Rule::new(&table).map_err(|error| flaw(error.to_string()))?;
        Ok((sign, rule))
    };
    let may_be = |sign: &&Unread<'t>| read.signs().any(|(_, event)| sign.may_be(event));
    signs.iter().filter(may_be).map(ready).collect()
}

/// The first event that a table is a sign in: what comes later is more often a consequence.
fn first(sign: &Unread, rule: &Rule, read: &Read) -> Option<(usize, Match)> {
    read.signs()
        .filter(|(_, event)| rule.considers(event))
        .take(CONSIDERED)
        .filter(|(_, event)| sign.may_be(event))
        .find_map(|(position, event)| Some((position, rule.matches(event, read)?)))
}

/// What was raised and then handled, and something else was raised meanwhile, is a little less likely the failure
/// itself.
fn weighed((event, found): (usize, Match), read: &Read) -> (usize, Match) {
    const HANDLED: f64 = 0.9;
    let relation = read.happened[event]
        .detail
        .get("relation")
        .and_then(serde_json::Value::as_str);
    let was_handled = relation == Some("context") && !read.was_mishandled(event);
    let factor = if was_handled { HANDLED } else { 1.0 };
    let confidence = found.confidence * factor;
    (event, Match { confidence, ..found })
}

fn finding(cause: &str, event: usize, found: Match, read: &Read) -> Finding {
    let events = std::iter::once(event)
        .chain(found.with)
        .map(|position| read.cite(position));
    let facts = found.facts.iter().filter_map(|path| read.report.cite_fact(path));
    let frames = read.cite_frames(event, &found.frames);
    let citations: Vec<Citation> = events.chain(frames).chain(facts).take(CITATIONS).collect();
    let finding = Finding::new(cause, found.confidence)
        .because(found.explanation)
        .cite_all(citations);
    match found.title {
        Some(title) => finding.titled(title),
        None => finding,
    }
}

whycrash_plugin::export!(Recognise);
