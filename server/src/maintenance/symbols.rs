//! Symbols that were sent too long ago.

use jiff::Timestamp;

use super::{ROUND, Removed, days_ago};
use crate::services::Services;
use crate::store::Result;
use crate::store::sqlite::blocking;

/// Removes symbols that nobody has sent for as long as they are kept. What was named with them stays as it is.
pub async fn remove_old(services: &Services, now: Timestamp) -> Result<Removed> {
    let days = services.config.retention.symbols_days;
    if days == 0 {
        return Ok(Removed::default());
    }
    let (folder, before) = (services.symbols.clone(), days_ago(now, days));
    blocking(move || {
        let mut removed = Removed::default();
        for file in folder.older_than(before)?.into_iter().take(ROUND as usize) {
            if folder.remove(&file, before)? {
                removed.add(file.bytes);
            }
        }
        Ok(removed)
    })
    .await
}
