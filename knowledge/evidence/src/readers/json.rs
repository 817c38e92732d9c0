//! JSON artifacts, which are parsed as a whole: their size, and how many values they have, is looked at first.

use std::fmt;
use std::io::Read;

use serde::de::{DeserializeOwned, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use super::{Input, read_problem};
use crate::{Limits, Problem};

/// Values in one artifact. A value takes a hundred bytes where its text may take two.
const VALUES: usize = 2_000_000;

/// Code of the problem of a text that has more.
pub(super) const TOO_MANY: &str = "limit-json-values";

/// Reads a whole artifact as one value.
pub(super) fn read<T: DeserializeOwned>(input: &Input, limits: &Limits) -> Result<T, Problem> {
    let (text, torn) = bytes(input, limits)?;
    match torn {
        Some(problem) => Err(problem),
        None => parse(&text),
    }
}

/// The bytes of an artifact that is parsed as a whole, with what ended them early.
pub(super) fn bytes(input: &Input, limits: &Limits) -> Result<(Vec<u8>, Option<Problem>), Problem> {
    text(input.stream().map_err(|error| read_problem(&error))?, limits)
}

/// The text of a stream, with what ended it early.
pub(super) fn text(stream: impl Read, limits: &Limits) -> Result<(Vec<u8>, Option<Problem>), Problem> {
    let mut text = Vec::new();
    let torn = stream
        .take(limits.json_bytes.saturating_add(1))
        .read_to_end(&mut text)
        .err();
    if text.len() as u64 > limits.json_bytes {
        return Err(Problem::new(
            "limit-json-bytes",
            format!(
                "the artifact can only be parsed as a whole, is longer than {} bytes, and was not read",
                limits.json_bytes
            ),
        ));
    }
    Ok((text, torn.as_ref().map(read_problem)))
}

/// A member that is a list; empty where there is none.
pub(super) fn list<'a>(value: &'a Value, name: &str) -> &'a [Value] {
    let list = value.get(name).and_then(Value::as_array);
    list.map(Vec::as_slice).unwrap_or_default()
}

/// A member that is text.
pub(super) fn word(value: &Value, name: &str) -> Option<String> {
    value.get(name).and_then(Value::as_str).map(str::to_owned)
}

/// Parses a text that has no more values than can be held.
pub(super) fn parse<T: DeserializeOwned>(text: &[u8]) -> Result<T, Problem> {
    let mut left = VALUES;
    parse_within(text, &mut left)
}

/// Parses a text that has fewer values than these.
fn parse_within<T: DeserializeOwned>(text: &[u8], left: &mut usize) -> Result<T, Problem> {
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    let counted = count(text, left);
    if *left == 0 {
        return Err(Problem::new(
            TOO_MANY,
            format!("the JSON artifact has more than {VALUES} values and was not read"),
        ));
    }
    counted.and_then(|()| serde_json::from_slice(text)).map_err(|error| {
        Problem::new(
            "bad-json",
            format!("the JSON artifact does not parse ({error}): it may have been cut"),
        )
    })
}

/// The documents of a text that has several, one after the other, each with where it begins; and what ended them early.
pub(super) fn documents(text: &[u8]) -> (Vec<(usize, Value)>, Option<Problem>) {
    let mut found = Vec::new();
    let mut values = VALUES;
    let mut at = 0;
    loop {
        let rest = text.get(at..).unwrap_or_default();
        at += rest.len() - rest.trim_ascii_start().len();
        let rest = rest.trim_ascii_start();
        if rest.is_empty() {
            return (found, None);
        }
        let mut ends = serde_json::Deserializer::from_slice(rest).into_iter::<serde::de::IgnoredAny>();
        let whole = ends.next().is_some_and(|document| document.is_ok());
        let document = rest
            .get(..if whole { ends.byte_offset() } else { rest.len() })
            .unwrap_or_default();
        match parse_within(document, &mut values) {
            Ok(value) => found.push((at, value)),
            Err(problem) => return (found, Some(problem)),
        }
        at += document.len();
    }
}

/// Counts the values down, holding none of them.
fn count(text: &[u8], left: &mut usize) -> serde_json::Result<()> {
    let mut deserializer = serde_json::Deserializer::from_slice(text);
    serde::de::DeserializeSeed::deserialize(Count(left), &mut deserializer)
}

struct Count<'a>(&'a mut usize);

impl Count<'_> {
    fn one<E: Error>(&mut self) -> Result<(), E> {
        *self.0 = self.0.saturating_sub(1);
        if *self.0 == 0 {
            return Err(E::custom("too many values"));
        }
        Ok(())
    }
}

impl<'de> serde::de::DeserializeSeed<'de> for Count<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(mut self, deserializer: D) -> Result<(), D::Error> {
        self.one()?;
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Count<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        while items.next_element_seed(Count(self.0))?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        while members.next_key_seed(Count(self.0))?.is_some() {
            members.next_value_seed(Count(self.0))?;
        }
        Ok(())
    }
}
