//! `whycrash plugin reference`: the plugin interface, for people who write against it. `docs/plugin-reference.md` is
//! what it prints.

use std::fmt::Write as _;
use std::process::ExitCode;

use anyhow::Context as _;
use wit_parser::{
    Docs, Function, FunctionKind, Handle, Interface, Resolve, SourceMap, Stability, Type, TypeDef, TypeDefKind, TypeId,
    TypeOwner, World, WorldItem,
};

use super::scaffold::WIT;
use crate::output::{self, Clean};

const INTRODUCTION: &str = "# Plugin interface

Made of `plugins/wit/v1` by `whycrash plugin reference`. [plugins.md](plugins.md) says how to write a plugin; here is
everything that one can ask for and answer. Names are those of the interface definition: `memory-snapshots` is
`memory_snapshots` in Rust, Python and C, and `memorySnapshots` in JavaScript. What a call costs is listed under *What a
run may use* there.
";

/// Print the plugin interface as Markdown: every function and type, with what it means
#[derive(Debug, clap::Args)]
pub struct Args {}

/// Prints the reference.
pub fn execute(_: &Args) -> anyhow::Result<ExitCode> {
    output::print(&Clean::own(reference()?))?;
    Ok(ExitCode::SUCCESS)
}

fn reference() -> anyhow::Result<String> {
    let mut files = SourceMap::new();
    for (name, text) in WIT {
        files.push_str(name, *text);
    }
    let parsed = files.parse().map_err(|(_, error)| error)?;
    let mut resolve = Resolve::default();
    let package = resolve.push_group(parsed)?;
    let package = resolve.packages.get(package).context("it was pushed")?;
    let version = package
        .name
        .version
        .as_ref()
        .map(ToString::to_string)
        .unwrap_or_default();
    let mut page = format!("{INTRODUCTION}\nVersion {version}; what came after 1.0.0 says since when it is there.\n");
    for world in package.worlds.values() {
        page.push_str(&of_world(&resolve, &resolve.worlds[*world]));
    }
    // What plugins ask, and what they answer, before what both consist of.
    let mut interfaces: Vec<&Interface> = package.interfaces.values().map(|id| &resolve.interfaces[*id]).collect();
    interfaces.sort_by_key(|interface| {
        let name = interface.name.clone().unwrap_or_default();
        (name != "evidence", name != "types", name)
    });
    for interface in interfaces {
        page.push_str(&of_interface(&resolve, interface));
    }
    Ok(page)
}

fn of_world(resolve: &Resolve, world: &World) -> String {
    let mut text = format!("\n## The world `{}`\n\n{}", world.name, paragraph(&world.docs));
    for (title, items) in [("It exports", &world.exports), ("It may import", &world.imports)] {
        let functions: Vec<&Function> = items
            .values()
            .filter_map(|item| match item {
                WorldItem::Function(function) => Some(function),
                _ => None,
            })
            .collect();
        let _ = writeln!(text, "{title}:\n");
        for function in functions {
            text.push_str(&of_function(resolve, function));
        }
        text.push('\n');
    }
    text.trim_end().to_owned() + "\n"
}

fn of_interface(resolve: &Resolve, interface: &Interface) -> String {
    let name = interface.name.clone().unwrap_or_default();
    let since = since(&interface.stability);
    let mut text = format!("\n## The interface `{name}`{since}\n\n{}", paragraph(&interface.docs));
    let own: Vec<TypeId> = interface
        .types
        .values()
        .copied()
        .filter(|id| !is_used(resolve, *id))
        .collect();
    let (resources, others): (Vec<TypeId>, Vec<TypeId>) = own
        .into_iter()
        .partition(|id| resolve.types[*id].kind == TypeDefKind::Resource);
    for id in resources {
        let _ = writeln!(text, "### `{}`\n", name_of(&resolve.types[id]));
        text.push_str(&paragraph(&resolve.types[id].docs));
        let is_of = |function: &&Function| matches!(function.kind, FunctionKind::Method(of) if of == id);
        for function in interface.functions.values().filter(is_of) {
            text.push_str(&of_function(resolve, function));
        }
        text.push('\n');
    }
    for id in others {
        text.push_str(&of_type(resolve, &resolve.types[id]));
    }
    text.trim_end().to_owned() + "\n"
}

/// Whether the type is another interface's, under a name of this one.
fn is_used(resolve: &Resolve, id: TypeId) -> bool {
    let definition = &resolve.types[id];
    matches!(definition.kind, TypeDefKind::Type(Type::Id(of)) if resolve.types[of].owner != definition.owner)
}

