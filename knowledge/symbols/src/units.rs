//! The units of a file's debug information. Where the file has an index of them by address (`.debug_aranges`), only
//! those are parsed that an address asks for: a C library has more than a thousand.

use std::collections::{HashMap, HashSet};
use std::convert::Infallible;
use std::ops::Range;
use std::sync::Arc;
use std::thread;

use addr2line::Context;
use gimli::SectionId;

use crate::shared::{Reader, Shared};

/// The sections of a file that functions, lines and calls are read from, decompressed. Locations of variables and
/// macros are of no use here, and make up a fifth of a debug file.
const SECTIONS: [SectionId; 10] = [
    SectionId::DebugAbbrev,
    SectionId::DebugAddr,
    SectionId::DebugAranges,
    SectionId::DebugInfo,
    SectionId::DebugLine,
    SectionId::DebugLineStr,
    SectionId::DebugRanges,
    SectionId::DebugRngLists,
    SectionId::DebugStr,
    SectionId::DebugStrOffsets,
];

/// Every unit, where one alone does not do.
pub(crate) const WHOLE: Range<usize> = 0..usize::MAX;

/// The sections that are there.
pub(crate) struct Sections(Vec<(SectionId, Shared)>);

impl Sections {
    /// Takes what `section` has of them. Half of a debug file is `.debug_info`: where sections are compressed, it is
    /// unpacked beside the others.
    pub(crate) fn load(section: impl Fn(SectionId) -> Option<Shared> + Sync) -> Self {
        let load = |id| Some((id, section(id)?));
        thread::scope(|scope| {
            let info = thread::Builder::new().spawn_scoped(scope, || load(SectionId::DebugInfo));
            let others = SECTIONS.into_iter().filter(|id| *id != SectionId::DebugInfo);
            let mut sections: Vec<_> = others.filter_map(load).collect();
            sections.extend(match info {
                Ok(info) => info.join().ok().flatten(),
                Err(_) => load(SectionId::DebugInfo),
            });
            Self(sections)
        })
    }

    /// All of them.
    pub(crate) fn dwarf(&self) -> gimli::Dwarf<Reader> {
        let load = |id| Ok::<_, Infallible>(self.get(id).reader());
        let Ok(dwarf) = gimli::Dwarf::load(load);
        dwarf
    }

    /// The strings alone.
    fn strings(&self) -> gimli::Dwarf<Reader> {
        let load = |id| {
            let is_text = matches!(id, SectionId::DebugStr | SectionId::DebugLineStr);
            let section = if is_text { self.get(id) } else { empty() };
            Ok::<_, Infallible>(section.reader())
        };
        let Ok(dwarf) = gimli::Dwarf::load(load);
        dwarf
    }

    /// All of them, but of `.debug_info` one unit alone.
    fn of_unit(&self, unit: &Range<usize>) -> gimli::Dwarf<Reader> {
        let load = |id| {
            let section = match id {
                SectionId::DebugInfo => self.get(id).slice(unit.clone()).unwrap_or_else(empty),
                // It tells units by their place in the whole section.
                SectionId::DebugAranges => empty(),
                _ => self.get(id),
            };
            Ok::<_, Infallible>(section.reader())
        };
        let Ok(dwarf) = gimli::Dwarf::load(load);
        dwarf
    }

    fn get(&self, id: SectionId) -> Shared {
        let found = self.0.iter().find(|(known, _)| *known == id);
        found.map_or_else(empty, |(_, section)| section.clone())
    }
}

fn empty() -> Shared {
    Vec::new().into()
}

/// Units that are asked about one address at most. Two may claim it where the linker merged equal functions.
const MAX_CLAIMS: usize = 8;

/// Answers lookups by address.
pub(crate) struct Units {
    sections: Sections,
    supplementary: Option<Supplementary>,
    index: Vec<Indexed>,
    /// By where the unit is in `.debug_info`.
    parsed: HashMap<Range<usize>, Option<Context<Reader>>>,
}

/// The file that holds what several debug files share.
struct Supplementary {
    whole: Arc<gimli::Dwarf<Reader>>,
    /// What a unit alone is read with: the units would be looked through for each one again.
    strings: Arc<gimli::Dwarf<Reader>>,
}

