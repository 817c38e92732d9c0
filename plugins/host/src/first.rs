//! Of a distributed job: which rank failed first, said with the findings that are about it.

use whycrash_evidence::model::{Event, EventPayload, Place};

use crate::case::Case;
use crate::diagnosis::{Citation, Claim};

/// Adds to the findings whose end the collector saw before any other's. One that cites what another rank told is not
/// about that rank.
pub(crate) fn name(case: &Case, findings: &mut [Claim]) {
    let timeline = &case.report.evidence.timeline;
    let Some((event, words)) = timeline.iter().find_map(|event| Some((event, in_words(event)?))) else {
        return;
    };
    for finding in findings {
        let of_another = |cited: &Citation| {
            let rank = rank_of(timeline, cited);
            rank.is_some() && rank != event.rank
        };
        if finding.citations.iter().any(of_another) {
            continue;
        }
        let citation = Citation {
            artifact: event.artifact.clone(),
            at: Place::Event(event.event),
            quote: event.text.clone(),
        };
        if !finding.citations.contains(&citation) {
            finding.citations.push(citation);
        }
        finding.explanation = format!("{} {words}", finding.explanation.trim_end());
    }
}

fn in_words(event: &Event) -> Option<String> {
    let EventPayload::ProcessExit(exit) = &event.payload else {
        return None;
    };
    let rank = exit.rank.filter(|_| exit.first && event.primary)?;
    let pid = event.pid.map_or_else(String::new, |pid| format!(" (pid {pid})"));
    let how = match (&exit.signal, exit.exit_code) {
        (Some(signal), _) => format!("killed by {signal}"),
        (None, Some(code)) => format!("with exit code {code}"),
        (None, None) => return None,
    };
    Some(format!("Rank {rank}{pid} was the first to end, {how}."))
}

/// The rank of the event that a citation points at.
fn rank_of(timeline: &[Event], citation: &Citation) -> Option<u32> {
    match &citation.at {
        Place::Event(number) => timeline.get(*number)?.rank,
        Place::Line(lines) => {
            let told = timeline
                .iter()
                .find(|event| event.artifact == citation.artifact && event.at.as_ref() == Some(&Place::Line(*lines)));
            told?.rank
        }
        _ => None,
    }
}
