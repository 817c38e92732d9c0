//! The command line.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use super::{Config, LogFormat};
use crate::store::Scope;

/// The crash knowledge base: takes in crash reports, diagnoses them, and finds them again.
#[derive(Debug, Parser)]
#[command(name = "whycrash-server", version)]
pub struct Cli {
    /// What to do; serves when absent.
    #[command(subcommand)]
    pub command: Option<Command>,
    /// Settings.
    #[command(flatten)]
    pub serve: Serve,
}

/// Settings on the command line and in the environment.
#[derive(Clone, Debug, Default, Args)]
pub struct Serve {
    /// File of settings (whycrash.toml)
    #[arg(long, env = "WHYCRASH_CONFIG", global = true)]
    pub config: Option<PathBuf>,
    /// Address to listen on [default: 127.0.0.1:7311]
    #[arg(long, env = "WHYCRASH_LISTEN", global = true)]
    pub listen: Option<SocketAddr>,
    /// Folder of the database, the artifacts and the index [default: ./whycrash-data]
    #[arg(long, env = "WHYCRASH_DATA", global = true)]
    pub data: Option<PathBuf>,
    /// Address under which people reach the server
    #[arg(long, env = "WHYCRASH_PUBLIC_URL", global = true)]
    pub public_url: Option<String>,
    /// Folders searched for binaries and debug files, separated by colons
    #[arg(long, env = "WHYCRASH_SYMBOLS", value_delimiter = ':', global = true)]
    pub symbols: Vec<PathBuf>,
    /// Debuginfod servers to ask for binaries and debug files, separated by spaces
    #[arg(long, env = "WHYCRASH_DEBUGINFOD", value_delimiter = ' ', global = true)]
    pub debuginfod: Vec<String>,
    /// Folders of plugin components, separated by colons
    #[arg(long, env = "WHYCRASH_PLUGINS", value_delimiter = ':', global = true)]
    pub plugins: Vec<PathBuf>,
    /// Folders of pages of causes, separated by colons
    #[arg(long, env = "WHYCRASH_KNOWLEDGE", value_delimiter = ':', global = true)]
    pub knowledge: Vec<PathBuf>,
    /// Reports processed at one time [default: half of the processors, at least two]
    #[arg(long, env = "WHYCRASH_WORKERS", global = true)]
    pub workers: Option<usize>,
    /// Form of the log [default: text]
    #[arg(long, env = "WHYCRASH_LOG_FORMAT", global = true)]
    pub log_format: Option<LogFormat>,
}

impl Serve {
    /// Puts what is set here over the configuration.
    pub fn apply(&self, config: &mut Config) {
        let args = self.clone();
        config.listen = args.listen.unwrap_or(config.listen);
        config.log_format = args.log_format.unwrap_or(config.log_format);
        config.workers.threads = args.workers.unwrap_or(config.workers.threads);
        if let Some(data) = args.data {
            config.data = data;
        }
        if args.public_url.is_some() {
            config.public_url = args.public_url;
        }
        if !args.symbols.is_empty() {
            config.symbols = args.symbols;
        }
        if !args.debuginfod.is_empty() {
            config.debuginfod = args.debuginfod;
        }
        if !args.plugins.is_empty() {
            config.plugins = args.plugins;
        }
        if !args.knowledge.is_empty() {
            config.knowledge = args.knowledge;
        }
    }
}

/// What the binary can do beside serving.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Serve (the same as no command)
    Serve,
    /// Read and diagnose all reports again from their artifacts and build a new index; the server must not run
    Reindex,
    /// Remove what has grown old and what nothing refers to, as the server does from time to time; it must not run
    Maintain,
    /// Make, list and revoke access tokens
    #[command(subcommand)]
    Token(TokenCommand),
    /// Read artifacts as standard input says; the server starts this by itself
    #[command(hide = true)]
    Read,
}

/// Access tokens.
#[derive(Debug, Subcommand)]
pub enum TokenCommand {
    /// Make a token and print it: the only time that it is shown
    Create {
        /// What it allows
        #[arg(long, required = true, value_delimiter = ',')]
        scope: Vec<Scope>,
        /// Names it to people
        #[arg(long)]
        name: Option<String>,
    },
    /// List the tokens by name
    List,
    /// Revoke the token of this name
    Revoke {
        /// Its name
        name: String,
    },
}
