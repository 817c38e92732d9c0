//! What a message of a caching allocator says.

use std::iter;

use crate::model::{CudaOom, ProcessMemory};
use crate::readers::text::grammar::bytes;

/// What a message says.
pub struct Said {
    pub oom: CudaOom,
    /// How many parts of a message it has.
    parts: usize,
    /// It has the part that all versions end with.
    pub is_whole: bool,
}

/// Bytes that stand for "more than 1EB".
const BEYOND: u64 = 1 << 60;

/// What a size is the size of.
#[derive(Clone, Copy)]
enum Of {
    Request,
    /// A request of Julia's CUDA.jl, which says no more than what was asked for.
    JuliaRequest,
    Capacity,
    ThisProcess,
    Free,
    Allowed,
    Allocated,
    PrivatePools,
    Reserved,
    Unallocated,
}

/// Words that a size stands behind. Each part of a message is known by its own words, because every version and device
/// has them in another order and leaves out others. Torch 2.1 spelled "capacty".
const BEHIND: &[(&str, Of)] = &[
    ("Tried to allocate ", Of::Request),
    ("Out of GPU memory trying to allocate ", Of::JuliaRequest),
    ("total capacity of ", Of::Capacity),
    ("total capacty of ", Of::Capacity),
    ("max allowed: ", Of::Capacity),
    ("this process has ", Of::ThisProcess),
    ("MPS allocated: ", Of::Allocated),
];

/// Words that a size stands before: torch 2.0 and older had them there, and still older ones said "cached".
const BEFORE: &[(&str, Of)] = &[
    (" total capacity", Of::Capacity),
    (" is free", Of::Free),
    (" free", Of::Free),
    (" allowed", Of::Allowed),
    (" already allocated", Of::Allocated),
    (" is allocated by PyTorch", Of::Allocated),
    (" allocated in private pools", Of::PrivatePools),
    (" reserved in total by PyTorch", Of::Reserved),
    (" cached", Of::Reserved),
    (" is reserved by PyTorch but unallocated", Of::Unallocated),
];

impl Said {
    /// Only with a device and a size: other programs run out of memory as well.
    pub fn of(text: &str) -> Option<Self> {
        let mut said = Self {
            oom: CudaOom {
                backend: backend(text).unwrap_or_default().to_owned(),
                gpu: gpu(text),
                ..CudaOom::default()
            },
            parts: 0,
            is_whole: false,
        };
        said.parts = usize::from(!said.oom.backend.is_empty()) + usize::from(said.oom.gpu.is_some());
        let mut reserved = None;
        for size in sizes(text) {
            said.add(&size, &mut reserved);
        }
        let oom = &mut said.oom;
        if oom.requested == 0 && text.contains("Tried to allocate more than 1EB memory") {
            oom.requested = BEYOND;
        }
        let rest = reserved.zip(oom.allocated);
        oom.reserved_unallocated = oom
            .reserved_unallocated
            .or(rest.map(|(reserved, allocated)| u64::saturating_sub(reserved, allocated)));
        said.is_whole = oom.reserved_unallocated.is_some();
        (!said.oom.backend.is_empty() && said.oom.requested > 0).then_some(said)
    }

    /// Of a message that was folded: libraries fold between words, terminals anywhere. Where a word was torn, or two run
    /// together, fewer parts are understood.
    pub fn of_lines(lines: &[String]) -> Option<Self> {
        let words: Vec<&str> = lines.iter().map(|line| line.trim()).collect();
        let ways = [words.join(" "), lines.concat()];
        ways.iter()
            .filter_map(|text| Self::of(text))
            .max_by_key(|said| said.parts)
    }

