//! A crash with its binaries, as symbols see it: an artifact, and a folder of files beside it.

use std::fs;

use tempfile::TempDir;
use whycrash_evidence::Artifact;
use whycrash_symbols::{Sources, Symbols};

use crate::{bounded, check, limits};

thread_local! {
    static FOLDER: TempDir = TempDir::new().expect("a temporary folder");
}

/// Reads an artifact with these files, by name, as the only symbols there are.
pub fn symbolicate(artifact: &[u8], files: &[(&str, &[u8])]) {
    FOLDER.with(|folder| {
        let symbols = folder.path().join("symbols");
        fs::create_dir_all(&symbols).expect("a folder");
        for (name, bytes) in files {
            fs::write(symbols.join(name), bytes).expect("written");
        }
        let path = folder.path().join("artifact");
        fs::write(&path, artifact).expect("written");
        let sources = Sources {
            folders: vec![symbols],
            ..Sources::default()
        };
        let given = artifact.len() + files.iter().map(|(_, bytes)| bytes.len()).sum::<usize>();
        let limits = limits();
        let read = || Symbols::new(sources).read(&Artifact::new("artifact", &path), &limits);
        check(bounded((64 << 20) + 1024 * given, read), artifact.len(), &limits);
    });
}

/// Two files in one input: the length of the first (four bytes), the first, the second.
pub fn split(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_first_chunk()?;
    rest.split_at_checked(u32::from_le_bytes(*length) as usize)
}
