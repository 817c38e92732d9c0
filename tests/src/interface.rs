//! The types of the plugin interface for authors in Python and JavaScript, made of `plugins/wit/v1`.
//!
//! Both lie in git beside the library of their language, because authors get them with a new project; a test says when
//! they are out of date, and `make contract` makes them anew.

use std::fmt::Write as _;
use std::path::Path;

use wit_parser::{Docs, Function, FunctionKind, Interface, Resolve, Type, TypeDef, TypeDefKind, TypeId, TypeOwner};

/// Types that authors write in another form, which is checked before it becomes the interface's.
const WRITTEN_OTHERWISE: [&str; 5] = ["finding", "diagnosis", "collect-next", "needs", "plugin-info"];
/// Numbers of 64 bits that may need all of them: addresses, and what looks like one.
const ADDRESSES: [&str; 3] = ["address", "offset", "stream"];
/// The record whose first and end are addresses.
const OF_ADDRESSES: &str = "module";

/// The interface, parsed.
#[derive(Debug)]
pub struct PluginInterface {
    resolve: Resolve,
    interfaces: Vec<wit_parser::InterfaceId>,
}

impl PluginInterface {
    /// The interface in a folder of definitions.
    ///
    /// # Errors
    /// When it does not parse.
    pub fn read(folder: &Path) -> anyhow::Result<Self> {
        let mut resolve = Resolve::default();
        let (package, _) = resolve.push_dir(folder)?;
        let mut interfaces: Vec<_> = resolve.packages[package].interfaces.values().copied().collect();
        interfaces.sort_by_key(|id| resolve.interfaces[*id].name.clone());
        Ok(Self { resolve, interfaces })
    }

    /// `whycrash/interface.py`.
    pub fn python(&self) -> String {
        let mut text = PYTHON_HEAD.to_owned();
        for id in self.types() {
            text.push_str(&self.python_type(&self.resolve.types[id]));
        }
        let (report, methods) = self.report();
        let _ = write!(
            text,
            "\n\nclass Report:\n    \"\"\"{}\"\"\"\n\n    def __init__(self, of: Any) -> None:\n        self._of = of\n",
            words(&report.docs)
        );
        for method in methods {
            text.push_str(&self.python_method(method));
        }
        let names: Vec<String> = self
            .all()
            .filter_map(|of| of.name.as_ref())
            .map(|name| format!("{name:?}"))
            .collect();
        text + &PYTHON_END.replace("NAMES", &names.join(", "))
    }

    /// `whycrash/interface.d.ts`.
    pub fn typescript(&self) -> String {
        let mut text = TYPESCRIPT_HEAD.to_owned();
        for id in self.types() {
            text.push_str(&self.typescript_type(&self.resolve.types[id]));
        }
        let (report, methods) = self.report();
        let _ = write!(text, "\n{}export interface Report {{\n", comment("", &report.docs));
        for method in methods {
            let params = own_params(method).map(|param| {
                format!(
                    "{}: {}",
                    camel(&param.name),
                    self.in_typescript(&param.ty, is_address(&param.name))
                )
            });
            let result = method
                .result
                .as_ref()
                .map_or("void".to_owned(), |of| self.in_typescript(of, false));
            let params = params.collect::<Vec<_>>().join(", ");
            let name = camel(name_of_method(method));
            let _ = writeln!(text, "{}  {name}({params}): {result};", comment("  ", &method.docs));
        }
        text + "}\n"
    }

    fn all(&self) -> impl Iterator<Item = &Interface> {
        self.interfaces.iter().map(|id| &self.resolve.interfaces[*id])
    }

    /// The types of all interfaces that are theirs, but for the report.
    fn types(&self) -> Vec<TypeId> {
        let ids = self.all().flat_map(|of| of.types.values().copied());
        let is_wanted = |id: &TypeId| {
            let of = &self.resolve.types[*id];
            let is_alias = matches!(
                of.kind,
                TypeDefKind::Type(_) | TypeDefKind::Tuple(_) | TypeDefKind::Resource
            );
            !is_alias && !WRITTEN_OTHERWISE.contains(&name(of))
        };
        ids.filter(is_wanted).collect()
    }

    fn report(&self) -> (&TypeDef, Vec<&Function>) {
        let is_report = |id: &TypeId| self.resolve.types[*id].kind == TypeDefKind::Resource;
        let owner = self
            .all()
            .find_map(|of| Some((of, of.types.values().copied().find(is_report)?)));
        let (of, id) = owner.expect("the interface has a report");
        let is_method = |function: &&Function| matches!(function.kind, FunctionKind::Method(_));
        (
            &self.resolve.types[id],
            of.functions.values().filter(is_method).collect(),
        )
    }

