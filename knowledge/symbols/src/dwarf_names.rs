//! Names of functions as debuggers print them: qualified, without parameters and return type.

use std::collections::HashMap;
use std::sync::Arc;

use gimli::{AttributeValue, DwTag, Reader as _, UnitOffset, UnitRef};

use crate::names;
use crate::shared::Reader;
use crate::units::Sections;

/// How far abstract origins and specifications are followed; real chains have two links.
const MAX_LINKS: usize = 16;
/// Scopes that are nested at most.
const MAX_NESTING: usize = 64;

type Unit = gimli::Unit<Reader>;
/// A unit by its split-unit id (0 for none) and its offset.
pub(crate) type UnitKey = (u64, usize);

/// Names functions, and remembers them.
pub(crate) struct Names {
    /// The file's sections; `.debug_info` is taken as a whole when a reference crosses units.
    sections: Arc<Sections>,
    /// Headers of all units by offset, read when a reference crosses units.
    headers: Option<Vec<(usize, gimli::UnitHeader<Reader>)>>,
    units: HashMap<usize, Option<Arc<Unit>>>,
    scopes: HashMap<UnitKey, Arc<Scopes>>,
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

impl Names {
    pub(crate) fn new(sections: Arc<Sections>) -> Self {
        Self {
            sections,
            headers: None,
            units: HashMap::new(),
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
        match *reference {
            AttributeValue::UnitRef(offset) => read(unit, &unit.entry(offset).ok()?),
            AttributeValue::DebugInfoRef(offset) => {
                let (unit, offset) = self.unit_with(offset.0)?;
                let unit = unit.unit_ref(self.sections.whole());
                read(&unit, &unit.entry(offset).ok()?)
            }
            _ => None,
        }
    }

    fn find(&mut self, unit: &UnitRef<'_, Reader>, key: UnitKey, offset: UnitOffset) -> Option<String> {
        let language = language(unit);
        let mut found = read_entry(unit, offset)?;
        // The unit an entry of another unit is in, and where in it.
        let mut other: Option<Arc<Unit>> = None;
        let mut at = offset;
        for _ in 0..MAX_LINKS {
            let next = match found.link.take() {
                Some(AttributeValue::UnitRef(next)) => next,
                Some(AttributeValue::DebugInfoRef(next)) => {
                    let (unit, next) = self.unit_with(next.0)?;
                    other = Some(unit);
                    next
                }
                _ => break,
            };
            at = next;
            let linked = match &other {
                Some(other) => read_entry(&other.unit_ref(self.sections.whole()), at)?,
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
        let sections = Arc::clone(&self.sections);
        let prefix = match &other {
            Some(other) => {
                let other = other.unit_ref(sections.whole());
                self.prefix(&other, key_of(&other, 0), at)
            }
            None => self.prefix(unit, key, at),
        };
        let qualified = format!("{prefix}{name}");
        Some(if matches!(language, Language::Cpp) {
            names::in_common_style(&qualified)
        } else {
            qualified
        })
    }

    /// `namespace::Class::` of an entry.
    fn prefix(&mut self, unit: &UnitRef<'_, Reader>, key: UnitKey, offset: UnitOffset) -> String {
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

    /// The unit that an offset of `.debug_info` is in, and the offset there.
    fn unit_with(&mut self, offset: usize) -> Option<(Arc<Unit>, UnitOffset)> {
        let dwarf = Arc::clone(self.sections.whole());
        let headers = self.headers.get_or_insert_with(|| unit_headers(&dwarf));
        let after = headers.partition_point(|(start, _)| *start <= offset);
        let (start, header) = headers.get(after.checked_sub(1)?)?;
        let unit = self
            .units
            .entry(*start)
            .or_insert_with(|| dwarf.unit(header.clone()).ok().map(Arc::new));
        Some((Arc::clone(unit.as_ref()?), UnitOffset(offset - start)))
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
