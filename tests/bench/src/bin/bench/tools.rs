//! The tools that people use now, and how to get those that are missing.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Result, anyhow};

/// A Python that has PyTorch: `$WHYCRASH_PYTHON`, or `python3`.
pub fn python() -> PathBuf {
    std::env::var_os("WHYCRASH_PYTHON").map_or_else(|| "python3".into(), PathBuf::from)
}

/// The program at its full path, or how to install it.
pub fn find(program: &str, install: &str) -> Result<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path)
        .map(|folder| folder.join(program))
        .find(|path| path.is_file());
    found.ok_or_else(|| anyhow!("{program} is missing: {install}"))
}

/// A file of the PyTorch that [`python`] has, or how to install it.
pub fn torch_file(relative: &str) -> Result<PathBuf> {
    let missing = || anyhow!("PyTorch is missing: pip install torch, and say in WHYCRASH_PYTHON which Python has it");
    let find = "import importlib.util, os; print(os.path.dirname(importlib.util.find_spec('torch').origin))";
    let folder = output(&python(), &[OsStr::new("-c"), OsStr::new(find)]).ok_or_else(missing)?;
    Some(PathBuf::from(folder.trim()).join(relative))
        .filter(|path| path.is_file())
        .ok_or_else(missing)
}

fn output(program: &PathBuf, arguments: &[&OsStr]) -> Option<String> {
    let output = Command::new(program)
        .args(arguments)
        .stderr(Stdio::null())
        .output()
        .ok()?;
    output
        .status
        .success()
        .then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}
