//! A table held against what happened.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::condition::{self, Caught, Condition};
use crate::expression::{self, Expression};
use crate::frame::{self, Framed, Sought};
use crate::glance::Glance;
use crate::line::{self, LINE};
use crate::table::{FramePattern, Pattern, Table};
use crate::test::Test;
use crate::{Flaw, template};

/// Bytes of an explanation, and of a title.
const EXPLANATION: usize = 4 << 10;
const TITLE: usize = 400;

/// An event, as a report tells it.
#[derive(Clone, Debug, Default)]
pub struct Happened {
    /// Its kind.
    pub kind: String,
    /// The line that says it.
    pub text: String,
    /// Its particulars.
    pub detail: Value,
    /// The artifact that tells of it.
    pub artifact: String,
    /// False for a consequence of another event.
    pub primary: bool,
    /// Whether the process went on after it.
    pub survived: bool,
    /// What a glance at it shows, once somebody has looked.
    pub seen: Seen,
}

/// What a glance at an event shows: its words, so that tables which need others are not tried.
#[derive(Clone, Debug, Default)]
pub struct Seen(OnceCell<Glance>);

impl Happened {
    pub(crate) fn glance(&self) -> &Glance {
        self.seen.0.get_or_init(|| Glance::of(&self.text, &self.detail))
    }
}

/// What surrounds an event: the rest of the report.
pub trait Surroundings {
    /// The value at a dotted path into what the collector wrote down.
    fn context(&self, path: &str) -> Option<Value>;

    /// The value at a dotted path into the evidence.
    fn fact(&self, path: &str) -> Option<Value>;

    /// All events, oldest first.
    fn events(&self) -> &[Happened];

    /// Frames of the event's own stack, or where it has none of the crashed thread's, innermost first.
    fn stack(&self, event: &Happened) -> Vec<Framed>;
}

/// What matched, in words.
#[derive(Clone, Debug, PartialEq)]
pub struct Match {
    /// A more exact title than the page's.
    pub title: Option<String>,
    /// Why, about this very crash.
    pub explanation: String,
    /// How sure that is, from 0 to 1.
    pub confidence: f64,
    /// Other events that the table asked for, by their position.
    pub with: Vec<usize>,
    /// Dotted paths into the evidence that it asked for, what the collector wrote down among them.
    pub facts: Vec<String>,
    /// Frames that it asked for, by their position in the stack that it was given.
    pub frames: Vec<usize>,
}

/// What must hold of one event.
#[derive(Clone, Debug)]
pub(crate) struct Shape {
    pub(crate) kind: String,
    pub(crate) text: Option<Expression>,
    pub(crate) particulars: BTreeMap<String, Condition>,
}

/// A table, ready to be held against events.
#[derive(Clone, Debug)]
pub struct Rule {
    pub(crate) shape: Shape,
    pub(crate) primary: bool,
    pub(crate) context: BTreeMap<String, Condition>,
    pub(crate) facts: BTreeMap<String, Condition>,
    pub(crate) with: Vec<Shape>,
    pub(crate) without: Vec<Shape>,
    pub(crate) frames: Vec<Sought>,
    pub(crate) without_frames: Vec<Sought>,
    confidence: f64,
    title: Option<String>,
    explanation: String,
}

impl Shape {
    fn new(kind: &str, text: Option<&str>, particulars: &BTreeMap<String, Test>) -> Result<Self, Flaw> {
        Ok(Self {
            kind: kind.to_owned(),
            text: text.map(Expression::new),
            particulars: conditions("where", particulars)?,
        })
    }

    fn of(pattern: &Pattern) -> Result<Self, Flaw> {
        Self::new(&pattern.kind, pattern.text.as_deref(), &pattern.particulars)
    }

    pub(crate) fn fits(&self, event: &Happened, caught: &mut Caught) -> bool {
        event.kind == self.kind
            && self.particulars.iter().all(|(path, condition)| {
                let value = at(&event.detail, path);
                if let Some(value) = value.filter(|value| !value.is_null()) {
                    caught.insert(path.clone(), condition::text(value));
                }
                condition.holds(value, caught)
            })
            && self
                .text
                .as_ref()
                .is_none_or(|pattern| pattern.catch(&event.text, caught))
    }

