//! Names of frames without what differs between machines, builds and edits.

use whycrash_frames::Owner;

use crate::model::{Frame, FrameKind};
use crate::readers::text::regex;
use crate::waits::names;

/// Longest part of a key.
const PART_CHARS: usize = 200;

/// The innermost frames that mean something, as parts of a key; where none does, the one that leads.
pub(super) fn meaningful(stack: &[Frame], count: usize) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    for part in interesting(stack).map(part) {
        // A recursion is one part, however deep.
        if parts.len() < count && parts.last() != Some(&part) {
            parts.push(part);
        }
    }
    if parts.is_empty() {
        parts.extend(lead(stack).map(part));
    }
    parts
}

/// The innermost frames of the program itself: no library's and not the standard library's.
pub(super) fn own(stack: &[Frame], count: usize) -> Vec<String> {
    let own = interrupted(stack)
        .iter()
        .filter(|frame| whycrash_frames::owner(&names(frame)) == Owner::Program);
    own.map(part).take(count).collect()
}

/// The frame that people should look at first: the program's innermost, else a library's.
pub fn lead(stack: &[Frame]) -> Option<&Frame> {
    let stack = interrupted(stack);
    stack.get(whycrash_frames::lead(stack.iter().map(names))?)
}

/// Frames that are not machinery, innermost first.
pub(super) fn interesting(stack: &[Frame]) -> impl Iterator<Item = &Frame> {
    interrupted(stack)
        .iter()
        .filter(|frame| whycrash_frames::owner(&names(frame)) != Owner::Machinery)
}

/// A stack without what a signal handler put on top of it.
pub(super) fn interrupted(stack: &[Frame]) -> &[Frame] {
    let handler = stack.iter().position(|frame| frame.signal).unwrap_or(0);
    stack.get(handler..).unwrap_or_default()
}

/// Whose a frame is.
pub(super) fn owner(frame: &Frame) -> Owner {
    whycrash_frames::owner(&names(frame))
}

/// A frame from its text in a memory snapshot: `function (file:line)`, or the function alone.
pub(super) fn of_snapshot(text: &str) -> Frame {
    let placed = text
        .strip_suffix(')')
        .and_then(|text| text.rsplit_once(" ("))
        .filter(|(_, place)| !place.contains(['(', ')', ' ']));
    let (function, place) = placed.map_or((text, None), |(function, place)| (function, Some(place)));
    let (file, line) = match place.and_then(|place| place.rsplit_once(':')) {
        Some((file, line)) => (Some(file), line.parse().ok()),
        None => (place, None),
    };
    let python = file.is_some_and(|file| file.ends_with(".py") || file.starts_with('<'));
    Frame {
        kind: if python { FrameKind::Python } else { FrameKind::Native },
        function: Some(function.to_owned()),
        file: file.map(str::to_owned),
        line,
        ..Frame::default()
    }
}

fn part(frame: &Frame) -> String {
    let part = match (&frame.function, frame.kind) {
        (Some(function), FrameKind::Python) => {
            format!("{function} ({})", python_file(frame.file.as_deref().unwrap_or("?")))
        }
        (Some(function), _) => normalized_function(function),
        (None, _) => format!("{}!?", frame.module.as_deref().map(module_name).unwrap_or_default()),
    };
    part.chars().take(PART_CHARS).collect()
}

/// A file by what is left when the place of installation is taken away.
fn python_file(path: &str) -> &str {
    for marker in ["/site-packages/", "/dist-packages/"] {
        if let Some((_, rest)) = path.rsplit_once(marker) {
            return rest;
        }
    }
    if let Some(found) = regex!(r"/lib/python3\.\d+/").find(path) {
        return path.get(found.end()..).unwrap_or(path);
    }
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}

/// `libcuda.so` of `/usr/lib/libcuda.so.570.133.20`.
pub(super) fn module_name(path: &str) -> String {
    let name = path.rsplit('/').next().unwrap_or(path);
    regex!(r"(\.so)[.\d]*$").replace(name, "$1").into_owned()
}

