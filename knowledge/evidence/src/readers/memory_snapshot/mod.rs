//! Reads `PyTorch` CUDA memory snapshots: 1.13 to 2.15, as Python's or libtorch's pickler wrote them.
//!
//! The file is read once, front to back. Frames, blocks and trace entries are taken over by [`fold::Collector`] the
//! moment each is complete; entries are followed ([`trace::Trace`]) and dropped, so that memory is bounded by what is
//! alive in the snapshot, not by how long recording ran.

mod clusters;
mod curve;
mod detail;
mod fold;
mod kept;
mod map;
mod oom;
mod segments;
mod settings;
mod stacks;
mod trace;

use std::collections::{BTreeMap, HashMap};
use std::io::Read;

use crate::model::{
    Event, EventPayload, Evidence, MemoryCurve, MemoryDetail, MemoryMap, MemorySnapshot, OomRequest, Peak, SnapshotOom,
    UsageCurve,
};
use crate::readers::Reading;
use crate::readers::pickle::{self, Heap, Pickle, Value};
use crate::{ArtifactKind, Hex, Limits, Problem};
use fold::{Collector, DEVICES};
use segments::{Segment, Totals};
use stacks::Stacks;
use trace::{OomMark, Trace};

/// Pools reported per device.
const POOLS: usize = 64;

/// Reads a memory snapshot from its uncompressed bytes; `name` is the artifact's.
pub fn read(input: impl Read, name: &str, limits: &Limits) -> Reading {
    let mut collector = Collector::new(limits.events);
    let Pickle {
        heap,
        root,
        complete,
        mut problems,
    } = pickle::load(input, limits, &mut collector);
    let segments = segments::segments(&heap, root, &mut collector.blocks);
    let traces = traces(&heap, root, &mut collector.traces);
    if complete && segments.is_empty() && traces.is_empty() {
        let message =
            "the snapshot has neither segments nor a trace: it was taken before any GPU memory was used, or is none";
        problems.push(Problem::new("empty-snapshot", message));
    }
    let shared = Shared {
        heap: &heap,
        stacks: &collector.stacks,
        settings: settings::read(&heap, root),
        name,
    };
    let mut devices: BTreeMap<u32, Vec<&Segment>> = traces.keys().map(|device| (*device, Vec::new())).collect();
    let mut omitted = 0;
    for segment in &segments {
        if devices.len() >= DEVICES && !devices.contains_key(&segment.device) {
            omitted += 1;
            continue;
        }
        devices.entry(segment.device).or_default().push(segment);
    }
    if omitted > 0 || collector.entries_omitted > 0 {
        let message = format!(
            "the snapshot names more than {DEVICES} devices; {omitted} segments and {} trace entries of the others were \
             left out",
            collector.entries_omitted
        );
        problems.push(Problem::new("limit-devices", message));
    }
    let mut evidence = Evidence::default();
    let count = devices.len();
    for (device, segments) in devices {
        let detail = detail::detail(&segments, traces.get(&device), count, shared.stacks, shared.heap);
        evidence.memory_details.push(MemoryDetail {
            artifact: name.to_owned(),
            device,
            ..detail
        });
        let (snapshot, levels) = shared.device(device, &segments, traces.get(&device));
        evidence.timeline.extend(
            snapshot
                .oom
                .as_ref()
                .map(|oom| oom_event(&snapshot, oom, evidence.timeline.len())),
        );
        evidence.memory_snapshots.push(snapshot);
        evidence.memory_maps.push(MemoryMap {
            artifact: name.to_owned(),
            device,
            ..map::map(&segments, traces.get(&device), &collector.stacks, &heap)
        });
        if !levels.is_empty() {
            let artifact = name.to_owned();
            evidence.memory_curves.push(MemoryCurve {
                artifact,
                device,
                levels,
            });
        }
    }
    Reading {
        kind: Some(ArtifactKind::MemorySnapshot),
        evidence,
        problems,
        ..Reading::default()
    }
}

/// The traces by device: `device_traces` has one list per device, in order.
fn traces(heap: &Heap, root: Value, by_list: &mut HashMap<pickle::ListId, Trace>) -> BTreeMap<u32, Trace> {
    let lists = heap
        .get(root, "device_traces")
        .and_then(|lists| heap.items(lists))
        .unwrap_or_default();
    let traces = lists.iter().enumerate().filter_map(|(device, list)| match list {
        Value::List(list) => Some((device as u32, by_list.remove(list)?)),
        _ => None,
    });
    traces.collect()
}

/// What all devices of a snapshot share.
#[derive(Debug)]
struct Shared<'a> {
    heap: &'a Heap,
    stacks: &'a Stacks,
    settings: serde_json::Map<String, serde_json::Value>,
    name: &'a str,
}

