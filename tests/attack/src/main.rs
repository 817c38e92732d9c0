//! `make attack`: attacks a server that it starts, and ends with an error when a promise of the house was broken.
//!
//! `whycrash-attack [--bounded] [--seed=NUMBER] [WORD…]`; words choose groups of cases and states by their names. The
//! server is `$WHYCRASH_SERVER_BIN`, or the one beside this program. A seed brings the same sudden ends about again.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use whycrash_attack::campaign::Plan;
use whycrash_attack::cases::Size;

fn main() -> anyhow::Result<ExitCode> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let bounded = words.iter().any(|word| word == "--bounded");
    let seed = words
        .iter()
        .find_map(|word| Some(word.strip_prefix("--seed=")?.parse()));
    let plan = Plan {
        binary: server()?,
        size: if bounded { Size::Bounded } else { Size::Full },
        only: words.into_iter().filter(|word| !word.starts_with("--")).collect(),
        quiet: Duration::from_secs(if bounded { 5 } else { 20 }),
        seed: seed.transpose().context("a seed is a number")?,
    };
    let report = plan.run()?;
    println!("\n{} attacks, {} wrong", report.attacks, report.wrong.len());
    for line in &report.wrong {
        println!("  {line}");
    }
    if let Some(slower) = report.slower {
        println!("healthy requests were {slower:.1} times slower at their 99th percentile");
    }
    let sound = report.wrong.is_empty() && !report.is_slow();
    Ok(if sound { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn server() -> anyhow::Result<PathBuf> {
    if let Some(path) = std::env::var_os("WHYCRASH_SERVER_BIN") {
        return Ok(path.into());
    }
    let own = std::env::current_exe()?;
    Ok(own
        .parent()
        .context("a program is in a folder")?
        .join("whycrash-server"))
}
