//! Failures whose words alone decide.

use whycrash_plugin::facts::{CudaError, CudaOom, HostOom, PythonException};
use whycrash_plugin::{Event, Finding, Report, Told};

use crate::request::Request;
use crate::rules::crowd_on_the_first;
use crate::size::size;

pub fn rule(report: &Report, requests: &[Request]) -> Option<Finding> {
    exception(report)
        .or_else(|| overflow(report))
        .or_else(|| requests.is_empty().then(|| host(report).or_else(|| raw(report)))?)
}

/// Messages of the allocator that have a form of their own.
fn exception(report: &Report) -> Option<Finding> {
    let exceptions = report.told::<PythonException>();
    exceptions.iter().filter(|told| ended(&told.event)).find_map(|told| {
        let message = &told.detail.message;
        let (cause, why) = if message.contains("would exceed per_process_memory_fraction") {
            ("oom-memory-fraction-limit", "The allocator rejected the request because this process would have exceeded the fraction of the device that it is allowed")
        } else if message.contains("[ExpandableSegmentVA]") {
            ("oom-va-exhausted", "Address space ran out, not GPU memory: an expandable segment reserves more of it than it ever uses")
        } else {
            return None;
        };
        Some(Finding::new(cause, 0.95).because(format!("{why}.")).cite(report.cite(&told.event)))
    })
}

/// A size that no device could serve is a size that was computed wrongly.
fn overflow(report: &Report) -> Option<Finding> {
    const ABSURD: u64 = 10;
    report.told::<CudaOom>().iter().filter(|told| ended(&told.event)).find_map(|told| {
        let detail = &told.detail;
        let beyond_all = told.event.text.contains("more than 1EB");
        let absurd = detail.capacity.is_some_and(|capacity| capacity > 0 && detail.requested / ABSURD > capacity);
        let asked = match (beyond_all, detail.capacity) {
            (true, _) => "More than an exabyte was asked for: a size overflowed or was negative".to_owned(),
            (false, Some(capacity)) if absurd => format!(
                "{} were asked for on a device of {}: a shape is not what it was meant to be, such as a broadcast of two vectors",
                size(detail.requested),
                size(capacity)
            ),
            _ => return None,
        };
        Some(Finding::new("oom-size-overflow", 0.94).because(format!("{asked}.")).cite(report.cite(&told.event)))
    })
}

/// Host memory that the allocator of CPU tensors, or Python itself, could not get.
fn host(report: &Report) -> Option<Finding> {
    let refused: Vec<Told<HostOom>> = report.told();
    if let Some(told) = refused.iter().find(|told| ended(&told.event)) {
        let asked = told
            .detail
            .requested
            .map_or_else(String::new, |bytes| format!(" for {}", size(bytes)));
        return Some(
            Finding::new("oom-host-allocator", 0.93)
                .because(format!(
                    "Memory of the host, not of the GPU: the system refused {}{asked}.",
                    told.detail.allocator
                ))
                .cite(report.cite(&told.event)),
        );
    }
    let exceptions: Vec<Told<PythonException>> = report.told();
    let told = exceptions
        .iter()
        .find(|told| ended(&told.event) && told.detail.exception == "MemoryError" && !is_of_device(&told.detail))?;
    Some(
        Finding::new("oom-host-allocator", 0.85)
            .because("Python could not get memory of the host.")
            .cite(report.cite(&told.event)),
    )
}

/// RMM, Paddle and others raise Python's own error for memory of the device, and say so in its message.
fn is_of_device(raised: &PythonException) -> bool {
    ["RMM", "on GPU", "CUDA", "cudaError"]
        .iter()
        .any(|word| raised.message.contains(word))
}

/// The driver's own refusal: not the caching allocator's, so not of a tensor.
fn raw(report: &Report) -> Option<Finding> {
    let errors: Vec<Told<CudaError>> = report.told();
    let told = errors
        .iter()
        .find(|told| ended(&told.event) && is_out_of_memory(&told.detail) && !is_of_another_allocator(&told.event))?;
    if let Some(finding) = crowd_on_the_first(report, "The driver had no memory left.") {
        return Some(finding.cite(report.cite(&told.event)));
    }
    let what = match (&told.detail.call, &told.detail.name) {
        (Some(call), Some(name)) => format!("`{call}` failed with {name}"),
        (_, Some(name)) => format!("A call failed with {name}"),
        _ => "A call failed for want of memory".to_owned(),
    };
    Some(
        Finding::new("oom-raw-cudamalloc", 0.88)
            .because(format!(
                "{what}. That is memory taken from the driver beside PyTorch's allocator: a context, a library's handle or workspace, \
                 or pinned memory."
            ))
            .cite(report.cite(&told.event)),
    )
}

fn is_out_of_memory(error: &CudaError) -> bool {
    /// `cudaErrorMemoryAllocation`.
    const MEMORY_ALLOCATION: u32 = 2;
    let runtime = matches!(error.api.as_str(), "cuda" | "hip" | "driver");
    // The handles and workspaces of cuBLAS and cuDNN have pages of their own.
    runtime && (error.code == Some(MEMORY_ALLOCATION) || error.message.starts_with("out of memory"))
}

/// Up to torch 0.4 the caching allocator itself said no more than the driver; RELION has one of its own.
fn is_of_another_allocator(event: &Event) -> bool {
    ["THCStorage", "THCCachingAllocator", "THCTensor", "(error-code 2)"]
        .iter()
        .any(|words| event.text.contains(words))
}

/// Whether an event ended its process, and by itself.
pub fn ended(event: &Event) -> bool {
    event.primary && !event.survived
}
