//! Where `CPython` keeps what a stack needs, per version.
//!
//! 3.13 and later say so themselves, in `_Py_DebugOffsets` at the start of `_PyRuntime`
//! (`Include/internal/pycore_debug_offsets.h`). For 3.8 to 3.12 the offsets are those of the structures in
//! `Include/cpython` and `Include/internal` on 64-bit Linux: `_PyRuntimeState` (`pycore_runtime.h`, until 3.8
//! `pycore_pystate.h`), `PyInterpreterState` (`pycore_interp.h`), `PyThreadState`, `PyFrameObject` or
//! `_PyInterpreterFrame`, `PyCodeObject`, `struct _gil_runtime_state` (`pycore_gil.h`).
//!
//! Of builds without the lock (`--disable-gil`) nothing is read: their objects have another head.

use crate::process::memory::{Bytes, Memory};

/// Offsets of the members that are read, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    pub(super) interpreters_head: u64,
    pub(super) interpreter_next: u64,
    pub(super) threads_head: u64,
    pub(super) thread_next: u64,
    /// The pthread handle.
    pub(super) thread_id: u64,
    /// The kernel's thread id; since 3.11.
    pub(super) native_thread_id: Option<u64>,
    pub(super) gil: Gil,
    pub(super) frame: FrameRoot,
    pub(super) frame_code: u64,
    pub(super) frame_previous: u64,
    pub(super) position: Position,
    pub(super) entry: Entry,
    pub(super) slots: Slots,
    pub(super) attributes: Attributes,
    pub(super) code_filename: u64,
    /// The plain name, as tracebacks print it.
    pub(super) code_name: u64,
    pub(super) code_first_line: u64,
    pub(super) code_line_table: u64,
    pub(super) line_table: LineTable,
    /// Size of `PyASCIIObject`: where the characters of an ASCII string start.
    pub(super) ascii_data: u64,
    /// Size of `PyCompactUnicodeObject`: where those of another string start.
    pub(super) unicode_data: u64,
    /// Bit of `state` where the kind (3 bits) starts; `compact` and `ascii` follow.
    pub(super) unicode_kind_bit: u32,
}

/// Where the interpreter's lock is (`struct _gil_runtime_state`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Gil {
    pub(super) root: GilRoot,
    /// Whether somebody has it, 32 bits: 1, 0, or -1 where there has been one thread only (3.8).
    pub(super) locked: u64,
    /// The thread state that took it last.
    pub(super) last_holder: u64,
}

/// Who has a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum GilRoot {
    /// All interpreters have one: it is in the runtime (until 3.11).
    Runtime(u64),
    /// An interpreter has one of its own or shares that of another: a pointer in its state (since 3.12).
    Interpreter(u64),
}

impl Gil {
    /// At this place, in the form that it has from 3.8 to 3.12.
    const fn at(root: GilRoot) -> Self {
        Self {
            root,
            locked: 16,
            last_holder: 8,
        }
    }
}

/// How a thread leads to its innermost frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FrameRoot {
    /// A pointer in the thread state.
    Direct(u64),
    /// A pointer in the thread state to a structure with a pointer.
    CFrame(u64, u64),
}

/// How a frame tells where in its code it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Position {
    /// An index of 32 bits, in units of so many bytes.
    Index { at: u64, unit: i64 },
    /// A pointer into the instructions, which start at an offset of the code object.
    Pointer { at: u64, instructions: u64 },
}

/// Which Python frames one call of the C function that interprets them ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Entry {
    /// Each call runs one frame (until 3.10).
    Every,
    /// A flag marks the outermost frame of a call (3.11).
    Flag(u64),
    /// A frame that belongs to C marks the end (since 3.12): its `owner` is this or more.
    Owner(u64, u8),
}

