//! The binaries of a process, found among its mapped files.

use std::collections::HashMap;

use super::caps::{MODULE_NOTE_BYTES, MODULE_NOTE_SEGMENTS, MODULE_SEGMENTS, MODULES};
use super::dump::{Auxiliary, CoreDump};
use super::headers::{HEADER_SIZE, Header, PROGRAM_HEADER_SIZE, PT_LOAD, PT_NOTE, ProgramHeader};
use super::loaded;
use super::notes::notes;

const NT_GNU_BUILD_ID: u32 = 3;
const PAGE: u64 = 4096;

/// A binary mapped into the process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CoreModule {
    /// Path at the time of the crash; `[vdso]` for the one the kernel brings.
    pub path: String,
    /// Lowest address of its mappings.
    pub start: u64,
    /// First address after the highest of them.
    pub end: u64,
    /// What to add to an address of the file to get one of the process, when the binary's headers are in the core.
    pub bias: Option<u64>,
    /// Build id as lower-case hex, when its note is in the core. Wheels that `patchelf` rewrote have theirs beyond the
    /// first page, which the kernel does not dump.
    pub build_id: Option<String>,
}

/// A build id as it is written: lower-case hex.
pub fn build_id_text(id: &[u8]) -> String {
    hex::encode(id)
}

/// The binaries of a core, as far as the caps allow.
pub(super) struct Modules {
    pub(super) found: Vec<CoreModule>,
    /// How many binaries are beyond the cap.
    pub(super) omitted: usize,
    /// Whether there are names that were not read.
    pub(super) names_omitted: bool,
}

/// Groups mapped files into binaries. A file none of whose mappings is executable or starts with an ELF header is data.
pub(super) fn modules(core: &CoreDump) -> Modules {
    if core.mappings.is_empty() {
        return loaded::modules(core);
    }
    let mut found: Vec<(CoreModule, bool)> = Vec::new();
    let (mut binaries, mut omitted) = (0, 0);
    let mut last_of: HashMap<&str, usize> = HashMap::new();
    for mapping in &core.mappings {
        let executable = core.segment_at(mapping.start).is_some_and(|segment| segment.executable);
        // A second mapping of offset 0 is the same library loaded again (dlmopen), or a file mapped as data.
        let continued = last_of.get(mapping.path.as_str()).filter(|_| mapping.file_offset != 0);
        if let Some((module, is_binary)) = continued.and_then(|index| found.get_mut(*index)) {
            module.end = mapping.end;
            *is_binary |= executable;
            continue;
        }
        if binaries >= MODULES {
            omitted += usize::from(executable);
            continue;
        }
        last_of.insert(&mapping.path, found.len());
        let (module, has_header) = module_at(core, mapping.path.clone(), mapping.start, mapping.end);
        binaries += usize::from(executable || has_header);
        found.push((module, executable || has_header));
    }
    if let Some(start) = core.auxiliary(Auxiliary::Vdso)
        && let Some(end) = core.segment_at(start).map(|segment| segment.end)
    {
        found.push((module_at(core, "[vdso]".to_owned(), start, end).0, true));
    }
    let mut modules: Vec<_> = found
        .into_iter()
        .filter(|(_, is_binary)| *is_binary)
        .map(|(module, _)| module)
        .collect();
    modules.sort_by_key(|module| module.start);
    Modules {
        found: modules,
        omitted,
        names_omitted: false,
    }
}

/// The binary whose first page is at `start`; says too whether that page is in the core.
pub(super) fn module_at(core: &CoreDump, path: String, start: u64, end: u64) -> (CoreModule, bool) {
    let mut module = CoreModule {
        path,
        start,
        end,
        bias: None,
        build_id: None,
    };
    let headers = program_headers(core, start);
    let has_header = headers.is_some();
    let headers = headers.unwrap_or_default();
    let first = headers
        .iter()
        .find(|header| header.kind == PT_LOAD && header.offset < PAGE);
    if let Some(first) = first {
        let bias = start.wrapping_sub(first.address & !(PAGE - 1));
        module.bias = Some(bias);
        module.build_id = headers
            .iter()
            .filter(|header| header.kind == PT_NOTE)
            .take(MODULE_NOTE_SEGMENTS)
            .find_map(|header| build_id(core, bias, header));
    }
    (module, has_header)
}

/// Program headers of a binary, from its first page in memory.
pub(super) fn program_headers(core: &CoreDump, start: u64) -> Option<Vec<ProgramHeader>> {
    let header = Header::parse(&core.bytes(start, HEADER_SIZE as usize)?)?;
    let count = header.program_header_count(|_| Vec::new()).min(MODULE_SEGMENTS) as usize;
    let size = PROGRAM_HEADER_SIZE as usize;
    let table = core
        .bytes(start.checked_add(header.program_headers)?, count * size)
        .unwrap_or_default();
    Some(table.chunks_exact(size).filter_map(ProgramHeader::parse).collect())
}

fn build_id(core: &CoreDump, bias: u64, header: &ProgramHeader) -> Option<String> {
    let size = usize::try_from(header.file_size).ok()?.min(MODULE_NOTE_BYTES);
    let bytes = core.bytes(bias.wrapping_add(header.address), size)?;
    notes(&bytes, header.align)
        .find(|note| note.name == b"GNU" && note.kind == NT_GNU_BUILD_ID && !note.description.is_empty())
        .map(|note| build_id_text(note.description))
}
