//! Build ids of the binaries that a core maps, beside those read from the core's bytes alone (`X.coreinfo.json`).

use anyhow::Result;
use serde_json::Value;
use whycrash_bench::artifacts;
use whycrash_evidence::model::Module;
use whycrash_evidence::{Artifact, Limits};

use crate::Context;
use crate::cores::{name_of, with_truth};
use crate::table::{Score, Table};

pub fn compare(context: &Context) -> Result<Table> {
    let mut table = Table::new(
        "core dumps, binaries: the notes in the core",
        &[
            ("binaries", Some(100.0)),
            ("build ids", Some(100.0)),
            ("ours also theirs", Some(100.0)),
        ],
    );
    for core in with_truth(&context.artifacts.path("made"), "coreinfo.json")? {
        let name = name_of(&core);
        if !context.wants(&name) {
            continue;
        }
        let truth = artifacts::json(&core.with_extension("coreinfo.json"))?;
        let modules = whycrash_evidence::read(&Artifact::new("core", &core), &Limits::default())
            .evidence
            .modules;
        table.row(name, scores(&truth, &modules, context.explains()));
    }
    table.note(
        "binaries are compared by path and first address; a binary whose note the core lacks has no id in either",
    );
    Ok(table)
}

fn scores(truth: &Value, modules: &[Module], explain: bool) -> [Score; 3] {
    let [mut binaries, mut ids, mut invented] = [Score::default(); 3];
    let mapped = truth["modules"].as_array().map_or(&[][..], Vec::as_slice);
    let has_header = |module: &&Value| module["elf_header_in_core"] == true;
    let headers = mapped.iter().any(|module| has_header(&module));
    for expected in mapped.iter().filter(|module| !headers || has_header(module)) {
        let path = expected["path"].as_str().unwrap_or_default();
        let base = expected["base"].as_str().unwrap_or_default();
        let found = modules
            .iter()
            .find(|module| module.path == path && module.start.to_string() == base);
        binaries.add(Score::of(found.is_some()));
        let wanted = expected["build_id"].as_str();
        let id = found.and_then(|module| module.build_id.as_deref());
        if wanted.is_some() {
            ids.add(Score::of(id == wanted));
        }
        if id.is_some() {
            invented.add(Score::of(id == wanted));
        }
        if explain && (found.is_none() || id != wanted) {
            println!("  {path} at {base}: {wanted:?} expected, {id:?} found");
        }
    }
    [binaries, ids, invented]
}
