//! `first-try FOLDER…`: writes down what is said of new cases before anything is made for them. A case that has it keeps
//! what it has.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, ensure};
use whycrash_catalog::Catalog;
use whycrash_corpus::Case;
use whycrash_plugin_host::calibration;
use whycrash_tests::judge::{diagnose, diagnoser, found};

fn main() -> anyhow::Result<()> {
    let folders: Vec<String> = std::env::args().skip(1).collect();
    ensure!(!folders.is_empty(), "usage: first-try FOLDER…");
    let commit = said_by("git", &["rev-parse", "--short=12", "HEAD"])?;
    let date = said_by("date", &["-u", "+%F"])?;
    let catalog = Catalog::embedded();
    let diagnoser = diagnoser(&[])?;
    for folder in &folders {
        let path = Path::new(folder).join("case.toml");
        let text = fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))?;
        if text.contains("\nfirst = ") {
            continue;
        }
        let origin = if text.contains("\norigin = ") {
            ""
        } else {
            "origin = \"written\"\n"
        };
        let dated = format!("{}\ndate = {date:?}\n{origin}", text.trim_end());
        fs::write(&path, &dated)?;
        let document = diagnose(&Case::read(Path::new(folder))?, &diagnoser);
        let first = match found(&document, &catalog).first() {
            Some((cause, confidence)) => {
                let said = calibration::said(*confidence);
                format!("cause = {cause:?}, confidence = {confidence:.3}, said = {said:.3}, commit = {commit:?}")
            }
            None => format!("cause = \"\", commit = {commit:?}"),
        };
        fs::write(&path, format!("{dated}first = {{ {first} }}\n"))?;
    }
    Ok(())
}

/// The line that a program prints.
fn said_by(program: &str, arguments: &[&str]) -> anyhow::Result<String> {
    let output = Command::new(program)
        .args(arguments)
        .output()
        .with_context(|| format!("run {program}"))?;
    ensure!(
        output.status.success(),
        "{program} failed: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}
