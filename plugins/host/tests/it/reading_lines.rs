//! The readers of log lines that each language's library has: the same lines are read alike.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::every_call::{alike, example, natively};

fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/it/reading_lines")
        .join(name)
}

/// Has a program read each line of the table, and holds what it says against what the table says.
fn reads_them_alike(program: &mut Command) {
    let table = fs::read_to_string(script("lines.json")).unwrap();
    let table: Vec<Value> = serde_json::from_str(&table).unwrap();
    let lines: String = table
        .iter()
        .map(|row| format!("{}\n", row["line"].as_str().unwrap()))
        .collect();
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("lines.txt"), lines).unwrap();
    let output = program.arg("lines.txt").current_dir(folder.path()).output().unwrap();
    let wrong = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{wrong}");
    let said = String::from_utf8(output.stdout).unwrap();
    let said: Vec<Value> = said.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(said.len(), table.len());
    for (row, said) in table.iter().zip(said) {
        let text = row["line"].as_str().unwrap();
        let expected = json!([row["loss"], row["name"], row["value"], row["time"], row["number"]]);
        assert!(alike(&expected, &said), "{text}: {said} and not {expected}");
    }
}

#[test]
fn lines_are_read_in_rust_as_in_the_other_languages() {
    let mut cargo = natively();
    reads_them_alike(cargo.arg("--lines"));
}

#[test]
fn lines_are_read_in_python_as_in_the_other_languages() {
    let mut python = Command::new("python3");
    reads_them_alike(python.arg("-B").arg(script("lines.py")).arg(example("python")));
}

#[test]
fn lines_are_read_in_javascript_as_in_the_other_languages() {
    let mut node = Command::new("node");
    reads_them_alike(node.arg(script("lines.mjs")).arg(example("js")));
}

#[test]
fn lines_are_read_in_c_as_in_the_other_languages() {
    let folder = TempDir::new().unwrap();
    let program = folder.path().join("lines");
    let mut cc = Command::new("cc");
    cc.arg("-I")
        .arg(example("c"))
        .arg("-o")
        .arg(&program)
        .arg(script("lines.c"));
    assert!(cc.status().unwrap().success());
    reads_them_alike(&mut Command::new(program));
}
