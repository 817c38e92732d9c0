//! CUDA memory snapshots of every shape, and what is told about the request that failed.

use std::path::PathBuf;

use proptest::prelude::*;
use whycrash_evidence::model::{EventPayload, MemorySnapshot};
use whycrash_evidence::readers::memory_snapshot::read as read_snapshot;
use whycrash_evidence::{Artifact, ArtifactKind, Limits, Reading, read};

use crate::support::{artifact, compressed};

const GIB: u64 = 1 << 30;
const MIB: u64 = 1 << 20;

fn case(name: &str) -> PathBuf {
    whycrash_corpus::folder().join(name).join("snapshot.pickle")
}

fn fixture(name: &str) -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/memory_snapshots"))
        .join(format!("{name}.pickle"))
}

fn reading(path: PathBuf) -> Reading {
    let reading = read(&Artifact::new("snapshot.pickle", path), &Limits::default());
    assert_eq!(reading.kind, Some(ArtifactKind::MemorySnapshot));
    assert_eq!(reading.problems, []);
    reading
}

fn snapshot(path: PathBuf) -> MemorySnapshot {
    let [snapshot] = <[MemorySnapshot; 1]>::try_from(reading(path).evidence.memory_snapshots).unwrap();
    snapshot
}

#[test]
fn whole_files_are_read() {
    for name in [
        "oom-exhaustion-snapshot",
        "oom-fragmentation-snapshot",
        "oom-side-stream-retention-snapshot",
        "oom-private-pools-snapshot",
        "memory-snapshot-healthy",
    ] {
        let mut evidence = reading(case(name)).evidence;
        evidence.memory_details.clear();
        insta::assert_json_snapshot!(name, evidence, {
            ".memory_snapshots[].usage" => "[curve]",
            ".memory_snapshots[].settings" => "[settings]",
        });
    }
}

#[test]
fn blocks_and_entries_of_the_trace_are_told_one_by_one() {
    for name in [
        "oom-exhaustion-snapshot",
        "oom-fragmentation-snapshot",
        "memory-snapshot-healthy",
    ] {
        let evidence = reading(case(name)).evidence;
        let (snapshot, detail) = (&evidence.memory_snapshots[0], &evidence.memory_details[0]);
        assert_eq!(detail.blocks.len() as u64, snapshot.blocks, "{name}");
        let allocated = detail.blocks.iter().filter(|block| block.state == "allocated");
        assert_eq!(
            allocated.map(|block| block.bytes).sum::<u64>(),
            snapshot.allocated,
            "{name}"
        );
        assert!(detail.blocks.is_sorted_by_key(|block| block.address.0), "{name}");
        assert!(detail.trace.is_sorted_by_key(|entry| entry.number), "{name}");
        let last = detail.trace.last().map_or(0, |entry| entry.number + 1);
        assert_eq!(last, snapshot.events, "{name}");
        if let Some(oom) = &snapshot.oom {
            let failed = detail.trace.iter().find(|entry| entry.number == oom.trace_event);
            let failed = failed.unwrap_or_else(|| panic!("{name}: the failed request is kept"));
            assert_eq!(
                (failed.action.as_str(), failed.bytes),
                ("failed", oom.requested),
                "{name}"
            );
        }
    }
}

#[test]
fn the_failed_request_decides_between_causes() {
    let exhaustion = snapshot(case("oom-exhaustion-snapshot"));
    let oom = exhaustion.oom.unwrap();
    assert!(oom.usable_inactive < oom.requested && exhaustion.allocated * 10 > exhaustion.reserved * 9);

    let fragmentation = snapshot(case("oom-fragmentation-snapshot"));
    let oom = fragmentation.oom.unwrap();
    assert_eq!((oom.usable_inactive, oom.largest_usable), (34 * 240 * MIB, 240 * MIB));
    assert!(oom.usable_inactive > oom.requested && oom.largest_usable < oom.requested);

    let side_stream = snapshot(case("oom-side-stream-retention-snapshot"));
    assert_eq!(side_stream.pending_free, 22 * 480 * MIB);
    assert_eq!(side_stream.active, side_stream.allocated + side_stream.pending_free);
    assert_eq!(side_stream.peak_active, side_stream.active);

    let pools = snapshot(case("oom-private-pools-snapshot"));
    assert!(pools.private_pools > 11 * GIB);
    assert_eq!(
        pools.oom.unwrap().usable_inactive,
        0,
        "free memory of a graph's pool serves no other request"
    );
    let private = pools.pools.iter().filter(|pool| pool.private_pool.is_some());
    assert_eq!(private.map(|pool| pool.inactive).sum::<u64>(), pools.private_pools);
}

#[test]
fn growth_tells_a_leak_from_weights() {
    let leak = snapshot(case("oom-leak-snapshot"));
    let [growing, weights, ..] = leak.clusters.as_slice() else {
        panic!("{:?}", leak.clusters)
    };
    assert!(growing.frames[1].starts_with("losses.append"), "{:?}", growing.frames);
    assert!(
        growing.growth.is_sorted_by(|before, after| before < after),
        "{:?}",
        growing.growth
    );
    assert_eq!(*growing.growth.last().unwrap(), growing.bytes);
    assert!(
        weights.growth.iter().all(|bytes| *bytes == weights.bytes),
        "{:?}",
        weights.growth
    );
}

