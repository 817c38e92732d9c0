//! Names of functions as debuggers print them: qualified, without parameters and return type.

use std::collections::HashMap;
use std::sync::Arc;

use gimli::{AttributeValue, DwTag, Reader as _, UnitOffset, UnitRef};

use crate::dwarf::units::Sections;
use crate::files::shared::Reader;
use crate::names;

/// How far abstract origins and specifications are followed; real chains have two links.
const MAX_LINKS: usize = 16;
/// Units of others that are kept.
const MAX_KEPT_UNITS: usize = 256;
/// Scopes that are nested at most.
const MAX_NESTING: usize = 64;

type Unit = gimli::Unit<Reader>;
/// A unit by its split-unit id (0 for none) and its offset.
pub(crate) type UnitKey = (u64, usize);

/// Names functions, and remembers them.
pub(crate) struct Names {
    own: Units,
    /// The units of the file that holds what several debug files share.
    supplementary: Option<Units>,
    /// By unit, those of the supplementary file apart.
    scopes: HashMap<(UnitKey, bool), Arc<Scopes>>,
    known: HashMap<(UnitKey, usize), Option<String>>,
}

/// The entries of a unit that can enclose others, each with the one that encloses it.
#[derive(Debug, Default)]
struct Scopes {
    /// By offset: every scope, and every function.
    entries: Vec<(usize, DwTag, Option<u32>)>,
}

/// What one entry says.
#[derive(Default)]
struct Entry {
    name: Option<String>,
    linkage_name: Option<String>,
    /// Where the rest stands: the declaration, or what was inlined.
    link: Option<AttributeValue<Reader>>,
}

/// The units of one file's `.debug_info`, found by offset when a reference crosses units.
struct Units {
    /// Taken as a whole when a reference crosses units.
    sections: Arc<Sections>,
    headers: Option<Vec<(usize, gimli::UnitHeader<Reader>)>>,
    units: HashMap<usize, Option<Arc<Unit>>>,
}

/// A unit that a reference led to.
#[derive(Clone)]
struct OtherUnit {
    unit: Arc<Unit>,
    dwarf: Arc<gimli::Dwarf<Reader>>,
    is_supplementary: bool,
}

impl OtherUnit {
    fn unit(&self) -> UnitRef<'_, Reader> {
        self.unit.unit_ref(&self.dwarf)
    }
}

impl Units {
    fn new(sections: Arc<Sections>) -> Self {
        Self {
            sections,
            headers: None,
            units: HashMap::new(),
        }
    }

    /// The unit that an offset of `.debug_info` is in, and the offset there.
    fn with(&mut self, offset: usize) -> Option<(Arc<Unit>, UnitOffset)> {
        let dwarf = self.sections.whole();
        let headers = self.headers.get_or_insert_with(|| unit_headers(dwarf));
        let after = headers.partition_point(|(start, _)| *start <= offset);
        let (start, header) = headers.get(after.checked_sub(1)?)?;
        if self.units.len() > MAX_KEPT_UNITS {
            self.units.clear();
        }
        let unit = self
            .units
            .entry(*start)
            .or_insert_with(|| dwarf.unit(header.clone()).ok().map(Arc::new));
        Some((Arc::clone(unit.as_ref()?), UnitOffset(offset - start)))
    }
}

impl Names {
    pub(crate) fn new(sections: &Arc<Sections>) -> Self {
        Self {
            supplementary: sections.supplementary().cloned().map(Units::new),
            own: Units::new(Arc::clone(sections)),
            scopes: HashMap::new(),
            known: HashMap::new(),
        }
    }

    /// Name of the function whose entry is at an offset of a unit.
    pub(crate) fn function(&mut self, unit: &UnitRef<'_, Reader>, key: UnitKey, offset: UnitOffset) -> Option<String> {
        if let Some(known) = self.known.get(&(key, offset.0)) {
            return known.clone();
        }
        let name = self.find(unit, key, offset);
        self.known.insert((key, offset.0), name.clone());
        name
    }

