//! The pickle machine alone: what it holds stays within the cap, and every value can be walked.
#![no_main]

use libfuzzer_sys::fuzz_target;
use whycrash_evidence::readers::pickle::{Heap, Keep, Value, load};
use whycrash_fuzz::{bounded, limits};

fuzz_target!(|bytes: &[u8]| {
    let limits = limits();
    let allowed = (8 << 20) + 64 * limits.pickle_values + 32 * bytes.len();
    let pickle = bounded(allowed, || load(bytes, &limits, &mut Keep));
    assert_eq!(pickle.complete, !pickle.problems.iter().any(ends_reading));
    walk(&pickle.heap, pickle.root, 6, &mut 10_000);
});

fn ends_reading(problem: &whycrash_evidence::Problem) -> bool {
    !matches!(problem.code.as_str(), "pickle-wide-integer" | "pickle-bad-string")
}

/// Visits what is below a value; `left` bounds shared and circular values.
fn walk(heap: &Heap, value: Value, depth: usize, left: &mut usize) {
    if depth == 0 || *left == 0 {
        return;
    }
    *left -= 1;
    heap.text(value);
    for item in heap.items(value).unwrap_or_default() {
        walk(heap, *item, depth - 1, left);
    }
    for (key, value) in heap.pairs(value) {
        walk(heap, key, depth - 1, left);
        walk(heap, value, depth - 1, left);
    }
}
