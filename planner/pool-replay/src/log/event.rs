//! An event of a log in any format.

use std::fmt;

use super::frames::Stack;

/// The action of an event.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Action {
    /// A buffer was allocated.
    Allocate,
    /// A buffer was freed, and its bytes may be reused.
    Free,
    /// The owner of the buffer released it. Other streams may use the bytes of the buffer until
    /// `Free`.
    RequestFree,
    /// An allocation failed.
    Fail,
    /// The log's allocator took a segment from the device.
    Reserve,
    /// The log's allocator returned a segment to the device.
    Release,
    /// A private pool was released. The segments of the pool return to the device once they contain
    /// no live buffer.
    ReleasePool,
}

/// The ID of the pool in `PyTorch`'s allocator from which a buffer was allocated. Each captured
/// graph and each `MemPool` has a private pool, which shares no segments with other pools.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub(crate) struct Pool(pub(crate) u64, pub(crate) u64);

impl Pool {
    /// The pool of all buffers that belong to no private pool.
    pub(crate) const DEFAULT: Self = Self(0, 0);
}

/// The position of an event in a log.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Place {
    /// A line of a text, starting at 1.
    Line(u64),
    /// A buffer in a file of buffers, starting at 1.
    Buffer(u64),
    /// An entry in the trace of a device in a snapshot, starting at 0.
    Trace(u32, u64),
    /// An operation of a graph.
    Operation(usize),
    /// The end of a graph, after its last operation.
    End,
    /// The arena that contains the buffers of a graph, which exists before the first operation.
    Arena,
    /// The event is not in the trace, because it happened before the recording began.
    Before,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(line) => write!(f, "line {line}"),
            Self::Buffer(number) => write!(f, "buffer {number} of the file"),
            Self::Trace(device, index) => write!(f, "device_traces[{device}][{index}]"),
            Self::Operation(operation) => write!(f, "operation {operation}"),
            Self::End => f.write_str("the end of the graph"),
            Self::Arena => f.write_str("the arena of the graph"),
            Self::Before => f.write_str("before the recording"),
        }
    }
}

/// An event of a log.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Event {
    pub(crate) action: Action,
    pub(crate) place: Place,
    /// The time in microseconds, measured from an arbitrary origin that the log chooses.
    pub(crate) time: Option<i64>,
    pub(crate) device: u32,
    pub(crate) stream: u64,
    pub(crate) address: u64,
    /// The bytes of the buffer or segment. If the log does not state how many bytes were freed, the
    /// number is 0.
    pub(crate) bytes: u64,
    /// The requested bytes, if the log's allocator rounded them up to `bytes`.
    pub(crate) requested: Option<u64>,
    /// The caller.
    pub(crate) stack: Stack,
    pub(crate) pool: Pool,
}

impl Event {
    /// Creates an event on stream 0 and in the default pool of device 0, without a time or frames.
    pub(crate) fn new(action: Action, place: Place, address: u64, bytes: u64) -> Self {
        let stack = Stack::default();
        Self {
            action,
            place,
            time: None,
            device: 0,
            stream: 0,
            address,
            bytes,
            requested: None,
            stack,
            pool: Pool::DEFAULT,
        }
    }

    /// Returns the requested bytes.
    pub(crate) fn asked(&self) -> u64 {
        self.requested.unwrap_or(self.bytes)
    }
}
