//! A report for tests: what a plugin is given when it is no component, so that plain `cargo test` can call it.
//!
//! It is made of a case's folder, as `whycrash plugin test` takes it. `whycrash plugin case FOLDER` writes what a plugin
//! is told of one into its `evidence.json`; without that file there are the lines of its texts and nothing else.
//! Nothing is bounded and nothing is checked here: whether citations hold, and what a run costs, `whycrash plugin test`
//! says.

mod fact;
mod memory;
mod particulars;

use std::fs;
use std::io;
use std::path::Path;

use regex::Regex;
use serde_json::Value;

use crate::{Artifact, Event, Frame, Line, Thread};

/// Files of a case that no crash left.
const NOT_LEFT: [&str; 4] = ["case.toml", "evidence.json", "expected.json", "history.json"];

/// A report, as plugins read it.
#[derive(Debug, Default)]
pub struct Report {
    artifacts: Vec<Told>,
    evidence: Value,
    software: Value,
    history: Value,
}

/// An artifact, and its lines where it is text.
#[derive(Debug)]
struct Told {
    artifact: Artifact,
    lines: Vec<String>,
}

impl Report {
    /// The report of a case.
    ///
    /// # Errors
    /// When the folder or a file in it can not be read.
    pub fn of_case(folder: impl AsRef<Path>) -> io::Result<Self> {
        let evidence = folder.as_ref().join("evidence.json");
        if evidence.is_file() {
            return Ok(Self::of_json(serde_json::from_str(&fs::read_to_string(evidence)?)?));
        }
        let mut report = Self::default();
        for file in fs::read_dir(folder.as_ref())? {
            let path = file?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if path.is_file() && !NOT_LEFT.contains(&name.as_str()) {
                report.add(&name, &String::from_utf8_lossy(&fs::read(&path)?));
            }
        }
        report.artifacts.sort_by(|a, b| a.artifact.name.cmp(&b.artifact.name));
        Ok(report)
    }

    /// The report that `whycrash plugin case` wrote down.
    pub fn of_json(mut told: Value) -> Self {
        let artifact = |value: &Value| Told {
            artifact: Artifact {
                name: text(value, "name"),
                kind: text(value, "kind"),
                bytes: value["bytes"].as_u64().unwrap_or_default(),
                lines: list(value, "lines").len() as u64,
            },
            lines: list(value, "lines")
                .iter()
                .filter_map(Value::as_str)
                .map(str::to_owned)
                .collect(),
        };
        Self {
            artifacts: list(&told, "artifacts").iter().map(artifact).collect(),
            evidence: told["evidence"].take(),
            software: told["software"].take(),
            history: told["history"].take(),
        }
    }

    /// A report with one log.
    pub fn of_log(name: &str, text: &str) -> Self {
        let mut report = Self::default();
        report.add(name, text);
        report
    }

    fn add(&mut self, name: &str, text: &str) {
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        self.artifacts.push(Told {
            artifact: Artifact {
                name: name.to_owned(),
                kind: "log".to_owned(),
                bytes: text.len() as u64,
                lines: lines.len() as u64,
            },
            lines,
        });
    }

    /// The artifacts; of files that nobody has looked at the kind is `log`.
    pub fn artifacts(&self) -> Vec<Artifact> {
        self.artifacts.iter().map(|told| told.artifact.clone()).collect()
    }

    /// Lines of an artifact, from number `first` on.
    pub fn lines(&self, artifact: &str, first: u64, count: u32) -> Vec<Line> {
        let lines = self.numbered(Some(artifact)).filter(|line| line.number >= first);
        lines.take(count as usize).collect()
    }

    /// Lines that match.
    ///
    /// # Errors
    /// When the pattern is wrong.
    pub fn search(&self, artifact: Option<&str>, pattern: &str, limit: u32) -> Result<Vec<Line>, String> {
        let pattern = Regex::new(pattern).map_err(|error| error.to_string())?;
        let matching = self.numbered(artifact).filter(|line| pattern.is_match(&line.text));
        Ok(matching.take(limit as usize).collect())
    }

