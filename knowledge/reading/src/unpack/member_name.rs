//! The name that a member has in its report: that of the archive, and its path in there.

use whycrash_evidence::printable;

/// Bytes of the path of a member.
const NAME_BYTES: usize = 1000;

/// What is made of the path that an archive gives a member.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum MemberName {
    /// Folders and name, printable, with slashes between.
    Path(String),
    /// A hidden file, which is left out in folders too.
    Hidden,
    /// Why no file may be called that.
    Refused(&'static str),
}

impl MemberName {
    /// What the path of a member means. It is never used as a path.
    pub(super) fn of(raw: &[u8]) -> Self {
        let text = String::from_utf8_lossy(raw);
        // Programs on Windows put these between folders.
        let text = text.replace('\\', "/");
        if text.starts_with('/') || text.as_bytes().get(1) == Some(&b':') {
            return Self::Refused("has an absolute path: pack it by a path from the folder that it is in");
        }
        let parts: Vec<&str> = text.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
        if parts.contains(&"..") {
            return Self::Refused("has a path that leads out of the archive: pack it by its path in the folder");
        }
        if raw.len() > NAME_BYTES {
            return Self::Refused("has a path of more than 1000 bytes: pack it by a shorter one");
        }
        if raw.contains(&0) || parts.is_empty() {
            return Self::Refused("has no name that a file may have: pack it anew");
        }
        // What macOS puts beside each file.
        if parts.iter().any(|part| part.starts_with('.') || *part == "__MACOSX") {
            return Self::Hidden;
        }
        Self::Path(printable(&parts.join("/")).into_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_becomes_a_name_or_is_refused() {
        let path = |path: &str| MemberName::Path(path.to_owned());
        for (raw, name) in [
            (b"train.log".as_slice(), path("train.log")),
            (b"./logs//rank-0.log", path("logs/rank-0.log")),
            (b"logs\\rank-0.log", path("logs/rank-0.log")),
            ("größe.log".as_bytes(), path("größe.log")),
            (b"./.bash_history", MemberName::Hidden),
            (b"__MACOSX/._train.log", MemberName::Hidden),
        ] {
            assert_eq!(MemberName::of(raw), name, "{}", String::from_utf8_lossy(raw));
        }
        let long = [b'a'; NAME_BYTES + 1];
        for raw in [
            b"/etc/passwd".as_slice(),
            b"C:\\boot.ini",
            b"../../etc/passwd",
            b"logs/../../x",
            b"..\\x",
            b"a\0b",
            b"./",
            b"",
            &long,
        ] {
            assert!(
                matches!(MemberName::of(raw), MemberName::Refused(_)),
                "{}",
                String::from_utf8_lossy(raw)
            );
        }
        let MemberName::Path(shown) = MemberName::of(b"a\x1b[31mb") else {
            panic!("a name with a colour is a name");
        };
        assert!(!shown.contains('\u{1b}'), "{shown:?}");
    }
}
