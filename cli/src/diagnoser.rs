//! What reads the artifacts of a report and says why it crashed, set up by flags, environment and settings.

use anyhow::Context as _;
use whycrash_evidence::{Artifact, Limits};
use whycrash_plugin_host::{Diagnoser, Input, Settings};
use whycrash_symbols::Sources;

use crate::config::{self, Config};
use crate::debuginfod;
use crate::inputs::{self, Knowledge};

/// A diagnoser with these folders first, then those of the environment, then those of the settings file.
pub fn with(knowledge: &Knowledge, config: &Config) -> anyhow::Result<Diagnoser> {
    let settings = Settings {
        symbols: Sources {
            folders: inputs::symbol_folders(&knowledge.symbols, config),
            local_files: true,
            debuginfod: debuginfod::from_environment(),
            ..Sources::default()
        },
        limits: Limits::default(),
        plugin_folders: inputs::plugin_folders(&knowledge.plugins, config),
        knowledge_folders: inputs::knowledge_folders(&knowledge.knowledge, config),
        cache: config::cache_folder().map(|cache| cache.join("plugins")),
        compiler: Some(whycrash_plugin_host::THIS_PROGRAM.into()),
        ..Settings::default()
    };
    for folder in &settings.plugin_folders {
        std::fs::read_dir(folder).with_context(|| format!("can not read the plugin folder {}", folder.display()))?;
    }
    Diagnoser::new(settings).context("can not set up the diagnosis plugins")
}

/// What a diagnoser reads: artifacts of which nobody says more.
pub fn input(artifacts: Vec<Artifact>) -> Input {
    Input {
        artifacts,
        ..Input::default()
    }
}
