//! A wall clock that is set for one process alone: nobody may set the machine's for a test.

use std::fs::{self, File};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, ensure};

/// What is loaded into the process.
const SOURCE: &str = include_str!("wall_clock.c");

/// The wall clock of the processes that were started with it.
#[derive(Debug)]
pub struct WallClock {
    library: PathBuf,
    path: PathBuf,
    shift: File,
}

impl WallClock {
    /// A clock that goes right, with its files in this folder.
    pub fn in_folder(folder: &Path) -> anyhow::Result<Self> {
        let (source, library) = (folder.join("wall_clock.c"), folder.join("wall_clock.so"));
        fs::write(&source, SOURCE)?;
        let compiled = Command::new("cc")
            .args(["-shared", "-fPIC", "-O1", "-o"])
            .args([&library, &source])
            .status()
            .context("cc can not be run")?;
        ensure!(compiled.success(), "cc can not compile {}", source.display());
        let path = folder.join("wall_clock.shift");
        let clock = Self {
            shift: File::create(&path)?,
            library,
            path,
        };
        clock.set(0)?;
        Ok(clock)
    }

    /// Sets it so many seconds ahead of the machine's.
    pub fn set(&self, ahead: i64) -> anyhow::Result<()> {
        Ok(self.shift.write_all_at(&ahead.to_ne_bytes(), 0)?)
    }

    /// Has a program go by it.
    pub fn give<'a>(&self, program: &'a mut Command) -> &'a mut Command {
        program
            .env("LD_PRELOAD", &self.library)
            .env("WALL_CLOCK_SHIFT", &self.path)
    }
}
