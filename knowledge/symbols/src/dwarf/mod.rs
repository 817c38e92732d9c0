//! Functions and lines from DWARF, inlined ones included.

pub(crate) mod bounds;
pub(crate) mod calls;
pub(crate) mod gpu_lines;
pub(crate) mod names;
pub(crate) mod units;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use addr2line::{LookupContinuation, LookupResult, SplitDwarfLoad};
use gimli::{Reader as _, SectionId};

use crate::costs::Caps;
use crate::dwarf::bounds::Bounds;
use crate::dwarf::calls::Calls;
use crate::dwarf::names::{Names, UnitKey, key_of};
use crate::dwarf::units::{Info, Lookup, Sections, Units};
use crate::files::object_file::ObjectFile;
use crate::files::reach::{Reach, tidy};
use crate::files::shared::{Reader, Shared};

/// The debug information of one file.
pub(crate) struct Dwarf {
    units: Units,
    names: Names,
    calls: HashMap<(UnitKey, usize), Option<Arc<Calls>>>,
    splits: Splits,
}

/// Where split units may be.
struct Splits {
    /// What may be opened; nothing for a binary that is only in a core, whose path is but a name.
    reach: Option<Arc<Reach>>,
    /// Folder of the file, where they may lie beside it.
    folder: PathBuf,
    /// The package of them (`.dwp`) that lies there.
    package: Option<gimli::DwarfPackage<Reader>>,
    /// The caps that were hit, of the file.
    caps: Arc<Caps>,
}

/// A function that an address is in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Function {
    /// Qualified name without parameters; absent where the line table alone knows the address.
    pub(crate) name: Option<String>,
    pub(crate) file: Option<String>,
    pub(crate) line: Option<u32>,
}

impl std::fmt::Debug for Dwarf {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Dwarf")
            .field("folder", &self.splits.folder)
            .finish_non_exhaustive()
    }
}

impl Dwarf {
    /// Reads the index of a file's units; functions and lines are read when an address asks for them.
    pub(crate) fn load(file: &ObjectFile) -> Self {
        let supplementary = file.supplementary().map(sections);
        let sections = Arc::new(sections(file).with_supplementary(supplementary));
        Self {
            units: Units::new(Arc::clone(&sections), Arc::clone(&file.caps)),
            names: Names::new(&sections),
            calls: HashMap::new(),
            splits: Splits::beside(file),
        }
    }

    /// The functions at an address of the file, the innermost inlined one first.
    pub(crate) fn functions_at(&mut self, address: u64) -> Vec<Function> {
        let Self {
            units, names, splits, ..
        } = self;
        let found = units.ask(address, |lookup| {
            let functions = functions(lookup, names, splits, address)?;
            Ok((!functions.is_empty()).then_some(functions))
        });
        found.unwrap_or_default()
    }

    /// The calls of the function that an address of the file is in.
    pub(crate) fn calls_at(&mut self, address: u64) -> Option<Arc<Calls>> {
        let Self {
            units,
            names,
            calls,
            splits,
        } = self;
        units.ask(address, |Lookup { context, start }| {
            let mut frames = resolve(context.find_frames(address), splits)?;
            let mut function = None;
            while let Some(frame) = frames.next()? {
                function = frame.dw_die_offset;
            }
            let unit = resolve(context.find_dwarf_and_unit(address), splits);
            let Some((unit, offset)) = unit.zip(function) else {
                return Ok(None);
            };
            let known = calls.entry((key_of(&unit, *start), offset.0));
            let read = || calls::read(names, &unit, offset).map(Arc::new);
            Ok(known.or_insert_with(read).clone())
        })
    }
}

/// The sections of a file, `.debug_info` unpacked as far as it is asked for.
fn sections(file: &ObjectFile) -> Sections {
    let name = SectionId::DebugInfo.name();
    let info = match file.packed(name) {
        Some(packed) => Info::packed(packed),
        None => Info::Plain(section(file, name)),
    };
    Sections::load(info, |id| file.section(id.name()))
}

fn section(file: &ObjectFile, name: &str) -> Shared {
    file.section(name).unwrap_or_else(|| Vec::new().into())
}

