//! From a position in bytecode to a line of source.
//!
//! Formats: `Objects/lnotab_notes.txt` (3.9, 3.10) and `InternalDocs/code_objects.md` (3.11 and later) of `CPython`.

use super::layout::LineTable;

/// The line that the instruction at an offset (in bytes) is of.
pub(super) fn line_at(table: &[u8], form: LineTable, first_line: u32, offset: i64) -> Option<u32> {
    let line = match form {
        LineTable::Lnotab => Some(by_lnotab(table, i64::from(first_line), offset)),
        LineTable::Ranges => by_ranges(table, i64::from(first_line), offset),
        LineTable::Locations => by_locations(table, i64::from(first_line), offset),
    };
    u32::try_from(line?).ok().filter(|line| *line > 0)
}

/// Pairs of unsigned address and signed line increments.
fn by_lnotab(table: &[u8], mut line: i64, offset: i64) -> i64 {
    let mut address = 0;
    for pair in table.chunks_exact(2) {
        let &[advance, lines] = pair else { break };
        address += i64::from(advance);
        if address > offset {
            break;
        }
        line += i64::from(lines as i8);
    }
    line
}

/// Pairs of the length of a range and the signed step to its line; -128 for a range without a line.
fn by_ranges(table: &[u8], mut line: i64, offset: i64) -> Option<i64> {
    let mut end = 0;
    for pair in table.chunks_exact(2) {
        let &[length, step] = pair else { break };
        end += i64::from(length);
        let has_line = step as i8 != i8::MIN;
        if has_line {
            line += i64::from(step as i8);
        }
        if offset < end {
            return has_line.then_some(line);
        }
    }
    // A frame that has not started is at its first line.
    (offset < 0).then_some(line)
}

/// Entries of one head byte (1, four bits of kind, three of length) and what the kind asks for.
fn by_locations(table: &[u8], mut line: i64, offset: i64) -> Option<i64> {
    let mut bytes = table.iter().copied();
    let mut end = 0;
    while let Some(head) = bytes.next() {
        let kind = head >> 3 & 15;
        end += i64::from(head & 7) * 2 + 2;
        let columns = match kind {
            0..=9 => 1,
            10..=12 => {
                line += i64::from(kind) - 10;
                2
            }
            13 | 14 => {
                line += signed(&mut bytes)?;
                0
            }
            _ => 0,
        };
        if offset < end {
            return (kind != 15).then_some(line);
        }
        if kind == 14 {
            for _ in 0..3 {
                unsigned(&mut bytes)?;
            }
        }
        for _ in 0..columns {
            bytes.next()?;
        }
    }
    None
}

/// Six bits a byte, least significant first; bit 6 says that more follow.
fn unsigned(bytes: &mut impl Iterator<Item = u8>) -> Option<i64> {
    let mut value = 0;
    for shift in (0..60).step_by(6) {
        let byte = bytes.next()?;
        value |= i64::from(byte & 63) << shift;
        if byte & 64 == 0 {
            return Some(value);
        }
    }
    None
}

/// The sign is the lowest bit.
fn signed(bytes: &mut impl Iterator<Item = u8>) -> Option<i64> {
    let value = unsigned(bytes)?;
    Some(if value & 1 == 0 { value >> 1 } else { -(value >> 1) })
}
