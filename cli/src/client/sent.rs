//! What was uploaded from here lately, so that `-1` stands for the last of it.

use std::fs;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::config;

/// Reports that are remembered.
const REMEMBERED: usize = 100;

/// A report that was uploaded.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Sent {
    server: String,
    id: String,
}

/// Remembers a report as the last one. Nothing depends on it: where it can not be written it is not remembered.
pub fn remember(server: &str, id: &str) {
    let (Some(path), mut sent) = (path(), all()) else {
        return;
    };
    let last = Sent {
        server: server.to_owned(),
        id: id.to_owned(),
    };
    sent.retain(|other| *other != last);
    sent.push(last);
    let text: String = sent
        .iter()
        .skip(sent.len().saturating_sub(REMEMBERED))
        .filter_map(|sent| serde_json::to_string(sent).ok())
        .fold(String::new(), |text, line| text + &line + "\n");
    let written = path.with_extension(format!("{}.partial", std::process::id()));
    let folder = path.parent().map_or(Ok(()), fs::create_dir_all);
    if folder
        .and_then(|()| fs::write(&written, text))
        .and_then(|()| fs::rename(&written, &path))
        .is_err()
    {
        let _ = fs::remove_file(&written);
    }
}

/// The last reports that were uploaded to this server, the last one first.
pub fn to(server: &str) -> Vec<String> {
    let sent = all().into_iter().rev();
    sent.filter(|sent| sent.server == server).map(|sent| sent.id).collect()
}

/// All that is remembered, in order; a line that was torn is left out.
fn all() -> Vec<Sent> {
    let text = path()
        .and_then(|path| fs::read_to_string(path).ok())
        .unwrap_or_default();
    text.lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect()
}

fn path() -> Option<PathBuf> {
    config::state_folder().map(|folder| folder.join("uploaded.jsonl"))
}
