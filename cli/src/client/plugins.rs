//! Publishing plugins, and trying them before.

use anyhow::Context as _;
use reqwest::blocking::Response;
use serde_json::Value;

use super::upload::TRANSFER;
use super::{Client, Problem, encode};

impl Client {
    /// Gives the server a plugin: a package or a component. The server compiles it before it answers.
    pub fn publish_plugin(&self, bytes: &[u8]) -> anyhow::Result<Value> {
        let address = self.address("plugins");
        let answer = self.send(|http| http.post(&address).timeout(TRANSFER).body(bytes.to_vec()))?;
        self.understood(answer)
    }

    /// Has the server try a plugin, or a page where it comes from a file of this name, on stored reports: all of them,
    /// or what a search finds. What it answers is how it began.
    pub fn begin_preview(&self, bytes: &[u8], page: Option<&str>, search: Option<&str>) -> anyhow::Result<Value> {
        let query = [("page", page), ("q", search)].into_iter();
        let query: Vec<String> = query
            .filter_map(|(name, value)| Some(format!("{name}={}", encode(value?))))
            .collect();
        let address = self.address(&format!("previews?{}", query.join("&")));
        let answer = self.send(|http| http.post(&address).timeout(TRANSFER).body(bytes.to_vec()))?;
        self.understood(answer)
    }

    /// Does something with a preview: `apply`, `undo` or `cancel`.
    pub fn act_on_preview(&self, number: u64, action: &str) -> anyhow::Result<Value> {
        let address = self.address(&format!("previews/{number}/{action}"));
        // Once: a preview that was applied can not be applied again.
        let answer = self
            .authorized(self.http.post(&address).timeout(TRANSFER))
            .send()
            .map_err(|error| self.unreachable(&error))?;
        if !answer.status().is_success() {
            return Err(self.refusal(&Problem::of(answer)));
        }
        self.understood(answer)
    }

    fn understood(&self, answer: Response) -> anyhow::Result<Value> {
        answer
            .json()
            .with_context(|| format!("{} answered what this program does not understand", self.server))
    }

    /// Disables or enables a plugin that was published.
    pub fn switch_plugin(&self, name: &str, action: &str) -> anyhow::Result<Value> {
        let address = self.address(&format!("plugins/{}/{action}", encode(name)));
        let answer = self.send(|http| http.post(&address).timeout(TRANSFER))?;
        self.understood(answer)
    }

    /// Takes a plugin from the server.
    pub fn remove_plugin(&self, name: &str) -> anyhow::Result<Value> {
        self.remove(&format!("plugins/{}", encode(name)))
    }

    /// Takes the page of a cause from the server.
    pub fn remove_page(&self, id: &str) -> anyhow::Result<Value> {
        self.remove(&format!("pages/{}", encode(id)))
    }

    fn remove(&self, path: &str) -> anyhow::Result<Value> {
        let answer = self.send(|http| http.delete(self.address(path)))?;
        self.understood(answer)
    }
}
