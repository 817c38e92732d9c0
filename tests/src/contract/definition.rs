//! A schema as a language with types would say it.

use anyhow::{Context as _, bail};
use serde_json::Value;

/// A named type.
#[derive(Clone, Debug)]
pub struct Definition {
    /// Its name.
    pub name: String,
    /// What it is.
    pub doc: String,
    /// What it is made of.
    pub shape: Shape,
}

/// What a named type is made of.
#[derive(Clone, Debug)]
pub enum Shape {
    /// An object with these members, and with those of other types.
    Object {
        /// Types whose members it has too.
        with: Vec<Type>,
        /// Its own members.
        fields: Vec<Field>,
    },
    /// An object with exactly one of these members.
    OneMember(Vec<Field>),
    /// An object that names one of several kinds in one member, and has what belongs to that kind in another.
    Tagged {
        /// The member that names the kind.
        tag: String,
        /// The other one.
        content: String,
        /// The kinds.
        variants: Vec<Variant>,
    },
    /// One of these words.
    Words(Vec<String>),
    /// The same as another type.
    Alias(Type),
}

/// One kind of several.
#[derive(Clone, Debug)]
pub struct Variant {
    /// Its name in JSON.
    pub name: String,
    /// What belongs to it.
    pub of: Type,
}

/// A member of an object.
#[derive(Clone, Debug)]
pub struct Field {
    /// Its name in JSON.
    pub name: String,
    /// What it says.
    pub doc: String,
    /// Its type.
    pub of: Type,
    /// Whether it is always there.
    pub required: bool,
    /// Whether it may be `null`.
    pub nullable: bool,
}

/// The type of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Type {
    /// Any JSON.
    Any,
    /// Nothing.
    Null,
    /// True or false.
    Boolean,
    /// A whole number.
    Integer {
        /// Whether it may be negative.
        signed: bool,
        /// Whether 32 bits hold it.
        short: bool,
    },
    /// Any number.
    Number,
    /// A text.
    Text,
    /// A named type.
    Named(String),
    /// Any number of values of one type.
    List(Box<Self>),
    /// As many values as there are types.
    Tuple(Vec<Self>),
    /// An object with values of one type, by names that are no part of the contract.
    Map(Box<Self>),
    /// A value of one of these types.
    OneOf(Vec<Self>),
}

impl Definition {
    /// The type that a schema describes.
    pub(super) fn read(name: &str, schema: &Value) -> anyhow::Result<Self> {
        Ok(Self {
            name: name.to_owned(),
            doc: doc(schema),
            shape: shape(schema).with_context(|| format!("the schema {name}"))?,
        })
    }
}

fn shape(schema: &Value) -> anyhow::Result<Shape> {
    if let Some(parts) = list(schema, "allOf") {
        return all_of(parts);
    }
    if let Some(branches) = list(schema, "oneOf")
        && let Some(shape) = told_by_member(branches)?
    {
        return Ok(shape);
    }
    if let Some(words) = list(schema, "enum") {
        return Ok(Shape::Words(
            words.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        ));
    }
    if schema.get("properties").is_some() {
        return Ok(Shape::Object {
            with: Vec::new(),
            fields: fields(schema)?,
        });
    }
    Ok(Shape::Alias(type_of(schema)?.0))
}

fn all_of(parts: &[Value]) -> anyhow::Result<Shape> {
    let (mut with, mut own) = (Vec::new(), Vec::new());
    for part in parts {
        match part.get("properties") {
            Some(_) => own.extend(fields(part)?),
            None => with.push(type_of(part)?.0),
        }
    }
    Ok(Shape::Object { with, fields: own })
}

/// What objects are that tell by a member of theirs which of the branches they are; none for other branches.
fn told_by_member(branches: &[Value]) -> anyhow::Result<Option<Shape>> {
    let members = |branch: &Value| {
        branch
            .get("properties")
            .and_then(Value::as_object)
            .map(serde_json::Map::len)
    };
    if branches.iter().all(|branch| members(branch) == Some(1)) {
        let fields: Vec<Vec<Field>> = branches.iter().map(only_member).collect::<anyhow::Result<_>>()?;
        return Ok(Some(Shape::OneMember(fields.into_iter().flatten().collect())));
    }
    if branches.iter().all(|branch| members(branch) == Some(2)) {
        return tagged(branches).map(Some);
    }
    Ok(None)
}

/// The member of a branch, which is described where the branch is.
fn only_member(branch: &Value) -> anyhow::Result<Vec<Field>> {
    let documented = |field: Field| Field {
        doc: if field.doc.is_empty() { doc(branch) } else { field.doc },
        ..field
    };
    Ok(fields(branch)?.into_iter().map(documented).collect())
}

