//! Memory snapshots with what real jobs do to the allocator, made up so that every total can be said beforehand.

use serde_json::{Value, json};
use whycrash_evidence::Limits;
use whycrash_evidence::model::{Evidence, MemorySnapshot};
use whycrash_evidence::readers::memory_snapshot::read;

use crate::pickle_writer::pickled;

const MIB: u64 = 1 << 20;
const BASE: u64 = 0x7f00_0000_0000;

fn evidence(snapshot: &Value) -> Evidence {
    let reading = read(pickled(snapshot).as_slice(), "odd.pickle", &Limits::default());
    assert_eq!(reading.problems, []);
    reading.evidence
}

fn only(snapshot: &Value) -> MemorySnapshot {
    let [snapshot] = <[MemorySnapshot; 1]>::try_from(evidence(snapshot).memory_snapshots).unwrap();
    snapshot
}

/// A segment of large blocks (`size` in MiB, state) from an address.
fn segment(address: u64, blocks: &[(u64, &str)]) -> Value {
    let mut at = address;
    let blocks: Vec<Value> = blocks
        .iter()
        .map(|(size, state)| {
            let block = json!({"address": at, "size": size * MIB, "state": state,
                "requested_size": if *state == "inactive" { 0 } else { size * MIB }});
            at += size * MIB;
            block
        })
        .collect();
    json!({"device": 0, "address": address, "total_size": at - address, "stream": 0, "segment_type": "large",
        "segment_pool_id": [0, 0], "blocks": blocks})
}

/// A trace entry: what, how many MiB, where.
fn entry(action: &str, size: u64, address: u64) -> Value {
    json!({"action": action, "size": size * MIB, "addr": address, "stream": 0})
}

fn failed(size: u64) -> Value {
    json!({"action": "oom", "size": size * MIB, "device_free": 0, "stream": 0})
}

fn with(segments: &[Value], trace: &[Value]) -> Value {
    json!({"segments": segments, "device_traces": [trace], "allocator_settings": {}})
}

const LIVE: &str = "active_allocated";
const FREE: &str = "inactive";

/// Two segments are left of one that had its middle unmapped after the failure: at the failure it was one free stretch.
#[test]
fn what_was_unmapped_later_was_there_at_the_failure() {
    let trace = [
        entry("segment_map", 100, BASE),
        entry("alloc", 10, BASE),
        failed(200),
        entry("segment_unmap", 40, BASE + 30 * MIB),
    ];
    let mut segments = [
        segment(BASE, &[(10, LIVE), (20, FREE)]),
        segment(BASE + 70 * MIB, &[(30, FREE)]),
    ];
    for segment in &mut segments {
        segment["is_expandable"] = true.into();
    }
    let snapshot = only(&with(&segments, &trace));
    let oom = snapshot.oom.unwrap();
    assert_eq!(
        (oom.reserved, oom.usable_inactive, oom.largest_usable),
        (100 * MIB, 90 * MIB, 90 * MIB)
    );
    assert_eq!((snapshot.reserved, snapshot.largest_inactive), (60 * MIB, 30 * MIB));
    assert_eq!(snapshot.expandable_segments, Some(true));

    // Unmapped at the front of what is left.
    let trace = [failed(200), entry("segment_unmap", 40, BASE)];
    let left = segment(BASE + 40 * MIB, &[(30, FREE), (10, LIVE)]);
    let oom = only(&with(&[left], &trace)).oom.unwrap();
    assert_eq!((oom.reserved, oom.largest_usable), (80 * MIB, 70 * MIB));

    // Mapped after the failure: it was not there.
    let trace = [failed(200), entry("segment_map", 20, BASE + 20 * MIB)];
    let oom = only(&with(&[segment(BASE, &[(10, LIVE), (30, FREE)])], &trace))
        .oom
        .unwrap();
    assert_eq!((oom.reserved, oom.largest_usable), (20 * MIB, 10 * MIB));

    // Segments that happen to touch are not one, if they were allocated whole.
    let trace = [failed(200), entry("segment_free", 40, BASE + 40 * MIB)];
    let oom = only(&with(&[segment(BASE, &[(40, FREE)])], &trace)).oom.unwrap();
    assert_eq!((oom.usable_inactive, oom.largest_usable), (80 * MIB, 40 * MIB));
}

