//! What strangers send, by what they aim at.

mod access;
mod addresses;
mod artifacts;
mod bodies;
mod encodings;
mod forms;
mod headers;
mod metadata;
mod queries;
pub mod repeats;
mod stalls;
mod symbols;
mod uploads;
mod wires;

use serde_json::Value;

use crate::case::Case;

/// A report that is there: some cases ask for it in odd ways.
#[derive(Clone, Debug)]
pub struct Victim {
    /// Its id.
    pub report: String,
    /// The name of its artifact, which is a log.
    pub artifact: String,
    /// A report whose artifact is declared and has not come.
    pub half: String,
    /// What the server says of itself, in OpenAPI.
    pub description: Value,
}

impl Victim {
    /// Where its artifact is.
    pub fn address(&self) -> String {
        format!("/api/v1/reports/{}/artifacts/{}", self.report, self.artifact)
    }
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

/// Makes the cases that aim at one thing.
pub type Group = fn(Size, &Victim) -> Vec<Case>;

/// All groups of cases, by what they aim at.
pub const GROUPS: [(&str, Group); 14] = [
    ("metadata", |size, _| metadata::cases(size)),
    ("JSON bodies", |size, _| bodies::cases(size)),
    ("forms", |size, _| forms::cases(size)),
    ("uploads in chunks", |size, _| uploads::cases(size)),
    ("queries", |_, _| queries::cases()),
    ("HTTP itself", |size, _| wires::cases(size)),
    ("addresses", addresses::cases),
    ("headers", headers::cases),
    ("packed bodies", |size, _| encodings::cases(size)),
    ("the same again", repeats::cases),
    ("access", |_, _| access::cases()),
    ("symbols", |size, _| symbols::cases(size)),
    ("artifacts", |size, _| artifacts::cases(size)),
    ("clients that stall or vanish", |size, _| stalls::cases(size)),
];

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
