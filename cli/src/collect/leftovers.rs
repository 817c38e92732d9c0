//! Files that frameworks write when a job dies.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Where the flight recorder writes when nobody says otherwise; the rank follows.
const FLIGHT_RECORDER: &str = "/tmp/nccl_trace_rank_";

/// The files of known kinds that were written since `since`; `folders` are where the job's processes were working.
pub fn find<'f>(since: SystemTime, folders: impl Iterator<Item = &'f PathBuf> + Clone) -> Vec<PathBuf> {
    let mut found = flight_recorders();
    found.extend(elastic_errors());
    found.extend(folders.clone().flat_map(|folder| list(folder, is_snapshot)));
    found.extend(gpu_cores(folders));
    found.retain(|path| {
        path.metadata()
            .is_ok_and(|about| about.is_file() && about.modified().is_ok_and(|at| at >= since))
    });
    found.sort();
    found.dedup();
    found
}

/// One file a rank, by the prefix the job was given.
fn flight_recorders() -> Vec<PathBuf> {
    let variables = ["TORCH_FR_DUMP_TEMP_FILE", "TORCH_NCCL_DEBUG_INFO_TEMP_FILE"];
    let prefix = variables
        .into_iter()
        .find_map(std::env::var_os)
        .unwrap_or_else(|| FLIGHT_RECORDER.into());
    let prefix = PathBuf::from(prefix);
    let (Some(folder), Some(start)) = (prefix.parent(), prefix.file_name().and_then(|name| name.to_str())) else {
        return Vec::new();
    };
    list(folder, |name| {
        name.strip_prefix(start)
            .is_some_and(|rest| rest.ends_with(|last: char| last.is_ascii_digit()))
    })
}

/// `error.json` of each rank that failed with an exception, in the folder torchrun made for its logs.
fn elastic_errors() -> Vec<PathBuf> {
    if let Some(file) = std::env::var_os("TORCHELASTIC_ERROR_FILE") {
        return vec![file.into()];
    }
    let runs = list(&std::env::temp_dir(), |name| name.starts_with("torchelastic_"));
    let files = runs
        .iter()
        .flat_map(|run| walkdir::WalkDir::new(run).max_depth(5))
        .flatten();
    files
        .filter(|entry| entry.file_name() == "error.json")
        .map(walkdir::DirEntry::into_path)
        .collect()
}

fn is_snapshot(name: &str) -> bool {
    name.ends_with(".pickle") || name.ends_with(".pkl")
}

/// The driver writes where `CUDA_COREDUMP_FILE` says: its `%h`, `%p` and `%t` stand for anything here.
fn gpu_cores<'f>(folders: impl Iterator<Item = &'f PathBuf>) -> Vec<PathBuf> {
    let pattern = std::env::var("CUDA_COREDUMP_FILE").unwrap_or_else(|_| "core.cuda.%h.%p".to_owned());
    let in_folder = |folder: &PathBuf| {
        let (folder, pattern) = super::core_pattern::split(&pattern, folder);
        let pattern = pattern.replace("%p", "%P");
        list(&folder, |name| super::core_pattern::matches(&pattern, name, &|_| true))
    };
    folders.flat_map(in_folder).collect()
}

fn list(folder: &Path, named: impl Fn(&str) -> bool) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .filter(|entry| entry.file_name().to_str().is_some_and(&named))
        .map(|entry| entry.path())
        .collect()
}
