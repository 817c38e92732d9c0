//! The contract in TypeScript, for the web UI.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::rooms::{by_room, names_used};
use super::{Definition, Field, Files, Shape, Type};

const HEAD: &str = "\
/** Made from the server's own description of its API by `make contract`: mend the Rust type, and not this file. */
";

const INDEX: &str = "\
/**
 * What the server answers, as JSON. Made from the server's own description of its API by `make contract`: mend the Rust
 * type, and not these files.
 *
 * Enums may grow: unknown values are shown as they are. Addresses and 64-bit identifiers are hex strings, because a
 * JavaScript number holds 53 bits.
 */

";

const JSON: &str = "\
/** Values that JSON can hold. */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
";

/// The modules with all types, and one that has them all.
pub fn typescript(definitions: &[Definition]) -> Files {
    let rooms = by_room(definitions);
    let room_of: BTreeMap<&str, &str> = rooms
        .iter()
        .flat_map(|(room, definitions)| definitions.iter().map(|definition| (definition.name.as_str(), *room)))
        .chain([("Json", "json")])
        .collect();
    let mut files: Files = rooms
        .iter()
        .map(|(room, definitions)| (format!("{room}.ts"), module(room, definitions, &room_of)))
        .collect();
    files.insert("json.ts".to_owned(), format!("{HEAD}\n{JSON}"));
    let mut index = INDEX.to_owned();
    for file in files.keys() {
        index.push_str(&format!("export type * from './{}';\n", file.trim_end_matches(".ts")));
    }
    files.insert("index.ts".to_owned(), index);
    files
}

/// One room's types, after what they use of other rooms.
fn module(room: &str, definitions: &[&Definition], room_of: &BTreeMap<&str, &str>) -> String {
    let mut used: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for name in definitions.iter().flat_map(|definition| names_used(&definition.shape)) {
        if let Some(other) = room_of.get(name.as_str()).filter(|other| **other != room) {
            used.entry(other).or_default().insert(name);
        }
    }
    let mut text = HEAD.to_owned();
    for (place, (other, names)) in used.iter().enumerate() {
        let names = names.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
        let apart = if place == 0 { "\n" } else { "" };
        text.push_str(&format!("{apart}import type {{ {names} }} from './{other}';\n"));
    }
    for definition in definitions {
        text.push('\n');
        comment(&mut text, "", &definition.doc);
        text.push_str(&declared(&definition.name, &definition.shape));
    }
    text
}

fn declared(name: &str, shape: &Shape) -> String {
    match shape {
        Shape::Object { with, fields } if with.is_empty() => {
            format!("export interface {name} {{\n{}}}\n", members(fields))
        }
        Shape::Object { with, fields } => {
            let with: Vec<String> = with.iter().map(written).collect();
            let own = match fields.is_empty() {
                true => String::new(),
                false => format!(" & {{\n{}}}", members(fields)),
            };
            format!("export type {name} = {}{own};\n", with.join(" & "))
        }
        Shape::OneMember(fields) => {
            let optional = fields.iter().map(|field| Field {
                required: false,
                ..field.clone()
            });
            let optional: Vec<Field> = optional.collect();
            format!("export interface {name} {{\n{}}}\n", members(&optional))
        }
        Shape::Tagged { tag, content, variants } => {
            let variants = variants.iter().map(|variant| {
                let of = written(&variant.of);
                format!("  | {{ {tag}: '{}'; {content}: {of} }}", variant.name)
            });
            format!("export type {name} =\n{};\n", variants.collect::<Vec<_>>().join("\n"))
        }
        Shape::Words(words) => {
            let words: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
            // A server that is newer than the page may know more of them.
            format!("export type {name} = {} | (string & {{}});\n", words.join(" | "))
        }
        Shape::Alias(of) => format!("export type {name} = {};\n", written(of)),
    }
}

fn members(fields: &[Field]) -> String {
    fields.iter().fold(String::new(), |mut text, field| {
        comment(&mut text, "  ", &field.doc);
        let optional = if field.required { "" } else { "?" };
        let null = if field.nullable { " | null" } else { "" };
        let _ = writeln!(text, "  {}{optional}: {}{null};", field.name, written(&field.of));
        text
    })
}

fn written(of: &Type) -> String {
    match of {
        Type::Any => "Json".to_owned(),
        Type::Null => "null".to_owned(),
        Type::Boolean => "boolean".to_owned(),
        Type::Integer { .. } | Type::Number => "number".to_owned(),
        Type::Text => "string".to_owned(),
        Type::Named(name) => name.clone(),
        Type::List(item) if matches!(**item, Type::OneOf(_)) => format!("({})[]", written(item)),
        Type::List(item) => format!("{}[]", written(item)),
        Type::Tuple(items) => format!("[{}]", items.iter().map(written).collect::<Vec<_>>().join(", ")),
        Type::Map(of) => format!("{{ [key: string]: {} }}", written(of)),
        Type::OneOf(types) => types.iter().map(written).collect::<Vec<_>>().join(" | "),
    }
}

fn comment(text: &mut String, indent: &str, doc: &str) {
    let lines: Vec<&str> = doc.lines().map(str::trim_end).collect();
    match lines.as_slice() {
        [] => {}
        [line] => text.push_str(&format!("{indent}/** {line} */\n")),
        lines => {
            text.push_str(&format!("{indent}/**\n"));
            for line in lines {
                text.push_str(format!("{indent} * {line}").trim_end());
                text.push('\n');
            }
            text.push_str(&format!("{indent} */\n"));
        }
    }
}
