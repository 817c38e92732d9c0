//! The table.

use crate::cost::Cost;
use crate::rows::{Goal, Measured, Outcome};

/// Says once how to read the rows.
pub fn heading() {
    println!("Each pair ran in turns; times are best / median of the rounds, in seconds. Goals hold for both.\n");
}

/// A row as soon as it is measured.
pub fn row(outcome: &Outcome) {
    println!("{}", outcome.name);
    match &outcome.result {
        Err(error) => println!("  not measured: {error:#}\n"),
        Ok(measured) => {
            println!(
                "  input  {}, {} rounds",
                bytes(measured.input_bytes),
                measured.ours.len()
            );
            for (side, costs, command) in [
                ("ours  ", &measured.ours, &measured.commands[0]),
                ("theirs", &measured.theirs, &measured.commands[1]),
            ] {
                println!(
                    "  {side} {:>8.3} / {:<8.3} cpu {:>8.3} / {:<8.3} peak {:>9}  {}",
                    best(costs, |cost| cost.seconds),
                    median(costs, |cost| cost.seconds),
                    best(costs, |cost| cost.cpu_seconds),
                    median(costs, |cost| cost.cpu_seconds),
                    bytes(costs.iter().map(|cost| cost.peak_bytes).max().unwrap_or_default()),
                    shorten(command),
                );
            }
            println!("  {}\n", verdict(outcome.goal, measured).1);
        }
    }
}

/// All rows in short. True when each was measured and reached its goal.
pub fn summary(outcomes: &[Outcome]) -> bool {
    println!("{:<54} result", "summary");
    let mut all = true;
    for outcome in outcomes {
        let (met, text) = match &outcome.result {
            Ok(measured) => verdict(outcome.goal, measured),
            Err(error) => (false, format!("not measured: {error}")),
        };
        println!("{:<54} {text}", outcome.name);
        all &= met;
    }
    all
}

/// Whether the goal is reached, and the numbers that say so.
fn verdict(goal: Goal, measured: &Measured) -> (bool, String) {
    let (numbers, wanted, met) = match goal {
        Goal::TimesTheirs(most) => {
            let ratio =
                |of: Statistic| of(&measured.ours, |cost| cost.seconds) / of(&measured.theirs, |cost| cost.seconds);
            let cpu = best(&measured.ours, |cost| cost.cpu_seconds) / best(&measured.theirs, |cost| cost.cpu_seconds);
            let (best, median) = (ratio(best), ratio(median));
            (
                format!("{best:.3} x best, {median:.3} x median, {cpu:.3} x cpu"),
                format!("at most {most} x"),
                best <= most && median <= most,
            )
        }
        Goal::BytesPerSecond(least) => {
            let rate = |of: Statistic, costs: &[Cost]| measured.input_bytes as f64 / of(costs, |cost| cost.cpu_seconds);
            let (best_rate, median_rate) = (rate(best, &measured.ours), rate(median, &measured.ours));
            let limit = rate(best, &measured.theirs);
            (
                format!(
                    "{:.0} MB/s best, {:.0} MB/s median, limit {:.0} MB/s",
                    best_rate / 1e6,
                    median_rate / 1e6,
                    limit / 1e6
                ),
                format!("at least {:.0} MB/s a core", least / 1e6),
                best_rate >= least && median_rate >= least,
            )
        }
    };
    let word = if met { "met" } else { "MISSED" };
    (met, format!("{word}: {numbers} (goal: {wanted})"))
}

type Statistic = fn(&[Cost], fn(&Cost) -> f64) -> f64;

fn best(costs: &[Cost], of: fn(&Cost) -> f64) -> f64 {
    costs.iter().map(of).fold(f64::INFINITY, f64::min)
}

fn median(costs: &[Cost], of: fn(&Cost) -> f64) -> f64 {
    let mut values: Vec<f64> = costs.iter().map(of).collect();
    values.sort_by(f64::total_cmp);
    let upper = values.get(values.len() / 2).copied().unwrap_or(f64::NAN);
    let lower = values
        .get((values.len().saturating_sub(1)) / 2)
        .copied()
        .unwrap_or(f64::NAN);
    f64::midpoint(lower, upper)
}

fn bytes(count: u64) -> String {
    match count {
        0..10_000 => format!("{count} B"),
        10_000..10_000_000 => format!("{:.1} kB", count as f64 / 1e3),
        _ => format!("{:.1} MB", count as f64 / 1e6),
    }
}

/// Commands that name a file of each rank are long.
fn shorten(command: &str) -> String {
    const CHARACTERS: usize = 110;
    match command.char_indices().nth(CHARACTERS) {
        Some((cut, _)) => format!("{} …", &command[..cut]),
        None => command.to_owned(),
    }
}
