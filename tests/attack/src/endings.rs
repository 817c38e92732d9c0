//! Sudden ends at moments that nobody chose, again and again over one archive.
//!
//! After each of them, and once more after the last, the same must hold: whatever was acknowledged is there, is done,
//! is found, and was diagnosed once. A worker that was stopped for longer than its lease must not have changed
//! anything.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use rustix::process::Signal;

use crate::load::{BRISK, Load, Seen};
use crate::server::Server;
use crate::states::{Disk, accounted, fill};
use crate::wall_clock::WallClock;

/// A lease short enough to run out while a process is stopped.
///
/// What is older than a day is removed at once: nothing is that old, whatever a clock says.
const SETTINGS: &str = "local_symbols = false\n[limits]\nreserved_disk_bytes = 4194304\n\
                        [workers]\nlease_seconds = 2\nretry_seconds = 1\n\
                        [retention]\nreports_days = 1\nunreferenced_hours = 1\nunfinished_days = 1\nevery_seconds = 1\n";
/// Size of the disk, in MiB: a few kB for each report, and the index.
const DISK: u32 = 1024;
/// The longest that clients work before an end comes.
const BEFORE: Duration = Duration::from_millis(1500);
/// The longest that a process is stopped.
const STOPPED: Duration = Duration::from_secs(4);
/// How far the clock is set, in seconds, to either side: a year.
const SET: i64 = 365 * 24 * 3600;
/// How long it stays so.
const SET_FOR: Duration = Duration::from_secs(3);
/// How long the disk stays full.
const FULL: Duration = Duration::from_secs(2);
/// Within this time the index must have all there is.
const SETTLED: Duration = Duration::from_secs(90);

/// How a moment ends.
#[derive(Clone, Copy, Debug)]
enum End {
    /// The server is killed, as by the kernel when memory runs out.
    Killed,
    /// It is asked to end.
    Asked,
    /// It is stopped for longer than its workers' leases.
    Stopped,
    /// Its readers are stopped for as long.
    ReadersStopped,
    /// One of its readers is killed.
    ReaderKilled,
    /// Its disk is full for a while.
    DiskFull,
    /// Its wall clock is set, and set right again.
    ClockSet,
}

const ENDS: [End; 7] = [
    End::Killed,
    End::Asked,
    End::Stopped,
    End::ReadersStopped,
    End::ReaderKilled,
    End::DiskFull,
    End::ClockSet,
];

/// Where servers come to their ends.
struct Scene<'a> {
    binary: &'a Path,
    data: PathBuf,
    clock: WallClock,
}

impl Scene<'_> {
    fn server(&self) -> anyhow::Result<Server> {
        let mut program = Command::new(self.binary);
        self.clock.give(&mut program);
        Server::start_as(program, &self.data, SETTINGS)
    }
}

/// Does so many of them, chosen by `seed`, to servers over one folder; what healthy clients saw in all. Of as many as
/// there are kinds, each is of another one.
pub fn endings(binary: &Path, folder: &Path, count: usize, seed: u64) -> anyhow::Result<Seen> {
    let mut random = fastrand::Rng::with_seed(seed);
    let disk = Disk::mount(&folder.join("disk"), DISK)?;
    let scene = Scene {
        binary,
        data: disk.folder().join("data"),
        clock: WallClock::in_folder(folder)?,
    };
    let mut server = scene.server()?;
    let mut all = Seen::default();
    let mut ends = Vec::new();
    for number in 0..count {
        if ends.is_empty() {
            ends = ENDS.to_vec();
            random.shuffle(&mut ends);
        }
        let Some(end) = ends.pop() else { break };
        let told = || format!("ending {number} of seed {seed}: {end:?}");
        let load = Load::start(server.address(), BRISK)?;
        std::thread::sleep(part_of(&mut random, BEFORE));
        server = come_to(end, server, &scene, &mut random).with_context(told)?;
        let mut seen = load.stop();
        // Nobody is refused because of what went before.
        let load = Load::start(server.address(), BRISK)?;
        std::thread::sleep(Duration::from_millis(300));
        seen.add(load.stop());
        accounted(&server, &seen).with_context(told)?;
        all.add(seen);
    }
    done_once(&server, &all).with_context(|| format!("after the endings of seed {seed}"))?;
    server.kill()?;
    Ok(all)
}

