//! What a diagnosis lacks because this machine could not run plugins.

use whycrash_plugin_host::{Document, Outcome, PluginRun};

use crate::limits::{Resource, limit};

/// MiB of address space with which every built-in plugin runs, and large artifacts are read besides.
const ENOUGH_MIB: u64 = 512;

/// What is said, once for all plugins that could not be run, with what to do; none where all could.
pub fn not_run(document: &Document) -> Option<String> {
    let not_run: Vec<&PluginRun> = document
        .plugins
        .iter()
        .filter(|run| run.outcome == Outcome::Unavailable)
        .collect();
    let reason = not_run.first()?.reason.as_deref().unwrap_or("no reason given");
    let (count, of) = (not_run.len(), document.plugins.len());
    let limited = limit(Resource::RLIMIT_AS).and_then(|limit| limit.soft);
    let advice = match limited {
        Some(bytes) => format!(
            "address space is limited to {} MiB here (ulimit -v), and {ENOUGH_MIB} MiB are enough: raise the limit, or \
             diagnose the same files where there is none, with `whycrash diagnose`, or by a server, with `whycrash \
             upload --server URL`",
            bytes >> 20
        ),
        None => "try again when the machine has more memory free, or diagnose the same files elsewhere".to_owned(),
    };
    Some(format!(
        "this is not the whole diagnosis: {count} of {of} plugins could not be run: {reason}; {advice}"
    ))
}
