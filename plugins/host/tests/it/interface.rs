//! The plugin interface changes by decision only: components that were built against it must go on running.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use sha2::{Digest, Sha256};

/// The interface as it was released, by version: SHA-256 of its files, comments and white space aside. Whoever changes
/// a file decides: what is added gets the next minor version of the package (the host serves every version it ever
/// served), what is changed or taken away a folder of its own. Then the line here follows.
const RELEASED: &[(&str, &str, &str)] = &[(
    "v1",
    "1.0.0",
    "c6646be7cbd6e847ac021418bcafcc83a49e3e8e9bb150a3fe97ba5fcdea950b",
)];

/// The declarations of an interface, without what only people read.
fn declarations(folder: &Path) -> String {
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    let mut text = String::new();
    for file in files {
        let read = fs::read_to_string(&file).unwrap();
        let code = read.lines().map(|line| line.split("//").next().unwrap_or_default());
        text.extend(code.flat_map(str::split_whitespace).flat_map(|word| [word, " "]));
    }
    text
}

#[test]
fn the_interface_is_as_it_was_released() {
    for (folder, version, released) in RELEASED {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../wit").join(folder);
        let declarations = declarations(&path);
        assert!(
            declarations.contains(&format!("package whycrash:plugin@{version};")),
            "{folder}"
        );
        let digest = Sha256::digest(&declarations)
            .iter()
            .fold(String::new(), |mut text, byte| {
                let _ = write!(text, "{byte:02x}");
                text
            });
        assert_eq!(
            &digest, released,
            "plugins/wit/{folder} changed: decide which version that makes, and note it here"
        );
    }
}