fn functions(
    lookup: &Lookup<'_>,
    names: &mut Names,
    splits: &Splits,
    address: u64,
) -> Result<Vec<Function>, gimli::Error> {
    let Lookup { context, start } = *lookup;
    let mut frames = resolve(context.find_frames(address), splits)?;
    let unit = resolve(context.find_dwarf_and_unit(address), splits);
    let mut functions = Vec::new();
    loop {
        let frame = match frames.next() {
            Ok(Some(frame)) => frame,
            Err(error) if functions.is_empty() => return Err(error),
            Ok(None) | Err(_) => break,
        };
        let name = unit
            .as_ref()
            .zip(frame.dw_die_offset)
            .and_then(|(unit, offset)| names.function(unit, key_of(unit, start), offset));
        let location = frame.location;
        functions.push(Function {
            name,
            file: location.as_ref().and_then(|location| location.file.map(str::to_owned)),
            line: location.and_then(|location| location.line),
        });
    }
    Ok(functions)
}

/// Answers a lookup, opening split units as it asks for them.
fn resolve<L: LookupContinuation<Buf = Reader>>(mut lookup: LookupResult<L>, splits: &Splits) -> L::Output {
    loop {
        lookup = match lookup {
            LookupResult::Output(output) => return output,
            LookupResult::Load { load, continuation } => continuation.resume(splits.unit(&load)),
        };
    }
}

impl Splits {
    fn beside(file: &ObjectFile) -> Self {
        let path = &file.path;
        let reach = file.reach().cloned();
        let package = package_names(path).into_iter().find_map(|path| {
            let file = ObjectFile::find(&path, reach.as_ref()?)?;
            let empty = Shared::from(Vec::new()).reader();
            let section = |id: SectionId| {
                let section = id.dwo_name().and_then(|name| file.section(name));
                Ok::<_, gimli::Error>(section.map_or_else(|| empty.clone(), Shared::reader))
            };
            gimli::DwarfPackage::load(section, empty.clone()).ok()
        });
        Self {
            reach,
            folder: path.parent().unwrap_or(Path::new("")).to_owned(),
            package,
            caps: Arc::clone(&file.caps),
        }
    }

    /// A split unit, when it is no more than its size.
    fn unit(&self, load: &SplitDwarfLoad<Reader>) -> Option<Arc<gimli::Dwarf<Reader>>> {
        let unit = self.find(load)?;
        match Bounds::default().check(&unit) {
            Ok(()) => Some(unit),
            Err(cap) => {
                self.caps.hit(cap);
                None
            }
        }
    }

    /// From the package, or the file (`.dwo`) where its path says, or beside the binary under its name.
    fn find(&self, load: &SplitDwarfLoad<Reader>) -> Option<Arc<gimli::Dwarf<Reader>>> {
        let packed = self
            .package
            .as_ref()
            .and_then(|package| package.find_cu(load.dwo_id, &load.parent).ok()?);
        if let Some(unit) = packed {
            return Some(Arc::new(unit));
        }
        let text = |reader: &Reader| reader.to_string_lossy().map(|text| PathBuf::from(text.as_ref())).ok();
        let reach = self.reach.as_ref()?;
        let path = text(load.path.as_ref()?)?;
        let compiled_in = load.comp_dir.as_ref().and_then(text).unwrap_or_default();
        let beside = path.file_name().map(|name| self.folder.join(name));
        [Some(tidy(&compiled_in.join(&path))), beside]
            .into_iter()
            .flatten()
            .find_map(|path| {
                let file = ObjectFile::find(&path, reach)?;
                let info = Info::Plain(section(&file, SectionId::DebugInfo.dwo_name()?));
                let mut dwarf = Sections::load(info, |id| file.section(id.dwo_name()?)).dwarf();
                let is_it = unit_id(&dwarf).is_none_or(|id| id == load.dwo_id);
                dwarf.make_dwo(&load.parent);
                is_it.then(|| Arc::new(dwarf))
            })
    }
}

/// How the package of `program`, or of `program.debug`, may be called.
fn package_names(path: &Path) -> Vec<PathBuf> {
    let appended = |path: &Path| {
        let mut name = path.as_os_str().to_owned();
        name.push(".dwp");
        PathBuf::from(name)
    };
    let is_debug = path.extension().is_some_and(|extension| extension == "debug");
    let mut names = vec![appended(path)];
    names.extend(is_debug.then(|| appended(&path.with_extension(""))));
    names
}

/// The id that ties a split unit to its skeleton.
fn unit_id(dwarf: &gimli::Dwarf<Reader>) -> Option<gimli::DwoId> {
    let header = dwarf.units().next().ok()??;
    dwarf.unit(header).ok()?.dwo_id
}
