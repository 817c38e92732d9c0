//! The line of the program's own code at which something failed.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use whycrash_frames::Owner;

use super::frames;
use super::subject::Subject;
use crate::Evidence;
use crate::model::{Event, EventPayload, Frame, FrameKind, Thread, ThreadId};

/// A line of the program's own code, with its text where somebody quotes it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct CodeLine {
    /// Source file, as the stack names it.
    pub file: String,
    /// The line in it, counted from 1.
    pub line: u32,
    /// The function.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
    /// The line's text, where an artifact quotes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
}

/// The innermost line of the program itself on the stack of the failure: of the stacks that `cited` events and threads
/// (by artifact and id) have, else of the one that the report is about, else of a thread that crashed. None where no stack
/// has a frame of the program with a line.
pub fn code_line(evidence: &Evidence, events: &[usize], threads: &[(&str, &ThreadId)]) -> Option<CodeLine> {
    let of_cited_threads = threads
        .iter()
        .filter_map(|(artifact, id)| by_id(evidence, id, artifact));
    let cited = events
        .iter()
        .filter_map(|number| evidence.timeline.iter().find(|event| event.event == *number));
    let of_cited_events = cited
        .flat_map(|event| chain(event, evidence))
        .filter_map(|event| stack_of(event, evidence));
    let subject = Subject::of(evidence);
    let crashed = || evidence.threads.iter().filter(|thread| thread.crashed);
    of_cited_threads
        .chain(of_cited_events)
        .find_map(|thread| own_line(&thread.frames))
        .or_else(|| own_line(&subject_stack(&subject)))
        .or_else(|| crashed().find_map(|thread| own_line(&thread.frames)))
        .or_else(|| said_line(&subject))
}

/// An event, and the exceptions that it was raised for or that were brought with it.
fn chain<'e>(event: &'e Event, evidence: &'e Evidence) -> impl Iterator<Item = &'e Event> {
    let is_of_chain = move |other: &&Event| {
        let linked = other.echo_of == Some(event.event) || event.echo_of == Some(other.event);
        linked && other.artifact == event.artifact && matches!(other.payload, EventPayload::PythonException(_))
    };
    std::iter::once(event).chain(evidence.timeline.iter().filter(is_of_chain))
}

fn stack_of<'e>(event: &Event, evidence: &'e Evidence) -> Option<&'e Thread> {
    let id = match &event.payload {
        EventPayload::PythonException(exception) => exception.thread.as_ref(),
        EventPayload::NativeAbort(abort) => abort.thread.as_ref(),
        EventPayload::Sanitizer(report) => report.stack.as_ref(),
        EventPayload::Hang(hang) => hang.thread.as_ref(),
        _ => None,
    }?;
    by_id(evidence, id, &event.artifact).or_else(|| evidence.threads.iter().find(|thread| thread.id == *id))
}

fn by_id<'e>(evidence: &'e Evidence, id: &ThreadId, artifact: &str) -> Option<&'e Thread> {
    evidence
        .threads
        .iter()
        .find(|thread| thread.id == *id && thread.artifact == artifact)
}

/// The stack of what a report is about; of ranks that did not do the same, that of the call.
fn subject_stack(subject: &Subject<'_>) -> Vec<Frame> {
    match subject {
        Subject::Divergence(verdict) => verdict.frames.iter().map(|text| frames::of_snapshot(text)).collect(),
        _ => subject.stack().to_vec(),
    }
}

/// The innermost frame of the program that has a line; one that was typed in is only taken where no file is.
pub(super) fn own_line(stack: &[Frame]) -> Option<CodeLine> {
    let own = || {
        frames::interrupted(stack)
            .iter()
            .filter(|frame| frames::owner(frame) == Owner::Program)
            .filter_map(line_of)
    };
    let in_file = own().find(|line| !line.file.starts_with('<'));
    in_file.or_else(|| own().next())
}

fn line_of(frame: &Frame) -> Option<CodeLine> {
    let file = frame.file.clone().filter(|file| is_source(file))?;
    Some(CodeLine {
        file,
        line: frame.line.filter(|line| *line > 0)?,
        function: frame.function.clone(),
        source: frame.source.clone(),
    })
}

/// Where a program says itself in which line it gave up.
fn said_line(subject: &Subject<'_>) -> Option<CodeLine> {
    let Subject::Abort { abort, .. } = subject else {
        return None;
    };
    let frame = Frame {
        kind: FrameKind::Native,
        file: abort.file.clone(),
        line: abort.line,
        function: abort.function.clone(),
        ..Frame::default()
    };
    own_line(&[frame])
}

/// Whether a file is one that people edit: no script that an installer wrote to start a program with, and no code that a
/// library made up.
fn is_source(file: &str) -> bool {
    /// What interpreters call code that has no file.
    const TYPED: [&str; 4] = ["<string>", "<stdin>", "<ipython-input", "<cell"];
    let path = file.replace('\\', "/");
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", &path));
    let is_launcher = !name.contains('.')
        && ["bin", "Scripts"]
            .iter()
            .any(|end| folder.rsplit('/').next() == Some(end));
    let is_of_windows = path.contains("/site-packages/") || is_standard_library_of_windows(&path);
    let is_made_up = file.starts_with('<') && !TYPED.iter().any(|typed| file.starts_with(typed));
    !(is_launcher || is_of_windows || is_made_up)
}

/// `C:/Python312/Lib/runpy.py`: a library of a folder that is named after a version.
fn is_standard_library_of_windows(path: &str) -> bool {
    let lower = path.to_ascii_lowercase();
    lower.get(1..3) == Some(":/")
        && lower
            .split_once("/lib/")
            .is_some_and(|(home, _)| home.contains("python") || home.contains("conda"))
}

/// The event that a report is known by; of an error that an exception carries, the exception.
pub fn failure_event(evidence: &Evidence) -> Option<&Event> {
    match Subject::of(evidence) {
        Subject::Event { event, carrier, .. } => Some(carrier.unwrap_or(event)),
        _ => None,
    }
}
