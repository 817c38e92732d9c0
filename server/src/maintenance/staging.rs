//! Files of uploads that nobody goes on with.

use jiff::Timestamp;

use super::{Removed, days_ago, hours_ago};
use crate::ingest::Leftover;
use crate::services::Services;
use crate::store::{ReportState, Result};

/// Removes parts whose report is gone or complete, and what uploads in one go have left.
pub async fn sweep(services: &Services, now: Timestamp) -> Result<Removed> {
    let retention = &services.config.retention;
    let grace = hours_ago(now, u64::from(retention.unreferenced_hours.max(1)));
    let still = days_ago(now, retention.unfinished_days.max(1));
    let mut removed = Removed::default();
    for leftover in services.ingest.leftovers().await? {
        let before = if is_wanted(services, &leftover).await? {
            still
        } else {
            grace
        };
        // The parts of an upload that stands still go with its report.
        let goes = leftover.touched < before && (retention.unfinished_days > 0 || before == grace);
        if goes && services.ingest.remove(&leftover).await? {
            removed.add(leftover.bytes);
        }
    }
    Ok(removed)
}

/// Whether its upload may still go on.
async fn is_wanted(services: &Services, leftover: &Leftover) -> Result<bool> {
    let Some((id, digest)) = &leftover.part else {
        return Ok(false);
    };
    let report = services.stores.records.report(id).await?;
    Ok(report.is_some_and(|report| {
        let mut artifacts = report.artifacts.iter();
        report.state == ReportState::Uploading && artifacts.any(|a| a.digest == *digest && a.is_wanted())
    }))
}
