//! What a report comes to, in one of four kinds: a cause, a failure that nobody knows, nothing failed, could not be read.
//!
//! That nothing failed has to be earned: something that was read must show that there was a run, and best that it ended
//! well. Silence of what was not read, or of what is of no run, is no such reason.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use whycrash_evidence::model::{EndSign, Event, EventPayload, Place, TextEnd, ThreadId};
use whycrash_evidence::{ArtifactKind, CodeLine, Evidence, code_line};
use whycrash_reading::{ArtifactHead, ReportHead};

use crate::coverage::is_damage;
use crate::diagnosis::{Outcome, PluginRun};
use crate::document::Finding;

/// Files that a sentence names; of more it tells the number.
const NAMED: usize = 2;

/// Characters of a sentence.
const SENTENCE_CHARS: usize = 400;

/// What a log without an end leaves open.
const UNTOLD: &str = "how the run ended is not in it, and a process that is killed writes nothing";

/// What a report comes to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct Verdict {
    /// Which of the four.
    pub kind: VerdictKind,
    /// Why, in one sentence.
    pub why: String,
    /// The line of the program's own code at which it failed, where a stack has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<CodeLine>,
}

/// The four kinds of verdicts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum VerdictKind {
    /// A documented cause explains the report.
    Cause,
    /// Nothing failed, and there is a reason to believe so.
    NothingFailed,
    /// Nothing was found, and something was not looked into, or nothing that was tells of a run.
    Unreadable,
    /// Something failed, and nothing that is known here explains it.
    #[default]
    #[serde(other)]
    UnknownFailure,
}

impl Verdict {
    /// The verdict on a report of which this was found; a function of these alone.
    pub fn of(head: &ReportHead, evidence: &Evidence, findings: &[Finding], plugins: &[PluginRun]) -> Self {
        let kind = VerdictKind::of(head, evidence, findings);
        let perhaps = complaint(evidence).filter(|_| head.signature.key.is_empty());
        let why = match kind {
            VerdictKind::Cause => findings
                .first()
                .map(|best| first_sentence(&best.explanation))
                .unwrap_or_default(),
            VerdictKind::UnknownFailure => match perhaps {
                Some(line) => not_certain(line),
                None => not_explained(plugins),
            },
            VerdictKind::NothingFailed => Reason::of(head, evidence)
                .map(|reason| reason.sentence())
                .unwrap_or_default(),
            VerdictKind::Unreadable => unread(head, evidence),
        };
        let failed = matches!(kind, VerdictKind::Cause | VerdictKind::UnknownFailure);
        Self {
            kind,
            why: bounded(why),
            code: failed.then(|| code(evidence, findings)).flatten(),
        }
    }
}

impl VerdictKind {
    /// See [`Verdict::of`].
    pub fn of(head: &ReportHead, evidence: &Evidence, findings: &[Finding]) -> Self {
        if findings.first().is_some_and(|best| !best.last_resort) {
            return Self::Cause;
        }
        if !head.signature.key.is_empty() || !findings.is_empty() {
            return Self::UnknownFailure;
        }
        let reason = Reason::of(head, evidence);
        let ended_well = reason.as_ref().is_some_and(Reason::is_good_end);
        if !ended_well && complaint(evidence).is_some() {
            return Self::UnknownFailure;
        }
        match reason {
            Some(_) if head.artifacts.iter().all(|artifact| !is_unread(artifact, ended_well)) => Self::NothingFailed,
            _ => Self::Unreadable,
        }
    }
}

/// The title of a report in which nothing says that it failed, and for which no cause was found that is likely.
pub(crate) fn title(head: &ReportHead, evidence: &Evidence) -> String {
    let reason = Reason::of(head, evidence);
    match (VerdictKind::of(head, evidence, &[]), reason, complaint(evidence)) {
        (VerdictKind::NothingFailed, Some(reason), _) => format!("nothing failed{}", reason.in_short()),
        (VerdictKind::UnknownFailure, _, Some(line)) => format!("perhaps a failure: {}", line.text),
        _ => {
            let unread: Vec<&str> = unread_of(head).map(|artifact| artifact.name.as_str()).collect();
            match unread.as_slice() {
                [] => format!("could not be judged: {} of no run", tells(&names(&head.artifacts))),
                unread => format!("could not be read: {}", listed(unread)),
            }
        }
    }
}

