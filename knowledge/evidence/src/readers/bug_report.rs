//! `nvidia-bug-report.log`: what NVIDIA's script gathers of a machine, section after section.
//!
//! Most sections are lists of files, build logs and old configuration, full of words that look like failures. What says
//! something of a crash is the kernel's log, which is read like any other, and `nvidia-smi -q`, which says how the GPUs
//! are.

use super::text::{self, LineFilter};
use super::{Input, Reading, nvidia_smi};
use crate::Limits;

/// What stands in the beginning of such a report.
const MARK: &[u8] = b"Start of NVIDIA bug report log file";
/// Underscores between sections; the script writes 44.
const SEPARATOR: usize = 20;

/// True for text that starts like such a report: with a line between sections, or right away.
pub fn is_report(head: &[u8]) -> bool {
    (head.starts_with(b"____") || head.starts_with(MARK))
        && memchr::memmem::find(head, MARK).is_some_and(|at| at < 8192)
}

/// Reads a report: the places of what is found are lines of the whole file.
pub fn read(input: &Input, limits: &Limits) -> Reading {
    let mut sections = Sections::default();
    let mut reading = text::read_filtered(input, limits, &mut sections);
    let gpus = sections.smi.finish();
    if !gpus.is_empty() {
        reading.evidence.context.insert("nvidia_smi".to_owned(), gpus.into());
    }
    reading
}

/// What a section is.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Section {
    #[default]
    Other,
    KernelLog,
    Smi,
}

/// Where in the report a line is.
#[derive(Debug, Default)]
struct Sections {
    section: Section,
    /// The next line that is not empty names a section.
    at_heading: bool,
    smi: nvidia_smi::Query,
}

impl LineFilter for Sections {
    fn takes(&mut self, line: &[u8]) -> bool {
        if line.len() >= SEPARATOR && line.iter().all(|byte| *byte == b'_') {
            (self.section, self.at_heading) = (Section::Other, true);
            return false;
        }
        if self.at_heading && !line.trim_ascii().is_empty() {
            self.at_heading = false;
            self.section = section(&String::from_utf8_lossy(line));
            return false;
        }
        if self.section == Section::Smi {
            self.smi.line(&String::from_utf8_lossy(line));
        }
        self.section == Section::KernelLog
    }
}

/// What a heading names: a file, `*** /var/log/kern.log`, or a command, `/usr/bin/nvidia-smi --query`.
fn section(heading: &str) -> Section {
    let heading = heading.to_ascii_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| heading.contains(word));
    if has(&[
        "dmesg",
        "kern.log",
        "/var/log/messages",
        "/var/log/syslog",
        "journalctl",
        "kernel log",
        "kernel messages",
    ]) {
        Section::KernelLog
    } else if has(&["nvidia-smi"]) {
        Section::Smi
    } else {
        Section::Other
    }
}
