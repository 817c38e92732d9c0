//! `whycrash plugin publish`, `list`, `rollback` and `remove`: the plugins of a server.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use whycrash_plugin_host::PluginInfo;

use super::project::Project;
use super::sources::digest_of;
use super::{build, key};
use crate::client::{Client, Progress as _};
use crate::config::Config;
use crate::output::{self, Bar, Clean, Format};
use crate::render;

/// Give a server the plugin in this folder, or a package or component; needs a token with the scope `admin`
#[derive(Debug, clap::Args)]
pub struct PublishArgs {
    /// The plugin's folder, a package (*.zip) or a component (*.wasm)
    #[arg(default_value = ".", value_name = "PATH")]
    path: PathBuf,
    /// Sign the package with the private key in this file (`whycrash plugin key`)
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,
    /// Do nothing, and succeed, where the server has what this is made of already: neither built nor sent is it then
    #[arg(long)]
    if_changed: bool,
    #[command(flatten)]
    server: ServerArgs,
}

/// List the plugins of a server
#[derive(Debug, clap::Args)]
pub struct ListArgs {
    #[command(flatten)]
    server: ServerArgs,
}

/// Which plugin of which server.
#[derive(Debug, clap::Args)]
pub struct NamedArgs {
    /// Its name
    name: String,
    #[command(flatten)]
    server: ServerArgs,
}

/// Which server, and how to answer.
#[derive(Debug, clap::Args)]
pub struct ServerArgs {
    /// The server's address [default: http://127.0.0.1:7311]
    #[arg(long, value_name = "URL", env = "WHYCRASH_SERVER", hide_env = true)]
    pub server: Option<String>,
    /// How to answer
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}

/// The plugins of a server.
#[derive(Debug, Serialize, Deserialize)]
struct Plugins {
    plugins: Vec<Listed>,
}

/// A plugin, and what was published under its name.
#[derive(Debug, Serialize, Deserialize)]
struct Listed {
    #[serde(flatten)]
    plugin: PluginInfo,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    versions: Vec<Version>,
}

/// A version that was published.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct Version {
    version: String,
    sha256: String,
    extension: String,
    published: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    signed_by: Option<String>,
}

/// The package of the project in a folder, built where something changed, or what a file has.
pub fn bytes(path: &Path) -> anyhow::Result<Vec<u8>> {
    if path.is_dir() {
        let project = Project::open(path)?;
        build::build_what_changed(&project)?;
        return project.pack();
    }
    fs::read(path).with_context(|| format!("can not read {}", path.display()))
}

/// Sends a plugin to a server.
pub fn publish(args: &PublishArgs, config: &Config) -> anyhow::Result<ExitCode> {
    let client = Client::new(args.server.server.as_deref(), config)?;
    if args.if_changed
        && let Some(plugin) = published(&args.path, &client)?
    {
        let said = serde_json::to_value(plugin)?;
        return tell_published(args, &said, &client, "nothing was built or sent");
    }
    let bytes = match &args.key {
        Some(key) => key::signed(bytes(&args.path)?, key)?,
        None => bytes(&args.path)?,
    };
    let waiting = Bar::of_waiting("the server looks at the plugin, and compiles it");
    let said = client.publish_plugin(&bytes)?;
    waiting.finish();
    let other = "its bytes differ, what they were built of does not";
    let stands = if said["sha256"] == digest_of(&bytes) { "" } else { other };
    tell_published(args, &said, &client, stands)
}

/// Says what is published now, by the server's answer, and what follows; and why something else was not published, where
/// that is so.
fn tell_published(args: &PublishArgs, said: &Value, client: &Client, stands: &str) -> anyhow::Result<ExitCode> {
    let plugin = PluginInfo::deserialize(said).context("the server's answer is no plugin")?;
    output::answer(args.server.format, said, |said| {
        let (name, version, server) = (&plugin.name, &plugin.version, client.server());
        let mut text = Clean::from(if stands.is_empty() {
            format!("published {name} {version} to {server}")
        } else {
            format!("{name} {version} is published to {server} already: {stands}")
        });
        text.end_line();
        for page in &plugin.pages {
            text.push(format!("its cause: {server}/causes/{page}"));
            text.end_line();
        }
        if let Some(follows) = render::diagnosed_anew(&said["diagnosed_anew"]) {
            text.push(follows);
            text.end_line();
        }
        text
    })?;
    Ok(ExitCode::SUCCESS)
}

