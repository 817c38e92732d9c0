//! Finds the files of a crashed process's binaries: by build id where there is one, else by path and content.

use std::io::{ErrorKind, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use debugid::DebugId;
use minidump_unwind::SymbolFile;
use whycrash_evidence::readers::elf_core::{CoreDump, CoreModule};

use crate::costs::{Cap, Caps, Costs};
use crate::files::build_id::is_build_id;
use crate::files::cache::{Cache, Kept};
use crate::files::folders::Folders;
use crate::files::memory_image;
use crate::files::object_file::{ObjectFile, SupplementaryLink};
use crate::files::reach::{Reach, tidy};
use crate::files::symbol_file::{SymbolIdentity, SymbolKind};
use crate::process::modules::{LoadedModule, LoadedModules, Place, Remote, Wants};

/// Where distributions put separate debug files.
const SYSTEM_DEBUG: &str = "/usr/lib/debug";
/// Bytes of memory for binaries and debug files that are kept open.
const OPENED_BYTES: u64 = 1 << 30;
/// Bytes of memory for symbol files that are kept parsed; those of large libraries take hundreds of MiB.
const SYMBOL_FILE_BYTES: u64 = 1 << 30;
/// Longest symbol file; that of a browser's main library has about 1 GiB.
const MAX_SYMBOL_FILE: u64 = 2 << 30;
const PAGE: u64 = 4096;

/// Opens binaries and debug files, and remembers what it opened and what was no ELF file.
#[derive(Debug)]
pub(crate) struct Finder {
    reach: Arc<Reach>,
    folders: Folders,
    opened: Cache<ObjectFile>,
    symbol_files: Cache<ParsedSymbols>,
}

/// A Breakpad symbol file.
#[derive(Debug)]
struct ParsedSymbols {
    symbols: Arc<SymbolFile>,
    /// Bytes of the text it was parsed from.
    text_bytes: u64,
}

impl Kept for ParsedSymbols {
    fn held(&self) -> u64 {
        // A line of some 20 bytes becomes an entry of as many, in tables that are half empty at worst.
        self.text_bytes.saturating_mul(2)
    }
}

impl Finder {
    /// Finds files in these folders, in the store by their ids, and on this machine where `local_files` allows it.
    pub(crate) fn new(folders: Vec<PathBuf>, store: Option<PathBuf>, local_files: bool) -> Self {
        let reach = Arc::new(Reach::new(folders, store, local_files));
        Self {
            folders: Folders::new(&reach),
            reach,
            opened: Cache::new(OPENED_BYTES),
            symbol_files: Cache::new(SYMBOL_FILE_BYTES),
        }
    }

    /// The modules of a core, whose files are found when they are asked for.
    pub(crate) fn modules<'a>(&'a self, core: &'a CoreDump, costs: &'a Costs) -> LoadedModules<'a> {
        self.look_at_folders(costs);
        LoadedModules::new(self, core, costs)
    }

    /// Lists the symbol folders, and says when they are too large for that.
    pub(crate) fn look_at_folders(&self, costs: &Costs) {
        if self.folders.is_cut() {
            costs.caps.hit(Cap::SymbolFolders);
        }
    }

    /// The files of a module of a core.
    pub(crate) fn module(&self, core: &CoreDump, module: &CoreModule, costs: &Costs) -> LoadedModule {
        let binary = self.binary(core, module, costs);
        let build_id = id_of(module).or(binary.as_ref().and_then(|binary| binary.build_id.as_deref()));
        let debug = self.debug_file(build_id, binary.as_deref(), costs);
        let bias = module
            .bias
            .or_else(|| binary.as_ref().and_then(|binary| bias(core, module, binary)));
        let build_id = build_id.map(str::to_owned);
        self.loaded(binary, debug, bias.map(Place::Bias), build_id.as_deref(), costs)
    }

    /// The files of a binary that was mapped at `start` and is known by its path and build id alone.
    pub(crate) fn module_with_id(&self, path: &str, build_id: Option<&str>, start: u64, costs: &Costs) -> LoadedModule {
        let Some(build_id) = build_id.filter(|id| is_build_id(id)) else {
            return LoadedModule::default();
        };
        let same = |file: &Arc<ObjectFile>| file.build_id.as_deref() == Some(build_id);
        let name = Path::new(path).file_name().unwrap_or_default().to_string_lossy();
        let local = self.reach.local_files().then(|| PathBuf::from(path));
        let binary = self
            .folders
            .files(Some(build_id), &name)
            .into_iter()
            .chain(local)
            .filter_map(|path| self.open(&path, costs))
            .find(|file| file.has_code() && same(file));
        let debug = self.debug_file(Some(build_id), binary.as_deref(), costs);
        // A debug file has the segments of its binary.
        let bias = binary.iter().chain(&debug).find_map(|file| file.bias_at(start));
        let place = bias.map_or(Place::Start(start), Place::Bias);
        self.loaded(binary, debug, Some(place), Some(build_id), costs)
    }

    /// A module of these files, with the servers to ask for what it lacks.
    fn loaded(
        &self,
        binary: Option<Arc<ObjectFile>>,
        debug: Option<Arc<ObjectFile>>,
        place: Option<Place>,
        build_id: Option<&str>,
        costs: &Costs,
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
        let servers = costs.servers.as_ref();
        let remote = servers
            .zip(build_id)
            .filter(|_| wants.debug || wants.binary)
            .map(|(servers, build_id)| Remote::new(servers, &self.reach, build_id, wants));
        LoadedModule { remote, ..module }
    }

    /// The Breakpad symbol file for a debug id. Says so in `caps` when it is too large.
    pub(crate) fn symbol_file(&self, id: DebugId, caps: &Caps) -> Option<Arc<SymbolFile>> {
        let file = self.reach.find(&self.folders.symbol_file(id)?).ok()?;
        if file.bytes() > MAX_SYMBOL_FILE {
            caps.hit(Cap::SymbolFile);
            return None;
        }
        let parsed = self.symbol_files.get(&file, || {
            let symbols = SymbolFile::parse(file.open().ok()?.take(MAX_SYMBOL_FILE), |_| ()).ok();
            tracing::debug!(path = %file.path().display(), found = symbols.is_some(), "opened a symbol file");
            Some(ParsedSymbols {
                symbols: Arc::new(symbols?),
                text_bytes: file.bytes(),
            })
        });
        parsed.map(|parsed| Arc::clone(&parsed.symbols))
    }

    /// Whether there is a Breakpad symbol file for a debug id.
    pub(crate) fn has_symbol_file(&self, id: DebugId) -> bool {
        self.folders.symbol_file(id).is_some()
    }

    /// True for a file of the symbol folders: somebody put it there for this.
    pub(crate) fn is_given(&self, file: &ObjectFile) -> bool {
        self.reach.is_in_folders(&file.path)
    }

    fn binary(&self, core: &CoreDump, module: &CoreModule, costs: &Costs) -> Option<Arc<ObjectFile>> {
        if module.path == "[vdso]" {
            return in_memory(core, module);
        }
        let path = module.path.strip_suffix(" (deleted)").unwrap_or(&module.path);
        let name = Path::new(path).file_name()?.to_string_lossy();
        let local = self.reach.local_files().then(|| PathBuf::from(path));
        self.folders
            .files(id_of(module), &name)
            .into_iter()
            .chain(local)
            .filter_map(|path| self.open(&path, costs))
            .find(|file| file.has_code() && is_same(core, module, file))
            .or_else(|| memory_image::object_file(core, module, costs).map(Arc::new))
    }

    /// The separate debug file of a binary that has no DWARF of its own: by build id, then by the name that the binary
    /// gives.
    fn debug_file(
        &self,
        build_id: Option<&str>,
        binary: Option<&ObjectFile>,
        costs: &Costs,
    ) -> Option<Arc<ObjectFile>> {
        if binary.is_some_and(ObjectFile::has_dwarf) {
            return None;
        }
        let link = binary.and_then(|binary| binary.debug_link.as_ref());
        let name = link.map_or("", |link| &link.name);
        let mut candidates = self.folders.files(build_id, name);
        if self.reach.local_files() {
            let place = build_id.and_then(|id| SymbolIdentity::elf_place(id, SymbolKind::DebugInfo));
            candidates.extend(place.map(|place| Path::new(SYSTEM_DEBUG).join(place)));
            candidates.extend(
                link.zip(binary)
                    .map_or_else(Vec::new, |(link, binary)| beside(&binary.path, &link.name)),
            );
        }
        let mut files = candidates.into_iter().filter_map(|path| self.open(&path, costs));
        files.find(|file| {
            let same = match (build_id, file.build_id.as_deref()) {
                (Some(wanted), Some(found)) => wanted == found,
                // One without an id is known by its name and checksum.
                (_, _) => link.is_some_and(|link| {
                    // Once a file, but a folder may have many of one name.
                    let paid = costs.spend(file.bytes.len() as u64);
                    paid.is_some() && file.checksum() == link.checksum
                }),
            };
            same && !file.has_code() | file.has_dwarf()
        })
    }

    /// The supplementary file of a debug file: where its link says, by build id, or by its name in the symbol folders.
    fn supplementary(&self, file: &ObjectFile, link: &SupplementaryLink) -> Option<Arc<ObjectFile>> {
        let name = Path::new(&link.path).file_name().unwrap_or_default().to_string_lossy();
        let folder = file.path.parent()?;
        let mut candidates = vec![tidy(&folder.join(&link.path)), folder.join(&*name)];
        candidates.extend(self.folders.files(Some(&link.id), &name));
        if self.reach.local_files() {
            let place = SymbolIdentity::elf_place(&link.id, SymbolKind::DebugInfo);
            candidates.extend(place.map(|place| Path::new(SYSTEM_DEBUG).join(place)));
        }
        let mut files = candidates
            .into_iter()
            .filter_map(|path| ObjectFile::find(&path, &self.reach));
        files.find(|file| file.is_supplement(link)).map(Arc::new)
    }

    fn open(&self, path: &Path, costs: &Costs) -> Option<Arc<ObjectFile>> {
        let file = match self.reach.find(path) {
            Ok(file) => file,
            Err(error) => {
                if error.kind() == ErrorKind::FileTooLarge {
                    costs.caps.hit(Cap::SymbolFile);
                }
                return None;
            }
        };
        self.opened.get(&file, || {
            let opened = ObjectFile::open(&file, &self.reach);
            tracing::debug!(path = %path.display(), found = opened.is_some(), "opened a binary");
            let opened = opened?;
            if let Some(link) = opened.supplementary_link() {
                opened.set_supplementary(self.supplementary(&opened, &link));
            }
            Some(opened)
        })
    }
}

/// The build id of a binary, if that is one.
fn id_of(module: &CoreModule) -> Option<&str> {
    module.build_id.as_deref().filter(|id| is_build_id(id))
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
    if let Some(wanted) = id_of(module) {
        return file.build_id.as_deref() == Some(wanted);
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
