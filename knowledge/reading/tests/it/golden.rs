//! Evidence changes only with its version.
//!
//! What a server has stored is current by that number alone: if readers find something else under the same number,
//! reports that were read before keep what they have, and a group of like crashes falls apart.

use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use whycrash_corpus::{Case, cases};
use whycrash_evidence::{Artifact, Limits};
use whycrash_reading::{Input, READER_VERSION, Reader, Report, ReportLimits};
use whycrash_symbols::Sources;

/// The day up to which cases count: those that come later change nothing of what was kept.
const UNTIL: &str = "2026-11-28";

/// What the corpus's cases are read as, and under which numbers.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Golden {
    reader: u32,
    /// SHA-256 of all evidence.
    evidence: String,
    signature: u32,
    /// SHA-256 of all signatures.
    signatures: String,
}

fn read(case: &Case, reader: &Reader) -> Report {
    reader.read(&Input {
        artifacts: case.artifacts().map(|(name, path)| Artifact::new(name, path)).collect(),
        ..Input::default()
    })
}

fn made() -> Golden {
    let mut cases = cases().expect("every folder is a case");
    cases.retain(|case| case.label.date.as_str() <= UNTIL);
    let symbols = Sources {
        folders: cases.iter().filter_map(Case::binaries).collect(),
        local_files: false,
        ..Sources::default()
    };
    let reader = Reader::new(symbols, Limits::default(), ReportLimits::default());
    let (mut evidence, mut signatures, mut signature) = (Sha256::new(), Sha256::new(), 0);
    for case in &cases {
        let report = read(case, &reader);
        evidence.update(serde_json::to_vec(&report.evidence).expect("evidence is JSON"));
        signatures.update(serde_json::to_vec(&report.head.signature).expect("a signature is JSON"));
        signature = report.head.signature.version.max(signature);
    }
    Golden {
        reader: READER_VERSION,
        evidence: hex::encode(evidence.finalize()),
        signature,
        signatures: hex::encode(signatures.finalize()),
    }
}

#[test]
fn evidence_and_signatures_change_only_with_their_versions() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/golden.toml");
    let made = made();
    let kept: Option<Golden> = fs::read_to_string(&path)
        .ok()
        .and_then(|text| toml::from_str(&text).ok());
    if let Some(kept) = &kept {
        assert!(
            kept.evidence == made.evidence || kept.reader < made.reader,
            "readers find something else in the corpus: raise READER_VERSION (knowledge/reading/src/stored.rs), then `make golden`"
        );
        assert!(
            kept.signatures == made.signatures || kept.signature < made.signature,
            "signatures are others than before: raise VERSION (knowledge/evidence/src/signature), then `make golden`"
        );
    }
    if std::env::var_os("WHYCRASH_MAKE_GOLDEN").is_some() {
        let text = toml::to_string(&made).expect("it is TOML");
        fs::write(
            &path,
            format!("# What the cases of the corpus are read as: written by `make golden`.\n{text}"),
        )
        .expect("it can be written");
        return;
    }
    assert_eq!(kept, Some(made), "run `make golden`");
}
