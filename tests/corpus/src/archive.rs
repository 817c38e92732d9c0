//! Several texts in one file, so that a thousand small cases can be kept, searched and reviewed as a page: a line
//! `-- NAME --` stands before each text. The form is Go's txtar (<https://pkg.go.dev/golang.org/x/tools/txtar>), without
//! a comment before the first text. The build script compiles this module too.

use std::fmt::Write as _;

/// A text of an archive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry<'a> {
    /// Its path, with `/` between folders.
    pub name: &'a str,
    /// All of it: empty, or lines that all end.
    pub text: &'a str,
}

/// The name that a line gives to the text below it, if it is such a line.
fn marked(line: &str) -> Option<&str> {
    let name = line.trim_end_matches('\n').strip_prefix("-- ")?.strip_suffix(" --")?;
    (!name.trim().is_empty()).then_some(name)
}

/// The texts of an archive, in its order. What stands before the first mark is passed over.
pub fn entries(archive: &str) -> Vec<Entry<'_>> {
    let mut entries: Vec<Entry<'_>> = Vec::new();
    let (mut begin, mut end) = (0, 0);
    for line in archive.split_inclusive('\n') {
        let name = marked(line);
        if let Some(name) = name {
            begin = end + line.len();
            entries.push(Entry { name, text: "" });
        }
        end += line.len();
        if let (None, Some(last)) = (name, entries.last_mut()) {
            last.text = archive.get(begin..end).unwrap_or_default();
        }
    }
    entries
}

/// The text of a file, if an archive can hold it: it is UTF-8 without zeros, all its lines end, and none is a mark.
pub fn holdable(bytes: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(bytes).ok()?;
    let is_whole = text.is_empty() || text.ends_with('\n');
    (is_whole && !text.contains('\0') && !text.split_inclusive('\n').any(|line| marked(line).is_some())).then_some(text)
}

/// An archive of texts that it can hold.
pub fn archive<'a>(entries: impl IntoIterator<Item = Entry<'a>>) -> String {
    entries.into_iter().fold(String::new(), |mut archive, entry| {
        let _ = write!(archive, "-- {} --\n{}", entry.name, entry.text);
        archive
    })
}
