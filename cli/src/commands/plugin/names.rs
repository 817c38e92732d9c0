//! Names that a new plugin can not have.

use anyhow::bail;
use whycrash_plugin_host::{Diagnoser, Settings};

use super::project::Language;

/// Names that are taken where something is built or kept, each with the languages for which that is so (none for all), and
/// whose it is.
const TAKEN: &[(&[&str], &[Language], &str)] = &[
    (
        &["whycrash-plugin", "whycrash-frames"],
        &[Language::Rust],
        "the name of a crate that every plugin in Rust is built of",
    ),
    (
        &["whycrash", "built-in", "offered"],
        &[],
        "a name that whycrash has for itself",
    ),
    (
        &["con", "prn", "aux", "nul"],
        &[],
        "the name of a device on Windows, where no file may be called so",
    ),
    (
        &[
            "as",
            "async",
            "await",
            "break",
            "const",
            "continue",
            "crate",
            "dyn",
            "else",
            "enum",
            "extern",
            "false",
            "fn",
            "for",
            "gen",
            "if",
            "impl",
            "in",
            "let",
            "loop",
            "match",
            "mod",
            "move",
            "mut",
            "pub",
            "ref",
            "return",
            "self",
            "static",
            "struct",
            "super",
            "trait",
            "true",
            "type",
            "unsafe",
            "use",
            "where",
            "while",
            "test",
            "std",
            "core",
            "alloc",
            "proc-macro",
        ],
        &[Language::Rust],
        "a word of Rust's, which no crate can be imported by",
    ),
    (
        &[
            "http",
            "https",
            "fs",
            "path",
            "os",
            "util",
            "events",
            "stream",
            "crypto",
            "node-modules",
        ],
        &[Language::Js, Language::Ts],
        "the name of a module of Node's, which no package may have",
    ),
];

/// Refuses a name that a new plugin in this language can not have.
pub fn check(name: &str, language: Language) -> anyhow::Result<()> {
    let is_taken = |of: &[Language]| of.is_empty() || of.contains(&language);
    let taken = TAKEN
        .iter()
        .find(|(names, of, _)| names.contains(&name) && is_taken(of));
    if let Some((_, of, whose)) = taken {
        let in_language = if of.is_empty() { "" } else { " in this language" };
        bail!("a plugin{in_language} can not be called {name}, {whose}: take another, such as team-{name}");
    }
    let built_in = Diagnoser::new(Settings::default())?.plugins();
    if built_in.iter().any(|plugin| plugin.name == name) {
        bail!(
            "a plugin can not be called {name}, the name of a built-in one, which every server and command line has: take \
             another, such as team-{name}"
        );
    }
    Ok(())
}