/// A range of addresses, and where in `.debug_info` its unit is.
#[derive(Clone, Debug)]
struct Indexed {
    addresses: Range<u64>,
    /// The highest end of this range and all before it.
    reach: u64,
    unit: Range<usize>,
}

/// One unit, or all of them.
pub(crate) struct Lookup<'a> {
    pub(crate) context: &'a Context<Reader>,
    /// Where in `.debug_info` the section that the context knows starts.
    pub(crate) start: usize,
}

impl Units {
    /// Indexes the units of a file, and says what all of its sections are together with those of its supplementary
    /// file.
    pub(crate) fn new(sections: Sections, supplementary: Option<&Sections>) -> (Self, Arc<gimli::Dwarf<Reader>>) {
        let supplementary = supplementary.map(|sections| Supplementary {
            whole: Arc::new(sections.dwarf()),
            strings: Arc::new(sections.strings()),
        });
        let mut dwarf = sections.dwarf();
        dwarf.sup = supplementary.as_ref().map(|file| Arc::clone(&file.whole));
        let units = Self {
            index: index(&dwarf).unwrap_or_default(),
            sections,
            supplementary,
            parsed: HashMap::new(),
        };
        (units, Arc::new(dwarf))
    }

    /// Where the units are that may have an address: [`WHOLE`] where there is no index, or all were needed before.
    pub(crate) fn at(&self, address: u64) -> Vec<Range<usize>> {
        if self.index.is_empty() || self.parsed.contains_key(&WHOLE) {
            return vec![WHOLE];
        }
        let after = self.index.partition_point(|indexed| indexed.addresses.start <= address);
        let below = self.index.get(..after).unwrap_or_default().iter().rev();
        below
            .take_while(|indexed| indexed.reach > address)
            .filter(|indexed| indexed.addresses.contains(&address))
            .take(MAX_CLAIMS)
            .map(|indexed| indexed.unit.clone())
            .collect()
    }

    /// What one of the places that [`Self::at`] gave says.
    pub(crate) fn lookup(&mut self, unit: &Range<usize>) -> Option<Lookup<'_>> {
        let (sections, supplementary) = (&self.sections, self.supplementary.as_ref());
        let parsed = self.parsed.entry(unit.clone()).or_insert_with(|| {
            let mut dwarf;
            if *unit == WHOLE {
                dwarf = sections.dwarf();
                dwarf.sup = supplementary.map(|file| Arc::clone(&file.whole));
                dwarf.populate_abbreviations_cache(gimli::AbbreviationsCacheStrategy::Duplicates);
            } else {
                dwarf = sections.of_unit(unit);
                dwarf.sup = supplementary.map(|file| Arc::clone(&file.strings));
            }
            Context::from_arc_dwarf(Arc::new(dwarf)).ok()
        });
        parsed.as_ref().map(|context| Lookup {
            context,
            start: unit.start,
        })
    }
}

/// The index, when it lists every unit: what some compilers leave out of it would not be found.
fn index(dwarf: &gimli::Dwarf<Reader>) -> Option<Vec<Indexed>> {
    let mut units = HashMap::new();
    let mut headers = dwarf.units();
    while let Some(header) = headers.next().ok()? {
        let start = header.offset().0;
        if matches!(
            header.type_(),
            gimli::UnitType::Compilation | gimli::UnitType::Skeleton(_)
        ) {
            units.insert(start, start..start.checked_add(header.length_including_self())?);
        }
    }
    let mut index = Vec::new();
    let mut listed = HashSet::new();
    let mut lists = dwarf.debug_aranges.headers();
    while let Some(list) = lists.next().ok()? {
        let start = list.debug_info_offset().0;
        let unit = units.get(&start)?;
        listed.insert(start);
        let mut entries = list.entries();
        while let Some(entry) = entries.next().ok()? {
            let addresses = entry.range();
            index.push(Indexed {
                addresses: addresses.begin..addresses.end,
                reach: 0,
                unit: unit.clone(),
            });
        }
    }
    if listed.len() < units.len() {
        return None;
    }
    index.sort_unstable_by_key(|indexed| (indexed.addresses.start, indexed.unit.start));
    let mut reach = 0;
    for indexed in &mut index {
        reach = indexed.addresses.end.max(reach);
        indexed.reach = reach;
    }
    Some(index)
}
