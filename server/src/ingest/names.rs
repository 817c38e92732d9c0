//! Names of artifacts as they come from clients, made safe to show, to store and to put into an address.

use whycrash_evidence::printable;

/// Longest name, in bytes.
pub const MAX_NAME_BYTES: usize = 200;

/// The last component of a client's path with everything replaced that is no part of a plain file name; none if
/// nothing is left.
pub fn clean(name: &str) -> Option<String> {
    let last = name.rsplit(['/', '\\']).find(|part| !part.trim().is_empty())?;
    // The end of a name says what the file is, so the front goes.
    let mut start = last.len().saturating_sub(MAX_NAME_BYTES);
    while !last.is_char_boundary(start) {
        start += 1;
    }
    let clean: String = last
        .get(start..)?
        .chars()
        .map(|c| if is_plain(c) { c } else { '_' })
        .collect();
    let clean = clean.trim();
    (!clean.is_empty() && clean != "." && clean != "..").then(|| clean.to_owned())
}

/// Whether the character stays what it is wherever it is shown: then a name in an answer is the name that is kept.
fn is_plain(c: char) -> bool {
    let text = c.encode_utf8(&mut [0; 4]).to_owned();
    printable(&text) == text
}

/// A name that is not among `taken`: the same one, or one with a number before its extension.
pub fn unique(name: &str, taken: &[String]) -> String {
    let is_taken = |name: &str| taken.iter().any(|other| other == name);
    if !is_taken(name) {
        return name.to_owned();
    }
    let (stem, extension) = match name.rfind('.') {
        Some(dot) if dot > 0 => name.split_at(dot),
        _ => (name, ""),
    };
    (2_u32..)
        .map(|n| format!("{stem}-{n}{extension}"))
        .find(|name| !is_taken(name))
        .unwrap_or_default()
}
