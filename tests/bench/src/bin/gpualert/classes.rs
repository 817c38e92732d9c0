//! From our causes to GPUAlert's classes.

use std::collections::BTreeMap;

use anyhow::Result;

/// The table of `classes.toml`.
pub struct Classes(Vec<(String, String)>);

impl Classes {
    pub fn read() -> Result<Self> {
        let table: BTreeMap<String, Vec<String>> = toml::from_str(include_str!("classes.toml"))?;
        let entries = table.into_iter().flat_map(|(class, causes)| {
            let entry = move |cause| (cause, class.clone());
            causes.into_iter().map(entry)
        });
        Ok(Self(entries.collect()))
    }

    /// The class of a cause: that of the longest entry that fits it.
    pub fn of(&self, cause: &str) -> Option<&str> {
        let fits = |entry: &str| match entry.strip_suffix('*') {
            Some(start) => cause.starts_with(start),
            None => cause == entry,
        };
        let fitting = self.0.iter().filter(|(entry, _)| fits(entry));
        // One that is written out goes before one that ends in a star.
        let best = fitting.max_by_key(|(entry, _)| (!entry.ends_with('*'), entry.len()));
        best.map(|(_, class)| class.as_str())
    }
}
