//! The units of a file's debug information. Where the file has an index of them by address (`.debug_aranges`), only
//! those are unpacked and parsed that an address asks for: a C library has more than a thousand.

use std::collections::{HashMap, HashSet};
use std::convert::Infallible;
use std::ops::Range;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use addr2line::Context;
use gimli::SectionId;

use crate::costs::Caps;
use crate::dwarf::bounds::Bounds;
use crate::files::shared::{Reader, Shared};
use crate::files::unpack::Unpacker;

/// The sections of a file that functions, lines and calls are read from, beside `.debug_info`. Locations of variables
/// and macros are of no use here, and make up a fifth of a debug file.
const SECTIONS: [SectionId; 9] = [
    SectionId::DebugAbbrev,
    SectionId::DebugAddr,
    SectionId::DebugAranges,
    SectionId::DebugLine,
    SectionId::DebugLineStr,
    SectionId::DebugRanges,
    SectionId::DebugRngLists,
    SectionId::DebugStr,
    SectionId::DebugStrOffsets,
];

/// The sections of one file.
pub(crate) struct Sections {
    found: Vec<(SectionId, Shared)>,
    info: Info,
    /// Those of the file that holds what several debug files share.
    supplementary: Option<Arc<Sections>>,
    whole: OnceLock<Arc<gimli::Dwarf<Reader>>>,
    strings: OnceLock<Arc<gimli::Dwarf<Reader>>>,
}

/// `.debug_info`: most of a debug file.
pub(crate) enum Info {
    Plain(Shared),
    Packed {
        unpacker: Box<Mutex<Unpacker>>,
        /// All of it, once somebody asked for that.
        whole: OnceLock<Shared>,
    },
}

impl Sections {
    /// Takes what `section` has of the others.
    pub(crate) fn load(info: Info, section: impl Fn(SectionId) -> Option<Shared>) -> Self {
        let found = SECTIONS.into_iter().filter_map(|id| Some((id, section(id)?)));
        Self {
            found: found.collect(),
            info,
            supplementary: None,
            whole: OnceLock::new(),
            strings: OnceLock::new(),
        }
    }

    /// The same with the sections of the supplementary file.
    pub(crate) fn with_supplementary(self, supplementary: Option<Self>) -> Self {
        Self {
            supplementary: supplementary.map(Arc::new),
            ..self
        }
    }

    pub(crate) fn supplementary(&self) -> Option<&Arc<Self>> {
        self.supplementary.as_ref()
    }

    /// All of them.
    pub(crate) fn whole(&self) -> &Arc<gimli::Dwarf<Reader>> {
        self.whole.get_or_init(|| {
            let mut dwarf = self.dwarf();
            dwarf.populate_abbreviations_cache(gimli::AbbreviationsCacheStrategy::Duplicates);
            Arc::new(dwarf)
        })
    }

    /// All of them, for one owner.
    pub(crate) fn dwarf(&self) -> gimli::Dwarf<Reader> {
        let mut dwarf = self.with_info(self.info.all(), None);
        dwarf.sup = self.supplementary().map(|file| Arc::clone(file.whole()));
        dwarf
    }

    /// The strings alone.
    fn strings(&self) -> &Arc<gimli::Dwarf<Reader>> {
        self.strings.get_or_init(|| {
            let load = |id| {
                let is_text = matches!(id, SectionId::DebugStr | SectionId::DebugLineStr);
                let section = if is_text { self.get(id) } else { empty() };
                Ok::<_, Infallible>(section.reader())
            };
            let Ok(dwarf) = gimli::Dwarf::load(load);
            Arc::new(dwarf)
        })
    }

    /// All of them, but of `.debug_info` the unit alone that starts at an offset.
    fn of_unit(&self, start: usize) -> Option<gimli::Dwarf<Reader>> {
        // The index tells units by their place in the whole section.
        let mut dwarf = self.with_info(self.info.unit(start)?, Some(SectionId::DebugAranges));
        // Its units would be looked through for each of ours again; of those that refer to it, all are read together.
        dwarf.sup = self.supplementary().map(|file| Arc::clone(file.strings()));
        Some(dwarf)
    }

