//! A server of its own for the measurement.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use reqwest::blocking::Client;
use serde_json::Value;

/// Speaks to servers, by a thread of its own.
pub fn client() -> Result<Client> {
    // Everything goes to loopback without TLS, but the library wants one named. An error says that it was done before.
    let _ = rustls::crypto::ring::default_provider().install_default();
    Ok(Client::builder().timeout(Duration::from_secs(60)).build()?)
}

/// A running server.
pub struct Server {
    child: Child,
    /// Where it answers.
    pub url: String,
    /// Speaks to it.
    pub client: Client,
}

impl Server {
    /// Starts the binary, and waits until it listens.
    pub fn start(program: &Path, data: &Path, plugins: Option<&Path>) -> Result<Self> {
        let mut command = Command::new(program);
        command.args(["--listen", "127.0.0.1:0", "--data"]).arg(data);
        if let Some(plugins) = plugins {
            command.arg("--plugins").arg(plugins);
        }
        let mut child = command
            .env("RUST_LOG", "info")
            .env("NO_COLOR", "1")
            .stderr(Stdio::piped())
            .spawn()
            .with_context(|| format!("can not start {}", program.display()))?;
        let mut log = BufReader::new(child.stderr.take().context("it has no log")?).lines();
        let url = loop {
            let line = log.next().context("the server ended")??;
            if let Some((_, url)) = line.split_once("listening on ") {
                break url.trim().to_owned();
            }
        };
        // The pipe must not fill up.
        std::thread::spawn(move || log.for_each(drop));
        Ok(Self {
            child,
            url,
            client: client()?,
        })
    }

    /// What it answers at a path, as JSON.
    pub fn get(&self, path: &str) -> Result<Value> {
        let answer = self.client.get(format!("{}{path}", self.url)).send()?;
        Ok(answer.json()?)
    }

    /// Tries a plugin on all reports, and waits until each was looked at.
    pub fn preview(&self, plugin: &Path, patience: Duration) -> Result<()> {
        let address = format!("{}/api/v1/previews", self.url);
        let begun = self.client.post(address).body(std::fs::read(plugin)?).send()?;
        let begun: Value = begun.error_for_status()?.json()?;
        let path = format!("/api/v1/previews/{}", begun["number"]);
        self.wait(patience, |server| {
            let state = server.get(&path)?["state"].clone();
            ensure!(state == "running" || state == "ready", "the preview is {state}");
            Ok(state == "ready")
        })
    }

    /// Waits until everything that was sent is read, diagnosed and in the index.
    pub fn wait_until_searchable(&self, patience: Duration) -> Result<()> {
        self.wait(patience, |server| {
            let idle = server.metric("whycrash_jobs{state=\"queued\"}")?
                + server.metric("whycrash_jobs{state=\"running\"}")?;
            let ready = server.get("/readyz")?;
            Ok(idle == 0.0 && ready["index"]["waiting"] == 0)
        })
    }

    /// Waits until so many reports were diagnosed since it was started.
    pub fn wait_until_diagnosed(&self, reports: usize, patience: Duration) -> Result<()> {
        self.wait(patience, |server| {
            let failed = server.metric("whycrash_jobs_total{outcome=\"failed\"}")?;
            ensure!(failed == 0.0, "{failed} reports could not be diagnosed");
            Ok(server.metric("whycrash_jobs_total{outcome=\"done\"}")? >= reports as f64)
        })
    }

    fn wait(&self, patience: Duration, is_so: impl Fn(&Self) -> Result<bool>) -> Result<()> {
        let deadline = Instant::now() + patience;
        while !is_so(self)? {
            if Instant::now() >= deadline {
                bail!("it is not done after {} seconds", patience.as_secs());
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(())
    }

    /// The value of a metric; 0 while there is none.
    fn metric(&self, name: &str) -> Result<f64> {
        let metrics = self.client.get(format!("{}/metrics", self.url)).send()?.text()?;
        let line = metrics.lines().find_map(|line| line.strip_prefix(name));
        Ok(line.map_or(Ok(0.0), |value| value.trim().parse())?)
    }

    /// Ends it.
    pub fn stop(mut self) -> Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }
}
