//! All attacks, one after another, and what the server must have kept through them.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow};

use crate::case::{Case, Outcome};
use crate::cases::{GROUPS, Size, Victim, repeats};
use crate::endings::endings;
use crate::load::{BRISK, CALM, Load, Seen, quantile};
use crate::plugin_endings::plugin_endings;
use crate::server::{self, Server};
use crate::states;

/// Memory that a server may have at any moment, in KiB.
const MEMORY: u64 = 1 << 20;
/// How long a hostile report may take until it is done.
const HOSTILE: Duration = Duration::from_secs(300);
/// Largest document of a hostile report, in bytes.
const DOCUMENT: usize = 16 << 20;
/// How much slower healthy requests may be at their 99th percentile.
const SLOWER: f64 = 2.0;
/// How much is added to the niceness of hostile clients.
const HOSTILE_NICENESS: i32 = 10;
/// What ends at random moments are called.
const ENDINGS: &str = "sudden ends";
/// The same of those that come while plugins are published, disabled, enabled and removed.
const PLUGIN_ENDINGS: &str = "sudden ends while plugins change";
/// Settings that let stalled clients show within the run.
const SETTINGS: &str = "local_symbols = false\n[limits]\nreserved_disk_bytes = 4194304\n";

/// What to do.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The server's binary.
    pub binary: PathBuf,
    /// How large the cases are.
    pub size: Size,
    /// Only groups and states with one of these words in their names; all when empty.
    pub only: Vec<String>,
    /// How long healthy clients are watched before the attack, and after it.
    pub quiet: Duration,
    /// Chooses the sudden ends; others each time when absent.
    pub seed: Option<u64>,
}

/// What came of it.
#[derive(Debug, Default)]
pub struct Report {
    /// How many cases and states there were.
    pub attacks: usize,
    /// What is wrong, a line each.
    pub wrong: Vec<String>,
    /// What was measured, a line each.
    pub measured: Vec<String>,
    /// How many times slower healthy uploads and searches were, at the 99th percentile.
    pub slower: Option<f64>,
}

impl Report {
    /// Whether healthy clients were slowed down more than they may be.
    pub fn is_slow(&self) -> bool {
        self.slower.is_some_and(|slower| slower > SLOWER)
    }
}

impl Plan {
    fn wants(&self, name: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|word| name.contains(word.as_str()))
    }

    /// Does it all, telling how it goes.
    pub fn run(&self) -> anyhow::Result<Report> {
        let mut report = Report::default();
        if GROUPS.iter().any(|(name, _)| self.wants(name)) {
            self.requests(&mut report)?;
        }
        for (name, state) in states::STATES.into_iter().filter(|(name, _)| self.wants(name)) {
            let folder = tempfile::tempdir()?;
            report.attacks += 1;
            match state(&self.binary, folder.path()) {
                Ok(seen) => say(&mut report, format!("{name}: {}", healthy(&seen))),
                Err(error) => wrong(&mut report, format!("{name}: {error:#}")),
            }
        }
        if self.wants(ENDINGS) {
            self.endings(&mut report)?;
        }
        if self.wants(PLUGIN_ENDINGS) {
            self.plugin_endings(&mut report)?;
        }
        Ok(report)
    }

    /// Ends at random moments, other ones each time.
    fn endings(&self, report: &mut Report) -> anyhow::Result<()> {
        let (folder, seed) = (tempfile::tempdir()?, self.seed.unwrap_or_else(|| fastrand::u64(..)));
        let count = match self.size {
            Size::Bounded => 7,
            Size::Full => 300,
        };
        say(report, format!("{count} {ENDINGS}, seed {seed}"));
        report.attacks += count;
        match endings(&self.binary, folder.path(), count, seed) {
            Ok(seen) => say(report, format!("{ENDINGS}: {}", healthy(&seen))),
            Err(error) => wrong(report, format!("{ENDINGS}: {error:#}")),
        }
        Ok(())
    }

    /// The same while plugins are changed.
    fn plugin_endings(&self, report: &mut Report) -> anyhow::Result<()> {
        let (folder, seed) = (tempfile::tempdir()?, self.seed.unwrap_or_else(|| fastrand::u64(..)));
        let count = match self.size {
            Size::Bounded => 5,
            Size::Full => 100,
        };
        say(report, format!("{count} {PLUGIN_ENDINGS}, seed {seed}"));
        report.attacks += count;
        match plugin_endings(&self.binary, folder.path(), count, seed) {
            Ok(changes) => say(report, format!("{PLUGIN_ENDINGS}: {changes} changes")),
            Err(error) => wrong(report, format!("{PLUGIN_ENDINGS}: {error:#}")),
        }
        Ok(())
    }

    /// Hostile requests beside healthy ones, on one server.
    fn requests(&self, report: &mut Report) -> anyhow::Result<()> {
        let folder = tempfile::tempdir()?;
        let mut server = Server::start(&self.binary, &folder.path().join("data"), SETTINGS)?;
        let victim = victim(&server)?;
        let mut quiet = self.watch(&server)?;
        states::accounted(&server, &quiet).context("before any attack")?;
        say(report, format!("quiet: {}", healthy(&quiet)));

        let load = Load::start(server.address(), self.pace())?;
        let hostile = || {
            // Strangers have machines of their own: what they need of this one is not taken from healthy clients.
            let _ = rustix::process::nice(HOSTILE_NICENESS);
            self.attack_beside(&load, &mut server, &victim, report)
        };
        let mut attacked = std::thread::scope(|scope| {
            let hostile = scope.spawn(hostile);
            hostile.join().unwrap_or_else(|_| Err(anyhow!("the attack panicked")))
        })?;
        attacked.add(load.stop());
        say(report, format!("attacked: {}", healthy(&attacked)));
        if !attacked.refused.is_empty() {
            let shown = attacked.refused.iter().take(5).cloned().collect::<Vec<_>>();
            wrong(
                report,
                format!(
                    "healthy clients were refused {} times: {shown:?}",
                    attacked.refused.len()
                ),
            );
        }
        if let Err(error) = states::accounted(&server, &attacked) {
            wrong(report, format!("after the attack: {error:#}"));
        }
        // There are more reports now than there were, which costs something by itself.
        let again = self.watch(&server)?;
        say(report, format!("quiet again: {}", healthy(&again)));
        quiet.add(again);
        report.slower =
            Some(slower(&quiet.uploads, &attacked.uploads).max(slower(&quiet.searches, &attacked.searches)));
        left_over(&server, report);
        Ok(())
    }

    /// How often healthy clients come while strangers attack: to measure by, or to see that they are served.
    fn pace(&self) -> Duration {
        match self.size {
            Size::Bounded => CALM,
            Size::Full => BRISK,
        }
    }

    /// What healthy clients see while nobody else is there.
    fn watch(&self, server: &Server) -> anyhow::Result<Seen> {
        let load = Load::start(server.address(), self.pace())?;
        std::thread::sleep(self.quiet);
        Ok(load.stop())
    }

    /// Does what every group does, one after the other; what healthy clients saw meanwhile.
    fn attack_beside(
        &self,
        load: &Load,
        server: &mut Server,
        victim: &Victim,
        report: &mut Report,
    ) -> anyhow::Result<Seen> {
        let mut seen = Seen::default();
        for (name, group) in GROUPS.into_iter().filter(|(name, _)| self.wants(name)) {
            attack(server, name, &group(self.size, victim), report)?;
            let during = load.latest();
            say(report, format!("  beside them: {}", healthy(&during)));
            seen.add(during);
        }
        Ok(seen)
    }
}

