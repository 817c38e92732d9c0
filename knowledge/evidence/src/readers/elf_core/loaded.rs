//! The binaries of a core that does not list mapped files (no `NT_FILE`: emulators, Linux before 3.7): their headers
//! are found in memory, their names in the dynamic linker's list.

use std::collections::HashMap;

use super::caps::{DYNAMIC_ENTRIES, LIBRARY_NAME_BYTES, MODULE_SEGMENTS, MODULES, PATH_BYTES};
use super::dump::{Auxiliary, CoreDump};
use super::headers::{PROGRAM_HEADER_SIZE, PT_LOAD, ProgramHeader};
use super::modules::{CoreModule, Modules, module_at, program_headers};

/// `PT_DYNAMIC` and `PT_PHDR`.
const PT_DYNAMIC: u32 = 2;
const PT_PHDR: u32 = 6;
/// The entry of the dynamic section that leads to `struct r_debug`.
const DT_DEBUG: u64 = 21;
/// `r_map` in `struct r_debug`, and the members of `struct link_map` (glibc `elf/link.h`).
const R_MAP: u64 = 8;
const L_NAME: u64 = 8;
const L_NEXT: u64 = 24;
/// The public members of both.
const R_DEBUG_BYTES: usize = 40;
const LINK_MAP_BYTES: usize = 40;

/// Every segment that starts with the header of a binary is one. Left out are segments beyond the cap, which were not
/// looked at.
pub(super) fn modules(core: &CoreDump) -> Modules {
    let mut names = Names::of(core);
    let mut segments = core.segments.iter();
    let with_headers = segments
        .by_ref()
        .filter_map(|segment| Some((segment, program_headers(core, segment.start)?)));
    let found = with_headers.take(MODULES).filter_map(|(segment, headers)| {
        let end = end(&headers, segment.start)?.max(segment.end);
        let (mut module, _) = module_at(core, String::new(), segment.start, end);
        module.path = names.take(&module, module.bias?);
        Some(module)
    });
    Modules {
        found: found.collect(),
        omitted: segments.filter(|segment| segment.executable).count(),
        names_omitted: names.are_cut,
    }
}

/// What the process calls its binaries. Each name is given once: no two binaries share one.
struct Names {
    executable: Option<String>,
    /// An address within the executable.
    own_headers: Option<u64>,
    vdso: Option<u64>,
    /// By what was added to the addresses of each file.
    libraries: HashMap<u64, String>,
    /// Set when the list of libraries is longer than is read.
    are_cut: bool,
}

impl Names {
    fn of(core: &CoreDump) -> Self {
        let path = core.auxiliary(Auxiliary::Path).and_then(|at| text(core, at));
        let (libraries, are_cut) = library_names(core);
        Self {
            executable: path.or_else(|| Some(core.process.as_ref()?.name.clone())),
            own_headers: core.auxiliary(Auxiliary::ProgramHeaders),
            vdso: core.auxiliary(Auxiliary::Vdso),
            libraries,
            are_cut,
        }
    }

    fn take(&mut self, module: &CoreModule, bias: u64) -> String {
        let holds = |address: u64| (module.start..module.end).contains(&address);
        let name = if self.own_headers.is_some_and(holds) {
            self.executable.take()
        } else if self.vdso == Some(module.start) {
            Some("[vdso]".to_owned())
        } else {
            self.libraries.remove(&bias)
        };
        name.unwrap_or_else(|| format!("[binary at {:#x}]", module.start))
    }
}

/// First address after the last segment of a binary that starts at `start`.
fn end(headers: &[ProgramHeader], start: u64) -> Option<u64> {
    let loads = || headers.iter().filter(|header| header.kind == PT_LOAD);
    let first = loads().map(|header| header.address).min()?;
    let last = loads()
        .map(|header| header.address.saturating_add(header.memory_size))
        .max()?;
    start.checked_add(last.checked_sub(first)?)
}

