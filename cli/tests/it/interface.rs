//! The plugin interface, as it is printed.

use std::fs;
use std::path::Path;

use crate::support::{Home, errors};

#[test]
fn the_reference_is_what_the_interface_says() {
    let output = Home::new()
        .whycrash(&["plugin", "reference"])
        .output()
        .expect("it runs");
    assert!(output.status.success(), "{}", errors(&output));
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/plugin-reference.md");
    let written = fs::read_to_string(path).unwrap_or_default();
    assert!(
        written.as_bytes() == output.stdout,
        "docs/plugin-reference.md is out of date: `whycrash plugin reference > docs/plugin-reference.md` writes it"
    );
}
