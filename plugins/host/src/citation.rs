//! Does a citation hold: is the place there, and does it say what the plugin claims?

use serde_json::Value;
use whycrash_evidence::model::{FramePlace, Place, ThreadId};

use crate::Citation;
use crate::case::Case;
use crate::sandbox::{clean, cut, types};

/// Lines that one citation may span.
const LINES: u64 = 200;
/// Letters and digits that a piece of a text must have to say something.
const TELLING: usize = 3;
/// How much of what stands at a place is told when a quote is wrong.
const TOLD: usize = 160;

/// Why a citation was not accepted, in words.
#[derive(Debug)]
pub(crate) enum Flaw {
    /// It does not hold.
    Wrong(String),
    /// The place can not be read now: it says nothing about the plugin.
    Unreadable(String),
}

impl From<String> for Flaw {
    fn from(why: String) -> Self {
        Self::Wrong(why)
    }
}

impl Flaw {
    /// The same, with words around.
    pub(crate) fn map(self, words: impl FnOnce(String) -> String) -> Self {
        match self {
            Self::Wrong(why) => Self::Wrong(words(why)),
            Self::Unreadable(why) => Self::Unreadable(words(why)),
        }
    }
}

/// The citation as the document shows it, or why there is none.
pub(crate) fn check(case: &Case, citation: &types::Citation) -> Result<Citation, Flaw> {
    let (artifact, at) = match &citation.at {
        types::Place::Line(range) => (citation.artifact.clone(), lines(case, citation, range)?),
        types::Place::Frame(place) => (citation.artifact.clone(), frame(case, citation, place)?),
        types::Place::Event(number) => event(case, citation, *number)?,
        types::Place::Bytes(range) => (citation.artifact.clone(), bytes(case, citation, range)?),
        types::Place::Fact(path) => (citation.artifact.clone(), fact(case, citation, path)?),
    };
    Ok(Citation {
        artifact,
        at,
        quote: clean::lines(&citation.quote),
    })
}

fn lines(case: &Case, citation: &types::Citation, range: &types::LineRange) -> Result<Place, Flaw> {
    let name = &citation.artifact;
    let text = case
        .report
        .artifact(name)
        .ok_or_else(|| format!("it cites {name:?}, and the report has no such artifact"))
        .map(|_| case.report.text(name))?
        .ok_or_else(|| format!("it cites lines of {name:?}, which is not text"))?;
    let (first, last) = (range.first, range.last);
    if first == 0 || last < first || last > text.count() || last - first >= LINES {
        let count = text.count();
        let wrong = format!("it cites lines {first} to {last} of {name:?}, which has {count} lines");
        return Err(Flaw::Wrong(wrong));
    }
    let standing = text
        .range(first, last)
        .map_err(|error| Flaw::Unreadable(format!("line {first} of {name:?} can not be read: {error}")))?;
    says(
        &format!("line {first} of {name:?}"),
        &standing.join("\n"),
        &citation.quote,
    )?;
    Ok(Place::Line([first, last]))
}

fn frame(case: &Case, citation: &types::Citation, place: &types::FramePlace) -> Result<Place, String> {
    let name = &citation.artifact;
    let id = &place.thread;
    let thread = case
        .report
        .evidence
        .threads
        .iter()
        .find(|thread| thread.artifact == *name && thread.id.to_string() == *id)
        .ok_or_else(|| format!("it cites a frame of thread {id} of {name:?}, and there is no such thread"))?;
    let frame = thread.frames.get(place.index as usize).ok_or_else(|| {
        format!(
            "it cites frame {} of thread {id}, which has {} frames",
            place.index,
            thread.frames.len()
        )
    })?;
    let standing = [
        frame.function.as_deref(),
        frame.file.as_deref(),
        frame.module.as_deref(),
    ];
    let standing: Vec<&str> = standing.into_iter().flatten().collect();
    let place_name = format!("frame {} of thread {id}", place.index);
    // A frame that has no name can only be pointed at.
    let is_pointed_at = standing.is_empty() && citation.quote.trim().is_empty();
    let is_said = |text: &&str| says(&place_name, text, &citation.quote).is_ok();
    if !is_pointed_at && !standing.iter().any(is_said) {
        let all = standing.join(" ");
        says(&place_name, &all, &citation.quote)?;
        return Err(misquoted(&place_name, &citation.quote, &all));
    }
    Ok(Place::Frame(FramePlace {
        thread: ThreadId::clone(&thread.id),
        index: place.index as usize,
    }))
}

