//! The one error of graph memory: what was asked, what there is, and what to do about it. `Display` says an
//! error's own part, `source` what was below it.

use std::fmt;

use pool_core::Device;
use pool_core::reserve::NoHostMemory;
use thiserror::Error;

use super::shortage::ArenaShortage;

/// Why a pool or an arena of graph memory could not do what it was asked. Both are as usable after
/// it as before.
///
/// `E` is the error of the memory's source ([`MemorySource::Error`](crate::MemorySource::Error)).
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum GraphMemoryError<E> {
    /// A block of no bytes was asked for.
    #[error("a block has at least one byte: 0 were asked for")]
    ZeroSize,
    /// The alignment is not a power of two.
    #[error("the alignment {alignment} is not a power of two")]
    BadAlignment {
        /// The alignment asked for, in bytes.
        alignment: u64,
    },
    /// Rounded up, the size is more than an address can say.
    #[error(
        "{size} bytes with alignment {alignment} are more than an address can say: check how the size was \
         computed"
    )]
    SizeOverflow {
        /// Bytes asked for.
        size: u64,
        /// The alignment asked for, in bytes.
        alignment: u64,
    },
    /// The pool's maximum does not allow it, even with every idle chunk given back.
    #[error(
        "{requested} bytes do not fit the pool's maximum of {capacity} ({reserved} are reserved, {used} \
         of them in use): raise the maximum, or return blocks first"
    )]
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
    #[error(
        "no {requested} bytes to be had, with {reserved} reserved, {used} of them in use, and idle chunks \
         given back: ask for less, or free memory elsewhere"
    )]
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
    #[error(
        "the source gave {bytes} bytes at {address:#x}, which is 0, not a multiple of 256 or beyond what \
         an address can say: it breaks its contract"
    )]
    BadAddress {
        /// The address.
        address: u64,
        /// Bytes that were asked for.
        bytes: u64,
    },
    /// The pool has as many blocks as it can name.
    #[error("the pool has {blocks} blocks and can name no more: use a second pool")]
    TooManyBlocks {
        /// How many it has, free ones among them.
        blocks: u64,
    },
    /// The host has no memory for the books of the pool or arena.
    #[error("the host has no {requested} bytes for books: free host memory first")]
    Bookkeeping {
        /// Bytes asked for.
        requested: usize,
    },
    /// The block is one of another pool.
    #[error(
        "the block was handed out by pool {made_by}, not by this one ({pool}): use it with the pool that \
         made it"
    )]
    UnknownBlock {
        /// The pool that was asked.
        pool: u64,
        /// The pool that handed the block out.
        made_by: u64,
    },
    /// A reset has taken the block back.
    #[error("block {block} is stale: a reset has taken it back, so allocate again")]
    StaleBlock {
        /// The block's number.
        block: u64,
    },
    /// The block was returned before.
    #[error("block {block} was returned before")]
    AlreadyReturned {
        /// The block's number.
        block: u64,
    },
    /// The block belongs to a graph, and cannot be returned before its last lease goes.
    #[error("block {block} belongs to captured graphs through {leases} leases: drop them first")]
    LeasedBlock {
        /// The block's number.
        block: u64,
        /// How many leases it has.
        leases: u64,
    },
    /// The pool was disposed.
    #[error("the pool was disposed: make another one")]
    Disposed,
    /// A capture session, or a graph of it, has the arena, and nobody else takes memory from it.
    #[error(
        "a capture session or its graph has the arena at {address:#x}: acquire from the capture, or take \
         an arena of your own"
    )]
    ArenaInUse {
        /// Where the arena begins.
        address: u64,
    },
    /// The arena has no room left.
    #[error(
        "the arena has no room for {requested} bytes: {used} of {capacity} are used. {}",
        shortage.advice()
    )]
    ArenaExhausted {
        /// Bytes asked for.
        requested: u64,
        /// Bytes up to where the next region would begin.
        used: u64,
        /// Bytes that the arena has.
        capacity: u64,
        /// The reason, which depends on the arena's policy.
        shortage: ArenaShortage,
    },
    /// An allocation is not the one that the plan has at its place.
    #[error(
        "allocation {allocation} asks for {requested} bytes{}: plan again from a run that allocates the \
         same",
        Planned(*planned)
    )]
    PlanDiverged {
        /// Which allocation since the last reset, from 0.
        allocation: usize,
        /// Bytes that the plan has there; `None` behind its end.
        planned: Option<u64>,
        /// Bytes asked for.
        requested: u64,
    },
    /// An arena that rewinds was used by a capture that forks.
    #[error(
        "the capture forks, and the arena has rewound {rewinds} times by the order of calls, which orders \
         nothing there: discard it and use Monotone or Planned"
    )]
    ForkedCapture {
        /// How often it had rewound.
        rewinds: u64,
    },
    /// The arena was reset since the lease was made: its bytes may be someone else's.
    #[error(
        "the arena was reset since the lease was made ({leased} resets then, {current} now): capture \
         again"
    )]
    StaleLease {
        /// How often it had been reset when the lease was made.
        leased: u64,
        /// How often by now.
        current: u64,
    },
    /// The stream is one of another device than the memory.
    #[error("the stream is on {stream} and the memory on {memory}: use a stream of that device")]
    WrongDevice {
        /// Where the stream is.
        stream: Device,
        /// Where the memory is.
        memory: Device,
    },
    /// The stream has an arena, or the arena a stream, already.
    #[error("stream {stream:#x} or this arena is installed already: clear it first")]
    AlreadyInstalled {
        /// The stream's handle, as a number.
        stream: u64,
    },
    /// The stream has no arena, or another one.
    #[error("this arena is not installed on stream {stream:#x}: install it first")]
    NotInstalled {
        /// The stream's handle, as a number.
        stream: u64,
    },
    /// The source failed at something else than giving memory.
    #[error("could not {operation}")]
    Source {
        /// What was being done.
        operation: &'static str,
        /// What the source said.
        source: E,
    },
}

/// The bytes that a plan has where another allocation was asked for, behind what was asked.
struct Planned(Option<u64>);

impl fmt::Display for Planned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(planned) => write!(f, ", and the plan has {planned} there"),
            None => f.write_str(" behind the end of the plan"),
        }
    }
}

impl<E> From<NoHostMemory> for GraphMemoryError<E> {
    fn from(NoHostMemory { requested }: NoHostMemory) -> Self {
        Self::Bookkeeping { requested }
    }
}
