//! Addresses that the GPU faulted at, looked up among those that the allocator knew.

use crate::Hex;
use crate::model::{Event, EventPayload, FaultAddress, FaultBlock, MemoryMap, MemoryRange, MemoryState};

/// Addresses looked up for one report.
const FAULTS: usize = 32;
/// How far from a block an address may be to be called near it: what 32-bit indexes into elements of 8 bytes reach.
const NEAR: u64 = 1 << 34;
/// What a loop that runs too far reaches before it faults: pages of 2 MiB follow.
const NEXT: u64 = 4 << 20;
/// From this length on a block may have more elements than 32 bits number.
const WIDE: u64 = 1 << 31;

/// Looks up every address that an event tells the GPU to have faulted at. The devices of kernel log and snapshot have
/// no name in common, so the device that knows most of an address is taken for its own.
pub fn locate(timeline: &[Event], maps: &[MemoryMap]) -> Vec<FaultAddress> {
    let told = timeline.iter().filter_map(|event| Some((event.event, address(event)?)));
    let mut found: Vec<FaultAddress> = Vec::new();
    for (event, address) in told {
        if found.len() >= FAULTS || found.iter().any(|other| other.address.0 == address) {
            continue;
        }
        let looked_up = maps.iter().map(|map| look_up(map, address, event));
        found.extend(looked_up.max_by_key(knowledge));
    }
    found
}

/// How much is known of an address: whose it is, above what it is near to.
fn knowledge(fault: &FaultAddress) -> (bool, std::cmp::Reverse<u64>) {
    let distance = fault
        .block
        .as_ref()
        .map_or(u64::MAX, |block| block.offset.unsigned_abs());
    (fault.state != MemoryState::Outside, std::cmp::Reverse(distance))
}

/// The address on the device that an event is about.
fn address(event: &Event) -> Option<u64> {
    match &event.payload {
        EventPayload::Xid(xid) => after(&xid.message, "faulted @ "),
        EventPayload::CudaError(error) => after(&error.message, "on address "),
        EventPayload::Sanitizer(report) if report.tool == "compute-sanitizer" => {
            let is_global = !report.error.contains("__shared__") && !report.error.contains("__local__");
            report.address.filter(|_| is_global).map(|address| address.0)
        }
        _ => None,
    }
}

/// The hexadecimal number behind some words; the driver puts an underscore into it (`0x7f22_c9e00000`).
fn after(text: &str, words: &str) -> Option<u64> {
    let number = text.split_once(words)?.1.strip_prefix("0x")?;
    let end = number.find(|c: char| !c.is_ascii_hexdigit() && c != '_');
    let digits = number.get(..end.unwrap_or(number.len()))?.replace('_', "");
    u64::from_str_radix(&digits, 16).ok()
}

fn look_up(map: &MemoryMap, address: u64, event: usize) -> FaultAddress {
    let holds = |range: &&MemoryRange| {
        address
            .checked_sub(range.address)
            .is_some_and(|into| into < range.bytes)
    };
    let inside = map.ranges.iter().find(holds);
    // Of a segment that was given back, who had the place in it before tells more.
    let is_owner = |range: &&MemoryRange| holds(range) && range.allocated_by.is_some();
    let owner = match inside {
        Some(range) if range.state == MemoryState::Returned => map.ranges.iter().find(is_owner).or(inside),
        _ => inside,
    };
    FaultAddress {
        address: Hex(address),
        event,
        artifact: map.artifact.clone(),
        device: map.device,
        state: inside.map_or(MemoryState::Outside, |range| range.state),
        block: owner
            .or_else(|| nearest(map, address))
            .map(|range| block(map, range, address)),
    }
}

/// The range in use that an address outside of all ranges is nearest to. Where none is next to it, one that is so wide
/// that a wrapped index leads there from it.
fn nearest(map: &MemoryMap, address: u64) -> Option<&MemoryRange> {
    let distance = |range: &MemoryRange| {
        let end = range.address.saturating_add(range.bytes);
        range.address.saturating_sub(address).max(address.saturating_sub(end))
    };
    let in_use = map.ranges.iter().filter(|range| range.state == MemoryState::Allocated);
    let mut near: Vec<&MemoryRange> = in_use.filter(|range| distance(range) < NEAR).collect();
    near.sort_by_key(|range| distance(range));
    let next = near.first().copied().filter(|range| distance(range) < NEXT);
    let wide = || {
        near.iter()
            .copied()
            .find(|range| range.bytes >= WIDE && range.address > address)
    };
    next.or_else(wide).or_else(|| near.first().copied())
}

fn block(map: &MemoryMap, range: &MemoryRange, address: u64) -> FaultBlock {
    let stack = |index: Option<usize>| {
        index
            .and_then(|index| map.stacks.get(index))
            .cloned()
            .unwrap_or_default()
    };
    FaultBlock {
        address: Hex(range.address),
        bytes: range.bytes,
        // Addresses of devices have 57 bits at most.
        offset: address.wrapping_sub(range.address).cast_signed(),
        stream: Hex(range.stream),
        allocated_by: stack(range.allocated_by),
        freed_by: stack(range.freed_by),
        freed_event: range.freed_event,
        events_since: range.freed_event.map(|event| map.events.saturating_sub(event + 1)),
        freed_us: range.freed_us,
    }
}
