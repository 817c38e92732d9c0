//! A test of a value, as an author writes it.

use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

/// What must hold of a value: that it is this one, or what the members say, all of them.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Test {
    /// It is this value.
    Is(Scalar),
    /// All of this holds.
    All(Members),
}

/// The members of a test that is no plain value.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Members {
    /// It is one of these.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub one_of: Vec<Scalar>,
    /// It is none of these.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub none_of: Vec<Scalar>,
    /// As text, it matches this pattern.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub matches: Option<String>,
    /// As text, it does not match this pattern.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lacks: Option<String>,
    /// It is no smaller.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<f64>,
    /// It is no larger.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<f64>,
    /// It is there, or it is not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub present: Option<bool>,
}

/// A plain value.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Scalar {
    /// Yes or no.
    Flag(bool),
    /// A number.
    Number(f64),
    /// A text.
    Text(String),
}

/// Written out, so that a member that is mistyped is called by its name.
impl<'de> Deserialize<'de> for Test {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(OfTest)
    }
}

impl<'de> Deserialize<'de> for Scalar {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(OfScalar)
    }
}

struct OfScalar;

impl Visitor<'_> for OfScalar {
    type Value = Scalar;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text, a number, `true` or `false`")
    }

    fn visit_bool<E: Error>(self, flag: bool) -> Result<Scalar, E> {
        Ok(Scalar::Flag(flag))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Scalar, E> {
        Ok(Scalar::Number(number as f64))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Scalar, E> {
        Ok(Scalar::Number(number as f64))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Scalar, E> {
        Ok(Scalar::Number(number))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Scalar, E> {
        Ok(Scalar::Text(text.to_owned()))
    }
}

struct OfTest;

impl<'de> Visitor<'de> for OfTest {
    type Value = Test;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value, or a table of `one_of`, `none_of`, `matches`, `lacks`, `from`, `to` and `present`")
    }

    fn visit_bool<E: Error>(self, flag: bool) -> Result<Test, E> {
        OfScalar.visit_bool(flag).map(Test::Is)
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Test, E> {
        OfScalar.visit_i64(number).map(Test::Is)
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Test, E> {
        OfScalar.visit_u64(number).map(Test::Is)
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Test, E> {
        OfScalar.visit_f64(number).map(Test::Is)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Test, E> {
        OfScalar.visit_str(text).map(Test::Is)
    }

    fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<Test, A::Error> {
        Members::deserialize(MapAccessDeserializer::new(members)).map(Test::All)
    }
}
