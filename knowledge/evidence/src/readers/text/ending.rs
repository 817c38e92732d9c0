//! What the last lines of a text show of the run that it is of.

use super::last_words::{End, GoodEnd};
use super::line::{self, Line};
use super::progress;
use super::severity::has_level;
use crate::model::{EndSign, Place, TextEnd};

/// Characters of the line that is quoted.
const TEXT_CHARS: usize = 200;

/// Lines that have to look as programs log them before a text is taken for a log, unless it has fewer in all.
const LOG_LINES: usize = 2;

/// How a text of so many lines ends, but for its name.
pub fn text_end(end: &End, well: Option<&GoodEnd>, lines: u64) -> TextEnd {
    let at = |number: u64, sign: EndSign| {
        let raw = end.backwards().find(|(line, _)| *line == number).map(|(_, raw)| raw);
        TextEnd {
            lines,
            sign,
            at: Some(Place::Line([number, number])),
            text: raw.map(shown).unwrap_or_default(),
            ..TextEnd::default()
        }
    };
    if let Some(well) = well {
        return at(well.said, well.sign);
    }
    if let Some((number, _)) = end.backwards().find(|(_, raw)| progress::is_progress(raw)) {
        return at(number, EndSign::Progress);
    }
    let mut logged = end
        .backwards()
        .filter(|(_, raw)| is_logged(raw))
        .map(|(number, _)| number);
    match (logged.next(), 1 + logged.count()) {
        (Some(number), count) if count >= LOG_LINES || count == end.backwards().count() => {
            at(number, EndSign::LogLines)
        }
        _ => TextEnd {
            lines,
            ..TextEnd::default()
        },
    }
}

/// Whether a line has what loggers and launchers put before what they say: a time, a level, who says it.
fn is_logged(raw: &[u8]) -> bool {
    let cleaned = line::clean(raw);
    let text = line::beginning(&cleaned);
    let line = Line::new(0, text);
    let origin = &line.origin;
    let before = text.strip_suffix(line.text).unwrap_or_default();
    origin.stamp.is_some() || origin.rank.is_some() || origin.kernel || has_level(before, line.text)
}

/// A line as it is quoted.
fn shown(raw: &[u8]) -> String {
    let cleaned = line::clean(raw);
    Line::new(0, line::beginning(&cleaned))
        .text
        .trim()
        .chars()
        .take(TEXT_CHARS)
        .collect()
}
