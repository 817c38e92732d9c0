//! Whether debug information is no more than its size. What reads it next goes down one call for each function that is
//! inlined into another, and keeps a copy of each list of addresses and of each line table for each unit that refers to
//! it: a hundred KiB can nest a hundred thousand deep, and stand for gigabytes.

use gimli::{AttributeValue, Reader as _, Section as _, UnitRef};

use crate::costs::Cap;
use crate::files::shared::Reader;

/// Functions inlined into one another at most; compilers stop at some dozens.
const MAX_INLINED: usize = 256;
/// Units of one file at most; a browser has some ten thousand.
const MAX_UNITS: usize = 1 << 20;
/// Lists and tables below this size need not be counted.
const ALWAYS_ALLOWED: usize = 64 << 10;

/// What the units of a file that were looked at so far refer to.
#[derive(Debug, Default)]
pub(crate) struct Bounds {
    units: usize,
    /// Bytes of line tables.
    lines: usize,
    /// Ranges of addresses.
    ranges: usize,
}

impl Bounds {
    /// Looks at all units of some debug information, before anything else reads it.
    pub(crate) fn check(&mut self, dwarf: &gimli::Dwarf<Reader>) -> Result<(), Cap> {
        // Each table is referred to once, but for units that were split or shared between files.
        let lines = dwarf.debug_line.reader().len().saturating_mul(4);
        let mut headers = dwarf.units();
        while let Ok(Some(header)) = headers.next() {
            self.units += 1;
            // What can not be read is not read by others either.
            let Ok(unit) = dwarf.unit(header) else { continue };
            let unit = unit.unit_ref(dwarf);
            if let Ok(Err(cap)) = self.unit(&unit) {
                return Err(cap);
            }
            if self.units > MAX_UNITS || self.lines > lines.max(ALWAYS_ALLOWED) {
                return Err(Cap::Units);
            }
        }
        Ok(())
    }

    /// Counts what one unit refers to, as far as the unit can be read.
    fn unit(&mut self, unit: &UnitRef<'_, Reader>) -> gimli::Result<Result<(), Cap>> {
        if let Some(program) = &unit.line_program {
            self.lines = self.lines.saturating_add(program.header().unit_length());
        }
        let ranges = ranges_of(unit).max(ALWAYS_ALLOWED);
        let mut entries = unit.entries_raw(None)?;
        // Depths of the inlined functions that the next entry is in.
        let mut inlined: Vec<isize> = Vec::new();
        while !entries.is_empty() {
            let depth = entries.next_depth();
            let Some(abbreviation) = entries.read_abbreviation()? else {
                continue;
            };
            while inlined.last().is_some_and(|around| *around >= depth) {
                inlined.pop();
            }
            if abbreviation.tag() == gimli::DW_TAG_inlined_subroutine {
                inlined.push(depth);
                if inlined.len() > MAX_INLINED {
                    return Ok(Err(Cap::Inlining));
                }
            }
            let is_ranges = |specification: &gimli::AttributeSpecification| specification.name() == gimli::DW_AT_ranges;
            if !abbreviation.attributes().iter().any(is_ranges) {
                entries.skip_attributes(abbreviation.attributes())?;
                continue;
            }
            for specification in abbreviation.attributes() {
                let attribute = entries.read_attribute(*specification)?;
                if is_ranges(specification) {
                    self.count_ranges(unit, attribute.value());
                }
            }
            if self.ranges > ranges {
                return Ok(Err(Cap::Units));
            }
        }
        Ok(Ok(()))
    }

    fn count_ranges(&mut self, unit: &UnitRef<'_, Reader>, value: AttributeValue<Reader>) {
        let Ok(Some(mut ranges)) = unit.attr_ranges(value) else {
            return;
        };
        while let Ok(Some(_)) = ranges.next() {
            self.ranges += 1;
        }
    }
}

/// Bytes of all lists of ranges: more than there are ranges.
fn ranges_of(unit: &UnitRef<'_, Reader>) -> usize {
    let lists = &unit.dwarf.ranges;
    lists.debug_ranges().reader().len() + lists.debug_rnglists().reader().len()
}
