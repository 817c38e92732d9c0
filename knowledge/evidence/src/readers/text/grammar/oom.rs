//! Out of memory: the caching allocator's message of every era, and the host's.

use std::sync::LazyLock;

use regex::Regex;

use super::{Parts, bytes};
use crate::model::{CudaOom, EventPayload, HostOom, ProcessMemory};
use crate::readers::text::line::Line;
use crate::readers::text::prefix::Origin;
use crate::readers::text::rules::Rule;
use crate::readers::text::sink::Sink;
use crate::readers::text::{Block, Next, progress, regex};

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

/// What a message may say. Each part is known by its own words, because every version and device has them in another
/// order and leaves out others. Torch 2.0 and older put the words behind the sizes and still older ones say "cached"; 2.1
/// spelled "capacty". Julia's CUDA.jl says no more than what was asked for.
fn parts() -> &'static Regex {
    /// Metal counts in powers of two as well, and leaves the `i` out.
    const SIZE: &str = r"[0-9.]+ (?:bytes|B|[KMGTPE]i?B)(?-u:\b)";
    static PARTS: LazyLock<Regex> = LazyLock::new(|| {
        let forms = [
            r"(?P<backend>[A-Z]+)(?: backend)? out of memory",
            r"Tried to allocate (?:(?P<requested>SIZE)|(?P<beyond>more than 1EB) memory)",
            r"Out of GPU memory trying to allocate (?P<julia>SIZE)",
            r"(?-u:\b)GPU (?P<gpu>[0-9]+)(?:;| has)",
            r"(?:total capaci?ty of|max allowed:) (?P<capacity>SIZE)",
            r"(?P<total>SIZE) total capacity",
            r"(?-u:\b)this process has (?P<this>SIZE)",
            r"(?-u:\b)Process (?P<pid>[0-9]+|<[a-z]+>) has (?P<held>SIZE)",
            r"(?P<free>SIZE) (?:is )?free(?-u:\b)",
            r"(?P<allowed>SIZE) allowed(?-u:\b)",
            r"(?P<allocated>SIZE) (?:already allocated|is allocated by PyTorch)",
            r"MPS allocated: (?P<metal>SIZE)",
            r"(?P<private>SIZE) allocated in private pools",
            r"(?P<reserved>SIZE) (?:reserved in total by PyTorch|cached(?-u:\b))",
            r"(?P<unallocated>SIZE) is reserved by PyTorch but unallocated",
        ];
        Regex::new(&forms.join("|").replace("SIZE", SIZE)).expect("a fixed pattern")
    });
    &PARTS
}

/// The names of its groups, by their numbers: to ask a match for each of them by name costs more than the match.
static NAMES: LazyLock<Vec<&str>> = LazyLock::new(|| parts().capture_names().map(Option::unwrap_or_default).collect());

fn read(line: &Line, sink: &mut Sink) -> Option<Box<dyn Block>> {
    if line.is_quoted() {
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

/// What a message says.
struct Said {
    oom: CudaOom,
    /// How many parts of a message it has.
    parts: usize,
    /// It has the part that all versions end with.
    is_whole: bool,
}

impl Said {
    /// Only with a device and a size: other programs run out of memory as well.
    fn of(text: &str) -> Option<Self> {
        let mut oom = CudaOom::default();
        let (mut reserved, mut count) = (None, 0);
        for found in parts().captures_iter(text) {
            count += 1;
            let (mut pid, mut held) = (None, None);
            for (name, part) in NAMES.iter().zip(found.iter()) {
                let Some(part) = part.map(|part| part.as_str()) else {
                    continue;
                };
                let first = |known: &mut Option<u64>| *known = known.or_else(|| bytes(part));
                match *name {
                    "backend" => part.clone_into(&mut oom.backend),
                    "requested" => oom.requested = bytes(part).unwrap_or(oom.requested),
                    "beyond" => oom.requested = BEYOND,
                    "julia" => {
                        "CUDA".clone_into(&mut oom.backend);
                        oom.requested = bytes(part).unwrap_or(oom.requested);
                    }
                    "gpu" => oom.gpu = oom.gpu.or_else(|| part.parse().ok()),
                    "capacity" | "total" => first(&mut oom.capacity),
                    "this" => first(&mut oom.this_process),
                    "free" => first(&mut oom.free),
                    "allowed" => first(&mut oom.allowed),
                    "allocated" | "metal" => first(&mut oom.allocated),
                    "private" => first(&mut oom.private_pools),
                    "reserved" => first(&mut reserved),
                    "unallocated" => first(&mut oom.reserved_unallocated),
                    "pid" => pid = part.parse().ok(),
                    "held" => held = bytes(part),
                    _ => {}
                }
            }
            let other = pid.zip(held);
            oom.other_processes
                .extend(other.map(|(pid, bytes)| ProcessMemory { pid, bytes }));
        }
        let rest = reserved.zip(oom.allocated);
        oom.reserved_unallocated = oom
            .reserved_unallocated
            .or(rest.map(|(reserved, allocated)| reserved.saturating_sub(allocated)));
        let is_whole = oom.reserved_unallocated.is_some();
        (!oom.backend.is_empty() && oom.requested > 0).then_some(Self {
            oom,
            parts: count,
            is_whole,
        })
    }

    /// Of a message that was folded: libraries fold between words, terminals anywhere. Where a word was torn, or two run
    /// together, fewer parts are understood.
    fn of_lines(lines: &[String]) -> Option<Self> {
        let words: Vec<&str> = lines.iter().map(|line| line.trim()).collect();
        let ways = [words.join(" "), lines.concat()];
        ways.iter()
            .filter_map(|text| Self::of(text))
            .max_by_key(|said| said.parts)
    }
}

/// Bytes that stand for "more than 1EB".
const BEYOND: u64 = 1 << 60;

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
    if is_bad_alloc.is_match(text) && !text.contains("CUDA error") {
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
