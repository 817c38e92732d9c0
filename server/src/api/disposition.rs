//! Names of downloads.

/// A `Content-Disposition` that has a browser save what comes under this name (RFC 6266): in quotes what every client
/// understands, and as `filename*` (RFC 8187) the name itself where that is another one.
pub fn attachment(name: &str) -> String {
    let plain: String = name.chars().map(|c| if is_plain(c) { c } else { '_' }).collect();
    if plain == name {
        format!("attachment; filename=\"{plain}\"")
    } else {
        format!("attachment; filename=\"{plain}\"; filename*=UTF-8''{}", encode(name))
    }
}

/// Whether clients agree on what the character means between quotes: not on `"`, `\`, `%` and `;`.
fn is_plain(c: char) -> bool {
    matches!(c, ' '..='~') && !matches!(c, '"' | '\\' | '%' | ';' | '/')
}

/// RFC 8187, `attr-char`s as they are.
fn encode(name: &str) -> String {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"!#$&+-.^_`|~".contains(&b);
    name.bytes()
        .map(|b| {
            if plain(b) {
                char::from(b).to_string()
            } else {
                format!("%{b:02X}")
            }
        })
        .collect()
}
