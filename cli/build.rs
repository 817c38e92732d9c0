//! Gathers the licences of what this program is built of, for `whycrash licenses`.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use serde_json::{Value, json};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// How well they are packed: that is done once.
const LEVEL: i32 = 19;

fn main() -> Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=../Cargo.lock");
    let gathered = metadata().and_then(|metadata| gather(&metadata));
    let licences = gathered.unwrap_or_else(|error| {
        println!("cargo::warning=`whycrash licenses` will have nothing to tell: {error}");
        Value::Null
    });
    let out = PathBuf::from(env::var("OUT_DIR")?);
    let packed = zstd::bulk::compress(licences.to_string().as_bytes(), LEVEL)?;
    fs::write(out.join("licenses.json.zst"), packed)?;
    Ok(())
}

/// What cargo knows of all packages, as this one is built.
fn metadata() -> Result<Value> {
    let target = env::var("TARGET")?;
    let mut cargo = Command::new(env::var("CARGO")?);
    cargo.args([
        "metadata",
        "--format-version",
        "1",
        "--locked",
        "--filter-platform",
        &target,
    ]);
    cargo.arg("--no-default-features");
    if env::var_os("CARGO_FEATURE_DIAGNOSIS").is_some() {
        cargo.args(["--features", "diagnosis"]);
    }
    let output = cargo.output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).trim().replace('\n', " ").into());
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// Each package with its licence, who holds the rights, and which texts go with it; and those texts, each once.
fn gather(metadata: &Value) -> Result<Value> {
    let own = env::var("CARGO_PKG_NAME")?;
    let packages = metadata["packages"].as_array().ok_or("cargo names no packages")?;
    let by_id: BTreeMap<&str, &Value> = packages
        .iter()
        .filter_map(|package| Some((text(package, "id")?, package)))
        .collect();
    let is_own = |(_, package): &(&&str, &&Value)| package["name"] == own;
    let (root, _) = by_id.iter().find(is_own).ok_or("it is not among the packages")?;
    let mut texts = Vec::new();
    let mut gathered = Vec::new();
    for id in linked(metadata, root) {
        let Some(package) = by_id.get(id) else { continue };
        let folder = Path::new(text(package, "manifest_path").unwrap_or_default()).parent();
        let (mut own_texts, mut rights) = (BTreeSet::new(), BTreeSet::new());
        for file in folder.into_iter().flat_map(licence_files) {
            let (holders, rest) = split(&String::from_utf8_lossy(&fs::read(&file)?));
            rights.extend(holders);
            let index = texts.iter().position(|known| *known == rest).unwrap_or_else(|| {
                texts.push(rest);
                texts.len() - 1
            });
            own_texts.insert(index);
        }
        gathered.push(json!({
            "name": package["name"], "version": package["version"], "license": package["license"],
            "repository": package["repository"], "copyright": rights, "texts": own_texts,
        }));
    }
    gathered.sort_by_key(|package| package["name"].to_string());
    Ok(json!({"packages": gathered, "texts": texts}))
}

/// The packages that are linked into one: what it depends on, but not for its tests or its building.
fn linked<'a>(metadata: &'a Value, root: &'a str) -> BTreeSet<&'a str> {
    let nodes = metadata["resolve"]["nodes"].as_array().into_iter().flatten();
    let nodes: BTreeMap<&str, &Value> = nodes.filter_map(|node| Some((text(node, "id")?, node))).collect();
    let mut found = BTreeSet::new();
    let mut next = vec![root];
    while let Some(id) = next.pop() {
        if !found.insert(id) {
            continue;
        }
        let dependencies = nodes.get(id).and_then(|node| node["deps"].as_array());
        let is_linked = |dependency: &&Value| {
            let kinds = dependency["dep_kinds"].as_array();
            kinds.is_some_and(|kinds| kinds.iter().any(|kind| kind["kind"].is_null()))
        };
        let linked = dependencies.into_iter().flatten().filter(is_linked);
        next.extend(linked.filter_map(|dependency| text(dependency, "pkg")));
    }
    found
}

fn licence_files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let is_licence = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
        let kinds = ["license", "licence", "copying", "copyright", "notice", "unlicense"];
        path.is_file() && kinds.iter().any(|kind| name.starts_with(kind))
    };
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(is_licence).collect();
    files.sort();
    files
}

/// The lines that say whose it is, and the rest, which is the same in many packages but for how it is laid out.
fn split(licence: &str) -> (Vec<String>, String) {
    let is_right = |line: &&str| {
        let line = line.to_lowercase();
        let mark = ["copyright (c)", "copyright ©", "copyright", "(c)", "©"]
            .iter()
            .find_map(|mark| line.strip_prefix(mark));
        mark.is_some_and(|rest| rest.trim_start().starts_with(['1', '2']))
    };
    let (rights, rest): (Vec<&str>, Vec<&str>) = licence.lines().map(str::trim).partition(is_right);
    let paragraphs = rest.split(|line| line.is_empty()).filter(|lines| !lines.is_empty());
    let text: Vec<String> = paragraphs.map(|lines| lines.join(" ")).collect();
    (rights.into_iter().map(str::to_owned).collect(), text.join("\n\n"))
}

fn text<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    value[key].as_str()
}
