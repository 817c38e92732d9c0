//! Lays the cases of the archives out as folders, where tests and tools find them as a crash leaves them.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

use anyhow::Context as _;

#[allow(dead_code)]
#[path = "src/archive.rs"]
mod archive;

fn main() -> anyhow::Result<()> {
    let here = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").context("cargo sets CARGO_MANIFEST_DIR")?);
    let out = PathBuf::from(env::var_os("OUT_DIR").context("cargo sets OUT_DIR")?);
    for folder in ["cases", "files", "frozen"] {
        println!("cargo::rerun-if-changed={}", here.join(folder).display());
    }
    for part in ["cases", "frozen"] {
        lay_out(&here.join(part), &out.join(part))?;
    }
    copy(&here.join("files"), &out.join("cases"))?;
    Ok(())
}

/// Lays out all archives of a folder, in the place of what was laid out before.
fn lay_out(archives: &Path, out: &Path) -> anyhow::Result<()> {
    if out.exists() {
        fs::remove_dir_all(out)?;
    }
    fs::create_dir_all(out)?;
    for entry in fs::read_dir(archives)? {
        let path = entry?.path();
        if path.extension().is_some_and(|ending| ending == "txtar") {
            unpack(&path, out)?;
        }
    }
    Ok(())
}

fn unpack(path: &Path, out: &Path) -> anyhow::Result<()> {
    let text = fs::read_to_string(path).with_context(|| format!("read {}", path.display()))?;
    for entry in archive::entries(&text) {
        write(&out.join(entry.name), entry.text.as_bytes())
            .with_context(|| format!("unpack {} of {}", entry.name, path.display()))?;
    }
    Ok(())
}

fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    path.parent().map_or(Ok(()), fs::create_dir_all)?;
    fs::write(path, bytes)
}

/// Copies a folder with all that is in it; what may be run stays so.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let to = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &to)?;
        } else {
            fs::copy(entry.path(), to)?;
        }
    }
    Ok(())
}
