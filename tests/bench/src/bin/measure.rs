//! Runs one command with its output thrown away and prints what it cost:
//! `measure PROGRAM [ARGUMENT…]` prints `{"ok": true, "seconds": 0.12, "cpu_seconds": 0.1, "peak_bytes": 12345678}`.
//!
//! A process of its own for each measurement, because the kernel adds up what all children of a process used.

use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::Context;
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use serde_json::json;

fn main() -> anyhow::Result<()> {
    let mut words = std::env::args_os().skip(1);
    let program = words
        .next()
        .context("no command to measure was given: name a program and its arguments")?;
    let mut command = Command::new(&program);
    command
        .args(words)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let start = Instant::now();
    let status = command
        .status()
        .with_context(|| format!("{} could not be started", program.display()))?;
    let seconds = start.elapsed().as_secs_f64();
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    let cpu_micros = (usage.user_time() + usage.system_time()).num_microseconds();
    println!(
        "{}",
        json!({
            "ok": status.success(),
            "seconds": seconds,
            "cpu_seconds": cpu_micros as f64 / 1e6,
            // The kernel counts in KiB.
            "peak_bytes": usage.max_rss() * 1024,
        })
    );
    Ok(())
}