/// A random part of a time.
fn part_of(random: &mut fastrand::Rng, time: Duration) -> Duration {
    time.mul_f64(random.f64())
}

/// Brings an end about; the server that goes on.
fn come_to(end: End, server: Server, scene: &Scene<'_>, random: &mut fastrand::Rng) -> anyhow::Result<Server> {
    match end {
        End::Killed => server.kill()?,
        End::Asked => server.end(Signal::TERM)?,
        End::Stopped => {
            server.signal(Signal::STOP)?;
            std::thread::sleep(part_of(random, STOPPED));
            server.signal(Signal::CONT)?;
            return Ok(server);
        }
        End::ReadersStopped => {
            let readers = server.readers();
            signal_all(&readers, Signal::STOP);
            std::thread::sleep(part_of(random, STOPPED));
            signal_all(&readers, Signal::CONT);
            return Ok(server);
        }
        End::ReaderKilled => {
            signal_all(&server.readers().into_iter().take(1).collect::<Vec<_>>(), Signal::KILL);
            return Ok(server);
        }
        End::DiskFull => {
            let ballast = scene.data.with_file_name("ballast");
            fill(&ballast)?;
            std::thread::sleep(FULL);
            fs::remove_file(&ballast)?;
            return Ok(server);
        }
        End::ClockSet => {
            scene.clock.set(random.i64(-SET..=SET))?;
            std::thread::sleep(part_of(random, SET_FOR));
            scene.clock.set(0)?;
            return Ok(server);
        }
    }
    scene.server()
}

/// Readers come and go: one that is gone needs no signal.
fn signal_all(readers: &[rustix::process::Pid], signal: Signal) {
    for reader in readers {
        let _ = rustix::process::kill_process(*reader, signal);
    }
}

/// Each report has one version of its diagnosis, and list and index have each that there is once.
fn done_once(server: &Server, seen: &Seen) -> anyhow::Result<()> {
    for id in &seen.acknowledged {
        let diagnoses = server.json(&format!("/api/v1/reports/{id}/diagnoses"))?;
        let versions = diagnoses["diagnoses"].as_array().map_or(0, Vec::len);
        ensure!(versions == 1, "report {id} was diagnosed {versions} times");
    }
    let listed = all(server, "/api/v1/reports?limit=200", "reports")?;
    let deadline = Instant::now() + SETTLED;
    loop {
        let found = all(server, "/api/v1/search?q=host:healthy&limit=200&facet_values=0", "hits")?;
        if listed == found {
            break;
        }
        ensure!(
            Instant::now() < deadline,
            "there are {} reports, and {} are found",
            listed.len(),
            found.len()
        );
        std::thread::sleep(Duration::from_millis(200));
    }
    let lost = seen.acknowledged.iter().find(|id| !listed.contains(*id));
    ensure!(lost.is_none(), "report {lost:?} was acknowledged, and is not there");
    Ok(())
}

/// The ids on all pages of a list. None is there twice.
fn all(server: &Server, path: &str, rows: &str) -> anyhow::Result<BTreeSet<String>> {
    let (mut ids, mut after) = (BTreeSet::new(), String::new());
    loop {
        let page = server.json(&format!("{path}{after}"))?;
        for row in page[rows].as_array().into_iter().flatten() {
            let id = row["id"].as_str().unwrap_or_default();
            ensure!(ids.insert(id.to_owned()), "{path} has report {id} twice");
        }
        let Some(next) = page["next"].as_str() else {
            return Ok(ids);
        };
        after = format!("&after={next}");
    }
}
