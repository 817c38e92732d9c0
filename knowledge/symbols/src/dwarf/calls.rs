//! What DWARF says about the calls that a function makes (`DW_TAG_call_site`).

use gimli::{AttributeValue, EntriesTreeNode, UnitOffset, UnitRef};

use crate::dwarf::names::{Names, text};
use crate::files::shared::Reader;

/// Nested blocks that are searched for calls at most.
const MAX_NESTING: usize = 64;

/// A call or a jump to another function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CallSite {
    /// Address after the instruction, in the file.
    pub(crate) return_address: u64,
    /// True when the function's own frame is gone before the jump.
    pub(crate) is_tail: bool,
    /// Where it goes; absent when only a register knows.
    pub(crate) target: Option<Target>,
}

/// The function that a call goes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// Its first address in the file.
    Address(u64),
    /// Its linkage name: it is defined elsewhere.
    Name(String),
}

/// The calls of a function.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Calls {
    /// Its first address in the file.
    pub(crate) start: u64,
    /// True when the compiler promises that all its tail calls are listed.
    pub(crate) complete: bool,
    pub(crate) sites: Vec<CallSite>,
}

/// Reads the calls of the function whose entry is at an offset of a unit.
pub(crate) fn read(names: &mut Names, unit: &UnitRef<'_, Reader>, offset: UnitOffset) -> Option<Calls> {
    let mut tree = unit.entries_tree(Some(offset)).ok()?;
    let root = tree.root().ok()?;
    let entry = root.entry();
    let flag = |name| matches!(entry.attr_value(name), Some(AttributeValue::Flag(true)));
    let mut calls = Calls {
        start: first_address(unit, entry)?,
        complete: [
            gimli::DW_AT_call_all_calls,
            gimli::DW_AT_call_all_tail_calls,
            gimli::DW_AT_GNU_all_call_sites,
            gimli::DW_AT_GNU_all_tail_call_sites,
        ]
        .into_iter()
        .any(flag),
        sites: Vec::new(),
    };
    collect(names, unit, root, 0, &mut calls.sites);
    Some(calls)
}

fn collect(
    names: &mut Names,
    unit: &UnitRef<'_, Reader>,
    node: EntriesTreeNode<'_, '_, Reader>,
    depth: usize,
    sites: &mut Vec<CallSite>,
) {
    let mut children = node.children();
    while let Ok(Some(child)) = children.next() {
        match child.entry().tag() {
            gimli::DW_TAG_call_site | gimli::DW_TAG_GNU_call_site => {
                sites.extend(call_site(names, unit, child.entry()));
            }
            gimli::DW_TAG_lexical_block | gimli::DW_TAG_inlined_subroutine if depth < MAX_NESTING => {
                collect(names, unit, child, depth + 1, sites);
            }
            _ => {}
        }
    }
}

fn call_site(
    names: &mut Names,
    unit: &UnitRef<'_, Reader>,
    entry: &gimli::DebuggingInformationEntry<Reader>,
) -> Option<CallSite> {
    let (mut return_address, mut is_tail, mut origin) = (None, false, None);
    for attribute in entry.attrs() {
        match attribute.name() {
            gimli::DW_AT_call_return_pc | gimli::DW_AT_low_pc => {
                return_address = unit.attr_address(attribute.value()).ok().flatten();
            }
            gimli::DW_AT_call_tail_call | gimli::DW_AT_GNU_tail_call => {
                is_tail = matches!(attribute.value(), AttributeValue::Flag(true));
            }
            gimli::DW_AT_call_origin | gimli::DW_AT_abstract_origin => origin = Some(attribute.value()),
            _ => {}
        }
    }
    let target = origin.and_then(|origin| names.with_entry(unit, &origin, target));
    Some(CallSite {
        return_address: return_address?,
        is_tail,
        target,
    })
}

/// A function by its entry: defined in this unit, or declared there and defined elsewhere.
fn target(unit: &UnitRef<'_, Reader>, entry: &gimli::DebuggingInformationEntry<Reader>) -> Option<Target> {
    if let Some(address) = first_address(unit, entry) {
        return Some(Target::Address(address));
    }
    let name = entry
        .attr_value(gimli::DW_AT_linkage_name)
        .or_else(|| entry.attr_value(gimli::DW_AT_name));
    Some(Target::Name(text(unit, name?)?))
}

/// Where a function starts: its low address, or that of its first range when it is in parts.
fn first_address(unit: &UnitRef<'_, Reader>, entry: &gimli::DebuggingInformationEntry<Reader>) -> Option<u64> {
    if let Some(low) = entry.attr_value(gimli::DW_AT_low_pc) {
        return unit.attr_address(low).ok().flatten();
    }
    Some(unit.die_ranges(entry).ok()?.next().ok()??.begin)
}
