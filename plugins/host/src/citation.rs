//! Does a citation hold: is the place there, and does it say what the plugin claims?

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};

use serde_json::Value;
use whycrash_evidence::model::{FramePlace, Place, ThreadId};

use crate::Citation;
use crate::case::Case;
use crate::sandbox::{cut, hex, types};

/// Lines that one citation may span.
const LINES: u64 = 200;
/// Bytes that one citation may quote.
const QUOTED_BYTES: u64 = 4 << 10;
/// How much of what stands at a place is told when a quote is wrong.
const TOLD: usize = 160;

/// The citation as the document shows it, or in words why it does not hold.
pub(crate) fn check(case: &Case, citation: &types::Citation) -> Result<Citation, String> {
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
        quote: citation.quote.clone(),
    })
}

fn lines(case: &Case, citation: &types::Citation, range: &types::LineRange) -> Result<Place, String> {
    let name = &citation.artifact;
    let text = case
        .artifact(name)
        .ok_or_else(|| format!("it cites {name:?}, and the report has no such artifact"))?
        .text
        .as_ref()
        .ok_or_else(|| format!("it cites lines of {name:?}, which is not text"))?;
    let (first, last) = (range.first, range.last);
    if first == 0 || last < first || last > text.count() || last - first >= LINES {
        return Err(format!(
            "it cites lines {first} to {last} of {name:?}, which has {} lines",
            text.count()
        ));
    }
    if citation.quote.trim().is_empty() {
        return Err(format!(
            "it cites line {first} of {name:?} without saying what stands there"
        ));
    }
    let standing = text
        .range(first, last)
        .map_err(|error| format!("line {first} of {name:?} can not be read: {error}"))?;
    let standing = standing.join("\n");
    if !contains(&standing, &citation.quote) {
        return Err(misquoted(
            &format!("line {first} of {name:?}"),
            &citation.quote,
            &standing,
        ));
    }
    Ok(Place::Line([first, last]))
}

fn frame(case: &Case, citation: &types::Citation, place: &types::FramePlace) -> Result<Place, String> {
    let name = &citation.artifact;
    let id = &place.thread;
    let thread = case
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
    let quote = citation.quote.trim();
    if !quote.is_empty() && !standing.iter().flatten().any(|text| contains(text, quote)) {
        let standing = standing.iter().flatten().copied().collect::<Vec<_>>().join(" ");
        return Err(misquoted(
            &format!("frame {} of thread {id}", place.index),
            quote,
            &standing,
        ));
    }
    Ok(Place::Frame(FramePlace {
        thread: ThreadId::clone(&thread.id),
        index: place.index as usize,
    }))
}

fn event(case: &Case, citation: &types::Citation, number: u32) -> Result<(String, Place), String> {
    let event = case
        .evidence
        .timeline
        .iter()
        .find(|event| event.event == number as usize)
        .ok_or_else(|| {
            format!(
                "it cites event {number}, and the timeline has {} events",
                case.evidence.timeline.len()
            )
        })?;
    if !citation.artifact.is_empty() && citation.artifact != event.artifact {
        return Err(format!(
            "it cites event {number} of {:?}, which {:?} tells",
            citation.artifact, event.artifact
        ));
    }
    if !contains(&event.text, &citation.quote) {
        return Err(misquoted(&format!("event {number}"), &citation.quote, &event.text));
    }
    Ok((event.artifact.clone(), Place::Event(event.event)))
}

