//! How far a transfer has come.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use whycrash_evidence::printable;

use crate::client::Progress;

/// How often a bar that nothing moves shows that somebody is there.
const TICK: Duration = Duration::from_millis(100);

/// A progress bar on standard error; nothing where that is no terminal.
#[derive(Clone, Debug)]
pub struct Bar(ProgressBar);

impl Bar {
    /// A bar that is not shown yet.
    pub fn new() -> Self {
        let bar = ProgressBar::new(0);
        if let Ok(style) =
            ProgressStyle::with_template("{msg:30!} {wide_bar} {bytes:>11} of {total_bytes:>11} {eta:>4}")
        {
            bar.set_style(style);
        }
        Self(bar)
    }

    /// A bar that counts reports.
    pub fn of_reports(count: u64) -> Self {
        Self::of(count, "reports")
    }

    /// A bar that counts cases.
    pub fn of_cases(count: u64) -> Self {
        Self::of(count, "cases")
    }

    fn of(count: u64, what: &str) -> Self {
        let bar = ProgressBar::new(count);
        let template = format!("{{wide_bar}} {{pos:>9}} of {{len}} {what} {{eta:>4}}");
        if let Ok(style) = ProgressStyle::with_template(&template) {
            bar.set_style(style);
        }
        Self(bar)
    }

    /// What is waited for, of which nobody knows how far it has come, and for how long already.
    pub fn of_waiting(what: &str) -> Self {
        let bar = ProgressBar::new_spinner();
        if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} {elapsed}") {
            bar.set_style(style);
        }
        bar.set_message(printable(what).into_owned());
        bar.enable_steady_tick(TICK);
        Self(bar)
    }

    /// So many are done.
    pub fn set(&self, done: u64) {
        self.0.set_position(done);
    }
}

impl Progress for Bar {
    fn begin(&self, what: &str, bytes: u64) {
        self.0.reset();
        self.0.set_length(bytes);
        self.0.set_message(printable(what).into_owned());
    }

    fn advance(&self, bytes: u64) {
        self.0.inc(bytes);
    }

    fn finish(&self) {
        self.0.finish_and_clear();
    }
}
