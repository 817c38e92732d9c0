//! Finds the files of a crashed process's binaries: by build id where there is one, else by path and content.

use std::collections::HashMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use debugid::DebugId;
use minidump_unwind::SymbolFile;
use whycrash_evidence::readers::elf_core::{CoreDump, CoreModule};

use crate::Sources;
use crate::costs::{Cap, Caps, Costs};
use crate::memory_image;
use crate::modules::{LoadedModule, LoadedModules, Place, Remote, Wants};
use crate::object_file::{ObjectFile, SupplementaryLink};
use crate::symbol_file::{SymbolIdentity, SymbolKind};

/// Where distributions put separate debug files.
const SYSTEM_DEBUG: &str = "/usr/lib/debug";
/// Files of the symbol folders that are looked at.
const MAX_FOLDER_FILES: usize = 100_000;
/// Opened files that are kept. A training process maps a few hundred.
const MAX_OPENED: usize = 1024;
/// Parsed symbol files that are kept; those of large libraries take hundreds of MiB.
const MAX_SYMBOL_FILES: usize = 64;
/// Longest symbol file; that of a browser's main library has about 1 GiB.
const MAX_SYMBOL_FILE: u64 = 4 << 30;
/// Longest first line of a symbol file that is looked at.
const MAX_MODULE_LINE: u64 = 4096;
const PAGE: u64 = 4096;

/// Opens binaries and debug files, and remembers what it opened and what was no ELF file.
#[derive(Debug)]
pub(crate) struct Finder {
    sources: Sources,
    /// Files of the symbol folders that are looked at.
    max_files: usize,
    /// Listed when it is first asked for.
    folders: Mutex<Option<Arc<FolderIndex>>>,
    opened: Mutex<HashMap<PathBuf, Option<Arc<ObjectFile>>>>,
    symbol_files: Mutex<HashMap<PathBuf, Option<Arc<SymbolFile>>>>,
}

/// The files in the symbol folders.
#[derive(Debug, Default)]
struct FolderIndex {
    by_name: HashMap<String, Vec<PathBuf>>,
    by_build_id: HashMap<String, Vec<PathBuf>>,
    /// Breakpad symbol files by the debug id of what they describe.
    symbol_files: HashMap<DebugId, PathBuf>,
    /// Set when there are more files than are looked at.
    is_cut: bool,
}

impl Finder {
    pub(crate) fn new(mut sources: Sources) -> Self {
        // An empty part of a list of folders is not the working directory.
        sources.folders.retain(|folder| !folder.as_os_str().is_empty());
        Self {
            sources,
            max_files: MAX_FOLDER_FILES,
            folders: Mutex::default(),
            opened: Mutex::default(),
            symbol_files: Mutex::default(),
        }
    }

    /// The files of every module of a core.
    pub(crate) fn modules(&self, core: &CoreDump, costs: &Costs) -> LoadedModules {
        self.next_artifact();
        self.look_at_folders(costs);
        let modules = core.modules.iter();
        LoadedModules(modules.map(|module| self.module(core, module, costs)).collect())
    }

    /// Lists the symbol folders, and says when they are too large for that.
    pub(crate) fn look_at_folders(&self, costs: &Costs) {
        if self.index().is_cut {
            costs.caps.hit(Cap::SymbolFolders);
        }
    }

    /// Gives the time that servers may cost anew.
    pub(crate) fn next_artifact(&self) {
        if let Some(servers) = &self.sources.debuginfod {
            servers.next_artifact();
        }
    }

    fn module(&self, core: &CoreDump, module: &CoreModule, costs: &Costs) -> LoadedModule {
        let binary = self.binary(core, module, costs);
        let build_id = module
            .build_id
            .as_ref()
            .or(binary.as_ref().and_then(|binary| binary.build_id.as_ref()))
            .cloned();
        let debug = self.debug_file(build_id.as_deref(), binary.as_deref());
        let bias = module
            .bias
            .or_else(|| binary.as_ref().and_then(|binary| bias(core, module, binary)));
        self.loaded(binary, debug, bias.map(Place::Bias), build_id.as_deref())
    }

