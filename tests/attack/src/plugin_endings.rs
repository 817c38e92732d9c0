//! Sudden ends while plugins are published, disabled, enabled and removed.
//!
//! What was answered must hold afterwards, and what was not answered has happened or has not: there is nothing between
//! the two. Whatever stands there takes part, and can be changed again; and what was diagnosed before is diagnosed with it
//! in the end.

use std::collections::BTreeSet;
use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use reqwest::StatusCode;
use reqwest::blocking::Client;
use rustix::process::Signal;
use whycrash_hostile_plugins::{Case, Info, component};

use crate::client::client;
use crate::server::Server;
use crate::states::{Disk, fill};

const SETTINGS: &str = "local_symbols = false\n[limits]\nreserved_disk_bytes = 1048576\n";
/// Size of the disk, in MiB: a few versions of each plugin, and their code.
const DISK: u32 = 192;
/// Plugins that are changed beside each other.
const PLUGINS: usize = 3;
/// The longest that changes are made before an end comes.
const BEFORE: Duration = Duration::from_millis(1200);
/// How long a process is stopped, and a disk is full.
const LASTS: Duration = Duration::from_millis(700);
/// How long somebody waits who was refused.
const PAUSE: Duration = Duration::from_millis(20);

/// How long a report may take that is sent afterwards.
const PATIENCE: Duration = Duration::from_secs(60);

/// How a moment ends.
#[derive(Clone, Copy, Debug)]
enum End {
    /// The server is killed.
    Killed,
    /// It is asked to end.
    Asked,
    /// The child is killed that compiles.
    CompilerKilled,
    /// The disk is full for a while.
    DiskFull,
    /// The disk is full when the server is killed, and as long as the next one starts.
    KilledOnAFullDisk,
}

const ENDS: [End; 5] = [
    End::Killed,
    End::Asked,
    End::CompilerKilled,
    End::DiskFull,
    End::KilledOnAFullDisk,
];

/// What there is of a plugin.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum State {
    Absent,
    Disabled,
    /// It takes part, in this version.
    Present(String),
}

/// Changes one plugin, which nobody else does.
#[derive(Debug)]
struct Editor {
    name: String,
    /// What there may be: one, or where an answer is missing, what was before and what was asked for.
    possible: BTreeSet<State>,
    /// The version that takes part once it is enabled.
    version: Option<String>,
    versions: u32,
    random: fastrand::Rng,
    answered: usize,
}

/// Brings so many ends about, chosen by `seed`; how many changes were answered.
pub fn plugin_endings(binary: &Path, folder: &Path, count: usize, seed: u64) -> anyhow::Result<usize> {
    let mut random = fastrand::Rng::with_seed(seed);
    let disk = Disk::mount(&folder.join("disk"), DISK)?;
    let data = disk.folder().join("data");
    let mut server = Server::start(binary, &data, SETTINGS)?;
    let mut editors: Vec<Editor> = (0..PLUGINS).map(|number| Editor::new(number, random.fork())).collect();
    let stored = server.send("stored.log", b"step before everything\n")?;
    let mut ends = Vec::new();
    for number in 0..count {
        if ends.is_empty() {
            ends = ENDS.to_vec();
            random.shuffle(&mut ends);
        }
        let Some(end) = ends.pop() else { break };
        let told = || format!("ending {number} of seed {seed}: {end:?}");
        let before = BEFORE.mul_f64(random.f64());
        server = beside(&mut editors, server, |server| {
            std::thread::sleep(before);
            come_to(end, server, binary, &data)
        })
        .with_context(told)?;
        // Whoever diagnoses waits for the plugins, which are loaded beside everything else.
        let report = server.send("train.log", format!("step {number}\n").as_bytes());
        let looked = report.and_then(|report| server.done(&report, PATIENCE)).and_then(|_| {
            editors.iter_mut().try_for_each(|editor| editor.look(&server))?;
            reaches(&server, &stored, &editors)
        });
        looked.with_context(told)?;
    }
    let answered = editors.iter().map(|editor| editor.answered).sum();
    ensure!(
        answered >= count,
        "of {PLUGINS} plugins only {answered} changes were answered"
    );
    editors.iter_mut().try_for_each(|editor| editor.is_changed(&server))?;
    server.kill()?;
    Ok(answered)
}

/// Waits until nothing is to be diagnosed anew, and holds the last diagnosis of a report against what there is by now.
fn reaches(server: &Server, report: &str, editors: &[Editor]) -> anyhow::Result<()> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let waiting = server.json("/api/v1/diagnoses")?["waiting"].clone();
        let document = server.json(&format!("/api/v1/reports/{report}"))?;
        let ran = |name: &str| {
            let mut rows = document["plugins"].as_array().into_iter().flatten();
            let row = rows.find(|row| row["name"] == *name)?;
            row["version"].as_str().map(str::to_owned)
        };
        let wrong = editors.iter().find(|editor| {
            let there = match editor.possible.first() {
                Some(State::Present(version)) => Some(version.clone()),
                _ => None,
            };
            ran(&editor.name) != there
        });
        match wrong {
            None if waiting == 0 => return Ok(()),
            _ if Instant::now() < deadline => std::thread::sleep(PAUSE),
            _ => bail!(
                "{waiting} are still to be diagnosed anew; {wrong:?} beside {}",
                document["plugins"]
            ),
        }
    }
}