    /// Calls `read` with the entry that a reference leads to, in whichever unit it is.
    pub(crate) fn with_entry<T>(
        &mut self,
        unit: &UnitRef<'_, Reader>,
        reference: &AttributeValue<Reader>,
        read: impl FnOnce(&UnitRef<'_, Reader>, &gimli::DebuggingInformationEntry<Reader>) -> Option<T>,
    ) -> Option<T> {
        if let AttributeValue::UnitRef(offset) = *reference {
            return read(unit, &unit.entry(offset).ok()?);
        }
        let (other, offset) = self.follow(reference, false)?;
        let unit = other.unit();
        read(&unit, &unit.entry(offset).ok()?)
    }

    /// Where a reference to another unit leads. `from_supplementary` says which file it stands in.
    fn follow(
        &mut self,
        reference: &AttributeValue<Reader>,
        from_supplementary: bool,
    ) -> Option<(OtherUnit, UnitOffset)> {
        let (offset, is_supplementary) = match *reference {
            AttributeValue::DebugInfoRef(offset) => (offset.0, from_supplementary),
            AttributeValue::DebugInfoRefSup(offset) => (offset.0, true),
            _ => return None,
        };
        let units = if is_supplementary {
            self.supplementary.as_mut()?
        } else {
            &mut self.own
        };
        let (unit, offset) = units.with(offset)?;
        let other = OtherUnit {
            unit,
            dwarf: Arc::clone(units.sections.whole()),
            is_supplementary,
        };
        Some((other, offset))
    }

    fn find(&mut self, unit: &UnitRef<'_, Reader>, key: UnitKey, offset: UnitOffset) -> Option<String> {
        let language = language(unit);
        let mut found = read_entry(unit, offset)?;
        // The unit an entry of another unit is in, and where in it.
        let mut other: Option<OtherUnit> = None;
        let mut at = offset;
        for _ in 0..MAX_LINKS {
            match found.link.take() {
                Some(AttributeValue::UnitRef(next)) => at = next,
                Some(reference) => {
                    let in_supplementary = other.as_ref().is_some_and(|other| other.is_supplementary);
                    // Without the supplementary file the name is lost, not what is known besides.
                    let Some((unit, next)) = self.follow(&reference, in_supplementary) else {
                        break;
                    };
                    other = Some(unit);
                    at = next;
                }
                None => break,
            }
            let linked = match &other {
                Some(other) => read_entry(&other.unit(), at)?,
                None => read_entry(unit, at)?,
            };
            found.name = found.name.or(linked.name);
            found.linkage_name = found.linkage_name.or(linked.linkage_name);
            found.link = linked.link;
        }
        if let Some(linkage_name) = &found.linkage_name {
            match language {
                Language::Cpp => {
                    if let Some(name) = names::demangle_function(linkage_name) {
                        return Some(name);
                    }
                }
                Language::Rust => {}
                Language::Other => return found.linkage_name,
            }
        }
        let name = found.name.or(found.linkage_name)?;
        if matches!(language, Language::Other) {
            return Some(name);
        }
        let prefix = match &other {
            Some(other) => {
                let unit = other.unit();
                self.prefix(&unit, (key_of(&unit, 0), other.is_supplementary), at)
            }
            None => self.prefix(unit, (key, false), at),
        };
        let qualified = format!("{prefix}{name}");
        Some(if matches!(language, Language::Cpp) {
            names::in_common_style(&qualified)
        } else {
            qualified
        })
    }

    /// `namespace::Class::` of an entry.
    fn prefix(&mut self, unit: &UnitRef<'_, Reader>, key: (UnitKey, bool), offset: UnitOffset) -> String {
        let scopes = self
            .scopes
            .entry(key)
            .or_insert_with(|| Arc::new(Scopes::of(unit).unwrap_or_default()));
        let scopes = Arc::clone(scopes);
        let mut parts = Vec::new();
        let mut parent = scopes.parent_of(offset);
        while let Some(&(offset, tag, next)) = parent.and_then(|index| scopes.entries.get(index as usize)) {
            if parts.len() >= MAX_NESTING || !is_named_scope(tag) {
                break;
            }
            let name = read_entry(unit, UnitOffset(offset)).and_then(|entry| entry.name);
            match name {
                Some(name) => parts.push(name),
                None if tag == gimli::DW_TAG_namespace => parts.push("(anonymous namespace)".to_owned()),
                // What is in an unnamed class is named without it.
                None => break,
            }
            parent = next;
        }
        parts.iter().rev().flat_map(|part| [part.as_str(), "::"]).collect()
    }
}

impl Scopes {
    fn of(unit: &UnitRef<'_, Reader>) -> gimli::Result<Self> {
        let mut entries = unit.entries_raw(None)?;
        let mut found: Vec<(usize, DwTag, Option<u32>)> = Vec::new();
        let mut open: Vec<(isize, u32)> = Vec::new();
        while !entries.is_empty() {
            let (offset, depth) = (entries.next_offset(), entries.next_depth());
            let Some(abbreviation) = entries.read_abbreviation()? else {
                continue;
            };
            entries.skip_attributes(abbreviation.attributes())?;
            while open.last().is_some_and(|(at, _)| *at >= depth) {
                open.pop();
            }
            let tag = abbreviation.tag();
            if is_named_scope(tag) || matches!(tag, gimli::DW_TAG_subprogram | gimli::DW_TAG_inlined_subroutine) {
                let index = found.len() as u32;
                found.push((offset.0, tag, open.last().map(|(_, parent)| *parent)));
                if abbreviation.has_children() {
                    open.push((depth, index));
                }
            }
        }
        Ok(Self { entries: found })
    }

