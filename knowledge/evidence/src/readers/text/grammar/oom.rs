//! Out of memory: the caching allocator's message of every era, and the host's.

use super::Parts;
use crate::model::{CudaOom, EventPayload, HostOom, ProcessMemory};
use crate::readers::text::line::Line;
use crate::readers::text::prefix::Origin;
use crate::readers::text::rules::Rule;
use crate::readers::text::sink::Sink;
use crate::readers::text::{Block, Next, progress, regex};

/// The caching allocator.
pub const RULE: Rule = Rule {
    literals: &["out of memory. Tried to allocate", "out of memory. Allocation"],
    read,
};

/// Host memory.
pub const HOST_RULE: Rule = Rule {
    literals: &[
        "can't allocate memory",
        "Unable to allocate ",
        "std::bad_alloc",
        "mmap: Cannot allocate memory",
    ],
    read: read_host,
};

/// Up to torch 2.0; 1.7 and older end at the bracket and older still say "cached".
const OLD: &str = r"(?P<backend>CUDA|HIP|XPU) out of memory\. Tried to allocate (?P<requested>[\d.]+ \w+) \(GPU (?P<gpu>\d+); (?P<capacity>[\d.]+ \w+) total capacity; (?P<allocated>[\d.]+ \w+) already allocated; (?P<free>[\d.]+ \w+) free; (?:(?P<allowed>[\d.]+ \w+) allowed; )?(?P<reserved>[\d.]+ \w+) (?:reserved in total by PyTorch|cached)";

/// From torch 2.1, which spelled "capacty".
const NEW: &str = r"(?P<backend>CUDA|HIP|XPU) out of memory\. Tried to allocate (?P<requested>[\d.]+ \w+)\. GPU (?P<gpu>\d+) has a total capac(?:i)?ty of (?P<capacity>[\d.]+ \w+) of which (?P<free>[\d.]+ \w+) is free\. (?P<others>(?:Process (?:\d+|<\w+>) has [\d.]+ \w+ memory in use\. )*)(?:Including non-PyTorch memory, this process has (?P<this>[\d.]+ \w+) memory in use\. )?(?:(?P<allowed>[\d.]+ \w+) allowed; )?Of the allocated memory (?P<allocated>[\d.]+ \w+) is allocated by PyTorch(?:, with (?P<private>[\d.]+ \w+) allocated in private pools \(e\.g\., CUDA Graphs\))?, and (?P<unallocated>[\d.]+ \w+) is reserved by PyTorch but unallocated\.";

/// What any era has at least; a size that overflowed is printed as `more than 1EB memory`.
const SHORT: &str = r"(?P<backend>CUDA|HIP|XPU) out of memory\. Tried to allocate (?:(?P<requested>\d[\d.]* (?:bytes|[KMGT]iB))|more than 1EB memory)";

fn read(line: &Line, sink: &mut Sink) -> Option<Box<dyn Block>> {
    if line.is_quoted() {
        return None;
    }
    if let Some(oom) = whole(line.text) {
        sink.event(
            EventPayload::CudaOom(oom),
            &line.origin,
            [line.number, line.number],
            line.text,
        );
        return None;
    }
    let oom = short(line.text);
    if regex!(r"Tried to allocate(?:$| [\d.]*(?:$| \w*\.?(?:$| \(GPU| GPU)))").is_match(line.text) {
        return Some(Box::new(Folded {
            line: line.number,
            origin: line.origin.clone(),
            oom,
            lines: vec![line.text.to_owned()],
            last: line.number,
        }));
    }
    sink.event(
        EventPayload::CudaOom(oom?),
        &line.origin,
        [line.number, line.number],
        line.text,
    );
    None
}

/// All that the message of either era says.
fn whole(text: &str) -> Option<CudaOom> {
    old(text).or_else(|| new(text))
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
            || text.starts_with("Traceback")
            || text.starts_with("File ")
            || progress::is_progress(text.as_bytes())
            || self.lines.len() > FOLDED_LINES
        {
            return Next::Ended;
        }
        self.lines.push(line.text.to_owned());
        // Libraries fold between words, terminals anywhere.
        let words: Vec<&str> = self.lines.iter().map(|line| line.trim()).collect();
        let Some(oom) = whole(&words.join(" ")).or_else(|| whole(&self.lines.concat())) else {
            return Next::More;
        };
        self.oom = Some(oom);
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

fn old(text: &str) -> Option<CudaOom> {
    let parts = Parts::of(regex!(OLD), text)?;
    let allocated = parts.bytes("allocated");
    let reserved = parts.bytes("reserved");
    Some(CudaOom {
        reserved_unallocated: reserved
            .zip(allocated)
            .map(|(reserved, allocated)| reserved.saturating_sub(allocated)),
        ..common(&parts)
    })
}

fn new(text: &str) -> Option<CudaOom> {
    let parts = Parts::of(regex!(NEW), text)?;
    let others = parts.text("others").unwrap_or_default();
    let other_processes = regex!(r"Process (\d+) has ([\d.]+ \w+) memory")
        .captures_iter(&others)
        .filter_map(|found| {
            let pid = found.get(1)?.as_str().parse().ok()?;
            Some(ProcessMemory {
                pid,
                bytes: super::bytes(found.get(2)?.as_str())?,
            })
        })
        .collect();
    Some(CudaOom {
        reserved_unallocated: parts.bytes("unallocated"),
        private_pools: parts.bytes("private"),
        this_process: parts.bytes("this"),
        other_processes,
        ..common(&parts)
    })
}

fn common(parts: &Parts) -> CudaOom {
    CudaOom {
        backend: parts.text("backend").unwrap_or_default(),
        requested: parts.bytes("requested").unwrap_or_default(),
        gpu: parts.number("gpu"),
        capacity: parts.bytes("capacity"),
        free: parts.bytes("free"),
        allocated: parts.bytes("allocated"),
        allowed: parts.bytes("allowed"),
        ..CudaOom::default()
    }
}

fn short(text: &str) -> Option<CudaOom> {
    let parts = Parts::of(regex!(SHORT), text)?;
    let requested = if text.contains("more than 1EB") {
        1 << 60
    } else {
        parts.bytes("requested")?
    };
    Some(CudaOom {
        backend: parts.text("backend")?,
        requested,
        ..CudaOom::default()
    })
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
    if regex!(r"^\s*(?:what\(\):\s+|[\w.]*(?:MemoryError|RuntimeError): )std::bad_alloc").is_match(text) {
        return found("malloc", None);
    }
    if text.ends_with("mmap: Cannot allocate memory") {
        return found("mmap", None);
    }
    None
}
