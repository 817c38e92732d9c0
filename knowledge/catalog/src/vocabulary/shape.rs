//! What a value is, as the schema of the evidence model tells it.

use std::collections::BTreeMap;

use serde_json::{Map, Value};
use utoipa::ToSchema;

/// Types within types that are followed: the model has none that contains itself, and nobody asks for so deep a path.
const DEPTH: usize = 12;

/// What a value is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shape {
    /// It may be anything.
    Any,
    /// True or false.
    Flag,
    /// A number.
    Number,
    /// A text.
    Text,
    /// One of these texts.
    Words(Vec<String>),
    /// A list of such values.
    List(Box<Self>),
    /// Such values by names that are no part of the model.
    Map(Box<Self>),
    /// Values of these shapes by name.
    Object(BTreeMap<String, Self>),
}

impl Shape {
    /// The shape of a type.
    pub(super) fn of<T: ToSchema>() -> Self {
        let schemas = Schemas::of::<T>();
        schemas.shape(&schemas.root, 0)
    }

    /// The particulars of each kind of something that has a kind and what belongs to it, `kind` and `detail`.
    pub(super) fn kinds_of<T: ToSchema>() -> BTreeMap<String, BTreeMap<String, Self>> {
        let schemas = Schemas::of::<T>();
        let branches = schemas.root.get("oneOf").and_then(Value::as_array);
        let kind = |branch: &Value| {
            let name = branch.pointer("/properties/kind/enum/0")?.as_str()?.to_owned();
            let detail = branch.pointer("/properties/detail")?;
            Some((name, schemas.shape(detail, 0).into_members()))
        };
        branches.into_iter().flatten().filter_map(kind).collect()
    }

    /// The members of an object.
    pub(super) fn into_members(self) -> BTreeMap<String, Self> {
        match self {
            Self::Object(members) => members,
            _ => BTreeMap::new(),
        }
    }

    /// Whether it has entries, each of which is asked for by itself.
    pub(super) fn is_of_parts(&self) -> bool {
        matches!(self, Self::List(_) | Self::Map(_) | Self::Object(_))
    }

    /// What it is, in words.
    pub fn in_words(&self) -> &'static str {
        match self {
            Self::Any => "any JSON",
            Self::Flag => "`true` or `false`",
            Self::Number => "a number",
            Self::Text | Self::Words(_) => "a text",
            Self::List(_) => "a list",
            Self::Map(_) | Self::Object(_) => "an object",
        }
    }

    /// What is either of two shapes.
    fn or(self, other: Self) -> Self {
        match (self, other) {
            (Self::Object(mut one), Self::Object(other)) => {
                for (name, shape) in other {
                    let both = one.remove(&name).map_or(shape.clone(), |known| known.or(shape));
                    one.insert(name, both);
                }
                Self::Object(one)
            }
            (Self::Words(mut one), Self::Words(other)) => {
                one.extend(other);
                Self::Words(one)
            }
            (one, other) if one == other => one,
            _ => Self::Any,
        }
    }
}

/// A schema, and those that it refers to.
struct Schemas {
    root: Value,
    others: Map<String, Value>,
}

impl Schemas {
    fn of<T: ToSchema>() -> Self {
        let mut others = Vec::new();
        T::schemas(&mut others);
        let json = |schema| serde_json::to_value(schema).unwrap_or_default();
        Self {
            root: json(T::schema()),
            others: others.into_iter().map(|(name, schema)| (name, json(schema))).collect(),
        }
    }

    fn shape(&self, schema: &Value, depth: usize) -> Shape {
        if depth > DEPTH {
            return Shape::Any;
        }
        let inner = |schema: &Value| self.shape(schema, depth + 1);
        if let Some(reference) = schema.get("$ref").and_then(Value::as_str) {
            let name = reference.rsplit('/').next().unwrap_or(reference);
            return self.others.get(name).map_or(Shape::Any, inner);
        }
        for several in ["allOf", "oneOf", "anyOf"] {
            if let Some(parts) = schema.get(several).and_then(Value::as_array) {
                let parts = parts
                    .iter()
                    .filter(|part| part.get("type").is_none_or(|name| name != "null"));
                return parts.map(inner).reduce(Shape::or).unwrap_or(Shape::Any);
            }
        }
        if let Some(words) = schema.get("enum").and_then(Value::as_array) {
            let words = words.iter().filter_map(Value::as_str).map(str::to_owned);
            return Shape::Words(words.collect());
        }
        match type_of(schema) {
            Some("boolean") => Shape::Flag,
            Some("integer" | "number") => Shape::Number,
            Some("string") => Shape::Text,
            Some("array") => Shape::List(Box::new(schema.get("items").map_or(Shape::Any, inner))),
            Some("object") => match (schema.get("properties"), schema.get("additionalProperties")) {
                (Some(Value::Object(members)), _) => {
                    let members = members.iter().map(|(name, schema)| (name.clone(), inner(schema)));
                    Shape::Object(members.collect())
                }
                (_, Some(of @ Value::Object(_))) => Shape::Map(Box::new(inner(of))),
                _ => Shape::Any,
            },
            _ => Shape::Any,
        }
    }
}

/// The type of what is not null.
fn type_of(schema: &Value) -> Option<&str> {
    match schema.get("type")? {
        Value::Array(names) => names.iter().filter_map(Value::as_str).find(|name| *name != "null"),
        name => name.as_str(),
    }
}
