//! The work of a stream or a graph node, as the caller requests it and in the form that can run.
//!
//! `Work` contains addresses. When it is submitted, the addresses are resolved to parts of blocks
//! (`Unit`), and the accessed bytes are recorded for the race checker.

use super::copy::{Copy, Rows};
use super::host_call::HostCall;
use super::kernel::{KernelCall, ReadyKernel};
use super::memory::Piece;

/// Work that a caller has requested.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Work {
    Empty,
    Fill(Fill),
    Copy(Copy),
    Host(HostCall),
    Kernel(KernelCall),
    /// Runs a child graph.
    Child(usize),
    /// Runs child graphs depending on a condition. The fields are the handles of the graphs. Such a
    /// node can be added and read back, but not instantiated.
    Conditional(Vec<u64>),
    /// Work of another API. Such a node can be added and read back, but not instantiated.
    Opaque(NodeKind),
    /// Waits for an external event at each launch of the graph.
    Wait(usize),
    /// Records an external event at each launch of the graph.
    Record(usize),
    Allocate {
        address: u64,
        bytes: usize,
        device: usize,
    },
    Free {
        address: u64,
    },
}

/// A fill of rows with identical elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fill {
    pub(crate) address: u64,
    pub(crate) pitch: usize,
    pub(crate) value: u32,
    /// The size of an element in bytes: 1, 2 or 4.
    pub(crate) element: usize,
    /// The number of elements in a row.
    pub(crate) width: usize,
    pub(crate) height: usize,
}

/// The kind of a node, with CUDA's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum NodeKind {
    Kernel = 0,
    Copy = 1,
    Fill = 2,
    Host = 3,
    Child = 4,
    Empty = 5,
    Wait = 6,
    Record = 7,
    ExternalSignal = 8,
    ExternalWait = 9,
    Allocate = 10,
    Free = 11,
    BatchOperations = 12,
    Conditional = 13,
}

/// A unit of work, which runs as a whole.
#[derive(Debug)]
pub(crate) enum Unit {
    Nothing,
    Fill {
        pieces: Vec<Piece>,
        element: Vec<u8>,
    },
    Copy {
        to: Place,
        from: Place,
    },
    Host(HostCall),
    Kernel(Box<ReadyKernel>),
    /// Overwrites the bytes of a block, then drops them.
    Free(usize),
    /// Frees a block of `cuMemAlloc` like `Free`, then returns its bytes to the device.
    FreePlain {
        block: usize,
        device: usize,
        bytes: usize,
    },
    /// Overwrites the bytes of a block, and keeps the block for the next launch.
    Poison(usize),
    /// Records an event.
    Mark(usize, u64),
    /// Accesses an address that has no memory, which breaks the device's context.
    Fault(usize),
}

/// One end of a copy, in the form that can run.
#[derive(Debug)]
pub(crate) enum Place {
    Device(Vec<Piece>),
    /// The rows, each given by its address and length.
    Host(Vec<(u64, usize)>),
    Staged(Vec<u8>),
}

/// Bytes that an operation accesses.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Access {
    pub(crate) piece: Piece,
    pub(crate) writes: bool,
    pub(crate) node: Option<usize>,
}

impl Work {
    pub(crate) fn kind(&self) -> NodeKind {
        match self {
            Self::Child(_) => NodeKind::Child,
            Self::Conditional(_) => NodeKind::Conditional,
            Self::Opaque(kind) => *kind,
            Self::Empty => NodeKind::Empty,
            Self::Fill(_) => NodeKind::Fill,
            Self::Copy(_) => NodeKind::Copy,
            Self::Host(_) => NodeKind::Host,
            Self::Kernel(_) => NodeKind::Kernel,
            Self::Wait(_) => NodeKind::Wait,
            Self::Record(_) => NodeKind::Record,
            Self::Allocate { .. } => NodeKind::Allocate,
            Self::Free { .. } => NodeKind::Free,
        }
    }
}

impl Fill {
    /// Returns a fill of a single row of elements.
    pub(crate) fn row(address: u64, value: u32, element: usize, width: usize) -> Self {
        Self { address, pitch: 0, value, element, width, height: 1 }
    }

    /// Returns `true` if the two fills differ at most in their value and address.
    pub(in crate::world) fn has_shape_of(&self, other: &Self) -> bool {
        let shape = |fill: &Self| (fill.element, fill.width, fill.height, fill.pitch);
        shape(self) == shape(other)
    }

    /// Returns the rows to fill. They are only correct if the fill [is valid](Self::is_valid).
    pub(in crate::world) fn rows(&self) -> Rows {
        Rows::in_plane(self.address, self.width * self.element, self.height, self.pitch)
    }

    pub(crate) fn is_valid(&self) -> bool {
        let Some(row) = self.width.checked_mul(self.element) else { return false };
        matches!(self.element, 1 | 2 | 4)
            && self.address % self.element as u64 == 0
            && (self.height <= 1 || (self.pitch >= row && self.pitch % self.element == 0))
            && self
                .pitch
                .checked_mul(self.height)
                .is_some_and(|bytes| self.address.checked_add(bytes.max(row) as u64).is_some())
            && row.checked_mul(self.height).is_some()
    }
}
