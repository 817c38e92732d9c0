//! What a plugin says about itself.

use crate::bindings;
use crate::bindings::whycrash::plugin::types;

/// What a plugin says about itself.
#[derive(Clone, Debug)]
pub struct Info(types::PluginInfo);

/// The evidence a plugin needs. A kind is `crash`, `threads`, `memory-snapshots`, `collectives`, `gpu-cores`, `events`,
/// `context`, `text`, or `event:` and the kind of an event, such as `event:cuda-oom`.
#[derive(Clone, Debug)]
pub struct Needs(types::Needs);

impl Info {
    /// A plugin with this name (kebab-case, unique among installed plugins) and version.
    pub fn new(name: &str, version: &str) -> Self {
        Self(types::PluginInfo {
            name: name.to_owned(),
            version: version.to_owned(),
            causes: Vec::new(),
            needs: types::Needs {
                any_of: Vec::new(),
                all_of: Vec::new(),
            },
        })
    }

    /// The ids of all causes it can name. A finding with another one is refused.
    #[must_use]
    pub fn names<'a>(mut self, causes: impl IntoIterator<Item = &'a str>) -> Self {
        self.0.causes.extend(causes.into_iter().map(str::to_owned));
        self
    }

    /// The evidence without which it is not worth running.
    #[must_use]
    pub fn needs(mut self, needs: Needs) -> Self {
        self.0.needs = needs.0;
        self
    }
}

impl Needs {
    /// At least one of these kinds.
    pub fn any_of<'a>(kinds: impl IntoIterator<Item = &'a str>) -> Self {
        Self(types::Needs {
            any_of: kinds.into_iter().map(str::to_owned).collect(),
            all_of: Vec::new(),
        })
    }

    /// Every one of these kinds.
    pub fn all_of<'a>(kinds: impl IntoIterator<Item = &'a str>) -> Self {
        Self(types::Needs {
            any_of: Vec::new(),
            all_of: kinds.into_iter().map(str::to_owned).collect(),
        })
    }
}

impl From<Info> for bindings::PluginInfo {
    fn from(info: Info) -> Self {
        info.0
    }
}