/// Where a frame keeps its local variables and its values, and how it tells which values are within an open block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Slots {
    /// A frame that is an object (until 3.10).
    Object {
        /// The first local variable.
        locals: u64,
        /// Pointer to the first value.
        values: u64,
        /// How many blocks are open, 32 bits.
        blocks: u64,
        /// The blocks (`PyTryBlock`): kind, place of the handler, and how many values there were, of 32 bits each.
        block: u64,
    },
    /// A frame of the interpreter's own stack (since 3.11).
    Inline {
        /// The first local variable; values follow behind the last one.
        locals: u64,
        /// In the code object, how many local variables there are, 32 bits.
        count: u64,
        /// In the code object, how many values there may be, 32 bits.
        depth: u64,
        /// In the code object, the table of handlers, a `bytes` object.
        handlers: u64,
    },
}

/// Where an object of a class that is written in Python keeps its attributes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Attributes {
    /// In a dictionary, whose place in the object the type tells (until 3.10).
    Dictionary,
    /// In an array before the object, until somebody asks for the dictionary, which stands beside it (3.11).
    Before,
    /// In one or the other, told apart by the lowest bit of what points to it (3.12).
    Tagged,
    /// In an array behind the object, or in a dictionary (since 3.13).
    Behind,
}

/// The form of a code object's table of lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LineTable {
    /// `co_lnotab` (until 3.9).
    Lnotab,
    /// `co_linetable` of 3.10 (PEP 626).
    Ranges,
    /// `co_linetable` since 3.11 (PEP 657).
    Locations,
}

impl Layout {
    /// The layout of the interpreter whose `_PyRuntime` is at an address. `minor` is its version as far as known.
    pub(super) fn find(memory: &Memory<'_>, runtime: u64, minor: Option<u64>) -> Option<Self> {
        let mut cookie = [0; 8];
        memory.read(runtime, &mut cookie)?;
        if &cookie == b"xdebugpy" {
            return Self::described(memory, runtime);
        }
        match minor? {
            8 => Some(Self {
                gil: Gil::at(GilRoot::Runtime(1152)),
                ..V3_9
            }),
            9 => Some(V3_9),
            10 => Some(V3_10),
            11 => Some(V3_11),
            12 => Some(V3_12),
            _ => None,
        }
    }

    /// As the interpreter itself describes it.
    fn described(memory: &Memory<'_>, runtime: u64) -> Option<Self> {
        let word = |index: u64| memory.word(runtime.checked_add(index * 8)?);
        let minor = word(1)? >> 16 & 0xff;
        // Members that 3.14 put between those of 3.13, by the structure they are in.
        let added = |count| if minor >= 14 { count } else { 0 };
        let interpreter = 6;
        let thread = interpreter + 13 + added(3);
        let frame = thread + 9;
        let code = frame + 6 + added(2);
        let unicode = code + 10 + added(1) + 2 + 4 + 3 + 3 + added(4) + 3 + 2 + 3 + 3;
        // That of 3.14 has `threads_main` before these.
        let gil = interpreter + 8 + added(1);
        let in_gil = |index| word(index)?.checked_sub(word(gil + 1)?);
        let ascii_data = word(unicode + 3)?;
        // A layout that this does not understand shows in the sizes: a string's head has 40 or 48 bytes (without the
        // lock 56).
        if !matches!(ascii_data, 40 | 48) {
            return None;
        }
        Some(Self {
            interpreters_head: word(5)?,
            interpreter_next: word(interpreter + 2)?,
            threads_head: word(interpreter + 3)?,
            thread_next: word(thread + 2)?,
            gil: Gil {
                root: GilRoot::Interpreter(word(gil)?),
                locked: in_gil(gil + 3)?,
                last_holder: in_gil(gil + 4)?,
            },
            frame: FrameRoot::Direct(word(thread + 4)?),
            thread_id: word(thread + 5)?,
            native_thread_id: Some(word(thread + 6)?),
            frame_previous: word(frame + 1)?,
            frame_code: word(frame + 2)?,
            position: Position::Pointer {
                at: word(frame + 3)?,
                instructions: word(code + 9)?,
            },
            entry: Entry::Owner(word(frame + 5)?, 3),
            slots: Slots::Inline {
                locals: word(frame + 4)?,
                count: word(code + 5)?.checked_add(4)?,
                depth: word(code + 5)?.checked_sub(4)?,
                handlers: HANDLERS,
            },
            attributes: Attributes::Behind,
            code_filename: word(code + 1)?,
            code_name: word(code + 2)?,
            code_line_table: word(code + 4)?,
            code_first_line: word(code + 5)?,
            line_table: LineTable::Locations,
            ascii_data,
            unicode_data: ascii_data + 16,
            unicode_kind_bit: if minor >= 14 { 16 } else { V3_12.unicode_kind_bit },
        })
    }
}

