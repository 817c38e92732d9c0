//! `whycrash licenses`: what this program is built of, and under which licences.

use std::process::ExitCode;

use anyhow::Context as _;
use clap::ValueEnum;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::output::{self, Clean};

/// As `build.rs` gathered and packed it.
const GATHERED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/licenses.json.zst"));

/// Print the licences of what this program is built of
#[derive(Debug, clap::Args)]
pub struct Args {
    /// How to answer
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// How to answer.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
enum Format {
    /// For a person.
    #[default]
    Text,
    /// One JSON document.
    Json,
    /// A bill of materials (CycloneDX 1.5, JSON).
    Cyclonedx,
}

/// All that is linked into this program.
#[derive(Debug, Serialize, Deserialize)]
struct Licenses {
    packages: Vec<Package>,
    /// The texts of the licences, each once.
    texts: Vec<String>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Package {
    name: String,
    version: String,
    /// As an SPDX expression.
    license: Option<String>,
    repository: Option<String>,
    /// Who holds the rights, as the package says it.
    copyright: Vec<String>,
    /// Which of the texts go with it.
    texts: Vec<usize>,
}

/// Prints them.
pub fn execute(args: &Args) -> anyhow::Result<ExitCode> {
    let licenses: Option<Licenses> =
        serde_json::from_slice(&zstd::decode_all(GATHERED)?).context("the list of licences is damaged")?;
    let licenses = licenses.context("this build has no list of licences; build it where cargo has its packages")?;
    match args.format {
        Format::Text => output::print(&text(&licenses))?,
        Format::Json => output::answer(output::Format::Json, &licenses, text)?,
        Format::Cyclonedx => output::answer(output::Format::Json, &bill(&licenses), |_| Clean::default())?,
    }
    Ok(ExitCode::SUCCESS)
}

fn text(licenses: &Licenses) -> Clean {
    let mut text = Clean::default();
    for package in &licenses.packages {
        let licence = package.license.as_deref().unwrap_or("see below");
        text.push(format!("{} {}: {licence}", package.name, package.version));
        text.end_line();
        for holder in &package.copyright {
            text.push(format!("    {holder}"));
            text.end_line();
        }
    }
    for (index, licence) in licenses.texts.iter().enumerate() {
        let users = licenses
            .packages
            .iter()
            .filter(|package| package.texts.contains(&index));
        let names: Vec<&str> = users.map(|package| &*package.name).collect();
        text.end_line();
        text.push(Clean::lines(&format!("---- {}\n\n{licence}\n", names.join(", "))));
    }
    text
}

/// As CycloneDX 1.5 has it: <https://cyclonedx.org/docs/1.5/json/>.
fn bill(licenses: &Licenses) -> Value {
    let own = |package: &&Package| package.name == env!("CARGO_PKG_NAME");
    let program = licenses
        .packages
        .iter()
        .find(own)
        .map(|package| component(package, "application"));
    let libraries = licenses.packages.iter().filter(|package| !own(package));
    json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": program},
        "components": libraries.map(|package| component(package, "library")).collect::<Vec<_>>(),
    })
}

fn component(package: &Package, kind: &str) -> Value {
    let Package { name, version, .. } = package;
    let address = format!("pkg:cargo/{name}@{version}");
    let licences: Vec<Value> = package
        .license
        .iter()
        .map(|licence| json!({"expression": licence}))
        .collect();
    let places: Vec<Value> = package
        .repository
        .iter()
        .map(|url| json!({"type": "vcs", "url": url}))
        .collect();
    json!({
        "type": kind, "bom-ref": address, "name": name, "version": version, "purl": address,
        "licenses": licences, "externalReferences": places,
    })
}
