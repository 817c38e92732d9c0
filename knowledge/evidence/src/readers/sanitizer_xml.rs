//! What compute-sanitizer saves with `--save FILE --xml yes`: the reports of its text form as elements.
//!
//! NVIDIA publishes no schema. Each child of the root is a report; what is in it is taken by the names of an element
//! and of the one around it, wherever they stand, and what is not known is passed over.

use quick_xml::Reader;
use quick_xml::events::Event as Xml;

use super::events::{Events, Locator};
use super::{Input, Reading, json};
use crate::model::{Event, EventPayload, Frame, FrameKind, Sanitizer, Thread, ThreadId};
use crate::{Hex, Limits, Problem};

/// Name of the root element.
const ROOT: &[u8] = b"ComputeSanitizerOutput";
/// Elements may nest so deep.
const DEPTH: usize = 64;
/// Bytes of one text.
const TEXT_BYTES: usize = 16 << 10;

/// True for XML that starts like such a file.
pub fn is_output(head: &[u8]) -> bool {
    head.trim_ascii_start().starts_with(b"<") && memchr::memmem::find(head, ROOT).is_some_and(|at| at < 4096)
}

/// Reads a file. A report with a host stack has it as a thread.
pub fn read(input: &Input, limits: &Limits) -> Reading {
    let (text, torn) = match json::bytes(input, limits) {
        Ok(text) => text,
        Err(problem) => return Reading::problem(problem),
    };
    let text = String::from_utf8_lossy(&text);
    let mut reports = Reports::new(input.name(), limits, text.as_bytes());
    let damage = reports.read(&text);
    let mut reading = reports.finish();
    reading.problems.extend(torn.or(damage));
    reading
}

struct Reports<'a> {
    limits: &'a Limits,
    artifact: &'a str,
    events: Events<'a>,
    places: Locator<'a>,
    threads: Vec<Thread>,
    /// Names of the elements that are open.
    open: Vec<String>,
    /// The text of the innermost one.
    text: String,
    report: Report,
}

/// What is known of the report that is open.
#[derive(Debug, Default)]
struct Report {
    first_line: u64,
    what: Sanitizer,
    /// Its message, from which the error is made with what else is said.
    message: String,
    space: Option<String>,
    frames: Vec<Frame>,
}

impl<'a> Reports<'a> {
    fn new(artifact: &'a str, limits: &'a Limits, text: &'a [u8]) -> Self {
        Self {
            limits,
            artifact,
            events: Events::new(artifact, limits),
            places: Locator::new(text),
            threads: Vec::new(),
            open: Vec::new(),
            text: String::new(),
            report: Report::default(),
        }
    }

    /// Goes through the elements; what ended that early.
    fn read(&mut self, text: &str) -> Option<Problem> {
        let mut xml = Reader::from_str(text);
        // A file that was cut still tells of the reports before the cut.
        xml.config_mut().check_end_names = false;
        loop {
            let place = usize::try_from(xml.buffer_position()).unwrap_or(usize::MAX);
            match xml.read_event() {
                Ok(Xml::Start(element)) => {
                    if self.open.len() >= DEPTH {
                        return Some(damaged("its elements nest too deep"));
                    }
                    let name = element.local_name().as_ref().to_owned();
                    self.start(name, place);
                }
                Ok(Xml::Text(part)) => self.add(&part),
                Ok(Xml::CData(part)) => self.add(&part),
                Ok(Xml::GeneralRef(name)) => match name.resolve_char_ref() {
                    Ok(Some(letter)) => self.add(letter.encode_utf8(&mut [0; 4])),
                    _ => self.add(entity(&name)),
                },
                Ok(Xml::End(_)) => self.end(place),
                Ok(Xml::Eof) if self.open.is_empty() => return None,
                Ok(Xml::Eof) => return Some(damaged("it ends early")),
                Ok(_) => {}
                Err(error) => return Some(damaged(&error.to_string())),
            }
        }
    }

    fn add(&mut self, text: &str) {
        let room = TEXT_BYTES.saturating_sub(self.text.len());
        self.text
            .push_str(text.get(..text.floor_char_boundary(room)).unwrap_or_default());
    }

    fn start(&mut self, name: String, place: usize) {
        if self.open.len() == 1 {
            let first_line = self.places.line_at(place);
            self.report = Report {
                first_line,
                ..Report::default()
            };
        }
        if name == "frame" && self.report.frames.len() < self.limits.frames {
            self.report.frames.push(Frame::default());
        }
        self.open.push(name);
        self.text.clear();
    }

    fn end(&mut self, place: usize) {
        let Some(name) = self.open.pop() else { return };
        let around = self.open.last().map(String::as_str).unwrap_or_default();
        let text = std::mem::take(&mut self.text);
        let text = text.trim();
        if !text.is_empty() {
            self.report.take(around, &name, text);
        }
        if self.open.len() == 1 {
            self.finish_report(place);
        }
    }