    /// Names that have a value wherever it fits.
    fn names(&self) -> impl Iterator<Item = &str> {
        let tested = self
            .particulars
            .iter()
            .filter(|(_, condition)| condition.is_of_a_value());
        let tested = tested.map(|(path, _)| path.as_str());
        let caught = self.particulars.values().flat_map(Condition::groups);
        tested
            .chain(caught)
            .chain(self.text.iter().flat_map(Expression::groups))
    }
}

impl Rule {
    /// A table that is checked, patterns and names too. The flaw says what its author has to change.
    pub fn checked(table: &Table) -> Result<Self, Flaw> {
        check_patterns(table)?;
        let rule = Self::new(table)?;
        rule.check()?;
        Ok(rule)
    }

    /// A table that was checked when its page was read. A pattern that is not understood matches nothing.
    pub fn new(table: &Table) -> Result<Self, Flaw> {
        Ok(Self {
            shape: Shape::new(&table.kind, table.text.as_deref(), &table.particulars)?,
            primary: table.primary,
            context: conditions("context", &table.context)?,
            facts: conditions("facts", &table.facts)?,
            with: each("with", &table.with, Shape::of)?,
            without: each("without", &table.without, Shape::of)?,
            frames: each("frames", &table.frames, Sought::new)?,
            without_frames: each("without_frames", &table.without_frames, Sought::new)?,
            confidence: table.confidence,
            title: table.title.clone(),
            explanation: table.explanation.clone(),
        })
    }

    fn check(&self) -> Result<(), Flaw> {
        if !(0.0..=1.0).contains(&self.confidence) {
            return Err(Flaw::new(&["confidence"], "it must be from 0 to 1"));
        }
        if self.explanation.trim().is_empty() {
            return Err(Flaw::new(
                &["explanation"],
                "it is empty; say why this very crash has the cause",
            ));
        }
        for (key, text, most) in [
            ("explanation", Some(&self.explanation), EXPLANATION),
            ("title", self.title.as_ref(), TITLE),
        ] {
            if text.is_some_and(|text| text.len() > most) {
                return Err(Flaw::new(&[key], format!("it has more than {most} bytes")));
            }
        }
        if self.shape.text.is_none() && self.shape.particulars.is_empty() {
            return Err(Flaw::new(
                &["kind"],
                "a kind alone proves no cause: add `where` or `text`",
            ));
        }
        let known: BTreeSet<&str> = self
            .shape
            .names()
            .chain(self.with.iter().flat_map(Shape::names))
            .chain(self.frames.iter().flat_map(Sought::groups))
            .chain(frame::NAMES.into_iter().filter(|_| !self.frames.is_empty()))
            .collect();
        for (key, template) in [("explanation", Some(&self.explanation)), ("title", self.title.as_ref())] {
            let Some(template) = template else { continue };
            let names = template::names(template).map_err(|flaw| flaw.within(&[key]))?;
            if let Some(name) = names.into_iter().find(|name| !known.contains(name)) {
                let message = format!(
                    "nothing in the table gives `{{{name}}}` a value: name a group of a pattern, or a tested particular"
                );
                return Err(Flaw::new(&[key], message));
            }
        }
        Ok(())
    }

    /// Kind of the event it looks for.
    pub fn kind(&self) -> &str {
        &self.shape.kind
    }

    /// Whether an event of its kind can be the sign it looks for: what was survived never is, and consequences only
    /// where the table says so.
    pub fn considers(&self, event: &Happened) -> bool {
        event.kind == self.shape.kind && !event.survived && (event.primary || !self.primary)
    }

    /// Every kind of event it names, and the particulars it tests of each.
    pub fn mentions(&self) -> impl Iterator<Item = (&str, impl Iterator<Item = &str>)> {
        let shapes = std::iter::once(&self.shape).chain(&self.with).chain(&self.without);
        shapes.map(|shape| (shape.kind.as_str(), shape.particulars.keys().map(String::as_str)))
    }

