//! Diagnoses labelled cases with what is built in, the same wherever that happens.

use serde_json::Map;
use whycrash_catalog::Catalog;
use whycrash_corpus::Case;
use whycrash_evidence::Artifact;
use whycrash_plugin_host::{Diagnoser, Document, Input, Settings};
use whycrash_symbols::Sources;

/// The built-in plugins and pages, with the binaries of these cases and none of this machine's own.
///
/// # Errors
/// When the plugins do not load.
pub fn diagnoser(cases: &[Case]) -> anyhow::Result<Diagnoser> {
    let symbols = Sources {
        folders: cases.iter().filter_map(Case::binaries).collect(),
        local_files: false,
        ..Sources::default()
    };
    Diagnoser::new(Settings {
        symbols,
        ..Settings::default()
    })
}

/// The document that today's plugins and pages make of a case.
pub fn diagnose(case: &Case, diagnoser: &Diagnoser) -> Document {
    let artifacts = case.artifacts().map(|(name, path)| Artifact::new(name, path));
    diagnoser.diagnose(&Input {
        artifacts: artifacts.collect(),
        metadata: Map::new(),
    })
}

/// The id of the page that answers for a cause: labels and plugins may use any id that a page lists.
pub fn page(catalog: &Catalog, cause: &str) -> String {
    catalog.get(cause).map_or_else(String::new, |cause| cause.id.clone())
}

/// What was found, best first: the page of each cause, and how sure that is shown to be.
pub fn found(document: &Document, catalog: &Catalog) -> Vec<(String, f64)> {
    let findings = document.findings.iter();
    findings
        .map(|finding| (page(catalog, &finding.cause), finding.confidence))
        .collect()
}