fn tagged(branches: &[Value]) -> anyhow::Result<Shape> {
    let (mut names, mut variants) = (None, Vec::new());
    for branch in branches {
        let members = branch.get("properties").and_then(Value::as_object);
        let mut members: Vec<(&String, &Value)> = members.into_iter().flatten().collect();
        members.sort_by_key(|(_, schema)| list(schema, "enum").is_none());
        let [(tag, kind), (content, of)] = members.as_slice() else {
            bail!("a branch does not have two members: {branch}");
        };
        let Some([Value::String(name)]) = list(kind, "enum") else {
            bail!("no member names the kind: {branch}");
        };
        names = Some(((*tag).clone(), (*content).clone()));
        variants.push(Variant {
            name: name.clone(),
            of: type_of(of)?.0,
        });
    }
    let (tag, content) = names.context("there are no branches")?;
    Ok(Shape::Tagged { tag, content, variants })
}

fn fields(schema: &Value) -> anyhow::Result<Vec<Field>> {
    let required = list(schema, "required").unwrap_or_default();
    let properties = schema.get("properties").and_then(Value::as_object);
    let fields = properties.into_iter().flatten().map(|(name, schema)| {
        let (of, nullable) = type_of(schema).with_context(|| format!("the member {name}"))?;
        Ok(Field {
            name: name.clone(),
            doc: doc(schema),
            of,
            required: required.iter().any(|required| required == name),
            nullable,
        })
    });
    fields.collect()
}

/// The type that a schema describes, and whether it may be `null`.
fn type_of(schema: &Value) -> anyhow::Result<(Type, bool)> {
    if let Some(reference) = schema.get("$ref").and_then(Value::as_str) {
        let name = reference.rsplit('/').next().unwrap_or(reference);
        return Ok((Type::Named(name.to_owned()), false));
    }
    if let Some(branches) = list(schema, "oneOf").or_else(|| list(schema, "anyOf")) {
        return one_of(branches);
    }
    let names = match schema.get("type") {
        None => return Ok((Type::Any, false)),
        Some(Value::Array(names)) => names.clone(),
        Some(name) => vec![name.clone()],
    };
    let nullable = names.iter().any(|name| name == "null");
    let mut others = names.iter().filter_map(Value::as_str).filter(|name| *name != "null");
    let of = match (others.next(), others.next()) {
        (Some("boolean"), None) => Type::Boolean,
        (Some("integer"), None) => Type::Integer {
            signed: schema.get("minimum").is_none(),
            short: schema.get("format").is_some_and(|format| format == "int32"),
        },
        (Some("number"), None) => Type::Number,
        (Some("string"), None) => Type::Text,
        (Some("array"), None) => array(schema)?,
        (Some("object"), None) => match schema.get("additionalProperties") {
            Some(of @ Value::Object(_)) => Type::Map(Box::new(type_of(of)?.0)),
            _ => Type::Map(Box::new(Type::Any)),
        },
        _ => bail!("nothing is made of this form yet: {schema}"),
    };
    Ok((of, nullable))
}

fn one_of(branches: &[Value]) -> anyhow::Result<(Type, bool)> {
    let is_null = |branch: &&Value| branch.get("type").is_some_and(|name| name == "null");
    let nullable = branches.iter().any(|branch| is_null(&branch));
    let others = branches.iter().filter(|branch| !is_null(branch));
    let mut types: Vec<Type> = others
        .map(|branch| Ok(type_of(branch)?.0))
        .collect::<anyhow::Result<_>>()?;
    let of = if types.len() == 1 {
        types.remove(0)
    } else {
        Type::OneOf(types)
    };
    Ok((of, nullable))
}

fn array(schema: &Value) -> anyhow::Result<Type> {
    if let Some(items) = list(schema, "prefixItems") {
        let types: anyhow::Result<_> = items.iter().map(|item| Ok(type_of(item)?.0)).collect();
        return types.map(Type::Tuple);
    }
    let item = match schema.get("items") {
        None => Type::Any,
        Some(item) => match type_of(item)? {
            (of, false) => of,
            (of, true) => Type::OneOf(vec![of, Type::Null]),
        },
    };
    let bound = |name: &str| schema.get(name).and_then(Value::as_u64);
    Ok(match (bound("minItems"), bound("maxItems")) {
        (Some(least), Some(most)) if least == most => Type::Tuple(vec![item; most as usize]),
        _ => Type::List(Box::new(item)),
    })
}

fn list<'a>(schema: &'a Value, name: &str) -> Option<&'a [Value]> {
    schema.get(name)?.as_array().map(Vec::as_slice)
}

fn doc(schema: &Value) -> String {
    let said = |schema: &Value| schema.get("description").and_then(Value::as_str).map(str::to_owned);
    // Of what may be null, the branch is described that is not.
    let branches = list(schema, "oneOf").unwrap_or_default();
    let text = said(schema).or_else(|| branches.iter().find_map(said));
    plain(&text.unwrap_or_default())
}

/// A doc comment without its links, which lead nowhere outside of Rust.
fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, link)) = rest.split_once("[`") {
        let Some((name, after)) = link.split_once("`]") else {
            break;
        };
        plain.push_str(&format!("{before}`{name}`"));
        rest = match after.strip_prefix('(').and_then(|target| target.split_once(')')) {
            Some((_, after)) => after,
            None => after,
        };
    }
    plain.push_str(rest);
    plain.trim().to_owned()
}