/// `co_exceptiontable`, since 3.11.
const HANDLERS: u64 = 40;

const V3_9: Layout = Layout {
    line_table: LineTable::Lnotab,
    slots: Slots::Object {
        locals: 360,
        values: 64,
        blocks: 112,
        block: 120,
    },
    position: Position::Index { at: 104, unit: 1 },
    ..V3_10
};

const V3_10: Layout = Layout {
    interpreters_head: 32,
    interpreter_next: 0,
    threads_head: 8,
    thread_next: 8,
    thread_id: 176,
    native_thread_id: None,
    gil: Gil::at(GilRoot::Runtime(352)),
    frame: FrameRoot::Direct(24),
    frame_code: 32,
    frame_previous: 24,
    position: Position::Index { at: 96, unit: 2 },
    entry: Entry::Every,
    attributes: Attributes::Dictionary,
    slots: Slots::Object {
        locals: 352,
        values: 64,
        blocks: 104,
        block: 112,
    },
    code_filename: 104,
    code_name: 112,
    code_first_line: 40,
    code_line_table: 120,
    line_table: LineTable::Ranges,
    ascii_data: 48,
    unicode_data: 72,
    unicode_kind_bit: 2,
};

const V3_11: Layout = Layout {
    interpreters_head: 40,
    interpreter_next: 0,
    threads_head: 16,
    thread_next: 8,
    thread_id: 152,
    native_thread_id: Some(160),
    gil: Gil::at(GilRoot::Runtime(360)),
    frame: FrameRoot::CFrame(56, 8),
    frame_code: 32,
    frame_previous: 48,
    position: Position::Pointer {
        at: 56,
        instructions: 184,
    },
    entry: Entry::Flag(68),
    attributes: Attributes::Before,
    slots: Slots::Inline {
        locals: 72,
        count: 76,
        depth: 68,
        handlers: HANDLERS,
    },
    code_filename: 112,
    code_name: 120,
    code_first_line: 72,
    code_line_table: 136,
    line_table: LineTable::Locations,
    ascii_data: 48,
    unicode_data: 72,
    unicode_kind_bit: 2,
};

const V3_12: Layout = Layout {
    interpreters_head: 40,
    interpreter_next: 0,
    threads_head: 72,
    thread_next: 8,
    thread_id: 136,
    native_thread_id: Some(144),
    gil: Gil::at(GilRoot::Interpreter(384)),
    frame: FrameRoot::CFrame(56, 0),
    frame_code: 0,
    frame_previous: 8,
    position: Position::Pointer {
        at: 56,
        instructions: 192,
    },
    entry: Entry::Owner(70, 3),
    attributes: Attributes::Tagged,
    slots: Slots::Inline {
        locals: 72,
        count: 72,
        depth: 64,
        handlers: HANDLERS,
    },
    code_filename: 112,
    code_name: 120,
    code_first_line: 68,
    code_line_table: 136,
    line_table: LineTable::Locations,
    ascii_data: 40,
    unicode_data: 56,
    unicode_kind_bit: 2,
};
