//! What is known of other reports, as it is given to plugins and stored with the diagnosis that they make.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Earlier reports of its group that a report knows of.
pub const EARLIER: usize = 16;
/// Other reports of its incident that a report knows of.
pub const OTHERS: usize = 64;

/// What was known of other reports when a report was diagnosed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct History {
    /// Key of the group whose earlier reports these are.
    pub group: String,
    /// Reports of the group that came before, the last one first (bounded). It stays as it was when the report was
    /// diagnosed for the first time.
    pub earlier: Vec<EarlierReport>,
    /// The other reports of the incident, in the order in which they came (bounded).
    pub incident: Vec<OtherReport>,
}

/// A report of the same group that came before.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct EarlierReport {
    /// Its id.
    pub id: String,
    /// Its title.
    pub title: String,
    /// When it came (RFC 3339).
    pub received: String,
    /// What was found in it, best first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conclusions: Vec<Conclusion>,
}

/// A cause that was found in another report.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct Conclusion {
    /// Id of the cause.
    pub cause: String,
    /// A title more exact than its page's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// 0 to 1.
    pub confidence: f64,
    /// Name of the plugin that says so.
    pub plugin: String,
}

/// Another report of the same incident: what is known of it from its evidence alone, so that no two reports wait for
/// what is concluded of the other.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct OtherReport {
    /// Its id.
    pub id: String,
    /// Its title.
    pub title: String,
    /// When it came (RFC 3339).
    pub received: String,
    /// Key of its group.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// The machine it happened on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// Ranks that appear in it; of very many the first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ranks: Vec<u32>,
    /// Signal name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signal: Option<String>,
    /// Class of the Python exception, or name of the GPU exception.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exception: Option<String>,
}