    fn python_type(&self, of: &TypeDef) -> String {
        let class = pascal(name(of));
        let docs = words(&of.docs);
        let docs = if docs.is_empty() {
            String::new()
        } else {
            format!("    \"\"\"{docs}\"\"\"\n\n")
        };
        match &of.kind {
            TypeDefKind::Record(record) => {
                let mut text = format!("\n\n@dataclass\nclass {class}:\n{docs}");
                for field in &record.fields {
                    let _ = writeln!(text, "    {}: {}", snake(&field.name), self.in_python(&field.ty));
                    let docs = words(&field.docs);
                    if !docs.is_empty() {
                        let _ = writeln!(text, "    \"\"\"{docs}\"\"\"");
                    }
                }
                text
            }
            TypeDefKind::Enum(of) => {
                let mut text = format!("\n\nclass {class}(Enum):\n{docs}");
                for (number, case) in of.cases.iter().enumerate() {
                    let _ = writeln!(text, "    {} = {number}", snake(&case.name).to_uppercase());
                    let docs = words(&case.docs);
                    if !docs.is_empty() {
                        let _ = writeln!(text, "    \"\"\"{docs}\"\"\"");
                    }
                }
                text
            }
            TypeDefKind::Variant(variant) => {
                let mut text = String::new();
                let mut cases = Vec::new();
                for case in &variant.cases {
                    let case_class = format!("{class}_{}", pascal(&case.name));
                    let value = case.ty.as_ref().map_or("None".to_owned(), |ty| self.in_python(ty));
                    let _ = write!(text, "\n\n@dataclass\nclass {case_class}:\n    value: {value}\n");
                    cases.push(case_class);
                }
                let _ = write!(text, "\n\n{class} = Union[{}]\n", cases.join(", "));
                text
            }
            other => unreachable!("nothing is made of a {} yet", other.as_str()),
        }
    }

    fn python_method(&self, method: &Function) -> String {
        let name = snake(name_of_method(method));
        let params = own_params(method).map(|param| format!(", {}: {}", snake(&param.name), self.in_python(&param.ty)));
        let given = own_params(method)
            .map(|param| snake(&param.name))
            .collect::<Vec<_>>()
            .join(", ");
        let result = method
            .result
            .as_ref()
            .map_or("None".to_owned(), |of| self.in_python(of));
        let params: String = params.collect();
        let docs = words(&method.docs);
        let docs = if docs.is_empty() {
            String::new()
        } else {
            format!("        \"\"\"{docs}\"\"\"\n")
        };
        format!("\n    def {name}(self{params}) -> {result}:\n{docs}        return self._of.{name}({given})\n")
    }

    fn in_python(&self, of: &Type) -> String {
        match of {
            Type::Bool => "bool".to_owned(),
            Type::String => "str".to_owned(),
            Type::F64 => "float".to_owned(),
            Type::U32 | Type::U64 => "int".to_owned(),
            Type::Id(id) => self.compound_in_python(&self.resolve.types[*id]),
            other => unreachable!("nothing is made of {other:?} yet"),
        }
    }

    fn compound_in_python(&self, of: &TypeDef) -> String {
        match &of.kind {
            TypeDefKind::Option(of) => format!("Optional[{}]", self.in_python(of)),
            TypeDefKind::List(of) => format!("List[{}]", self.in_python(of)),
            TypeDefKind::Tuple(of) => {
                let types: Vec<String> = of.types.iter().map(|of| self.in_python(of)).collect();
                format!("Tuple[{}]", types.join(", "))
            }
            // An error is raised.
            TypeDefKind::Result(of) => of.ok.as_ref().map_or("None".to_owned(), |of| self.in_python(of)),
            TypeDefKind::Type(of) => self.in_python(of),
            _ => pascal(name(of)),
        }
    }

    fn typescript_type(&self, of: &TypeDef) -> String {
        let docs = comment("", &of.docs);
        let class = pascal(name(of));
        match &of.kind {
            TypeDefKind::Record(record) => {
                let mut text = format!("\n{docs}export interface {class} {{\n");
                for field in &record.fields {
                    let is_wide = is_address(&field.name)
                        || (name(of) == OF_ADDRESSES && ["first", "end"].contains(&field.name.as_str()));
                    let (ty, absent) = match self.optional(&field.ty) {
                        Some(of) => (self.in_typescript(of, is_wide), "?"),
                        None => (self.in_typescript(&field.ty, is_wide), ""),
                    };
                    let docs = comment("  ", &field.docs);
                    let _ = writeln!(text, "{docs}  {}{absent}: {ty};", camel(&field.name));
                }
                text + "}\n"
            }
            TypeDefKind::Enum(of) => {
                let cases: Vec<String> = of.cases.iter().map(|case| format!("'{}'", case.name)).collect();
                format!("\n{docs}export type {class} = {};\n", cases.join(" | "))
            }
            TypeDefKind::Variant(variant) => {
                let cases = variant.cases.iter().map(|case| {
                    let value = case
                        .ty
                        .as_ref()
                        .map_or("undefined".to_owned(), |ty| self.in_typescript(ty, false));
                    format!("{{ tag: '{}'; val: {value} }}", case.name)
                });
                format!(
                    "\n{docs}export type {class} =\n  | {};\n",
                    cases.collect::<Vec<_>>().join("\n  | ")
                )
            }
            other => unreachable!("nothing is made of a {} yet", other.as_str()),
        }
    }

