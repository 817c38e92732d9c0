//! What happens to the machine under a server: no space, no descriptors, a broken index, a sudden end.
//!
//! Each has healthy clients at work before, during and after, and ends with the same question: is everything that was
//! acknowledged done, and found?

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};

use crate::load::{BRISK, Load, Seen};
use crate::server::Server;

/// How long each part of a state lasts.
const PART: Duration = Duration::from_secs(1);
/// Within this time a server must have recovered.
const RECOVERY: Duration = Duration::from_secs(90);

/// One way in which a machine fails.
type State = fn(&Path, &Path) -> anyhow::Result<Seen>;

/// All of them: what it is called, and what does it with a server's binary and an empty folder.
pub const STATES: [(&str, State); 8] = [
    ("the disk is full", full_disk),
    ("no file descriptor is left", no_descriptors),
    ("the index is deleted while the server runs", index_deleted),
    ("the index is damaged while the server runs", index_damaged),
    ("the index is a file at the start", index_is_a_file),
    ("the index is damaged at the start", index_damaged_at_the_start),
    ("kill -9 under load", killed),
    ("the staging folder is deleted", staging_deleted),
];

/// Starts a server whose settings let a fault show soon.
fn start(binary: &Path, data: &Path) -> anyhow::Result<Server> {
    Server::start(
        binary,
        data,
        "[limits]\nreserved_disk_bytes = 4194304\n[workers]\nretry_seconds = 1\n",
    )
}

/// Has healthy clients at work while `fault` is done and undone; then all that was acknowledged must be there.
fn under_load(server: &mut Server, fault: impl FnOnce(&Server) -> anyhow::Result<()>) -> anyhow::Result<Seen> {
    let load = Load::start(server.address(), BRISK)?;
    std::thread::sleep(PART);
    let result = fault(server);
    std::thread::sleep(PART);
    let seen = load.stop();
    result?;
    if let Some(end) = server.ended() {
        bail!("{end}");
    }
    let after = recovered(server)?;
    accounted(server, &after)?;
    accounted(server, &seen)?;
    Ok(seen)
}

/// Waits until healthy clients are refused nothing any more; what they saw then.
fn recovered(server: &Server) -> anyhow::Result<Seen> {
    let deadline = Instant::now() + RECOVERY;
    loop {
        let load = Load::start(server.address(), BRISK)?;
        std::thread::sleep(PART / 2);
        let seen = load.stop();
        if seen.refused.is_empty() {
            return Ok(seen);
        }
        if Instant::now() > deadline {
            bail!("healthy clients are still refused: {:?}", seen.refused.last());
        }
    }
}

/// Each acknowledged report is done, and searches find all of them.
pub fn accounted(server: &Server, seen: &Seen) -> anyhow::Result<()> {
    ensure!(
        !seen.acknowledged.is_empty(),
        "healthy clients got nothing acknowledged: {:?}",
        seen.refused
    );
    for id in &seen.acknowledged {
        server.done(id, RECOVERY)?;
    }
    let deadline = Instant::now() + RECOVERY;
    loop {
        let found = server.json("/api/v1/search?q=host:healthy&limit=1&facet_values=0");
        let total = found
            .as_ref()
            .ok()
            .and_then(|page| page["total"].as_u64())
            .unwrap_or_default();
        if total >= seen.acknowledged.len() as u64 {
            return Ok(());
        }
        if Instant::now() > deadline {
            bail!(
                "{total} of {} reports are found; it says {found:?}, and of itself {:?}; the log ends {:#?}",
                seen.acknowledged.len(),
                server.json("/readyz"),
                server.last_words(10)
            );
        }
        std::thread::sleep(Duration::from_millis(200));
    }
}

fn full_disk(binary: &Path, folder: &Path) -> anyhow::Result<Seen> {
    let disk = Disk::mount(&folder.join("disk"), 96)?;
    let mut server = start(binary, &disk.folder.join("data"))?;
    let ballast = disk.folder.join("ballast");
    let seen = under_load(&mut server, |_| {
        fill(&ballast)?;
        std::thread::sleep(PART * 3);
        Ok(fs::remove_file(&ballast)?)
    })?;
    server.kill()?;
    Ok(seen)
}

/// A small disk of its own, in memory. Only root may mount one.
pub(crate) struct Disk {
    folder: PathBuf,
}

