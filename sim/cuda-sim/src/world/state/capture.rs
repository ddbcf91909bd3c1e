//! State of captures: the participating streams, and the nodes at their ends.

use crate::code::{Code, Outcome};

/// How strictly a capture treats calls outside it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Mode {
    #[default]
    Global = 0,
    ThreadLocal = 1,
    Relaxed = 2,
}

/// The capture status of a stream, with CUDA's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Status {
    None = 0,
    Active = 1,
    Invalidated = 2,
}

/// A capture.
#[derive(Debug)]
pub(crate) struct Capture {
    pub(crate) graph: usize,
    pub(in crate::world) origin: usize,
    pub(in crate::world) thread: u64,
    pub(in crate::world) mode: Mode,
    pub(in crate::world) status: Status,
}

/// The participation of a stream in a capture: the nodes that its next node depends on.
#[derive(Clone, Debug)]
pub(crate) struct Membership {
    pub(crate) capture: usize,
    pub(crate) tail: Vec<usize>,
}

impl Mode {
    pub(crate) fn from_number(number: u32) -> Outcome<Self> {
        match number {
            0 => Ok(Self::Global),
            1 => Ok(Self::ThreadLocal),
            2 => Ok(Self::Relaxed),
            _ => Err(Code::INVALID_VALUE),
        }
    }
}
