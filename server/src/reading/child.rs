//! The reading process: takes requests from its standard input, one at a time, until that ends.

use std::fs;
use std::io::{self, BufRead, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::mpsc;

use anyhow::Context;
use rustix::process::{Resource, Rlimit, setrlimit};
use whycrash_evidence::Limits;
use whycrash_evidence::readers::NO_MEMORY;
use whycrash_reading::stored::Parts;
use whycrash_reading::{Reader, Report, ReportLimits};

use super::{Answer, Request};
use crate::config::Config;

/// Files that reading a report needs open at one time, by far.
const OPEN_FILES: u64 = 1024;

/// Reads what it is asked to until standard input ends. The first line is the server's configuration.
///
/// # Errors
/// When the limits can not be set, or nobody takes the answers.
pub fn run() -> anyhow::Result<()> {
    let mut config = String::new();
    io::stdin().read_line(&mut config).context("no configuration came")?;
    let config: Config = serde_json::from_str(&config).context("the configuration can not be read")?;
    limit(&config)?;
    let sources = crate::services::symbol_sources(&config, &config.data);
    let reader = Reader::new(sources, Limits::default(), ReportLimits::default());
    for request in requests() {
        let answer = answer(&reader, &request?);
        let mut out = io::stdout().lock();
        serde_json::to_writer(&mut out, &answer)?;
        out.write_all(b"\n")?;
        out.flush()?;
    }
    Ok(())
}

/// The lines of standard input. When it ends, the server has ended: so does this process, whatever it is reading.
fn requests() -> mpsc::IntoIter<io::Result<String>> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        for line in io::stdin().lock().lines() {
            drop(sender.send(line));
        }
        std::process::exit(0);
    });
    receiver.into_iter()
}

/// Gives this process less of everything than the server has, and lets the kernel end it first when memory runs out.
fn limit(config: &Config) -> anyhow::Result<()> {
    let at_most = |most: u64| Rlimit {
        current: Some(most),
        maximum: Some(most),
    };
    // Data and not the address space: cores are mapped as a whole, and looked at in parts.
    setrlimit(Resource::Data, at_most(config.workers.memory_bytes())).context("can not limit the memory")?;
    setrlimit(Resource::Core, at_most(0)).context("can not turn core dumps off")?;
    // Where less is allowed already, or there is no such file, nothing is lost.
    let _ = setrlimit(Resource::Nofile, at_most(OPEN_FILES));
    let _ = fs::write("/proc/self/oom_score_adj", "1000");
    Ok(())
}

fn answer(reader: &Reader, request: &str) -> Answer {
    let request: Request = match serde_json::from_str(request) {
        Ok(request) => request,
        Err(error) => return Answer::Failed(None, error.to_string()),
    };
    let folder = request.folder.clone();
    let input = request.input();
    // A reader keeps caches only, each consistent after every step, so it is fit for use after a panic.
    match catch_unwind(AssertUnwindSafe(|| reader.read(&input))) {
        Err(panic) => Answer::Panicked(words(panic.as_ref())),
        Ok(report) if lacked_memory(&report) => Answer::NoMemory,
        Ok(report) => match report.store(Path::new(&folder)) {
            Ok(Parts(parts)) => Answer::Read(parts.into_iter().map(|(name, body)| (name, body.into())).collect()),
            Err(error) => Answer::Failed(error.raw_os_error(), error.to_string()),
        },
    }
}

fn lacked_memory(report: &Report) -> bool {
    let problems = report.head.artifacts.iter().flat_map(|artifact| &artifact.problems);
    problems.into_iter().any(|problem| problem.code == NO_MEMORY)
}

/// What a panic said.
pub(crate) fn words(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or(panic.downcast_ref::<&str>().copied());
    text.unwrap_or("without a message").to_owned()
}
