//! The job's Python: which one, and what is installed in it. Read from files; no Python is run.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};

use super::environment;

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

/// What a process ran, as far as the kernel tells of it while it lives.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// The program (`/proc/PID/exe`), links resolved.
    executable: Option<PathBuf>,
    /// The first word of its command line, where that is a path from the root.
    called: Option<PathBuf>,
    /// The folders that it looks for programs in, and its virtual environment.
    search: Vec<PathBuf>,
}

impl Program {
    /// Of a process that lives; of one that runs no Python, nothing but which program it is.
    pub fn of(pid: u32, command: &[String]) -> Option<Self> {
        let executable = std::fs::read_link(format!("/proc/{pid}/exe")).ok()?;
        if !is_python(&executable) {
            return Some(Self {
                executable: Some(executable),
                ..Self::default()
            });
        }
        let variables = environment::of_process(pid);
        let folders = variables.get("PATH").map(String::as_str).unwrap_or_default();
        let environments = ["VIRTUAL_ENV", "CONDA_PREFIX"]
            .iter()
            .filter_map(|name| variables.get(*name));
        let environments = environments.map(|folder| Path::new(folder).join("bin"));
        Some(Self {
            executable: Some(executable),
            called: command.first().map(PathBuf::from).filter(|path| path.is_absolute()),
            search: std::env::split_paths(folders).chain(environments).collect(),
        })
    }

    /// Whether it is an interpreter of Python.
    pub fn is_python(&self) -> bool {
        self.executable.as_deref().is_some_and(is_python)
    }

    /// The interpreter as it was called: a virtual environment has a link to one that knows nothing of it.
    fn interpreter(&self, command: &[String]) -> Option<PathBuf> {
        let executable = self.executable.as_ref().filter(|path| is_python(path))?;
        let real = std::fs::canonicalize(executable).ok();
        let is_it = |path: &PathBuf| real.is_some() && std::fs::canonicalize(path).ok() == real;
        let name = command.first().filter(|word| !word.contains('/'));
        let names = name.map(String::as_str).into_iter().chain(["python3", "python"]);
        let found = names.flat_map(|name| self.search.iter().map(move |folder| folder.join(name)));
        let called = self.called.clone().into_iter().chain(found).find(is_it);
        Some(called.unwrap_or_else(|| executable.clone()))
    }
}

/// Programs of Python that run another program, which may be of another Python.
const LAUNCHERS: [&str; 9] = [
    "conda", "mamba", "poetry", "pipenv", "pdm", "hatch", "rye", "tox", "nox",
];

/// Whether a command line is of such a program: `/opt/conda/bin/python /opt/conda/bin/conda run -n train python fit.py`.
pub fn is_launcher(command: &[String]) -> bool {
    let names = command
        .iter()
        .take(2)
        .filter_map(|word| Path::new(word).file_name()?.to_str());
    names.into_iter().any(|name| LAUNCHERS.contains(&name))
}

impl Python {
    /// The Python that a process ran, as it was seen while it did.
    pub fn seen(program: &Program, command: &[String]) -> Option<Self> {
        program.interpreter(command).and_then(Self::at)
    }

    /// The Python that a command line would run, where nobody saw what it ran: itself, or the interpreter of the script
    /// it names.
    pub fn of(command: &[String]) -> Option<Self> {
        let program = unshimmed(find(command.first()?)?)?;
        let executable = if is_python(&program) {
            program
        } else {
            interpreter(&program)?
        };
        Self::at(executable)
    }

    fn at(executable: PathBuf) -> Option<Self> {
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

/// What a shim of pyenv stands for (`…/shims/python`), which is a script that chooses a version: by `PYENV_VERSION`, a
/// file `.python-version` in this folder or one around it, or `version` beside the shims. None where that is not known.
fn unshimmed(program: PathBuf) -> Option<PathBuf> {
    let shims = program.parent()?;
    let root = shims.parent()?;
    if shims.file_name() != Some(OsStr::new("shims")) || !root.join("versions").is_dir() {
        return Some(program);
    }
    let first = |text: String| {
        text.split([':', '\n', ' '])
            .find(|word| !word.is_empty())
            .map(str::to_owned)
    };
    let here = std::env::current_dir().ok();
    let around = here
        .iter()
        .flat_map(|here| here.ancestors())
        .map(|folder| folder.join(".python-version"));
    let mut files = around
        .chain([root.join("version")])
        .filter_map(|file| std::fs::read_to_string(file).ok());
    let version = std::env::var("PYENV_VERSION")
        .ok()
        .and_then(first)
        .or_else(|| files.find_map(first))?;
    if version == "system" {
        return None;
    }
    Some(
        root.join("versions")
            .join(version)
            .join("bin")
            .join(program.file_name()?),
    )
    .filter(|path| path.is_file())
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
    let mut roots = vec![prefix];
    if !isolated {
        roots.push(base);
    }
    // Debian's own Python has packages in both, and no other Python has any there.
    if roots.contains(&Path::new("/usr")) {
        roots.push(Path::new("/usr/local"));
    }
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
