//! The report of a job that hangs: made while it does, and without a word.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use super::end::{piece, start};
use super::handover::{Handover, Options, Piece};
use crate::collect::{Missing, Seen};
use crate::config::Config;

/// Has a report made, by a process of its own; this one goes on watching.
pub fn hang(seen: Seen, output: anyhow::Result<Vec<u8>>, options: &Options, config: &Config) -> anyhow::Result<()> {
    let options = Options {
        output: options.output.as_deref().map(beside),
        quiet: true,
        ..options.clone()
    };
    let handover = handover(seen, output, options, config);
    let started = start(&handover, Stdio::null());
    handover.pieces.into_iter().for_each(Piece::close);
    started
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
