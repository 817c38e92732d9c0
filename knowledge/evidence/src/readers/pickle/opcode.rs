//! The opcodes of pickle protocols 2 to 5: those we carry out, and those we refuse by name.

/// An opcode that data needs (`Lib/pickletools.py` describes each).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Opcode {
    Proto,
    Frame,
    Stop,
    Mark,
    Pop,
    PopMark,
    None,
    True,
    False,
    BinInt,
    BinInt1,
    BinInt2,
    Long1,
    BinFloat,
    ShortBinUnicode,
    BinUnicode,
    BinUnicode8,
    EmptyDict,
    EmptyList,
    EmptyTuple,
    Tuple,
    Tuple1,
    Tuple2,
    Tuple3,
    Append,
    Appends,
    SetItem,
    SetItems,
    Memoize,
    BinPut,
    LongBinPut,
    BinGet,
    LongBinGet,
}

impl Opcode {
    /// The opcode a byte stands for, if it is one of ours.
    pub fn new(byte: u8) -> Option<Self> {
        const OPCODES: [Option<Opcode>; 256] = opcodes();
        OPCODES[usize::from(byte)]
    }

    const fn of(byte: u8) -> Option<Self> {
        Some(match byte {
            0x80 => Self::Proto,
            0x95 => Self::Frame,
            b'.' => Self::Stop,
            b'(' => Self::Mark,
            b'0' => Self::Pop,
            b'1' => Self::PopMark,
            b'N' => Self::None,
            0x88 => Self::True,
            0x89 => Self::False,
            b'J' => Self::BinInt,
            b'K' => Self::BinInt1,
            b'M' => Self::BinInt2,
            0x8a => Self::Long1,
            b'G' => Self::BinFloat,
            0x8c => Self::ShortBinUnicode,
            b'X' => Self::BinUnicode,
            0x8d => Self::BinUnicode8,
            b'}' => Self::EmptyDict,
            b']' => Self::EmptyList,
            b')' => Self::EmptyTuple,
            b't' => Self::Tuple,
            0x85 => Self::Tuple1,
            0x86 => Self::Tuple2,
            0x87 => Self::Tuple3,
            b'a' => Self::Append,
            b'e' => Self::Appends,
            b's' => Self::SetItem,
            b'u' => Self::SetItems,
            0x94 => Self::Memoize,
            b'q' => Self::BinPut,
            b'r' => Self::LongBinPut,
            b'h' => Self::BinGet,
            b'j' => Self::LongBinGet,
            _ => return None,
        })
    }

    /// The name of an opcode that imports, builds, calls or reaches outside the file.
    pub fn refused(byte: u8) -> Option<&'static str> {
        Some(match byte {
            b'c' => "GLOBAL",
            0x93 => "STACK_GLOBAL",
            b'R' => "REDUCE",
            b'b' => "BUILD",
            b'i' => "INST",
            b'o' => "OBJ",
            0x81 => "NEWOBJ",
            0x92 => "NEWOBJ_EX",
            b'P' => "PERSID",
            b'Q' => "BINPERSID",
            0x82 => "EXT1",
            0x83 => "EXT2",
            0x84 => "EXT4",
            0x97 => "NEXT_BUFFER",
            0x98 => "READONLY_BUFFER",
            0x96 => "BYTEARRAY8",
            0x8f => "EMPTY_SET",
            0x90 => "ADDITEMS",
            0x91 => "FROZENSET",
            _ => return None,
        })
    }
}

/// What each byte stands for.
const fn opcodes() -> [Option<Opcode>; 256] {
    let mut opcodes = [None; 256];
    let mut byte = 0;
    while byte < opcodes.len() {
        opcodes[byte] = Opcode::of(byte as u8);
        byte += 1;
    }
    opcodes
}
