//! Texts that are made of artifacts whose own bytes nobody could read as lines: what is shown and cited of them.
//!
//! Such a text is a function of the artifact and the limits alone, so that whoever looks up a line finds the one that
//! was cited.

use super::text::LineFilter;
use super::{Input, Reading, detect, log_export, notebook, series, text};
use crate::model::Section;
use crate::{ArtifactKind, Limits, Problem};

/// Sections of one text that have names.
const SECTIONS: usize = 4_096;

/// The text that an artifact is shown as; none where that is its own bytes.
pub fn of(input: &Input, limits: &Limits) -> Option<Rendered> {
    match detect(input.head()) {
        ArtifactKind::Notebook => notebook::rendered(input, limits),
        ArtifactKind::LogExport => log_export::rendered(input, limits).ok().flatten(),
        ArtifactKind::WandbRun => series::wandb::rendered(input, limits),
        _ => None,
    }
}

/// A text that grows line by line.
#[derive(Debug)]
pub struct Rendered {
    text: Vec<u8>,
    /// Bytes that it may have.
    most: usize,
    lines: u64,
    /// Stretches of lines that tell what happened; the others are only shown.
    told: Vec<[u64; 2]>,
    sections: Vec<Section>,
    is_cut: bool,
    has_lost: bool,
}

impl Rendered {
    /// An empty one.
    pub fn new(limits: &Limits) -> Self {
        Self {
            text: Vec::new(),
            most: usize::try_from(limits.resident_bytes / 2).unwrap_or(usize::MAX),
            lines: 0,
            told: Vec::new(),
            sections: Vec::new(),
            is_cut: false,
            has_lost: false,
        }
    }

    /// Its bytes, every line with its end.
    pub fn text(&self) -> &[u8] {
        &self.text
    }

    /// Number of the last line.
    pub fn last_line(&self) -> u64 {
        self.lines
    }

    /// Takes its sections away.
    pub fn take_sections(&mut self) -> Vec<Section> {
        std::mem::take(&mut self.sections)
    }

    /// Says that not all of the artifact is in it.
    pub fn cut(&mut self) {
        self.has_lost = true;
    }

    /// What was left out, if anything was.
    pub fn problem(&self) -> Option<Problem> {
        if self.has_lost {
            let message = "there is more in the artifact than is looked at; its oldest lines were left out";
            return Some(Problem::new("limit-text-bytes", message));
        }
        let most = self.most;
        let message = || format!("the text of the artifact is longer than {most} bytes; what comes after was left out");
        self.is_cut.then(|| Problem::new("limit-text-bytes", message()))
    }

    /// Begins a section with the line that names it.
    pub fn section(&mut self, name: String) {
        let heading = format!("# %% {name}");
        if !self.show(&heading) || self.sections.len() >= SECTIONS {
            return;
        }
        let line = self.lines;
        self.sections.push(Section { line, name });
    }

    /// Adds lines that are only shown: whether there was room.
    pub fn show(&mut self, lines: &str) -> bool {
        lines.split('\n').all(|line| self.line(&["", line]))
    }

    /// Adds a line that is only shown, behind what says when and of whom.
    pub fn show_line(&mut self, before: &str, line: &str) -> bool {
        self.line(&[before, line])
    }

    /// Adds lines that tell what happened: the first and the last of them.
    pub fn tell(&mut self, lines: &str) -> [u64; 2] {
        let first = self.lines + 1;
        for line in lines.split('\n') {
            self.tell_line("", line);
        }
        [first, self.lines.max(first)]
    }

    /// Adds a line that tells what happened, behind what says when and of whom.
    pub fn tell_line(&mut self, before: &str, line: &str) -> bool {
        if !self.line(&[before, line]) {
            return false;
        }
        match self.told.last_mut() {
            Some([_, last]) if *last + 1 == self.lines => *last = self.lines,
            _ => self.told.push([self.lines; 2]),
        }
        true
    }

    fn line(&mut self, parts: &[&str]) -> bool {
        let bytes: usize = parts.iter().map(|part| part.len()).sum();
        self.is_cut |= self.text.len() + bytes >= self.most;
        if self.is_cut {
            return false;
        }
        for part in parts {
            self.text.extend_from_slice(part.as_bytes());
        }
        self.text.push(b'\n');
        self.lines += 1;
        true
    }

    /// Reads the lines that tell what happened as those of a log.
    pub fn read(&mut self, name: &str, limits: &Limits) -> Reading {
        let mut filter = Told {
            told: &self.told,
            line: 0,
        };
        let mut reading = text::read_lines(name, &self.text, limits, &mut filter);
        reading.problems.extend(self.problem());
        reading.sections = self.take_sections();
        reading
    }
}

/// The lines that tell what happened.
struct Told<'r> {
    told: &'r [[u64; 2]],
    line: u64,
}

impl LineFilter for Told<'_> {
    fn takes(&mut self, _: &[u8]) -> bool {
        self.line += 1;
        while let Some(([_, last], rest)) = self.told.split_first()
            && *last < self.line
        {
            self.told = rest;
        }
        self.told.first().is_some_and(|[first, _]| *first <= self.line)
    }
}

/// Text as a terminal shows it in the end: no colours, and of a line that was written over and over only its last state.
pub fn as_shown(text: &str) -> String {
    let plain = if memchr::memchr(0x1b, text.as_bytes()).is_some() {
        text::without_escapes(text)
    } else {
        text.to_owned()
    };
    if memchr::memchr(b'\r', plain.as_bytes()).is_none() {
        return plain;
    }
    let lines = plain.split('\n').map(|line| {
        let line = line.trim_end_matches('\r');
        line.rsplit_once('\r').map_or(line, |(_, last)| last)
    });
    lines.collect::<Vec<_>>().join("\n")
}