/// What the server has already of what is in a folder or a file, and uses.
fn published(path: &Path, client: &Client) -> anyhow::Result<Option<PluginInfo>> {
    let (sources, sha256) = if path.is_dir() {
        (Some(Project::open(path)?.sources()?), None)
    } else {
        let bytes = fs::read(path).with_context(|| format!("can not read {}", path.display()))?;
        (None, Some(digest_of(&bytes)))
    };
    let there: Plugins = client.get("plugins", &[])?;
    let there = there.plugins.into_iter().map(|listed| listed.plugin);
    let is_used = |plugin: &PluginInfo| plugin.problem.is_none() && plugin.notice.is_none();
    let is_this = |plugin: &PluginInfo| {
        sources
            .as_ref()
            .is_some_and(|sources| plugin.sources.as_ref() == Some(sources))
            || sha256.as_ref() == Some(&plugin.sha256)
    };
    Ok(there.filter(is_used).find(is_this))
}

/// Prints a server's plugins.
pub fn list(args: &ListArgs, config: &Config) -> anyhow::Result<ExitCode> {
    let client = Client::new(args.server.server.as_deref(), config)?;
    let plugins: Plugins = client.get("plugins", &[])?;
    output::answer(args.server.format, &plugins, |plugins| {
        let mut text = Clean::default();
        for listed in &plugins.plugins {
            for line in lines(listed) {
                text.push(line);
                text.end_line();
            }
        }
        text
    })?;
    Ok(ExitCode::SUCCESS)
}

/// What is told of a plugin.
fn lines(Listed { plugin, versions }: &Listed) -> Vec<String> {
    let signed = |by: &Option<String>| by.as_ref().map(|by| format!(", signed by {by}")).unwrap_or_default();
    let mut lines = vec![format!(
        "{} {}  {}{}",
        plugin.name,
        plugin.version,
        plugin.source,
        signed(&plugin.signed_by)
    )];
    let said = plugin.problem.iter().chain(&plugin.notice);
    lines.extend(said.map(|said| format!("    {said}")));
    let others = versions.iter().rev().filter(|version| version.sha256 != plugin.sha256);
    lines.extend(others.map(|version| {
        let digest = version.sha256.get(..12).unwrap_or(&version.sha256);
        let (number, when) = (&version.version, &version.published);
        format!(
            "    kept: {number} of {when}, sha256 {digest}…{}",
            signed(&version.signed_by)
        )
    }));
    lines
}

/// Removes a plugin from a server.
pub fn remove(args: &NamedArgs, config: &Config) -> anyhow::Result<ExitCode> {
    let client = Client::new(args.server.server.as_deref(), config)?;
    let removed = client.remove_plugin(&args.name)?;
    answer(
        args,
        &removed,
        format!("removed {} from {}", args.name, client.server()),
    )
}

/// Disables or enables a plugin of a server.
pub fn switch(action: &str, args: &NamedArgs, config: &Config) -> anyhow::Result<ExitCode> {
    let client = Client::new(args.server.server.as_deref(), config)?;
    let switched = client.switch_plugin(&args.name, action)?;
    answer(
        args,
        &switched,
        format!("{action}d {} on {}", args.name, client.server()),
    )
}

/// Puts the version before in the place of the present one.
pub fn roll_back(args: &NamedArgs, config: &Config) -> anyhow::Result<ExitCode> {
    let client = Client::new(args.server.server.as_deref(), config)?;
    let plugin = client.switch_plugin(&args.name, "rollback")?;
    let version = plugin["version"].as_str().unwrap_or_default();
    answer(
        args,
        &plugin,
        format!("{} is {version} again on {}", args.name, client.server()),
    )
}

/// Says what was done, and what follows for the reports that are stored: on standard error, as what was done always was,
/// or as the server answered.
fn answer(args: &NamedArgs, answer: &Value, done: String) -> anyhow::Result<ExitCode> {
    if args.server.format == Format::Json {
        output::answer(Format::Json, answer, |_| Clean::default())?;
    } else {
        let follows = render::diagnosed_anew(&answer["diagnosed_anew"]);
        std::iter::once(done)
            .chain(follows)
            .for_each(|line| output::tell(&Clean::from(line)));
    }
    Ok(ExitCode::SUCCESS)
}
