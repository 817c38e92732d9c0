//! Other reports.

use whycrash_reading::{Conclusion, EarlierReport, OtherReport};

use crate::sandbox::bindings::history;

pub(in crate::sandbox) fn earlier(number: usize, report: &EarlierReport) -> history::EarlierReport {
    history::EarlierReport {
        id: report.id.clone(),
        title: report.title.clone(),
        received: report.received.clone(),
        conclusions: report.conclusions.iter().map(conclusion).collect(),
        fact: format!("history.earlier.{number}.title"),
    }
}

fn conclusion(conclusion: &Conclusion) -> history::Conclusion {
    history::Conclusion {
        cause: conclusion.cause.clone(),
        title: conclusion.title.clone(),
        confidence: conclusion.confidence,
        plugin: conclusion.plugin.clone(),
    }
}

pub(in crate::sandbox) fn other(number: usize, report: &OtherReport) -> history::OtherReport {
    history::OtherReport {
        id: report.id.clone(),
        title: report.title.clone(),
        received: report.received.clone(),
        group: report.group.clone(),
        host: report.host.clone(),
        ranks: report.ranks.clone(),
        signal: report.signal.clone(),
        exception: report.exception.clone(),
        fact: format!("history.incident.{number}.title"),
    }
}
