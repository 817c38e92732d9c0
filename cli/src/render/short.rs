//! The answer in one line, for lists and for `grep`.

use super::answer::{Answer, percent};
use crate::output::Clean;

/// What stands in place of what there is none of.
const NONE: &str = "-";

/// Report, verdict, cause, confidence, the program's line and the headline, with tabs between.
pub fn short(answer: &Answer<'_>) -> Clean {
    let best = answer.best();
    let place = answer.place();
    let confidence = best.map(|best| percent(best.confidence));
    let columns = [
        answer.name.as_str(),
        answer.kind_name(),
        best.map_or(NONE, |best| best.cause.as_str()),
        confidence.as_deref().unwrap_or(NONE),
        place.as_deref().unwrap_or(NONE),
        &answer.document.report.title,
    ];
    let mut line = Clean::default();
    for column in columns {
        if !line.is_empty() {
            line.push(Clean::own("\t".to_owned()));
        }
        line.push(column.replace('\t', " "));
    }
    line.end_line();
    line
}
