//! Whose memory a kernel used that it had no right to: the address that the GPU faulted at, among those that a memory
//! snapshot knows.

use whycrash_plugin::facts::{FaultAddress, FaultBlock, PoolUsage};
use whycrash_plugin::{Diagnosis, Finding, Info, Needs, Plugin, Report};

struct IllegalAccess;

/// Every cause it can name.
const CAUSES: [&str; 3] = ["ima-illegal-access", "ima-int32-overflow", "ima-stream-use-after-free"];

/// Addresses that are looked at.
const FAULTS: u32 = 32;

/// What is said of memory that the driver has again.
const RETURNED: &str = "returned";

/// Elements that a signed 32-bit index can number, and the widest that tensors have, in bytes.
const INDEXES: u64 = 1 << 31;
const WIDEST: u64 = 8;

/// Bytes beyond the end of a block that a loop that runs too far reaches before it faults: pages of 2 MiB follow.
const JUST_BEYOND: u64 = 2 << 21;

impl Plugin for IllegalAccess {
    fn about() -> Info {
        Info::new("illegal-access", env!("CARGO_PKG_VERSION"))
            .names(CAUSES)
            .needs(Needs::all_of(["memory-snapshots", "events"]))
    }

    fn diagnose(report: &Report) -> Result<Diagnosis, String> {
        let mut faults = (0..FAULTS).map_while(|index| {
            let fault: FaultAddress = report.get(&format!("fault_addresses.{index}"))?;
            Some((index, fault))
        });
        let finding = faults
            .find_map(|(index, fault)| judge(report, &fault).map(|finding| prove(report, finding, index, &fault)));
        Ok(finding.map_or_else(Diagnosis::nothing, Diagnosis::from))
    }
}

fn judge(report: &Report, fault: &FaultAddress) -> Option<Finding> {
    let block = fault.block.as_ref()?;
    match fault.state.as_str() {
        "freed" | "pending" | RETURNED => Some(after_free(report, fault, block)),
        "outside" => wrapped(fault, block).or_else(|| beyond(fault, block)),
        _ => None,
    }
}

/// Memory that had been freed. Work of the same stream would have come before whatever reused or unmapped it, so where
/// the job has other streams, one of those still used it.
fn after_free(report: &Report, fault: &FaultAddress, block: &FaultBlock) -> Finding {
    let streams = streams(report, fault);
    let (cause, confidence, way) = if streams > 1 {
        let way = "The allocator knows only the stream that the block was made for, and this job has others: one of them still used it";
        ("ima-stream-use-after-free", 0.78, way)
    } else {
        let way = "On one stream the order of work forbids that: a pointer outlived its tensor, in an extension, a captured graph or another \
                   library";
        ("ima-illegal-access", 0.79, way)
    };
    let freed = match &block.freed_event {
        Some(event) => format!("freed{} by trace entry {event}", since(block)),
        None => "freed and waits for another stream".to_owned(),
    };
    let returned = if fault.state == RETURNED {
        ", and its segment was given back to the driver"
    } else {
        ""
    };
    Finding::new(cause, confidence)
        .titled("A kernel used GPU memory that had been freed")
        .because(format!(
            "{} lies {} into a block of {} bytes of stream {}, made at {}. It had been {freed} at {}{returned}. {way}.",
            fault.address,
            block.offset,
            block.bytes,
            block.stream,
            place(&block.allocated_by),
            place(&block.freed_by),
        ))
}

/// How long before the end of the trace a block was freed.
fn since(block: &FaultBlock) -> String {
    block
        .events_since
        .map_or_else(String::new, |events| format!(" {events} entries before the end"))
}

/// An index that wrapped reaches backwards from a tensor that has more elements than 32 bits can number.
fn wrapped(fault: &FaultAddress, block: &FaultBlock) -> Option<Finding> {
    let is_before = block.offset < 0 && block.offset.unsigned_abs() <= INDEXES * WIDEST;
    (is_before && block.bytes >= INDEXES).then(|| {
        Finding::new("ima-int32-overflow", 0.78).because(format!(
            "{} lies {} bytes before a block of {} bytes, made at {}: so many elements have indexes that do not fit 32 bits, and one that \
             wrapped is negative.",
            fault.address,
            block.offset.unsigned_abs(),
            block.bytes,
            place(&block.allocated_by)
        ))
    })
}

/// A little beyond the end of a block in use.
fn beyond(fault: &FaultAddress, block: &FaultBlock) -> Option<Finding> {
    let past = block.offset.checked_sub_unsigned(block.bytes)?;
    u64::try_from(past).is_ok_and(|past| past < JUST_BEYOND).then(|| {
        Finding::new("ima-illegal-access", 0.79)
            .titled("A kernel ran over the end of a tensor")
            .because(format!(
                "{} belongs to nothing, and lies {past} bytes beyond the end of a block of {} bytes, made at {}: an index of a kernel that works \
                 on that tensor is too large.",
                fault.address,
                block.bytes,
                place(&block.allocated_by)
            ))
    })
}

/// Streams that the snapshot's memory belongs to.
fn streams(report: &Report, fault: &FaultAddress) -> usize {
    let snapshots = report.snapshots();
    let own = snapshots
        .iter()
        .find(|snapshot| snapshot.artifact == fault.artifact && snapshot.device == fault.device);
    let pools: &[PoolUsage] = own.map_or(&[], |snapshot| &snapshot.pools);
    let mut streams: Vec<&str> = pools.iter().map(|pool| pool.stream.as_str()).collect();
    streams.sort_unstable();
    streams.dedup();
    streams.len()
}

/// The innermost line of a stack that is the program's, or else of what it called.
fn place(frames: &[String]) -> &str {
    own(frames).map_or("a place that was not recorded", |(_, frame)| frame)
}

fn own(frames: &[String]) -> Option<(usize, &str)> {
    let named = || frames.iter().map(String::as_str).enumerate();
    let is_torch = |frame: &str| frame.starts_with("at::") || frame.contains("-packages/torch/");
    named().find(|(_, frame)| !is_torch(frame)).or_else(|| named().next())
}

fn prove(report: &Report, finding: Finding, index: u32, fault: &FaultAddress) -> Finding {
    let fact = |member: &str| report.cite_fact(&format!("fault_addresses.{index}.{member}"));
    let block = fault.block.clone().unwrap_or_default();
    let line = |of: &str, frames: &[String]| own(frames).and_then(|(frame, _)| fact(&format!("block.{of}.{frame}")));
    let told = report.events(None, u32::try_from(fault.event).unwrap_or(u32::MAX), 1);
    finding
        .cite_all(told.first().map(|event| report.cite(event)))
        .cite_all(fact("address"))
        .cite_all(fact("state"))
        .cite_all(line("allocated_by", &block.allocated_by))
        .cite_all(line("freed_by", &block.freed_by))
}

whycrash_plugin::export!(IllegalAccess);
