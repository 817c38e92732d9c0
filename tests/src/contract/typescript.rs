//! The contract in TypeScript, for the web UI.

use std::fmt::Write as _;

use super::{Definition, Field, Shape, Type};

const HEAD: &str = "\
/**
 * What the server answers, as JSON. Made from the server's own description of its API by `make contract`: mend the Rust
 * type, and not this file.
 *
 * Enums may grow: unknown values are shown as they are. Addresses and 64-bit identifiers are hex strings, because a
 * JavaScript number holds 53 bits.
 */

/** Values that JSON can hold. */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
";

/// The module with all types.
pub fn typescript(definitions: &[Definition]) -> String {
    let mut text = HEAD.to_owned();
    for definition in definitions {
        text.push('\n');
        comment(&mut text, "", &definition.doc);
        let name = &definition.name;
        match &definition.shape {
            Shape::Object { with, fields } if with.is_empty() => {
                text.push_str(&format!("export interface {name} {{\n{}}}\n", members(fields)));
            }
            Shape::Object { with, fields } => {
                let with: Vec<String> = with.iter().map(written).collect();
                let own = if fields.is_empty() {
                    String::new()
                } else {
                    format!(" & {{\n{}}}", members(fields))
                };
                text.push_str(&format!("export type {name} = {}{own};\n", with.join(" & ")));
            }
            Shape::OneMember(fields) => {
                let optional = fields.iter().map(|field| Field {
                    required: false,
                    ..field.clone()
                });
                let optional: Vec<Field> = optional.collect();
                text.push_str(&format!("export interface {name} {{\n{}}}\n", members(&optional)));
            }
            Shape::Tagged { tag, content, variants } => {
                text.push_str(&format!("export type {name} =\n"));
                let variants = variants.iter().map(|variant| {
                    format!(
                        "  | {{ {tag}: '{}'; {content}: {} }}",
                        variant.name,
                        written(&variant.of)
                    )
                });
                text.push_str(&format!("{};\n", variants.collect::<Vec<_>>().join("\n")));
            }
            Shape::Words(words) => {
                let words: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
                // A server that is newer than the page may know more of them.
                text.push_str(&format!(
                    "export type {name} = {} | (string & {{}});\n",
                    words.join(" | ")
                ));
            }
            Shape::Alias(of) => text.push_str(&format!("export type {name} = {};\n", written(of))),
        }
    }
    text
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
