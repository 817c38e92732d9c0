//! A plugin that is run natively: by the interpreter of its language on this machine, on what a plugin is told of a case.
//! Nothing has to be built for that, so that an edit is tried within a second; the sandbox has the last word.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use serde::Deserialize;
use whycrash_plugin_host::{
    Diagnoser, Document, NativeDiagnosis, NativeInfo, NativePlugin, NativeRun, PluginInfo, Settings, Told,
};

use super::project::{Language, Project};
use super::{build, case};

/// How long a run may take, whatever else this machine does. The library says far sooner where a run is that does not end;
/// this ends one that does not listen.
const PATIENCE: Duration = Duration::from_mins(2);
/// How often it is looked whether a run has ended.
const LOOK: Duration = Duration::from_millis(5);
/// Bytes that are read of an answer, and of what is said where there is none.
const ANSWER_BYTES: u64 = 64 << 20;
const COMPLAINT_BYTES: u64 = 8 << 10;

/// A plugin that is run natively, as if it were installed.
#[derive(Debug)]
pub struct Native {
    project: Project,
    diagnoser: Diagnoser,
    plugin: NativePlugin,
}

/// What runs a plugin on cases.
#[derive(Debug)]
pub enum Runner {
    /// The interpreter of its language.
    Native(Native),
    /// The sandbox, with the component as it was built.
    Sandbox(Diagnoser, PluginInfo),
}

impl Runner {
    /// The plugin's name.
    pub fn name(&self) -> &str {
        match self {
            Self::Native(native) => native.plugin.name(),
            Self::Sandbox(_, plugin) => &plugin.name,
        }
    }

    /// Whether it is not the sandbox.
    pub fn is_native(&self) -> bool {
        matches!(self, Self::Native(_))
    }

    /// The document of a case by this plugin alone.
    pub fn diagnose(&self, folder: &Path) -> anyhow::Result<Document> {
        match self {
            Self::Native(native) => native.diagnose(folder),
            Self::Sandbox(diagnoser, _) => {
                Ok(diagnoser.diagnose_from_outside(&case::input(folder)?, case::history(folder)?))
            }
        }
    }
}

/// What the library of the language writes down of a run.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Answer {
    about: Option<NativeInfo>,
    diagnosis: Option<NativeDiagnosis>,
    error: Option<String>,
    log: Vec<String>,
}

impl Native {
    /// Asks the plugin what it is; none where it is compiled, or was made before there was a way to run it so.
    pub fn of(project: &Project) -> anyhow::Result<Option<Self>> {
        let Some(program) = program(project)? else {
            return Ok(None);
        };
        let answer = run(project, program, None)?;
        let info = match (answer.about, answer.error) {
            (Some(info), None) => info,
            (_, error) => bail!("the plugin can not be used: {}", error.unwrap_or_default()),
        };
        let diagnoser = Diagnoser::new(Settings::default())?;
        let plugin = diagnoser.native_plugin(info, pages(project)?);
        let plugin = plugin.map_err(|problem| anyhow::anyhow!("the plugin can not be used: {problem}"))?;
        if plugin.name() != project.name {
            bail!(
                "the plugin can not be used: it calls itself `{}`, and its plugin.toml {:?}",
                plugin.name(),
                project.name
            );
        }
        Ok(Some(Self {
            project: project.clone(),
            diagnoser,
            plugin,
        }))
    }

    /// The document of a case by this plugin alone.
    fn diagnose(&self, folder: &Path) -> anyhow::Result<Document> {
        let (input, history) = (case::input(folder)?, case::history(folder)?);
        let document = self
            .diagnoser
            .diagnose_natively(&self.plugin, &input, history, |told| self.run(told));
        document.with_context(|| format!("can not read the texts of {}", folder.display()))
    }

    fn run(&self, told: &Told<'_>) -> NativeRun {
        let begun = Instant::now();
        let answer = program(&self.project)
            .and_then(|program| run(&self.project, program.context("it was there before")?, Some(told)))
            .unwrap_or_else(|error| Answer {
                error: Some(format!("{error:#}")),
                ..Answer::default()
            });
        NativeRun {
            said: match (answer.error, answer.diagnosis) {
                (Some(error), _) => Err(error),
                (None, diagnosis) => diagnosis.ok_or_else(|| "it did not answer".to_owned()),
            },
            log: answer.log,
            millis: begun.elapsed().as_secs_f64() * 1e3,
        }
    }
}

