//! The artifacts with known truth, and what has to be unpacked before a debugger can read it.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::Value;

/// The folder of artifacts, with a folder for what is unpacked from it.
#[derive(Debug)]
pub struct Artifacts {
    root: PathBuf,
    unpacked: PathBuf,
}

impl Artifacts {
    /// Those of `$WHYCRASH_ARTIFACTS`, or of `../shared/artifacts`; `unpacked` is made if it is not there.
    pub fn open(unpacked: PathBuf) -> Result<Self> {
        let named = std::env::var_os("WHYCRASH_ARTIFACTS");
        let root = named.map_or_else(|| PathBuf::from("../shared/artifacts"), PathBuf::from);
        fs::read_dir(&root).with_context(|| {
            format!(
                "the artifacts could not be read at {}: say in WHYCRASH_ARTIFACTS where they are",
                root.display()
            )
        })?;
        let artifacts = Self { root, unpacked };
        artifacts.unpack_binaries()?;
        Ok(artifacts)
    }

    /// A file or folder among the artifacts.
    pub fn path(&self, relative: &str) -> PathBuf {
        self.root.join(relative)
    }

    /// Folders with the binaries of the crashed programs and their debug files.
    pub fn symbols(&self) -> Vec<PathBuf> {
        vec![self.unpacked.join("bin"), self.path("made/bin")]
    }

    /// The file with this name in the folders of [`Self::symbols`].
    pub fn binary(&self, name: &str) -> Option<PathBuf> {
        self.symbols()
            .into_iter()
            .map(|folder| folder.join(name))
            .find(|path| path.is_file())
    }

    /// Unpacks a file (`made/x/core.zst`) and says where it is now. What was unpacked before is kept.
    pub fn unpack(&self, relative: &str) -> Result<PathBuf> {
        let from = self.path(relative);
        let to = self.unpacked.join(relative.trim_end_matches(".zst").replace('/', "_"));
        unpack(&from, &to)?;
        Ok(to)
    }

    fn unpack_binaries(&self) -> Result<()> {
        let to = self.unpacked.join("bin");
        fs::create_dir_all(&to).with_context(|| format!("{} could not be made", to.display()))?;
        for path in files(&self.path("made/bin"))? {
            if path.extension().is_some_and(|extension| extension == "zst") {
                unpack(&path, &to.join(path.file_stem().unwrap_or_default()))?;
            }
        }
        Ok(())
    }
}

/// The files and folders of a folder, by name.
pub fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let read = || -> std::io::Result<Vec<PathBuf>> {
        let mut paths = fs::read_dir(folder)?
            .map(|entry| Ok(entry?.path()))
            .collect::<std::io::Result<Vec<PathBuf>>>()?;
        paths.sort();
        Ok(paths)
    };
    read().with_context(|| format!("{} could not be read", folder.display()))
}

/// A JSON file.
pub fn json(path: &Path) -> Result<Value> {
    let bytes = fs::read(path).with_context(|| format!("{} could not be read", path.display()))?;
    serde_json::from_slice(&bytes).with_context(|| format!("{} is no JSON", path.display()))
}

fn unpack(from: &Path, to: &Path) -> Result<()> {
    if to.exists() {
        return Ok(());
    }
    // Under another name until it is whole: a copy that was cut off must not be taken for the file.
    let partial = to.with_extension("partial");
    let copy = || -> std::io::Result<()> {
        zstd::stream::copy_decode(File::open(from)?, File::create(&partial)?)?;
        fs::rename(&partial, to)
    };
    copy().with_context(|| format!("{} could not be unpacked to {}", from.display(), to.display()))
}
