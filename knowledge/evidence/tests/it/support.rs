//! Artifacts on disk for the tests.

use std::io::Write;

use whycrash_evidence::Artifact;

/// An artifact with these bytes; the file lives as long as the second value.
pub fn artifact(name: &str, bytes: &[u8]) -> (Artifact, tempfile::NamedTempFile) {
    let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
    file.write_all(bytes).expect("written");
    (Artifact::new(name, file.path()), file)
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