/// Whether plugins of this project are run natively.
fn is_native(project: &Project) -> bool {
    let library = match project.language {
        Language::Python => "whycrash/native.py",
        Language::Js | Language::Ts => "whycrash/native.mjs",
        Language::Rust | Language::C => return false,
    };
    // Those that were made before there was a library are not.
    project.folder.join(library).is_file()
}

/// What runs a plugin of this project natively.
fn program(project: &Project) -> anyhow::Result<Option<Command>> {
    if !is_native(project) {
        return Ok(None);
    }
    let has = |file: &str| project.folder.join(file).is_file();
    let mut command = match project.language {
        Language::Python => {
            let own = project.folder.join(".venv/bin/python");
            let mut python = Command::new(if own.is_file() { own } else { PathBuf::from("python3") });
            python.args(["-m", "whycrash.native"]);
            // What a build or an import left changes nothing, and nothing is left.
            python.envs([
                ("PYTHONDONTWRITEBYTECODE", "1"),
                ("PYTHONHASHSEED", "0"),
                ("PYTHONUTF8", "1"),
            ]);
            python
        }
        Language::Js => {
            let mut node = Command::new("node");
            node.args(["whycrash/native.mjs", "app.js"]);
            node
        }
        Language::Ts => {
            if !has("node_modules/amaro/package.json") {
                build::install_node_modules(project)?;
            }
            let mut node = Command::new("node");
            node.args(["--import", "./whycrash/typescript.mjs", "whycrash/native.mjs", "app.ts"]);
            node
        }
        Language::Rust | Language::C => return Ok(None),
    };
    command.current_dir(&project.folder).stdin(Stdio::null());
    Ok(Some(command))
}

/// Runs it, on a report or only to be asked what it is.
fn run(project: &Project, mut command: Command, told: Option<&Told<'_>>) -> anyhow::Result<Answer> {
    let folder = tempfile::tempdir()?;
    let [answer, evidence, said] = ["answer.json", "evidence.json", "said"].map(|name| folder.path().join(name));
    command.arg(&answer);
    if let Some(told) = told {
        fs::write(&evidence, serde_json::to_vec(told)?)?;
        command.arg(&evidence);
    }
    let output = File::create(&said)?;
    command.stdout(output.try_clone()?).stderr(output);
    let program = command.get_program().to_string_lossy().into_owned();
    let mut child = command
        .spawn()
        .with_context(|| format!("can not run {program}, which plugins in this language need: is it installed?"))?;
    let status = wait(&mut child)?;
    match read(&answer, ANSWER_BYTES) {
        Ok(json) => serde_json::from_str(&json)
            .with_context(|| format!("what {program} answered for {} does not parse", project.name)),
        Err(_) => {
            let said = read(&said, COMPLAINT_BYTES).unwrap_or_default();
            let how = status.map_or_else(
                || format!("did not end within {} seconds", PATIENCE.as_secs()),
                |status| format!("ended without an answer ({status})"),
            );
            bail!("{}", format!("{program} {how}\n{said}").trim_end());
        }
    }
}

/// Waits until the program has ended; none where it had to be ended.
fn wait(child: &mut Child) -> io::Result<Option<ExitStatus>> {
    let begun = Instant::now();
    while begun.elapsed() < PATIENCE {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        thread::sleep(LOOK);
    }
    child.kill()?;
    child.wait()?;
    Ok(None)
}

/// The beginning of a file, as text.
fn read(path: &Path, most: u64) -> io::Result<String> {
    let mut bytes = Vec::new();
    File::open(path)?.take(most).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The pages that the plugin brings, by their paths in its package.
fn pages(project: &Project) -> anyhow::Result<BTreeMap<String, Vec<u8>>> {
    let page = |path: PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let text = fs::read(&path).with_context(|| format!("can not read {}", path.display()))?;
        Ok((format!("causes/{name}"), text))
    };
    project.pages()?.into_iter().map(page).collect()
}
