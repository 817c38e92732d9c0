//! The real binaries, as `make build` leaves them: a server over a folder of its own, and the command line beside it.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use reqwest::blocking::{Client, RequestBuilder};
use serde_json::Value;
use tempfile::TempDir;
use whycrash_attack::compiled;
pub use whycrash_attack::server::binary;

/// When anything is taken to hang: beside other tests, on two slow processors, what takes seconds takes minutes.
pub const PATIENCE: Duration = Duration::from_secs(600);

/// A server that ends with the test, and the folder it works in.
pub struct House {
    pub url: String,
    server: Child,
    folder: TempDir,
}

impl House {
    /// Starts the server with these settings, as in whycrash.toml.
    pub fn open(settings: &str) -> Self {
        let folder = TempDir::new().expect("a temporary folder");
        compiled::share(&folder.path().join("data")).expect("a cache");
        let config = folder.path().join("whycrash.toml");
        std::fs::write(&config, settings).expect("a file of settings");
        let mut command = isolated(&binary("whycrash-server"), folder.path());
        command.args(["--listen", "127.0.0.1:0", "--log-format", "json", "--config"]);
        command.arg(config).arg("--data").arg(folder.path().join("data"));
        command.env("RUST_LOG", "info");
        let mut server = command.stderr(Stdio::piped()).spawn().expect("the server starts");
        let mut log = BufReader::new(server.stderr.take().expect("it was piped")).lines();
        let mut seen = Vec::new();
        let url = loop {
            let line = log
                .next()
                .unwrap_or_else(|| panic!("the server ended: {seen:#?}"))
                .expect("its log is text");
            if let Some((_, url)) = line.split_once("listening on ") {
                break url.split('"').next().unwrap_or_default().to_owned();
            }
            seen.push(line);
        };
        // The pipe must not fill up.
        std::thread::spawn(move || log.for_each(drop));
        Self { url, server, folder }
    }

    /// The command line's program, talking to this server.
    pub fn whycrash(&self, arguments: &[&str]) -> Command {
        let mut command = isolated(&binary("whycrash"), self.folder.path());
        command.args(arguments).env("WHYCRASH_SERVER", &self.url);
        command
    }

    /// What the server made of a report, once it has.
    pub fn document(&self, id: &str) -> Value {
        self.document_when(id, |_| true)
    }

    /// What the server made of a report, once it has, and it is as wanted.
    pub fn document_when(&self, id: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        let start = Instant::now();
        loop {
            let document = self.get(&format!("/api/v1/reports/{id}?evidence=whole"));
            if matches!(document["state"].as_str(), Some("done" | "failed")) && wanted(&document) {
                self.wait_for_index();
                return document;
            }
            assert!(start.elapsed() < PATIENCE, "{id} is not processed: {document}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Waits until searches find everything: the index follows the documents.
    fn wait_for_index(&self) {
        let start = Instant::now();
        while self.get("/readyz")["index"]["waiting"] != 0 {
            assert!(start.elapsed() < PATIENCE, "the index does not follow");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Asks the server for JSON.
    pub fn get(&self, path: &str) -> Value {
        Self::answer(path, client().get(format!("{}{path}", self.url)))
    }

    /// Sends the server JSON.
    pub fn post(&self, path: &str, body: &Value) -> Value {
        Self::answer(path, client().post(format!("{}{path}", self.url)).json(body))
    }

    fn answer(path: &str, request: RequestBuilder) -> Value {
        let answer = request.send().unwrap_or_else(|error| panic!("{path}: {error:?}"));
        let status = answer.status();
        let said = answer
            .text()
            .unwrap_or_else(|error| panic!("{path}: {status}: {error:?}"));
        assert!(status.is_success(), "{path}: {status}: {said}");
        serde_json::from_str(&said).unwrap_or_else(|error| panic!("{path}: {error}: {said}"))
    }

    /// Ends the server; what it stored, and what the command line keeps, stays.
    pub fn stop(&mut self) {
        // It may have ended already.
        let _ = self.server.kill();
        let _ = self.server.wait();
    }

    /// Memory that is the server's own, in KiB: `RssAnon` and `RssShmem` of proc_pid_status(5). Pages of its program come
    /// and go as the machine likes.
    pub fn resident(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.server.id())).expect("the server runs");
        let kib = |name: &str| -> u64 {
            let line = status.lines().find_map(|line| line.strip_prefix(name));
            let number = line.and_then(|rest| rest.split_whitespace().next());
            number.and_then(|kib| kib.parse().ok()).expect("a number of KiB")
        };
        kib("RssAnon:") + kib("RssShmem:")
    }
}

impl Drop for House {
    fn drop(&mut self) {
        self.stop();
    }
}

/// A client that waits as long as everything else here does: its own patience is a quarter of that.
pub fn client() -> Client {
    whycrash_attack::client::client(PATIENCE).expect("a client")
}

/// A program with nothing of this machine's settings.
fn isolated(program: &Path, home: &Path) -> Command {
    let mut command = Command::new(program);
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("WHYCRASH_") || text.starts_with("DEBUGINFOD") || text.starts_with("XDG_") {
            command.env_remove(&name);
        }
    }
    command.env("HOME", home).current_dir(home).stdin(Stdio::null());
    command
}