fn bytes(case: &Case, citation: &types::Citation, range: &types::ByteRange) -> Result<Place, String> {
    let name = &citation.artifact;
    let artifact = case
        .artifact(name)
        .ok_or_else(|| format!("it cites {name:?}, and the report has no such artifact"))?;
    let (first, end) = (range.first, range.end);
    if end <= first || end > artifact.head.bytes {
        return Err(format!(
            "it cites bytes {first} to {end} of {name:?}, which has {} bytes",
            artifact.head.bytes
        ));
    }
    let quote = citation.quote.trim();
    if !quote.is_empty() {
        let standing = read(artifact, first, (end - first).min(QUOTED_BYTES))
            .map_err(|error| format!("bytes {first} to {end} of {name:?} can not be read: {error}"))?;
        let standing = hex(&standing);
        if !standing.contains(&quote.to_ascii_lowercase()) {
            return Err(misquoted(&format!("byte {first} of {name:?}"), quote, &standing));
        }
    }
    Ok(Place::Bytes([first, end]))
}

fn read(artifact: &crate::case::CaseArtifact, first: u64, count: u64) -> std::io::Result<Vec<u8>> {
    let mut file = File::open(&artifact.path)?;
    file.seek(SeekFrom::Start(first))?;
    let mut bytes = Vec::new();
    file.take(count).read_to_end(&mut bytes)?;
    Ok(bytes)
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
    // Scalars must be the same: `1` stands in `100` and means something else.
    let holds = match &value {
        Value::Array(_) | Value::Object(_) => contains(standing, quote),
        Value::String(_) => contains(standing, quote) || json == quote,
        _ => quote.is_empty() || standing == quote,
    };
    if !holds {
        return Err(misquoted(&format!("fact {:?}", cut(path, TOLD)), quote, standing));
    }
    Ok(Place::Fact(path.to_owned()))
}

/// Whether a quote stands in a text, line by line, white space at the ends of lines aside.
fn contains(standing: &str, quote: &str) -> bool {
    let trimmed = |text: &str| text.lines().map(str::trim).collect::<Vec<_>>().join("\n");
    trimmed(standing).contains(trimmed(quote).trim())
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
    use std::io::Write as _;
    use std::sync::LazyLock;

    use proptest::prelude::*;
    use whycrash_evidence::model::{Crash, Evidence, Frame, Thread};
    use whycrash_evidence::readers::Lines;
    use whycrash_evidence::{Artifact, ArtifactKind, Limits};

    use super::*;
    use crate::ArtifactHead;
    use crate::case::CaseArtifact;

    const TEXT: &str = "step 1\n  indented line  \n\u{fffd}\u{1F600} odd\n\nlast";

    static CASE: LazyLock<(tempfile::NamedTempFile, Case)> = LazyLock::new(|| {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(TEXT.as_bytes()).unwrap();
        let path = file.path().to_owned();
        let head = ArtifactHead {
            name: "a.log".to_owned(),
            kind: ArtifactKind::Log,
            bytes: TEXT.len() as u64,
            sha256: String::new(),
            problems: Vec::new(),
        };
        let text = Lines::open(&Artifact::new("a.log", &path), &Limits::default()).ok();
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
        };
        let crash = Crash {
            signal: Some("SIGSEGV".to_owned()),
            pid: Some(100),
            ..Crash::default()
        };
        let evidence = Evidence {
            crash: Some(crash),
            threads: vec![thread],
            ..Evidence::default()
        };
        (file, Case::new(vec![CaseArtifact { head, path, text }], evidence))
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
            (frame(0), "", true),
            (frame(0), "trainer::save", false),
            (frame(1), "", false),
            (fact("crash.signal"), "SIGSEGV", true),
            (fact("crash.signal"), "\"SIGSEGV\"", true),
            (fact("/crash/signal"), "SIGSEGV", true),
            (fact("crash.pid"), "100", true),
            (fact("crash.pid"), "10", false),
            (fact("crash.exit_code"), "", false),
            (fact("threads.0.frames.0.function"), "trainer::load", true),
            (bytes(0, 4), "73746570", true),
            (bytes(0, 4), "00", false),
            (bytes(0, 1000), "", false),
        ] {
            let claim = claim(at, quote);
            let checked = check(&CASE.1, &claim);
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
            let _ = check(&CASE.1, &types::Citation { artifact, at, quote });
        }
    }
}