fn event(case: &Case, citation: &types::Citation, number: u32) -> Result<(String, Place), String> {
    let event = case
        .report
        .evidence
        .timeline
        .iter()
        .find(|event| event.event == number as usize)
        .ok_or_else(|| {
            format!(
                "it cites event {number}, and the timeline has {} events",
                case.report.evidence.timeline.len()
            )
        })?;
    if !citation.artifact.is_empty() && citation.artifact != event.artifact {
        return Err(format!(
            "it cites event {number} of {:?}, which {:?} tells",
            citation.artifact, event.artifact
        ));
    }
    // An event that no text tells can only be pointed at.
    if !(event.text.trim().is_empty() && citation.quote.trim().is_empty()) {
        says(&format!("event {number}"), &event.text, &citation.quote)?;
    }
    Ok((event.artifact.clone(), Place::Event(event.event)))
}

/// No plugin is shown bytes, and the artifact may be gone: bytes can be cited where the evidence has something, for
/// what that says.
fn bytes(case: &Case, citation: &types::Citation, range: &types::ByteRange) -> Result<Place, String> {
    let name = &citation.artifact;
    let at = Place::Bytes([range.first, range.end]);
    let place = format!("bytes {} to {} of {name:?}", range.first, range.end);
    let mut events = case.report.evidence.timeline.iter();
    let event = events.find(|event| event.artifact == *name && event.at.as_ref() == Some(&at));
    let event = event.ok_or_else(|| format!("it cites {place}, and nothing was read there"))?;
    says(&place, &event.text, &citation.quote)?;
    Ok(at)
}

fn fact(case: &Case, citation: &types::Citation, path: &str) -> Result<Place, String> {
    let value = case.fact(path).ok_or_else(|| {
        format!(
            "it cites the fact {:?}, and the evidence has none there",
            cut(path, TOLD)
        )
    })?;
    let json = value.to_string();
    let standing = value.as_str().unwrap_or(&json);
    let quote = citation.quote.trim();
    let place = format!("fact {:?}", cut(path, TOLD));
    match &value {
        Value::Array(_) | Value::Object(_) | Value::String(_) if json == quote => {}
        Value::Array(_) | Value::Object(_) | Value::String(_) => says(&place, standing, quote)?,
        // Numbers and the like must be the same: `1` stands in `100` and means something else.
        _ if standing == quote => {}
        _ => return Err(misquoted(&place, quote, standing)),
    }
    Ok(Place::Fact(path.to_owned()))
}

/// Fails unless a quote stands in a text, line by line, white space at the ends of lines aside, and says something: it
/// is all that stands there, or has some letters and digits. One letter, or a brace, stands in almost any text.
fn says(place: &str, standing: &str, quote: &str) -> Result<(), String> {
    let trimmed = |text: &str| text.lines().map(str::trim).collect::<Vec<_>>().join("\n");
    let (whole, quoted) = (trimmed(standing), trimmed(quote));
    let (whole, quoted) = (whole.trim(), quoted.trim());
    if quoted.is_empty() {
        return Err(format!("it cites {place} without saying what stands there"));
    }
    if !whole.contains(quoted) {
        return Err(misquoted(place, quote, standing));
    }
    let telling = quoted.chars().filter(|c| c.is_alphanumeric()).count();
    if telling >= TELLING || (quoted == whole && telling > 0) {
        return Ok(());
    }
    Err(format!(
        "it cites {place} as saying {:?}, which is too little to prove anything",
        cut(quote, TOLD)
    ))
}

