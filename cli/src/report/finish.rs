//! Making the report, in a process that nobody waits for longer than they want to.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use serde_json::{Map, Value, json};
use whycrash_evidence::Artifact;
use whycrash_symbols::{Sources, Symbols};

use super::artifacts::{Artifacts, Keep};
use super::folder::{self, Folder};
use super::handover::{Handover, Options};
use super::said::Said;
use crate::arm::Scratch;
use crate::collect::{AskedDriver, Missing, leftovers, until_whole};
use crate::config::{self, Config};
use crate::output::{self, Clean};
use crate::{inputs, minicore, render, spool};

/// Core dumps of more bytes are uploaded as minicores.
const LARGE_CORE: u64 = 16 << 20;

/// Keeps what the job left, says why it crashed and uploads it where that is wanted.
pub fn finish(handover: Handover) -> anyhow::Result<()> {
    let Handover {
        mut context,
        mut unavailable,
        search,
        scratch: evidence,
        ended,
        gpus,
        pieces,
        options,
        config,
    } = handover;
    let driver = gpus.then(AskedDriver::start).flatten();
    let (folder, problems) = Folder::create(options.output.as_deref());
    let mut artifacts = Artifacts::new(folder);
    for piece in pieces {
        match piece.bytes() {
            Ok(bytes) if bytes.is_empty() => {}
            Ok(bytes) => artifacts.put(&piece.name, &bytes),
            Err(error) => unavailable.push(Missing::for_good(&piece.name, format!("can not read it back: {error}"))),
        }
    }
    let scratch = artifacts.folder().map_or_else(std::env::temp_dir, Path::to_owned);
    let (cores, missing) = if ended {
        search.run(&scratch)
    } else {
        Default::default()
    };
    unavailable.extend(missing);
    for core in cores {
        let own = core.pid == Some(search.job);
        let name = if own {
            "core".to_owned()
        } else {
            format!("core.{}", core.pid.unwrap_or_default())
        };
        let is_ours = search.ours || core.path.starts_with(&scratch);
        artifacts.take(&core.path, &name, if is_ours { Keep::Move } else { Keep::Copy });
    }
    let asked_for = evidence.as_ref().map(Scratch::files).unwrap_or_default();
    let left = leftovers::find(search.since, search.folders.iter());
    unavailable.extend(until_whole(left.iter().chain(&asked_for)));
    for (files, how) in [(left, Keep::Copy), (asked_for, Keep::Move)] {
        for file in files {
            let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
            artifacts.take(&file, &name, how);
        }
    }
    match driver.map_or(Ok(None), AskedDriver::answer) {
        Ok(said) => drop(said.and_then(|said| context.insert("cuda_driver".to_owned(), said))),
        Err(missing) => unavailable.push(missing),
    }
    unavailable.append(&mut artifacts.problems);
    let stood_s = context.get("stall").and_then(|stall| stall.get("idle_s")?.as_u64());
    artifacts.put("context.json", &context_text(context, &unavailable));
    if options.quiet {
        output::be_silent();
    }
    let said = Said::of(&artifacts.all(), &options, &config);
    let id = said.as_ref().map_or_else(folder::unique_name, |said| said.id.clone());
    let server = options.server.clone().or_else(|| config.server.clone());
    if server.is_some() {
        minicores(&artifacts, &options, &config);
    }
    let (artifacts, kept, _until_the_end) = artifacts.settle(&id);
    match &kept {
        // Whoever watches the job announces it when that ends.
        Ok(folder) if options.quiet && !ended => output::print(&Clean::from(folder.display().to_string()))?,
        Ok(folder) if options.brief => output::tell(&brief(said.as_ref(), stood_s, folder)),
        _ => tell(said.as_ref(), &artifacts, &kept, &problems),
    }
    if let Some(state) = config::state_folder() {
        folder::adopt(&state);
    }
    let sent = match server {
        Some(server) => upload(server, &artifacts, kept.ok(), &options, &config),
        None => Ok(()),
    };
    if let Some(evidence) = evidence {
        evidence.remove();
    }
    sent
}

/// Makes minicores of the large core dumps, which are what is uploaded. One that can not be made is sent as it is.
fn minicores(artifacts: &Artifacts, options: &Options, config: &Config) {
    let symbols = Symbols::new(Sources {
        folders: inputs::symbol_folders(&options.knowledge.symbols, config),
        local_files: true,
        ..Sources::default()
    });
    for core in artifacts.cores().filter(|core| is_large(&core.path)) {
        let small = inputs::stand_in(&core.path);
        let made = catch_unwind(AssertUnwindSafe(|| minicore::make(&core.path, &small, &symbols)));
        if let Ok(Err(error)) = made {
            output::tell(&render::error(
                &error.context("the core dump will be uploaded as it is"),
            ));
        }
    }
}

fn is_large(core: &Path) -> bool {
    core.metadata().is_ok_and(|about| about.len() > LARGE_CORE)
}

fn context_text(mut context: Map<String, Value>, unavailable: &[Missing]) -> Vec<u8> {
    context.insert("unavailable".to_owned(), json!(unavailable));
    let mut text = serde_json::to_vec_pretty(&context).unwrap_or_default();
    text.push(b'\n');
    text
}

/// A line of a job that somebody ended because it stood still.
fn brief(said: Option<&Said>, stood_s: Option<u64>, folder: &Path) -> Clean {
    let time = stood_s.map_or_else(String::new, |seconds| format!(" for {seconds} s"));
    let why = said
        .and_then(|said| said.finding())
        .map_or_else(String::new, |title| format!(" ({title})"));
    let folder = folder.display();
    Clean::from(format!(
        "whycrash: the job had stood still{time} when it was ended{why}; to see what it waited for: whycrash diagnose {folder}"
    ))
}

fn tell(said: Option<&Said>, artifacts: &[Artifact], kept: &std::io::Result<PathBuf>, problems: &[String]) {
    let mut text = Clean::default();
    if let Some(said) = said {
        text.end_line();
        text.push(said.text(artifacts, kept.as_deref().ok()));
        text.end_line();
    }
    for problem in problems {
        text.push(problem);
        text.end_line();
    }
    match kept {
        Ok(folder) => text.push(render::kept(folder)),
        Err(error) => text.push(format!("the report could not be kept: {error}")),
    }
    output::tell(&text);
}

/// From the spool, so that nothing that happens now loses it; from where it is, if it could not be kept.
fn upload(
    server: String,
    artifacts: &[Artifact],
    kept: Option<PathBuf>,
    options: &Options,
    config: &Config,
) -> anyhow::Result<()> {
    output::be_silent_after(options.server_wait);
    let announce = |uploaded: &crate::client::Uploaded| {
        let json = serde_json::to_string(uploaded).context("the report's address has no JSON form")?;
        if let Some(file) = &options.report_to {
            std::fs::write(file, format!("{json}\n")).with_context(|| format!("can not write {}", file.display()))?;
        }
        output::tell(&Clean::json(&json));
        Ok(())
    };
    spool::send(server, artifacts, kept, config, &announce)
}