/// The paths in the dynamic linker's list, by what was added to the addresses of each file; and whether there were more
/// than are read.
fn library_names(core: &CoreDump) -> (HashMap<u64, String>, bool) {
    let mut names = HashMap::new();
    let (mut bytes, mut are_cut) = (0, false);
    let mut next = first_library(core);
    while let Some(library) = next.filter(|library| *library != 0) {
        let word = |offset: u64| core.word(library.checked_add(offset)?);
        let Some(bias) = word(0) else { break };
        let name = word(L_NAME).and_then(|at| text(core, at)).unwrap_or_default();
        bytes += name.len();
        if bytes > LIBRARY_NAME_BYTES || names.len() >= MODULES {
            are_cut = true;
            break;
        }
        // A list that leads back to itself ends here.
        if names.insert(bias, name).is_some() {
            break;
        }
        next = word(L_NEXT);
    }
    names.retain(|_, name| !name.is_empty());
    (names, are_cut)
}

/// Has a core note what debuggers read to find its binaries: the program headers and the dynamic section of the
/// executable, and the dynamic linker's list.
pub(super) fn note_list(core: &CoreDump) {
    let whole = |address: u64, size: usize| core.bytes(address, size);
    let _ = library_names(core);
    if let Some((bias, headers)) = own_headers(core) {
        let dynamic = headers.iter().find(|header| header.kind == PT_DYNAMIC);
        let size = |header: &ProgramHeader| header.memory_size.min(DYNAMIC_ENTRIES * 16) as usize;
        let _ = dynamic.and_then(|header| whole(bias.wrapping_add(header.address), size(header)));
    }
    let Some(debug) = debug_structure(core) else { return };
    let _ = whole(debug, R_DEBUG_BYTES);
    let mut next = debug.checked_add(R_MAP).and_then(|at| core.word(at));
    for _ in 0..MODULES {
        let Some(library) = next.filter(|library| *library != 0) else {
            break;
        };
        let _ = whole(library, LINK_MAP_BYTES);
        next = library.checked_add(L_NEXT).and_then(|at| core.word(at));
    }
}

fn first_library(core: &CoreDump) -> Option<u64> {
    core.word(debug_structure(core)?.checked_add(R_MAP)?)
}

/// Where `struct r_debug` is.
fn debug_structure(core: &CoreDump) -> Option<u64> {
    let (bias, headers) = own_headers(core)?;
    let dynamic = headers.iter().find(|header| header.kind == PT_DYNAMIC)?;
    let start = bias.wrapping_add(dynamic.address);
    (0..DYNAMIC_ENTRIES).find_map(|index| {
        let entry = start.checked_add(index * 16)?;
        (core.word(entry)? == DT_DEBUG).then(|| core.word(entry + 8)).flatten()
    })
}

/// The program headers of the executable, and what was added to its addresses.
fn own_headers(core: &CoreDump) -> Option<(u64, Vec<ProgramHeader>)> {
    let at = core.auxiliary(Auxiliary::ProgramHeaders)?;
    let headers: Vec<ProgramHeader> = (0..MODULE_SEGMENTS)
        .map_while(|index| {
            let bytes = core.bytes(
                at.checked_add(index * PROGRAM_HEADER_SIZE)?,
                PROGRAM_HEADER_SIZE as usize,
            )?;
            ProgramHeader::parse(&bytes)
        })
        .collect();
    let own = headers.iter().find(|header| header.kind == PT_PHDR)?;
    Some((at.wrapping_sub(own.address), headers))
}

/// Text up to a NUL.
fn text(core: &CoreDump, address: u64) -> Option<String> {
    let mut bytes = Vec::new();
    while bytes.len() < PATH_BYTES {
        let mut part = [0; 64];
        let read = core.read(address.checked_add(bytes.len() as u64)?, &mut part);
        let part = part.get(..read).filter(|part| !part.is_empty())?;
        if let Some(end) = memchr::memchr(0, part) {
            bytes.extend(part.get(..end)?);
            return Some(String::from_utf8_lossy(&bytes).into_owned()).filter(|text| !text.is_empty());
        }
        bytes.extend(part);
    }
    None
}
