//! `whycrash plugin test`: what a plugin says about cases whose cause is known.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use serde::{Deserialize, Serialize};
use whycrash_catalog::suggestion::explained;
use whycrash_plugin_host::{Document, Finding, Outcome, PluginLimits, PluginRun};

use super::native::{Native, Runner};
use super::project::Project;
use super::{build, installed, junit, watch};
use crate::client::Progress as _;
use crate::output::{self, Bar, Clean, Format};

/// Run the plugin in this folder on its cases, without the built-in ones, and compare with what it found before
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The plugin's folder
    #[arg(default_value = ".", value_name = "FOLDER")]
    folder: PathBuf,
    /// Keep what it finds now as what it must find
    #[arg(long)]
    accept: bool,
    /// Build and test again whenever a file of the plugin changes, until it is interrupted
    #[arg(long, conflicts_with = "accept")]
    watch: bool,
    /// Run the component as a server does, also where the plugin's language can be run natively, as plugins in Python,
    /// JavaScript and TypeScript are
    #[arg(long)]
    sandbox: bool,
    /// Write what came of each case into this file, as JUnit's XML, which systems for CI show
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// How to answer
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Lines of a run's log that are shown, and characters of one.
const LOG_LINES: usize = 20;
const LOG_CHARS: usize = 300;

/// What `case.toml` says.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    /// The true cause; empty when none should be found.
    cause: String,
    /// Whether the plugin must be skipped here, since what it needs is absent.
    #[serde(default)]
    skipped: bool,
    /// Where the case comes from, for people.
    #[serde(default)]
    #[expect(dead_code, reason = "it is for people")]
    origin: String,
    /// Names of the files that the crash left; all others of the folder where it is absent.
    #[serde(default)]
    #[expect(dead_code, reason = "whoever reads the folder takes them")]
    artifacts: Vec<String>,
}

/// How one case ended.
#[derive(Debug, Serialize)]
pub struct Tried {
    pub case: String,
    pub state: State,
    /// What is wrong.
    pub problem: Option<String>,
    pub findings: Vec<Finding>,
    pub run: Option<PluginRun>,
}

/// Whether a case is as it must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// The plugin ran, and found what it must.
    Ok,
    /// The plugin failed, or found something else.
    Failed,
    /// The plugin was skipped, as it must be there: it said nothing about the case.
    Skipped,
}

/// All of them, how many ended how, and what a run may use.
#[derive(Debug, Serialize)]
pub struct Report {
    pub plugin: String,
    pub cases: Vec<Tried>,
    pub ok: usize,
    pub failed: usize,
    pub skipped: usize,
    /// They were not run in the sandbox, but by the interpreter of their language on this machine.
    pub native: bool,
    pub fuel: u64,
    pub memory: u64,
    pub millis: u64,
}

/// Tries the plugin on each case of `cases/`.
pub fn execute(args: &Args) -> anyhow::Result<ExitCode> {
    if args.watch {
        watch::run(&args.folder, || try_cases(args));
    }
    try_cases(args)
}

fn try_cases(args: &Args) -> anyhow::Result<ExitCode> {
    let project = Project::open(&args.folder)?;
    let cases = cases(&project.folder.join("cases"))?;
    let native = if args.sandbox { None } else { Native::of(&project)? };
    let runner = match native {
        Some(native) => Runner::Native(native),
        None => {
            build::build_what_changed(&project)?;
            install(&project)?
        }
    };
    let bar = Bar::of_cases(cases.len() as u64);
    let tried = cases.iter().zip(1..).map(|(folder, number)| {
        let tried = try_case(&runner, folder, args.accept);
        bar.set(number);
        tried
    });
    let tried = tried.collect::<anyhow::Result<Vec<_>>>()?;
    bar.finish();
    let limits = match &runner {
        Runner::Sandbox(diagnoser, plugin) => diagnoser.limits_of(&plugin.name).unwrap_or_default(),
        Runner::Native(_) => PluginLimits::default(),
    };
    let count = |state| tried.iter().filter(|tried| tried.state == state).count();
    let report = Report {
        plugin: project.name,
        ok: count(State::Ok),
        failed: count(State::Failed),
        skipped: count(State::Skipped),
        native: runner.is_native(),
        cases: tried,
        fuel: limits.fuel,
        memory: limits.memory as u64,
        millis: limits.millis,
    };
    output::answer(args.format, &report, text)?;
    if let Some(file) = &args.junit {
        fs::write(file, junit::xml(&report)).with_context(|| format!("can not write {}", file.display()))?;
    }
    Ok(if report.failed > 0 {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    })
}

/// The folders with a `case.toml`.
fn cases(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let listed = fs::read_dir(folder).with_context(|| format!("can not read {}", folder.display()))?;
    let mut cases: Vec<PathBuf> = listed.map(|entry| Ok(entry?.path())).collect::<std::io::Result<_>>()?;
    cases.retain(|case| case.join("case.toml").is_file());
    cases.sort();
    if cases.is_empty() {
        bail!(
            "{} has no case: a case is a folder with what a crash left and a case.toml",
            folder.display()
        );
    }
    Ok(cases)
}

/// A diagnoser in which the project's package is installed as a server would install it. An interpreter in it is compiled
/// for this machine once, which takes longer than everything else.
fn install(project: &Project) -> anyhow::Result<Runner> {
    let folder = tempfile::tempdir()?;
    fs::write(folder.path().join(format!("{}.zip", project.name)), project.pack()?)?;
    let waiting = Bar::of_waiting("compiling the plugin for this machine");
    let (diagnoser, plugin) = installed::from_folder(folder.path())?;
    waiting.finish();
    match &plugin.problem {
        Some(problem) => bail!("the plugin can not be used: {problem}"),
        None => Ok(Runner::Sandbox(diagnoser, plugin)),
    }
}

