//! What is older than it shall be.

use jiff::Timestamp;

use super::{BATCH, ROUND, Removed, days_ago, delete};
use crate::services::Services;
use crate::store::Result;

/// Removes reports that are kept long enough.
pub async fn reports(services: &Services, now: Timestamp) -> Result<Removed> {
    let days = services.config.retention.reports_days;
    let mut removed = Removed::default();
    while days > 0 && removed.count < ROUND {
        let ids = services
            .stores
            .upkeep
            .reports_before(days_ago(now, days), BATCH)
            .await?;
        if ids.is_empty() {
            break;
        }
        for id in &ids {
            delete(services, id).await?;
            removed.add(0);
        }
    }
    Ok(removed)
}

/// Removes uploads that stand still, with what came of them.
pub async fn uploads(services: &Services, now: Timestamp) -> Result<Removed> {
    let days = services.config.retention.unfinished_days;
    let mut removed = Removed::default();
    if days == 0 {
        return Ok(removed);
    }
    let before = days_ago(now, days);
    let limit = u32::try_from(ROUND).unwrap_or(u32::MAX);
    for id in services.stores.upkeep.unfinished_since(before, limit).await? {
        // A large artifact that comes slowly is no upload that stands still.
        if !services.ingest.is_coming_since(&id, before).await? {
            delete(services, &id).await?;
            removed.add(0);
        }
    }
    Ok(removed)
}

/// Marks artifacts as expired that are kept long enough; their bytes are collected like all that nothing refers to.
pub async fn artifacts(services: &Services, now: Timestamp) -> Result<Removed> {
    let mut removed = Removed::default();
    for (kind, days) in &services.config.retention.artifacts_days {
        let Some(kind) = serde_json::to_value(kind)
            .ok()
            .and_then(|kind| Some(kind.as_str()?.to_owned()))
        else {
            continue;
        };
        while *days > 0 && removed.count < ROUND {
            let before = days_ago(now, *days);
            let expired = services.stores.upkeep.expire_artifacts(&kind, before, BATCH).await?;
            if expired.is_empty() {
                break;
            }
            expired.iter().for_each(|artifact| removed.add(artifact.bytes));
        }
    }
    Ok(removed)
}