/// Does something to a server while plugins are changed.
fn beside(
    editors: &mut [Editor],
    server: Server,
    work: impl FnOnce(Server) -> anyhow::Result<Server>,
) -> anyhow::Result<Server> {
    let (address, is_over) = (server.address(), AtomicBool::new(false));
    std::thread::scope(|scope| {
        for editor in editors {
            let is_over = &is_over;
            scope.spawn(move || editor.work(address, is_over));
        }
        let server = work(server);
        is_over.store(true, Ordering::Relaxed);
        server
    })
}

/// Brings an end about; the server that goes on.
fn come_to(end: End, server: Server, binary: &Path, data: &Path) -> anyhow::Result<Server> {
    let ballast = data.with_file_name("ballast");
    match end {
        End::Killed => server.kill()?,
        End::Asked => server.end(Signal::TERM)?,
        End::CompilerKilled => {
            for compiler in server.readers() {
                // It may have ended by itself.
                let _ = rustix::process::kill_process(compiler, Signal::KILL);
            }
            return Ok(server);
        }
        End::DiskFull => {
            fill(&ballast)?;
            std::thread::sleep(LASTS);
            fs::remove_file(&ballast)?;
            return Ok(server);
        }
        End::KilledOnAFullDisk => {
            fill(&ballast)?;
            std::thread::sleep(LASTS);
            server.kill()?;
            fs::remove_file(&ballast)?;
        }
    }
    Server::start(binary, data, SETTINGS)
}

impl Editor {
    fn new(number: usize, random: fastrand::Rng) -> Self {
        Self {
            name: format!("editor-{number}"),
            possible: BTreeSet::from([State::Absent]),
            version: None,
            versions: 0,
            random,
            answered: 0,
        }
    }

    /// Makes one change after the other, until it is over or nobody knows any more what there is.
    fn work(&mut self, address: SocketAddr, is_over: &AtomicBool) {
        let Ok(client) = client(Duration::from_secs(60)) else {
            return;
        };
        while self.possible.len() == 1 && !is_over.load(Ordering::Relaxed) {
            if self.change(&client, address).is_none() {
                std::thread::sleep(PAUSE);
            }
        }
    }

    /// Asks for one change; none where it was refused, or not answered.
    fn change(&mut self, client: &Client, address: SocketAddr) -> Option<()> {
        let plugins = format!("http://{address}/api/v1/plugins");
        let own = format!("{plugins}/{}", self.name);
        let now = self.possible.first()?.clone();
        let choice = if now == State::Absent { 0 } else { self.random.u8(0..5) };
        let (request, then) = match (choice, &now) {
            (3, State::Present(_)) => (client.post(format!("{own}/disable")), State::Disabled),
            (3, State::Disabled) => (
                client.post(format!("{own}/enable")),
                State::Present(self.version.clone()?),
            ),
            (4, _) => (client.delete(own), State::Absent),
            _ => {
                self.versions += 1;
                let version = format!("1.0.{}", self.versions);
                let bytes = self.component(&version)?;
                (client.post(plugins).body(bytes), State::Present(version))
            }
        };
        self.possible.insert(then.clone());
        let answer = request.send().ok()?;
        let status = answer.status();
        if !status.is_success() {
            // What is refused has not happened; what went wrong within may have.
            let is_refused = status.is_client_error() || status == StatusCode::SERVICE_UNAVAILABLE;
            if is_refused {
                self.possible = BTreeSet::from([now]);
            }
            return None;
        }
        self.answered += 1;
        self.now_is(then);
        Some(())
    }

    fn component(&self, version: &str) -> Option<Vec<u8>> {
        let info = Info {
            name: self.name.clone(),
            version: version.to_owned(),
            causes: vec!["abrt-assert".to_owned()],
            ..Info::default()
        };
        component(&Case {
            info,
            ..Case::default()
        })
        .ok()
    }

    fn now_is(&mut self, state: State) {
        match &state {
            State::Absent => self.version = None,
            State::Present(version) => self.version = Some(version.clone()),
            State::Disabled => {}
        }
        self.possible = BTreeSet::from([state]);
    }

    /// Holds what there is against what there may be.
    fn look(&mut self, server: &Server) -> anyhow::Result<()> {
        let listed = server.json("/api/v1/plugins")?;
        let mut rows = listed["plugins"].as_array().into_iter().flatten();
        let row = rows.find(|row| row["name"] == *self.name);
        ensure!(
            rows.all(|row| row["name"] != *self.name),
            "{} is there twice",
            self.name
        );
        let state = match row {
            None => State::Absent,
            Some(row) => {
                ensure!(row.get("problem").is_none_or(serde_json::Value::is_null), "{row}");
                match row["version"].as_str().filter(|version| !version.is_empty()) {
                    Some(version) => State::Present(version.to_owned()),
                    None => State::Disabled,
                }
            }
        };
        ensure!(
            self.possible.contains(&state),
            "{} is {state:?}, and may be {:?}; the log ends {:#?}",
            self.name,
            self.possible,
            server.last_words(10)
        );
        self.now_is(state);
        Ok(())
    }

    /// Whether it can still be published and removed.
    fn is_changed(&mut self, server: &Server) -> anyhow::Result<()> {
        let plugins = format!("http://{}/api/v1/plugins", server.address());
        let bytes = self.component("2.0.0").context("a component")?;
        let published = server.client.post(&plugins).body(bytes).send()?;
        ensure!(published.status().is_success(), "{}: {}", self.name, published.text()?);
        self.possible = BTreeSet::from([State::Present("2.0.0".to_owned())]);
        self.look(server)?;
        let removed = server.client.delete(format!("{plugins}/{}", self.name)).send()?;
        ensure!(removed.status().is_success(), "{}: {}", self.name, removed.text()?);
        self.possible = BTreeSet::from([State::Absent]);
        self.look(server)
    }
}
