//! The contract in Rust, for the SDK of plugins.
//!
//! A plugin may be older than the host that runs it. So everything is read tolerantly: what is absent is the default,
//! what is new is ignored, and the words of an enum are texts.

use std::collections::BTreeSet;

use anyhow::{Context as _, bail};

use super::rooms::by_room;
use super::{Definition, Field, Files, Shape, Type, Variant};

const HEAD: &str = "\
//! Made from the evidence model by `make contract`: mend the type there, and not here.

";

/// What plugins read by paths and kinds of events; threads and frames they have as types of the interface.
const ROOTS: [&str; 7] = [
    "Crash",
    "CollectiveVerdict",
    "Communicator",
    "FaultAddress",
    "GpuCore",
    "MemorySnapshot",
    "Series",
];
/// The kinds of events, each of which has particulars.
const EVENTS: &str = "EventPayload";

/// The modules with the types of what plugins read.
///
/// # Errors
/// When the contract lacks one of them, or one has a form that no Rust is made of yet.
pub fn facts(definitions: &[Definition]) -> anyhow::Result<Files> {
    let find = |name: &str| definitions.iter().find(|definition| definition.name == name);
    let Some(Shape::Tagged { variants: kinds, .. }) = find(EVENTS).map(|definition| &definition.shape) else {
        bail!("{EVENTS} does not name kinds of events")
    };
    let mut wanted: BTreeSet<String> = ROOTS.map(str::to_owned).into();
    wanted.extend(kinds.iter().flat_map(|kind| names_in(&kind.of)));
    let mut done = BTreeSet::new();
    while let Some(name) = wanted.pop_first() {
        if !done.insert(name.clone()) {
            continue;
        }
        let definition = find(&name).with_context(|| format!("the contract has no {name}"))?;
        wanted.extend(names_used(&definition.shape));
    }
    let mut files = Files::new();
    for (room, mut definitions) in by_room(definitions) {
        definitions.retain(|definition| done.contains(&definition.name));
        if !definitions.is_empty() {
            files.insert(format!("{room}.rs"), module(&definitions, kinds, &find)?);
        }
    }
    Ok(files)
}

/// One room's types.
fn module<'a>(
    definitions: &[&'a Definition],
    kinds: &[Variant],
    find: &impl Fn(&str) -> Option<&'a Definition>,
) -> anyhow::Result<String> {
    let mut text = String::new();
    let mut elsewhere = BTreeSet::new();
    for definition in definitions {
        elsewhere.extend(names_used(&definition.shape));
        text.push('\n');
        text.push_str(&written(definition, find).with_context(|| definition.name.clone())?);
        for kind in kinds
            .iter()
            .filter(|kind| kind.of == Type::Named(definition.name.clone()))
        {
            elsewhere.insert("EventDetail".to_owned());
            text.push_str(&format!(
                "\nimpl EventDetail for {} {{\n    const KIND: &'static str = \"{}\";\n}}\n",
                definition.name, kind.name
            ));
        }
    }
    for definition in definitions {
        elsewhere.remove(&definition.name);
    }
    let elsewhere: Vec<String> = elsewhere.into_iter().collect();
    let imports = match elsewhere.as_slice() {
        [] => String::new(),
        [one] => format!("\nuse super::{one};\n"),
        several => format!("\nuse super::{{{}}};\n", several.join(", ")),
    };
    Ok(format!("{HEAD}use serde::Deserialize;\n{imports}{text}"))
}

fn written<'a>(definition: &'a Definition, find: &impl Fn(&str) -> Option<&'a Definition>) -> anyhow::Result<String> {
    let name = &definition.name;
    let doc = comment("", &definition.doc);
    Ok(match &definition.shape {
        Shape::Object { with, fields } => {
            let mut all = Vec::new();
            for other in with.iter().flat_map(names_in) {
                match find(&other).map(|other| &other.shape) {
                    Some(Shape::Object { with, fields }) if with.is_empty() => all.extend(fields.iter().cloned()),
                    _ => bail!("no Rust is made of the members of {other} yet"),
                }
            }
            all.extend(fields.iter().cloned());
            structure(name, &doc, &all)
        }
        // Exactly one is there.
        Shape::OneMember(fields) => {
            let fields: Vec<Field> = fields.iter().map(optional).collect();
            structure(name, &doc, &fields)
        }
        Shape::Words(words) => {
            let words: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
            let said = comment("", &format!("One of {}.", words.join(", ")));
            format!("{doc}///\n{said}pub type {name} = String;\n")
        }
        Shape::Alias(of) => format!("{doc}pub type {name} = {};\n", type_name(of)),
        Shape::Tagged { .. } => bail!("no Rust is made of this form yet"),
    })
}

fn structure(name: &str, doc: &str, fields: &[Field]) -> String {
    let fields = fields.iter().map(|field| {
        let of = match field.nullable {
            true => format!("Option<{}>", type_name(&field.of)),
            false => type_name(&field.of),
        };
        format!("{}    pub {}: {of},\n", comment("    ", &field.doc), field.name)
    });
    let fields: String = fields.collect();
    let derived = "#[derive(Clone, Debug, Default, PartialEq, Deserialize)]\n#[serde(default)]\n";
    format!("{doc}{derived}pub struct {name} {{\n{fields}}}\n")
}

fn optional(field: &Field) -> Field {
    Field {
        nullable: true,
        ..field.clone()
    }
}

fn type_name(of: &Type) -> String {
    match of {
        // What may be this or that is looked at by whoever wants it.
        Type::Any | Type::Null | Type::OneOf(_) => "serde_json::Value".to_owned(),
        Type::Boolean => "bool".to_owned(),
        Type::Integer { signed, short } => {
            let (letter, bits) = (if *signed { 'i' } else { 'u' }, if *short { 32 } else { 64 });
            format!("{letter}{bits}")
        }
        Type::Number => "f64".to_owned(),
        Type::Text => "String".to_owned(),
        Type::Named(name) => name.clone(),
        Type::List(item) => format!("Vec<{}>", type_name(item)),
        Type::Tuple(items) => match items.split_first() {
            Some((first, rest)) if rest.iter().all(|item| item == first) => {
                format!("[{}; {}]", type_name(first), items.len())
            }
            _ => format!("({})", items.iter().map(type_name).collect::<Vec<_>>().join(", ")),
        },
        Type::Map(of) if **of == Type::Any => "serde_json::Map<String, serde_json::Value>".to_owned(),
        Type::Map(of) => format!("std::collections::BTreeMap<String, {}>", type_name(of)),
    }
}

/// Less than a type is made of: what may be this or that is plain JSON here.
fn names_used(shape: &Shape) -> Vec<String> {
    match shape {
        Shape::Object { fields, .. } | Shape::OneMember(fields) => {
            fields.iter().flat_map(|field| names_in(&field.of)).collect()
        }
        Shape::Alias(of) => names_in(of),
        Shape::Tagged { .. } | Shape::Words(_) => Vec::new(),
    }
}

fn names_in(of: &Type) -> Vec<String> {
    match of {
        Type::Named(name) => vec![name.clone()],
        Type::List(of) | Type::Map(of) => names_in(of),
        Type::Tuple(types) => types.iter().flat_map(names_in).collect(),
        _ => Vec::new(),
    }
}

fn comment(indent: &str, doc: &str) -> String {
    doc.lines()
        .map(|line| format!("{}\n", format!("{indent}/// {line}").trim_end()))
        .collect()
}
