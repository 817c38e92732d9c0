//! Jupyter notebooks (nbformat 3 and 4): what their cells printed and raised is read as the text that people see.
//!
//! The text is made of the code cells in the order in which they ran: a line that names the cell, its source, which only
//! is shown, and its outputs. What a cell is expected to raise (its tag `raises-exception`), and what is displayed as a
//! result, did not fail.

use serde_json::Value;

use super::rendered::{Rendered, as_shown};
use super::{Input, Reading, json};
use crate::model::{Event, EventPayload, LastWords, Place, PythonException};
use crate::{Limits, Problem};

/// True for JSON that starts like a notebook.
pub fn is_notebook(head: &[u8]) -> bool {
    let has = |name: &str| memchr::memmem::find(head, name.as_bytes()).is_some();
    head.starts_with(b"{")
        && (has("\"cells\"") || has("\"worksheets\""))
        && (has("\"cell_type\"") || has("\"nbformat\""))
}

/// The text of a notebook; none where it does not parse.
pub(super) fn rendered(input: &Input, limits: &Limits) -> Option<Rendered> {
    Notebook::of(input, limits).ok().map(|notebook| notebook.text)
}

/// Reads a notebook.
pub fn read(input: &Input, limits: &Limits) -> Reading {
    let mut notebook = match Notebook::of(input, limits) {
        Ok(notebook) => notebook,
        Err(problem) => return Reading::problem(problem),
    };
    let mut reading = notebook.text.read(input.name(), limits);
    for failure in notebook.failures {
        failure.add_to(&mut reading, input.name());
    }
    reading
}

struct Notebook {
    text: Rendered,
    failures: Vec<Failure>,
}

/// A cell that failed, as the notebook itself says beside what was printed of it.
struct Failure {
    lines: [u64; 2],
    /// Class and message of what was raised.
    raised: Option<[String; 2]>,
    /// What the notebook says of it.
    said: String,
}

/// Failures of one notebook that are told without a traceback.
const FAILURES: usize = 256;

impl Notebook {
    fn of(input: &Input, limits: &Limits) -> Result<Self, Problem> {
        let document: Value = json::read(input, limits).map_err(|problem| match problem.code.as_str() {
            "bad-json" => {
                let message = format!("the notebook can not be read: {}", problem.message);
                Problem::new(
                    "damaged",
                    format!("{message}; save it again, or hand over the whole file"),
                )
            }
            _ => problem,
        })?;
        let mut notebook = Self {
            text: Rendered::new(limits),
            failures: Vec::new(),
        };
        for cell in in_order(&document) {
            notebook.add(&cell);
        }
        Ok(notebook)
    }

    fn add(&mut self, cell: &Cell) {
        let name = cell.name();
        self.text.section(name.clone());
        self.text.show(as_shown(&joined(cell.source)).trim_end_matches('\n'));
        for output in cell.outputs {
            self.add_output(cell, output);
        }
        if cell.never_ended() {
            let said = format!("{name} began and never ended: its kernel died, or the notebook was saved while it ran");
            let lines = [self.text.last_line() + 1; 2];
            self.text.show(&said);
            self.fail(lines, None, said);
        }
    }

    fn add_output(&mut self, cell: &Cell, output: &Value) {
        let member = |name: &str| output.get(name);
        let kind = member("output_type").and_then(Value::as_str).unwrap_or_default();
        match kind {
            "stream" => {
                let stream = member("name").or(member("stream")).and_then(Value::as_str);
                self.text.show(&format!("# %% {}", stream.unwrap_or("stdout")));
                self.tell(&joined(member("text")));
            }
            "error" | "pyerr" => {
                self.text.show("# %% error");
                self.add_error(cell, output);
            }
            _ => {
                let shown = member("data")
                    .and_then(|data| data.get("text/plain"))
                    .or(member("text"));
                if shown.is_some() {
                    self.text.show("# %% result");
                    self.text.show(as_shown(&joined(shown)).trim_end_matches('\n'));
                }
            }
        }
    }

    fn add_error(&mut self, cell: &Cell, output: &Value) {
        let word = |name: &str| output.get(name).and_then(Value::as_str).map(as_shown);
        let [name, message] = [word("ename").unwrap_or_default(), word("evalue").unwrap_or_default()];
        let traceback = output.get("traceback").and_then(Value::as_array);
        let parts = traceback.into_iter().flatten().filter_map(Value::as_str);
        let mut printed = parts.collect::<Vec<_>>().join("\n");
        if printed.trim().is_empty() {
            printed = format!("{name}: {message}");
        }
        if cell.may_fail() {
            self.text.show(as_shown(&printed).trim_end_matches('\n'));
            return;
        }
        let lines = self.tell(&printed);
        let is_class = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '.');
        let shown = as_shown(&printed);
        let first = shown.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
        self.fail(lines, is_class.then_some([name, message]), first.trim().to_owned());
    }

    /// Adds an output. The blank line behind it ends what it told.
    fn tell(&mut self, output: &str) -> [u64; 2] {
        let lines = self.text.tell(as_shown(output).trim_end_matches('\n'));
        self.text.tell("");
        lines
    }

    fn fail(&mut self, lines: [u64; 2], raised: Option<[String; 2]>, said: String) {
        let is_shown = lines[1] <= self.text.last_line();
        if is_shown && self.failures.len() < FAILURES {
            self.failures.push(Failure { lines, raised, said });
        }
    }
}

