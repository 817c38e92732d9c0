//! Memory snapshots.

use whycrash_evidence::model::{
    AllocationCluster, MemoryBlock, MemoryDetail, MemorySnapshot, OomRequest, PoolUsage, TraceEntry, UsageCurve,
};

use crate::sandbox::bindings::memory;

pub(in crate::sandbox) fn snapshot(snapshot: &MemorySnapshot, detail: Option<&MemoryDetail>) -> memory::Snapshot {
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
        blocks_kept: detail.map_or(0, |detail| detail.blocks.len() as u64),
        events_kept: detail.map_or(0, |detail| detail.trace.len() as u64),
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

pub(in crate::sandbox) fn block(
    number: usize,
    index: usize,
    detail: &MemoryDetail,
    block: &MemoryBlock,
) -> memory::Block {
    memory::Block {
        address: block.address.0,
        bytes: block.bytes,
        requested: block.requested,
        state: match block.state.as_str() {
            "allocated" => memory::BlockState::Allocated,
            "pending-free" => memory::BlockState::PendingFree,
            _ => memory::BlockState::Inactive,
        },
        stream: block.stream.0,
        private_pool: block.private_pool.map(|[first, second]| (first, second)),
        frames: frames(detail, block.stack),
        fact: format!("memory_details.{number}.blocks.{index}.address"),
    }
}

pub(in crate::sandbox) fn entry(
    number: usize,
    index: usize,
    detail: &MemoryDetail,
    entry: &TraceEntry,
) -> memory::Entry {
    memory::Entry {
        number: entry.number,
        action: action(&entry.action),
        address: entry.address.0,
        bytes: entry.bytes,
        stream: entry.stream.0,
        private_pool: entry.private_pool.map(|[first, second]| (first, second)),
        time_us: entry.time_us,
        frames: frames(detail, entry.stack),
        fact: format!("memory_details.{number}.trace.{index}.action"),
    }
}

fn action(name: &str) -> memory::Action {
    match name {
        "alloc" => memory::Action::Alloc,
        "free-requested" => memory::Action::FreeRequested,
        "free-completed" => memory::Action::FreeCompleted,
        "segment-alloc" => memory::Action::SegmentAlloc,
        "segment-free" => memory::Action::SegmentFree,
        "segment-map" => memory::Action::SegmentMap,
        "segment-unmap" => memory::Action::SegmentUnmap,
        "failed" => memory::Action::Failed,
        _ => memory::Action::Other,
    }
}

fn frames(detail: &MemoryDetail, stack: Option<u32>) -> Vec<String> {
    let stack = stack.and_then(|stack| detail.stacks.get(stack as usize));
    stack.cloned().unwrap_or_default()
}
