//! The report of a job that hangs: made while it does, and without a word.

use std::fs::File;
use std::io::{Read as _, Seek as _};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::end::{piece, start};
use super::handover::{Handover, Options, Piece, in_memory};
use crate::collect::{Missing, Seen};
use crate::config::Config;

/// A report of a hang that is made, or was, while the job ran.
#[derive(Debug)]
pub struct HangReport {
    at: Timestamp,
    /// Where the process that makes it writes down the folder, once it is there.
    folder: File,
}

impl HangReport {
    /// What became of it, in a line for whoever waits for the job's end.
    pub fn announcement(mut self) -> String {
        let mut folder = String::new();
        let read = self
            .folder
            .rewind()
            .and_then(|()| self.folder.read_to_string(&mut folder));
        let at = self.at.to_zoned(TimeZone::system()).strftime("%H:%M:%S");
        match (read, folder.trim()) {
            (Ok(_), folder) if !folder.is_empty() => {
                format!("whycrash: the job stood still at {at}; to see what it waited for: whycrash diagnose {folder}")
            }
            _ => format!("whycrash: the job stood still at {at}; the report of that is still being made"),
        }
    }
}

/// Has a report made, by a process of its own; this one goes on watching.
pub fn hang(
    seen: Seen,
    output: anyhow::Result<Vec<u8>>,
    options: &Options,
    config: &Config,
) -> anyhow::Result<HangReport> {
    let options = Options {
        output: options.output.as_deref().map(beside),
        quiet: true,
        ..options.clone()
    };
    let handover = handover(seen, output, options, config);
    let folder = in_memory("hang")?;
    let started = start(&handover, folder.try_clone()?.into(), Stdio::null());
    handover.pieces.into_iter().for_each(Piece::close);
    started.map(|()| HangReport {
        at: Timestamp::now(),
        folder,
    })
}

/// What is known of a job that has not ended.
pub fn handover(seen: Seen, output: anyhow::Result<Vec<u8>>, options: Options, config: &Config) -> Handover {
    let mut unavailable = seen.unavailable;
    let mut pieces = Vec::new();
    let kernel_log = seen.kernel_log.unwrap_or_default().into_bytes();
    let mut add = |name: &str, bytes: &[u8]| match piece(name, bytes) {
        Ok(piece) => pieces.extend(piece),
        Err(missing) => unavailable.push(missing),
    };
    add("kernel.log", &kernel_log);
    for (name, stacks) in &seen.pieces {
        add(name, stacks);
    }
    match output {
        Ok(output) => add("output.log", &output),
        Err(error) => unavailable.push(Missing::for_good("output", format!("{error:#}"))),
    }
    Handover {
        context: seen.context,
        unavailable,
        search: seen.search,
        scratch: None,
        ended: false,
        gpus: seen.gpus,
        pieces,
        options,
        config: config.clone(),
    }
}

/// The folder that was asked for is for the report of the job's end.
fn beside(asked: &Path) -> PathBuf {
    let mut name = asked.as_os_str().to_owned();
    name.push(".hang");
    name.into()
}