/// A healthy report that hostile clients ask for, and one that has not come whole.
fn victim(server: &Server) -> anyhow::Result<Victim> {
    let artifact = "train.log".to_owned();
    let log = "step 1 loss 2.31\n".repeat(500) + "ValueError: this one was here before\n";
    let report = server.send(&artifact, log.as_bytes())?;
    server.done(&report, HOSTILE)?;
    let half = server.post(&repeats::declaration())?;
    let description = server.json("/api/v1/openapi.json")?;
    Ok(Victim {
        report,
        artifact,
        half,
        description,
    })
}

/// Has the hostile clients of a group do what they do, one case after another.
fn attack(server: &mut Server, group: &str, cases: &[Case], report: &mut Report) -> anyhow::Result<()> {
    let started = Instant::now();
    let mut reports = Vec::new();
    let mut slowest = (Duration::ZERO, String::new());
    for case in cases {
        let outcome: Outcome = case.run(server.address());
        report.attacks += 1;
        if let Some(trouble) = outcome.wrong {
            wrong(report, format!("{group}: {}: {trouble}", outcome.name));
        }
        if let Some(end) = server.ended() {
            anyhow::bail!("{group}: {}: {end}", outcome.name);
        }
        if outcome.took > slowest.0 {
            slowest = (outcome.took, outcome.name.clone());
        }
        reports.extend(outcome.reports.into_iter().map(|id| (id, outcome.name.clone())));
    }
    for (id, name) in reports {
        match server.done(&id, HOSTILE) {
            Ok(document) if document.to_string().len() > DOCUMENT => {
                wrong(
                    report,
                    format!("{group}: {name}: its document has more than {DOCUMENT} bytes"),
                );
            }
            Ok(_) => {}
            Err(error) => wrong(report, format!("{group}: {name}: {error:#}")),
        }
    }
    let line = format!(
        "{group}: {} cases in {:.1} s, slowest {:.1} s ({}), memory at most {} MiB",
        cases.len(),
        started.elapsed().as_secs_f64(),
        slowest.0.as_secs_f64(),
        slowest.1,
        server.peak() >> 10
    );
    say(report, line);
    Ok(())
}

/// What the attack left in the server.
fn left_over(server: &Server, report: &mut Report) {
    let staging = server.data().join("staging");
    let kept = server::disk_use(&staging);
    let memory = server.peak();
    let line = format!(
        "left: {kept} bytes of uploads that are not ended, {} open files, {} MiB on disk, memory at most {} MiB",
        server.descriptors(),
        server::disk_use(server.data()) >> 20,
        memory >> 10
    );
    say(report, line);
    if memory > MEMORY {
        wrong(report, format!("the server had {} MiB of memory", memory >> 10));
    }
    if kept > 0 {
        wrong(
            report,
            format!("{kept} bytes of refused uploads are left in {}", name(&staging)),
        );
    }
}

fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn slower(quiet: &[Duration], attacked: &[Duration]) -> f64 {
    let quiet = quantile(quiet, 0.99).as_secs_f64();
    quantile(attacked, 0.99).as_secs_f64() / quiet.max(f64::MIN_POSITIVE)
}

fn healthy(seen: &Seen) -> String {
    let times = |times: &[Duration]| {
        let [half, most] = [0.5, 0.99].map(|part| quantile(times, part).as_secs_f64() * 1000.0);
        format!("p50 {half:.1} ms, p99 {most:.1} ms")
    };
    format!(
        "{} uploads ({}), {} searches ({}), {} refused",
        seen.uploads.len(),
        times(&seen.uploads),
        seen.searches.len(),
        times(&seen.searches),
        seen.refused.len()
    )
}

fn say(report: &mut Report, line: String) {
    eprintln!("{line}");
    report.measured.push(line);
}

fn wrong(report: &mut Report, line: String) {
    eprintln!("WRONG {line}");
    report.wrong.push(line);
}
