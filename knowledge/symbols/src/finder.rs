//! Finds the files of a crashed process's binaries: by build id where there is one, else by path and content.

use std::collections::HashMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use whycrash_evidence::readers::elf_core::{CoreDump, CoreModule};

use crate::Sources;
use crate::modules::{LoadedModule, LoadedModules};
use crate::object_file::ObjectFile;
use crate::symbol_file::{SymbolFile, SymbolKind};

/// Where distributions put separate debug files.
const SYSTEM_DEBUG: &str = "/usr/lib/debug";
/// Files of the symbol folders that are looked at.
const MAX_FOLDER_FILES: usize = 100_000;
/// Opened files that are kept. A training process maps a few hundred.
const MAX_OPENED: usize = 1024;
const PAGE: u64 = 4096;

/// Opens binaries and debug files, and remembers what it opened and what was no ELF file.
#[derive(Debug)]
pub(crate) struct Finder {
    sources: Sources,
    folders: OnceLock<FolderIndex>,
    opened: Mutex<HashMap<PathBuf, Option<Arc<ObjectFile>>>>,
}

/// The files in the symbol folders.
#[derive(Debug, Default)]
struct FolderIndex {
    by_name: HashMap<String, Vec<PathBuf>>,
    by_build_id: HashMap<String, Vec<PathBuf>>,
}

impl Finder {
    pub(crate) fn new(sources: Sources) -> Self {
        Self {
            sources,
            folders: OnceLock::new(),
            opened: Mutex::default(),
        }
    }

    /// The files of every module of a core.
    pub(crate) fn modules(&self, core: &CoreDump) -> LoadedModules {
        LoadedModules(core.modules.iter().map(|module| self.module(core, module)).collect())
    }

    fn module(&self, core: &CoreDump, module: &CoreModule) -> LoadedModule {
        let binary = self.binary(core, module);
        let build_id = module
            .build_id
            .as_deref()
            .or(binary.as_ref().and_then(|binary| binary.build_id.as_deref()));
        let debug = match &binary {
            Some(binary) if binary.has_dwarf() => None,
            _ => self.debug_file(build_id, binary.as_deref()),
        };
        let bias = module
            .bias
            .or_else(|| binary.as_ref().and_then(|binary| bias(core, module, binary)));
        LoadedModule { binary, debug, bias }
    }

    fn binary(&self, core: &CoreDump, module: &CoreModule) -> Option<Arc<ObjectFile>> {
        if module.path == "[vdso]" {
            return in_memory(core, module);
        }
        let path = module.path.strip_suffix(" (deleted)").unwrap_or(&module.path);
        let name = Path::new(path).file_name()?.to_string_lossy();
        let local = self.sources.local_files.then(|| PathBuf::from(path));
        self.in_folders(module.build_id.as_deref(), &name)
            .into_iter()
            .chain(local)
            .filter_map(|path| self.open(&path))
            .find(|file| file.has_code() && is_same(core, module, file))
    }

    /// The separate debug file of a binary: by build id, then by the name that the binary gives.
    fn debug_file(&self, build_id: Option<&str>, binary: Option<&ObjectFile>) -> Option<Arc<ObjectFile>> {
        let link = binary.and_then(|binary| binary.debug_link.as_deref());
        let mut candidates = self.in_folders(build_id, link.unwrap_or_default());
        if self.sources.local_files {
            let place = build_id.and_then(|id| SymbolFile::elf_place(id, SymbolKind::DebugInfo));
            candidates.extend(place.map(|place| Path::new(SYSTEM_DEBUG).join(place)));
            candidates.extend(
                link.zip(binary)
                    .map_or_else(Vec::new, |(link, binary)| beside(&binary.path, link)),
            );
        }
        candidates.into_iter().filter_map(|path| self.open(&path)).find(|file| {
            let same = match (build_id, file.build_id.as_deref()) {
                (Some(wanted), Some(found)) => wanted == found,
                // A debug file without an id is one by its name alone.
                (_, _) => true,
            };
            same && !file.has_code() | file.has_dwarf()
        })
    }

    /// Files of the symbol folders with this build id, then those with this name; of several with the id, one with the
    /// name first.
    fn in_folders(&self, build_id: Option<&str>, name: &str) -> Vec<PathBuf> {
        let index = self.folders.get_or_init(|| FolderIndex::of(&self.sources.folders));
        let by_id = build_id.and_then(|id| index.by_build_id.get(id));
        let mut found = by_id.cloned().unwrap_or_default();
        found.sort_by_key(|path| path.file_name().is_none_or(|found| found != name));
        // What was put where debuggers look since the folders were listed.
        found.extend(build_id.into_iter().flat_map(|id| self.placed(id)));
        found.extend(index.by_name.get(name).into_iter().flatten().cloned());
        found
    }

