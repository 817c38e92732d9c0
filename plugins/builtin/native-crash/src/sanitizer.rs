//! What a sanitizer says needs no conclusion.

use crate::Verdict;
use crate::scene::Scene;

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
        "attempting double-free" | "double-free" | "bad-free" | "alloc-dealloc-mismatch" => "abrt-heap-corruption",
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