    fn optional(&self, of: &Type) -> Option<&Type> {
        match of {
            Type::Id(id) => match &self.resolve.types[*id].kind {
                TypeDefKind::Option(of) => Some(of),
                _ => None,
            },
            _ => None,
        }
    }

    fn in_typescript(&self, of: &Type, is_wide: bool) -> String {
        match of {
            Type::Bool => "boolean".to_owned(),
            Type::String => "string".to_owned(),
            Type::U64 if is_wide => "number | bigint".to_owned(),
            Type::F64 | Type::U32 | Type::U64 => "number".to_owned(),
            Type::Id(id) => self.compound_in_typescript(&self.resolve.types[*id], is_wide),
            other => unreachable!("nothing is made of {other:?} yet"),
        }
    }

    fn compound_in_typescript(&self, of: &TypeDef, is_wide: bool) -> String {
        match &of.kind {
            TypeDefKind::Option(of) => format!("{} | undefined", self.in_typescript(of, is_wide)),
            TypeDefKind::List(of) => format!("{}[]", self.in_typescript(of, is_wide)),
            TypeDefKind::Tuple(of) => {
                let types: Vec<String> = of.types.iter().map(|of| self.in_typescript(of, is_wide)).collect();
                format!("[{}]", types.join(", "))
            }
            // An error is thrown.
            TypeDefKind::Result(of) => of
                .ok
                .as_ref()
                .map_or("void".to_owned(), |of| self.in_typescript(of, is_wide)),
            TypeDefKind::Type(of) => self.in_typescript(of, is_wide),
            _ if of.owner == TypeOwner::None => unreachable!("nothing is made of a {} yet", of.kind.as_str()),
            _ => pascal(name(of)),
        }
    }
}

const PYTHON_HEAD: &str = r#""""The types of the plugin interface. Made of `plugins/wit/v1` by `make contract`: mend the interface, and not this file."""

# mypy: disable-error-code=no-any-return

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from importlib import import_module
from typing import Any, List, Optional, Tuple, Union
"#;

const PYTHON_END: &str = r#"

# In the sandbox these are the types that were made when the component was built: what the host gives is of them.
for _interface in (NAMES):
    try:
        _made = import_module(f"wit_world.imports.{_interface}")
    except ImportError:
        break
    for _name, _type in vars(_made).items():
        if isinstance(_type, type) and _name in globals() and _name != "Report":
            globals()[_name] = _type
"#;

const TYPESCRIPT_HEAD: &str = "\
// The types of the plugin interface, as plugins in JavaScript and TypeScript meet them. Made of `plugins/wit/v1` by
// `make contract`: mend the interface, and not this file.
//
// Numbers are numbers. Only an address may be above 2^53, and is a bigint there.
";

fn own_params(function: &Function) -> impl Iterator<Item = &wit_parser::Param> {
    function.params.iter().filter(|param| param.name != "self")
}

fn name_of_method(function: &Function) -> &str {
    function.name.rsplit('.').next().unwrap_or(&function.name)
}

fn name(of: &TypeDef) -> &str {
    of.name.as_deref().unwrap_or_default()
}

fn is_address(name: &str) -> bool {
    ADDRESSES.contains(&name)
}

fn words(docs: &Docs) -> String {
    let words = docs.contents.iter().flat_map(|text| text.split_whitespace());
    words.collect::<Vec<_>>().join(" ")
}

fn comment(indent: &str, docs: &Docs) -> String {
    let words = words(docs);
    if words.is_empty() {
        words
    } else {
        format!("{indent}/** {words} */\n")
    }
}

fn snake(name: &str) -> String {
    name.replace('-', "_")
}

fn pascal(name: &str) -> String {
    name.split('-').map(capitalised).collect()
}

fn camel(name: &str) -> String {
    let mut parts = name.split('-');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + &capitalised(part))
}

fn capitalised(word: &str) -> String {
    let mut letters = word.chars();
    letters
        .next()
        .map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