    fn finish_report(&mut self, place: usize) {
        let lines = [self.report.first_line, self.places.line_at(place)];
        let Report {
            mut what,
            message,
            space,
            mut frames,
            ..
        } = std::mem::take(&mut self.report);
        if message.is_empty() && what.function.is_none() {
            return;
        }
        what.error = error(&message, space.as_deref(), what.access.as_deref());
        if what.error != message && what.relation.is_none() {
            what.relation = Some(message);
        }
        "compute-sanitizer".clone_into(&mut what.tool);
        what.count = 1;
        frames.retain(|frame| *frame != Frame::default());
        let key = format!("{} {:?} {:?} {:?}", what.error, what.function, what.file, what.line);
        if !frames.is_empty() && self.threads.len() < self.limits.threads {
            what.stack = Some(self.thread(frames));
        }
        let at = what.function.as_ref().map(|function| format!(" in {function}"));
        let event = Event {
            text: format!("{}{}", what.error, at.unwrap_or_default()),
            ..Event::new(EventPayload::Sanitizer(what))
        };
        self.events.add(&key, event, lines);
    }

    /// Records a stack, or finds the equal one that was recorded.
    fn thread(&mut self, mut frames: Vec<Frame>) -> ThreadId {
        for frame in &mut frames {
            frame.kind = FrameKind::Native;
        }
        if let Some(known) = self.threads.iter().find(|thread| thread.frames == frames) {
            return known.id.clone();
        }
        let id = ThreadId::Label(format!("sanitizer-{}", self.threads.len() + 1));
        self.threads.push(Thread {
            id: id.clone(),
            name: None,
            rank: None,
            pid: None,
            crashed: false,
            artifact: self.artifact.to_owned(),
            frames,
            frames_omitted: None,
            holds_gil: false,
            activity: None,
        });
        id
    }

    fn finish(self) -> Reading {
        let mut reading = Reading::default();
        let (timeline, left_out) = self.events.finish();
        reading.evidence.timeline = timeline;
        reading.evidence.threads = self.threads;
        reading.problems.extend(left_out);
        reading
    }
}

impl Report {
    /// Takes the text of an element; `around` is the one that it is in.
    fn take(&mut self, around: &str, name: &str, text: &str) {
        let what = &mut self.what;
        let own = || Some(text.to_owned());
        match (around, name) {
            ("frame", _) => {
                if let Some(frame) = self.frames.last_mut() {
                    take_frame(frame, name, text);
                }
            }
            ("threadIdx" | "blockIdx", "x" | "y" | "z") => {
                let index = if around == "threadIdx" {
                    &mut what.thread
                } else {
                    &mut what.block
                };
                let axis = match name {
                    "x" => 0,
                    "y" => 1,
                    _ => 2,
                };
                if let (Some(place), Ok(value)) = (index.get_or_insert([0; 3]).get_mut(axis), text.parse()) {
                    *place = value;
                }
            }
            ("what", "text" | "message") | (_, "what") => text.clone_into(&mut self.message),
            (_, "space" | "addressSpace") => self.space = Some(text.to_lowercase()),
            (_, "direction" | "accessType") => what.access = Some(text.to_lowercase()),
            (_, "size" | "accessSize") => what.size = number(text),
            (_, "address") => what.address = number(text).map(Hex),
            (_, "func" | "function") if what.function.is_none() => what.function = own(),
            ("where", "path" | "file") => what.file = own(),
            ("where", "line") => what.line = text.parse().ok(),
            _ => {}
        }
    }
}

fn take_frame(frame: &mut Frame, name: &str, text: &str) {
    match name {
        "func" | "function" => frame.function = Some(text.to_owned()),
        "module" => frame.module = Some(text.to_owned()),
        "path" | "file" => frame.file = Some(text.to_owned()),
        "line" => frame.line = text.parse().ok(),
        _ => {}
    }
}

/// The error in the words of the text form, `Invalid __global__ write`, which says the kind of memory in its name.
fn error(message: &str, space: Option<&str>, access: Option<&str>) -> String {
    let first = message.split([':', ' ']).next().unwrap_or_default();
    match (first, space, access) {
        ("Invalid" | "Uninitialized", Some(space), Some(access)) if !message.contains("__") => {
            format!("{first} __{}__ {access}", space.trim_matches('_'))
        }
        _ => message.to_owned(),
    }
}

/// `0x7f00` or `4`.
fn number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

/// The five entities of XML itself; any other would have to be declared, and declarations are not followed.
fn entity(name: &str) -> &'static str {
    match name {
        "lt" => "<",
        "gt" => ">",
        "amp" => "&",
        "quot" => "\"",
        "apos" => "'",
        _ => "\u{fffd}",
    }
}

fn damaged(why: &str) -> Problem {
    Problem::new(
        "damaged-xml",
        format!("the report can not be read to its end ({why}); what came before was read"),
    )
}
