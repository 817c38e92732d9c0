//! The part of an artifact that a request asks for (RFC 9110, sections 13 and 14).

use std::ops::Range;

use actix_web::http::header::{HeaderMap, HeaderName, IF_NONE_MATCH, IF_RANGE, RANGE};

/// What to answer with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// All of it.
    Whole,
    /// These bytes.
    Bytes(Range<u64>),
    /// Nothing: none of the bytes that are asked for are there.
    Outside,
    /// Nothing: the client has it.
    Known,
}

/// The part that these headers ask for of something with `length` bytes and this entity tag. What is no single range of
/// bytes may be ignored, and is.
pub fn asked(headers: &HeaderMap, length: u64, tag: &str) -> Part {
    let text = |name: HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
    if text(IF_NONE_MATCH).is_some_and(|known| known.trim() == "*" || known.split(',').any(|known| known.trim() == tag))
    {
        return Part::Known;
    }
    if text(IF_RANGE).is_some_and(|known| known.trim() != tag) {
        return Part::Whole;
    }
    text(RANGE)
        .and_then(|range| parse(range, length))
        .unwrap_or(Part::Whole)
}

fn parse(range: &str, length: u64) -> Option<Part> {
    let (first, last) = range.trim().strip_prefix("bytes=")?.split_once('-')?;
    let (first, last) = (first.trim(), last.trim());
    let end = match last {
        "" => u64::MAX,
        last => number(last)?,
    };
    let bytes = match first {
        // The last so many bytes.
        "" => length.saturating_sub(end.min(length))..if last.is_empty() { return None } else { length },
        first => {
            let first = number(first)?;
            if first > end {
                return None;
            }
            first..end.saturating_add(1).min(length)
        }
    };
    Some(if bytes.start < bytes.end {
        Part::Bytes(bytes)
    } else {
        Part::Outside
    })
}

/// Digits alone; more than there can be bytes is as good as the most.
fn number(text: &str) -> Option<u64> {
    let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    digits.then(|| text.parse().unwrap_or(u64::MAX))
}
