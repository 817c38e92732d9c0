//! What a sanitizer says needs no conclusion.

use whycrash_plugin::facts::Sanitizer;

use crate::Verdict;
use crate::scene::Scene;
use crate::segv::NULL_END;

/// The address that the report is about.
fn address(report: &Sanitizer) -> Option<u64> {
    u64::from_str_radix(report.address.as_deref()?.trim_start_matches("0x"), 16).ok()
}

pub fn rule(scene: &Scene) -> Option<Verdict> {
    let report = scene.sanitizers.iter().find(|told| told.detail.tool == "asan")?;
    let error = report.detail.error.as_str();
    let cause = match error {
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
        .finding(cause, 0.97)
        .because(format!("AddressSanitizer reports {error}{access}{place}{relation}."))
        .cite(scene.report.cite(&report.event));
    Some(Verdict::Found(finding))
}