    /// Files at the place that the build id gives them below a symbol folder.
    fn placed(&self, build_id: &str) -> Vec<PathBuf> {
        let places = [SymbolKind::Executable, SymbolKind::DebugInfo].map(|kind| SymbolFile::elf_place(build_id, kind));
        let folders = self.sources.folders.iter();
        folders
            .flat_map(|folder| places.iter().flatten().map(|place| folder.join(place)))
            .filter(|path| path.is_file())
            .collect()
    }

    fn open(&self, path: &Path) -> Option<Arc<ObjectFile>> {
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = opened.get(path) {
            return known.clone();
        }
        if opened.len() >= MAX_OPENED {
            opened.clear();
        }
        let file = ObjectFile::open(path).map(Arc::new);
        tracing::debug!(path = %path.display(), found = file.is_some(), "opened a binary");
        opened.insert(path.to_owned(), file.clone());
        file
    }
}

impl FolderIndex {
    fn of(folders: &[PathBuf]) -> Self {
        let mut index = Self::default();
        let mut pending = folders.to_vec();
        let mut seen = 0;
        while let Some(folder) = pending.pop() {
            let entries = std::fs::read_dir(&folder).into_iter().flatten().flatten();
            for entry in entries {
                seen += 1;
                if seen > MAX_FOLDER_FILES {
                    tracing::warn!(
                        limit = MAX_FOLDER_FILES,
                        "the symbol folders hold more files than are looked at"
                    );
                    return index;
                }
                let path = entry.path();
                // A link to a folder could lead back to itself.
                if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    pending.push(path);
                } else {
                    index.add(path);
                }
            }
        }
        index
    }

    fn add(&mut self, path: PathBuf) {
        let mut magic = [0; 4];
        let is_elf = File::open(&path)
            .and_then(|mut file| file.read_exact(&mut magic))
            .is_ok()
            && &magic == b"\x7fELF";
        if !is_elf {
            return;
        }
        if let Some(build_id) = ObjectFile::open(&path).and_then(|file| file.build_id) {
            self.by_build_id.entry(build_id).or_default().push(path.clone());
        }
        if let Some(name) = path.file_name() {
            self.by_name
                .entry(name.to_string_lossy().into_owned())
                .or_default()
                .push(path);
        }
    }
}

/// Where a debug link may lead, in the order that debuggers look.
fn beside(binary: &Path, link: &str) -> Vec<PathBuf> {
    let Some(folder) = binary.parent() else {
        return Vec::new();
    };
    let below = folder.strip_prefix("/").unwrap_or(folder);
    vec![
        folder.join(link),
        folder.join(".debug").join(link),
        Path::new(SYSTEM_DEBUG).join(below).join(link),
    ]
}

/// A binary whose whole file is in memory, as the vDSO is.
fn in_memory(core: &CoreDump, module: &CoreModule) -> Option<Arc<ObjectFile>> {
    let len = usize::try_from(module.end - module.start).ok()?;
    let bytes = core.bytes(module.start, len)?;
    ObjectFile::parse(Path::new(&module.path), &bytes.into()).map(Arc::new)
}

/// True when a file is the one that was mapped: the same build id, or where the core has none, the same headers, or
/// where it has no headers either, a size that agrees.
fn is_same(core: &CoreDump, module: &CoreModule, file: &ObjectFile) -> bool {
    if let Some(wanted) = &module.build_id {
        return file.build_id.as_ref() == Some(wanted);
    }
    let headers = (0..PAGE as usize)
        .rev()
        .step_by(64)
        .map(|last| last + 1)
        .find_map(|len| core.bytes(module.start, len));
    if let Some(headers) = headers.filter(|headers| headers.starts_with(b"\x7fELF")) {
        let len = headers.len().min(file.bytes.len()).min(HEADERS);
        return headers.get(..len) == file.bytes.get(..len);
    }
    let mapped = core.mappings.iter().filter(|mapping| mapping.path == module.path);
    let end = mapped
        .map(|mapping| mapping.file_offset.saturating_add(mapping.end - mapping.start))
        .max();
    end.is_some_and(|end| end <= (file.bytes.len() as u64).next_multiple_of(PAGE))
}

/// The ELF header and the first program headers: enough to tell two builds apart.
const HEADERS: usize = 64 + 8 * 56;

/// The bias of a module whose headers are not in the core: from any mapping that one of the file's segments made.
fn bias(core: &CoreDump, module: &CoreModule, file: &ObjectFile) -> Option<u64> {
    let mut mappings = core
        .mappings
        .iter()
        .filter(|mapping| mapping.path == module.path && mapping.start >= module.start && mapping.end <= module.end);
    mappings.find_map(|mapping| {
        let segment = file
            .segments
            .iter()
            .find(|segment| segment.offset / PAGE == mapping.file_offset / PAGE)?;
        Some(mapping.start.wrapping_sub(segment.address & !(PAGE - 1)))
    })
}