#[test]
fn each_device_has_its_own() {
    let mut second = segment(BASE, &[(30, LIVE)]);
    second["device"] = 3.into();
    let traces = json!([[], [], [], [entry("alloc", 30, BASE)]]);
    let snapshot = json!({"segments": [segment(BASE, &[(10, LIVE), (6, FREE)]), second], "device_traces": traces});
    let snapshots = evidence(&snapshot).memory_snapshots;
    let said: Vec<(u32, u64, u64, u64)> = snapshots
        .iter()
        .map(|one| (one.device, one.reserved, one.allocated, one.peak_allocated))
        .collect();
    assert_eq!(
        said,
        [(0, 16 * MIB, 10 * MIB, 10 * MIB), (3, 30 * MIB, 30 * MIB, 30 * MIB)]
    );
    assert_eq!(snapshots.iter().map(|one| one.events).collect::<Vec<_>>(), [0, 1]);
}

/// The ring holds the end only: what it saw freed was there before.
#[test]
fn a_ring_that_forgot_the_beginning_is_replayed_from_the_end() {
    let trace = [
        entry("free_completed", 50, BASE + 100 * MIB),
        entry("free_requested", 20, BASE + 200 * MIB),
        entry("free_completed", 20, BASE + 200 * MIB),
        entry("alloc", 5, BASE + 100 * MIB),
    ];
    let snapshot = only(&with(
        &[
            segment(BASE, &[(10, LIVE)]),
            segment(BASE + 100 * MIB, &[(5, LIVE), (45, FREE)]),
        ],
        &trace,
    ));
    assert_eq!(
        (snapshot.allocated, snapshot.peak_allocated, snapshot.peak_active),
        (15 * MIB, 80 * MIB, 80 * MIB)
    );
    let usage = snapshot.usage.unwrap();
    assert_eq!(
        (usage.max.iter().max(), usage.min.last()),
        (Some(&(30 * MIB)), Some(&(15 * MIB)))
    );
    let peak = snapshot.peak.unwrap();
    assert_eq!(
        (peak.trace_event, peak.allocated),
        (None, 80 * MIB),
        "before recording began"
    );
}

#[test]
fn what_is_no_allocation_changes_nothing() {
    let plain = [
        entry("alloc", 10, BASE),
        failed(70),
        entry("free_requested", 4, BASE + 10 * MIB),
    ];
    let segments = [segment(BASE, &[(10, LIVE), (4, "active_awaiting_free"), (6, FREE)])];
    let expected = only(&with(&segments, &plain));
    let note = |action: &str| {
        json!({"action": action, "size": 0, "addr": 0, "stream": 0, "time_us": 7, "user_metadata": "{\"step\": 3}",
            "compile_context": "0/1", "pool_id": [0, 0]})
    };
    for action in [
        "annotate",
        "user_defined",
        "snapshot",
        "workspace_snapshot",
        "something_new",
    ] {
        let mut noted = Vec::new();
        for entry in &plain {
            noted.extend([note(action), entry.clone()]);
        }
        let mut snapshot = with(&segments, &noted);
        snapshot["external_annotations"] = json!([{"name": "step#1", "stage": "START", "device": 0, "time_us": 1}, {"name": "step#1", "stage": "END"}]);
        let found = only(&snapshot);
        let totals = |one: &MemorySnapshot| {
            let oom = one.oom.clone().unwrap();
            [
                one.allocated,
                one.active,
                one.pending_free,
                one.peak_allocated,
                one.peak_active,
                oom.largest_usable,
                oom.reserved,
            ]
        };
        assert_eq!(totals(&found), totals(&expected), "{action}");
        assert_eq!(found.events, 2 * expected.events);
    }
    assert_eq!(
        (expected.allocated, expected.active, expected.pending_free),
        (10 * MIB, 14 * MIB, 4 * MIB)
    );
    assert_eq!(expected.peak_active, 14 * MIB);
}

/// A free that another stream holds up is asked for, and not completed.
#[test]
fn side_streams_hold_what_was_freed() {
    let trace = [
        entry("alloc", 10, BASE),
        entry("alloc", 20, BASE + 10 * MIB),
        entry("free_requested", 20, BASE + 10 * MIB),
        failed(50),
        entry("free_completed", 20, BASE + 10 * MIB),
    ];
    let snapshot = only(&with(&[segment(BASE, &[(10, LIVE), (20, FREE)])], &trace));
    assert_eq!((snapshot.peak_allocated, snapshot.pending_free), (30 * MIB, 0));
    let oom = snapshot.oom.unwrap();
    assert_eq!(
        (oom.allocated, oom.usable_inactive),
        (10 * MIB, 0),
        "it was not free at the failure"
    );
}

