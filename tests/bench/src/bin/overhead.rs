//! What `whycrash run` costs a job: each job alone and under it, in turn, as ratios of medians.
//! `overhead WHYCRASH [PAIRS]` prints one row a job. Processor time is that of all processes, ours included.

use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context as _, ensure};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike as _;
use rustix::process::{WaitOptions, getpid, set_child_subreaper, wait};

/// Jobs by name, with what they stand for.
const JOBS: [(&str, &str); 5] = [
    ("start-up", "exec $RUN true"),
    (
        "processor",
        "exec $RUN sh -c 'i=0; while [ $i -lt 1000000 ]; do i=$((i+1)); done'",
    ),
    (
        "system calls",
        "exec $RUN dd if=/dev/zero of=/dev/null bs=1 count=2000000 status=none",
    ),
    ("flood of 1.5 GB", "$RUN head -c 1500000000 /dev/zero | wc -c"),
    ("lines, 300 MB", "$RUN sh -c 'seq 40000000' | wc -c"),
];

/// What one run took, in seconds.
#[derive(Clone, Copy)]
struct Cost {
    wall: f64,
    processor: f64,
}

fn main() -> anyhow::Result<()> {
    let mut words = std::env::args().skip(1);
    let whycrash = words.next().context("name the whycrash to measure")?;
    let pairs: usize = words
        .next()
        .map_or(Ok(7), |text| text.parse())
        .context("a number of pairs")?;
    // What `run` leaves behind is left to us, and counts.
    set_child_subreaper(Some(getpid()))?;
    println!("{:<16} {:>10} {:>8} {:>8}", "job", "alone", "time", "cpu");
    for (name, script) in JOBS {
        let mut alone = Vec::new();
        let mut under = Vec::new();
        for _ in 0..pairs {
            alone.push(cost(script, "")?);
            under.push(cost(script, &format!("{whycrash} run --"))?);
        }
        let wall = |costs: &[Cost]| median(costs.iter().map(|cost| cost.wall).collect());
        let processor = |costs: &[Cost]| median(costs.iter().map(|cost| cost.processor).collect());
        println!(
            "{name:<16} {:>8.1}ms {:>7.3}x {:>7.3}x  (+{:.1} ms)",
            wall(&alone) * 1e3,
            wall(&under) / wall(&alone),
            processor(&under) / processor(&alone),
            (wall(&under) - wall(&alone)) * 1e3,
        );
    }
    Ok(())
}

fn cost(script: &str, run: &str) -> anyhow::Result<Cost> {
    let before = processor_time()?;
    let start = Instant::now();
    let mut bash = Command::new("bash");
    bash.args(["--norc", "-c", script]).env("RUN", run);
    let status = bash
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .status()
        .context("no bash")?;
    let wall = start.elapsed().as_secs_f64();
    ensure!(status.success(), "{script} ended with {status}");
    while wait(WaitOptions::empty()).is_ok() {}
    let processor = processor_time()? - before;
    Ok(Cost { wall, processor })
}

fn processor_time() -> anyhow::Result<f64> {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    Ok((usage.user_time() + usage.system_time()).num_microseconds() as f64 / 1e6)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