    /// What matched, if this event is the sign that the table looks for.
    pub fn matches(&self, event: &Happened, around: &impl Surroundings) -> Option<Match> {
        if !self.considers(event) {
            return None;
        }
        let mut caught = Caught::new();
        if !self.shape.fits(event, &mut caught) {
            return None;
        }
        let mut facts = Vec::new();
        for (path, condition) in &self.context {
            condition
                .holds(around.context(path).as_ref(), &mut caught)
                .then_some(())?;
            facts.extend(condition.is_of_a_value().then(|| format!("context.{path}")));
        }
        for (path, condition) in &self.facts {
            condition.holds(around.fact(path).as_ref(), &mut caught).then_some(())?;
            facts.extend(condition.is_of_a_value().then(|| path.clone()));
        }
        let happened =
            |shape: &Shape, caught: &mut Caught| around.events().iter().position(|event| shape.fits(event, caught));
        let with: Option<Vec<usize>> = self.with.iter().map(|shape| happened(shape, &mut caught)).collect();
        let with = with?;
        if self
            .without
            .iter()
            .any(|shape| happened(shape, &mut Caught::new()).is_some())
        {
            return None;
        }
        let frames = self.frames_of(event, around, &mut caught)?;
        Some(Match {
            title: self.title.as_ref().map(|title| template::fill(title, &caught)),
            explanation: template::fill(&self.explanation, &caught),
            confidence: self.confidence,
            with,
            facts,
            frames,
        })
    }

    /// Positions of the frames that it asks for; `None` when one is not there, or one is that must not be.
    fn frames_of(&self, event: &Happened, around: &impl Surroundings, caught: &mut Caught) -> Option<Vec<usize>> {
        if self.frames.is_empty() && self.without_frames.is_empty() {
            return Some(Vec::new());
        }
        let stack = around.stack(event);
        let mut find = |sought: &Sought| sought.find(&stack, caught);
        if self.without_frames.iter().any(|sought| find(sought).is_some()) {
            return None;
        }
        let found: Vec<usize> = self.frames.iter().map(find).collect::<Option<_>>()?;
        if let Some(first) = found.first().and_then(|position| stack.get(*position)) {
            frame::name(first, caught);
        }
        Some(found)
    }
}

/// Compiles every pattern of a table once, to tell which is wrong.
fn check_patterns(table: &Table) -> Result<(), Flaw> {
    check_shape(&table.kind, table.text.as_deref(), &table.particulars)?;
    check_tests("context", &table.context)?;
    check_tests("facts", &table.facts)?;
    let check_event = |pattern: &Pattern| check_shape(&pattern.kind, pattern.text.as_deref(), &pattern.particulars);
    each("with", &table.with, check_event)?;
    each("without", &table.without, check_event)?;
    each("frames", &table.frames, check_frame)?;
    each("without_frames", &table.without_frames, check_frame)?;
    Ok(())
}

fn check_shape(kind: &str, text: Option<&str>, particulars: &BTreeMap<String, Test>) -> Result<(), Flaw> {
    check_pattern("text", text)?;
    check_tests("where", particulars)?;
    if kind == LINE { line::check(text) } else { Ok(()) }
}

fn check_frame(frame: &FramePattern) -> Result<(), Flaw> {
    let members = [
        ("function", &frame.function),
        ("file", &frame.file),
        ("module", &frame.module),
    ];
    members
        .into_iter()
        .try_for_each(|(member, pattern)| check_pattern(member, pattern.as_deref()))
}

fn check_tests(member: &str, tests: &BTreeMap<String, Test>) -> Result<(), Flaw> {
    for (path, test) in tests {
        let Test::All(members) = test else { continue };
        for pattern in [&members.matches, &members.lacks].into_iter().flatten() {
            expression::check(pattern).map_err(|flaw| flaw.within(&[member, path]))?;
        }
    }
    Ok(())
}

fn check_pattern(member: &str, pattern: Option<&str>) -> Result<(), Flaw> {
    let checked = pattern.map_or(Ok(()), expression::check);
    checked.map_err(|flaw| flaw.within(&[member]))
}

/// What is made of each entry of a list; a flaw says which entry it is of.
fn each<T, M>(member: &str, list: &[T], make: impl Fn(&T) -> Result<M, Flaw>) -> Result<Vec<M>, Flaw> {
    let entries = list.iter().enumerate();
    entries
        .map(|(number, entry)| make(entry).map_err(|flaw| flaw.within(&[member, &number.to_string()])))
        .collect()
}

fn conditions(member: &str, tests: &BTreeMap<String, Test>) -> Result<BTreeMap<String, Condition>, Flaw> {
    let compile = |(path, test): (&String, &Test)| {
        let condition = Condition::new(test).map_err(|flaw| flaw.within(&[member, path]))?;
        Ok((path.clone(), condition))
    };
    tests.iter().map(compile).collect()
}

/// The value at a dotted path.
pub(crate) fn at<'v>(value: &'v Value, path: &str) -> Option<&'v Value> {
    path.split('.').try_fold(value, |value, key| match value {
        Value::Array(items) => items.get(key.parse::<usize>().ok()?),
        _ => value.get(key),
    })
}