/// The last line that says that something failed, where nothing more is known of it and nothing shows that it was survived.
fn complaint(evidence: &Evidence) -> Option<&Event> {
    evidence
        .timeline
        .iter()
        .rfind(|event| event.payload.is_complaint() && !event.survived)
}

/// The artifacts that were not looked into.
fn unread_of(head: &ReportHead) -> impl Iterator<Item = &ArtifactHead> {
    head.artifacts.iter().filter(|artifact| is_unread(artifact, false))
}

/// Whether an artifact was not looked into. That one is empty says nothing where the run is known to have ended well:
/// who has nothing to complain of leaves an empty file.
fn is_unread(artifact: &ArtifactHead, ended_well: bool) -> bool {
    match artifact.kind {
        ArtifactKind::Empty => !ended_well,
        ArtifactKind::Unknown => true,
        // A dump is written of what failed: one that tells of no failure, and has a problem, did not get so far.
        ArtifactKind::ElfCore | ArtifactKind::GpuCore | ArtifactKind::Minidump => !artifact.problems.is_empty(),
        kind => artifact
            .problems
            .iter()
            .any(|problem| problem.leaves_unread() || !kind.is_text() && is_damage(&problem.code)),
    }
}

/// Why one may believe that nothing failed.
enum Reason<'a> {
    /// Who started the process saw it end with 0.
    Exit(&'a Event),
    /// How texts end, the best one first, and how many failures were survived.
    Texts { ends: Vec<&'a TextEnd>, survived: usize },
    /// Artifacts of formats that tell of failures, and tell of none.
    Witnesses(Vec<&'a ArtifactHead>),
}

impl<'a> Reason<'a> {
    fn of(head: &'a ReportHead, evidence: &'a Evidence) -> Option<Self> {
        if let Some(event) = evidence.timeline.iter().find(|event| is_success(event)) {
            return Some(Self::Exit(event));
        }
        let ends: Vec<&TextEnd> = evidence
            .text_ends
            .iter()
            .filter(|end| end.sign != EndSign::None)
            .collect();
        if !ends.is_empty() {
            let survived = evidence.timeline.iter().filter(|event| event.survived).count();
            return Some(Self::Texts { ends, survived });
        }
        let tells = |artifact: &&ArtifactHead| match artifact.kind {
            // Of an archive its members tell.
            ArtifactKind::Unknown | ArtifactKind::Empty | ArtifactKind::Context | ArtifactKind::Archive => false,
            // Stacks that somebody asked a living process for, and messages of a machine.
            ArtifactKind::Log => {
                evidence.threads.iter().any(|thread| thread.artifact == artifact.name)
                    || evidence.timeline.iter().any(|event| event.artifact == artifact.name)
            }
            _ => !is_unread(artifact, false),
        };
        let witnesses: Vec<&ArtifactHead> = head.artifacts.iter().filter(tells).collect();
        (!witnesses.is_empty()).then_some(Self::Witnesses(witnesses))
    }

    fn is_good_end(&self) -> bool {
        match self {
            Self::Exit(_) => true,
            Self::Texts { ends, .. } => ends.first().is_some_and(|end| end.sign.is_good_end()),
            Self::Witnesses(_) => false,
        }
    }

    /// In a few words, behind `nothing failed`.
    fn in_short(&self) -> &'static str {
        match self {
            Self::Exit(_) => ": the process ended with exit code 0",
            Self::Texts { ends, .. } => match ends.first().map(|end| end.sign) {
                Some(EndSign::ExitZero) => ": the run ended with exit status 0",
                Some(EndSign::TestsPassed) => ": its tests passed",
                Some(EndSign::Finished) => ": the run came to its end",
                Some(EndSign::Progress) => " as far as the log goes: the run still went on there",
                _ => " as far as the log goes",
            },
            Self::Witnesses(_) => " as far as can be told",
        }
    }

    fn sentence(&self) -> String {
        match self {
            Self::Exit(event) => format!(
                "{} tells that the process ended with exit code 0, and nothing that was read tells of a failure.",
                event.artifact
            ),
            Self::Texts { ends, survived } => of_texts(ends, *survived),
            Self::Witnesses(artifacts) => {
                let read = names(artifacts.iter().copied());
                let verb = if read.len() == 1 { "tells" } else { "tell" };
                format!(
                    "{} {verb} of no failure; how a run ended is not in what was read.",
                    listed(&read)
                )
            }
        }
    }
}

fn of_texts(ends: &[&TextEnd], survived: usize) -> String {
    let Some(best) = ends.first() else {
        return String::new();
    };
    let (name, line) = (&best.artifact, line_of(best));
    let good = ends.iter().filter(|end| end.sign.is_good_end()).count();
    let who = match good {
        0 | 1 => format!("{name} says at line {line}"),
        good => format!("{good} of {} logs say, as {name} at line {line},", ends.len()),
    };
    let all = match ends {
        [one] => counted(one.lines, "line"),
        _ => format!(
            "{} of {} logs",
            counted(ends.iter().map(|end| end.lines).sum(), "line"),
            ends.len()
        ),
    };
    let none = match survived {
        0 => format!("none of its {all} tells of a failure"),
        1 => format!("of its {all} one tells of a failure that was survived"),
        several => format!("of its {all} {several} tell of failures that were survived"),
    };
    match best.sign {
        EndSign::ExitZero => format!("{who} that the run ended with exit status 0, and {none}."),
        EndSign::TestsPassed => format!("{who} that its tests passed, and {none}."),
        EndSign::Finished => format!("{who} that the run came to its end (\"{}\"), and {none}.", best.text),
        EndSign::Progress => {
            format!("The run goes on at line {line} of {name}, and {none}; {UNTOLD}.")
        }
        EndSign::LogLines | EndSign::None => {
            format!("{name} was read to its end, and {none}; {UNTOLD}.")
        }
    }
}

fn line_of(end: &TextEnd) -> u64 {
    match end.at {
        Some(Place::Line([line, _])) => line,
        _ => end.lines,
    }
}

fn is_success(event: &Event) -> bool {
    matches!(&event.payload, EventPayload::ProcessExit(exit) if exit.signal.is_none() && exit.exit_code == Some(0))
}

/// What could not be read, and what to do; of what is of no run, what to hand over instead.
fn unread(head: &ReportHead, evidence: &Evidence) -> String {
    let unread: Vec<&ArtifactHead> = unread_of(head).collect();
    let Some(first) = unread.first() else {
        let what = match head.artifacts.is_empty() {
            true => "There is no file to read".to_owned(),
            false => format!("{} neither of a failure nor of a run", tells(&names(&head.artifacts))),
        };
        return format!("{what}; hand over what the job printed, its standard error too, or its core dump.");
    };
    let why = first
        .problems
        .iter()
        .find(|problem| problem.leaves_unread())
        .or(first.problems.first());
    let why = why.map_or("nobody says why", |problem| problem.message.as_str());
    let others = match unread.len() {
        1 => String::new(),
        count => format!("; {} more could not be read", counted(count as u64 - 1, "file")),
    };
    let rest = match Reason::of(head, evidence) {
        Some(reason) if reason.is_good_end() => "; nothing failed in what could be read",
        Some(_) => "; nothing in what could be read tells of a failure",
        None => "",
    };
    format!("{}: {why}{others}{rest}.", first.name)
}

/// That a line only sounds like a failure.
fn not_certain(line: &Event) -> String {
    let at = match &line.at {
        Some(Place::Line([number, _])) => format!("line {number} of {}", line.artifact),
        _ => line.artifact.clone(),
    };
    format!("It is not certain that something failed: {at} says so, and nothing after it shows how the run ended.")
}

/// Why there is no cause.
fn not_explained(plugins: &[PluginRun]) -> String {
    if plugins.is_empty() {
        return "No cause was looked for, because no diagnosis plugin is installed (see whycrash doctor).".to_owned();
    }
    let not_run = plugins
        .iter()
        .filter(|run| matches!(run.outcome, Outcome::Failed | Outcome::Unavailable))
        .count();
    match not_run {
        0 => "Something failed, and no cause that is documented here explains it.".to_owned(),
        count => format!(
            "Something failed, and {} that may know the cause could not be run.",
            counted(count as u64, "plugin")
        ),
    }
}

/// The program's own line, best on a stack that the best finding cites.
fn code(evidence: &Evidence, findings: &[Finding]) -> Option<CodeLine> {
    let cited = findings
        .first()
        .map(|best| best.citations.as_slice())
        .unwrap_or_default();
    let threads: Vec<(&str, &ThreadId)> = cited
        .iter()
        .filter_map(|citation| match &citation.at {
            Place::Frame(frame) => Some((citation.artifact.as_str(), &frame.thread)),
            _ => None,
        })
        .collect();
    let events = cited.iter().flat_map(|citation| {
        let is_cited = |event: &&Event| match (&citation.at, &event.at) {
            (Place::Event(number), _) => event.event == *number,
            (Place::Line([first, last]), Some(Place::Line([from, to]))) => {
                event.artifact == citation.artifact && from <= last && first <= to
            }
            _ => false,
        };
        evidence.timeline.iter().filter(is_cited).map(|event| event.event)
    });
    code_line(evidence, &events.collect::<Vec<_>>(), &threads)
}

/// The first sentence of an explanation: up to a stop that a new sentence follows.
fn first_sentence(text: &str) -> String {
    let text = text.trim();
    let mut ends = text.match_indices(['.', '!', '?']).map(|(at, mark)| at + mark.len());
    let is_end = |end: &usize| {
        let (before, behind) = text.split_at(*end);
        let starts_anew = behind.starts_with(char::is_whitespace)
            && behind
                .trim_start()
                .starts_with(|first: char| first.is_uppercase() || first == '`' || first == '"');
        starts_anew
            && !["e.g.", "i.e.", "etc.", "vs."]
                .iter()
                .any(|short| before.ends_with(short))
            && is_closed(before)
    };
    ends.find(is_end)
        .map_or(text, |end| text.get(..end).unwrap_or(text))
        .to_owned()
}

/// Whether no quotation, and no parenthesis, is open at the end of a text.
fn is_closed(text: &str) -> bool {
    let count = |mark: char| text.matches(mark).count();
    count('"') % 2 == 0 && count('`') % 2 == 0 && count('(') == count(')')
}

fn bounded(text: String) -> String {
    match text.char_indices().nth(SENTENCE_CHARS) {
        Some((cut, _)) => format!("{}…", text.get(..cut).unwrap_or_default()),
        None => text,
    }
}

fn names<'h>(artifacts: impl IntoIterator<Item = &'h ArtifactHead>) -> Vec<&'h str> {
    artifacts.into_iter().map(|artifact| artifact.name.as_str()).collect()
}

