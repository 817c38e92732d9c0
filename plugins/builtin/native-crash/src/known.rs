//! Functions that crash in one known way: their names alone decide.

use crate::Verdict;
use crate::scene::Scene;

/// A part of a function's name, the cause that it stands for, how sure that is, and why.
const KNOWN: [(&str, &str, f64, &str); 2] = [
    (
        "c10d::Logger::set_env_variables",
        "ddp-detail-logger-segv",
        0.95,
        "The logger of DistributedDataParallel crashed while it wrote down the environment, as it does in torch 2.15.0 with \
         TORCH_DISTRIBUTED_DEBUG=DETAIL and gloo",
    ),
    (
        "CudaIPCSentData",
        "seg-cudaipc-recursion",
        0.92,
        "The stack ran out while CUDA tensors that had been shared with other processes were freed, each from within the one before",
    ),
];

/// Frames from the innermost one among which a known function has to be.
const NEAR: u32 = 24;

pub fn rule(scene: &Scene) -> Option<Verdict> {
    let stack = scene.native.as_ref().filter(|_| scene.signal() == Some("SIGSEGV"))?;
    let (cause, confidence, why, frame) = KNOWN.iter().find_map(|(function, cause, confidence, why)| {
        let frame = stack.with(&[function]).filter(|frame| frame.0 < NEAR)?;
        Some((*cause, *confidence, *why, frame))
    })?;
    Some(Verdict::Found(
        scene
            .finding(cause, confidence)
            .because(format!("{why}{}.", scene.place()))
            .cite(stack.cite(frame))
            .cite_all(scene.fault_facts()),
    ))
}
