//! Publishing plugins.

use anyhow::Context as _;
use serde_json::Value;
use whycrash_plugin_host::PluginInfo;

use super::upload::TRANSFER;
use super::{Client, encode};

impl Client {
    /// Gives the server a plugin: a package or a component. The server compiles it before it answers.
    pub fn publish_plugin(&self, bytes: &[u8]) -> anyhow::Result<PluginInfo> {
        let address = self.address("plugins");
        let answer = self.send(|http| http.post(&address).timeout(TRANSFER).body(bytes.to_vec()))?;
        answer
            .json()
            .with_context(|| format!("{} answered what this program does not understand", self.server))
    }

    /// Takes a plugin from the server.
    pub fn remove_plugin(&self, name: &str) -> anyhow::Result<()> {
        let address = self.address(&format!("plugins/{}", encode(name)));
        let _: Value = self
            .send(|http| http.delete(&address))?
            .json()
            .with_context(|| format!("{} answered what this program does not understand", self.server))?;
        Ok(())
    }
}
