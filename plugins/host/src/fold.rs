//! What the pages of the causes say about each other: consequences, families, last resorts.

use std::collections::BTreeMap;

use whycrash_catalog::recognise::Wording;
use whycrash_catalog::{Catalog, Cause};
use whycrash_evidence::model::{Event, Place};

use crate::case::Case;
use crate::diagnosis::{Citation, Claim, Echo};

/// A finding that is less sure than this explains nothing else away.
const SURE: f64 = 0.5;

/// The findings that are left, in their order, and the events that are consequences of one of them.
///
/// What a finding leads to, by its page, is folded under it: a finding that rests on such events alone goes. A family
/// goes where a member of it stands, and a last resort where anything else does.
pub(crate) fn fold(case: &Case, catalog: &Catalog, mut findings: Vec<Claim>) -> (Vec<Claim>, Vec<Echo>) {
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

fn follow(case: &Case, catalog: &Catalog, finding: &Claim, findings: &[Claim]) -> LedTo {
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
        let Ok(wording) = Wording::new(&[], &consequence.says) else {
            continue;
        };
        let is_echo = |event: &&Event| event.event > origin && !event.survived && wording.is_in(&event.text);
        let echoes: Vec<usize> = case
            .report
            .evidence
            .timeline
            .iter()
            .filter(is_echo)
            .map(|event| event.event)
            .collect();
        let rests_on_them = |other: &&Claim| {
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
    let timeline = &case.report.evidence.timeline;
    timeline.iter().filter(is_cited).map(|event| event.event)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use whycrash_catalog::{Catalog, Cause, Consequence};
    use whycrash_evidence::Evidence;
    use whycrash_evidence::model::{Event, EventPayload, Place, Xid};
    use whycrash_reading::Report;

    use super::fold;
    use crate::case::Case;
    use crate::diagnosis::{Citation, Claim};

    fn page(id: &str) -> Cause {
        Cause {
            id: id.to_owned(),
            ..Cause::default()
        }
    }

    /// A disk that leads to a time-out, a family with the time-out as its member, and a last resort.
    fn catalog() -> Catalog {
        let leads_to = vec![Consequence {
            cause: "timeout".to_owned(),
            says: "timed? out".to_owned(),
        }];
        let disk = Cause {
            leads_to,
            ..page("disk")
        };
        let family = Cause {
            members: vec!["timeout".to_owned()],
            ..page("family")
        };
        let last = Cause {
            last_resort: true,
            ..page("last")
        };
        [disk, page("timeout"), family, last].into_iter().collect()
    }

    fn case(texts: &[&str]) -> Case {
        let event = |(number, text): (usize, &&str)| Event {
            event: number,
            text: (*text).to_owned(),
            artifact: "a.log".to_owned(),
            ..Event::new(EventPayload::Xid(Xid::default()))
        };
        let evidence = Evidence {
            timeline: texts.iter().enumerate().map(event).collect(),
            ..Evidence::default()
        };
        Case::new(Arc::new(Report {
            evidence,
            ..Report::default()
        }))
    }

    fn finding(cause: &str, confidence: f64, event: usize) -> Claim {
        Claim {
            cause: cause.to_owned(),
            confidence,
            citations: vec![Citation {
                artifact: "a.log".to_owned(),
                at: Place::Event(event),
                quote: String::new(),
            }],
            ..Claim::default()
        }
    }

    fn left(texts: &[&str], findings: Vec<Claim>) -> (Vec<String>, Vec<(usize, usize)>) {
        let (findings, echoes) = fold(&case(texts), &catalog(), findings);
        let causes = findings.into_iter().map(|finding| finding.cause);
        (
            causes.collect(),
            echoes.into_iter().map(|echo| (echo.event, echo.of)).collect(),
        )
    }

    #[test]
    fn what_follows_from_a_finding_by_its_page_is_folded_under_it() {
        let texts = ["no space left", "collective timed out"];
        let both = vec![finding("disk", 0.9, 0), finding("timeout", 0.6, 1)];
        assert_eq!(left(&texts, both), (vec!["disk".to_owned()], vec![(1, 0)]));
    }

    #[test]
    fn what_came_before_or_is_worded_otherwise_is_no_consequence() {
        let before = vec![finding("disk", 0.9, 1), finding("timeout", 0.6, 0)];
        assert_eq!(left(&["collective timed out", "no space left"], before).0.len(), 2);
        let worded = vec![finding("disk", 0.9, 0), finding("timeout", 0.6, 1)];
        assert_eq!(left(&["no space left", "collective stopped"], worded).0.len(), 2);
        let unsure = vec![finding("disk", 0.4, 0), finding("timeout", 0.3, 1)];
        assert_eq!(left(&["no space left", "collective timed out"], unsure).0.len(), 2);
    }

    #[test]
    fn families_and_last_resorts_go_where_something_better_stands() {
        let all = vec![
            finding("family", 0.8, 0),
            finding("timeout", 0.6, 0),
            finding("last", 0.3, 0),
        ];
        assert_eq!(left(&["x"], all).0, ["timeout"]);
        assert_eq!(
            left(&["x"], vec![finding("family", 0.5, 0), finding("last", 0.3, 0)]).0,
            ["family"]
        );
        assert_eq!(left(&["x"], vec![finding("last", 0.3, 0)]).0, ["last"]);
    }
}
