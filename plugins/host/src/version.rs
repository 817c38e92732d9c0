//! What a diagnosis depends on beside the evidence.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use whycrash_catalog::Catalog;

use crate::registry::Installed;
use crate::sandbox::KnownTable;
use crate::{calibration, diagnosis};

/// Which plugins and which knowledge a diagnosis was made with. Two diagnoses of the same evidence whose versions are
/// the same are the same.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Version {
    /// SHA-256 over the components of all plugins, lower-case hex.
    pub plugins: String,
    /// SHA-256 over what plugins and citation check take from the pages: the ids of causes, their recognise
    /// tables, what they say of each other, what plugins are told of them, and what a rule's confidence is worth; and over
    /// the form of a diagnosis.
    pub knowledge: String,
}

/// The version of these plugins; those that can not be used change no diagnosis but its list of runs.
pub(crate) fn of_plugins<'a>(plugins: impl IntoIterator<Item = &'a Installed>) -> String {
    let mut hash = Sha256::new();
    for plugin in plugins.into_iter().filter(|installed| installed.plugin.is_some()) {
        hash.update(plugin.info.name.as_bytes());
        hash.update([0]);
        hash.update(plugin.info.sha256.as_bytes());
    }
    hex::encode(hash.finalize())
}

/// The version of this catalogue with these tables, as plugins get them.
pub(crate) fn of_knowledge(catalog: &Catalog, tables: &[Arc<KnownTable>]) -> String {
    let mut hash = Sha256::new();
    hash.update(diagnosis::SCHEMA.to_le_bytes());
    hash.update(serde_json::to_vec(calibration::points()).unwrap_or_default());
    for table in tables {
        hash.update(table.json.as_bytes());
        hash.update([0]);
    }
    for cause in catalog.causes() {
        let named = (&cause.id, &cause.also);
        let of_each_other = (&cause.leads_to, &cause.members, cause.last_resort);
        let told = (&cause.severity, &cause.domain, &cause.retry.advice, &cause.tags);
        hash.update(serde_json::to_vec(&(named, of_each_other, told)).unwrap_or_default());
    }
    hex::encode(hash.finalize())
}

/// Digest of everything that these pages say.
pub(crate) fn of_pages(catalog: &Catalog) -> String {
    let pages = serde_json::to_vec(catalog.causes()).unwrap_or_default();
    hex::encode(Sha256::digest(pages))
}
