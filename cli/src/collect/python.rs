//! The job's Python: which one, and what is installed in it. Read from files; no Python is run.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};

/// An interpreter and its packages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Python {
    /// Path of the interpreter, as it was called.
    pub executable: PathBuf,
    /// Such as `3.12`, with the patch level where a file tells it.
    pub version: Option<String>,
    /// Versions of the installed packages by name.
    pub packages: BTreeMap<String, String>,
}

impl Python {
    /// The Python that a command line runs: itself, or the interpreter of the script it names.
    pub fn of(command: &[String]) -> Option<Self> {
        let program = find(command.first()?)?;
        let executable = if is_python(&program) {
            program
        } else {
            interpreter(&program)?
        };
        let prefix = executable.parent()?.parent()?.to_owned();
        let real = std::fs::canonicalize(&executable).unwrap_or_else(|_| executable.clone());
        let folders = package_folders(&prefix, &real);
        let version = configured_version(&prefix)
            .or_else(|| version_of(&real))
            .or_else(|| folders.iter().find_map(|f| version_in(f)));
        let packages = folders.iter().rev().flat_map(|folder| packages(folder)).collect();
        Some(Self {
            executable,
            version,
            packages,
        })
    }
}

/// A program by path, or as the shell finds it.
fn find(program: &str) -> Option<PathBuf> {
    if program.contains('/') {
        return Some(PathBuf::from(program)).filter(|path| path.is_file());
    }
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|folder| folder.join(program))
        .find(|path| path.is_file())
}

fn is_python(path: &Path) -> bool {
    path.file_name()
        .and_then(OsStr::to_str)
        .is_some_and(|name| name.starts_with("python"))
}

/// The Python of a script's first line, which may go through `env`.
fn interpreter(script: &Path) -> Option<PathBuf> {
    let mut line = Vec::new();
    BufReader::new(std::fs::File::open(script).ok()?.take(512))
        .read_until(b'\n', &mut line)
        .ok()?;
    let line = String::from_utf8(line).ok()?;
    let mut words = line.strip_prefix("#!")?.split_whitespace();
    let first = words.next()?;
    let named = if first.ends_with("/env") {
        words.find(|word| !word.starts_with('-') && !word.contains('='))?
    } else {
        first
    };
    find(named).filter(|path| is_python(path))
}

/// Where packages are, most specific first: of the environment, of the interpreter behind it, of the distribution.
fn package_folders(prefix: &Path, real: &Path) -> Vec<PathBuf> {
    let base = real.parent().and_then(Path::parent).unwrap_or(prefix);
    let isolated = host_setting(prefix, "include-system-site-packages").is_some_and(|value| value == "false");
    let roots = if isolated {
        vec![prefix]
    } else {
        vec![prefix, base, Path::new("/usr/local"), Path::new("/usr")]
    };
    let mut folders = Vec::new();
    for root in roots {
        for library in ["lib", "lib64"].map(|name| root.join(name)) {
            let versions = std::fs::read_dir(&library)
                .into_iter()
                .flatten()
                .flatten()
                .map(|entry| entry.path());
            let wanted = version_of(real);
            let mut versions: Vec<_> = versions.filter(|path| is_python(path)).collect();
            versions.retain(|path| wanted.is_none() || path.ends_with("python3") || version_in_name(path) == wanted);
            folders.extend(
                versions
                    .iter()
                    .flat_map(|path| ["site-packages", "dist-packages"].map(|name| path.join(name))),
            );
        }
    }
    let mut distinct: Vec<PathBuf> = Vec::new();
    for folder in folders.into_iter().filter(|folder| folder.is_dir()) {
        if !distinct.contains(&folder) {
            distinct.push(folder);
        }
    }
    distinct
}

/// `name-version.dist-info` (PyPA, "Recording installed projects") and the older `name-version.egg-info`.
fn packages(folder: &Path) -> Vec<(String, String)> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let stem = name
                .strip_suffix(".dist-info")
                .or_else(|| name.strip_suffix(".egg-info"))?;
            let (name, version) = stem.split_once('-')?;
            let version = version.split("-py").next().unwrap_or(version);
            Some((name.to_lowercase().replace('_', "-"), version.to_owned()))
        })
        .collect()
}

/// A setting of a virtual environment's `pyvenv.cfg`.
fn host_setting(prefix: &Path, name: &str) -> Option<String> {
    let text = std::fs::read_to_string(prefix.join("pyvenv.cfg")).ok()?;
    let value = text
        .lines()
        .find_map(|line| line.split_once('=').filter(|(key, _)| key.trim() == name))?
        .1;
    Some(value.trim().to_owned())
}

fn configured_version(prefix: &Path) -> Option<String> {
    host_setting(prefix, "version").or_else(|| host_setting(prefix, "version_info"))
}

/// `3.12` of `/usr/bin/python3.12`.
fn version_of(executable: &Path) -> Option<String> {
    version_in_name(executable)
}

/// `3.12` of `…/lib/python3.12/site-packages`.
fn version_in(folder: &Path) -> Option<String> {
    version_in_name(folder.parent()?)
}

fn version_in_name(path: &Path) -> Option<String> {
    let version = path.file_name()?.to_str()?.strip_prefix("python")?;
    version.contains('.').then(|| version.to_owned())
}
