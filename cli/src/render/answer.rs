//! What is said of a report, whatever form it is said in: the pieces that every form is made of.

use whycrash_evidence::Evidence;
use whycrash_evidence::model::{Event, EventPayload, Place};
use whycrash_plugin_host::{Citation, CodeLine, Document, Finding, Verdict, VerdictKind};

use super::document::describe;
use super::files::{Files, lines_of};
use super::{frames, paths, proof};

/// Surer than this a finding is said without a word of doubt, and less sure than this it is only a guess.
const SURE: f64 = 0.9;
const LIKELY: f64 = 0.65;

/// A report document with what is known around it.
#[derive(Debug)]
pub struct Answer<'a> {
    /// The document.
    pub document: &'a Document,
    /// Its artifacts that are on this machine.
    pub files: &'a Files,
    /// Absent where the report was not read yet.
    pub verdict: Option<Verdict>,
    /// What is known of the report beside what it tells, in lines.
    pub notes: Vec<String>,
    /// What stands for the report in a list of several.
    pub name: String,
    /// The command that shows all of it.
    pub whole: String,
}

impl<'a> Answer<'a> {
    /// An answer without notes. A server that gave no verdict, and has read the report, is of an earlier version.
    pub fn new(document: &'a Document, files: &'a Files, name: String, whole: String) -> Self {
        let is_read = || !document.plugins.is_empty();
        let judged = || {
            Verdict::of(
                &document.report,
                &document.evidence,
                &document.findings,
                &document.plugins,
            )
        };
        Self {
            document,
            files,
            verdict: document.verdict.clone().or_else(|| is_read().then(judged)),
            notes: Vec::new(),
            name,
            whole,
        }
    }

    /// The first line: which of the four verdicts it is, in words.
    pub fn headline(&self) -> String {
        let title = || sentence(&self.document.report.title);
        match (self.kind(), self.best()) {
            (Some(VerdictKind::Cause), Some(best)) => {
                let how = match best.confidence {
                    sure if sure >= SURE => "Cause",
                    likely if likely >= LIKELY => "Likely cause",
                    _ => "Possible cause",
                };
                format!("{how}: {} ({} sure)", best.title, percent(best.confidence))
            }
            (Some(VerdictKind::NothingFailed | VerdictKind::Unreadable), _) => title(),
            // Where nothing says for certain that something failed, the title says so.
            (Some(_), _) if self.document.report.signature.key.is_empty() => title(),
            (Some(_), _) => format!("Unknown failure: {}", self.document.report.title),
            (None, _) => "Not read yet".to_owned(),
        }
    }

    /// Which verdict it is.
    pub fn kind(&self) -> Option<VerdictKind> {
        self.verdict.as_ref().map(|verdict| verdict.kind)
    }

