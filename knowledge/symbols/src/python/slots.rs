//! Where a Python frame keeps its local variables and the values that it works on.

use super::layout::Slots;
use super::{Interpreter, MAX_STATES};
use crate::process::memory::Bytes;

/// Local variables, or values, of one frame that are read at most.
const MAX_SLOTS: u64 = 4096;
/// Bytes of `PyTryBlock`, and where in it the number of values is.
const BLOCK_BYTES: u64 = 12;
const BLOCK_LEVEL: u64 = 8;
/// Open blocks at most (`CO_MAXBLOCKS`).
const MAX_BLOCKS: u64 = 20;

/// The objects that a frame refers to.
#[derive(Debug, Default)]
pub(super) struct FrameSlots {
    /// Local variables, by position; 0 where one has no value.
    pub(super) locals: Vec<u64>,
    /// Values within open blocks: these are alive, for the interpreter needs them when the block is left.
    pub(super) protected: Vec<u64>,
    /// Places for further values. What lies there may be a value that was used up.
    pub(super) others: Vec<u64>,
}

impl Interpreter<'_> {
    /// Frames of Python of a thread, innermost first, as addresses.
    pub(super) fn frames_of(&self, state: u64, limit: usize) -> Vec<u64> {
        let first = self.innermost(state).filter(|frame| *frame != 0);
        let previous = |frame: &u64| {
            self.member(*frame, self.layout.frame_previous)
                .filter(|next| *next != 0)
        };
        let frames = std::iter::successors(first, previous).take(MAX_STATES);
        let is_python = |frame: &u64| self.role(*frame).is_none_or(|(is_frame, _)| is_frame);
        frames.filter(is_python).take(limit).collect()
    }

    /// What a frame refers to.
    pub(super) fn slots(&self, frame: u64) -> Option<FrameSlots> {
        let code = self.code(frame)?;
        let small = |address: u64, offset: u64| self.memory.number(address.checked_add(offset)?, 4);
        let (locals, count, values, room, protected) = match self.layout.slots {
            Slots::Object {
                locals,
                values,
                blocks,
                block,
            } => {
                let first = frame.checked_add(locals)?;
                let values = self.member(frame, values)?;
                let count = values.checked_sub(first)? / 8;
                let open = small(frame, blocks)?.min(MAX_BLOCKS);
                let level = |open: u64| small(frame, block + open * BLOCK_BYTES + BLOCK_LEVEL);
                let protected = open.checked_sub(1).and_then(level).unwrap_or_default();
                let room = small(code, self.layout.code_first_line.checked_sub(8)?)?;
                (first, count, values, room, protected)
            }
            Slots::Inline {
                locals,
                count,
                depth,
                handlers,
            } => {
                let first = frame.checked_add(locals)?;
                let count = small(code, count)?;
                let values = first.checked_add(count.checked_mul(8)?)?;
                let protected = self.bytes(self.member(code, handlers)?).and_then(|table| {
                    let instruction = u64::try_from(self.instruction(frame, code)?).ok()?;
                    depth_at(&table, instruction / 2)
                });
                (first, count, values, small(code, depth)?, protected.unwrap_or_default())
            }
        };
        let mut values = self.pointers(values, room);
        let others = values.split_off(usize::try_from(protected).ok()?.min(values.len()));
        Some(FrameSlots {
            locals: self.pointers(locals, count),
            protected: values,
            others,
        })
    }

    /// References, without the bits that are tags (3.14).
    fn pointers(&self, start: u64, count: u64) -> Vec<u64> {
        let pointer = |index: u64| Some(self.memory.word(start.checked_add(index * 8)?)? & !7);
        (0..count.min(MAX_SLOTS)).map_while(pointer).collect()
    }
}

/// How many values there were when the innermost block was opened that an instruction is in, by `co_exceptiontable`
/// (`InternalDocs/exception_handling.md` of `CPython`): entries of start, size, handler, and depth with a flag.
fn depth_at(table: &[u8], instruction: u64) -> Option<u64> {
    let mut bytes = table.iter().copied().peekable();
    while bytes.peek().is_some() {
        let mut field = || {
            let mut value = 0;
            // Six bits a byte, most significant first; bit 6 says that more follow, bit 7 that an entry begins.
            for _ in 0..6 {
                let byte = bytes.next()?;
                value = value << 6 | u64::from(byte & 63);
                if byte & 64 == 0 {
                    return Some(value);
                }
            }
            None
        };
        let (start, size, _, depth) = (field()?, field()?, field()?, field()?);
        if (start..start.saturating_add(size)).contains(&instruction) {
            return Some(depth >> 1);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::depth_at;

    /// `with a: with b: wait()` of 3.11: the inner statement is within the block of the outer one alone, its body in both.
    #[test]
    fn a_block_protects_the_values_below_it() {
        let entry = |start: u8, size: u8, target: u8, depth: u8| [start | 128, size, target, depth << 1 | 1];
        let table = [entry(8, 6, 60, 1), entry(14, 10, 50, 2), entry(24, 4, 60, 1)].concat();
        let depths = [4, 9, 14, 23, 24, 40].map(|at| depth_at(&table, at));
        assert_eq!(depths, [None, Some(1), Some(2), Some(2), Some(1), None]);
        let long = [128 | 64 | 1, 2, 3, 0, 2 << 1];
        assert_eq!(depth_at(&long, 66), Some(2), "a number of two bytes");
        assert_eq!(depth_at(&[128 | 64, 64, 64], 0), None, "a table that was cut off");
    }
}
