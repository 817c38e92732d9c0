//! The cores, programs and debuggers' answers in `tests/fixtures`.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use whycrash_evidence::{Artifact, Limits, Reading};
use whycrash_symbols::{Sources, Symbols};

pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")
}

pub fn core(case: &str) -> Artifact {
    Artifact::new("core.zst", folder().join(format!("{case}.core.zst")))
}

/// The programs, unpacked once for all tests of this process.
pub fn programs() -> &'static Path {
    static FOLDER: OnceLock<tempfile::TempDir> = OnceLock::new();
    let unpack = || {
        let to = tempfile::tempdir().expect("a temporary folder");
        for entry in std::fs::read_dir(folder().join("bin")).expect("the programs") {
            let path = entry.expect("a program").path();
            let bytes = zstd::decode_all(std::fs::File::open(&path).expect("a program")).expect("zstd");
            std::fs::write(to.path().join(path.file_stem().expect("a name")), bytes).expect("room for it");
        }
        to
    };
    FOLDER.get_or_init(unpack).path()
}

/// Reads a core with the programs as the only source of symbols: this machine's own files could be others.
pub fn read(case: &str) -> Reading {
    Symbols::new(Sources {
        folders: vec![programs().to_owned()],
        local_files: false,
        ..Sources::default()
    })
    .read(&core(case), &Limits::default())
}

/// What a tool that is run in a folder prints; `package` is what brings it.
pub fn run(folder: &Path, tool: &str, package: &str, arguments: &[&str]) -> String {
    let output = Command::new(tool).args(arguments).current_dir(folder).output();
    let output = output.unwrap_or_else(|error| panic!("can not run {tool} ({error}): apt-get install {package}"));
    assert!(
        output.status.success(),
        "{tool} {arguments:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8_lossy(&output.stdout).into_owned()
}
