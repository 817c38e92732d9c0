//! An address where nothing is mapped: what the address and the function tell about the memory that was meant.

use whycrash_plugin::{Finding, Frame, Owner};

use crate::scene::Scene;
use crate::segv::at_address;
use crate::stack::function;

/// Innermost frames that tell whose loop it was.
const NEAR: usize = 8;
/// A base that is null, with the offset of an element.
const SMALL: u64 = 1 << 24;
const PAGE: u64 = 4096;
/// Bytes that one instruction reads at most.
const STRIDE: u64 = 64;

/// Kernels of tensors on the CPU that use indices or lengths which nobody checks again.
const INDEXED: [&str; 9] = [
    "segment_reduce",
    "index_select",
    "index_kernel",
    "index_put",
    "cpu_index",
    "gather",
    "scatter",
    "embedding",
    "take_kernel",
];

/// Names of tensor kernels and of the loops that run them.
const TENSORS: [&str; 4] = ["at::native::", "at::internal::", "c10::function_ref<", "at::vec::"];

pub fn rule(scene: &Scene) -> Option<Finding> {
    if scene.address_kind() != Some("unmapped") {
        return None;
    }
    let address = scene.crash.address()?;
    let (cause, confidence, why) = tensor(scene, address)
        .or_else(|| wild(address))
        .or_else(|| overrun(scene, address))
        .or_else(|| worker(scene))?;
    Some(
        scene
            .finding(cause, confidence)
            .because(format!("{why}{}.", at_address(scene) + &scene.place()))
            .cite_all(scene.fault_facts())
            .cite_all(scene.frames_proof()),
    )
}

type Guess = (&'static str, f64, &'static str);

/// A kernel of torch: elementwise ones never leave the tensor that they are given.
fn tensor(scene: &Scene, address: u64) -> Option<Guess> {
    let frames = &scene.native.as_ref()?.frames;
    let names: Vec<&str> = frames
        .iter()
        .take(NEAR)
        .filter_map(|(_, frame)| function(frame))
        .collect();
    if !names.iter().any(|name| TENSORS.iter().any(|part| name.contains(part))) {
        return None;
    }
    let indexed = names.iter().any(|name| INDEXED.iter().any(|part| name.contains(part)));
    Some(if indexed {
        (
            "seg-oob-read-write",
            0.75,
            "A tensor's kernel followed an index or a length out of the tensor",
        )
    } else if address < SMALL {
        (
            "seg-oob-read-write",
            0.75,
            "A tensor's kernel worked on a tensor whose storage is gone: the address is an offset from nothing, as after the storage \
             was resized under a view",
        )
    } else {
        (
            "seg-buffer-freed-under-tensor",
            0.72,
            "A tensor's kernel never leaves its tensor, so the memory under the tensor is gone: whoever owned it has freed or unmapped it",
        )
    })
}

/// Values that people and debuggers write, and that no allocator gives out.
fn wild(address: u64) -> Option<Guess> {
    const WORDS: [&str; 6] = ["dead", "beef", "feed", "baad", "cafe", "c0de"];
    let digits = format!("{address:x}");
    // In the middle of an address they are chance.
    let is_word = WORDS.iter().any(|word| digits.starts_with(word));
    let is_round = address.trailing_zeros() >= 28;
    let is_text = address > u64::from(u32::MAX) && address.to_le_bytes().iter().take(6).all(u8::is_ascii_graphic);
    (is_word || is_round || is_text).then_some((
        "seg-wild-pointer",
        0.72,
        "A pointer was used whose value was never an address: it was overwritten, never set, or made up",
    ))
}

/// A loop that runs on faults at the first byte that is not mapped any more.
fn overrun(scene: &Scene, address: u64) -> Option<Guess> {
    let (_, innermost) = scene.native.as_ref()?.innermost()?;
    let is_own = innermost.owner() == Owner::Program || is_copy(innermost);
    (is_own && address % PAGE < STRIDE).then_some((
        "seg-oob-read-write",
        0.68,
        "The fault is at the very beginning of a page that nobody has mapped, as when a loop runs past the end of what it was given",
    ))
}

fn is_copy(frame: &Frame) -> bool {
    function(frame).is_some_and(|name| name.contains("memcpy") || name.contains("memmove") || name.contains("memset"))
}

/// A thread beside the main one, in the program's own code: what it works on belongs to somebody else.
fn worker(scene: &Scene) -> Option<Guess> {
    let stack = scene.native.as_ref()?;
    // A stack out of a log has a name of its own, and may be any thread's.
    let thread: Option<u32> = stack.thread().parse().ok();
    let is_main = scene.crash.pid.zip(thread).is_none_or(|(pid, thread)| pid == thread);
    let (_, lead) = stack.lead()?;
    let is_own = lead.owner() == Owner::Program && stack.meaningful().is_some_and(|(_, frame)| frame == lead);
    (!is_main && is_own).then_some((
        "seg-use-after-free",
        0.62,
        "A thread beside the main one used memory that is no longer there: its owner lives elsewhere and did not wait for it",
    ))
}