    fn with_info(&self, info: Shared, left_out: Option<SectionId>) -> gimli::Dwarf<Reader> {
        let load = |id| {
            let section = match id {
                SectionId::DebugInfo => info.clone(),
                _ if Some(id) == left_out => empty(),
                _ => self.get(id),
            };
            Ok::<_, Infallible>(section.reader())
        };
        let Ok(dwarf) = gimli::Dwarf::load(load);
        dwarf
    }

    fn get(&self, id: SectionId) -> Shared {
        let found = self.found.iter().find(|(known, _)| *known == id);
        found.map_or_else(empty, |(_, section)| section.clone())
    }
}

impl Info {
    /// What can be unpacked piece by piece.
    pub(crate) fn packed(unpacker: Unpacker) -> Self {
        Self::Packed {
            unpacker: Box::new(Mutex::new(unpacker)),
            whole: OnceLock::new(),
        }
    }

    fn all(&self) -> Shared {
        match self {
            Self::Plain(bytes) => bytes.clone(),
            Self::Packed { unpacker, whole } => {
                let all = || unpacker.lock().unwrap_or_else(PoisonError::into_inner).all().to_vec();
                whole.get_or_init(|| all().into()).clone()
            }
        }
    }

    /// The unit that starts at an offset, by the length that it starts with.
    fn unit(&self, start: usize) -> Option<Shared> {
        let end = |part: &mut dyn FnMut(Range<usize>) -> Option<Vec<u8>>| {
            let short = part(start..start.checked_add(4)?)?;
            let short = u32::from_le_bytes(short.try_into().ok()?);
            if short < ESCAPE {
                return start.checked_add(4)?.checked_add(short as usize);
            }
            let long = part(start.checked_add(4)?..start.checked_add(12)?)?;
            let long = usize::try_from(u64::from_le_bytes(long.try_into().ok()?)).ok()?;
            start.checked_add(12)?.checked_add(long)
        };
        match self {
            Self::Plain(bytes) => {
                let end = end(&mut |range| bytes.get(range).map(<[u8]>::to_vec))?;
                bytes.slice(start..end)
            }
            Self::Packed { unpacker, .. } => {
                let mut unpacker = unpacker.lock().unwrap_or_else(PoisonError::into_inner);
                let end = end(&mut |range| unpacker.get(range).map(<[u8]>::to_vec))?;
                Some(unpacker.get(start..end)?.to_vec().into())
            }
        }
    }
}

/// From here on a length is 64 bits wide and follows (DWARF 5, 7.4).
const ESCAPE: u32 = 0xffff_fff0;

fn empty() -> Shared {
    Vec::new().into()
}

/// Units that are asked about one address at most. Two may claim it where the linker merged equal functions.
const MAX_CLAIMS: usize = 8;

/// Answers lookups by address.
pub(crate) struct Units {
    sections: Arc<Sections>,
    index: Vec<Indexed>,
    /// The units that the index lists, those without any code included.
    listed: HashSet<usize>,
    /// Whether the index lists every unit; known when an address is not in it.
    index_is_complete: OnceLock<bool>,
    parsed: HashMap<Place, Option<Context<Reader>>>,
    /// What the units refer to that were parsed one by one.
    bounds: Bounds,
    /// The caps that were hit, of the file.
    caps: Arc<Caps>,
}

/// A range of addresses, and where in `.debug_info` its unit starts.
#[derive(Clone, Debug)]
struct Indexed {
    addresses: Range<u64>,
    /// The highest end of this range and all before it.
    reach: u64,
    unit: usize,
}

/// Where an address may be explained.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Place {
    /// In the unit that starts at this offset of `.debug_info`.
    Unit(usize),
    /// In any unit: there is no index, or what a unit says refers to others.
    Anywhere,
}

/// The units at a place.
pub(crate) struct Lookup<'a> {
    pub(crate) context: &'a Context<Reader>,
    /// Where in `.debug_info` the section that the context knows starts.
    pub(crate) start: usize,
}

impl Units {
    pub(crate) fn new(sections: Arc<Sections>, caps: Arc<Caps>) -> Self {
        let (index, listed) = index(&sections).unwrap_or_default();
        Self {
            index,
            listed,
            sections,
            index_is_complete: OnceLock::new(),
            parsed: HashMap::new(),
            bounds: Bounds::default(),
            caps,
        }
    }