fn of_function(resolve: &Resolve, function: &Function) -> String {
    let name = function.name.rsplit('.').next().unwrap_or(&function.name);
    let own = |param: &&wit_parser::Param| param.name != "self";
    let params: Vec<String> = function
        .params
        .iter()
        .filter(own)
        .map(|param| format!("{}: {}", param.name, spelled(resolve, &param.ty)))
        .collect();
    let result = function
        .result
        .as_ref()
        .map(|of| format!(" -> {}", spelled(resolve, of)));
    format!(
        "- `{name}({}){}`{}{}\n",
        params.join(", "),
        result.unwrap_or_default(),
        since(&function.stability),
        beside(&function.docs)
    )
}

fn of_type(resolve: &Resolve, definition: &TypeDef) -> String {
    let (kind, members): (&str, Vec<String>) = match &definition.kind {
        TypeDefKind::Record(record) => {
            let member = |field: &wit_parser::Field| {
                format!(
                    "`{}: {}`{}",
                    field.name,
                    spelled(resolve, &field.ty),
                    beside(&field.docs)
                )
            };
            ("record", record.fields.iter().map(member).collect())
        }
        TypeDefKind::Variant(variant) => {
            let member = |case: &wit_parser::Case| {
                let of = case.ty.as_ref().map(|of| format!("({})", spelled(resolve, of)));
                format!("`{}{}`{}", case.name, of.unwrap_or_default(), beside(&case.docs))
            };
            ("one of these", variant.cases.iter().map(member).collect())
        }
        TypeDefKind::Enum(of) => {
            let member = |case: &wit_parser::EnumCase| format!("`{}`{}", case.name, beside(&case.docs));
            ("one of these", of.cases.iter().map(member).collect())
        }
        other => ("another name of", vec![format!("`{}`", anonymous(resolve, other))]),
    };
    let mut text = format!("### `{}`{}\n\n", name_of(definition), since(&definition.stability));
    text.push_str(&paragraph(&definition.docs));
    let _ = writeln!(text, "A {kind}:\n");
    for member in members {
        let _ = writeln!(text, "- {member}");
    }
    text.push('\n');
    text.replace("A one of", "One of").replace("A another", "Another")
}

fn name_of(definition: &TypeDef) -> String {
    definition.name.clone().unwrap_or_default()
}

/// A type as the interface definition writes it.
fn spelled(resolve: &Resolve, of: &Type) -> String {
    match of {
        Type::Bool => "bool".to_owned(),
        Type::U8 => "u8".to_owned(),
        Type::U16 => "u16".to_owned(),
        Type::U32 => "u32".to_owned(),
        Type::U64 => "u64".to_owned(),
        Type::S8 => "s8".to_owned(),
        Type::S16 => "s16".to_owned(),
        Type::S32 => "s32".to_owned(),
        Type::S64 => "s64".to_owned(),
        Type::F32 => "f32".to_owned(),
        Type::F64 => "f64".to_owned(),
        Type::Char => "char".to_owned(),
        Type::String => "string".to_owned(),
        Type::ErrorContext => "error-context".to_owned(),
        Type::Id(id) => {
            let definition = &resolve.types[*id];
            let is_named = definition.name.is_some() && definition.owner != TypeOwner::None;
            if is_named {
                name_of(definition)
            } else {
                anonymous(resolve, &definition.kind)
            }
        }
    }
}

fn anonymous(resolve: &Resolve, kind: &TypeDefKind) -> String {
    let inner = |of: &Type| spelled(resolve, of);
    match kind {
        TypeDefKind::Option(of) => format!("option<{}>", inner(of)),
        TypeDefKind::List(of) => format!("list<{}>", inner(of)),
        TypeDefKind::Type(of) => inner(of),
        TypeDefKind::Tuple(of) => {
            let types: Vec<String> = of.types.iter().map(inner).collect();
            format!("tuple<{}>", types.join(", "))
        }
        TypeDefKind::Result(of) => {
            let part = |of: &Option<Type>| of.as_ref().map_or("_".to_owned(), inner);
            format!("result<{}, {}>", part(&of.ok), part(&of.err))
        }
        TypeDefKind::Handle(Handle::Borrow(id)) => format!("borrow<{}>", name_of(&resolve.types[*id])),
        TypeDefKind::Handle(Handle::Own(id)) => name_of(&resolve.types[*id]),
        other => other.as_str().to_owned(),
    }
}

fn since(stability: &Stability) -> String {
    match stability {
        Stability::Stable { since, .. } => format!(" (since {since})"),
        _ => String::new(),
    }
}

fn paragraph(docs: &Docs) -> String {
    docs.contents
        .as_ref()
        .map(|text| text.trim().to_owned() + "\n\n")
        .unwrap_or_default()
}

/// What is said of something in a list, behind it.
fn beside(docs: &Docs) -> String {
    let words = docs.contents.iter().flat_map(|text| text.split_whitespace());
    let text = words.collect::<Vec<_>>().join(" ");
    if text.is_empty() { text } else { format!(": {text}") }
}
