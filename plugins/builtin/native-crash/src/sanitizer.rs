//! What a sanitizer says needs no conclusion.

use whycrash_plugin::Told;
use whycrash_plugin::facts::Sanitizer;

use crate::Verdict;
use crate::scene::Scene;
use crate::segv::NULL_END;

/// The address that the report is about.
fn address(report: &Sanitizer) -> Option<u64> {
    u64::from_str_radix(report.address.as_deref()?.trim_start_matches("0x"), 16).ok()
}

pub fn rule(scene: &Scene) -> Option<Verdict> {
    let is_telling = |told: &&Told<Sanitizer>| {
        told.detail.tool == "asan" || told.detail.tool == "memcheck" && is_wrong(&told.detail)
    };
    if let Some(found) = quotient_too_large(scene) {
        return Some(found);
    }
    let report = scene.sanitizers.iter().find(is_telling)?;
    let error = report.detail.error.as_str();
    let is_of_memcheck = report.detail.tool == "memcheck";
    let cause = match error {
        _ if is_of_memcheck => of_memcheck(&report.detail)?,
        "heap-use-after-free" | "stack-use-after-return" | "stack-use-after-scope" | "use-after-poison" => {
            "seg-use-after-free"
        }
        "heap-buffer-overflow" | "stack-buffer-overflow" | "global-buffer-overflow" | "container-overflow" => {
            "seg-oob-read-write"
        }
        "stack-overflow" => "seg-stack-overflow",
        // Nothing is mapped so low: the address is a null pointer, or an offset from one.
        "SEGV"
            if scene
                .crash
                .address()
                .or(address(&report.detail))
                .is_some_and(|address| address < NULL_END) =>
        {
            "seg-null-deref"
        }
        "SEGV" => "seg-fault",
        "attempting double-free" | "double-free" | "bad-free" | "alloc-dealloc-mismatch" => "abrt-heap-corruption",
        error if error.starts_with("attempting free on address") => "abrt-heap-corruption",
        _ => return None,
    };
    let detail = &report.detail;
    let tool = if is_of_memcheck { "Valgrind" } else { "AddressSanitizer" };
    let access = match (&detail.access, detail.size) {
        (Some(access), Some(size)) => format!(": a {access} of {size} bytes"),
        _ => String::new(),
    };
    let place = detail
        .function
        .as_ref()
        .map_or_else(String::new, |function| format!(" in `{function}`"));
    let relation = detail
        .relation
        .as_ref()
        .map_or_else(String::new, |relation| format!("; the address is {relation}"));
    let finding = scene
        // Memcheck's program goes on, and may do the same every day without dying of it.
        .finding(cause, if is_of_memcheck { 0.9 } else { 0.97 })
        .because(format!("{tool} reports {error}{access}{place}{relation}."))
        .cite(scene.report.cite(&report.event));
    Some(Verdict::Found(finding))
}

/// The one division of integers but that by zero which has no result, as `UBSan` words it; on x86 the processor stops at it.
fn quotient_too_large(scene: &Scene) -> Option<Verdict> {
    let is_it = |told: &&Told<Sanitizer>| {
        let error = &told.detail.error;
        error.starts_with("division of ") && error.contains(" by -1 cannot be represented")
    };
    let report = scene.sanitizers.iter().find(is_it)?;
    let finding = scene
        .finding("fpe-integer-overflow", 0.93)
        .because(format!("UndefinedBehaviorSanitizer reports {}.", report.detail.error))
        .cite(scene.report.cite(&report.event));
    Some(Verdict::Found(finding))
}

/// Python's own allocator reads memory that nobody allocated, on purpose, to tell whether an address is its own
/// (`Misc/README.valgrind`): that is no error.
fn is_wrong(report: &Sanitizer) -> bool {
    const ON_PURPOSE: [&str; 4] = [
        "address_in_range",
        "PyObject_Free",
        "PyObject_Realloc",
        "_PyObject_Free",
    ];
    !report
        .function
        .as_deref()
        .is_some_and(|function| ON_PURPOSE.contains(&function))
}

/// What Memcheck says of the address, as it knows the heap: which block it lies in or beside, and whether that was freed.
fn of_memcheck(report: &Sanitizer) -> Option<&'static str> {
    let relation = report.relation.as_deref().unwrap_or_default();
    if report.error.contains("free()") {
        return Some("abrt-heap-corruption");
    }
    if relation.ends_with("free'd") && relation.contains("inside a block") {
        return Some("seg-use-after-free");
    }
    if relation.contains(" after a block") || relation.contains(" before a block") {
        return Some("seg-oob-read-write");
    }
    (address(report)? < NULL_END).then_some("seg-null-deref")
}
