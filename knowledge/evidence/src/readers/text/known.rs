//! Lines that were read before need not be read again.
//!
//! What a stream prints from one moment at which no block is open to the next is a [`Path`]: a line that tells of a
//! failure, a traceback, a report. What the grammars make of it depends on its lines alone, so a path whose lines have
//! been read once tells of the same events when they come again; that takes a look at their shapes, and no grammar.
//!
//! Lines that differ in numbers have the same shape. Whether a number matters, the grammars say: where two paths of one
//! shape tell of the very same events and differ in some numbers, those do not matter, and a path that differs from a
//! known one in such numbers alone is as good as that one. Where every path of one shape told of events of the same
//! kinds, one more with other numbers will as well: there is no need to read it once there is no room for those.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::Hasher;
use std::ops::Range;
use std::rc::Rc;

use super::allowance::RuleSet;
use super::hash::{self, Folding};
use super::identity;
use super::prefix::Origin;
use super::shape::shape;
use super::sink::{STACKS, Sink};
use super::time::Stamp;

/// Lines and numbers of a path that can be known. Longer ones are read anew each time.
const LINES: usize = 256;
const NUMBERS: usize = 1024;
/// Bytes of lines that wait until it is certain that their path is known.
const HELD_BYTES: usize = 64 << 10;

/// How many things are remembered; when there is no room, what is new is read each time it comes.
const NODES: usize = 1 << 17;
const INSTANCES: usize = 1 << 16;
/// Paths of one shape that numbers are compared with.
const COMPARED: usize = 128;
/// Paths of one shape after which it is certain what kinds of events another one tells of.
const ALIKE: usize = 64;

/// An event that a path told of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Told {
    /// What it is known by.
    pub key: u64,
    pub kind: &'static str,
    /// First and last line.
    pub lines: [u64; 2],
}

/// The lines of a stream since it last had no block open.
#[derive(Debug, Default)]
pub struct Path {
    /// Of the shapes of its lines.
    hash: u64,
    numbers: Vec<u64>,
    /// Numbers of its lines in the artifact.
    lines: Vec<u64>,
    /// What the grammars made of them.
    told: Vec<Told>,
    /// They also recorded a stack, which no earlier path had.
    has_stack: bool,
    /// They also recorded the state of something, of which each time counts.
    has_state: bool,
    /// The stream's name.
    pub stream: String,
    /// Who writes, and when the first line was written.
    writer: u64,
    pub stamp: Option<Stamp>,
    /// Bytes of the lines that blocks took.
    pub taken_bytes: usize,
    /// Its lines, while nothing but their shapes was looked at, and the rules of which each has a literal.
    held: Vec<u8>,
    held_lines: Vec<(Range<usize>, RuleSet)>,
}

impl Path {
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// Starts anew with a line of this origin.
    pub fn begin(&mut self, origin: &Origin) {
        self.numbers.clear();
        self.lines.clear();
        self.told.clear();
        self.held.clear();
        self.held_lines.clear();
        // Streams of ranks and workers have the same paths: their names differ in numbers.
        self.hash = shape(&origin.stream, &mut self.numbers);
        self.numbers.clear();
        self.stream.clone_from(&origin.stream);
        self.has_stack = false;
        self.has_state = false;
        self.writer = identity::writer(origin);
        self.stamp.clone_from(&origin.stamp);
        self.taken_bytes = 0;
    }

    /// Adds what the grammars have made of its lines since this was done last.
    pub fn add_told(&mut self, sink: &mut Sink) {
        if self.is_short() {
            self.told.append(&mut sink.told);
        }
        sink.told.clear();
        self.has_stack |= std::mem::take(&mut sink.has_new_stack);
        self.has_state |= std::mem::take(&mut sink.has_new_state);
    }

    /// Bytes of its lines that wait.
    pub fn held_bytes(&self) -> usize {
        self.held.len()
    }

    /// The hash that the path would have with one more line.
    fn with(&self, shape: u64) -> u64 {
        hash::of(&(self.hash, shape))
    }

    /// Adds a line that the grammars have read.
    pub fn push(&mut self, shape: u64, numbers: &[u64], number: u64) {
        self.hash = self.with(shape);
        if self.lines.len() <= LINES {
            self.lines.push(number);
            self.numbers.extend_from_slice(numbers);
        }
    }

    /// Adds a line that they have not read, and may not have to.
    pub fn hold(&mut self, shape: u64, numbers: &[u64], number: u64, raw: &[u8], rules: RuleSet) {
        self.push(shape, numbers, number);
        let start = self.held.len();
        self.held.extend_from_slice(raw);
        self.held_lines.push((start..self.held.len(), rules));
    }

    /// The lines that were held: number, bytes, and the rules of which they have a literal.
    pub fn held(&self) -> impl Iterator<Item = (u64, &[u8], RuleSet)> {
        let lines = self.lines.iter().zip(&self.held_lines);
        lines.map(|(number, (range, rules))| (*number, self.held.get(range.clone()).unwrap_or_default(), *rules))
    }

    /// The last line.
    pub fn last_line(&self) -> u64 {
        self.lines.last().copied().unwrap_or_default()
    }

    fn is_short(&self) -> bool {
        self.lines.len() <= LINES && self.numbers.len() <= NUMBERS
    }

    /// What it told, with lines counted within the path.
    fn told_within(&self) -> Vec<Told> {
        let within = |line: u64| self.lines.partition_point(|number| *number < line) as u64;
        let told = self.told.iter().map(|told| Told {
            lines: told.lines.map(within),
            ..*told
        });
        told.collect()
    }