fn misquoted(place: &str, quote: &str, standing: &str) -> String {
    format!(
        "it cites {place} as saying {:?}; what stands there is {:?}",
        cut(quote, TOLD),
        cut(standing, TOLD)
    )
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, LazyLock};

    use proptest::prelude::*;
    use whycrash_evidence::model::{Crash, Evidence, Frame, Series, Thread};
    use whycrash_evidence::readers::Lines;
    use whycrash_evidence::{ArtifactKind, Limits};
    use whycrash_reading::{ArtifactHead, Report, ReportHead, Text};

    use super::*;

    const TEXT: &str = "step 1\n  indented line  \n\u{fffd}\u{1F600} odd\n\nlast";

    static CASE: LazyLock<Case> = LazyLock::new(|| {
        let head = ArtifactHead {
            name: "a.log".to_owned(),
            kind: ArtifactKind::Log,
            bytes: TEXT.len() as u64,
            sha256: String::new(),
            archive: None,
            problems: Vec::new(),
            sections: Vec::new(),
        };
        let lines = Lines::of_text(TEXT.into(), &Limits::default()).unwrap();
        let frame = Frame {
            function: Some("trainer::load".to_owned()),
            ..Frame::default()
        };
        let thread = Thread {
            id: ThreadId::Os(7),
            name: None,
            rank: None,
            pid: None,
            crashed: true,
            artifact: "a.log".to_owned(),
            frames: vec![frame],
            frames_omitted: None,
            holds_gil: false,
            activity: None,
        };
        let crash = Crash {
            signal: Some("SIGSEGV".to_owned()),
            pid: Some(100),
            ..Crash::default()
        };
        let event = serde_json::json!({
            "event": 0, "kind": "python-exception", "detail": {}, "text": "device-side assert", "artifact": "a.log", "at": {"bytes": [0, 4]},
        });
        let event = serde_json::from_value(event).unwrap();
        let series = |name: &str, count| Series {
            name: name.to_owned(),
            count,
            ..Series::default()
        };
        let evidence = Evidence {
            crash: Some(crash),
            series: vec![series("opt", 10), series("opt.lr", 20), series("train/loss", 30)],
            threads: vec![thread],
            timeline: vec![event],
            ..Evidence::default()
        };
        let report = Report {
            head: ReportHead {
                artifacts: vec![head],
                ..ReportHead::default()
            },
            evidence,
            texts: vec![Text::new("a.log", lines)],
            ..Report::default()
        };
        Case::new(Arc::new(report))
    });

    fn claim(at: types::Place, quote: &str) -> types::Citation {
        types::Citation {
            artifact: "a.log".to_owned(),
            at,
            quote: quote.to_owned(),
        }
    }

    fn line(first: u64, last: u64) -> types::Place {
        types::Place::Line(types::LineRange { first, last })
    }

    fn frame(index: u32) -> types::Place {
        types::Place::Frame(types::FramePlace {
            thread: "7".to_owned(),
            index,
        })
    }

    fn fact(path: &str) -> types::Place {
        types::Place::Fact(path.to_owned())
    }

    fn bytes(first: u64, end: u64) -> types::Place {
        types::Place::Bytes(types::ByteRange { first, end })
    }

    #[test]
    fn what_stands_there_holds_and_nothing_else() {
        for (at, quote, holds) in [
            (line(1, 1), "step 1", true),
            (line(1, 2), "step 1\nindented line", true),
            (line(2, 2), " indented line", true),
            (line(2, 2), "", false),
            (line(2, 2), "step 1", false),
            (line(5, 5), "last", true),
            (line(5, 6), "last", false),
            (frame(0), "trainer::load", true),
            (frame(0), "", false),
            (frame(0), "l", false),
            (line(1, 1), "s", false),
            (line(1, 1), "\u{200b}", false),
            (line(1, 2), "\n", false),
            (frame(0), "trainer::save", false),
            (frame(1), "", false),
            (fact("crash.signal"), "SIGSEGV", true),
            (fact("crash.signal"), "\"SIGSEGV\"", true),
            (fact("/crash/signal"), "SIGSEGV", true),
            (fact("crash.pid"), "100", true),
            (fact("crash.pid"), "10", false),
            (fact("crash.exit_code"), "", false),
            (fact("series.2.count"), "30", true),
            (fact("series.train/loss.count"), "30", true),
            (fact("series.opt.count"), "10", true),
            (fact("series.opt.lr.count"), "20", true),
            (fact("series.opt.lr.name"), "opt.lr", true),
            (fact("series.train.count"), "30", false),
            (fact("threads.0.frames.0.function"), "trainer::load", true),
            (fact("crash"), "{", false),
            (fact("crash"), "}", false),
            (fact("crash"), "", false),
            (fact("crash"), "\"pid\":100", true),
            (fact("crash.signal"), "S", false),
            (fact("crash.pid"), "", false),
            (bytes(0, 4), "device-side assert", true),
            (bytes(0, 4), "", false),
            (bytes(0, 4), "d", false),
            (bytes(0, 5), "device-side assert", false),
            (bytes(0, 1000), "", false),
        ] {
            let claim = claim(at, quote);
            let checked = check(&CASE, &claim);
            assert_eq!(checked.is_ok(), holds, "{claim:?}: {checked:?}");
        }
    }

    fn place() -> impl Strategy<Value = types::Place> {
        prop_oneof![
            (any::<u64>(), any::<u64>()).prop_map(|(first, last)| line(first, last)),
            (0..9_u64, 0..9_u64).prop_map(|(first, last)| line(first, last)),
            (".*", any::<u32>()).prop_map(|(thread, index)| types::Place::Frame(types::FramePlace { thread, index })),
            any::<u32>().prop_map(types::Place::Event),
            (any::<u64>(), any::<u64>()).prop_map(|(first, end)| bytes(first, end)),
            (0..99_u64, 0..99_u64).prop_map(|(first, end)| bytes(first, end)),
            "[a-z0-9./~_-]{0,40}".prop_map(types::Place::Fact),
            ".*".prop_map(types::Place::Fact),
        ]
    }

    proptest! {
        #[test]
        fn no_claim_is_too_odd_to_be_checked(at in place(), quote in ".*", artifact in prop_oneof![Just("a.log".to_owned()), ".*"]) {
            let _ = check(&CASE, &types::Citation { artifact, at, quote });
        }
    }
}
