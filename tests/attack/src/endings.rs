//! Sudden ends at moments that nobody chose, again and again over one archive.
//!
//! After each of them, and once more after the last, the same must hold: whatever was acknowledged is there, is done,
//! is found, and was diagnosed once. A worker that was stopped for longer than its lease must not have changed
//! anything.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use rustix::process::Signal;

use crate::load::{Load, Seen};
use crate::server::Server;
use crate::states::{Disk, accounted, fill};

/// A lease short enough to run out while a process is stopped.
const SETTINGS: &str =
    "local_symbols = false\n[limits]\nreserved_disk_bytes = 4194304\n[workers]\nlease_seconds = 2\nretry_seconds = 1\n";
/// Size of the disk, in MiB: a few kB for each report, and the index.
const DISK: u32 = 1024;
/// The longest that clients work before an end comes.
const BEFORE: Duration = Duration::from_millis(1500);
/// The longest that a process is stopped.
const STOPPED: Duration = Duration::from_secs(4);
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
}

const ENDS: [End; 6] = [
    End::Killed,
    End::Asked,
    End::Stopped,
    End::ReadersStopped,
    End::ReaderKilled,
    End::DiskFull,
];

/// Does so many of them, chosen by `seed`, to servers over one folder; what healthy clients saw in all.
pub fn endings(binary: &Path, folder: &Path, count: usize, seed: u64) -> anyhow::Result<Seen> {
    let mut random = fastrand::Rng::with_seed(seed);
    let disk = Disk::mount(&folder.join("disk"), DISK)?;
    let data = disk.folder().join("data");
    let mut server = Server::start(binary, &data, SETTINGS)?;
    let mut all = Seen::default();
    for number in 0..count {
        let end = ENDS[random.usize(..ENDS.len())];
        let told = || format!("ending {number} of seed {seed}: {end:?}");
        let load = Load::start(server.address())?;
        std::thread::sleep(part_of(&mut random, BEFORE));
        server = come_to(end, server, binary, &data, &mut random).with_context(told)?;
        let mut seen = load.stop();
        // Nobody is refused because of what went before.
        let load = Load::start(server.address())?;
        std::thread::sleep(Duration::from_millis(300));
        seen.add(load.stop());
        accounted(&server, &seen).with_context(told)?;
        all.add(seen);
    }
    done_once(&server, &all)?;
    server.kill()?;
    Ok(all)
}

/// A random part of a time.
fn part_of(random: &mut fastrand::Rng, time: Duration) -> Duration {
    time.mul_f64(random.f64())
}

/// Brings an end about; the server that goes on.
fn come_to(end: End, server: Server, binary: &Path, data: &Path, random: &mut fastrand::Rng) -> anyhow::Result<Server> {
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
            let ballast = data.with_file_name("ballast");
            fill(&ballast)?;
            std::thread::sleep(FULL);
            fs::remove_file(&ballast)?;
            return Ok(server);
        }
    }
    Server::start(binary, data, SETTINGS)
}

/// Readers come and go: one that is gone needs no signal.
fn signal_all(readers: &[rustix::process::Pid], signal: Signal) {
    for reader in readers {
        let _ = rustix::process::kill_process(*reader, signal);
    }
}

/// Each report has one version of its diagnosis, and the index has as many reports as there are.
fn done_once(server: &Server, seen: &Seen) -> anyhow::Result<()> {
    for id in &seen.acknowledged {
        let diagnoses = server.json(&format!("/api/v1/reports/{id}/diagnoses"))?;
        let versions = diagnoses["diagnoses"].as_array().map_or(0, Vec::len);
        ensure!(versions == 1, "report {id} was diagnosed {versions} times");
    }
    let deadline = Instant::now() + SETTLED;
    loop {
        let there = server.json("/api/v1/reports?limit=1")?["total"].clone();
        let found = server.json("/api/v1/search?q=host:healthy&limit=1&facet_values=0")?["total"].clone();
        if there == found {
            return Ok(());
        }
        ensure!(
            Instant::now() < deadline,
            "there are {there} reports, and {found} are found"
        );
        std::thread::sleep(Duration::from_millis(200));
    }
}
