//! GPU memory of a report for tests.

use std::ops::Range;

use serde_json::Value;

use super::particulars::{big, texts};
use super::{Report, hex, list, number, page, text};
use crate::memory;

impl Report {
    /// One entry for each device of each memory snapshot.
    pub fn memory_summaries(&self) -> Vec<memory::Snapshot> {
        let snapshot = |value: &Value| memory::Snapshot {
            artifact: text(value, "artifact"),
            device: number(value, "device").unwrap_or_default(),
            reserved: big(value, "reserved"),
            allocated: big(value, "allocated"),
            active: big(value, "active"),
            requested: big(value, "requested"),
            inactive: big(value, "inactive"),
            largest_inactive: big(value, "largest_inactive"),
            pending_free: big(value, "pending_free"),
            private_pools: big(value, "private_pools"),
            segments: big(value, "segments"),
            blocks: big(value, "blocks"),
            events: big(value, "events"),
            peak_allocated: big(value, "peak_allocated"),
            peak_active: big(value, "peak_active"),
            expandable_segments: value["expandable_segments"].as_bool(),
            failed_requests: big(value, "oom_events"),
            blocks_kept: self
                .detail(value)
                .map_or(0, |(_, detail)| list(detail, "blocks").len() as u64),
            events_kept: self
                .detail(value)
                .map_or(0, |(_, detail)| list(detail, "trace").len() as u64),
        };
        list(&self.evidence, "memory_snapshots").iter().map(snapshot).collect()
    }

    /// The last request that failed.
    pub fn failed_request(&self, snapshot: u32) -> Option<memory::FailedRequest> {
        let oom = self.snapshot(snapshot)?.get("oom")?;
        Some(memory::FailedRequest {
            requested: big(oom, "requested"),
            device_free: big(oom, "device_free"),
            allocated: big(oom, "allocated"),
            reserved: big(oom, "reserved"),
            stream: hex(oom, "stream").unwrap_or_default(),
            usable_inactive: big(oom, "usable_inactive"),
            largest_usable: big(oom, "largest_usable"),
            trace_event: big(oom, "trace_event"),
            frames: texts(oom, "frames"),
        })
    }

    /// Memory by the stack that allocated it, most first.
    pub fn clusters(&self, snapshot: u32, at: memory::Moment, first: u32, count: u32) -> Vec<memory::Cluster> {
        let cluster = |value: &Value| memory::Cluster {
            bytes: big(value, "bytes"),
            blocks: big(value, "count"),
            growth: list(value, "growth").iter().filter_map(Value::as_u64).collect(),
            frames: texts(value, "frames"),
        };
        let snapshot = self.snapshot(snapshot);
        let from = match at {
            memory::Moment::End => snapshot,
            memory::Moment::Peak => snapshot.and_then(|snapshot| snapshot.get("peak")),
        };
        let clusters = from.map_or(&[][..], |from| list(from, "clusters"));
        page(clusters, first, count).map(cluster).collect()
    }

    /// Memory by what it can be reused for.
    pub fn pools(&self, snapshot: u32, first: u32, count: u32) -> Vec<memory::Pool> {
        let pool = |value: &Value| memory::Pool {
            stream: hex(value, "stream").unwrap_or_default(),
            private_pool: value["private_pool"][0].as_u64().zip(value["private_pool"][1].as_u64()),
            size_class: text(value, "size_class"),
            reserved: big(value, "reserved"),
            allocated: big(value, "allocated"),
            pending_free: big(value, "pending_free"),
            inactive: big(value, "inactive"),
            largest_inactive: big(value, "largest_inactive"),
        };
        page(self.of("memory_snapshots", snapshot, "pools"), first, count)
            .map(pool)
            .collect()
    }

    /// How much was allocated over the trace, in at most so many stretches.
    pub fn usage(&self, snapshot: u32, first: u64, end: u64, count: u32) -> Vec<memory::Stretch> {
        let Some((snapshot, overview)) = self.snapshot(snapshot).and_then(|of| Some((of, of.get("usage")?))) else {
            return Vec::new();
        };
        let mut curves = list(&self.evidence, "memory_curves").iter();
        let curve = curves.find(|curve| is_of(curve, snapshot));
        let levels = curve.map_or(&[][..], |curve| list(curve, "levels"));
        let most = count as usize;
        let mut chosen = stretches(overview);
        for level in levels.iter().map(stretches).chain([chosen.clone()]) {
            if within(&level, first, end).len() <= most {
                chosen = level;
                break;
            }
        }
        while within(&chosen, first, end).len() > most && chosen.len() > 1 {
            chosen = chosen.chunks(2).map(merged).collect();
        }
        let rows = within(&chosen, first, end);
        chosen[rows].iter().take(most).copied().collect()
    }

