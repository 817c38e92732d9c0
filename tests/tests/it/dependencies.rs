//! Dependencies point one way, and each heavy library is known to one room only (see ARCHITECTURE.md).

use cargo_metadata::{DependencyKind, MetadataCommand, Package};

/// Which crates of this project a crate may depend on.
const MAY_USE: &[(&str, &[&str])] = &[
    ("whycrash-frames", &[]),
    ("whycrash-evidence", &["whycrash-frames"]),
    ("whycrash-symbols", &["whycrash-evidence"]),
    ("whycrash-debuginfod", &["whycrash-symbols"]),
    ("whycrash-recognise", &[]),
    ("whycrash-catalog", &["whycrash-evidence", "whycrash-recognise"]),
    ("whycrash-plugin", &["whycrash-frames"]),
    ("whycrash-attack", &[]),
    ("whycrash-bench", &["whycrash-evidence", "whycrash-symbols"]),
    (
        "whycrash-plugin-host",
        &["whycrash-evidence", "whycrash-symbols", "whycrash-catalog"],
    ),
    (
        "whycrash-server",
        &[
            "whycrash-evidence",
            "whycrash-symbols",
            "whycrash-debuginfod",
            "whycrash-catalog",
            "whycrash-plugin-host",
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

/// Libraries that only one crate may know.
const KNOWN_TO_ONE: &[(&str, &str)] = &[
    ("wasmtime", "whycrash-plugin-host"),
    ("gimli", "whycrash-symbols"),
    ("addr2line", "whycrash-symbols"),
    ("framehop", "whycrash-symbols"),
    ("actix-web", "whycrash-server"),
    ("actix-multipart", "whycrash-server"),
    ("object_store", "whycrash-server"),
    ("rusqlite", "whycrash-server"),
    ("tantivy", "whycrash-server"),
    ("cudarc", "whycrash"),
    ("nvml-wrapper", "whycrash"),
];

/// The workspace's packages, but for this one, which may see everything.
fn packages() -> Vec<Package> {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../Cargo.toml");
    let metadata = MetadataCommand::new()
        .manifest_path(root)
        .no_deps()
        .exec()
        .expect("cargo describes the workspace");
    metadata
        .packages
        .into_iter()
        .filter(|package| package.name.as_str() != env!("CARGO_PKG_NAME"))
        .collect()
}

/// Names of what ends up in the crate or its build script; what only its tests use is its own affair.
fn dependencies(package: &Package) -> impl Iterator<Item = &str> {
    package
        .dependencies
        .iter()
        .filter(|d| d.kind != DependencyKind::Development)
        .map(|d| d.name.as_str())
}

#[test]
fn crates_of_the_project_depend_in_one_direction() {
    let packages = packages();
    for package in &packages {
        let (_, allowed) = MAY_USE
            .iter()
            .find(|(name, _)| *name == package.name.as_str())
            .unwrap_or_else(|| panic!("{}: say in this table which crates it may use", package.name));
        for dependency in dependencies(package).filter(|d| packages.iter().any(|p| p.name.as_str() == *d)) {
            assert!(
                allowed.contains(&dependency),
                "{} must not depend on {dependency}",
                package.name
            );
        }
    }
}

#[test]
fn heavy_libraries_are_known_to_one_crate() {
    for package in packages() {
        for dependency in dependencies(&package) {
            if let Some((_, owner)) = KNOWN_TO_ONE.iter().find(|(library, _)| *library == dependency) {
                assert_eq!(package.name.as_str(), *owner, "only {owner} may know {dependency}");
            }
        }
    }
}
