//! The words of pages and cases, as a page of the documentation.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use anyhow::{Context as _, bail};
use whycrash_catalog::Vocabulary;
use whycrash_catalog::vocabulary::{CONTEXT_MEMBERS, Shape as Words};

use super::{Definition, Shape, Type, Variant};

const INTRODUCTION: &str = "# Words of pages and cases

Made of the evidence model by `make contract`. [diagnosis.md](diagnosis.md) says how to write a recognise table,
[plugins.md](plugins.md) how to write a plugin and its cases. `whycrash inspect --format json` shows what a crash has of
all this: kinds and particulars in `evidence.timeline[]`, as `kind` and `detail`.
";

/// The page with the kinds of events, the facts and what a `case.toml` says. `case` is the source of the type that reads
/// one.
///
/// # Errors
/// When the contract lacks what the page tells of.
pub fn reference(definitions: &[Definition], case: &str) -> anyhow::Result<String> {
    let find = |name: &str| definitions.iter().find(|definition| definition.name == name);
    let Some(Shape::Tagged { variants, .. }) = find("EventPayload").map(|definition| &definition.shape) else {
        bail!("EventPayload does not name kinds of events")
    };
    let mut page = format!("{INTRODUCTION}\n## Kinds of events\n");
    page.push_str(LINE);
    let mut kinds: Vec<&Variant> = variants.iter().collect();
    kinds.sort_by(|a, b| a.name.cmp(&b.name));
    for kind in kinds {
        page.push_str(&of_kind(kind, &find)?);
    }
    page.push_str(&facts(find("Evidence").context("the contract has no Evidence")?));
    write!(page, "\n{CONTEXT}\n")?;
    let members: Vec<String> = CONTEXT_MEMBERS.iter().map(|member| format!("`{member}`")).collect();
    write!(page, "\n{}.\n", members.join(", "))?;
    page.push_str(&of_case(case)?);
    Ok(page)
}

const LINE: &str = "
`kind = \"line\"` stands for any line of a text and is no event of the timeline: a table has a `text` for it, which has
words of three letters or more, and may ask for `where.artifact`, the name of the file.
";

const CONTEXT: &str = "## What the collector writes down

`context.<path>` of a table, `report.context` of a plugin. A report may have other members too, from whoever sent it.";

fn of_kind<'a>(kind: &Variant, find: &impl Fn(&str) -> Option<&'a Definition>) -> anyhow::Result<String> {
    let Type::Named(name) = &kind.of else {
        bail!("{} has no named particulars", kind.name)
    };
    let definition = find(name).with_context(|| format!("the contract has no {name}"))?;
    let mut text = format!("\n### `{}`\n\n{}\n", kind.name, one_line(&definition.doc));
    text.push_str("\n| particular | type | what |\n|---|---|---|\n");
    let Shape::Object { fields, .. } = &definition.shape else {
        bail!("{name} has no members")
    };
    for field in fields {
        let what = cell(&field.doc);
        writeln!(text, "| `{}` | {} | {what} |", field.name, type_in_words(&field.of))?;
    }
    Ok(text)
}

/// The members of the evidence, and which of them are facts.
fn facts(evidence: &Definition) -> String {
    let known = &Vocabulary::of_model().facts;
    let mut text = "\n## Facts\n\n`facts.<path>` of a table, `report.fact` of a plugin: dotted paths into the evidence, \
                    such as\n`crash.signal` or `memory_snapshots.0.reserved`.\n\n| fact | what | members |\n|---|---|---|\n"
        .to_owned();
    let Shape::Object { fields, .. } = &evidence.shape else {
        return text;
    };
    for field in fields.iter().filter(|field| known.contains_key(&field.name)) {
        let (path, members) = match &known[&field.name] {
            Words::List(of) => (format!("{}.0", field.name), members(of)),
            shape => (field.name.clone(), members(shape)),
        };
        text.push_str(&format!("| `{path}` | {} | {members} |\n", cell(&field.doc)));
    }
    text.push_str(
        "| `history` | What is known of other reports: `earlier` ones of the group, and those of the incident. | |\n",
    );
    text
}

fn members(shape: &Words) -> String {
    let Words::Object(members) = shape else {
        return String::new();
    };
    let names: BTreeSet<String> = members.keys().map(|name| format!("`{name}`")).collect();
    names.into_iter().collect::<Vec<_>>().join(", ")
}

/// What a `case.toml` says: the members of the type that reads it, with their comments.
fn of_case(source: &str) -> anyhow::Result<String> {
    let (_, body) = source
        .split_once("struct Case {\n")
        .context("nothing reads a case.toml")?;
    let (body, _) = body.split_once("\n}\n").context("the type has no end")?;
    let mut text = "\n## `case.toml`\n\nA case of a plugin is a folder with what a crash left and this file, of which \
                    nothing but `cause` must be there.\n\n| key | type | what |\n|---|---|---|\n"
        .to_owned();
    let mut doc = Vec::new();
    for line in body.lines().map(str::trim) {
        if let Some(comment) = line.strip_prefix("///") {
            doc.push(comment.trim().to_owned());
        } else if let Some((name, of)) = line.trim_start_matches("pub ").split_once(": ")
            && !line.starts_with('#')
        {
            let of = match of.trim_end_matches(',') {
                "String" | "Option<String>" => "text",
                "bool" => "`true` or `false`",
                "Vec<String>" => "list of texts",
                other => bail!("nothing is said of the type {other} yet"),
            };
            writeln!(text, "| `{name}` | {of} | {} |", cell(&doc.join(" ")))?;
            doc.clear();
        }
    }
    Ok(text)
}

fn type_in_words(of: &Type) -> String {
    match of {
        Type::Any | Type::Null | Type::OneOf(_) => "any JSON".to_owned(),
        Type::Boolean => "`true` or `false`".to_owned(),
        Type::Integer { .. } => "whole number".to_owned(),
        Type::Number => "number".to_owned(),
        Type::Text => "text".to_owned(),
        // Addresses and ids are written as text; what has members is asked for by these.
        Type::Named(name) if ["Hex", "ThreadId"].contains(&name.as_str()) => "text".to_owned(),
        Type::Named(_) | Type::Map(_) => "object".to_owned(),
        Type::List(of) => format!("list: {}", type_in_words(of)),
        Type::Tuple(of) => format!(
            "{} of them: {}",
            of.len(),
            of.first().map(type_in_words).unwrap_or_default()
        ),
    }
}

fn one_line(doc: &str) -> String {
    doc.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A comment as a cell of a table.
fn cell(doc: &str) -> String {
    one_line(doc).replace('|', "\\|")
}
