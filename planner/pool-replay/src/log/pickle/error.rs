//! The errors in a pickle.

use thiserror::Error;

/// The reason why a pickle cannot be read.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
#[non_exhaustive]
pub enum PickleError {
    /// The file ends before the opcode STOP.
    #[error("the file ends before the pickle is complete")]
    Truncated,
    /// The opcode does something other than build data.
    #[error(
        "opcode {name} does more than build data and is refused: pickle code is never executed"
    )]
    Refused {
        /// The name of the opcode.
        name: &'static str,
    },
    /// The opcode builds data in a form that no snapshot uses.
    #[error(
        "opcode {name} belongs to protocol 0 or copies data: write the pickle with protocol 2 to 5"
    )]
    Unsupported {
        /// The name of the opcode.
        name: &'static str,
    },
    /// The byte is not an opcode.
    #[error("{byte:#04x} is not a pickle opcode")]
    Unknown {
        /// The byte.
        byte: u8,
    },
    /// The pickle uses a newer protocol.
    #[error("protocol {version} is not supported: write the pickle with protocol 2 to 5")]
    Protocol {
        /// The protocol.
        version: u8,
    },
    /// The opcode needs more values on the stack, or a value of another type.
    #[error("opcode {name} does not find its operands on the stack")]
    Stack {
        /// The name of the opcode.
        name: &'static str,
    },
    /// The memo does not contain this entry.
    #[error("entry {number} of the memo is read before it is stored")]
    Memo {
        /// The number of the entry.
        number: u32,
    },
    /// The line number of a frame is too large.
    #[error("the line of a frame is an integer of more than 63 bits")]
    FrameLine,
    /// A text is not UTF-8.
    #[error("a string is not UTF-8")]
    Encoding,
    /// The pickle exceeds a limit that every snapshot respects.
    #[error("the pickle has more than {limit} {what}")]
    TooMany {
        /// The quantity that is limited.
        what: &'static str,
        /// The limit.
        limit: u64,
    },
}
