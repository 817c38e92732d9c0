//! Metadata as it comes from clients, counted while it is read.
//!
//! A value takes many times the memory of the text it is written in (`[[],[],…`), so the limits hold before there is
//! a tree: reading ends at the first value that is too many. Fields of forms and JSON bodies have the same limits.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use super::Refusal;
use crate::config::Limits;

/// How deep values may be nested. What describes a crash is flat; readers of documents go no deeper either.
pub const DEPTH: usize = 32;

/// What one request's metadata may still have.
#[derive(Debug)]
pub struct Budget {
    limits: Limits,
    bytes: usize,
    values: usize,
    refusal: Option<Refusal>,
}

impl Budget {
    /// The budget of a new request.
    pub fn new(limits: &Limits) -> Self {
        Self {
            limits: limits.clone(),
            bytes: limits.metadata_bytes,
            values: limits.metadata_values,
            refusal: None,
        }
    }

    /// Counts bytes of names and texts.
    pub fn take_bytes(&mut self, bytes: usize) -> Result<(), Refusal> {
        let left = self.bytes.checked_sub(bytes);
        self.bytes = left.ok_or(Refusal::MetadataBytes(self.limits.metadata_bytes))?;
        Ok(())
    }

    /// Counts one value.
    pub fn take_value(&mut self) -> Result<(), Refusal> {
        let left = self.values.checked_sub(1);
        self.values = left.ok_or(Refusal::MetadataValues(self.limits.metadata_values))?;
        Ok(())
    }

    /// Why reading ended early, if it was for a limit.
    pub fn refusal(&mut self) -> Option<Refusal> {
        self.refusal.take()
    }

    /// Adds a member to an object; a name that is there already is refused, because one of the two would be lost.
    pub fn insert(&self, members: &mut Map<String, Value>, name: String, value: Value) -> Result<(), Refusal> {
        match members.contains_key(&name) {
            true => Err(Refusal::MetadataTwice(name)),
            false => {
                members.insert(name, value);
                Ok(())
            }
        }
    }

    /// The JSON object in `text`.
    pub fn parse(&mut self, text: &[u8]) -> Result<Map<String, Value>, ObjectError> {
        let mut reader = serde_json::Deserializer::from_slice(text);
        let object = Object { budget: self }.deserialize(&mut reader);
        let object = object.and_then(|object| reader.end().map(|()| object));
        object.map_err(|error| self.refusal().map_or(ObjectError::Json(error), ObjectError::Refused))
    }

    /// Remembers the refusal, because a parser's error can only carry words.
    fn refuse<E: Error>(&mut self, refusal: Refusal) -> E {
        let error = E::custom(&refusal);
        self.refusal = Some(refusal);
        error
    }

    fn count<E: Error>(&mut self, bytes: usize) -> Result<(), E> {
        let counted = self.take_value().and_then(|()| self.take_bytes(bytes));
        counted.map_err(|refusal| self.refuse(refusal))
    }
}

/// Why a text is no metadata.
#[derive(Debug)]
pub enum ObjectError {
    /// It is no JSON object.
    Json(serde_json::Error),
    /// It is over a limit.
    Refused(Refusal),
}

/// Reads an object of metadata within a budget.
#[derive(Debug)]
pub struct Object<'a> {
    /// What it may have.
    pub budget: &'a mut Budget,
}

impl<'de> DeserializeSeed<'de> for Object<'_> {
    type Value = Map<String, Value>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Object<'_> {
    type Value = Map<String, Value>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<Self::Value, A::Error> {
        read_members(self.budget, members, 1)
    }
}

fn read_members<'de, A: MapAccess<'de>>(
    budget: &mut Budget,
    mut members: A,
    depth: usize,
) -> Result<Map<String, Value>, A::Error> {
    let mut object = Map::new();
    while let Some(name) = members.next_key::<String>()? {
        if let Err(refusal) = budget.take_bytes(name.len()) {
            return Err(budget.refuse(refusal));
        }
        let value = members.next_value_seed(Node { budget, depth })?;
        if let Err(refusal) = budget.insert(&mut object, name, value) {
            return Err(budget.refuse(refusal));
        }
    }
    Ok(object)
}

/// Reads any value at some depth.
struct Node<'a> {
    budget: &'a mut Budget,
    depth: usize,
}

impl Node<'_> {
    /// Goes one level down.
    fn enter<E: Error>(&mut self) -> Result<usize, E> {
        self.budget.count(0)?;
        if self.depth == DEPTH {
            return Err(self.budget.refuse(Refusal::MetadataDepth(DEPTH)));
        }
        Ok(self.depth + 1)
    }
}

impl<'de> DeserializeSeed<'de> for Node<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Node<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        self.budget.count(0).map(|()| Value::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        self.budget.count(0).map(|()| Value::Bool(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        self.budget.count(0).map(|()| value.into())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        self.budget.count(0).map(|()| value.into())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        self.budget.count(0)?;
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        self.budget.count(value.len())?;
        Ok(Value::String(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut items: A) -> Result<Value, A::Error> {
        let depth = self.enter()?;
        let mut list = Vec::new();
        let budget = self.budget;
        while let Some(item) = items.next_element_seed(Node { budget, depth })? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(mut self, members: A) -> Result<Value, A::Error> {
        let depth = self.enter()?;
        read_members(self.budget, members, depth).map(Value::Object)
    }
}
