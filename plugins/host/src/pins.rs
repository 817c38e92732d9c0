//! Which bytes the plugins of a folder must have.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;

use crate::files;

/// The file of a folder that says so, where it has one: lines of `sha256sum`. A file may have several: each of them
/// will do.
pub const PINS: &str = "plugins.sha256";
/// Bytes of that file.
const BYTES: usize = 4 << 20;

/// What a folder says about its files.
#[derive(Debug)]
pub(crate) enum Pins {
    /// Nothing.
    None,
    /// Digests in lower-case hex, each with the name of a file.
    Of(BTreeSet<(String, String)>),
    /// It can not be read.
    Unreadable(io::Error),
}

impl Pins {
    pub(crate) fn of(folder: &Path) -> Self {
        match files::read_regular(&folder.join(PINS), BYTES) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Self::None,
            Err(error) => Self::Unreadable(error),
            Ok(bytes) if bytes.len() > BYTES => {
                Self::Unreadable(io::Error::other(format!("it has more than {BYTES} bytes")))
            }
            Ok(bytes) => Self::Of(String::from_utf8_lossy(&bytes).lines().filter_map(pin).collect()),
        }
    }

    /// Fails when the file is not as it must be.
    pub(crate) fn check(&self, file: &Path, sha256: &str) -> Result<(), String> {
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        match self {
            Self::None => Ok(()),
            Self::Of(pins) if pins.contains(&(sha256.to_owned(), name.clone())) => Ok(()),
            Self::Of(_) => Err(format!(
                "its file is not the one that {PINS} lists: it was changed, or put there by somebody else"
            )),
            Self::Unreadable(error) => Err(format!("{PINS} of its folder can not be read: {error}")),
        }
    }
}

/// A line as `sha256sum` writes it: digest, two characters, name.
fn pin(line: &str) -> Option<(String, String)> {
    let (digest, name) = line.split_once(' ')?;
    let name = name.strip_prefix([' ', '*'])?;
    Some((digest.to_ascii_lowercase(), name.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_with_a_list_takes_what_is_listed_and_nothing_else() {
        let folder = tempfile::tempdir().expect("a folder");
        let (file, other) = (folder.path().join("a.wasm"), folder.path().join("b.wasm"));
        assert!(Pins::of(folder.path()).check(&file, "00").is_ok(), "no list");
        std::fs::write(folder.path().join(PINS), "AB  a.wasm\ncd *a.wasm\nab b.wasm\n\u{0}\n").expect("a list");
        let pins = Pins::of(folder.path());
        assert!(pins.check(&file, "ab").is_ok() && pins.check(&file, "cd").is_ok());
        assert!(pins.check(&file, "ef").is_err() && pins.check(&other, "ab").is_err());
        std::fs::remove_file(folder.path().join(PINS)).expect("it is there");
        std::fs::create_dir(folder.path().join(PINS)).expect("a folder");
        assert!(
            Pins::of(folder.path()).check(&file, "ab").is_err(),
            "a list that can not be read"
        );
    }
}
