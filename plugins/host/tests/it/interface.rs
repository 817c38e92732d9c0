//! The plugin interface changes by decision only: components that were built against it must go on running.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use wit_component::semver_check;
use wit_parser::Resolve;

/// The interface as it was released: version, folder, and SHA-256 of its files, comments and white space aside. Whoever
/// changes the newest decides: what is added makes the next minor version, for which its files are copied to a folder
/// in `released` first; what is changed or taken away makes another folder beside `v1`. Then a line here follows.
const RELEASED: &[(&str, &str, &str)] = &[
    (
        "1.0.0",
        "released/1.0.0",
        "c6646be7cbd6e847ac021418bcafcc83a49e3e8e9bb150a3fe97ba5fcdea950b",
    ),
    (
        "1.1.0",
        "v1",
        "79de846c55e26d222c1e2ff1191c761131c91a1689a2d76cba3d4891e63b0a26",
    ),
];

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../wit").join(name)
}

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
    for (version, name, released) in RELEASED {
        let declarations = declarations(&folder(name));
        assert!(
            declarations.contains(&format!("package whycrash:plugin@{version};")),
            "{name}"
        );
        let digest = Sha256::digest(&declarations)
            .iter()
            .fold(String::new(), |mut text, byte| {
                let _ = write!(text, "{byte:02x}");
                text
            });
        assert_eq!(
            &digest, released,
            "plugins/wit/{name} changed: decide which version that makes, and note it here"
        );
    }
}

#[test]
fn every_version_has_all_of_the_one_before_as_it_was() {
    for pair in RELEASED.windows(2) {
        let mut resolve = Resolve::default();
        let worlds: Vec<_> = pair
            .iter()
            .map(|(_, name, _)| {
                let (package, _) = resolve.push_dir(folder(name)).unwrap();
                resolve.select_world(&[package], Some("plugin")).unwrap()
            })
            .collect();
        semver_check(resolve, worlds[0], worlds[1])
            .unwrap_or_else(|error| panic!("{} does not grow out of {}: {error:#}", pair[1].0, pair[0].0));
    }
}

#[test]
fn no_function_is_called_like_an_interface() {
    // In Python an interface is a module, and inside of a class the method would hide it.
    for (version, name, _) in RELEASED {
        let mut resolve = Resolve::default();
        resolve.push_dir(folder(name)).unwrap();
        let interfaces: Vec<_> = resolve.interfaces.iter().map(|(_, interface)| interface).collect();
        let functions: Vec<&str> = interfaces
            .iter()
            .flat_map(|interface| interface.functions.keys())
            .filter_map(|function| function.rsplit('.').next())
            .collect();
        for interface in interfaces.iter().filter_map(|interface| interface.name.as_deref()) {
            assert!(!functions.contains(&interface), "{version}: {interface}");
        }
    }
}