/// `a.log tells`, `a.log and b.log tell`.
fn tells(names: &[&str]) -> String {
    let verb = if names.len() == 1 { "tells" } else { "tell" };
    format!("{} {verb}", listed(names))
}

/// `a`, `a and b`, `a, b and 5 more`.
fn listed(names: &[&str]) -> String {
    match names {
        [] => "nothing".to_owned(),
        [one] => (*one).to_owned(),
        [one, other] => format!("{one} and {other}"),
        many => {
            let named = many.get(..NAMED).unwrap_or_default().join(", ");
            format!("{named} and {} more", many.len() - NAMED)
        }
    }
}

fn counted(count: u64, thing: &str) -> String {
    let grouped = grouped(count);
    if count == 1 {
        format!("{grouped} {thing}")
    } else {
        format!("{grouped} {thing}s")
    }
}

/// `2,001`.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{first_sentence, grouped};

    #[test]
    fn an_explanation_is_cut_behind_its_first_sentence() {
        let cases = [
            ("One. Two.", "One."),
            ("Read train.py. Then that.", "Read train.py."),
            ("torch 2.1 is older. It lacks it.", "torch 2.1 is older."),
            (
                "It said \"Stop. Now.\" and ended. Rank 3 went first.",
                "It said \"Stop. Now.\" and ended.",
            ),
            ("Some (e.g. The one) fail. More.", "Some (e.g. The one) fail."),
            ("no stop at all", "no stop at all"),
        ];
        for (text, first) in cases {
            assert_eq!(first_sentence(text), first);
        }
    }

    #[test]
    fn thousands_are_told_apart() {
        assert_eq!(
            [0, 999, 1000, 2_001_000].map(grouped),
            ["0", "999", "1,000", "2,001,000"]
        );
    }
}
