//! One test of a value.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::Flaw;
use crate::expression::Expression;
use crate::test::{Members, Scalar, Test};

/// What a named group caught.
pub(crate) type Caught = BTreeMap<String, String>;

/// One test, ready to be held against values.
#[derive(Clone, Debug, Default)]
pub struct Condition {
    one_of: Vec<Scalar>,
    none_of: Vec<Scalar>,
    matches: Option<Expression>,
    lacks: Option<Expression>,
    from: Option<f64>,
    to: Option<f64>,
    present: Option<bool>,
}

impl Condition {
    /// A test.
    pub fn new(test: &Test) -> Result<Self, Flaw> {
        let members = match test {
            Test::Is(value) => {
                return Ok(Self {
                    one_of: vec![value.clone()],
                    ..Self::default()
                });
            }
            Test::All(members) => members,
        };
        if *members == Members::default() {
            return Err(Flaw::new(
                &[],
                "the test is empty: give a value, `one_of`, `none_of`, `matches`, `lacks`, `from`, `to` or `present`",
            ));
        }
        if members.from.zip(members.to).is_some_and(|(from, to)| from > to) {
            return Err(Flaw::new(&[], "no number is in the range: `from` is larger than `to`"));
        }
        let pattern = |pattern: &Option<String>| pattern.as_deref().map(Expression::new);
        Ok(Self {
            one_of: members.one_of.clone(),
            none_of: members.none_of.clone(),
            matches: pattern(&members.matches),
            lacks: pattern(&members.lacks),
            from: members.from,
            to: members.to,
            present: members.present,
        })
    }

    /// Whether it holds of a value; what its pattern's named groups caught is added to `caught`.
    pub(crate) fn holds(&self, value: Option<&Value>, caught: &mut Caught) -> bool {
        let value = value.filter(|value| !value.is_null());
        if let Some(present) = self.present {
            if value.is_some() != present {
                return false;
            }
            if !present {
                return true;
            }
        }
        let Some(value) = value else { return false };
        let in_range = |bound: Option<f64>, holds: fn(f64, f64) -> bool| {
            bound.is_none_or(|bound| value.as_f64().is_some_and(|value| holds(value, bound)))
        };
        (self.one_of.is_empty() || self.one_of.iter().any(|one| is(one, value)))
            && !self.none_of.iter().any(|one| is(one, value))
            && !self.lacks.as_ref().is_some_and(|pattern| pattern.is_in(&text(value)))
            && in_range(self.from, |value, bound| value >= bound)
            && in_range(self.to, |value, bound| value <= bound)
            && self
                .matches
                .as_ref()
                .is_none_or(|pattern| pattern.catch(&text(value), caught))
    }

    /// What it asks for, in words.
    pub(crate) fn in_words(&self) -> String {
        let list = |scalars: &[Scalar]| {
            let scalars: Vec<String> = scalars.iter().map(written).collect();
            scalars.join(" or ")
        };
        let quoted = |pattern: &Expression| format!("'{}'", pattern.pattern());
        let said = [
            (!self.one_of.is_empty()).then(|| list(&self.one_of)),
            (!self.none_of.is_empty()).then(|| format!("not {}", list(&self.none_of))),
            self.matches
                .as_ref()
                .map(|pattern| format!("what matches {}", quoted(pattern))),
            self.lacks
                .as_ref()
                .map(|pattern| format!("what does not match {}", quoted(pattern))),
            self.from.map(|from| format!("at least {from}")),
            self.to.map(|to| format!("at most {to}")),
            self.present
                .map(|present| if present { "a value" } else { "no value" }.to_owned()),
        ];
        let said: Vec<String> = said.into_iter().flatten().collect();
        said.join(", ")
    }

    /// Names of its pattern's groups.
    pub(crate) fn groups(&self) -> impl Iterator<Item = &str> {
        self.matches.iter().flat_map(Expression::groups)
    }

    /// Whether there is a value wherever it holds.
    pub(crate) fn is_of_a_value(&self) -> bool {
        self.present != Some(false)
    }
}

/// A value as people write it: a text without quotes.
pub(crate) fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn written(scalar: &Scalar) -> String {
    match scalar {
        Scalar::Flag(flag) => flag.to_string(),
        Scalar::Number(number) => number.to_string(),
        Scalar::Text(text) => format!("{text:?}"),
    }
}

fn is(scalar: &Scalar, value: &Value) -> bool {
    match scalar {
        Scalar::Flag(flag) => value.as_bool() == Some(*flag),
        // Numbers of events are whole and small, or come from the same text that the page quotes.
        Scalar::Number(number) => value
            .as_f64()
            .is_some_and(|value| (value - number).abs() < f64::EPSILON),
        Scalar::Text(text) => value.as_str() == Some(text),
    }
}
