//! Flight recorder dumps, pickle and JSON, alone and matched with another rank's.
#![no_main]

use libfuzzer_sys::fuzz_target;
use whycrash_evidence::match_ranks;
use whycrash_evidence::model::Recorder;
use whycrash_evidence::readers::flight_recorder;
use whycrash_fuzz::{bounded, check, limits};

fuzz_target!(|bytes: &[u8]| {
    let limits = limits();
    let allowed = (16 << 20) + 128 * limits.pickle_values + 64 * bytes.len();
    let read = |bytes, name| bounded(allowed, || flight_recorder::read(bytes, name, &limits));
    check(read(bytes, "nccl_trace_rank_0"), bytes.len(), &limits);
    // Two ranks that disagree: the dump against its own two halves.
    let (first, second) = bytes.split_at(bytes.len() / 2);
    let ranks = [
        (bytes, "nccl_trace_rank_0"),
        (first, "nccl_trace_rank_1"),
        (second, "nccl_trace_rank_2"),
    ];
    let recorders: Vec<_> = ranks
        .into_iter()
        .flat_map(|(bytes, name)| read(bytes, name).evidence.recorders)
        .collect();
    let judged = match_ranks(&recorders);
    assert!(judged.ranks.len() <= 3);
    // Recorders are stored and judged again, together with those of other reports.
    let stored = serde_json::to_vec(&recorders).expect("recorders have a JSON form");
    let again: Vec<Recorder> = serde_json::from_slice(&stored).expect("their own JSON form is read");
    assert_eq!(match_ranks(&again), judged, "what is stored says the same");
});
