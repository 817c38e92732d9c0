//! What can be a build id, and what a debug id.

use debugid::DebugId;

/// Whether a text is a build id as it is written: lower-case hex of 8 to 64 bytes. Linkers make ids of 8 (lld's
/// `fast`), 16 (MD5 and UUIDs), 20 (SHA-1, what is usual) and 32 bytes (SHA-256, BLAKE3); shorter ones would stand for
/// each other, and every one becomes a part of paths and addresses.
pub fn is_build_id(text: &str) -> bool {
    let is_hex = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    (16..=128).contains(&text.len()) && text.len().is_multiple_of(2) && text.bytes().all(is_hex)
}

/// The debug id that a text is in Breakpad's form: a UUID and an age in hex, without hyphens.
pub(crate) fn debug_id(text: &str) -> Option<DebugId> {
    let is_hex = text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let id = DebugId::from_breakpad(text).ok();
    id.filter(|id| (33..=40).contains(&text.len()) && is_hex && !id.is_nil())
}

#[cfg(test)]
mod tests {
    use super::{debug_id, is_build_id};

    #[test]
    fn a_build_id_has_the_length_of_one() {
        for bytes in [8, 16, 20, 32, 64] {
            assert!(is_build_id(&"a7".repeat(bytes)), "{bytes}");
        }
        for text in [
            "",
            "a7",
            "a7a7a7a7a7a7a7",
            "a7a7a7a7a7a7a7a7a",
            "A7A7A7A7A7A7A7A7",
            "../../../../../../",
        ] {
            assert!(!is_build_id(text), "{text}");
        }
        assert!(!is_build_id(&"a7".repeat(65)));
    }

    #[test]
    fn a_debug_id_has_one_form() {
        let id = debug_id("5a865ab22664bc5e2a9fb3019e57ab3500000001").map(|id| id.breakpad().to_string());
        assert_eq!(id.as_deref(), Some("5A865AB22664BC5E2A9FB3019E57AB351"));
        let zeros = "0".repeat(33);
        for text in [
            "",
            "5A865AB22664BC5E2A9FB3019E57AB35",
            "5A865AB22664BC5E2A9FB3019E57AB35+1",
            &zeros,
        ] {
            assert_eq!(debug_id(text), None, "{text}");
        }
    }
}
