//! How runs of plugins went, kept from one start of the server to the next.
//!
//! The figures are for people: what a server that was killed did since the last time they were written is lost. Which
//! plugins are set aside is written at once, so that they stay so.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use whycrash_plugin_host::{PluginInfo, Runs};

use crate::services::Services;
use crate::shelf;

/// The file in the folder of data.
const FILE: &str = "plugin-runs.json";
/// Plugins whose figures are kept: those of plugins that are gone are forgotten.
const KEPT: usize = 2000;
/// How often it is looked which plugins are set aside, and after how many looks the figures are written anyway.
const LOOK: Duration = Duration::from_secs(1);
const LOOKS: u32 = 60;

/// By the SHA-256 of a plugin's file.
pub type RunsBefore = BTreeMap<String, Runs>;

/// What was written last. Figures that can not be read are begun anew.
pub fn load(data: &Path) -> RunsBefore {
    let read = std::fs::read(data.join(FILE)).and_then(|bytes| Ok(serde_json::from_slice(&bytes)?));
    read.unwrap_or_else(|error: io::Error| {
        if error.kind() != io::ErrorKind::NotFound {
            tracing::warn!(%error, "the figures about plugins can not be read; they begin anew");
        }
        RunsBefore::new()
    })
}

/// Writes what is known of these plugins.
pub fn store(data: &Path, plugins: Vec<PluginInfo>) -> io::Result<()> {
    let runs = plugins
        .into_iter()
        .filter_map(|plugin| Some((plugin.sha256, plugin.runs?)));
    let runs: RunsBefore = runs.filter(|(sha256, _)| !sha256.is_empty()).take(KEPT).collect();
    shelf::write(data, FILE, &serde_json::to_vec(&runs)?)
}

/// Writes them once in a while, for as long as the server runs.
pub async fn run(services: Arc<Services>) {
    let (mut written, mut looks) = (aside(&services), 0);
    loop {
        tokio::time::sleep(LOOK).await;
        let now = aside(&services);
        looks += 1;
        if now != written || looks == LOOKS {
            keep(&services).await;
            (written, looks) = (now, 0);
        }
    }
}

/// The plugins that are set aside, by the SHA-256 of their files.
fn aside(services: &Services) -> Vec<String> {
    let plugins = services.diagnoser.plugins().into_iter();
    let aside = plugins.filter(|plugin| plugin.notice.is_some());
    aside.map(|plugin| plugin.sha256).collect()
}

/// Writes them now.
pub async fn keep(services: &Arc<Services>) {
    let services = Arc::clone(services);
    let stored = tokio::task::spawn_blocking(move || store(&services.config.data, services.diagnoser.plugins())).await;
    if let Ok(Err(error)) = stored {
        tracing::warn!(%error, "the figures about plugins can not be written");
    }
}