    /// Asks the units that claim an address, in turn. All are asked together when no unit claims it and the index may
    /// lack some, and when one fails: alone it can not follow references into others, as units have that were
    /// optimized together.
    pub(crate) fn ask<T>(
        &mut self,
        address: u64,
        mut question: impl FnMut(&Lookup<'_>) -> Result<Option<T>, gimli::Error>,
    ) -> Option<T> {
        if self.parsed.contains_key(&Place::Anywhere) {
            return question(&self.lookup(Place::Anywhere)?).ok().flatten();
        }
        let mut failed = false;
        for unit in self.claiming(address) {
            match self.lookup(Place::Unit(unit)).map(|lookup| question(&lookup)) {
                Some(Ok(Some(found))) => return Some(found),
                Some(Ok(None)) => {}
                Some(Err(_)) | None => failed = true,
            }
        }
        if !failed && self.index_is_complete() {
            return None;
        }
        question(&self.lookup(Place::Anywhere)?).ok().flatten()
    }

    /// Where the units start that have an address, going by the index.
    fn claiming(&self, address: u64) -> Vec<usize> {
        let after = self.index.partition_point(|indexed| indexed.addresses.start <= address);
        let below = self.index.get(..after).unwrap_or_default().iter().rev();
        below
            .take_while(|indexed| indexed.reach > address)
            .filter(|indexed| indexed.addresses.contains(&address))
            .take(MAX_CLAIMS)
            .map(|indexed| indexed.unit)
            .collect()
    }

    /// What is known at a place.
    fn lookup(&mut self, place: Place) -> Option<Lookup<'_>> {
        let Self {
            sections,
            parsed,
            bounds,
            caps,
            ..
        } = self;
        let parsed = parsed.entry(place).or_insert_with(|| {
            let (dwarf, bounded) = match place {
                Place::Unit(start) => {
                    let dwarf = Arc::new(sections.of_unit(start)?);
                    let bounded = bounds.check(&dwarf);
                    (dwarf, bounded)
                }
                Place::Anywhere => {
                    let dwarf = Arc::clone(sections.whole());
                    let bounded = Bounds::default().check(&dwarf);
                    (dwarf, bounded)
                }
            };
            if let Err(cap) = bounded {
                caps.hit(cap);
                return None;
            }
            Context::from_arc_dwarf(dwarf).ok()
        });
        parsed.as_ref().map(|context| Lookup {
            context,
            start: match place {
                Place::Unit(start) => start,
                Place::Anywhere => 0,
            },
        })
    }

    /// Some compilers leave units out of the index, or write none at all.
    fn index_is_complete(&self) -> bool {
        *self.index_is_complete.get_or_init(|| {
            let mut headers = self.sections.whole().units();
            while let Ok(Some(header)) = headers.next() {
                let has_code = matches!(
                    header.type_(),
                    gimli::UnitType::Compilation | gimli::UnitType::Skeleton(_)
                );
                if has_code && !self.listed.contains(&header.offset().0) {
                    return false;
                }
            }
            true
        })
    }
}

fn index(sections: &Sections) -> Option<(Vec<Indexed>, HashSet<usize>)> {
    let aranges = gimli::DebugAranges::from(sections.get(SectionId::DebugAranges).reader());
    let (mut index, mut listed) = (Vec::new(), HashSet::new());
    let mut lists = aranges.headers();
    while let Some(list) = lists.next().ok()? {
        let unit = list.debug_info_offset().0;
        listed.insert(unit);
        let mut entries = list.entries();
        while let Some(entry) = entries.next().ok()? {
            let addresses = entry.range();
            index.push(Indexed {
                addresses: addresses.begin..addresses.end,
                reach: 0,
                unit,
            });
        }
    }
    index.sort_unstable_by_key(|indexed| (indexed.addresses.start, indexed.unit));
    let mut reach = 0;
    for indexed in &mut index {
        reach = indexed.addresses.end.max(reach);
        indexed.reach = reach;
    }
    Some((index, listed))
}
