//! What can be read only once: standard input and pipes. It is put aside in a file without a name.

use std::fs::File;
use std::io::{self, IsTerminal as _, Read, Seek as _};
use std::os::fd::AsFd as _;
use std::os::unix::fs::FileTypeExt as _;
use std::path::Path;

use anyhow::Context as _;
use whycrash_evidence::readers::holes::{self, End, Piece};
use whycrash_evidence::{Artifact, Limits, Problem};

use super::WrongUsage;

/// What standard input is called.
const STDIN: &str = "stdin";

/// Whether a path stands for standard input.
pub fn is_standard_input(path: &Path) -> bool {
    ["-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"]
        .iter()
        .any(|name| path == Path::new(name))
}

/// What comes through standard input.
///
/// # Errors
/// When nothing can come from there, or can not be put aside.
pub fn standard_input(command: &str) -> anyhow::Result<Artifact> {
    let stdin = io::stdin();
    if stdin.is_terminal() {
        return Err(WrongUsage(format!(
            "standard input is a terminal: pipe in what a crash left, such as kubectl logs --previous POD | {command} -"
        ))
        .into());
    }
    let mut file = File::from(
        stdin
            .as_fd()
            .try_clone_to_owned()
            .context("can not read standard input")?,
    );
    let kind = file.metadata().context("can not read standard input")?.file_type();
    if kind.is_char_device() || kind.is_block_device() || kind.is_dir() {
        let what = if kind.is_dir() { "a folder" } else { "a device" };
        return Err(WrongUsage(format!(
            "nothing can come through standard input, which is {what}: pipe in what a crash left, or give its path"
        ))
        .into());
    }
    // A file whose beginning somebody else took is a stream from here on.
    if kind.is_file() && file.stream_position().is_ok_and(|position| position == 0) {
        return Ok(Artifact::of_file(STDIN, file));
    }
    put_aside(STDIN, &mut file)
}

/// What comes through a pipe with a name, once somebody writes to it.
///
/// # Errors
/// When it can not be opened, or put aside.
pub fn pipe(path: &Path) -> anyhow::Result<Artifact> {
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
    // The shell calls what a command writes by a number.
    let name = match name.parse::<u32>() {
        Ok(number) => format!("pipe-{number}"),
        Err(_) => name.into_owned(),
    };
    let mut pipe = File::open(path).with_context(|| format!("can not read the pipe {}", path.display()))?;
    put_aside(&name, &mut pipe)
}

/// Reads a stream to its end, or as far as is put aside of one.
fn put_aside(name: &str, stream: &mut dyn Read) -> anyhow::Result<Artifact> {
    let Limits {
        spilled_bytes,
        decompressed_bytes,
        ..
    } = Limits::default();
    put_aside_within(name, stream, spilled_bytes, decompressed_bytes)
}

fn put_aside_within(name: &str, stream: &mut dyn Read, on_disk: u64, bytes: u64) -> anyhow::Result<Artifact> {
    let place = std::env::temp_dir();
    let file = tempfile::tempfile().with_context(|| {
        format!(
            "what comes through {name} can not be put aside in {}: set TMPDIR to a folder that can be written",
            place.display()
        )
    })?;
    let (mut disk_left, mut left) = (on_disk, bytes);
    let mut room = |piece: Piece| -> Result<(), ()> {
        disk_left = disk_left.checked_sub(piece.on_disk).ok_or(())?;
        left = left.checked_sub(piece.bytes).ok_or(())?;
        Ok(())
    };
    let (there, end) = holes::copy(stream, &file, &mut room);
    let problem = match end {
        End::Whole => None,
        End::Full(()) => Some(Problem::new(
            "limit-unpacked-bytes",
            format!(
                "more came through {name} than is put aside of a stream: it was cut after {there} bytes; give it as a file"
            ),
        )),
        End::Torn(error) => Some(Problem::new(
            "truncated",
            format!("{name} could not be read any more after {there} bytes ({error}): give it again, or as a file"),
        )),
        End::Unwritten(error) => {
            return Err(error).with_context(|| {
                format!(
                    "what comes through {name} can not be put aside in {} after {there} bytes: make room there, set TMPDIR to \
                     another folder, or give it as a file",
                    place.display()
                )
            });
        }
    };
    let mut artifact = Artifact::of_file(name, file);
    artifact.problems.extend(problem);
    Ok(artifact)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_is_put_aside_as_far_as_there_is_room_and_says_where_it_was_cut() {
        let endless = |byte| io::repeat(byte);
        let whole = put_aside_within("stdin", &mut endless(b'x').take(300_000), 1 << 20, 1 << 20).expect("room");
        assert!(whole.problems.is_empty());
        assert_eq!(std::fs::metadata(&whole.path).expect("a file").len(), 300_000);
        for (byte, on_disk, bytes) in [(b'x', 1 << 20, u64::MAX), (0, u64::MAX, 1 << 20)] {
            let cut = put_aside_within("stdin", &mut endless(byte), on_disk, bytes).expect("room");
            assert!(cut.problems.iter().any(Problem::leaves_unread), "{:?}", cut.problems);
            assert_eq!(std::fs::metadata(&cut.path).expect("a file").len(), 1 << 20);
        }
    }
}
