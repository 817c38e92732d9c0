//! The processes a job starts, as far as they are seen: a job's workers are what crashes most often, and only their
//! parents are told.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// First and last pause between two looks. Most processes of a job start early and stay.
const PAUSES: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(5));

/// A process of the job.
#[derive(Clone, Debug)]
pub struct Process {
    /// Where it was working when it was last seen: relative names of core dumps start there.
    pub folder: Option<PathBuf>,
    /// Its command line.
    pub command: Vec<String>,
}

/// Keeps looking until the program ends.
#[derive(Clone, Debug, Default)]
pub struct Descendants {
    seen: Arc<Mutex<BTreeMap<u32, Process>>>,
}

impl Descendants {
    /// Watches a process and all that descend from it.
    pub fn watch(root: u32) -> Self {
        let watch = Self::default();
        let watcher = watch.clone();
        std::thread::spawn(move || {
            let mut pause = PAUSES.0;
            loop {
                watcher.look(root);
                std::thread::sleep(pause);
                pause = (pause * 2).min(PAUSES.1);
            }
        });
        watch
    }

    /// Every process seen so far, the root included.
    pub fn seen(&self) -> BTreeMap<u32, Process> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn look(&self, root: u32) {
        let children = children_of_all();
        let mut found = vec![root];
        let mut next = 0;
        while let Some(pid) = found.get(next).copied() {
            found.extend(children.get(&pid).into_iter().flatten());
            next += 1;
        }
        for pid in found {
            if let Some(process) = describe(pid) {
                self.seen
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .insert(pid, process);
            }
        }
    }
}

/// None for a process that is gone, or about to be.
fn describe(pid: u32) -> Option<Process> {
    let command = std::fs::read(format!("/proc/{pid}/cmdline"))
        .ok()
        .filter(|bytes| !bytes.is_empty())?;
    let command = command
        .split(|byte| *byte == 0)
        .map(|word| String::from_utf8_lossy(word).into_owned());
    let mut command: Vec<String> = command.collect();
    command.pop();
    Some(Process {
        folder: std::fs::read_link(format!("/proc/{pid}/cwd")).ok(),
        command,
    })
}

fn children_of_all() -> HashMap<u32, Vec<u32>> {
    let mut children: HashMap<u32, Vec<u32>> = HashMap::new();
    for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        if let Some(parent) = parent_of(pid) {
            children.entry(parent).or_default().push(pid);
        }
    }
    children
}

/// The fourth field of `/proc/PID/stat`; the second is a name in parentheses that may hold anything.
fn parent_of(pid: u32) -> Option<u32> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}
