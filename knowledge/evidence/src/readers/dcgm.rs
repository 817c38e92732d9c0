//! `dcgmi diag -j`: which tests of the machine did not pass, and what NVIDIA says is to be done.
//!
//! Since DCGM 4 each result names the entity it is about and its warnings are objects; before, it named GPUs by
//! `gpu_id` or `gpu_ids`, and its warning was one string. Names and numbers are those of `dcgm_errors.h`.

use serde_json::{Map, Value};

use super::events::{Events, Locator};
use super::json::{list, word};
use super::{Input, Reading, json};
use crate::model::{Diagnostic, Event, EventPayload};
use crate::{Limits, Problem};

/// What marks such a report in the beginning of a JSON text.
const MARKS: [&[u8]; 2] = [b"\"DCGM Diagnostic\"", b"\"DCGM GPU Diagnostic\""];

/// True for JSON that starts like such a report.
pub fn is_report(head: &[u8]) -> bool {
    head.trim_ascii_start().starts_with(b"{") && MARKS.iter().any(|mark| memchr::memmem::find(head, mark).is_some())
}

/// Reads a report. What passed, or was skipped, is no event.
pub fn read(input: &Input, limits: &Limits) -> Reading {
    let (text, torn) = match json::bytes(input, limits) {
        Ok(text) => text,
        Err(problem) => return Reading::problem(problem),
    };
    let members: Map<String, Value> = match json::parse(&text) {
        Ok(members) => members,
        Err(problem) => return Reading::problem(torn.unwrap_or(problem)),
    };
    let mut events = Events::new(input.name(), limits);
    let mut places = Locator::new(&text);
    let report = members.iter().find(|(name, _)| name.starts_with("DCGM "));
    let categories = report.map(|(_, report)| list(report, "test_categories"));
    for category in categories.into_iter().flatten() {
        for test in list(category, "tests") {
            let name = word(test, "name").unwrap_or_default();
            places.line_of(&name);
            for result in list(test, "results") {
                let result = Tested {
                    category: word(category, "category"),
                    test: &name,
                    result,
                };
                result.events(&mut events, &mut places);
            }
        }
    }
    let mut reading = Reading::default();
    if let Some(error) = word(&Value::Object(members.clone()), "runtime_error").filter(|error| !error.is_empty()) {
        let message = format!("the tests did not run to their end: {}", shorten(&error));
        reading.problems.push(Problem::new("diagnostic-not-run", message));
    }
    let (timeline, left_out) = events.finish();
    reading.evidence.timeline = timeline;
    reading.problems.extend(left_out.into_iter().chain(torn));
    reading
}

/// One result of one test.
struct Tested<'a> {
    category: Option<String>,
    test: &'a str,
    result: &'a Value,
}

impl Tested<'_> {
    fn events(&self, events: &mut Events, places: &mut Locator) {
        let status = match word(self.result, "status").unwrap_or_default().to_lowercase().as_str() {
            "fail" => "fail",
            "warn" | "warning" => "warn",
            _ => return,
        };
        let warnings = self.warnings();
        for warning in &warnings {
            let lines = places.line_of(&warning.message);
            self.event(warning, status, lines, events);
        }
        if warnings.is_empty() {
            let lines = places.line_of(self.test);
            self.event(&Warning::default(), status, lines, events);
        }
    }

    fn event(&self, warning: &Warning, status: &str, lines: [u64; 2], events: &mut Events) {
        let (entity, entity_id) = self.entity();
        let check = Diagnostic {
            tool: "dcgm".to_owned(),
            test: self.test.to_owned(),
            category: self.category.clone(),
            status: status.to_owned(),
            entity,
            entity_id,
            error: warning.error,
            family: warning.category.and_then(family).map(str::to_owned),
            action: warning.severity.and_then(action).map(str::to_owned),
            message: warning.message.clone(),
        };
        let of = match (&check.entity, check.entity_id) {
            (Some(entity), Some(id)) => format!(" on {entity} {id}"),
            _ => String::new(),
        };
        let verb = if status == "fail" { "failed" } else { "warned" };
        let text = format!("{} test {verb}{of}: {}", self.test, warning.message);
        let key = format!("{} {status}{of} {:?} {}", self.test, warning.error, warning.message);
        let event = Event {
            text: text.trim_end_matches([':', ' ']).to_owned(),
            // A warning is worth a look, and nothing failed.
            survived: status == "warn",
            ..Event::new(EventPayload::Diagnostic(check))
        };
        events.add(&key, event, lines);
    }

    /// What was tested. A list of GPUs, as before DCGM 4, is about no single one.
    fn entity(&self) -> (Option<String>, Option<u32>) {
        if let Some(entity) = word(self.result, "entity_group") {
            return (Some(entity), number(self.result, "entity_id"));
        }
        let one = number(self.result, "gpu_id").or_else(|| word(self.result, "gpu_ids")?.parse().ok());
        (one.is_some().then(|| "GPU".to_owned()), one)
    }

    fn warnings(&self) -> Vec<Warning> {
        let given = self.result.get("warnings").or_else(|| self.result.get("warning"));
        match given {
            Some(Value::Array(all)) => all.iter().map(Warning::of).collect(),
            Some(one) => vec![Warning::of(one)],
            None => Vec::new(),
        }
    }
}

/// A warning, with its numbers where there are any.
#[derive(Debug, Default)]
struct Warning {
    message: String,
    error: Option<u32>,
    category: Option<u32>,
    severity: Option<u32>,
}

impl Warning {
    fn of(value: &Value) -> Self {
        if let Some(message) = value.as_str() {
            return Self {
                message: message.to_owned(),
                ..Self::default()
            };
        }
        Self {
            message: word(value, "warning").unwrap_or_default(),
            error: number(value, "error_id"),
            category: number(value, "error_category"),
            severity: number(value, "error_severity"),
        }
    }
}

/// `dcgmErrorSeverity_t`.
fn action(severity: u32) -> Option<&'static str> {
    Some(match severity {
        1 => "monitor",
        2 => "isolate",
        4 => "triage",
        5 => "configure",
        6 => "reset",
        _ => return None,
    })
}

/// `dcgmErrorCategory_t`.
fn family(category: u32) -> Option<&'static str> {
    Some(match category {
        1 | 2 => "performance",
        3 | 4 | 7 | 8 => "software",
        5 => "xid",
        6 => "cuda",
        9 => "thermal",
        10 => "memory",
        11 => "nvlink",
        12 => "nvswitch",
        13 => "pcie",
        14 => "power",
        15 => "hardware",
        16 => "internal",
        _ => return None,
    })
}

/// A number; some versions write it as text.
fn number(value: &Value, name: &str) -> Option<u32> {
    let value = value.get(name)?;
    let number = value.as_u64().or_else(|| value.as_str()?.trim().parse().ok())?;
    u32::try_from(number).ok()
}

fn shorten(text: &str) -> &str {
    text.get(..text.floor_char_boundary(400)).unwrap_or_default()
}
