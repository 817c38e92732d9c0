//! Bytes that no report refers to.
//!
//! Somebody may be about to refer to them: a client declares an artifact whose bytes are here, and its report is added
//! a moment later. Who counts on a blob claims it first, and a blob is collected only if nobody has claimed it for
//! longer than any upload takes; whether it was, is looked at and acted on in one step of the store.

use jiff::Timestamp;

use super::{ROUND, Removed, hours_ago};
use crate::services::Services;
use crate::store::{Digest, Result};

/// Blobs looked at together.
const LISTED: usize = 500;

/// Removes blobs that no report refers to and nobody has claimed for a while.
pub async fn collect(services: &Services, now: Timestamp) -> Result<Removed> {
    let hours = services.config.retention.unreferenced_hours.max(1);
    let before = hours_ago(now, u64::from(hours));
    let stores = &services.stores;
    let (mut removed, mut last) = (Removed::default(), None);
    while removed.count < ROUND {
        let blobs = stores.blobs.list(last.as_ref(), LISTED).await?;
        let Some(end) = blobs.last() else { break };
        last = Some(end.digest.clone());
        let old: Vec<_> = blobs.iter().filter(|blob| blob.claimed < before).collect();
        let digests: Vec<Digest> = old.iter().map(|blob| blob.digest.clone()).collect();
        let unreferenced = stores.upkeep.unreferenced(&digests).await?;
        for blob in old.iter().filter(|blob| unreferenced.contains(&blob.digest)) {
            if stores.blobs.collect(&blob.digest, before).await? {
                removed.add(blob.bytes);
            }
        }
    }
    Ok(removed)
}
