//! The kinds of impossible events in a log.

use std::fmt;

use crate::log::{Event, Place};

/// The reason why an event is impossible.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum FaultKind {
    /// The event frees a buffer that does not exist.
    UnknownFree,
    /// The event allocates bytes that overlap a live buffer.
    Overlap {
        /// The place at which the live buffer was allocated.
        other: Place,
        /// The address of the live buffer.
        address: u64,
        /// The size of the live buffer in bytes.
        bytes: u64,
    },
    /// The number of freed bytes differs from the number of allocated bytes.
    FreedBytes {
        /// The place at which the buffer was allocated.
        other: Place,
        /// The bytes that were allocated.
        allocated: u64,
    },
    /// The end of the buffer or the sum of all live bytes exceeds 64 bits.
    Overflow,
}

/// An impossible event.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Fault {
    pub(crate) kind: FaultKind,
    pub(crate) event: Event,
}

impl FaultKind {
    /// Returns a word for the kind of fault, which programs can evaluate.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::UnknownFree => "unknown-free",
            Self::Overlap { .. } => "overlap",
            Self::FreedBytes { .. } => "freed-bytes",
            Self::Overflow => "overflow",
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Event { address, bytes, .. } = self.event;
        match self.kind {
            FaultKind::UnknownFree => {
                write!(f, "frees address {address:#x}, but no buffer is live there")
            }
            FaultKind::Overlap { other, address: live, bytes: size } => write!(
                f,
                "allocates {bytes} bytes at {address:#x}, but {size} bytes at {live:#x} have been \
                 live since {other}"
            ),
            FaultKind::FreedBytes { other, allocated } => write!(
                f,
                "frees {bytes} bytes at {address:#x}, but {other} allocated {allocated} bytes there"
            ),
            FaultKind::Overflow => {
                write!(f, "{bytes} bytes at {address:#x} end beyond the 64-bit address space")
            }
        }
    }
}
