//! Addresses that the GPU faulted at, looked up in memory snapshots made up for it.

use serde_json::{Map, Value, json};
use whycrash_evidence::model::{Evidence, FaultAddress, MemoryState};
use whycrash_evidence::readers::memory_snapshot::read as read_snapshot;
use whycrash_evidence::{Hex, Limits, locate, merge, read};

use crate::pickle_writer::pickled;
use crate::support::artifact;

const MIB: u64 = 1 << 20;
const BASE: u64 = 0x7f00_0000_0000;
const SIDE: u64 = 0x55d0;

fn at(function: &str, line: u64) -> Value {
    json!([{"name": function, "filename": "train.py", "line": line}])
}

/// A block that is in use.
fn block(address: u64, size: u64, frames: Value) -> Value {
    json!({"address": address, "size": size, "requested_size": size, "state": "active_allocated", "frames": frames})
}

fn segment(address: u64, size: u64, blocks: Vec<Value>) -> Value {
    json!({"device": 0, "address": address, "total_size": size, "stream": 0, "segment_type": "large",
        "segment_pool_id": [0, 0], "blocks": blocks})
}

fn entry(action: &str, address: u64, size: u64, stream: u64, frames: Value) -> Value {
    json!({"action": action, "addr": address, "size": size, "stream": stream, "time_us": 1_750_000_000_000_000_u64, "frames": frames})
}

fn snapshot(segments: Vec<Value>, trace: Vec<Value>) -> Evidence {
    let snapshot = json!({"segments": segments, "device_traces": [trace], "allocator_settings": {}});
    let reading = read_snapshot(pickled(&snapshot).as_slice(), "snapshot.pickle", &Limits::default());
    assert_eq!(reading.problems, []);
    reading.evidence
}

/// What is known of the address that the driver's line names.
fn located(snapshot: Evidence, address: u64) -> Vec<FaultAddress> {
    let line = format!(
        "[11.5] NVRM: Xid (PCI:0000:1b:00): 31, pid=77, name=python, Ch 0000000e, intr 00000000. MMU Fault: ENGINE \
         GRAPHICS GPCCLIENT_T1_0 faulted @ {:#x}_{:08x}. Fault is of type FAULT_PDE ACCESS_TYPE_VIRT_READ\n",
        address >> 32,
        address & 0xffff_ffff
    );
    let (log, _keep) = artifact("dmesg.log", line.as_bytes());
    let parts = vec![snapshot, read(&log, &Limits::default()).evidence];
    let evidence = merge(parts, Map::new());
    locate(&evidence.timeline, &evidence.memory_maps)
}

fn only(snapshot: Evidence, address: u64) -> FaultAddress {
    let [found] = <[FaultAddress; 1]>::try_from(located(snapshot, address)).expect("one address");
    found
}

#[test]
fn of_memory_that_was_given_back_it_is_known_who_made_and_who_freed_it() {
    let gone = BASE + 64 * MIB;
    let trace = vec![
        entry("segment_alloc", gone, 32 * MIB, SIDE, at("prefetch", 8)),
        entry("alloc", gone, 32 * MIB, SIDE, at("prefetch", 8)),
        entry("free_requested", gone, 32 * MIB, SIDE, at("drop", 9)),
        entry("free_completed", gone, 32 * MIB, SIDE, at("drop", 9)),
        entry("segment_free", gone, 32 * MIB, SIDE, at("empty_cache", 70)),
        entry("alloc", BASE, MIB, 0, at("forward", 4)),
    ];
    let kept = segment(BASE, 2 * MIB, vec![block(BASE, 2 * MIB, at("forward", 4))]);
    let found = only(snapshot(vec![kept], trace), gone + 5 * MIB);
    assert_eq!(found.state, MemoryState::Returned);
    let block = found.block.expect("a block");
    assert_eq!(
        (block.address, block.bytes, block.stream),
        (Hex(gone), 32 * MIB, Hex(SIDE))
    );
    assert_eq!(block.offset, (5 * MIB).cast_signed());
    assert_eq!(block.allocated_by, ["prefetch (train.py:8)"]);
    assert_eq!(block.freed_by, ["drop (train.py:9)"]);
    assert_eq!((block.freed_event, block.events_since), (Some(2), Some(3)));
}

#[test]
fn memory_that_is_in_use_again_is_not_called_freed() {
    let trace = vec![
        entry("alloc", BASE, MIB, 0, at("old", 1)),
        entry("free_requested", BASE, MIB, 0, at("old", 2)),
        entry("free_completed", BASE, MIB, 0, at("old", 2)),
        entry("alloc", BASE, MIB, 0, at("new", 3)),
    ];
    let segment = segment(BASE, 2 * MIB, vec![block(BASE, MIB, at("new", 3))]);
    let found = only(snapshot(vec![segment], trace), BASE + 100);
    assert_eq!(found.state, MemoryState::Allocated);
    assert_eq!(found.block.expect("a block").allocated_by, ["new (train.py:3)"]);
}

#[test]
fn beyond_the_end_the_nearest_block_is_named() {
    let blocks = vec![block(BASE, MIB, at("small", 1)), block(BASE + MIB, MIB, at("last", 2))];
    let found = only(
        snapshot(vec![segment(BASE, 2 * MIB, blocks)], Vec::new()),
        BASE + 2 * MIB + 64,
    );
    assert_eq!(found.state, MemoryState::Outside);
    let block = found.block.expect("a block");
    assert_eq!(
        (block.allocated_by, block.offset),
        (vec!["last (train.py:2)".to_owned()], (MIB + 64).cast_signed())
    );
}

#[test]
fn an_index_that_wrapped_leads_back_to_the_tensor_that_is_wide_enough() {
    let wide = BASE + (40 << 30);
    let segments = vec![
        segment(BASE, 2 * MIB, vec![block(BASE, 2 * MIB, at("small", 1))]),
        segment(wide, 9 << 30, vec![block(wide, 9 << 30, at("scores", 2))]),
    ];
    let found = only(snapshot(segments, Vec::new()), wide - (4 << 30));
    assert_eq!(found.state, MemoryState::Outside);
    assert_eq!(found.block.expect("a block").allocated_by, ["scores (train.py:2)"]);
}

#[test]
fn what_is_far_from_all_memory_belongs_to_nobody() {
    let found = only(
        snapshot(
            vec![segment(BASE, MIB, vec![block(BASE, MIB, at("small", 1))])],
            Vec::new(),
        ),
        0x10,
    );
    assert_eq!((found.state, found.block), (MemoryState::Outside, None));
}

#[test]
fn of_very_many_frees_the_latest_are_known() {
    let place = |index: u64| BASE + index * MIB;
    let trace: Vec<Value> = (0..12_000)
        .map(|index| entry("free_completed", place(index), MIB, 0, at("drop", index)))
        .collect();
    let evidence = snapshot(Vec::new(), trace);
    assert!(evidence.memory_maps[0].ranges.len() < 10_000);
    let last = only(evidence, place(11_999));
    assert_eq!(last.block.expect("a block").freed_by, ["drop (train.py:11999)"]);
}
