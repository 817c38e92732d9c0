//! What the kernel does with a core dump: core(5).

use std::path::{Path, PathBuf};

use super::host;
use crate::commands::core_handler;

/// Where a core dump goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Destination {
    /// A file by this pattern; a relative one starts where the process was working.
    File(String),
    /// A program reads it from a pipe.
    Program(Handler),
}

/// Programs that keep core dumps, as far as we know how to get one back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Handler {
    /// `systemd-coredump`.
    Systemd,
    /// Ubuntu's `apport`.
    Apport,
    /// `whycrash core-handler`.
    Whycrash(OwnHandler),
    /// Something else, by its command line.
    Other(String),
}

/// `whycrash core-handler`, as a pattern has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnHandler {
    /// The program.
    pub program: PathBuf,
    /// The folder with its users' folders of core dumps.
    pub store: PathBuf,
    /// Whether the kernel tells it what this version of the program asks for.
    pub is_current: bool,
}

impl Destination {
    /// What this machine is set to; none when the kernel does not tell.
    pub fn of_this_machine() -> Option<Self> {
        let pattern = host::read("/proc/sys/kernel/core_pattern")?;
        let uses_pid = host::read("/proc/sys/kernel/core_uses_pid").is_some_and(|value| value != "0");
        Some(Self::parse(&pattern, uses_pid))
    }

    /// Whether the kernel would remove what is there already, such as an earlier core dump, to dump a process that works
    /// here.
    pub fn is_taken(&self) -> bool {
        match self {
            Self::File(pattern) => !pattern.contains('%') && Path::new(pattern).symlink_metadata().is_ok(),
            Self::Program(_) => false,
        }
    }

    fn parse(pattern: &str, uses_pid: bool) -> Self {
        match pattern.strip_prefix('|') {
            Some(command) => Self::Program(Handler::parse(command)),
            // The kernel adds the number by itself to a pattern that lacks it.
            None if uses_pid && !pattern.contains("%p") => Self::File(format!("{pattern}.%p")),
            None => Self::File(pattern.to_owned()),
        }
    }
}

impl Handler {
    fn parse(command: &str) -> Self {
        let words: Vec<&str> = command.split_whitespace().collect();
        let program = words
            .first()
            .and_then(|path| path.rsplit('/').next())
            .unwrap_or_default();
        match program {
            "systemd-coredump" => Self::Systemd,
            "apport" => Self::Apport,
            "whycrash" if words.contains(&"core-handler") => {
                let store = words.iter().skip_while(|word| **word != "--store").nth(1);
                Self::Whycrash(OwnHandler {
                    program: words.first().copied().unwrap_or_default().into(),
                    store: store.copied().unwrap_or(core_handler::STORE).into(),
                    is_current: command.trim_end().ends_with(core_handler::PATTERN),
                })
            }
            _ => Self::Other(command.to_owned()),
        }
    }
}

/// Whether a file name could come from a pattern, whatever its specifiers stand for, except the process: where the
/// pattern has `%p`, the name must have the number of one of `processes`.
pub fn matches(pattern: &str, name: &str, processes: &dyn Fn(u32) -> bool) -> bool {
    let Some((literal, specifier, rest)) = next_specifier(pattern) else {
        return pattern.replace("%%", "%") == name;
    };
    let Some(name) = name.strip_prefix(&*literal) else {
        return false;
    };
    if specifier == 'p' {
        let digits = name.bytes().take_while(u8::is_ascii_digit).count();
        let known = name
            .get(..digits)
            .and_then(|digits| digits.parse().ok())
            .is_some_and(processes);
        return known && matches(rest, name.get(digits..).unwrap_or_default(), processes);
    }
    name.char_indices()
        .map(|(at, _)| at)
        .chain([name.len()])
        .any(|at| matches(rest, name.get(at..).unwrap_or_default(), processes))
}

/// What stands before the first specifier, the specifier, and what comes after it. A lone `%` at the end is dropped
/// by the kernel.
fn next_specifier(pattern: &str) -> Option<(String, char, &str)> {
    let mut literal = String::new();
    let mut rest = pattern.chars();
    while let Some(character) = rest.next() {
        match (character, rest.clone().next()) {
            ('%', Some('%')) => {
                rest.next();
                literal.push('%');
            }
            ('%', Some(specifier)) => {
                rest.next();
                return Some((literal, specifier, rest.as_str()));
            }
            ('%', None) => {}
            (other, _) => literal.push(other),
        }
    }
    None
}

/// The folder part and the file name part of a file pattern, seen from `folder`. A folder part with specifiers
/// stays as it is and will not be found.
pub fn split(pattern: &str, folder: &Path) -> (PathBuf, String) {
    match pattern.rsplit_once('/') {
        Some((inside, name)) => (
            folder.join(if inside.is_empty() { "/" } else { inside }),
            name.to_owned(),
        ),
        None => (folder.to_owned(), pattern.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::{Destination, Handler, OwnHandler, matches};

    #[test]
    fn names_match_the_patterns_they_come_from() {
        let cases = [
            ("core", "core", true),
            ("core", "core.1", false),
            ("core.%p", "core.4711", true),
            ("core.%p", "core.4712", false),
            ("core.%p", "core.", false),
            ("core.%e.%p.%t", "core.pt_main_thread.4711.1700000000", true),
            ("core.%e.%p.%t", "core.pt_main_thread.12.1700000000", false),
            ("%h-%%-%P", "node1-%-9", true),
            ("core.%E", "core.!usr!bin!python3.12", true),
        ];
        for (pattern, name, expected) in cases {
            assert_eq!(matches(pattern, name, &|pid| pid == 4711), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn handlers_are_told_apart() {
        let cases = [
            ("core", true, Destination::File("core.%p".into())),
            ("core", false, Destination::File("core".into())),
            ("/var/core/%e.%p", true, Destination::File("/var/core/%e.%p".into())),
            (
                "|/usr/lib/systemd/systemd-coredump %P %u",
                false,
                Destination::Program(Handler::Systemd),
            ),
            (
                "|/usr/share/apport/apport -p%p",
                false,
                Destination::Program(Handler::Apport),
            ),
            (
                "|/usr/bin/whycrash core-handler --store /srv/cores %P",
                false,
                Destination::Program(Handler::Whycrash(OwnHandler {
                    program: "/usr/bin/whycrash".into(),
                    store: "/srv/cores".into(),
                    is_current: false,
                })),
            ),
            (
                "|/usr/bin/whycrash core-handler %P %u %g %d %t -- %e",
                false,
                Destination::Program(Handler::Whycrash(OwnHandler {
                    program: "/usr/bin/whycrash".into(),
                    store: "/var/lib/whycrash/cores".into(),
                    is_current: true,
                })),
            ),
            (
                "|/bin/false",
                false,
                Destination::Program(Handler::Other("/bin/false".into())),
            ),
        ];
        for (pattern, uses_pid, expected) in cases {
            assert_eq!(Destination::parse(pattern, uses_pid), expected, "{pattern}");
        }
    }
}
