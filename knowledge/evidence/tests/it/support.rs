//! Artifacts on disk for the tests.

use std::io::Write;

use whycrash_evidence::model::{EventPayload, PythonException};
use whycrash_evidence::{Artifact, Evidence, Limits, read};

/// An artifact with these bytes; the file lives as long as the second value.
pub fn artifact(name: &str, bytes: &[u8]) -> (Artifact, tempfile::NamedTempFile) {
    let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
    file.write_all(bytes).expect("written");
    (Artifact::new(name, file.path()), file)
}

/// What is read from a text of this name.
pub fn evidence_of(name: &str, text: &str) -> Evidence {
    let (artifact, _keep) = artifact(name, text.as_bytes());
    read(&artifact, &Limits::default()).evidence
}

/// The exceptions of Python programs in the order of the timeline.
pub fn exceptions(evidence: &Evidence) -> Vec<&PythonException> {
    let exceptions = evidence.timeline.iter().filter_map(|event| match &event.payload {
        EventPayload::PythonException(exception) => Some(exception),
        _ => None,
    });
    exceptions.collect()
}

/// The bytes, compressed with each algorithm that artifacts come in.
pub fn compressed(bytes: &[u8]) -> Vec<(&'static str, Vec<u8>)> {
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(bytes).expect("gzip");
    let mut lz4 = lz4_flex::frame::FrameEncoder::new(Vec::new());
    lz4.write_all(bytes).expect("lz4");
    vec![
        ("zstd", zstd::encode_all(bytes, 1).expect("zstd")),
        ("gzip", gzip.finish().expect("gzip")),
        ("lz4", lz4.finish().expect("lz4")),
    ]
}
