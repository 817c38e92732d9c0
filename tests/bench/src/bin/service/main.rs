//! What a server can take: how many small reports a second it acknowledges and makes searchable, what searches cost
//! meanwhile, and how fast new knowledge reaches what is stored.
//!
//! `service SERVER PLUGIN [REPORTS]` starts the server's binary over a temporary folder on this machine. PLUGIN is a
//! component that the server does not know yet: with it every report is to be diagnosed again, and before that all
//! artifacts are taken away. Everything is measured in one run; what is told of searches is a ratio.

mod load;
mod server;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use load::{Search, send_all};
use server::Server;

/// Reports sent unless said otherwise.
const REPORTS: usize = 10_000;
/// Clients that send at one time.
const SENDERS: usize = 32;
/// Searches that are timed while nothing else is done.
const QUIET_SEARCHES: usize = 300;
/// What must be reached: reports a second acknowledged, searchable, diagnosed again, and looked at in a preview; p99 of
/// searches over the quiet one.
const GOALS: Goals = Goals {
    acknowledged: 500.0,
    searchable: 300.0,
    diagnosed: 200.0,
    previewed: 200.0,
    slower: 2.0,
};
/// How long is waited for anything.
const PATIENCE: Duration = Duration::from_secs(600);

struct Goals {
    acknowledged: f64,
    searchable: f64,
    diagnosed: f64,
    previewed: f64,
    slower: f64,
}

fn main() -> Result<ExitCode> {
    let mut arguments = std::env::args().skip(1);
    let program = PathBuf::from(arguments.next().context("name the server's binary")?);
    let plugin = PathBuf::from(arguments.next().context("name a plugin that it does not have")?);
    let reports = arguments.next().map_or(Ok(REPORTS), |number| number.parse())?;
    let folder = tempfile::tempdir()?;
    let data = folder.path().join("data");

    let server = Server::start(&program, &data, None)?;
    send_all(&server, 0..reports / 10, SENDERS)?;
    server.wait_until_searchable(PATIENCE)?;
    let empty = Search::times(&server, QUIET_SEARCHES)?;

    let started = Instant::now();
    let searching = Search::start(&server);
    send_all(&server, reports / 10..reports / 10 + reports, SENDERS)?;
    let acknowledged = reports as f64 / started.elapsed().as_secs_f64();
    server.wait_until_searchable(PATIENCE)?;
    let searchable = reports as f64 / started.elapsed().as_secs_f64();
    let busy = searching.stop()?;
    // Of the same reports: what a search costs grows with them.
    let quiet = Search::times(&server, QUIET_SEARCHES)?;
    let slower = p99(busy.clone()) / p99(quiet.clone());
    println!("{reports} reports: {acknowledged:.0}/s acknowledged, {searchable:.0}/s searchable");
    println!(
        "search p99: {:.1} ms quiet ({:.1} ms before them), {:.1} ms meanwhile ({slower:.1} times; {} searches)",
        p99(quiet) * 1e3,
        p99(empty) * 1e3,
        p99(busy.clone()) * 1e3,
        busy.len()
    );
    let started = Instant::now();
    server.preview(&plugin, PATIENCE)?;
    let previewed = (reports + reports / 10) as f64 / started.elapsed().as_secs_f64();
    println!("a plugin tried on all of them: {previewed:.0}/s");
    server.stop()?;

    let plugins = folder.path().join("plugins");
    std::fs::create_dir(&plugins)?;
    std::fs::copy(&plugin, plugins.join("new.wasm"))?;
    std::fs::remove_dir_all(data.join("blobs").join("sha256")).context("the artifacts are not where they were")?;
    let started = Instant::now();
    let server = Server::start(&program, &data, Some(&plugins))?;
    server.wait_until_diagnosed(reports + reports / 10, PATIENCE)?;
    let diagnosed = (reports + reports / 10) as f64 / started.elapsed().as_secs_f64();
    println!("diagnosed again without artifacts: {diagnosed:.0}/s");
    server.stop()?;

    let reached = acknowledged >= GOALS.acknowledged
        && searchable >= GOALS.searchable
        && diagnosed >= GOALS.diagnosed
        && previewed >= GOALS.previewed
        && slower <= GOALS.slower;
    ensure!(!busy.is_empty(), "no search was answered while reports came");
    Ok(if reached { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The time that one in a hundred takes longer than.
fn p99(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times.get(times.len() * 99 / 100).copied().unwrap_or(f64::NAN)
}