    /// The kinds of what it told, and of what it recorded beside.
    fn kinds(&self) -> impl Iterator<Item = &'static str> {
        let stack = self.has_stack.then_some(STACKS);
        self.told.iter().map(|told| told.kind).chain(stack)
    }

    /// What a path like this one told, in the lines of this one.
    fn in_lines_of(&self, told: &Told) -> Told {
        let line = |within: u64| self.lines.get(within as usize).copied().unwrap_or(self.last_line());
        Told {
            lines: told.lines.map(line),
            ..*told
        }
    }
}

/// How a line goes on from a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// A known path goes on with it.
    On,
    /// A known path ends with it.
    Last,
    /// It is no part of the path, which ends before it.
    Ended,
    /// Nothing is known.
    Unknown,
}

/// Paths of one shape.
#[derive(Debug, Default)]
struct Template {
    /// True for numbers that do not matter.
    varies: Vec<bool>,
    /// What each told, by its writer and the numbers that matter.
    instances: HashMap<u64, Rc<[Told]>>,
    compared: Vec<(Vec<u64>, Rc<[Told]>)>,
    /// The kinds of what the last one told, and how many before it told of the same kinds without a break.
    kinds: Vec<&'static str>,
    alike: usize,
}

impl Template {
    /// Takes note of the kinds of events that one more path told of.
    fn note_kinds(&mut self, path: &Path) {
        if path.kinds().eq(self.kinds.iter().copied()) {
            self.alike += 1;
        } else {
            self.kinds = path.kinds().collect();
            self.alike = 0;
        }
    }

    fn key(&self, path: &Path) -> u64 {
        let mut hasher = Folding::default();
        hasher.write_u64(path.writer);
        let numbers = path.numbers.iter().zip(&self.varies);
        numbers
            .filter(|(_, varies)| !**varies)
            .for_each(|(number, _)| hasher.write_u64(*number));
        hasher.finish()
    }

    /// Numbers in which the path differs from another that told the same do not matter.
    fn compare(&mut self, path: &Path, told: &Rc<[Told]>) {
        let Some((numbers, _)) = self.compared.iter().find(|(_, other)| other == told) else {
            if self.compared.len() < COMPARED {
                self.compared.push((path.numbers.clone(), told.clone()));
            }
            return;
        };
        let mut found = false;
        for (varies, (one, other)) in self.varies.iter_mut().zip(path.numbers.iter().zip(numbers)) {
            found |= !*varies && one != other;
            *varies |= one != other;
        }
        if found {
            // They were kept by numbers of which some do not count any more.
            self.instances.clear();
        }
    }
}

/// What is known of the paths that have begun with some shapes.
#[derive(Debug, Default)]
struct Node {
    /// A line is followed by more of a path; it may also be the last.
    on: bool,
    last: bool,
    /// What it would end with this line added ends before it.
    ended: bool,
    /// Paths that end here.
    template: Option<Box<Template>>,
}

/// The paths that were read, by the hashes of their shapes.
#[derive(Debug, Default)]
pub struct Known {
    nodes: HashMap<u64, Node>,
    instances: usize,
}

impl Known {
    /// How a line of this shape goes on from a path.
    pub fn step(&self, path: &Path, shape: u64) -> Step {
        match self.nodes.get(&path.with(shape)) {
            Some(Node { last: true, .. }) => Step::Last,
            Some(Node { on: true, .. }) if path.held.len() < HELD_BYTES => Step::On,
            Some(Node { ended: true, .. }) => Step::Ended,
            _ => Step::Unknown,
        }
    }

    /// What a path tells of, if that is known.
    pub fn recall<'p>(&'p self, path: &'p Path) -> Option<impl Iterator<Item = Told> + Clone + 'p> {
        let template = self.nodes.get(&path.hash)?.template.as_ref()?;
        let told = template.instances.get(&template.key(path))?;
        Some(told.iter().map(|told| path.in_lines_of(told)))
    }

    /// The kinds of events that a path of this shape tells of, whatever its numbers; nothing where that is not certain.
    pub fn foretell(&self, path: &Path) -> &[&'static str] {
        let template = self.nodes.get(&path.hash).and_then(|node| node.template.as_ref());
        template
            .filter(|template| template.alike >= ALIKE)
            .map_or(&[], |template| &template.kinds)
    }

    /// Remembers a path that goes on.
    pub fn goes_on(&mut self, path: &Path) {
        if path.is_short()
            && let Some(node) = self.node(path.hash)
        {
            node.on = true;
        }
    }

    /// Remembers a path that the grammars have read to its end. It ended before a line of shape `before`, or with its
    /// own last line.
    pub fn learn(&mut self, path: &Path, before: Option<u64>) {
        if !path.is_short() || path.has_state || self.instances >= INSTANCES {
            return;
        }
        if let Some(shape) = before
            && let Some(node) = self.node(path.with(shape))
        {
            node.ended = true;
        }
        let Some(node) = self.node(path.hash) else { return };
        node.last |= before.is_none();
        let template = node.template.get_or_insert_default();
        let told: Rc<[Told]> = path.told_within().into();
        template.varies.resize(path.numbers.len(), false);
        template.note_kinds(path);
        if !path.has_stack {
            template.compare(path, &told);
        }
        template.instances.insert(template.key(path), told);
        self.instances += 1;
    }

    /// The node of these shapes, if there is one or room for one.
    fn node(&mut self, shapes: u64) -> Option<&mut Node> {
        let has_room = self.nodes.len() < NODES;
        match self.nodes.entry(shapes) {
            Entry::Occupied(known) => Some(known.into_mut()),
            Entry::Vacant(new) => has_room.then(|| new.insert(Node::default())),
        }
    }
}
