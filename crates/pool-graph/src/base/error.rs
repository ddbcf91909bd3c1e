//! The one error of the crate: what was asked, what there is, and what to do about it.

use std::error::Error;
use std::fmt;

use pool_core::Device;

use crate::base::room::NoRoom;

/// Why a pool or an arena of graph memory could not do what it was asked. Both are as usable after
/// it as before.
///
/// `E` is the error of the memory's source ([`MemorySource::Error`](crate::MemorySource::Error)).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum GraphMemoryError<E> {
    /// A block of no bytes was asked for.
    ZeroSize,
    /// The alignment is not a power of two.
    BadAlignment {
        /// The alignment asked for, in bytes.
        alignment: u64,
    },
    /// Rounded up, the size is more than an address can say.
    SizeOverflow {
        /// Bytes asked for.
        size: u64,
        /// The alignment asked for, in bytes.
        alignment: u64,
    },
    /// The pool's maximum does not allow it, even with every idle chunk given back.
    CapacityExceeded {
        /// Bytes asked for.
        requested: u64,
        /// Bytes in blocks that are handed out.
        used: u64,
        /// Bytes that the pool holds.
        reserved: u64,
        /// The pool's maximum in bytes.
        capacity: u64,
    },
    /// The source has no such memory, even with every idle chunk of this pool given back.
    OutOfMemory {
        /// Bytes asked for.
        requested: u64,
        /// Bytes in blocks that are handed out.
        used: u64,
        /// Bytes that the pool holds.
        reserved: u64,
        /// What the source said.
        source: E,
    },
    /// The source gave an address that it must not give; the memory was given back.
    BadAddress {
        /// The address.
        address: u64,
        /// Bytes that were asked for.
        bytes: u64,
    },
    /// The pool has as many blocks as it can name.
    TooManyBlocks {
        /// How many it has, free ones among them.
        blocks: u64,
    },
    /// The host has no memory for the books of the pool or arena.
    Bookkeeping {
        /// Bytes asked for.
        requested: usize,
    },
    /// The block is one of another pool.
    UnknownBlock {
        /// The pool that was asked.
        pool: u64,
        /// The pool that handed the block out.
        made_by: u64,
    },
    /// A reset has taken the block back.
    StaleBlock {
        /// The block's number.
        block: u64,
    },
    /// The block was returned before.
    AlreadyReturned {
        /// The block's number.
        block: u64,
    },
    /// The block belongs to a graph, and cannot be returned before its last lease goes.
    LeasedBlock {
        /// The block's number.
        block: u64,
        /// How many leases it has.
        leases: u64,
    },
    /// The pool was disposed.
    Disposed,
    /// A capture session, or a graph of it, has the arena, and nobody else takes memory from it.
    ArenaInUse {
        /// Where the arena begins.
        address: u64,
    },
    /// The arena has no room left.
    ArenaExhausted {
        /// Bytes asked for.
        requested: u64,
        /// Bytes up to where the next region would begin.
        used: u64,
        /// Bytes that the arena has.
        capacity: u64,
    },
    /// An allocation is not the one that the plan has at its place.
    PlanDiverged {
        /// Which allocation since the last reset, from 0.
        allocation: usize,
        /// Bytes that the plan has there; `None` behind its end.
        planned: Option<u64>,
        /// Bytes asked for.
        requested: u64,
    },
    /// An arena that rewinds was used by a capture that forks.
    ForkedCapture {
        /// How often it had rewound.
        rewinds: u64,
    },
    /// The arena was reset since the lease was made: its bytes may be someone else's.
    StaleLease {
        /// How often it had been reset when the lease was made.
        leased: u64,
        /// How often by now.
        current: u64,
    },
    /// The stream is one of another device than the memory.
    WrongDevice {
        /// Where the stream is.
        stream: Device,
        /// Where the memory is.
        memory: Device,
    },
    /// The stream has an arena, or the arena a stream, already.
    AlreadyInstalled {
        /// The stream's handle, as a number.
        stream: u64,
    },
    /// The stream has no arena, or another one.
    NotInstalled {
        /// The stream's handle, as a number.
        stream: u64,
    },
    /// The source failed at something else than giving memory.
    Source {
        /// What was being done.
        operation: &'static str,
        /// What the source said.
        source: E,
    },
}