    /// Blocks by address.
    pub fn blocks(&self, snapshot: u32, address: u64, count: u32) -> Vec<memory::Block> {
        let Some((number, detail)) = self.snapshot(snapshot).and_then(|snapshot| self.detail(snapshot)) else {
            return Vec::new();
        };
        let blocks = (0..)
            .zip(list(detail, "blocks"))
            .map(|(index, value): (usize, &Value)| memory::Block {
                address: hex(value, "address").unwrap_or_default(),
                bytes: big(value, "bytes"),
                requested: big(value, "requested"),
                state: match value["state"].as_str() {
                    Some("allocated") => memory::BlockState::Allocated,
                    Some("pending-free") => memory::BlockState::PendingFree,
                    _ => memory::BlockState::Inactive,
                },
                stream: hex(value, "stream").unwrap_or_default(),
                private_pool: pair(value, "private_pool"),
                frames: stack(detail, value),
                fact: format!("memory_details.{number}.blocks.{index}.address"),
            });
        let is_behind = |block: &memory::Block| block.address.saturating_add(block.bytes) > address;
        let from = blocks.skip_while(|block| block.address <= address && !is_behind(block));
        from.take(count as usize).collect()
    }

    /// Entries of the trace, as far as they are kept.
    pub fn trace(&self, snapshot: u32, first: u64, count: u32) -> Vec<memory::Entry> {
        let Some((number, detail)) = self.snapshot(snapshot).and_then(|snapshot| self.detail(snapshot)) else {
            return Vec::new();
        };
        let entries = (0..)
            .zip(list(detail, "trace"))
            .map(|(index, value): (usize, &Value)| memory::Entry {
                number: big(value, "number"),
                action: action(value["action"].as_str().unwrap_or_default()),
                address: hex(value, "address").unwrap_or_default(),
                bytes: big(value, "bytes"),
                stream: hex(value, "stream").unwrap_or_default(),
                private_pool: pair(value, "private_pool"),
                time_us: value["time_us"].as_u64(),
                frames: stack(detail, value),
                fact: format!("memory_details.{number}.trace.{index}.action"),
            });
        entries
            .filter(|entry| entry.number >= first)
            .take(count as usize)
            .collect()
    }

    /// The blocks and trace entries of a snapshot, and their position.
    fn detail(&self, snapshot: &Value) -> Option<(usize, &Value)> {
        let mut details = (0..).zip(list(&self.evidence, "memory_details"));
        details.find(|(_, detail)| is_of(detail, snapshot))
    }

    fn snapshot(&self, number: u32) -> Option<&Value> {
        list(&self.evidence, "memory_snapshots").get(number as usize)
    }
}

fn is_of(value: &Value, snapshot: &Value) -> bool {
    value["artifact"] == snapshot["artifact"] && value["device"] == snapshot["device"]
}

fn pair(value: &Value, member: &str) -> Option<(u64, u64)> {
    value[member][0].as_u64().zip(value[member][1].as_u64())
}

/// The stack that a block or an entry names.
fn stack(detail: &Value, value: &Value) -> Vec<String> {
    let position = value["stack"].as_u64().and_then(|stack| usize::try_from(stack).ok());
    let stack = position.and_then(|position| list(detail, "stacks").get(position)?.as_array());
    let frames = stack.into_iter().flatten().filter_map(Value::as_str);
    frames.map(str::to_owned).collect()
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

/// The rows of a curve.
fn stretches(curve: &Value) -> Vec<memory::Stretch> {
    let column = |name: &str, row: usize| list(curve, name).get(row).and_then(Value::as_u64);
    let rows = (0..list(curve, "event").len()).filter_map(|row| {
        Some(memory::Stretch {
            event: column("event", row)?,
            time_us: column("time_us", row),
            least: column("min", row)?,
            most: column("max", row)?,
        })
    });
    rows.collect()
}

/// The rows that tell of these trace entries.
fn within(rows: &[memory::Stretch], first: u64, end: u64) -> Range<usize> {
    let from = rows.partition_point(|row| row.event <= first).saturating_sub(1);
    let to = rows.partition_point(|row| row.event < end);
    if first < end { from..to.max(from) } else { from..from }
}

/// Neighbours as one.
fn merged(pair: &[memory::Stretch]) -> memory::Stretch {
    memory::Stretch {
        least: pair.iter().map(|row| row.least).min().unwrap_or_default(),
        most: pair.iter().map(|row| row.most).max().unwrap_or_default(),
        ..pair[0]
    }
}
