//! What `pack-plugins` leaves beside a component, and when it makes it anew: a build that embeds what an earlier
//! component or engine left would show something else than its sources say.

use std::fs;

use tempfile::TempDir;
use whycrash_engine::{PACKED, pack, precompile};

use crate::support::component;

#[test]
fn a_component_is_packed_again_where_what_is_there_was_made_of_something_else() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("small.wasm");
    let wasm = component("hostile/undeclared-import");
    fs::write(&path, &wasm).unwrap();
    let [packed, native] = PACKED.map(|extension| path.with_extension(extension));
    let unpacked = |path| zstd::decode_all(fs::File::open(path).unwrap()).unwrap();
    let touched = || fs::write(&native, "touched").unwrap();
    let is_touched = || fs::read(&native).unwrap() == b"touched";

    pack(&path).unwrap();
    assert_eq!(unpacked(&packed), wasm);
    assert_eq!(unpacked(&native), precompile(&wasm).unwrap());
    touched();
    pack(&path).unwrap();
    assert!(is_touched(), "it was there");

    // However new they look: an older program of the same folder may have made them since.
    let made_of = path.with_extension("made-of");
    fs::write(&made_of, "another engine\n").unwrap();
    pack(&path).unwrap();
    assert!(!is_touched(), "another engine made it");

    touched();
    fs::remove_file(&packed).unwrap();
    pack(&path).unwrap();
    assert!(!is_touched(), "half of it was gone");

    touched();
    fs::write(&path, b"\0asm\x0d\0\x01\0").unwrap();
    pack(&path).unwrap();
    assert!(!is_touched(), "the component changed");
    assert_eq!(unpacked(&packed), b"\0asm\x0d\0\x01\0");

    touched();
    fs::write(&path, "no component").unwrap();
    let refused = pack(&path).unwrap_err();
    assert!(format!("{refused:#}").contains("magic"), "{refused:#}");
    assert!(is_touched(), "what it was made of is not forgotten");
    let names = fs::read_dir(folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name());
    assert_eq!(
        names.count(),
        4,
        "the component, itself and its code packed, and of what"
    );
}
