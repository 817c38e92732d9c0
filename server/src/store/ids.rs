//! Names of reports and of blobs.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sha2::Digest as _;

/// Names a report: 32 lower-case hex digits, derived from what was sent so that the same upload twice is one report.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ReportId(String);

impl ReportId {
    /// The first 16 bytes of SHA-256 over the canonical JSON of the metadata, followed by that of the sorted
    /// (name, sha256) pairs: the id that a diagnosis of the same files has on the command line.
    pub fn derive(metadata: &Map<String, Value>, artifacts: &[(String, Digest)]) -> Self {
        let mut pairs: Vec<(&str, &str)> = artifacts
            .iter()
            .map(|(name, sha)| (name.as_str(), sha.as_str()))
            .collect();
        pairs.sort_unstable();
        let mut hasher = sha2::Sha256::new();
        hash_members(&mut hasher, metadata);
        hasher.update(serde_json::json!(pairs).to_string());
        Self(hex(&hasher.finalize()[..16]))
    }

    /// The digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Hashes the JSON of an object with the members of every object in order of their names, without making a copy.
fn hash_members(hasher: &mut sha2::Sha256, members: &Map<String, Value>) {
    let mut sorted: Vec<(&String, &Value)> = members.iter().collect();
    sorted.sort_unstable_by_key(|(name, _)| *name);
    hasher.update("{");
    for (index, (name, value)) in sorted.into_iter().enumerate() {
        hasher.update(if index == 0 { "" } else { "," });
        hash_text(hasher, name);
        hasher.update(":");
        hash_value(hasher, value);
    }
    hasher.update("}");
}

fn hash_value(hasher: &mut sha2::Sha256, value: &Value) {
    match value {
        Value::Object(members) => hash_members(hasher, members),
        Value::Array(items) => {
            hasher.update("[");
            for (index, item) in items.iter().enumerate() {
                hasher.update(if index == 0 { "" } else { "," });
                hash_value(hasher, item);
            }
            hasher.update("]");
        }
        Value::String(text) => hash_text(hasher, text),
        plain => hasher.update(plain.to_string()),
    }
}

fn hash_text(hasher: &mut sha2::Sha256, text: &str) {
    // Text always has a form in JSON.
    hasher.update(serde_json::to_vec(text).unwrap_or_default());
}

impl TryFrom<String> for ReportId {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<ReportId> for String {
    fn from(id: ReportId) -> Self {
        id.0
    }
}

impl FromStr for ReportId {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if is_lower_hex(text, 32) {
            Ok(Self(text.to_owned()))
        } else {
            Err("a report id is 32 lower-case hex digits".to_owned())
        }
    }
}

impl fmt::Display for ReportId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// SHA-256 of some bytes, as 64 lower-case hex digits.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct Digest(String);

impl Digest {
    /// The digest of these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self::finish(sha2::Sha256::new_with_prefix(bytes))
    }

    /// The digest of everything the hasher was given.
    pub fn finish(hasher: sha2::Sha256) -> Self {
        Self(hex(&hasher.finalize()))
    }

    /// The digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Digest {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let lower = text.to_ascii_lowercase();
        if is_lower_hex(&lower, 64) {
            Ok(Self(lower))
        } else {
            Err("a sha256 is 64 hex digits".to_owned())
        }
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?
            .parse()
            .map_err(serde::de::Error::custom)
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn is_lower_hex(text: &str, digits: usize) -> bool {
    text.len() == digits && text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
}

/// Lower-case hex digits of the bytes.
pub(crate) fn hex(bytes: &[u8]) -> String {
    use fmt::Write as _;
    bytes
        .iter()
        .fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        })
}