    /// The verdict's name, as the document has it.
    pub fn kind_name(&self) -> &'static str {
        match self.kind() {
            Some(VerdictKind::Cause) => "cause",
            Some(VerdictKind::UnknownFailure) => "unknown-failure",
            Some(VerdictKind::NothingFailed) => "nothing-failed",
            Some(VerdictKind::Unreadable) => "unreadable",
            None => "not-read",
        }
    }

    /// Why, in a sentence.
    pub fn why(&self) -> &str {
        self.verdict.as_ref().map_or("", |verdict| verdict.why.as_str())
    }

    /// The finding that is most likely right.
    pub fn best(&self) -> Option<&'a Finding> {
        self.document.findings.first()
    }

    /// The program's own line.
    pub fn code(&self) -> Option<&CodeLine> {
        self.verdict.as_ref()?.code.as_ref()
    }

    /// `train.py:88`.
    pub fn place(&self) -> Option<String> {
        self.code()
            .map(|code| format!("{}:{}", paths::short(&code.file), code.line))
    }

    /// The text of the program's own line: as an artifact quotes it, or as the file on this machine has it.
    pub fn source(&self) -> Option<String> {
        let code = self.code()?;
        let number = u64::from(code.line);
        let here = || {
            let lines = lines_of(std::path::Path::new(&code.file), number, number);
            lines.into_iter().next().map(|(_, text)| text.trim().to_owned())
        };
        code.source.clone().or_else(here).filter(|text| !text.is_empty())
    }

    /// What proves it, in single lines, each with its place; the most telling first.
    pub fn proof(&self) -> Vec<(String, String)> {
        let evidence = &self.document.evidence;
        let mut proof: Vec<(String, String)> = match self.best() {
            Some(best) => best
                .citations
                .iter()
                .filter_map(|cited| self.cited(cited, evidence))
                .collect(),
            None => {
                let complaint = evidence
                    .timeline
                    .iter()
                    .rfind(|event| event.payload.is_complaint() && !event.survived);
                whycrash_evidence::failure_event(evidence)
                    .or(complaint)
                    .and_then(|event| self.told(event))
                    .into_iter()
                    .collect()
            }
        };
        if let (true, Some(crash)) = (proof.is_empty() && self.is_failure(), &evidence.crash) {
            proof.push((crash.artifact.clone(), describe(crash)));
        }
        // What stands in an artifact is read more easily than what was put together from several.
        proof.sort_by_key(|(_, text)| text.contains(" = "));
        let mut known: Vec<String> = Vec::new();
        proof.retain(|(_, text)| {
            let is_new = !text.is_empty() && !known.iter().any(|other| is_same(other, text));
            known.push(text.clone());
            is_new
        });
        proof
    }

    /// Whether something failed.
    pub fn is_failure(&self) -> bool {
        matches!(self.kind(), Some(VerdictKind::Cause | VerdictKind::UnknownFailure))
    }

    /// The line that says what a citation points at.
    fn cited(&self, citation: &Citation, evidence: &Evidence) -> Option<(String, String)> {
        match &citation.at {
            Place::Event(number) => evidence
                .timeline
                .iter()
                .find(|event| event.event == *number)
                .and_then(|event| self.told(event)),
            Place::Line([first, last]) => {
                let is_there = |event: &&Event| match &event.at {
                    Some(Place::Line([from, to])) => event.artifact == citation.artifact && from <= last && first <= to,
                    _ => false,
                };
                let event = evidence.timeline.iter().find(is_there);
                let told = event.and_then(|event| self.told(event));
                told.or_else(|| self.quoted(citation, *first, *last))
            }
            Place::Frame(at) => {
                let thread = evidence.threads.iter().find(|thread| thread.id == at.thread);
                let frame = thread.and_then(|thread| thread.frames.get(at.index))?;
                let is_own_line = self
                    .code()
                    .is_some_and(|code| frame.file.as_ref() == Some(&code.file) && frame.line == Some(code.line));
                (!is_own_line).then(|| {
                    (
                        format!("{}, thread {}", citation.artifact, at.thread),
                        frames::label(frame),
                    )
                })
            }
            Place::Fact(path) if path.starts_with("crash.") => {
                let crash = evidence.crash.as_ref()?;
                Some((crash.artifact.clone(), describe(crash)))
            }
            Place::Fact(path) => Some((citation.artifact.clone(), proof::fact_text(citation, evidence, path))),
            Place::Bytes(_) => Some((citation.artifact.clone(), one_line(&citation.quote)?)),
        }
    }

    /// The first of the lines that says something.
    fn quoted(&self, citation: &Citation, first: u64, last: u64) -> Option<(String, String)> {
        let here = self.files.lines(&citation.artifact, first, last);
        let quoted = || (first..).zip(citation.quote.lines().map(str::to_owned)).collect();
        let lines: Vec<(u64, String)> = if here.is_empty() { quoted() } else { here };
        let telling = lines.into_iter().find(|(_, text)| says_something(text));
        telling.map(|(number, text)| (self.placed(&citation.artifact, number), text.trim().to_owned()))
    }

    /// A line of an artifact, with the name of the part of it that the line is in.
    fn placed(&self, artifact: &str, line: u64) -> String {
        match proof::section(&self.document.report, artifact, line) {
            Some(section) => format!("{artifact}:{line}, {section}"),
            None => format!("{artifact}:{line}"),
        }
    }

    /// The line that an event is known by, with its place.
    fn told(&self, event: &Event) -> Option<(String, String)> {
        let line = match (&event.at, &event.payload) {
            // What was raised stands in the last line of a traceback.
            (Some(Place::Line([first, last])), EventPayload::PythonException(raised)) => {
                let behind = raised.message.lines().count().saturating_sub(1) as u64;
                last.saturating_sub(behind).max(*first)
            }
            (Some(Place::Line([first, _])), _) => *first,
            _ => return Some((event.artifact.clone(), one_line(&event.text)?)),
        };
        Some((self.placed(&event.artifact, line), one_line(&event.text)?))
    }
}

