//! Reads Python pickles as data, and never executes anything.
//!
//! Two writers make the files we meet: `CPython`'s pickler (protocol 4, and 5 from Python 3.14 on) and libtorch's C++
//! pickler (protocol 2). What they write needs no class and no call, so every opcode that would import, build or call
//! something is refused by name ([`Opcode`] lists what is allowed).
//!
//! - Values live in a [`Heap`] and are named by index, so that what the file shares stays shared: a 6 MB memory
//!   snapshot can be 700 MB of values when its frame lists are copied out.
//! - The [`Machine`] holds an explicit stack: nesting costs heap, never native stack.
//! - A [`Fold`] sees each dict the moment it is complete and may take it over, in which case nothing of it is kept.
//!   That is how millions of trace entries pass through in constant memory.
//! - Damage ends the reading, not the result: containers that were open are closed as they stand.

mod heap;
mod machine;
mod memo;
mod opcode;
mod source;

use std::io::Read;

pub use heap::{Heap, ListId, StringId, Value};
pub use machine::{Fold, Folded, Keep};

use crate::readers::read_problem;
use crate::{Limits, Problem};
use machine::Machine;
use opcode::Opcode;
use source::Source;

/// A pickle as read.
#[derive(Debug)]
pub struct Pickle {
    /// Everything its values refer to.
    pub heap: Heap,
    /// The pickled value; `Value::None` when nothing could be read.
    pub root: Value,
    /// False when reading ended before the pickle did.
    pub complete: bool,
    /// What was wrong with it.
    pub problems: Vec<Problem>,
}

/// Reads one pickle from `input`; what follows its end is ignored (the HTML embedding pads with NUL bytes).
pub fn load(input: impl Read, limits: &Limits, fold: &mut impl Fold) -> Pickle {
    let mut source = Source::new(input);
    let mut machine = Machine::new(limits.pickle_values, fold);
    let stop = machine.run(&mut source);
    let complete = stop.is_ok();
    let mut pickle = machine.finish(complete);
    if let Err(stop) = stop {
        pickle.problems.push(stop.problem(source.offset()));
    }
    pickle
}

/// Why reading ended before the pickle did.
#[derive(Debug)]
enum Stop {
    /// The input ended.
    Truncated,
    /// The input could not be read.
    Io(std::io::Error),
    /// An opcode that would execute something.
    Refused(&'static str),
    /// A byte that is no opcode of a supported protocol.
    Unknown(u8),
    /// A protocol this reader does not know.
    Protocol(u8),
    /// An opcode that does not fit the stack, the memo or its own argument.
    Malformed(&'static str),
    /// A cap was hit.
    Limit {
        code: &'static str,
        what: &'static str,
        cap: usize,
    },
}

impl Stop {
    fn problem(&self, offset: u64) -> Problem {
        let kept = "what was read before it is kept";
        match self {
            Self::Truncated => Problem::new(
                "truncated",
                format!(
                    "the pickle ends after {offset} bytes without its stop mark: totals are lower bounds; fetch the whole file"
                ),
            ),
            Self::Io(error) => read_problem(error),
            Self::Refused(name) => Problem::new(
                "pickle-refused-opcode",
                format!(
                    "the pickle asks to execute something ({name}, just before byte {offset}), which is never done; {kept}"
                ),
            ),
            Self::Unknown(byte) => Problem::new(
                "pickle-unknown-opcode",
                format!("byte {byte:#04x} just before byte {offset} is no opcode of pickle protocols 2 to 5; {kept}"),
            ),
            Self::Protocol(version) => Problem::new(
                "pickle-protocol",
                format!("pickle protocol {version} is not known here; write the file again with protocol 4"),
            ),
            Self::Malformed(what) => Problem::new(
                "pickle-malformed",
                format!("{what}, just before byte {offset} of the pickle; {kept}"),
            ),
            Self::Limit { code, what, cap } => Problem::new(
                code,
                format!("the pickle has more than {cap} {what} at byte {offset}; {kept}"),
            ),
        }
    }
}