impl Shared<'_> {
    /// A device, and its usage curve in more detail than the overview has.
    fn device(&self, device: u32, segments: &[&Segment], trace: Option<&Trace>) -> (MemorySnapshot, Vec<UsageCurve>) {
        let totals = Totals::of(segments.iter().copied());
        let base = trace.map_or(0, |trace| signed(totals.allocated).saturating_sub(trace.level));
        let peak = trace.map(|trace| self.peak(segments, trace, base));
        let (usage, levels) = trace.map(|trace| trace.curve.finish(base)).unwrap_or_default();
        let snapshot = MemorySnapshot {
            artifact: self.name.to_owned(),
            device,
            reserved: totals.reserved,
            allocated: totals.allocated,
            active: totals.active,
            requested: totals.requested,
            segments: segments.len() as u64,
            blocks: totals.blocks,
            events: trace.map_or(0, |trace| trace.events),
            peak_allocated: peak
                .as_ref()
                .map_or(totals.allocated, |peak| peak.allocated.max(totals.allocated)),
            peak_active: trace.map_or(totals.active, |trace| {
                let base = signed(totals.active).saturating_sub(trace.active);
                unsigned(trace.peak_active.saturating_add(base)).max(totals.active)
            }),
            inactive: totals.inactive,
            largest_inactive: totals.largest_inactive,
            pending_free: totals.pending,
            private_pools: totals.private_pools,
            expandable_segments: self.expandable(segments),
            oom_events: trace.map_or(0, |trace| trace.oom_events),
            oom: trace
                .and_then(|trace| trace.oom.as_ref())
                .map(|oom| self.oom(segments, oom, base)),
            clusters: clusters::alive(segments, trace, self.stacks, self.heap),
            pools: segments::pools(segments, POOLS),
            peak,
            usage: (!usage.is_empty()).then_some(usage),
            settings: self.settings.clone(),
        };
        (snapshot, levels)
    }

    fn peak(&self, segments: &[&Segment], trace: &Trace, base: i64) -> Peak {
        Peak {
            allocated: unsigned(trace.peak.level.saturating_add(base)),
            trace_event: trace.peak.event,
            time_us: trace.peak.time_us,
            clusters: clusters::alive_at_peak(segments, trace, self.stacks, self.heap),
        }
    }

    fn oom(&self, segments: &[&Segment], mark: &OomMark, base: i64) -> OomRequest {
        // Where more followed than was kept, the final state is the nearest there is.
        let usable = oom::usable(segments, &mark.entry, mark.after.as_deref().unwrap_or_default());
        OomRequest {
            requested: mark.entry.size,
            device_free: mark.entry.device_free,
            stream: Hex(mark.entry.stream),
            usable_inactive: usable.inactive,
            largest_usable: usable.largest,
            allocated: unsigned(mark.level.saturating_add(base)),
            reserved: usable.reserved,
            time_us: mark.entry.time_us,
            trace_event: mark.event,
            frames: self.stacks.render(self.heap, mark.entry.stack, clusters::FRAMES),
        }
    }

    /// By the settings or by the segments; absent when the file says nothing (before 2.1).
    fn expandable(&self, segments: &[&Segment]) -> Option<bool> {
        let set = self
            .settings
            .get("expandable_segments")
            .and_then(serde_json::Value::as_bool);
        let seen = segments
            .iter()
            .filter_map(|segment| segment.expandable)
            .reduce(|any, one| any || one);
        match (set, seen) {
            (Some(set), Some(seen)) => Some(set || seen),
            (set, seen) => set.or(seen),
        }
    }
}

fn oom_event(snapshot: &MemorySnapshot, oom: &OomRequest, number: usize) -> Event {
    let text = format!(
        "device {}: a request for {} bytes failed: {} bytes free on the device, {} allocated, {} reserved, {} of it usable, the largest piece {}",
        snapshot.device,
        oom.requested,
        oom.device_free,
        oom.allocated,
        oom.reserved,
        oom.usable_inactive,
        oom.largest_usable
    );
    let time = oom
        .time_us
        .and_then(|time| jiff::Timestamp::from_microsecond(i64::try_from(time).ok()?).ok());
    let what = EventPayload::SnapshotOom(SnapshotOom {
        gpu: snapshot.device,
        requested: oom.requested,
        device_free: oom.device_free,
        allocated: oom.allocated,
        reserved: oom.reserved,
        usable_inactive: oom.usable_inactive,
        largest_usable: oom.largest_usable,
    });
    Event {
        event: number,
        time: time.map(|time| time.to_string()),
        text,
        artifact: snapshot.artifact.clone(),
        ..Event::new(what)
    }
}

fn signed(bytes: u64) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

/// A level is negative only where the file contradicts itself.
fn unsigned(level: i64) -> u64 {
    u64::try_from(level).unwrap_or(0)
}