impl Failure {
    /// Adds the failure to what was read, where its traceback did not tell of it.
    fn add_to(self, reading: &mut Reading, artifact: &str) {
        let [first, last] = self.lines;
        let timeline = &mut reading.evidence.timeline;
        let is_inside =
            |event: &Event| matches!(event.at, Some(Place::Line([from, to])) if first <= to && from <= last);
        if timeline
            .iter()
            .any(|event| is_inside(event) && !event.payload.is_complaint())
        {
            return;
        }
        let (payload, text) = match self.raised {
            Some([exception, message]) => {
                let text = format!("{exception}: {}", message.lines().next().unwrap_or_default());
                let raised = PythonException {
                    exception,
                    message,
                    ..PythonException::default()
                };
                (EventPayload::PythonException(raised), text)
            }
            None => {
                let words = LastWords {
                    family: LastWords::ERROR.to_owned(),
                    message: self.said.clone(),
                };
                (EventPayload::LastWords(words), self.said)
            }
        };
        // What was only a line that sounds like a failure is one.
        let complaint = timeline.iter().position(is_inside);
        let event = Event {
            event: complaint.unwrap_or(timeline.len()),
            text,
            artifact: artifact.to_owned(),
            at: Some(Place::Line(self.lines)),
            ..Event::new(payload)
        };
        match complaint.and_then(|place| timeline.get_mut(place)) {
            Some(known) => *known = event,
            None => timeline.push(event),
        }
    }
}

/// A code cell.
struct Cell<'d> {
    /// Its number among all cells, from 1.
    number: usize,
    /// Its number among those that ran.
    ran: Option<u64>,
    source: Option<&'d Value>,
    outputs: &'d [Value],
    metadata: Option<&'d Value>,
}

impl<'d> Cell<'d> {
    fn of(number: usize, cell: &'d Value) -> Option<Self> {
        (cell.get("cell_type")?.as_str()? == "code").then(|| Self {
            number,
            ran: ["execution_count", "prompt_number"]
                .iter()
                .find_map(|name| cell.get(*name)?.as_u64()),
            source: cell.get("source").or(cell.get("input")),
            outputs: json::list(cell, "outputs"),
            metadata: cell.get("metadata"),
        })
    }

    fn name(&self) -> String {
        match self.ran {
            Some(ran) => format!("cell {}, In [{ran}]", self.number),
            None => format!("cell {}", self.number),
        }
    }

    /// Whether it is there to show an exception.
    fn may_fail(&self) -> bool {
        let tags = self.metadata.map(|metadata| json::list(metadata, "tags"));
        tags.is_some_and(|tags| tags.iter().any(|tag| tag == "raises-exception"))
    }

    /// Whether who ran it noted when it began, and no end.
    fn never_ended(&self) -> bool {
        let times = self.metadata.and_then(|metadata| metadata.get("execution"));
        times.is_some_and(|times| {
            times.get("iopub.status.busy").is_some()
                && ["shell.execute_reply", "iopub.status.idle"]
                    .iter()
                    .all(|end| times.get(*end).is_none())
        })
    }
}

/// The code cells in the order in which they ran; those that did not stay behind the one above them.
fn in_order(document: &Value) -> Vec<Cell<'_>> {
    let sheets = json::list(document, "worksheets").iter();
    let cells = json::list(document, "cells");
    let cells = cells.iter().chain(sheets.flat_map(|sheet| json::list(sheet, "cells")));
    let cells = (1..).zip(cells).filter_map(|(number, cell)| Cell::of(number, cell));
    let mut last = 0;
    let mut cells: Vec<(u64, Cell)> = cells
        .map(|cell| {
            last = cell.ran.unwrap_or(last);
            (last, cell)
        })
        .collect();
    cells.sort_by_key(|(ran, _)| *ran);
    cells.into_iter().map(|(_, cell)| cell).collect()
}

/// A text that may be stored as its lines.
fn joined(text: Option<&Value>) -> String {
    match text {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(lines)) => lines.iter().filter_map(Value::as_str).collect(),
        _ => String::new(),
    }
}
