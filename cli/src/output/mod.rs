//! The two streams: answers on standard output, everything else on standard error. Nothing else in this program writes
//! to them, but for the job that `run` runs; and they take only what is [`Clean`].

mod bar;
mod clean;

use std::io::Write;

use anyhow::Context as _;
use clap::ValueEnum;
use serde::Serialize;
use tracing_subscriber::EnvFilter;
use whycrash_evidence::PrintableLog;

pub use bar::Bar;
pub use clean::Clean;

/// How a reading command answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For a person.
    #[default]
    Text,
    /// One JSON document on standard output.
    Json,
}

/// Prints `value` as JSON, or what `text` makes of it.
pub fn answer<T: Serialize>(format: Format, value: &T, text: impl FnOnce(&T) -> Clean) -> anyhow::Result<()> {
    print(&match format {
        Format::Json => {
            let json = serde_json::to_string_pretty(value).context("the answer has no JSON form")?;
            Clean::json(&(json + "\n"))
        }
        Format::Text => text(value),
    })
}

/// Prints to standard output, without colour where it is no terminal. A reader that went away is no error:
/// `whycrash diagnose … | head` is a normal thing to do.
pub fn print(text: &Clean) -> anyhow::Result<()> {
    let mut out = anstream::stdout();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        result => result.context("can not write the answer to standard output"),
    }
}

/// Tells on standard error, in lines of their own. Nobody may be there to read it.
pub fn tell(text: &Clean) {
    let text = text.clone().then(Clean::own("\n".to_owned()));
    let _ = anstream::stderr().write_all(text.as_bytes());
}

/// Passes on to standard error what another process of this program told. It was made harmless there.
pub fn pass_on(told: &[u8]) {
    let _ = anstream::stderr().write_all(told);
}

/// Lets go of standard error, so that whoever listens there need not wait any longer.
pub fn be_silent() {
    if let Some(nothing) = crate::run::nothing() {
        let _ = nix::unistd::dup2_stderr(nothing);
    }
}

/// The same after a while.
pub fn be_silent_after(time: std::time::Duration) {
    let let_go = move || {
        std::thread::sleep(time);
        be_silent();
    };
    let _ = std::thread::Builder::new().spawn(let_go);
}

/// Standard output, for a process of ours that reads it: JSON, of which it shows nothing unchanged.
pub fn to_reader() -> std::io::StdoutLock<'static> {
    std::io::stdout().lock()
}

/// Where what other programs print goes, so that standard output carries answers alone.
pub fn for_tools() -> std::process::Stdio {
    std::io::stderr().into()
}

/// Columns to lay text out in on standard output.
pub fn width() -> usize {
    width_of(&std::io::stdout())
}

/// Columns to lay text out in on standard error.
pub fn error_width() -> usize {
    width_of(&std::io::stderr())
}

/// A terminal's columns, within what reads well; a fixed number elsewhere.
fn width_of(stream: &impl std::os::fd::AsFd) -> usize {
    const ELSEWHERE: usize = 100;
    let terminal = rustix::termios::tcgetwinsize(stream).ok();
    terminal.map_or(ELSEWHERE, |size| usize::from(size.ws_col).clamp(60, 120))
}

/// Diagnostics of the program itself, chosen with `WHYCRASH_LOG` (such as `debug`).
pub fn log_to_stderr() {
    let filter = EnvFilter::try_from_env("WHYCRASH_LOG").unwrap_or_else(|_| EnvFilter::new("error"));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(false)
        .with_writer(|| PrintableLog::of_lines(std::io::stderr()))
        .with_target(false)
        // Nobody may be there to read it, and standard error is where it would be said.
        .log_internal_errors(false)
        .init();
}