/// Free memory serves its own pool and stream only; a pool's id has two parts.
#[test]
fn pools_and_streams_are_kept_apart() {
    let pooled = |id: [u64; 2], stream: u64, address: u64| {
        let mut segment = segment(address, &[(40, FREE)]);
        segment["segment_pool_id"] = json!(id);
        segment["stream"] = stream.into();
        segment
    };
    let segments = [
        pooled([0, 0], 0, BASE),
        pooled([0, 7], 0, BASE + 100 * MIB),
        pooled([3, 0], 0, BASE + 200 * MIB),
        pooled([0, 0], 0x5500_0000_0001, BASE + 300 * MIB),
    ];
    for (id, stream, usable) in [([0, 0], 0, 40), ([0, 7], 0, 40), ([7, 0], 0, 0), ([0, 0], 9, 0)] {
        let request = json!({"action": "oom", "size": 90 * MIB, "device_free": 0, "stream": stream, "pool_id": id});
        let snapshot = only(&with(&segments, &[request]));
        assert_eq!(snapshot.oom.unwrap().usable_inactive, usable * MIB, "{id:?} {stream}");
        assert_eq!((snapshot.private_pools, snapshot.pools.len()), (80 * MIB, 4));
    }
}

/// `record_memory_history(context=None)`, and addresses in the upper half of the range.
#[test]
fn stacks_may_be_missing_and_addresses_large() {
    let high = 0xffff_8000_0000_0000;
    let trace = [entry("alloc", 10, high), entry("alloc", 4, high + 10 * MIB)];
    let snapshot = only(&with(&[segment(high, &[(10, LIVE), (4, LIVE)])], &trace));
    assert_eq!((snapshot.allocated, snapshot.peak_allocated), (14 * MIB, 14 * MIB));
    let [cluster] = snapshot.clusters.as_slice() else {
        panic!("{:?}", snapshot.clusters)
    };
    assert_eq!((cluster.bytes, cluster.count, cluster.frames.len()), (14 * MIB, 2, 0));
    assert_eq!(cluster.growth.last(), Some(&(14 * MIB)));
}

/// A long trace has a curve for zooming in: each level merges two rows of the finer one, and no spike is lost.
#[test]
fn long_traces_have_a_pyramid() {
    let mut trace = Vec::new();
    for step in 0..6000_u64 {
        let size = if step == 4321 { 900 } else { 1 + step % 5 };
        trace.push(entry("alloc", size, BASE));
        trace.push(entry("free_completed", size, BASE));
    }
    let evidence = evidence(&with(&[segment(BASE, &[(1000, FREE)])], &trace));
    let overview = evidence.memory_snapshots[0].usage.clone().unwrap();
    let [curve] = evidence.memory_curves.as_slice() else {
        panic!("one device")
    };
    assert_eq!((curve.device, curve.artifact.as_str()), (0, "odd.pickle"));
    let rows: Vec<usize> = curve
        .levels
        .iter()
        .chain([&overview])
        .map(|level| level.len())
        .collect();
    assert_eq!(rows, [3000, 1500, 750, 375]);
    for pair in curve.levels.iter().chain([&overview]).collect::<Vec<_>>().windows(2) {
        assert_eq!(&pair[0].halved(), pair[1]);
    }
    for level in curve.levels.iter().chain(&overview.pyramid()) {
        assert_eq!(level.max.iter().max(), Some(&(900 * MIB)));
        assert_eq!(level.min.iter().min(), Some(&0));
    }
    // Little needs no more than the overview.
    let short = with(&[segment(BASE, &[(1000, FREE)])], &trace[..500]);
    assert!(self::evidence(&short).memory_curves.is_empty());
}

/// What was freed after the failure may have been larger than asked for: up to 1 MiB is not split off a large block.
#[test]
fn what_is_never_split_off_was_not_free() {
    let trace = [
        failed(200),
        entry("free_requested", 9, BASE),
        entry("free_completed", 9, BASE),
    ];
    let left = segment(BASE, &[(10, FREE), (20, LIVE), (5, FREE)]);
    let oom = |segment: Value| only(&with(&[segment], &trace)).oom.unwrap();
    assert_eq!(oom(left.clone()).usable_inactive, 5 * MIB);
    let mut expandable = left;
    expandable["is_expandable"] = true.into();
    assert_eq!(
        oom(expandable).usable_inactive,
        6 * MIB,
        "these are split to the last block"
    );
}