/// The state at the failure is the same whatever was freed before the dump, and whichever version wrote it.
#[test]
fn versions_and_late_dumps_agree() {
    let late = snapshot(fixture("freed_after_oom"));
    let oom = late.oom.clone().unwrap();
    assert!(late.inactive > 3 * GIB, "by the time of the dump most was free again");
    assert_eq!((oom.usable_inactive, oom.requested), (0, 700 * MIB));
    assert_eq!(oom.allocated, late.peak_allocated);
    assert_eq!(late.peak.as_ref().unwrap().allocated, late.peak_allocated);
    let alive: u64 = late
        .peak
        .as_ref()
        .unwrap()
        .clusters
        .iter()
        .map(|cluster| cluster.bytes)
        .sum();
    assert!(
        late.peak_allocated.abs_diff(alive) < MIB,
        "the peak is explained: {alive} of {}",
        late.peak_allocated
    );

    for name in ["torch_1_13", "torch_2_1", "torch_2_15", "bare_segments"] {
        let other = snapshot(fixture(name));
        let totals = |snapshot: &MemorySnapshot| {
            [
                snapshot.reserved,
                snapshot.allocated,
                snapshot.active,
                snapshot.requested,
                snapshot.inactive,
                snapshot.blocks,
            ]
        };
        assert_eq!(totals(&other), totals(&late), "{name}");
        assert_eq!(other.clusters[0].frames, late.clusters[0].frames, "{name}");
        let Some(other_oom) = other.oom else {
            assert_eq!((name, other.peak_allocated), ("bare_segments", other.allocated));
            continue;
        };
        assert_eq!(
            (other_oom.allocated, other_oom.usable_inactive),
            (oom.allocated, oom.usable_inactive),
            "{name}"
        );
        assert_eq!(other.peak_allocated, late.peak_allocated, "{name}");
        assert_eq!(other_oom.frames, oom.frames, "{name}");
        assert_eq!(other_oom.time_us.is_some(), name == "torch_2_15");
    }
}

#[test]
fn the_failure_is_an_event() {
    let timeline = reading(case("oom-fragmentation-snapshot")).evidence.timeline;
    let [event] = timeline.as_slice() else {
        panic!("{timeline:?}")
    };
    assert!(matches!(&event.payload, EventPayload::SnapshotOom(oom) if oom.requested == 1200 * MIB && oom.gpu == 0));
    assert!(event.time.as_deref().unwrap().starts_with("2025-06-15T"));
    assert!(reading(case("memory-snapshot-healthy")).evidence.timeline.is_empty());
}

/// Packed or not, the same is found.
#[test]
fn compression_makes_no_difference() {
    let bytes = std::fs::read(case("oom-fragmentation-snapshot")).unwrap();
    let plain = reading(case("oom-fragmentation-snapshot")).evidence;
    for (name, packed) in compressed(&bytes) {
        let (packed, _keep) = artifact("snapshot.pickle", &packed);
        assert_eq!(read(&packed, &Limits::default()).evidence, plain, "{name}");
    }
}

#[test]
fn a_cut_file_gives_what_it_has() {
    let bytes = std::fs::read(case("oom-exhaustion-snapshot")).unwrap();
    let whole = snapshot(case("oom-exhaustion-snapshot"));
    let mut seen = 0;
    for length in (2..bytes.len()).step_by(61) {
        let reading = read_snapshot(&bytes[..length], "cut", &Limits::default());
        assert_eq!(reading.problems.len(), 1, "{:?}", reading.problems);
        assert_eq!(reading.problems[0].code, "truncated");
        let Some(part) = reading.evidence.memory_snapshots.first() else {
            continue;
        };
        assert!(
            part.reserved <= whole.reserved && part.reserved >= seen,
            "more bytes, more segments"
        );
        seen = part.reserved;
    }
    assert_eq!(seen, whole.reserved);
}

#[test]
fn what_is_no_snapshot_is_named() {
    for (bytes, code) in [
        (&b"\x80\x04}."[..], "empty-snapshot"),
        (b"\x80\x04K\x01.", "empty-snapshot"),
        (b"\x80\x04cos\nsystem\n", "pickle-refused-opcode"),
    ] {
        let reading = read_snapshot(bytes, "odd", &Limits::default());
        assert_eq!(reading.problems[0].code, code);
        assert!(reading.evidence.memory_snapshots.is_empty());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn damaged_snapshots_are_survived(damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..20)) {
        let mut bytes = std::fs::read(fixture("torch_2_15")).unwrap();
        for (at, byte) in damage {
            let place = at.index(bytes.len());
            bytes[place] = byte;
        }
        read_snapshot(bytes.as_slice(), "damaged", &Limits::default());
    }
}
