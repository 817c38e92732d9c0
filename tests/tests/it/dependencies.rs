//! Dependencies point one way, and each heavy library is known to one room only (see ARCHITECTURE.md).

use std::path::Path;
use std::process::Command;

use serde::Deserialize;

/// Which crates of this project a crate may depend on.
const MAY_USE: &[(&str, &[&str])] = &[
    ("whycrash-frames", &[]),
    ("whycrash-model", &[]),
    ("whycrash-evidence", &["whycrash-frames", "whycrash-model"]),
    ("whycrash-symbols", &["whycrash-evidence"]),
    ("whycrash-reading", &["whycrash-evidence", "whycrash-symbols"]),
    ("whycrash-debuginfod", &["whycrash-symbols"]),
    ("whycrash-recognise", &[]),
    ("whycrash-engine", &[]),
    ("whycrash-words", &[]),
    ("whycrash-corpus", &[]),
    ("whycrash-catalog", &["whycrash-model", "whycrash-recognise"]),
    ("whycrash-attack", &["whycrash-hostile-plugins"]),
    (
        "whycrash-hostile-plugins",
        &["whycrash-plugin-host", "whycrash-evidence"],
    ),
    (
        "whycrash-bench",
        &[
            "whycrash-evidence",
            "whycrash-symbols",
            "whycrash-plugin-host",
            "whycrash-hostile-plugins",
        ],
    ),
    (
        "whycrash-plugin-host",
        &[
            "whycrash-frames",
            "whycrash-evidence",
            "whycrash-symbols",
            "whycrash-reading",
            "whycrash-catalog",
            "whycrash-engine",
        ],
    ),
    (
        "whycrash-server",
        &[
            "whycrash-evidence",
            "whycrash-symbols",
            "whycrash-reading",
            "whycrash-debuginfod",
            "whycrash-catalog",
            "whycrash-plugin-host",
            "whycrash-words",
        ],
    ),
    (
        "whycrash",
        &[
            "whycrash-evidence",
            "whycrash-symbols",
            "whycrash-debuginfod",
            "whycrash-catalog",
            "whycrash-plugin-host",
        ],
    ),
];

/// Libraries that only one room may know, and its crates that do.
const KNOWN_TO_ONE_ROOM: &[(&str, &[&str])] = &[
    // What compiles the built-in plugins is built before the host, which embeds them.
    ("wasmtime", &["whycrash-engine", "whycrash-plugin-host"]),
    ("gimli", &["whycrash-symbols"]),
    ("addr2line", &["whycrash-symbols"]),
    ("framehop", &["whycrash-symbols"]),
    ("actix-web", &["whycrash-server"]),
    ("actix-multipart", &["whycrash-server"]),
    ("object_store", &["whycrash-server"]),
    ("rusqlite", &["whycrash-server"]),
    ("tantivy", &["whycrash-server"]),
    ("cudarc", &["whycrash"]),
    ("nvml-wrapper", &["whycrash"]),
];

/// What is compiled to WebAssembly sees nothing of the house but the SDK, and what it shares with the readers.
const PLUGINS_MAY_USE: &[&str] = &["whycrash-plugin", "whycrash-frames", "whycrash-recognise"];

/// A crate of the project, as `cargo metadata` describes it.
#[derive(Deserialize)]
struct Package {
    name: String,
    dependencies: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Dependency {
    name: String,
    kind: Option<String>,
}

/// A workspace's packages.
fn packages(manifest: &str) -> Vec<Package> {
    #[derive(Deserialize)]
    struct Metadata {
        packages: Vec<Package>,
    }
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(manifest);
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--no-deps", "--manifest-path"])
        .arg(&manifest)
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Metadata = serde_json::from_slice(&output.stdout).expect("cargo describes the workspace");
    metadata.packages
}

/// The main workspace's packages, but for this one, which may see everything.
fn house() -> Vec<Package> {
    let mut packages = packages("Cargo.toml");
    packages.retain(|package| package.name != env!("CARGO_PKG_NAME"));
    packages
}

/// Names of what ends up in the crate or its build script; what only its tests use is its own affair.
fn dependencies(package: &Package) -> impl Iterator<Item = &str> {
    package
        .dependencies
        .iter()
        .filter(|d| d.kind.as_deref() != Some("dev"))
        .map(|d| d.name.as_str())
}

#[test]
fn crates_of_the_project_depend_in_one_direction() {
    let packages = house();
    for package in &packages {
        let (_, allowed) = MAY_USE
            .iter()
            .find(|(name, _)| *name == package.name)
            .unwrap_or_else(|| panic!("{}: say in this table which crates it may use", package.name));
        for dependency in dependencies(package).filter(|d| packages.iter().any(|p| p.name == *d)) {
            assert!(
                allowed.contains(&dependency),
                "{} must not depend on {dependency}",
                package.name
            );
        }
    }
}

#[test]
fn plugins_use_nothing_of_the_project_but_the_sdk() {
    for package in packages("plugins/builtin/Cargo.toml") {
        for dependency in dependencies(&package).filter(|d| d.starts_with("whycrash")) {
            assert!(
                PLUGINS_MAY_USE.contains(&dependency),
                "{} must not depend on {dependency}",
                package.name
            );
        }
    }
}

#[test]
fn heavy_libraries_are_known_to_one_room() {
    for package in house() {
        for dependency in dependencies(&package) {
            if let Some((_, owners)) = KNOWN_TO_ONE_ROOM.iter().find(|(library, _)| *library == dependency) {
                assert!(
                    owners.contains(&package.name.as_str()),
                    "only {owners:?} may know {dependency}, not {}",
                    package.name
                );
            }
        }
    }
}