    fn add(&mut self, size: &Size, reserved: &mut Option<u64>) {
        let oom = &mut self.oom;
        if let Some(pid) = process(size.before) {
            self.parts += 1;
            let held = pid.parse().map(|pid| ProcessMemory { pid, bytes: size.bytes });
            oom.other_processes.extend(held);
            return;
        }
        let Some(of) = size.of() else {
            return;
        };
        self.parts += 1;
        let known = match of {
            Of::Request | Of::JuliaRequest => {
                if oom.requested == 0 {
                    oom.requested = size.bytes;
                }
                if matches!(of, Of::JuliaRequest) {
                    "CUDA".clone_into(&mut oom.backend);
                }
                return;
            }
            Of::Capacity => &mut oom.capacity,
            Of::ThisProcess => &mut oom.this_process,
            Of::Free => &mut oom.free,
            Of::Allowed => &mut oom.allowed,
            Of::Allocated => &mut oom.allocated,
            Of::PrivatePools => &mut oom.private_pools,
            Of::Reserved => reserved,
            Of::Unallocated => &mut oom.reserved_unallocated,
        };
        *known = known.or(Some(size.bytes));
    }
}

/// A size, and what stands around it.
struct Size<'a> {
    bytes: u64,
    before: &'a str,
    behind: &'a str,
}

impl Size<'_> {
    fn of(&self) -> Option<Of> {
        let behind = BEHIND.iter().find(|(words, _)| self.before.ends_with(words));
        let before = || BEFORE.iter().find(|(words, _)| starts_with_words(self.behind, words));
        behind.or_else(before).map(|(_, of)| *of)
    }
}

/// Whether a text starts with these words, and not with longer ones.
fn starts_with_words(text: &str, words: &str) -> bool {
    let rest = text.strip_prefix(words);
    rest.is_some_and(|rest| !rest.starts_with(|next: char| next.is_ascii_alphanumeric() || next == '_'))
}

/// The sizes that a text names: `20.00 MiB`, `512 bytes`. One that is too large to be one counts for nothing.
fn sizes(text: &str) -> impl Iterator<Item = Size<'_>> {
    let mut from = 0;
    iter::from_fn(move || {
        loop {
            let start = from + text.get(from..)?.find(|next: char| next.is_ascii_digit())?;
            let number = text.get(start..)?;
            let digits = number.find(|next: char| !next.is_ascii_digit() && next != '.');
            from = start + digits.unwrap_or(number.len());
            let Some(unit) = text.get(from..)?.strip_prefix(' ') else {
                continue;
            };
            let letters = unit.find(|next: char| !next.is_ascii_alphanumeric() && next != '_');
            let end = from + 1 + letters.unwrap_or(unit.len());
            if let Some(bytes) = text.get(start..end).and_then(bytes) {
                from = end;
                return Some(Size {
                    bytes,
                    before: text.get(..start)?,
                    behind: text.get(end..)?,
                });
            }
        }
    })
}

/// The device in `CUDA out of memory` or `MPS backend out of memory`.
fn backend(text: &str) -> Option<&str> {
    text.match_indices(" out of memory").find_map(|(at, _)| {
        let before = text.get(..at)?;
        let before = before.strip_suffix(" backend").unwrap_or(before);
        let letters = before.bytes().rev().take_while(u8::is_ascii_uppercase).count();
        before.get(before.len() - letters..).filter(|name| !name.is_empty())
    })
}

/// The number in `(GPU 0; ` or `GPU 0 has `.
fn gpu(text: &str) -> Option<u32> {
    text.match_indices("GPU ").find_map(|(at, words)| {
        let rest = text.get(at + words.len()..)?;
        let digits = rest.find(|next: char| !next.is_ascii_digit())?;
        let (number, rest) = rest.split_at_checked(digits)?;
        let is_word = text
            .get(..at)?
            .ends_with(|last: char| last.is_ascii_alphanumeric() || last == '_');
        (!is_word && (rest.starts_with(';') || rest.starts_with(" has")))
            .then(|| number.parse().ok())
            .flatten()
    })
}

/// The process of `Process 4711 has `; some drivers hide it: `Process <unknown> has `.
fn process(before: &str) -> Option<&str> {
    let (before, pid) = before.strip_suffix(" has ")?.rsplit_once(' ')?;
    let is_process = before.ends_with("Process") && (pid.starts_with('<') || pid.parse::<u64>().is_ok());
    is_process.then_some(pid)
}
