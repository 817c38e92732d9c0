//! What identifies a report and its artifacts.

use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use crate::ArtifactHead;

/// Bytes of the hash that a report's id is made of.
const ID_BYTES: usize = 16;

/// The id of a report: the same metadata and the same artifacts give the same id, in whatever order they come. Members of
/// archives are given with those.
pub(crate) fn report_id(metadata: &Map<String, Value>, artifacts: &[ArtifactHead]) -> String {
    let mut names: Vec<[&str; 2]> = artifacts
        .iter()
        .filter(|artifact| artifact.archive.is_none())
        .map(|artifact| [artifact.name.as_str(), artifact.sha256.as_str()])
        .collect();
    names.sort_unstable();
    let mut hash = Sha256::new();
    hash.update(canonical(&Value::Object(metadata.clone())).to_string());
    hash.update(serde_json::to_string(&names).unwrap_or_default());
    hex::encode(&hash.finalize()[..ID_BYTES])
}

/// The same JSON with the keys of every object in order.
fn canonical(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let mut members: Vec<_> = members.iter().collect();
            members.sort_by_key(|(key, _)| *key);
            Value::Object(
                members
                    .into_iter()
                    .map(|(key, value)| (key.clone(), canonical(value)))
                    .collect(),
            )
        }
        Value::Array(items) => Value::Array(items.iter().map(canonical).collect()),
        other => other.clone(),
    }
}
