//! What strangers send, by what they aim at.

mod access;
mod artifacts;
mod bodies;
mod forms;
mod metadata;
mod queries;
mod stalls;
mod symbols;
mod uploads;
mod wires;

use crate::case::Case;

/// Cases that aim at one thing.
#[derive(Debug)]
pub struct Group {
    /// What they aim at.
    pub name: &'static str,
    /// The cases.
    pub cases: Vec<Case>,
}

/// How large the cases are that can have any size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// Small enough for a test that is run with every change.
    Bounded,
    /// As large as a stranger with patience makes them.
    Full,
}

impl Size {
    /// The smaller number where cases are bounded.
    pub fn pick(self, bounded: usize, full: usize) -> usize {
        match self {
            Self::Bounded => bounded,
            Self::Full => full,
        }
    }
}

/// All cases.
pub fn all(size: Size) -> Vec<Group> {
    vec![
        Group {
            name: "metadata",
            cases: metadata::cases(size),
        },
        Group {
            name: "JSON bodies",
            cases: bodies::cases(size),
        },
        Group {
            name: "forms",
            cases: forms::cases(size),
        },
        Group {
            name: "uploads in chunks",
            cases: uploads::cases(size),
        },
        Group {
            name: "queries",
            cases: queries::cases(),
        },
        Group {
            name: "HTTP itself",
            cases: wires::cases(size),
        },
        Group {
            name: "access",
            cases: access::cases(),
        },
        Group {
            name: "symbols",
            cases: symbols::cases(size),
        },
        Group {
            name: "artifacts",
            cases: artifacts::cases(size),
        },
        Group {
            name: "clients that stall or vanish",
            cases: stalls::cases(size),
        },
    ]
}

/// A request that sends JSON.
fn post_json(name: impl Into<String>, path: &str, body: &[u8]) -> Case {
    Case::request(name, "POST", path, &[("Content-Type", "application/json")], body)
}

/// Bytes that look random and are the same every time.
fn noise(length: usize, seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut bytes = Vec::with_capacity(length + 8);
    while bytes.len() < length {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes.extend_from_slice(&state.to_le_bytes());
    }
    bytes.truncate(length);
    bytes
}

/// Text with what is no letter, digit or `_` percent-encoded.
fn encoded(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    text.bytes()
        .map(|byte| {
            if plain(byte) {
                char::from(byte).to_string()
            } else {
                format!("%{byte:02X}")
            }
        })
        .collect()
}
