//! Out of memory: the caching allocator's message of every era, and the host's.

use super::Parts;
use crate::model::{CudaOom, EventPayload, HostOom};
use crate::readers::text::line::Line;
use crate::readers::text::prefix::Origin;
use crate::readers::text::rules::Rule;
use crate::readers::text::sink::Sink;
use crate::readers::text::{Block, Next, progress, regex};
use said::Said;

mod said;

/// The caching allocator.
pub const RULE: Rule = Rule {
    literals: &["Tried to allocate", "Out of GPU memory"],
    read,
};

/// Host memory.
pub const HOST_RULE: Rule = Rule {
    literals: &[
        "can't allocate memory",
        "Unable to allocate ",
        "std::bad_alloc",
        "mmap: Cannot allocate memory",
        "memory allocation of ",
    ],
    read: read_host,
};

fn read(line: &Line, sink: &mut Sink) -> Option<Box<dyn Block>> {
    if line.is_quoted() || is_handled(line.text) {
        return None;
    }
    let said = Said::of(line.text);
    let goes_on = regex!(r"Tried to allocate\s*(?:$|[0-9.]+(?:\s*$| \w*\.?(?:\s*$| \(GPU| GPU)))").is_match(line.text);
    if goes_on && said.as_ref().is_none_or(|said| !said.is_whole) {
        return Some(Box::new(Folded {
            line: line.number,
            origin: line.origin.clone(),
            oom: said.map(|said| said.oom),
            lines: vec![line.text.to_owned()],
            last: line.number,
        }));
    }
    sink.event(
        EventPayload::CudaOom(said?.oom),
        &line.origin,
        [line.number, line.number],
        line.text,
    );
    None
}

/// Whether the program says in the same breath that it caught it.
fn is_handled(text: &str) -> bool {
    regex!(r"(?i)\((?:caught|handled|recovered)\)|\bcaught\b.{0,40}\bretry|\bretrying (?:with|at) (?:a |half|\d)")
        .is_match(text)
}

/// A message that a terminal or a library folded at some width: it goes on in the next lines.
#[derive(Debug)]
struct Folded {
    line: u64,
    origin: Origin,
    /// What is known so far.
    oom: Option<CudaOom>,
    lines: Vec<String>,
    /// The line at which the message was whole.
    last: u64,
}

/// At 40 columns the longest message takes fewer lines.
const FOLDED_LINES: usize = 12;

impl Block for Folded {
    fn next(&mut self, line: &Line) -> Next {
        let text = line.text.trim();
        if text.is_empty()
            || RULE.literals.iter().any(|another| text.contains(another))
            || text.starts_with("Traceback")
            || text.starts_with("File ")
            || progress::is_progress(text.as_bytes())
            || self.lines.len() > FOLDED_LINES
        {
            return Next::Ended;
        }
        self.lines.push(line.text.to_owned());
        // Only a message with one of these words may be whole: it is not read anew with every line.
        let so_far: String = self.lines.iter().map(|line| line.trim()).collect();
        if !["unallocated", "reserved", "cached"]
            .iter()
            .any(|word| so_far.contains(word))
        {
            return Next::More;
        }
        let Some(said) = Said::of_lines(&self.lines).filter(|said| said.is_whole) else {
            return Next::More;
        };
        self.oom = Some(said.oom);
        self.last = line.number;
        Next::Last
    }

    fn finish(self: Box<Self>, sink: &mut Sink) {
        let kept = usize::try_from(self.last - self.line).map_or(1, |more| more + 1);
        let text: Vec<&str> = self.lines.iter().take(kept).map(|line| line.trim()).collect();
        if let Some(oom) = self.oom {
            sink.event(
                EventPayload::CudaOom(oom),
                &self.origin,
                [self.line, self.last],
                &text.join(" "),
            );
        }
    }
}

fn read_host(line: &Line, sink: &mut Sink) -> Option<Box<dyn Block>> {
    if line.is_quoted() {
        return None;
    }
    let oom = host(line.text)?;
    sink.event(
        EventPayload::HostOom(oom),
        &line.origin,
        [line.number, line.number],
        line.text,
    );
    None
}

fn host(text: &str) -> Option<HostOom> {
    let found = |allocator: &str, requested| {
        Some(HostOom {
            requested,
            allocator: allocator.to_owned(),
        })
    };
    // `… DefaultCPUAllocator: can't allocate memory: you tried to allocate 4000 bytes. Error code 12 (…)`
    if text.contains("DefaultCPUAllocator: can't allocate memory") {
        let parts = Parts::of(regex!(r"tried to allocate (?P<n>\d+) bytes"), text);
        return found("DefaultCPUAllocator", parts.and_then(|parts| parts.number("n")));
    }
    // `numpy.core._exceptions._ArrayMemoryError: Unable to allocate 7.28 TiB for an array with shape …`
    if let Some(parts) = Parts::of(
        regex!(r"Unable to allocate (?P<n>[\d.]+ (?:bytes|[KMGTPE]iB)) for an array"),
        text,
    ) {
        return found("numpy", parts.bytes("n"));
    }
    // RMM says the same of the device's memory, and goes on with the error of CUDA.
    let is_bad_alloc = regex!(r"^\s*(?:what\(\):\s+|[\w.]*(?:MemoryError|RuntimeError): )std::bad_alloc");
    // Thrust's exception is one of the standard library's, with what CUDA says behind it.
    let is_of_device = [
        "CUDA error",
        "RMM failure",
        "std::bad_alloc: out of memory",
        "cudaErrorMemoryAllocation",
    ];
    if is_bad_alloc.is_match(text) && !is_of_device.iter().any(|words| text.contains(words)) {
        return found("malloc", None);
    }
    // Rust's last words: `memory allocation of 4096 bytes failed`.
    if let Some(parts) = Parts::of(regex!(r"^memory allocation of (?P<n>\d+) bytes failed"), text) {
        return found("Rust", parts.number("n"));
    }
    if text.ends_with("mmap: Cannot allocate memory") {
        return found("mmap", None);
    }
    None
}