fn try_case(runner: &Runner, folder: &Path, accept: bool) -> anyhow::Result<Tried> {
    let path = folder.join("case.toml");
    let text = fs::read_to_string(&path).with_context(|| format!("can not read {}", path.display()))?;
    let case: Case = toml::from_str(&text).map_err(|error| wrong_case(&path, &text, &error))?;
    let document = runner.diagnose(folder)?;
    let run = document.plugins.iter().find(|run| run.name == runner.name()).cloned();
    let problem = match wrong(&case, run.as_ref(), &document) {
        Some(wrong) => Some(wrong),
        None => compare(&folder.join("expected.json"), &document.findings, accept)?,
    };
    Ok(Tried {
        case: folder.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        state: match problem {
            Some(_) => State::Failed,
            None if case.skipped => State::Skipped,
            None => State::Ok,
        },
        problem,
        findings: document.findings,
        run,
    })
}

/// What is wrong with a `case.toml`, with file, line and the right word.
fn wrong_case(path: &Path, text: &str, error: &toml::de::Error) -> anyhow::Error {
    let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
    let line = before.matches('\n').count() + 1;
    anyhow::anyhow!("{}:{line}: {}", path.display(), explained(error.message()))
}

/// What speaks against what the plugin said.
fn wrong(case: &Case, run: Option<&PluginRun>, document: &Document) -> Option<String> {
    let Some(run) = run else {
        return Some("it did not run".to_owned());
    };
    let reason = run.reason.as_deref().unwrap_or_default();
    let found = document
        .findings
        .first()
        .map(|finding| finding.cause.as_str())
        .unwrap_or_default();
    match run.outcome {
        Outcome::Failed => Some(format!("it failed: {reason}")),
        Outcome::Unavailable => Some(format!("this machine could not run it: {reason}")),
        Outcome::Skipped if case.skipped => None,
        Outcome::Skipped => Some(format!(
            "it was skipped: {reason}; if that is right, write `skipped = true` into case.toml"
        )),
        Outcome::Ok if case.skipped => Some("it ran, and case.toml says that it is skipped".to_owned()),
        Outcome::Ok if found == case.cause => None,
        Outcome::Ok if found.is_empty() => Some(format!("it found nothing instead of {}", case.cause)),
        Outcome::Ok if case.cause.is_empty() => Some(format!("it found {found}, and there is nothing to find")),
        Outcome::Ok => Some(format!("it found {found} instead of {}", case.cause)),
    }
}

/// Compares findings with those that were accepted before; the first ones are.
fn compare(path: &Path, findings: &[Finding], accept: bool) -> anyhow::Result<Option<String>> {
    let now = serde_json::to_string_pretty(findings)? + "\n";
    if accept || !path.exists() {
        fs::write(path, now).with_context(|| format!("can not write {}", path.display()))?;
        return Ok(None);
    }
    let before = fs::read_to_string(path).with_context(|| format!("can not read {}", path.display()))?;
    if before == now {
        return Ok(None);
    }
    let changed = now.lines().zip(before.lines()).find(|(now, before)| now != before);
    let (now, before) = changed.unwrap_or(("more or less of it", "something"));
    Ok(Some(format!(
        "its findings changed: {} where there was {}; keep them with --accept",
        now.trim(),
        before.trim()
    )))
}

fn text(report: &Report) -> Clean {
    let mut text = Clean::default();
    for tried in &report.cases {
        let state = match tried.state {
            State::Ok => "ok",
            State::Failed => "FAILED",
            State::Skipped => "skipped",
        };
        text.push(format!("{state:7} {}", tried.case));
        if let Some(run) = tried.run.as_ref().filter(|_| report.native) {
            text.push(format!("  natively, {:.0} ms", run.millis.unwrap_or_default()));
        } else if let Some(run) = &tried.run {
            text.push(format!(
                "  fuel {} of {}, memory {} of {} KiB, {:.1} of {} ms",
                run.fuel,
                report.fuel,
                run.memory >> 10,
                report.memory >> 10,
                run.millis.unwrap_or_default(),
                report.millis
            ));
        }
        text.end_line();
        for finding in &tried.findings {
            text.push(format!(
                "         {} ({:.2}): {}",
                finding.cause, finding.confidence, finding.explanation
            ));
            text.end_line();
        }
        let log = tried.run.as_ref().map_or(&[][..], |run| &run.log);
        for line in log.iter().take(LOG_LINES) {
            text.push(format!("         log: {}", clipped(line)));
            text.end_line();
        }
        if log.len() > LOG_LINES {
            let more = log.len() - LOG_LINES;
            text.push(format!(
                "         log: … and {more} lines more, which --format json has"
            ));
            text.end_line();
        }
        for line in tried.problem.iter().flat_map(|problem| problem.lines()) {
            text.push(format!("         {line}"));
            text.end_line();
        }
    }
    text.push(format!(
        "{} of {} cases ok, {} failed, {} skipped",
        report.ok,
        report.cases.len(),
        report.failed,
        report.skipped
    ));
    text.end_line();
    if report.native {
        text.push(
            "run natively; before you publish, `whycrash plugin test --sandbox` runs the component as a server does",
        );
        text.end_line();
    }
    text
}

/// The beginning of a line of a log.
fn clipped(line: &str) -> String {
    let mut shown: String = line.chars().take(LOG_CHARS).collect();
    if shown.len() < line.len() {
        shown.push('…');
    }
    shown
}
