//! A plugin as it is once it is installed.

use std::path::Path;

use anyhow::Context as _;
use whycrash_plugin_host::{Diagnoser, PluginInfo, Settings, THIS_PROGRAM};

/// A diagnoser that has the plugin in this folder beside the built-in ones, as a server would, and what is known of it.
///
/// # Errors
/// When there is no plugin in the folder: their files end in `.wasm` or `.zip`.
pub fn from_folder(folder: &Path) -> anyhow::Result<(Diagnoser, PluginInfo)> {
    let settings = Settings {
        plugin_folders: vec![folder.to_owned()],
        cache: crate::config::cache_folder().map(|cache| cache.join("plugins")),
        compiler: Some(THIS_PROGRAM.into()),
        ..Settings::default()
    };
    let diagnoser = Diagnoser::new(settings)?;
    diagnoser.wait_for_plugins();
    let mut plugins = diagnoser.plugins().into_iter();
    let plugin = plugins.find(|plugin| plugin.source != "built-in");
    let plugin = plugin.context("it is no plugin: their files end in .wasm or .zip")?;
    Ok((diagnoser, plugin))
}
