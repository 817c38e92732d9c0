//! Whose a stack frame is, and what a thread waits for.
//!
//! A crash is known by the program's own frame, not by the libraries that it called and not by what stands on every
//! stack: how a process dies, starts, calls and dispatches. Grouping, titles and plugins all ask here, so that they
//! never disagree. Only names decide; nothing is looked up.

mod native;
mod python;
mod waits;

pub use waits::{CALLS, SystemCall, WAITS, Wait, WaitRow, Waiting, blocked_event_loop, wait};

/// Whose a frame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Owner {
    /// Of machinery: says nothing about the defect, whoever wrote the program.
    Machinery,
    /// Of a library that the program uses.
    Library,
    /// Of the program itself.
    Program,
}

/// A frame as far as its names tell.
#[derive(Clone, Copy, Debug, Default)]
pub struct Names<'a> {
    /// A frame of Python code; otherwise of native or GPU code.
    pub python: bool,
    /// The function, demangled or not.
    pub function: Option<&'a str>,
    /// Its source file.
    pub file: Option<&'a str>,
    /// Path or name of the binary.
    pub module: Option<&'a str>,
}

/// Whose a frame with these names is.
pub fn owner(names: &Names) -> Owner {
    if names.python {
        python::owner(names)
    } else {
        native::owner(names)
    }
}

/// The place in a stack, innermost frame first, that people should look at first: the innermost frame of the program,
/// else of a library, else where the program was entered.
pub fn lead<'a>(stack: impl IntoIterator<Item = Names<'a>>) -> Option<usize> {
    let mut library = None;
    let mut entry = None;
    for (index, names) in stack.into_iter().enumerate() {
        match owner(&names) {
            Owner::Program => return Some(index),
            Owner::Library if library.is_none() => library = Some(index),
            Owner::Machinery if names.function == Some(ENTRY) => entry = Some(index),
            _ => {}
        }
    }
    library.or(entry)
}

/// The program's first function: below everything, and worth naming only where there is nothing else.
const ENTRY: &str = "main";

/// The last part of a path.
fn base(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}

/// Whether a path lies where packages and the standard library of a Python are installed.
fn is_installed_python(path: &str) -> bool {
    let standard = ["/lib/python3.", "/lib64/python3."].iter().any(|folder| {
        let rest = path.split_once(folder).map(|(_, rest)| rest);
        rest.and_then(|rest| rest.split_once('/'))
            .is_some_and(|(minor, _)| !minor.is_empty() && minor.bytes().all(|byte| byte.is_ascii_digit()))
    });
    // `C:/Users/me/AppData/Local/Programs/Python/Python311/Lib/json/decoder.py`.
    let of_windows = path.get(1..3) == Some(":/") && path.contains("/Lib/");
    standard
        || of_windows
        || ["/site-packages/", "/dist-packages/"]
            .iter()
            .any(|folder| path.contains(folder))
}