impl Disk {
    pub(crate) fn mount(folder: &Path, mebibytes: u32) -> anyhow::Result<Self> {
        fs::create_dir_all(folder)?;
        let size = format!("size={mebibytes}m");
        let status = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &size, "tmpfs"])
            .arg(folder)
            .status();
        let status = status.context("mount can not be run")?;
        ensure!(status.success(), "can not mount a small disk: run this as root");
        Ok(Self {
            folder: folder.to_owned(),
        })
    }

    /// Where it is.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        // What can not be unmounted goes with the machine.
        let _ = Command::new("umount").arg(&self.folder).status();
    }
}

/// Writes until no byte fits any more.
pub(crate) fn fill(path: &Path) -> anyhow::Result<()> {
    use std::io::Write as _;
    let mut file = fs::File::create(path)?;
    for block in [1 << 20, 4096, 1] {
        let zeros = vec![0; block];
        while file.write_all(&zeros).is_ok() {}
    }
    Ok(())
}

fn no_descriptors(binary: &Path, folder: &Path) -> anyhow::Result<Seen> {
    let mut server = start(binary, &folder.join("data"))?;
    under_load(&mut server, |server| {
        for spare in [8, 2, 0] {
            server.limit_descriptors(Some((server.descriptors() + spare) as u64))?;
            std::thread::sleep(PART);
        }
        server.limit_descriptors(None)
    })
}

fn index_deleted(binary: &Path, folder: &Path) -> anyhow::Result<Seen> {
    let mut server = start(binary, &folder.join("data"))?;
    under_load(&mut server, |server| {
        remove(&server.data().join("index"))?;
        std::thread::sleep(PART);
        Ok(())
    })
}

/// Removes a folder into which a server goes on writing: what it adds meanwhile is removed at the next try.
fn remove(folder: &Path) -> anyhow::Result<()> {
    let deadline = Instant::now() + PART;
    while let Err(error) = fs::remove_dir_all(folder) {
        ensure!(
            Instant::now() < deadline,
            "can not remove {}: {error}",
            folder.display()
        );
    }
    Ok(())
}

fn index_damaged(binary: &Path, folder: &Path) -> anyhow::Result<Seen> {
    let mut server = start(binary, &folder.join("data"))?;
    under_load(&mut server, |server| {
        damage(&server.data().join("index"))?;
        std::thread::sleep(PART);
        Ok(())
    })
}

/// Cuts every file to half and writes over its start.
fn damage(folder: &Path) -> anyhow::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            damage(&path)?;
            continue;
        }
        // Files come and go while the index is written.
        let Ok(bytes) = fs::read(&path) else { continue };
        let half: Vec<u8> = bytes.iter().take(bytes.len() / 2).map(|byte| !byte).collect();
        fs::write(&path, half)?;
    }
    Ok(())
}

fn index_is_a_file(binary: &Path, folder: &Path) -> anyhow::Result<Seen> {
    started_again(binary, folder, |data| {
        let index = data.join("index");
        fs::remove_dir_all(&index)?;
        Ok(fs::write(index, b"not a folder")?)
    })
}

fn index_damaged_at_the_start(binary: &Path, folder: &Path) -> anyhow::Result<Seen> {
    started_again(binary, folder, |data| damage(&data.join("index")))
}

/// Ends a server under load, does something to its folder, and starts another.
fn started_again(
    binary: &Path,
    folder: &Path,
    between: impl FnOnce(&Path) -> anyhow::Result<()>,
) -> anyhow::Result<Seen> {
    let data = folder.join("data");
    let server = start(binary, &data)?;
    let load = Load::start(server.address(), BRISK)?;
    load.wait_for_one(RECOVERY);
    std::thread::sleep(PART);
    server.kill()?;
    let seen = load.stop();
    between(&data)?;
    let server = start(binary, &data)?;
    accounted(&server, &seen)?;
    Ok(seen)
}

fn killed(binary: &Path, folder: &Path) -> anyhow::Result<Seen> {
    started_again(binary, folder, |_| Ok(()))
}

fn staging_deleted(binary: &Path, folder: &Path) -> anyhow::Result<Seen> {
    let mut server = start(binary, &folder.join("data"))?;
    under_load(&mut server, |server| {
        remove(&server.data().join("staging"))?;
        std::thread::sleep(PART);
        Ok(())
    })
}
