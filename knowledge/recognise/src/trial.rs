//! Why a table says nothing: each of its tests, held against an event and what surrounds it.

use serde_json::Value;

use crate::condition::{self, Caught, Condition};
use crate::frame::Sought;
use crate::rule::{Happened, Rule, Shape, Surroundings, at};

/// Letters of a value that are told.
const TOLD: usize = 200;

/// One test of a table, held against an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trial {
    /// The member that asks, such as `where.message`.
    pub member: String,
    /// What it asks for, in words.
    pub wanted: String,
    /// What there is; nothing where there is no value.
    pub found: Option<String>,
    /// Whether that is what is asked for.
    pub holds: bool,
}

impl Rule {
    /// All tests of the table, held against an event of its kind. It is what the table looks for where all of them hold.
    pub fn trials(&self, event: &Happened, around: &impl Surroundings) -> Vec<Trial> {
        let mut trials = vec![Trial {
            member: "primary".to_owned(),
            wanted: "what the process did not survive".to_owned(),
            found: Some(
                if event.survived {
                    "the process went on"
                } else {
                    "it did not go on"
                }
                .to_owned(),
            ),
            holds: !event.survived,
        }];
        if self.primary {
            trials.push(Trial {
                member: "primary".to_owned(),
                wanted: "no consequence of another event; with `primary = false` these count too".to_owned(),
                found: Some(
                    if event.primary {
                        "it is none"
                    } else {
                        "it is a consequence"
                    }
                    .to_owned(),
                ),
                holds: event.primary,
            });
        }
        trials.extend(of_shape(&self.shape, event));
        let context = self.context.iter();
        trials.extend(context.map(|(path, asked)| of_value("context", path, asked, around.context(path))));
        let facts = self.facts.iter();
        trials.extend(facts.map(|(path, asked)| of_value("facts", path, asked, around.fact(path))));
        trials.extend(self.with.iter().map(|shape| of_other("with", shape, around, true)));
        trials.extend(
            self.without
                .iter()
                .map(|shape| of_other("without", shape, around, false)),
        );
        if !self.frames.is_empty() || !self.without_frames.is_empty() {
            let stack = around.stack(event);
            let found = || Some(format!("a stack of {} frames", stack.len()));
            let of_frame = |member: &str, sought: &Sought, is_wanted: bool| Trial {
                member: member.to_owned(),
                wanted: sought.in_words(),
                found: found(),
                holds: sought.find(&stack, &mut Caught::new()).is_some() == is_wanted,
            };
            trials.extend(self.frames.iter().map(|sought| of_frame("frames", sought, true)));
            let without = self.without_frames.iter();
            trials.extend(without.map(|sought| of_frame("without_frames", sought, false)));
        }
        trials
    }
}

fn of_shape(shape: &Shape, event: &Happened) -> Vec<Trial> {
    let text = shape.text.iter().map(|pattern| Trial {
        member: "text".to_owned(),
        wanted: format!("what matches '{}'", pattern.pattern()),
        found: Some(short(&event.text)),
        holds: pattern.is_in(&event.text),
    });
    let particulars = shape.particulars.iter();
    text.chain(particulars.map(|(path, asked)| of_value("where", path, asked, at(&event.detail, path).cloned())))
        .collect()
}

fn of_value(member: &str, path: &str, asked: &Condition, value: Option<Value>) -> Trial {
    let value = value.filter(|value| !value.is_null());
    Trial {
        member: format!("{member}.{path}"),
        wanted: asked.in_words(),
        holds: asked.holds(value.as_ref(), &mut Caught::new()),
        found: value.as_ref().map(|value| short(&condition::text(value))),
    }
}

/// Whether another event happened: the one that fits, or how many of its kind there are.
fn of_other(member: &str, shape: &Shape, around: &impl Surroundings, is_wanted: bool) -> Trial {
    let events = around.events();
    let fitting = events.iter().find(|event| shape.fits(event, &mut Caught::new()));
    let of_kind = events.iter().filter(|event| event.kind == shape.kind).count();
    let asked = shape.particulars.iter();
    let asked: Vec<String> = asked
        .map(|(path, asked)| format!("{path} {}", asked.in_words()))
        .chain(shape.text.iter().map(|pattern| format!("text '{}'", pattern.pattern())))
        .collect();
    Trial {
        member: member.to_owned(),
        wanted: format!(
            "{}{} event: {}",
            if is_wanted { "" } else { "no " },
            shape.kind,
            asked.join(", ")
        ),
        found: Some(match fitting {
            Some(event) => short(&event.text),
            None => format!("{of_kind} of this kind, none of which is like that"),
        }),
        holds: fitting.is_some() == is_wanted,
    }
}

/// The first line of a text, as far as it is worth telling.
fn short(text: &str) -> String {
    let line = text.trim().lines().next().unwrap_or_default();
    match line.char_indices().nth(TOLD) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}
