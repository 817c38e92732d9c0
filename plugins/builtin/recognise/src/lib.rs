//! Names the causes whose pages say how to recognise them: the tables of `knowledge/causes/`, held against a report.

mod lines;
mod surroundings;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::value::RawValue;
use whycrash_plugin::{Citation, Diagnosis, Finding, Info, Needs, Plugin, Report};
use whycrash_recognise::{LINE, Match, Rule, SAYING, Sign, Table};

use crate::surroundings::Read;

struct Recognise;

/// Places that a finding cites at most: the event, others that the table asks for, and facts.
const CITATIONS: usize = 6;

/// Findings that a diagnosis may have.
const FINDINGS: usize = 32;

/// Events that each table is held against at most: the first ones are those that the others follow from.
const CONSIDERED: usize = 48;

/// A table that is only read if an event may be what it looks for.
type Unread<'t> = Sign<&'t RawValue>;

impl Plugin for Recognise {
    fn about() -> Info {
        let tables = whycrash_plugin::recognise_tables();
        let signs = signs(&tables);
        let causes: BTreeSet<&str> = signs.iter().map(|sign| sign.cause.as_str()).collect();
        let kinds: BTreeSet<String> = signs.iter().map(|sign| need(&sign.kind)).collect();
        Info::new("recognise", env!("CARGO_PKG_VERSION"))
            .names(causes)
            .needs(Needs::any_of(kinds.iter().map(String::as_str)))
    }

    fn diagnose(report: &Report) -> Result<Diagnosis, String> {
        let tables = report.recognise_tables();
        let signs = signs(&tables);
        let kinds = signs.iter().map(|sign| sign.kind.as_str());
        let read = Read::new(report, kinds.chain(SAYING));
        let rules = rules(&signs, &read);
        let mentioned = rules
            .iter()
            .flat_map(|asked| asked.rule.mentions())
            .map(|(kind, _)| kind);
        let read = read.with(mentioned).with_lines(rules.iter().map(|asked| &asked.table));
        let mut best: BTreeMap<&str, (usize, Match)> = BTreeMap::new();
        for asked in &rules {
            let Some(found) = first(asked, &read) else {
                continue;
            };
            let (cause, found) = (asked.sign.cause.as_str(), weighed(found, &read));
            let known = best.get(cause);
            if known.is_none_or(|(_, known)| known.confidence < found.1.confidence) {
                best.insert(cause, found);
            }
        }
        Ok(surest(best)
            .into_iter()
            .fold(Diagnosis::nothing(), |diagnosis, (cause, (event, found))| {
                diagnosis.with(finding(cause, event, found, &read))
            }))
    }
}

/// Of more causes than a diagnosis may have, those that are surest.
fn surest(best: BTreeMap<&str, (usize, Match)>) -> Vec<(&str, (usize, Match))> {
    let mut best: Vec<_> = best.into_iter().collect();
    if best.len() > FINDINGS {
        best.sort_by(|(_, (_, a)), (_, (_, b))| b.confidence.total_cmp(&a.confidence));
        best.truncate(FINDINGS);
    }
    best
}

/// A table that may look for something that happened.
struct Asked<'s, 't> {
    sign: &'s Unread<'t>,
    table: Table,
    rule: Rule,
}

/// The evidence without which no event is of a kind.
fn need(kind: &str) -> String {
    match kind {
        LINE => "text".to_owned(),
        kind => format!("event:{kind}"),
    }
}

fn signs(tables: &[String]) -> Vec<Unread<'_>> {
    tables
        .iter()
        .filter_map(|table| serde_json::from_str(table).ok())
        .collect()
}

/// The tables that may look for something that happened, ready to be used. One that can not be used is passed over: what
/// it would say is missing, and nothing else.
fn rules<'s, 't>(signs: &'s [Unread<'t>], read: &Read) -> Vec<Asked<'s, 't>> {
    let may_be = |sign: &&Unread<'t>| sign.kind == LINE || read.signs().any(|(_, event)| sign.may_be(event));
    let ready = |sign: &'s Unread<'t>| {
        let table: Table = serde_json::from_str(sign.table.get()).map_err(|error| error.to_string())?;
        let rule = Rule::new(&table).map_err(|flaw| flaw.to_string())?;
        Ok::<_, String>(Asked { sign, table, rule })
    };
    let usable = |sign: &'s Unread<'t>| match ready(sign) {
        Ok(asked) => Some(asked),
        Err(flaw) => {
            whycrash_plugin::log!("a recognise table of {} is passed over: {flaw}", sign.cause);
            None
        }
    };
    signs.iter().filter(may_be).filter_map(usable).collect()
}

/// The first event that a table is a sign in: what comes later is more often a consequence.
fn first(asked: &Asked, read: &Read) -> Option<(usize, Match)> {
    let Asked { sign, rule, .. } = asked;
    let considered = read.signs().filter(|(_, event)| rule.considers(event));
    if sign.kind == LINE {
        // Lines are there because some table asks for them, which need not be this one.
        let lines = considered.filter(|(_, line)| sign.may_be(line)).take(CONSIDERED);
        let mut matching = lines.filter_map(|(position, line)| Some((position, rule.matches(line, read)?)));
        return matching.find(|(position, _)| !read.is_line_passed(*position));
    }
    considered
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
