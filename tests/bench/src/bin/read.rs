//! Reads the artifacts of one crash and prints their evidence as JSON: what `make bench` measures, as a process of its
//! own that does the whole job. Binaries and debug files are looked for in `$WHYCRASH_SYMBOLS` and on this machine;
//! with `$WHYCRASH_NO_LOCAL_FILES` in the former alone.

use std::io::Write;
use std::path::PathBuf;

use serde_json::Map;
use whycrash_evidence::{Artifact, Limits, merge};
use whycrash_symbols::{Sources, Symbols};

/// Set to compare with a tool that knows symbol folders only.
const NO_LOCAL_FILES: &str = "WHYCRASH_NO_LOCAL_FILES";

fn main() -> anyhow::Result<()> {
    let folders = std::env::var_os("WHYCRASH_SYMBOLS").unwrap_or_default();
    let symbols = Symbols::new(Sources {
        folders: std::env::split_paths(&folders).collect(),
        local_files: std::env::var_os(NO_LOCAL_FILES).is_none(),
        ..Sources::default()
    });
    let mut parts = Vec::new();
    for path in std::env::args_os().skip(1).map(PathBuf::from) {
        let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
        let reading = symbols.read(&Artifact::new(name, &path), &Limits::default());
        for problem in &reading.problems {
            eprintln!("{}: {}", path.display(), problem.message);
        }
        parts.push(reading.evidence);
    }
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    serde_json::to_writer(&mut out, &merge(parts, Map::new()))?;
    out.write_all(b"\n")?;
    Ok(out.flush()?)
}