    fn parent_of(&self, offset: UnitOffset) -> Option<u32> {
        let index = self.entries.binary_search_by_key(&offset.0, |(at, ..)| *at).ok()?;
        self.entries.get(index)?.2
    }
}

fn is_named_scope(tag: DwTag) -> bool {
    matches!(
        tag,
        gimli::DW_TAG_namespace
            | gimli::DW_TAG_class_type
            | gimli::DW_TAG_structure_type
            | gimli::DW_TAG_union_type
            | gimli::DW_TAG_enumeration_type
            | gimli::DW_TAG_interface_type
    )
}

/// Languages by how their functions are named.
enum Language {
    /// By the linkage name, demangled.
    Cpp,
    /// By the scopes; linkage names carry a hash.
    Rust,
    /// By the linkage name as it is: C has one where a header renames a function.
    Other,
}

fn language(unit: &UnitRef<'_, Reader>) -> Language {
    let root = unit.entry(unit.header.root_offset()).ok();
    match root.and_then(|root| root.attr_value(gimli::DW_AT_language)) {
        Some(AttributeValue::Language(
            gimli::DW_LANG_C_plus_plus
            | gimli::DW_LANG_C_plus_plus_03
            | gimli::DW_LANG_C_plus_plus_11
            | gimli::DW_LANG_C_plus_plus_14
            | gimli::DW_LANG_C_plus_plus_17
            | gimli::DW_LANG_C_plus_plus_20,
        )) => Language::Cpp,
        Some(AttributeValue::Language(gimli::DW_LANG_Rust)) => Language::Rust,
        _ => Language::Other,
    }
}

/// Names a unit whose section starts at an offset of the file's `.debug_info`.
pub(crate) fn key_of(unit: &UnitRef<'_, Reader>, section: usize) -> UnitKey {
    (unit.dwo_id.map_or(0, |id| id.0), section + unit.header.offset().0)
}

fn unit_headers(dwarf: &gimli::Dwarf<Reader>) -> Vec<(usize, gimli::UnitHeader<Reader>)> {
    let mut headers = Vec::new();
    let mut units = dwarf.units();
    while let Ok(Some(header)) = units.next() {
        headers.push((header.offset().0, header));
    }
    headers
}

/// A string attribute.
pub(crate) fn text(unit: &UnitRef<'_, Reader>, value: AttributeValue<Reader>) -> Option<String> {
    Some(unit.attr_string(value).ok()?.to_string_lossy().ok()?.into_owned())
}

fn read_entry(unit: &UnitRef<'_, Reader>, offset: UnitOffset) -> Option<Entry> {
    let mut found = Entry::default();
    let entry = unit.entry(offset).ok()?;
    for attribute in entry.attrs() {
        match attribute.name() {
            gimli::DW_AT_name => found.name = text(unit, attribute.value()),
            gimli::DW_AT_linkage_name | gimli::DW_AT_MIPS_linkage_name => {
                found.linkage_name = text(unit, attribute.value());
            }
            gimli::DW_AT_abstract_origin | gimli::DW_AT_specification => found.link = Some(attribute.value()),
            _ => {}
        }
    }
    Some(found)
}