/// A demangled function without template arguments, parameters, hashes and clone suffixes.
pub fn normalized_function(function: &str) -> String {
    let bare = regex!(r"::h[0-9a-f]{16}$|\[[0-9a-f]{16}\]| ?\[clone [^\]]*\]|\.(?:constprop|isra|part|cold|llvm)[.\d]*|\[abi:\w+\]|@+[A-Z][\w.]+$")
        .replace_all(function, "");
    let name = without_brackets(&bare);
    let name = name.trim_end_matches(" const").trim();
    name.strip_prefix("void ").unwrap_or(name).to_owned()
}

/// A demangled function without its parameters, for people to read: `trainer::SumReducer<float>::reduce`.
pub fn plain_function(function: &str) -> String {
    let name = regex!(r"::h[0-9a-f]{16}$|\[[0-9a-f]{16}\]").replace_all(function, "");
    let mut depth = 0_i32;
    for (at, c) in name.char_indices() {
        let (before, rest) = name.split_at(at);
        match c {
            '<' | '>' if is_operator_name(before) => {}
            '(' if before.ends_with("operator") => {}
            '<' | '{' => depth += 1,
            '>' | '}' => depth -= 1,
            '(' if depth <= 0 && at > 0 && !rest.starts_with("(anonymous namespace)") => {
                return before.trim_start_matches("void ").to_owned();
            }
            _ => {}
        }
    }
    name.into_owned()
}

/// True when what follows is still part of the name of an operator, such as `operator<<`.
fn is_operator_name(before: &str) -> bool {
    let symbols = before.rsplit_once("operator").map(|(_, symbols)| symbols);
    symbols
        .is_some_and(|symbols| symbols.is_empty() || symbols.chars().all(|c| "<>=-".contains(c)) && symbols.len() < 3)
}

/// Drops everything in `<…>` and `(…)`, but keeps names that are made of them: `(anonymous namespace)`, `operator<`,
/// `operator()`, `<impl …>` at the start of a Rust path.
fn without_brackets(function: &str) -> String {
    let function = function.replace("(anonymous namespace)", "{anonymous}");
    let mut kept = String::with_capacity(function.len());
    let mut depth = 0_usize;
    let mut rest = function.as_str();
    while let Some(c) = rest.chars().next() {
        if depth == 0
            && let Some(operator) = operator_name(rest, &kept)
        {
            kept.push_str(operator);
            rest = rest.get(operator.len()..).unwrap_or_default();
            continue;
        }
        match c {
            '<' | '(' => depth += 1,
            '>' | ')' => depth = depth.saturating_sub(1),
            _ if depth == 0 => kept.push(c),
            _ => {}
        }
        rest = rest.get(c.len_utf8()..).unwrap_or_default();
    }
    if kept.trim_matches([':', ' ']).is_empty() {
        function
    } else {
        kept
    }
}

fn operator_name<'a>(rest: &'a str, kept: &str) -> Option<&'a str> {
    let after_word = kept.ends_with(|c: char| c.is_alphanumeric() || c == '_');
    let symbols = rest.strip_prefix("operator").filter(|_| !after_word)?;
    let known = ["()", "<=>", "<<=", ">>=", "<<", ">>", "<=", ">=", "->*", "->", "<", ">"];
    let symbol = known.iter().find(|symbol| symbols.starts_with(**symbol))?;
    rest.get(..8 + symbol.len())
}

/// A message without numbers, addresses, paths and quoted values.
pub(super) fn normalized_message(message: &str) -> String {
    let first = message.lines().next().unwrap_or_default();
    let bare = regex!(r#"0x[0-9a-fA-F]+|"[^"]*"|'[^']*'|/[\w./+-]+|\d+(?:\.\d+)?"#).replace_all(first, "?");
    bare.chars().take(PART_CHARS).collect()
}
