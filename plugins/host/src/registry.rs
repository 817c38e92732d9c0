//! The installed plugins: those built in, and those of the plugin folders.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::builtin::{BUILTIN, Builtin};
use crate::sandbox::{Plugin, PluginError, Sandbox};

/// An installed plugin, as command line, server and UI list it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PluginInfo {
    /// Name, unique among installed plugins; of one that can not be used, its file's name.
    pub name: String,
    /// Semantic version; empty for one that can not be used.
    pub version: String,
    /// Ids of the causes it can name.
    pub causes: Vec<String>,
    /// Evidence of which it needs at least one kind.
    pub needs_any_of: Vec<String>,
    /// Evidence of which it needs every kind.
    pub needs_all_of: Vec<String>,
    /// Where it comes from: `built-in`, or its file.
    pub source: String,
    /// Why it can not be used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// One installed plugin, usable or not.
#[derive(Debug)]
pub(crate) struct Installed {
    pub(crate) info: PluginInfo,
    /// Absent when it can not be used.
    pub(crate) plugin: Option<Plugin>,
}

/// All installed plugins, by name. One from a folder replaces a built-in one of the same name.
#[derive(Debug, Default)]
pub(crate) struct Registry {
    pub(crate) plugins: Vec<Arc<Installed>>,
}

impl Registry {
    pub(crate) fn load(sandbox: &Sandbox, folders: &[PathBuf]) -> Self {
        let mut registry = Self::default();
        for Builtin { wasm, code } in BUILTIN {
            registry.add("built-in", "built-in", sandbox.load_compiled(wasm, code));
        }
        for folder in folders {
            registry.add_folder(sandbox, folder);
        }
        registry.plugins.sort_by(|a, b| a.info.name.cmp(&b.info.name));
        registry
    }

    fn add_folder(&mut self, sandbox: &Sandbox, folder: &Path) {
        let files = match fs::read_dir(folder) {
            Ok(files) => files,
            Err(error) => {
                tracing::warn!(folder = %folder.display(), %error, "plugin folder can not be read; its plugins do not run");
                return;
            }
        };
        let mut files: Vec<PathBuf> = files.filter_map(|file| Some(file.ok()?.path())).collect();
        files.retain(|file| file.extension().is_some_and(|extension| extension == "wasm"));
        files.sort();
        for file in files {
            let stem = file
                .file_stem()
                .map(|stem| stem.to_string_lossy().into_owned())
                .unwrap_or_default();
            let loaded = fs::read(&file)
                .map_err(|error| PluginError::Refused(format!("its file can not be read: {error}")))
                .and_then(|wasm| sandbox.load(&wasm));
            self.add(&stem, &file.display().to_string(), loaded);
        }
    }

    fn add(&mut self, name: &str, source: &str, loaded: Result<Plugin, PluginError>) {
        let installed = match loaded {
            Ok(plugin) => {
                self.plugins.retain(|other| other.info.name != plugin.info.name);
                usable(plugin, source)
            }
            Err(error) => {
                tracing::warn!(plugin = name, source, %error, "plugin can not be used");
                unusable(name, source, &error)
            }
        };
        self.plugins.push(Arc::new(installed));
    }
}

fn usable(plugin: Plugin, source: &str) -> Installed {
    let said = &plugin.info;
    let info = PluginInfo {
        name: said.name.clone(),
        version: said.version.clone(),
        causes: said.causes.clone(),
        needs_any_of: said.needs.any_of.clone(),
        needs_all_of: said.needs.all_of.clone(),
        source: source.to_owned(),
        problem: None,
    };
    Installed {
        info,
        plugin: Some(plugin),
    }
}

fn unusable(name: &str, source: &str, error: &PluginError) -> Installed {
    let info = PluginInfo {
        name: name.to_owned(),
        version: String::new(),
        causes: Vec::new(),
        needs_any_of: Vec::new(),
        needs_all_of: Vec::new(),
        source: source.to_owned(),
        problem: Some(error.to_string()),
    };
    Installed { info, plugin: None }
}
