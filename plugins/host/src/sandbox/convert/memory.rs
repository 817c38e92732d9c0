//! Memory snapshots.

use whycrash_evidence::model::{AllocationCluster, MemorySnapshot, OomRequest, PoolUsage, UsageCurve};

use crate::sandbox::bindings::memory;

pub(in crate::sandbox) fn snapshot(snapshot: &MemorySnapshot) -> memory::Snapshot {
    memory::Snapshot {
        artifact: snapshot.artifact.clone(),
        device: snapshot.device,
        reserved: snapshot.reserved,
        allocated: snapshot.allocated,
        active: snapshot.active,
        requested: snapshot.requested,
        inactive: snapshot.inactive,
        largest_inactive: snapshot.largest_inactive,
        pending_free: snapshot.pending_free,
        private_pools: snapshot.private_pools,
        segments: snapshot.segments,
        blocks: snapshot.blocks,
        events: snapshot.events,
        peak_allocated: snapshot.peak_allocated,
        peak_active: snapshot.peak_active,
        expandable_segments: snapshot.expandable_segments,
        failed_requests: snapshot.oom_events,
    }
}

pub(in crate::sandbox) fn failed_request(request: &OomRequest) -> memory::FailedRequest {
    memory::FailedRequest {
        requested: request.requested,
        device_free: request.device_free,
        allocated: request.allocated,
        reserved: request.reserved,
        stream: request.stream.0,
        usable_inactive: request.usable_inactive,
        largest_usable: request.largest_usable,
        trace_event: request.trace_event,
        frames: request.frames.clone(),
    }
}

pub(in crate::sandbox) fn cluster(cluster: &AllocationCluster) -> memory::Cluster {
    memory::Cluster {
        bytes: cluster.bytes,
        blocks: cluster.count,
        growth: cluster.growth.clone(),
        frames: cluster.frames.clone(),
    }
}

pub(in crate::sandbox) fn pool(pool: &PoolUsage) -> memory::Pool {
    memory::Pool {
        stream: pool.stream.0,
        private_pool: pool.private_pool.map(|[first, second]| (first, second)),
        size_class: pool.size_class.clone(),
        reserved: pool.reserved,
        allocated: pool.allocated,
        pending_free: pool.pending_free,
        inactive: pool.inactive,
        largest_inactive: pool.largest_inactive,
    }
}

/// A row of a curve; none where its columns are of different lengths.
pub(in crate::sandbox) fn stretch(curve: &UsageCurve, row: usize) -> Option<memory::Stretch> {
    Some(memory::Stretch {
        event: *curve.event.get(row)?,
        time_us: curve.time_us.get(row).copied(),
        least: *curve.min.get(row)?,
        most: *curve.max.get(row)?,
    })
}
