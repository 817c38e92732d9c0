//! What is said in the same words whoever says it.
//!
//! A full disk, a lost peer or a wrong shape has one wording, and reaches a log as the message of a Python exception, of
//! a C++ exception or a Rust panic that ended the process, or as an error of a logger. Tables are written for the first
//! of these; the others are shown to them as exceptions too. Exceptions of the C++ standard library are not: whoever
//! throws those says what he likes, and that nobody caught it is then what is certain.

use serde_json::{Value, json};

use crate::rule::Happened;

/// Kinds of events that may say what an exception says.
pub const SAYING: [&str; 2] = ["native-abort", "last-words"];

/// An event as the exception that it would be in Python; nothing for those that say nothing of their own.
pub fn as_exception(event: &Happened) -> Option<Happened> {
    let part = |name: &str| event.detail.get(name).and_then(Value::as_str).unwrap_or_default();
    let exception = match (event.kind.as_str(), part("family")) {
        ("native-abort", "cpp-exception") => translated(part("exception"))?,
        ("native-abort", "rust-panic") if part("message").contains("Os { code: ") => "OSError",
        ("native-abort", "glog-fatal" | "go-panic" | "rust-panic") | ("last-words", "error") => "",
        _ => return None,
    };
    let message = part("message");
    let (exception, message) = match (event.kind.as_str(), named(message)) {
        ("last-words", Some(named)) => named,
        _ => (exception, message),
    };
    (!message.is_empty()).then(|| Happened {
        kind: "python-exception".to_owned(),
        text: event.text.clone(),
        detail: json!({ "exception": exception, "message": message, "thread": event.detail.get("thread") }),
        artifact: event.artifact.clone(),
        primary: event.primary,
        survived: event.survived,
        ..Happened::default()
    })
}

/// The exception that a logger names in what it says, with its message:
/// `failed to load 'tokenizer': ModuleNotFoundError: No module named 'x'`.
fn named(message: &str) -> Option<(&str, &str)> {
    let mut rest = message;
    loop {
        let (word, behind) = rest.split_once(": ")?;
        let name = word.rsplit(' ').next().unwrap_or(word);
        let is_name = |letter: char| letter.is_ascii_alphanumeric() || "._".contains(letter);
        let is_exception = name.ends_with("Error") || name.ends_with("Exception");
        if is_exception && name.len() > "Error".len() && name.chars().all(is_name) {
            return Some((name, behind));
        }
        rest = behind;
    }
}

/// What an exception of a C++ library becomes where its binding passes it on to Python.
fn translated(exception: &str) -> Option<&'static str> {
    let (namespace, _) = exception.split_once("::")?;
    Some(match exception {
        "c10::ValueError" => "ValueError",
        "c10::IndexError" => "IndexError",
        "c10::DistBackendError" => "torch.distributed.DistBackendError",
        _ if namespace == "std" => return None,
        _ => "RuntimeError",
    })
}