    /// The files of a binary that was mapped at `start` and is known by its path and build id alone.
    pub(crate) fn module_with_id(&self, path: &str, build_id: Option<&str>, start: u64) -> LoadedModule {
        let Some(build_id) = build_id else {
            return LoadedModule::default();
        };
        let same = |file: &Arc<ObjectFile>| file.build_id.as_deref() == Some(build_id);
        let name = Path::new(path).file_name().unwrap_or_default().to_string_lossy();
        let local = self.sources.local_files.then(|| PathBuf::from(path));
        let binary = self
            .in_folders(Some(build_id), &name)
            .into_iter()
            .chain(local)
            .filter_map(|path| self.open(&path))
            .find(|file| file.has_code() && same(file));
        let debug = self.debug_file(Some(build_id), binary.as_deref());
        // A debug file has the segments of its binary.
        let bias = binary.iter().chain(&debug).find_map(|file| file.bias_at(start));
        let place = bias.map_or(Place::Start(start), Place::Bias);
        self.loaded(binary, debug, Some(place), Some(build_id))
    }

    /// A module of these files, with the servers to ask for what it lacks.
    fn loaded(
        &self,
        binary: Option<Arc<ObjectFile>>,
        debug: Option<Arc<ObjectFile>>,
        place: Option<Place>,
        build_id: Option<&str>,
    ) -> LoadedModule {
        let module = LoadedModule {
            binary,
            debug,
            place,
            remote: None,
        };
        let has_dwarf = module.local_files().any(|file| file.has_dwarf());
        let has_code = module.local_files().any(|file| file.has_code());
        let wants = Wants {
            debug: !has_dwarf && module.debug.is_none(),
            binary: !has_code,
        };
        let servers = self.sources.debuginfod.as_ref();
        let remote = servers
            .zip(build_id)
            .filter(|_| wants.debug || wants.binary)
            .map(|(servers, build_id)| Remote::new(servers, build_id, wants));
        LoadedModule { remote, ..module }
    }

    /// The Breakpad symbol file for a debug id. Says so in `caps` when it is too large.
    pub(crate) fn symbol_file(&self, id: DebugId, caps: &Caps) -> Option<Arc<SymbolFile>> {
        let index = self.index();
        let path = index.symbol_files.get(&id)?;
        let mut opened = self.symbol_files.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = opened.get(path) {
            return known.clone();
        }
        if opened.len() >= MAX_SYMBOL_FILES {
            opened.clear();
        }
        let is_small = std::fs::metadata(path).is_ok_and(|about| about.len() <= MAX_SYMBOL_FILE);
        if !is_small {
            caps.hit(Cap::SymbolFile);
            return None;
        }
        let file = SymbolFile::from_file(path).ok().map(Arc::new);
        tracing::debug!(path = %path.display(), found = file.is_some(), "opened a symbol file");
        opened.insert(path.clone(), file.clone());
        file
    }

    /// Whether there is a Breakpad symbol file for a debug id.
    pub(crate) fn has_symbol_file(&self, id: DebugId) -> bool {
        self.index().symbol_files.contains_key(&id)
    }

    /// True for a file of the symbol folders: somebody put it there for this.
    pub(crate) fn is_given(&self, file: &ObjectFile) -> bool {
        self.sources.folders.iter().any(|folder| file.path.starts_with(folder))
    }

    fn index(&self) -> Arc<FolderIndex> {
        let mut listed = self.folders.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(listed.get_or_insert_with(|| Arc::new(FolderIndex::of(&self.sources.folders, self.max_files))))
    }

