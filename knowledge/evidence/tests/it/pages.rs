//! Memory snapshots inside the HTML pages that plot them.

use std::path::PathBuf;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use whycrash_evidence::{ArtifactKind, Limits, Reading, read};

use crate::support::{artifact, compressed};

const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/memory_snapshots");

fn fixture(name: &str) -> Vec<u8> {
    std::fs::read(PathBuf::from(FIXTURES).join(format!("{name}.pickle"))).unwrap()
}

/// A page as PyTorch plots them: the pickle, filled up with one to three NUL bytes, in a list of files.
fn page(pickle: &[u8], before: &str) -> String {
    let mut data = pickle.to_vec();
    data.resize(data.len() + 3 - data.len() % 3, 0);
    let data = STANDARD.encode(data);
    format!("{before}<script>const files = [{{\"name\": \"a.pickle\", \"base64\": \"{data}\"}}]\nshow(files)</script>")
}

fn reading(bytes: &[u8]) -> Reading {
    let (artifact, _keep) = artifact("plot.html", bytes);
    read(&artifact, &Limits::default())
}

#[test]
fn a_page_says_what_its_pickle_says() {
    for name in [
        "torch_1_13",
        "torch_2_1",
        "torch_2_15",
        "bare_segments",
        "freed_after_oom",
    ] {
        let pickle = fixture(name);
        let plain = reading(&pickle);
        for before in [
            "\n<!DOCTYPE html>\n<html><body>",
            "<html>",
            &format!("<html><style>{}</style>", " ".repeat(40_000)),
        ] {
            let page = reading(page(&pickle, before).as_bytes());
            assert_eq!(
                (page.kind, &page.problems),
                (Some(ArtifactKind::MemorySnapshot), &plain.problems)
            );
            assert_eq!(page.evidence, plain.evidence, "{name}");
        }
    }
}

#[test]
fn pages_may_be_wrapped_or_packed() {
    let pickle = fixture("torch_2_15");
    let plain = reading(&pickle).evidence;
    let page = page(&pickle, "<html>");
    let (head, data) = page.split_at(page.find("gA").unwrap());
    let wrapped: String = data.split_inclusive('A').collect::<Vec<_>>().join("\r\n");
    assert_eq!(reading(format!("{head}{wrapped}").as_bytes()).evidence, plain);
    for (name, packed) in compressed(page.as_bytes()) {
        assert_eq!(reading(&packed).evidence, plain, "{name}");
    }
}

#[test]
fn torn_pages_give_what_they_have() {
    let pickle = fixture("torch_2_15");
    let page = page(&pickle, "<html>");
    let start = page.find("gA").unwrap();
    for length in (start + 4000..page.len() - 200).step_by(1777) {
        let reading = reading(&page.as_bytes()[..length]);
        let codes: Vec<&str> = reading.problems.iter().map(|problem| problem.code.as_str()).collect();
        assert_eq!(
            (reading.kind, codes),
            (Some(ArtifactKind::MemorySnapshot), vec!["truncated"])
        );
    }
    let mut damaged = page.into_bytes();
    let at = damaged.len() - 900;
    damaged[at] = b'!';
    assert!(!reading(&damaged).problems.is_empty());
}

#[test]
fn other_pages_are_text() {
    for text in [
        "<html><body>\"base64\": \"aGVsbG8=\"</body></html>",
        "<html>\"base64\": 7</html>",
        "<html>\"base64\"",
        "<log>nothing here</log>\n",
        "the word \"base64\": \"gASV\" in a log\n",
    ] {
        assert_eq!(reading(text.as_bytes()).kind, Some(ArtifactKind::Log), "{text}");
    }
}
