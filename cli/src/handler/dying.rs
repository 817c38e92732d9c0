//! The process that the kernel is dumping.

use std::fs::File;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;

use whycrash_evidence::readers::elf_core::{Auxiliary, CoreDump, Head};

use super::limits;

/// A process that stands still, whose memory may be read.
#[derive(Debug)]
pub struct Dying {
    memory: File,
    /// Its auxiliary vector, by which its core knows it.
    auxiliary: Vec<u8>,
    /// Where its root directory is, if that is not ours.
    other_root: Option<PathBuf>,
}

impl Dying {
    /// Opens a process; none where it is gone, runs, or may not be read.
    pub fn find(pid: u32) -> Option<Self> {
        let folder = PathBuf::from(format!("/proc/{pid}"));
        let status = std::fs::read_to_string(folder.join("status")).ok()?;
        if !stands_still(&status) {
            return None;
        }
        let root = folder.join("root");
        let [theirs, ours] = [root.join("."), PathBuf::from("/")].map(|path| path.metadata().ok());
        let is_ours = theirs
            .zip(ours)
            .is_none_or(|(a, b)| (a.dev(), a.ino()) == (b.dev(), b.ino()));
        Some(Self {
            memory: File::open(folder.join("mem")).ok()?,
            auxiliary: std::fs::read(folder.join("auxv")).ok()?,
            other_root: (!is_ours).then_some(root),
        })
    }

    /// Where the files are that it maps, if that is not where ours are.
    pub fn other_root(&self) -> Option<PathBuf> {
        self.other_root.clone()
    }

    /// Its core, from how that begins and its memory; none where the beginning is not all there, or another process's.
    pub fn core(self, head: &Head) -> Option<CoreDump> {
        if !head.is_whole {
            return None;
        }
        let (core, _) = CoreDump::of_dying(&head.bytes, self.memory, &limits()).ok()?;
        let own = |key: Auxiliary| {
            let mut pairs = self.auxiliary.chunks_exact(16).map(|pair| pair.split_at(8));
            let (_, value) = pairs.find(|(kind, _)| *kind == (key as u64).to_ne_bytes())?;
            Some(u64::from_ne_bytes(value.try_into().ok()?))
        };
        // All of these are at random places.
        let same = |key: Auxiliary| core.auxiliary(key).is_some() && core.auxiliary(key) == own(key);
        let is_it = [Auxiliary::Random, Auxiliary::Entry, Auxiliary::Path]
            .into_iter()
            .all(same);
        is_it.then_some(core)
    }
}

/// Whether the kernel is dumping it, or a debugger or somebody else has stopped it.
fn stands_still(status: &str) -> bool {
    let value = |key: &str| {
        status
            .lines()
            .find_map(|line| line.strip_prefix(key))
            .map(str::trim_start)
    };
    let stopped = value("State:").is_some_and(|state| state.starts_with(['T', 't']));
    stopped || value("CoreDumping:") == Some("1")
}

#[cfg(test)]
mod tests {
    use super::stands_still;

    #[test]
    fn a_process_that_runs_is_not_read() {
        let cases = [
            ("Name:\ta\nState:\tR (running)\nCoreDumping:\t0\n", false),
            ("Name:\ta\nState:\tS (sleeping)\nCoreDumping:\t1\n", true),
            ("State:\tT (stopped)\nCoreDumping:\t0\n", true),
            ("State:\tt (tracing stop)\n", true),
            ("", false),
        ];
        for (status, expected) in cases {
            assert_eq!(stands_still(status), expected, "{status}");
        }
    }
}
