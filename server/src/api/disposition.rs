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

#[cfg(test)]
mod tests {
    use super::attachment;

    #[test]
    fn names_are_said_so_that_clients_agree() {
        let cases = [
            ("core.4711", "attachment; filename=\"core.4711\""),
            ("train log.txt", "attachment; filename=\"train log.txt\""),
            (
                "a\"; x=\"b",
                "attachment; filename=\"a__ x=_b\"; filename*=UTF-8''a%22%3B%20x%3D%22b",
            ),
            ("a\\b", "attachment; filename=\"a_b\"; filename*=UTF-8''a%5Cb"),
            (
                "50%.log",
                "attachment; filename=\"50_.log\"; filename*=UTF-8''50%25.log",
            ),
            (
                "\u{65e5}.log",
                "attachment; filename=\"_.log\"; filename*=UTF-8''%E6%97%A5.log",
            ),
            (
                "a\r\nb\u{7f}",
                "attachment; filename=\"a__b_\"; filename*=UTF-8''a%0D%0Ab%7F",
            ),
        ];
        for (name, expected) in cases {
            assert_eq!(attachment(name), expected);
        }
    }
}
