//! What the pages of the causes say about each other: consequences, families, last resorts.

use std::collections::BTreeMap;

use whycrash_catalog::recognise::Wording;
use whycrash_catalog::{Catalog, Cause};
use whycrash_evidence::model::{Event, Place};

use crate::case::Case;
use crate::{Citation, Echo, Finding};

/// A finding that is less sure than this explains nothing else away.
const SURE: f64 = 0.5;

/// The findings that are left, in their order, and the events that are consequences of one of them.
///
/// What a finding leads to, by its page, is folded under it: a finding that rests on such events alone goes. A family goes
/// where a member of it stands, and a last resort where anything else does.
pub(crate) fn fold(case: &Case, catalog: &Catalog, mut findings: Vec<Finding>) -> (Vec<Finding>, Vec<Echo>) {
    let mut echoes = BTreeMap::new();
    let mut place = 0;
    while let Some(finding) = findings.get(place) {
        if finding.confidence >= SURE {
            let led_to = follow(case, catalog, finding, &findings);
            findings.retain(|other| !led_to.causes.contains(&other.cause));
            for (event, of) in led_to.echoes {
                echoes.entry(event).or_insert(of);
            }
        }
        place += 1;
    }
    let named: Vec<String> = findings.iter().map(|finding| finding.cause.clone()).collect();
    findings.retain(|finding| {
        let Some(page) = catalog.get(&finding.cause) else {
            return true;
        };
        !(is_family_of_any(page, &named) || page.last_resort && named.len() > 1)
    });
    let echoes = echoes.into_iter().map(|(event, of)| Echo { event, of });
    (findings, echoes.collect())
}

fn is_family_of_any(page: &Cause, named: &[String]) -> bool {
    named.iter().any(|cause| page.members.contains(cause))
}

/// What follows from a finding.
struct LedTo {
    /// Events, each with the one that it follows from.
    echoes: Vec<(usize, usize)>,
    /// Causes of findings that rest on those alone.
    causes: Vec<String>,
}

fn follow(case: &Case, catalog: &Catalog, finding: &Finding, findings: &[Finding]) -> LedTo {
    let mut led_to = LedTo {
        echoes: Vec::new(),
        causes: Vec::new(),
    };
    let consequences = catalog.get(&finding.cause).map(|page| page.leads_to.as_slice());
    let Some(origin) = finding.citations.iter().flat_map(|cited| events(case, cited)).min() else {
        return led_to;
    };
    for consequence in consequences.unwrap_or_default() {
        // The catalogue was checked when it was built.
        let Ok(wording) = Wording::new("leads_to.says", &consequence.says) else {
            continue;
        };
        let is_echo = |event: &&Event| event.event > origin && !event.survived && wording.is_in(&event.text);
        let echoes: Vec<usize> = case
            .evidence
            .timeline
            .iter()
            .filter(is_echo)
            .map(|event| event.event)
            .collect();
        let rests_on_them = |other: &&Finding| {
            let mut cited = other.citations.iter().flat_map(|cited| events(case, cited)).peekable();
            other.cause == consequence.cause && cited.peek().is_some() && cited.all(|event| echoes.contains(&event))
        };
        led_to
            .causes
            .extend(findings.iter().filter(rests_on_them).map(|other| other.cause.clone()));
        led_to.echoes.extend(echoes.into_iter().map(|event| (event, origin)));
    }
    led_to
}

/// Numbers of the events that a citation points at.
fn events<'c>(case: &'c Case, citation: &'c Citation) -> impl Iterator<Item = usize> + 'c {
    let is_cited = |event: &&Event| match (&citation.at, &event.at) {
        (Place::Event(number), _) => *number == event.event,
        (Place::Line([first, last]), Some(Place::Line([from, to]))) => {
            event.artifact == citation.artifact && from <= last && first <= to
        }
        _ => false,
    };
    case.evidence.timeline.iter().filter(is_cited).map(|event| event.event)
}
