//! The opcodes of pickles, and the bytes that represent them.

use super::error::PickleError;

/// An opcode that builds data.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[repr(u8)]
pub(crate) enum Opcode {
    Mark = b'(',
    Stop = b'.',
    Pop = b'0',
    PopMark = b'1',
    BinFloat = b'G',
    BinInt = b'J',
    BinInt1 = b'K',
    BinInt2 = b'M',
    None = b'N',
    BinString = b'T',
    ShortBinString = b'U',
    BinUnicode = b'X',
    Append = b'a',
    Appends = b'e',
    BinBytes = b'B',
    ShortBinBytes = b'C',
    Dict = b'd',
    EmptyDict = b'}',
    BinGet = b'h',
    LongBinGet = b'j',
    List = b'l',
    EmptyList = b']',
    BinPut = b'q',
    LongBinPut = b'r',
    SetItem = b's',
    Tuple = b't',
    EmptyTuple = b')',
    SetItems = b'u',
    Proto = 0x80,
    Tuple1 = 0x85,
    Tuple2 = 0x86,
    Tuple3 = 0x87,
    NewTrue = 0x88,
    NewFalse = 0x89,
    Long1 = 0x8a,
    Long4 = 0x8b,
    ShortBinUnicode = 0x8c,
    BinUnicode8 = 0x8d,
    BinBytes8 = 0x8e,
    EmptySet = 0x8f,
    AddItems = 0x90,
    FrozenSet = 0x91,
    Memoize = 0x94,
    Frame = 0x95,
    ByteArray8 = 0x96,
}

/// All opcodes that build data.
const ALL: [Opcode; 45] = {
    use Opcode::*;
    [
        Mark,
        Stop,
        Pop,
        PopMark,
        BinFloat,
        BinInt,
        BinInt1,
        BinInt2,
        None,
        BinString,
        ShortBinString,
        BinUnicode,
        Append,
        Appends,
        BinBytes,
        ShortBinBytes,
        Dict,
        EmptyDict,
        BinGet,
        LongBinGet,
        List,
        EmptyList,
        BinPut,
        LongBinPut,
        SetItem,
        Tuple,
        EmptyTuple,
        SetItems,
        Proto,
        Tuple1,
        Tuple2,
        Tuple3,
        NewTrue,
        NewFalse,
        Long1,
        Long4,
        ShortBinUnicode,
        BinUnicode8,
        BinBytes8,
        EmptySet,
        AddItems,
        FrozenSet,
        Memoize,
        Frame,
        ByteArray8,
    ]
};

/// The opcode of each byte.
const TABLE: [Option<Opcode>; 256] = {
    let mut table = [None; 256];
    let mut at = 0;
    while at < ALL.len() {
        table[ALL[at] as usize] = Some(ALL[at]);
        at += 1;
    }
    table
};

impl Opcode {
    /// Returns the opcode that a byte represents.
    pub(crate) fn of(byte: u8) -> Result<Self, PickleError> {
        if let Some(opcode) = TABLE[usize::from(byte)] {
            return Ok(opcode);
        }
        if let Some(name) = refused(byte) {
            return Err(PickleError::Refused { name });
        }
        Err(unsupported(byte)
            .map_or(PickleError::Unknown { byte }, |name| PickleError::Unsupported { name }))
    }
}

/// Returns the name of an opcode that imports, calls or requests anything outside the pickle.
fn refused(byte: u8) -> Option<&'static str> {
    Some(match byte {
        b'c' => "GLOBAL",
        b'i' => "INST",
        b'o' => "OBJ",
        b'R' => "REDUCE",
        b'b' => "BUILD",
        b'P' => "PERSID",
        b'Q' => "BINPERSID",
        0x81 => "NEWOBJ",
        0x82 => "EXT1",
        0x83 => "EXT2",
        0x84 => "EXT4",
        0x92 => "NEWOBJ_EX",
        0x93 => "STACK_GLOBAL",
        0x97 => "NEXT_BUFFER",
        0x98 => "READONLY_BUFFER",
        _ => return None,
    })
}

/// Returns the name of an opcode that only protocol 0 writes, or that copies a value with a single
/// owner.
fn unsupported(byte: u8) -> Option<&'static str> {
    Some(match byte {
        b'2' => "DUP",
        b'F' => "FLOAT",
        b'I' => "INT",
        b'L' => "LONG",
        b'S' => "STRING",
        b'V' => "UNICODE",
        b'g' => "GET",
        b'p' => "PUT",
        _ => return None,
    })
}