impl<E: fmt::Display> fmt::Display for GraphMemoryError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ZeroSize => f.write_str("a block has at least one byte: 0 were asked for"),
            Self::BadAlignment { alignment } => {
                write!(f, "the alignment {alignment} is not a power of two")
            }
            Self::SizeOverflow { size, alignment } => write!(
                f,
                "{size} bytes with alignment {alignment} are more than an address can say: check \
                 how the size was computed"
            ),
            Self::CapacityExceeded { requested, used, reserved, capacity } => write!(
                f,
                "{requested} bytes do not fit the pool's maximum of {capacity} ({reserved} are \
                 reserved, {used} of them in use): raise the maximum, or return blocks first"
            ),
            Self::OutOfMemory { requested, used, reserved, source } => write!(
                f,
                "no {requested} bytes to be had ({source}), with {reserved} reserved, {used} of them \
                 in use, and idle chunks given back: ask for less, or free memory elsewhere"
            ),
            Self::BadAddress { address, bytes } => write!(
                f,
                "the source gave {bytes} bytes at {address:#x}, which is 0, not a multiple of 256 or \
                 beyond what an address can say: it breaks its contract"
            ),
            Self::TooManyBlocks { blocks } => {
                write!(f, "the pool has {blocks} blocks and can name no more: use a second pool")
            }
            Self::Bookkeeping { requested } => {
                write!(f, "the host has no {requested} bytes for books: free host memory first")
            }
            Self::UnknownBlock { pool, made_by } => write!(
                f,
                "the block was handed out by pool {made_by}, not by this one ({pool}): use it with \
                 the pool that made it"
            ),
            Self::StaleBlock { block } => {
                write!(f, "block {block} is stale: a reset has taken it back, so allocate again")
            }
            Self::AlreadyReturned { block } => write!(f, "block {block} was returned before"),
            Self::LeasedBlock { block, leases } => write!(
                f,
                "block {block} belongs to captured graphs through {leases} leases: drop them first"
            ),
            Self::Disposed => f.write_str("the pool was disposed: make another one"),
            Self::ArenaInUse { address } => write!(
                f,
                "a capture session or its graph has the arena at {address:#x}: acquire from the capture, \
                 or take an arena of your own"
            ),
            Self::ArenaExhausted { requested, used, capacity } => write!(
                f,
                "the arena has no room for {requested} bytes: {used} of {capacity} are used. An \
                 arena that never reuses must hold the sum of what a capture allocates"
            ),
            Self::PlanDiverged { allocation, planned: Some(planned), requested } => write!(
                f,
                "allocation {allocation} asks for {requested} bytes, and the plan has {planned} \
                 there: plan again from a run that allocates the same"
            ),
            Self::PlanDiverged { allocation, planned: None, requested } => write!(
                f,
                "allocation {allocation} asks for {requested} bytes behind the end of the plan: \
                 plan again from a run that allocates the same"
            ),
            Self::ForkedCapture { rewinds } => write!(
                f,
                "the capture forks, and the arena has rewound {rewinds} times by the order of calls, \
                 which orders nothing there: discard it and use Monotone or Planned"
            ),
            Self::StaleLease { leased, current } => write!(
                f,
                "the arena was reset since the lease was made ({leased} resets then, {current} now): \
                 capture again"
            ),
            Self::WrongDevice { stream, memory } => write!(
                f,
                "the stream is on {stream} and the memory on {memory}: use a stream of that device"
            ),
            Self::AlreadyInstalled { stream } => {
                write!(f, "stream {stream:#x} or this arena is installed already: clear it first")
            }
            Self::NotInstalled { stream } => {
                write!(f, "this arena is not installed on stream {stream:#x}: install it first")
            }
            Self::Source { operation, source } => write!(f, "could not {operation}: {source}"),
        }
    }
}

impl<E> From<NoRoom> for GraphMemoryError<E> {
    fn from(NoRoom { requested }: NoRoom) -> Self {
        Self::Bookkeeping { requested }
    }
}

impl<E: Error + 'static> Error for GraphMemoryError<E> {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::OutOfMemory { source, .. } | Self::Source { source, .. } => Some(source),
            _ => None,
        }
    }
}