    /// Has the symbol folders listed again when they are next asked for.
    pub(crate) fn forget_folders(&self) {
        *self.folders.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    fn binary(&self, core: &CoreDump, module: &CoreModule, costs: &Costs) -> Option<Arc<ObjectFile>> {
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
            .or_else(|| memory_image::object_file(core, module, costs).map(Arc::new))
    }

    /// The separate debug file of a binary that has no DWARF of its own: by build id, then by the name that the binary
    /// gives.
    fn debug_file(&self, build_id: Option<&str>, binary: Option<&ObjectFile>) -> Option<Arc<ObjectFile>> {
        if binary.is_some_and(ObjectFile::has_dwarf) {
            return None;
        }
        let link = binary.and_then(|binary| binary.debug_link.as_ref());
        let name = link.map_or("", |link| &link.name);
        let mut candidates = self.in_folders(build_id, name);
        if self.sources.local_files {
            let place = build_id.and_then(|id| SymbolIdentity::elf_place(id, SymbolKind::DebugInfo));
            candidates.extend(place.map(|place| Path::new(SYSTEM_DEBUG).join(place)));
            candidates.extend(
                link.zip(binary)
                    .map_or_else(Vec::new, |(link, binary)| beside(&binary.path, &link.name)),
            );
        }
        candidates.into_iter().filter_map(|path| self.open(&path)).find(|file| {
            let same = match (build_id, file.build_id.as_deref()) {
                (Some(wanted), Some(found)) => wanted == found,
                // One without an id is known by its name and checksum.
                (_, _) => link.is_some_and(|link| crc32fast::hash(&file.bytes) == link.checksum),
            };
            same && !file.has_code() | file.has_dwarf()
        })
    }

    /// The supplementary file of a debug file: where its link says, by build id, or by its name in the symbol folders.
    fn supplementary(&self, file: &ObjectFile, link: &SupplementaryLink) -> Option<Arc<ObjectFile>> {
        let name = Path::new(&link.path).file_name().unwrap_or_default().to_string_lossy();
        let mut candidates = vec![file.path.parent()?.join(&link.path)];
        candidates.extend(file.path.parent().map(|folder| folder.join(&*name)));
        candidates.extend(self.in_folders(Some(&link.id), &name));
        if self.sources.local_files {
            let place = SymbolIdentity::elf_place(&link.id, SymbolKind::DebugInfo);
            candidates.extend(place.map(|place| Path::new(SYSTEM_DEBUG).join(place)));
        }
        let mut files = candidates.into_iter().filter_map(|path| ObjectFile::open(&path));
        files.find(|file| file.is_supplement(link)).map(Arc::new)
    }

    /// Files of the symbol folders with this build id, then those with this name; of several with the id, one with the
    /// name first.
    fn in_folders(&self, build_id: Option<&str>, name: &str) -> Vec<PathBuf> {
        let index = self.index();
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
        let places =
            [SymbolKind::Executable, SymbolKind::DebugInfo].map(|kind| SymbolIdentity::elf_place(build_id, kind));
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
        if let Some((file, link)) = file.as_ref().and_then(|file| Some((file, file.supplementary_link()?)))
            && let Some(supplementary) = self.supplementary(file, &link)
        {
            file.set_supplementary(supplementary);
        }
        tracing::debug!(path = %path.display(), found = file.is_some(), "opened a binary");
        opened.insert(path.to_owned(), file.clone());
        file
    }
}

impl FolderIndex {
    fn of(folders: &[PathBuf], max_files: usize) -> Self {
        let mut index = Self::default();
        let mut pending = folders.to_vec();
        let mut seen = 0;
        while let Some(folder) = pending.pop() {
            let entries = std::fs::read_dir(&folder).into_iter().flatten().flatten();
            for entry in entries {
                seen += 1;
                if seen > max_files {
                    tracing::warn!(
                        limit = max_files,
                        "the symbol folders hold more files than are looked at"
                    );
                    index.is_cut = true;
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
        let mut head = Vec::new();
        let read = File::open(&path).and_then(|file| file.take(MAX_MODULE_LINE).read_to_end(&mut head));
        if read.is_err() {
            return;
        }
        if let Some(id) = symbol_file_id(&head) {
            self.symbol_files.insert(id, path);
            return;
        }
        if !head.starts_with(b"\x7fELF") {
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

/// The debug id in the first line of a Breakpad symbol file: `MODULE Linux x86_64 5A865AB2…0 name`.
fn symbol_file_id(head: &[u8]) -> Option<DebugId> {
    let line = head.strip_prefix(b"MODULE ")?.split(|byte| *byte == b'\n').next()?;
    let mut words = std::str::from_utf8(line).ok()?.split_ascii_whitespace();
    DebugId::from_breakpad(words.nth(2)?).ok()
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
    let mut file = ObjectFile::parse(Path::new(&module.path), &bytes.into())?;
    file.is_from_core = true;
    Some(Arc::new(file))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_beyond_the_cap_are_said() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        for name in ["a", "b", "c"] {
            std::fs::write(folder.path().join(name), name).expect("room");
        }
        let codes = |max_files| {
            let sources = Sources {
                folders: vec![folder.path().to_owned()],
                ..Sources::default()
            };
            let finder = Finder {
                max_files,
                ..Finder::new(sources)
            };
            let costs = Costs::new(&whycrash_evidence::Limits::default());
            finder.look_at_folders(&costs);
            let problems = costs.problems(std::iter::empty());
            problems.into_iter().map(|problem| problem.code).collect::<Vec<_>>()
        };
        assert_eq!(codes(3), [""; 0]);
        assert_eq!(codes(2), ["limit-symbol-folders"]);
    }
}
