//! Reading log lines: `key=value` pairs, numbers over many lines, and times. The libraries of the other languages have the
//! same, under the same names.

use std::collections::BTreeMap;

use crate::Line;

/// Seconds of a day.
const DAY: i64 = 86_400;

/// What a line says of a number.
#[derive(Clone, Debug)]
pub struct Point<'a> {
    /// The line.
    pub line: &'a Line,
    /// The number.
    pub value: f64,
}

/// The `key=value` and `key: value` pairs of a line's text; of a key that comes twice the last value.
pub fn key_values(text: &str) -> BTreeMap<&str, &str> {
    let (mut found, mut rest) = (BTreeMap::new(), text);
    while let Some(start) = rest.find(is_key) {
        let word = &rest[start..];
        let end = word.find(|c| !is_key(c)).unwrap_or(word.len());
        let (key, behind) = word.split_at(end);
        let begins_well = key.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        rest = match value(behind).filter(|_| begins_well) {
            Some((value, behind)) => {
                found.insert(key, value);
                behind
            }
            None => behind,
        };
    }
    found
}

/// What may stand in a key.
fn is_key(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '/' | '-')
}

/// The value that stands behind a key, and what stands behind that.
fn value(behind: &str) -> Option<(&str, &str)> {
    let blanks = [' ', '\t'];
    let sign = behind
        .strip_prefix(['"', '\''])
        .unwrap_or(behind)
        .trim_start_matches(blanks);
    let value = match (sign.strip_prefix('='), sign.strip_prefix(':')) {
        (Some(value), _) if !value.starts_with('=') => value,
        (_, Some(value)) if !value.starts_with(':') && !value.starts_with("//") => value,
        _ => return None,
    };
    let value = value.trim_start_matches(blanks);
    for quote in ['"', '\''] {
        if let Some(quoted) = value.strip_prefix(quote).and_then(|value| value.split_once(quote)) {
            return Some(quoted);
        }
    }
    let ends = |c: char| " \t\n\r\x0b\x0c,;|()[]{}\"'".contains(c);
    let end = value.find(ends).unwrap_or(value.len());
    (end > 0).then(|| value.split_at(end))
}

/// The number that a value is, also with a unit behind it; `nan` and `inf` are numbers here.
pub fn number(text: &str) -> Option<f64> {
    let bare = text.trim_start_matches(['+', '-']);
    if ["nan", "inf", "infinity"]
        .iter()
        .any(|word| bare.eq_ignore_ascii_case(word))
    {
        return text.parse().ok();
    }
    let is_unit = |c: char| c.is_ascii_alphabetic() || c == '/';
    let without = text.strip_suffix('%').unwrap_or_else(|| text.trim_end_matches(is_unit));
    let is_plain = |text: &&str| text.ends_with(|c: char| c.is_ascii_digit() || c == '.');
    // The letter of an exponent is no unit.
    [text, without]
        .into_iter()
        .filter(is_plain)
        .find_map(|text| text.parse().ok())
}

/// What these lines say of the number with this key, in their order.
pub fn series<'a>(lines: &'a [Line], key: &str) -> Vec<Point<'a>> {
    let point = |line: &'a Line| {
        let value = number(key_values(&line.text).get(key)?)?;
        Some(Point { line, value })
    };
    lines.iter().filter_map(point).collect()
}

/// The first date with a time in a line's text, in seconds since 1970; one without a zone is taken to be UTC.
pub fn time_of(text: &str) -> Option<f64> {
    let starts = text
        .char_indices()
        .filter(|(_, c)| c.is_ascii_digit())
        .map(|(at, _)| at);
    let is_first = |at: &usize| !text[..*at].ends_with(|c: char| c.is_ascii_digit());
    starts
        .filter(is_first)
        .find_map(|at| time_at(text.as_bytes().get(at..)?))
}

/// `2026-01-02T03:04:05.678+01:00`, with what may stand in the place of its marks, and without what may be left out.
fn time_at(text: &[u8]) -> Option<f64> {
    let digits = |at: usize, count: usize| -> Option<i64> {
        let digits = std::str::from_utf8(text.get(at..at + count)?).ok()?;
        digits
            .bytes()
            .all(|b| b.is_ascii_digit())
            .then(|| digits.parse().ok())?
    };
    let is = |at: usize, of: &[u8]| text.get(at).is_some_and(|b| of.contains(b));
    let marks: [(usize, &[u8]); 5] = [(4, b"-/"), (7, b"-/"), (10, b"T "), (13, b":"), (16, b":")];
    if !marks.iter().all(|(at, of)| is(*at, of)) {
        return None;
    }
    let [year, month, day] = [digits(0, 4)?, digits(5, 2)?, digits(8, 2)?];
    let [hour, minute, second] = [digits(11, 2)?, digits(14, 2)?, digits(17, 2)?];
    let is_date = year >= 1970
        && (1..=12).contains(&month)
        && (1..=days_in(year, month)).contains(&day)
        && hour < 24
        && minute < 60;
    if !is_date {
        return None;
    }
    let mut end = 19;
    let mut fraction = 0.0;
    if is(end, b".,") && digits(end + 1, 1).is_some() {
        let count = text[end + 1..].iter().take_while(|b| b.is_ascii_digit()).count();
        let digits = std::str::from_utf8(&text[end + 1..end + 1 + count]).ok()?;
        fraction = format!("0.{digits}").parse().ok()?;
        end += 1 + count;
    }
    let colon = usize::from(is(end + 3, b":"));
    let ahead = match (is(end, b"+-"), digits(end + 1, 2), digits(end + 3 + colon, 2)) {
        (true, Some(hours), Some(minutes)) if is(end, b"-") => -(hours * 3600 + minutes * 60),
        (true, Some(hours), Some(minutes)) => hours * 3600 + minutes * 60,
        _ => 0,
    };
    let whole = days_since_1970(year, month, day) * DAY + hour * 3600 + minute * 60 + second - ahead;
    // Seconds of a year of four digits: far below 2^53.
    #[allow(clippy::cast_precision_loss)]
    let whole = whole as f64;
    Some(whole + fraction)
}

fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

fn days_in(year: i64, month: i64) -> i64 {
    match month {
        2 => 28 + i64::from(is_leap(year)),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let before = year - 1;
    let years = before * 365 + before / 4 - before / 100 + before / 400 - 719_162;
    years + (1..month).map(|month| days_in(year, month)).sum::<i64>() + day - 1
}
