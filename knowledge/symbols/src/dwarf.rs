//! Functions and lines from DWARF, inlined ones included.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use addr2line::{LookupContinuation, LookupResult, SplitDwarfLoad};
use gimli::Reader as _;

use crate::calls::{self, Calls};
use crate::dwarf_names::{Names, UnitKey, key_of};
use crate::object_file::ObjectFile;
use crate::shared::{Reader, Shared};
use crate::units::{Info, Lookup, Sections, Units};

/// The debug information of one file.
pub(crate) struct Dwarf {
    units: Units,
    names: Names,
    calls: HashMap<(UnitKey, usize), Option<Arc<Calls>>>,
    /// Folder of the file, where split units may lie beside it.
    folder: PathBuf,
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
            .field("folder", &self.folder)
            .finish_non_exhaustive()
    }
}

impl Dwarf {
    /// Reads the index of a file's units; functions and lines are read when an address asks for them.
    pub(crate) fn load(file: &ObjectFile) -> Self {
        let info = match file.packed(gimli::SectionId::DebugInfo.name()) {
            Some(packed) => Info::packed(packed),
            None => Info::Plain(section(file, gimli::SectionId::DebugInfo.name())),
        };
        let sections = Arc::new(Sections::load(info, |id| file.section(id.name())));
        Self {
            units: Units::new(Arc::clone(&sections)),
            names: Names::new(sections),
            calls: HashMap::new(),
            folder: file.path.parent().unwrap_or(Path::new("")).to_owned(),
        }
    }

    /// The functions at an address of the file, the innermost inlined one first.
    pub(crate) fn functions_at(&mut self, address: u64) -> Vec<Function> {
        let Self {
            units, names, folder, ..
        } = self;
        let found = units.ask(address, |lookup| {
            let functions = functions(lookup, names, folder, address)?;
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
            folder,
        } = self;
        units.ask(address, |Lookup { context, start }| {
            let mut frames = resolve(context.find_frames(address), folder)?;
            let mut function = None;
            while let Some(frame) = frames.next()? {
                function = frame.dw_die_offset;
            }
            let unit = resolve(context.find_dwarf_and_unit(address), folder);
            let Some((unit, offset)) = unit.zip(function) else {
                return Ok(None);
            };
            let known = calls.entry((key_of(&unit, *start), offset.0));
            let read = || calls::read(names, &unit, offset).map(Arc::new);
            Ok(known.or_insert_with(read).clone())
        })
    }
}

fn section(file: &ObjectFile, name: &str) -> Shared {
    file.section(name).unwrap_or_else(|| Vec::new().into())
}

fn functions(
    lookup: &Lookup<'_>,
    names: &mut Names,
    folder: &Path,
    address: u64,
) -> Result<Vec<Function>, gimli::Error> {
    let Lookup { context, start } = *lookup;
    let mut frames = resolve(context.find_frames(address), folder)?;
    let unit = resolve(context.find_dwarf_and_unit(address), folder);
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

/// Answers a lookup, opening split units (`.dwo`) as it asks for them.
fn resolve<L: LookupContinuation<Buf = Reader>>(mut lookup: LookupResult<L>, folder: &Path) -> L::Output {
    loop {
        lookup = match lookup {
            LookupResult::Output(output) => return output,
            LookupResult::Load { load, continuation } => continuation.resume(split_unit(&load, folder)),
        };
    }
}

/// A split unit: where its path says, or beside the binary under the same name.
fn split_unit(load: &SplitDwarfLoad<Reader>, folder: &Path) -> Option<Arc<gimli::Dwarf<Reader>>> {
    let text = |reader: &Reader| reader.to_string_lossy().map(|text| PathBuf::from(text.as_ref())).ok();
    let path = text(load.path.as_ref()?)?;
    let compiled_in = load.comp_dir.as_ref().and_then(text).unwrap_or_default();
    let beside = path.file_name().map(|name| folder.join(name));
    [Some(compiled_in.join(&path)), beside]
        .into_iter()
        .flatten()
        .find_map(|path| {
            let file = ObjectFile::open(&path)?;
            let info = Info::Plain(section(&file, gimli::SectionId::DebugInfo.dwo_name()?));
            let mut dwarf = Sections::load(info, |id| file.section(id.dwo_name()?)).dwarf();
            let is_it = unit_id(&dwarf).is_none_or(|id| id == load.dwo_id);
            dwarf.make_dwo(&load.parent);
            is_it.then(|| Arc::new(dwarf))
        })
}

/// The id that ties a split unit to its skeleton.
fn unit_id(dwarf: &gimli::Dwarf<Reader>) -> Option<gimli::DwoId> {
    let header = dwarf.units().next().ok()??;
    dwarf.unit(header).ok()?.dwo_id
}
