//! Reading a plugin's file, which anybody may have put there.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

/// Components of one folder that are looked at.
pub(crate) const FILES: usize = 1000;

/// The components (`*.wasm`) and packages (`*.zip`) of a folder, in the order of their names.
pub(crate) fn components(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files: Vec<PathBuf> = fs::read_dir(folder)?
        .filter_map(|file| Some(file.ok()?.path()))
        .filter(|file| {
            file.extension()
                .is_some_and(|extension| extension == "wasm" || extension == "zip")
        })
        .collect();
    files.sort();
    Ok(files)
}

/// The bytes of a regular file of at most `most` bytes. Nothing else is opened: a FIFO would wait for a writer, a
/// device may do something, and neither ends. One byte more than `most` comes of a larger file, so that its size can be
/// refused in words.
pub(crate) fn read_regular(path: &Path, most: usize) -> io::Result<Vec<u8>> {
    regular(&fs::metadata(path)?)?;
    let flags = (OFlags::NONBLOCK | OFlags::NOCTTY).bits() as i32;
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    // Another file may have taken its place.
    regular(&file.metadata()?)?;
    read_at_most(file, most)
}

fn regular(about: &fs::Metadata) -> io::Result<()> {
    if about.is_file() {
        return Ok(());
    }
    Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no regular file"))
}

fn read_at_most(file: File, most: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(most as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}
