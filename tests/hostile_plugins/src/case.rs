//! The descriptions.

use std::collections::HashMap;
use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use anyhow::{Context as _, bail, ensure};
use serde::Deserialize;

use crate::{bombs, component};

/// One way to hurt the host.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Case {
    /// Names the case; and the plugin, unless `info` says otherwise.
    pub name: String,
    /// How it must end.
    pub outcome: Outcome,
    /// A piece of the reason that people are told.
    pub reason: String,
    /// Version of the interface that it is made for; the newest one when empty.
    pub interface: String,
    /// What it says about itself.
    pub info: Info,
    /// What its module does when it is instantiated: instructions in WebAssembly text.
    pub start: String,
    /// What it does before it says what it is.
    pub about: String,
    /// What it does before it answers; `$report` is the report, `$a` and `$b` are of type i32.
    pub diagnose: String,
    /// More fields of its module.
    pub module: String,
    /// What gives the host memory for its answers, `cabi_realloc`, in place of one that works.
    pub allocator: String,
    /// How its texts are said to be written: `utf16`, `latin1+utf16` or, when empty, UTF-8; they are in UTF-8 anyway.
    pub encoding: String,
    /// Texts that instructions use: the first is at `$t0` and has `$n0` bytes.
    pub texts: Vec<String>,
    /// What it claims in the end.
    pub findings: Vec<Claim>,
    /// Modules that its component instantiates besides.
    pub more_modules: Vec<String>,
    /// A component in text, instead of all of that.
    pub component: Option<String>,
    /// Bytes that something else makes: see [`bombs::make`].
    pub bytes: Option<String>,
    /// What stands in the folder instead of a file: `fifo`, `endless` (a link to /dev/zero), `sparse`, `folder`,
    /// `nowhere` (a link that leads nowhere).
    pub file: Option<String>,
}

/// How a case must end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// It never runs, and says why.
    #[default]
    Refused,
    /// It runs, and nothing that it says counts.
    Failed,
    /// It runs, and is heard: what it tried had no effect.
    Ok,
    /// It depends on the machine whether it is refused: it costs about as much as is allowed.
    Any,
}

/// What a plugin says about itself.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Info {
    /// Its name; the case's when empty.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Causes it can name.
    pub causes: Vec<String>,
    /// Kinds of evidence of which it needs one.
    pub any_of: Vec<String>,
    /// Kinds of evidence it needs.
    pub all_of: Vec<String>,
}

impl Default for Info {
    fn default() -> Self {
        Self {
            name: String::new(),
            version: "1.0.0".to_owned(),
            causes: vec!["abrt-assert".to_owned()],
            any_of: Vec::new(),
            all_of: Vec::new(),
        }
    }
}

/// A finding that a plugin returns.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Claim {
    /// The cause it names.
    pub cause: String,
    /// A title of its own.
    pub title: Option<String>,
    /// How sure it is; a text stands for what TOML can not say.
    pub confidence: f64,
    /// Why.
    pub explanation: String,
    /// The places it cites.
    pub cites: Vec<Place>,
    /// The places it cites against it.
    pub against: Vec<Place>,
    /// What to do first.
    pub first_step: Option<String>,
    /// How many times it is returned.
    pub times: usize,
}

impl Default for Claim {
    fn default() -> Self {
        Self {
            cause: "abrt-assert".to_owned(),
            title: None,
            confidence: 0.5,
            explanation: "It says so.".to_owned(),
            cites: Vec::new(),
            against: Vec::new(),
            first_step: None,
            times: 1,
        }
    }
}

/// A place that a plugin cites; one of the places is set.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Place {
    /// The artifact.
    pub artifact: String,
    /// First and last line.
    pub line: Option<[u64; 2]>,
    /// Thread and index of a frame.
    pub frame: Option<(String, u32)>,
    /// Number of an event.
    pub event: Option<u32>,
    /// First byte and the one behind the last.
    pub bytes: Option<[u64; 2]>,
    /// Path of a fact.
    pub fact: Option<String>,
    /// What is said to stand there.
    pub quote: String,
    /// How many times it is cited.
    pub times: usize,
}

impl Default for Place {
    fn default() -> Self {
        Self {
            artifact: "train.log".to_owned(),
            line: None,
            frame: None,
            event: None,
            bytes: None,
            fact: None,
            quote: String::new(),
            times: 1,
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Cases {
    case: Vec<Case>,
}

/// All cases of `cases/*.toml`, by file and in the order in which they stand there.
pub fn cases() -> anyhow::Result<Vec<Case>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("cases");
    let mut files: Vec<PathBuf> = fs::read_dir(&folder)?
        .map(|file| Ok(file?.path()))
        .collect::<std::io::Result<_>>()?;
    files.sort();
    let mut cases: Vec<Case> = Vec::new();
    for file in files {
        let text = fs::read_to_string(&file)?;
        let read: Cases = toml::from_str(&text).with_context(|| file.display().to_string())?;
        cases.extend(read.case);
    }
    for (number, case) in cases.iter().enumerate() {
        let earlier = cases.iter().take(number).any(|other| other.name == case.name);
        ensure!(!earlier, "two cases are called {}", case.name);
    }
    Ok(cases)
}

impl Case {
    /// Puts what the case is about into a folder of plugins.
    pub fn install(&self, folder: &Path) -> anyhow::Result<()> {
        let path = folder.join(format!("{}.wasm", self.name));
        match self.file.as_deref() {
            None => fs::write(path, &*self.made().with_context(|| self.name.clone())?)?,
            Some("fifo") => {
                let made = Command::new("mkfifo").arg(&path).status()?;
                ensure!(made.success(), "mkfifo failed");
            }
            Some("endless") => symlink("/dev/zero", path)?,
            Some("nowhere") => symlink("nowhere", path)?,
            Some("sparse") => File::create(path)?.set_len(20 << 30)?,
            Some("folder") => fs::create_dir(path)?,
            Some(other) => bail!("there is no kind of file {other:?}"),
        }
        Ok(())
    }

    /// What is written, made once a process: many tests want all of them.
    fn made(&self) -> anyhow::Result<Arc<Vec<u8>>> {
        static MADE: LazyLock<Mutex<HashMap<String, Arc<Vec<u8>>>>> = LazyLock::new(Mutex::default);
        let made = || MADE.lock().unwrap_or_else(PoisonError::into_inner);
        let whole = format!("{self:?}");
        if let Some(known) = made().get(&whole) {
            return Ok(Arc::clone(known));
        }
        let wasm = Arc::new(self.wasm()?);
        made().insert(whole, Arc::clone(&wasm));
        Ok(wasm)
    }

    fn wasm(&self) -> anyhow::Result<Vec<u8>> {
        match (&self.bytes, &self.component) {
            (Some(bytes), _) => bombs::make(bytes),
            (None, Some(text)) => Ok(wat::parse_str(text)?),
            (None, None) => component(self),
        }
    }
}
