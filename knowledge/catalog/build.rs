//! Checks every cause document and packs them for `Catalog::embedded`.

use std::path::{Path, PathBuf};
use std::{env, fs, process};

#[allow(dead_code)]
#[path = "src/cause.rs"]
mod cause;
#[allow(dead_code)]
#[path = "src/check.rs"]
mod check;
#[allow(dead_code)]
#[path = "src/parse.rs"]
mod parse;
#[allow(dead_code)]
#[path = "src/suggestion.rs"]
mod suggestion;

/// How well they are packed: that is done once.
const LEVEL: i32 = 19;

fn main() {
    // Asked for when it runs, not when it is built: one target directory may serve several checkouts.
    let here = env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets CARGO_MANIFEST_DIR");
    let folder = Path::new(&here).join("../causes");
    println!("cargo::rerun-if-changed={}", folder.display());

    let texts: Vec<(PathBuf, String)> = paths(&folder)
        .into_iter()
        .map(|path| {
            let text = fs::read_to_string(&path).expect("a document that was just listed can be read");
            (path, text)
        })
        .collect();
    let mut documents = Vec::new();
    let mut faults = Vec::new();
    for (path, text) in &texts {
        let file = path.file_name().unwrap_or_default().to_string_lossy();
        match parse::parse(&file, text) {
            Ok(cause) => documents.push((cause, text.as_str())),
            Err(fault) => faults.push(fault),
        }
    }
    faults.extend(check::check(&documents));
    if !faults.is_empty() {
        for fault in &faults {
            println!("cargo::error={fault}");
        }
        process::exit(1);
    }
    // In the form that is read fastest: every program that explains anything begins with this.
    let causes: Vec<&cause::Cause> = documents.iter().map(|(cause, _)| cause).collect();
    let json = serde_json::to_vec(&causes).expect("a cause can be written as JSON");
    let packed = zstd::bulk::compress(&json, LEVEL).expect("there is memory for it");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR")).join("causes.zst");
    fs::write(out, packed).expect("cargo's OUT_DIR is writable");
}

/// The documents, by name, so that the build is the same everywhere. `README.md` explains the folder.
fn paths(folder: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = fs::read_dir(folder)
        .expect("the folder of cause documents stands beside this crate")
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|e| e == "md") && !path.ends_with("README.md"))
        .collect();
    paths.sort();
    paths
}
