//! Whether files that others write are whole.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use super::Missing;

/// How long somebody who still writes is waited for, and how often that is looked at.
const PATIENCE: Duration = Duration::from_secs(3);
const PAUSE: Duration = Duration::from_millis(100);
/// Whoever has written nothing for so long writes no more.
const DONE: Duration = Duration::from_secs(1);

/// Waits until nobody writes these files any more, or the time is up; what is not whole even then.
pub fn until_whole<'f>(files: impl Iterator<Item = &'f PathBuf>) -> Vec<Missing> {
    let files: Vec<&PathBuf> = files.collect();
    let deadline = Instant::now() + PATIENCE;
    while files.iter().any(|file| is_written(file)) && Instant::now() < deadline {
        std::thread::sleep(PAUSE);
    }
    let torn = files.into_iter().filter(|file| ends(file) == Some(false));
    torn.map(|file| {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        Missing::for_good(&name, "it is not whole: its writer was ended, or still writes")
    })
    .collect()
}

/// Whether somebody may still write a file: it was changed just now, and has no end, or none that can be told.
fn is_written(file: &Path) -> bool {
    let changed = file.metadata().and_then(|about| about.modified());
    let is_new = changed.is_ok_and(|at| SystemTime::now().duration_since(at).is_ok_and(|age| age < DONE));
    is_new && ends(file) != Some(true)
}

/// Whether a file ends as those do that begin so; none where that is not known. A pickle (protocol 2 and newer) ends
/// with its opcode `STOP`, a JSON object with a brace.
fn ends(file: &Path) -> Option<bool> {
    let mut file = File::open(file).ok()?;
    let mut first = [0];
    file.read_exact(&mut first).ok()?;
    let back = file.metadata().ok()?.len().min(16);
    file.seek(SeekFrom::End(-(back as i64))).ok()?;
    let mut end = Vec::new();
    file.read_to_end(&mut end).ok()?;
    match first {
        [0x80] => Some(end.ends_with(b".")),
        [b'{'] => Some(end.trim_ascii_end().ends_with(b"}")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::time::Duration;

    use super::until_whole;

    #[test]
    fn whoever_still_writes_is_waited_for_and_whoever_does_not_is_told_of() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name);
        std::fs::write(path("whole.json"), "{\"a\": 1}\n").expect("a file");
        std::fs::write(path("torn.pickle"), b"\x80\x04K").expect("a file");
        let slow = path("slow.pickle");
        let mut file = std::fs::File::create(&slow).expect("a file");
        file.write_all(b"\x80\x04K").expect("the beginning");
        let writer = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(300));
            file.write_all(b"\x01.").expect("the end");
        });
        let files = ["whole.json", "torn.pickle", "slow.pickle"].map(path);
        let torn = until_whole(files.iter());
        writer.join().expect("it wrote");
        let names: Vec<&str> = torn.iter().map(|missing| missing.what.as_str()).collect();
        assert_eq!(names, ["torn.pickle"]);
        assert_eq!(std::fs::read(slow).expect("it is there"), b"\x80\x04K\x01.");
    }
}