/// The first command that a text has in backticks.
pub fn command(text: &str) -> Option<&str> {
    text.split('`').skip(1).step_by(2).find(|quoted| is_command(quoted))
}

/// Whether one line says no more than the other, or quotes it.
fn is_same(one: &str, other: &str) -> bool {
    /// Characters of a line by which it is recognised.
    const QUOTED: usize = 32;
    let beginning: String = one.chars().take(QUOTED).collect();
    one.contains(other) || beginning.chars().count() == QUOTED && other.contains(&beginning)
}

/// The first line of a text that says something.
fn one_line(text: &str) -> Option<String> {
    text.lines()
        .find(|line| says_something(line))
        .map(|line| line.trim().to_owned())
}

/// Whether a line says more than that something follows.
fn says_something(line: &str) -> bool {
    /// What is printed around a failure.
    const AROUND: [&str; 6] = [
        "Traceback (most recent call last)",
        "Original Traceback",
        "During handling of the above",
        "The above exception was",
        "Exception in thread",
        "File \"",
    ];
    let line = line.trim();
    line.chars().any(char::is_alphanumeric) && !AROUND.iter().any(|words| line.contains(words))
}

/// Whether what stands in backticks can be typed into a shell, or put into the environment.
fn is_command(quoted: &str) -> bool {
    /// Programs that fixes name.
    const PROGRAMS: [&str; 34] = [
        "apt",
        "apt-get",
        "cat",
        "conda",
        "cuda-gdb",
        "compute-sanitizer",
        "dcgmi",
        "df",
        "dmesg",
        "docker",
        "export",
        "free",
        "gdb",
        "git",
        "huggingface-cli",
        "ibstat",
        "journalctl",
        "kubectl",
        "ldd",
        "ls",
        "mount",
        "nvidia-smi",
        "pip",
        "ps",
        "py-spy",
        "python",
        "rm",
        "sacct",
        "scontrol",
        "sudo",
        "sysctl",
        "torchrun",
        "ulimit",
        "uv",
    ];
    let mut words = quoted.split_whitespace();
    let first = words.next().unwrap_or_default();
    let is_setting = first.split_once('=').is_some_and(|(name, value)| {
        let is_of_name = |letter: char| letter.is_ascii_uppercase() || letter.is_ascii_digit() || letter == '_';
        name.len() > 2 && name.chars().all(is_of_name) && !value.is_empty()
    });
    // What is left open is for people to fill in.
    !quoted.contains('…') && (is_setting || PROGRAMS.contains(&first) && words.next().is_some())
}

/// A title as a sentence begins.
fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    letters
        .next()
        .map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// What is not certain is never 100%, and what is possible never 0%.
pub fn percent(confidence: f64) -> String {
    let least = if confidence > 0.0 { 1.0 } else { 0.0 };
    let most = if confidence < 1.0 { 99.0 } else { 100.0 };
    format!("{:.0}%", (confidence * 100.0).round().clamp(least, most))
}

#[cfg(test)]
mod tests {
    use super::{is_command, one_line, percent};

    #[test]
    fn only_what_is_certain_is_a_hundred_per_cent() {
        let shown: Vec<String> = [0.0, 0.001, 0.5, 0.994, 0.997, 1.0].map(percent).into();
        assert_eq!(shown, ["0%", "1%", "50%", "99%", "99%", "100%"]);
    }

    #[test]
    fn a_command_is_what_a_shell_takes() {
        let commands = [
            "pip install 'numpy<2'",
            "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True",
            "nvidia-smi -q",
            "ulimit -c unlimited",
        ];
        let others = [
            "max_split_size_mb:N",
            "x = x.cuda()",
            "KeyError: 'RANK'",
            "python",
            "lr=1e-4",
            "pip install …",
        ];
        commands.iter().for_each(|text| assert!(is_command(text), "{text}"));
        others.iter().for_each(|text| assert!(!is_command(text), "{text}"));
    }

    #[test]
    fn the_head_of_a_traceback_proves_nothing() {
        let text = "Traceback (most recent call last):\n  File \"a.py\", line 3, in f\nValueError: no";
        assert_eq!(one_line(text).as_deref(), Some("ValueError: no"));
    }
}