    fn numbered<'a>(&'a self, artifact: Option<&'a str>) -> impl Iterator<Item = Line> + 'a {
        let is_wanted = move |told: &&Told| artifact.is_none_or(|wanted| wanted == told.artifact.name);
        self.artifacts.iter().filter(is_wanted).flat_map(|told| {
            told.lines.iter().zip(1..).map(|(text, number)| Line {
                artifact: told.artifact.name.clone(),
                number,
                text: text.clone(),
            })
        })
    }

    /// Threads, the crashed one first.
    pub fn threads(&self, first: u32, count: u32) -> Vec<Thread> {
        let thread = |value: &Value| Thread {
            id: text(value, "id"),
            name: value["name"].as_str().map(str::to_owned),
            rank: number(value, "rank"),
            pid: number(value, "pid"),
            crashed: value["crashed"] == true,
            artifact: text(value, "artifact"),
            frames: u32::try_from(list(value, "frames").len()).unwrap_or(u32::MAX),
            omitted: value["frames_omitted"].as_u64().unwrap_or_default(),
        };
        page(list(&self.evidence, "threads"), first, count)
            .map(thread)
            .collect()
    }

    /// Frames of the thread at this position, innermost first.
    pub fn frames(&self, thread: u32, first: u32, count: u32) -> Vec<Frame> {
        let frame = |value: &Value| Frame {
            kind: text(value, "kind"),
            function: value["function"].as_str().map(str::to_owned),
            file: value["file"].as_str().map(str::to_owned),
            line: number(value, "line"),
            module: value["module"].as_str().map(str::to_owned),
            address: hex(value, "address"),
            inline: value["inline"] == true,
            trust: text(value, "trust"),
            signal: value["signal"] == true,
        };
        let threads = list(&self.evidence, "threads");
        let frames = threads
            .get(thread as usize)
            .map_or(&[][..], |thread| list(thread, "frames"));
        page(frames, first, count).map(frame).collect()
    }

    /// Events of this kind, or of all kinds, oldest first.
    pub fn events(&self, kind: Option<&str>, first: u32, count: u32) -> Vec<Event> {
        let event = |value: &Value| Event {
            number: number(value, "event").unwrap_or_default(),
            kind: text(value, "kind"),
            detail: value.get("detail").map(Value::to_string).unwrap_or_default(),
            text: text(value, "text"),
            artifact: text(value, "artifact"),
            lines: value["at"]["line"][0].as_u64().zip(value["at"]["line"][1].as_u64()),
            rank: number(value, "rank"),
            pid: number(value, "pid"),
            time: value["time"].as_str().map(str::to_owned),
            primary: value["primary"] == true,
            survived: value["survived"] == true,
        };
        let timeline = list(&self.evidence, "timeline").iter();
        let wanted = timeline.filter(|value| kind.is_none_or(|kind| value["kind"] == kind));
        wanted.skip(first as usize).take(count as usize).map(event).collect()
    }

    /// One JSON object for each device of each memory snapshot.
    pub fn memory_snapshots(&self) -> Vec<String> {
        list(&self.evidence, "memory_snapshots")
            .iter()
            .map(Value::to_string)
            .collect()
    }

    /// What did not match across ranks.
    pub fn collectives(&self, rank: Option<u32>) -> Vec<String> {
        let verdicts = list(&self.evidence["collectives"], "verdicts").iter();
        let involves = |verdict: &&Value| rank.is_none_or(|rank| list(verdict, "ranks").iter().any(|of| *of == rank));
        verdicts.filter(involves).map(Value::to_string).collect()
    }
}

fn list<'a>(value: &'a Value, member: &str) -> &'a [Value] {
    value.get(member).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn page(entries: &[Value], first: u32, count: u32) -> impl Iterator<Item = &Value> {
    entries.iter().skip(first as usize).take(count as usize)
}

/// A text, or a number as one.
fn text(value: &Value, member: &str) -> String {
    match &value[member] {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        _ => String::new(),
    }
}

fn number(value: &Value, member: &str) -> Option<u32> {
    u32::try_from(value[member].as_u64()?).ok()
}

fn hex(value: &Value, member: &str) -> Option<u64> {
    u64::from_str_radix(value[member].as_str()?.trim_start_matches("0x"), 16).ok()
}
