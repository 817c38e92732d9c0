//! A driver that is older than the CUDA runtime above it asks for.

use whycrash_plugin::facts::PythonException;
use whycrash_plugin::{Citation, Event, Finding, Report, Software};

/// The oldest branch of the driver that runs a major release of the toolkit (CUDA compatibility guide, minor version
/// compatibility).
const OLDEST: [(u32, u32); 3] = [(13, 580), (12, 525), (11, 450)];

/// Endings that an old driver leads to, whatever words a program puts around them.
const WORDS: [&str; 5] = ["cuda", "gpu", "nvidia", "driver", "accelerator"];

pub fn rule(report: &Report) -> Option<Finding> {
    let ended = ending(report)?;
    let (driver, major) = newest(&report.software(Some("nvidia-driver")))?;
    let (runtime, cuda) = runtime(report)?;
    let (_, oldest) = OLDEST.into_iter().find(|(release, _)| *release == cuda)?;
    (major < oldest).then(|| {
        let fact = |software: &Software| report.cite_fact(&software.fact);
        Finding::new("env-driver-too-old", 0.93)
            .because(format!(
                "The driver is {}, and CUDA {cuda} ({} {}) runs on drivers from {oldest} on.",
                driver.version, runtime.name, runtime.version
            ))
            .cite(ended)
            .cite_all(fact(&driver))
            .cite_all(fact(&runtime))
    })
}

/// An event that says that something of CUDA could not be had.
fn ending(report: &Report) -> Option<Citation> {
    let ended = |event: &Event| event.primary && !event.survived;
    let of_cuda = report
        .events(Some("cuda-error"), 0, 8)
        .into_iter()
        .find(|event| ended(event));
    let raised = || {
        let told = report.told::<PythonException>();
        let about = |message: &str| WORDS.iter().any(|word| message.to_ascii_lowercase().contains(word));
        told.into_iter()
            .find(|told| ended(&told.event) && about(&told.detail.message))
            .map(|told| told.event)
    };
    of_cuda.or_else(raised).map(|event| report.cite(&event))
}

/// The runtime that the program brings, as packages and binaries tell it.
fn runtime(report: &Report) -> Option<(Software, u32)> {
    ["cuda-runtime", "cudart"]
        .iter()
        .find_map(|name| newest(&report.software(Some(name))))
}

/// The newest of some versions, with its first number.
fn newest(told: &[Software]) -> Option<(Software, u32)> {
    let major = |software: &Software| software.version.split('.').next()?.parse().ok();
    let versions = told
        .iter()
        .filter_map(|software| Some((software.clone(), major(software)?)));
    versions.max_by_key(|(_, major)| *major)
}
