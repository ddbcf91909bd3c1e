//! The error type of pools and arenas. Each message includes the values involved and tells the
//! caller what to do. `Display` prints only the error's own message, and `source` returns the
//! underlying error.

use std::fmt;

use pool_core::Device;
use pool_core::reserve::NoHostMemory;
use thiserror::Error;

use super::shortage::ArenaShortage;

/// The reason a pool or an arena could not fulfill a request. After any of these errors, the pool
/// or arena remains usable.
///
/// `E` is the error type of the memory source
/// ([`MemorySource::Error`](crate::MemorySource::Error)).
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum GraphMemoryError<E> {
    /// The requested block has a size of 0 bytes.
    #[error("a block of 0 bytes was requested: request at least 1 byte")]
    ZeroSize,
    /// The alignment is not a power of two.
    #[error(
        "the requested alignment of {alignment} bytes is not a power of two: check how the \
         alignment was computed"
    )]
    BadAlignment {
        /// The requested alignment, in bytes.
        alignment: u64,
    },
    /// The size, rounded up to a multiple of 256, exceeds the address space.
    #[error(
        "a block of {size} bytes with an alignment of {alignment} bytes exceeds the address space: \
         check how the size was computed"
    )]
    SizeOverflow {
        /// The requested size in bytes.
        size: u64,
        /// The requested alignment, in bytes.
        alignment: u64,
    },
    /// The request would exceed the pool's maximum size, even if all idle chunks were freed.
    #[error(
        "allocating {requested} bytes would exceed the pool's maximum of {capacity} bytes, because \
         {reserved} bytes are reserved and {used} of them are in use: raise the maximum, or return \
         blocks first"
    )]
    CapacityExceeded {
        /// The requested size in bytes.
        requested: u64,
        /// The total size of all allocated blocks in bytes.
        used: u64,
        /// The number of bytes that the pool has reserved from its source.
        reserved: u64,
        /// The pool's maximum size in bytes.
        capacity: u64,
    },
    /// The source is out of memory, even after all of this pool's idle chunks have been freed.
    #[error(
        "cannot allocate {requested} bytes, although all idle chunks were freed ({reserved} bytes \
         are reserved, and {used} of them are in use): request fewer bytes, or free memory outside \
         the pool"
    )]
    OutOfMemory {
        /// The requested size in bytes.
        requested: u64,
        /// The total size of all allocated blocks in bytes.
        used: u64,
        /// The number of bytes that the pool has reserved from its source.
        reserved: u64,
        /// The error returned by the source.
        source: E,
    },
    /// The source returned an invalid address. The pool has already returned this memory to the
    /// source.
    #[error(
        "the memory source allocated {bytes} bytes at the invalid address {address:#x}: the \
         address must be a nonzero multiple of 256, and the memory must end within the address \
         space"
    )]
    BadAddress {
        /// The invalid address.
        address: u64,
        /// The requested size in bytes.
        bytes: u64,
    },
    /// The pool already contains the maximum number of blocks.
    #[error("the pool already contains the maximum of {blocks} blocks: use a second pool")]
    TooManyBlocks {
        /// The number of blocks in the pool, including free blocks.
        blocks: u64,
    },
    /// The host does not have enough memory for the pool's or arena's records.
    #[error(
        "cannot allocate {requested} bytes of host memory for bookkeeping: free some host memory \
         first"
    )]
    Bookkeeping {
        /// The amount of host memory requested, in bytes.
        requested: usize,
    },
    /// The block belongs to a different pool.
    #[error(
        "the block belongs to pool {made_by}, but was passed to a method of pool {pool}: use the \
         block only with its own pool"
    )]
    UnknownBlock {
        /// The number that identifies the pool on which the method was called.
        pool: u64,
        /// The number that identifies the pool from which the block was allocated.
        made_by: u64,
    },
    /// A reset has freed the block.
    #[error("block {block} was freed by a reset of its pool: allocate another block")]
    StaleBlock {
        /// The block's number.
        block: u64,
    },
    /// The block has already been returned.
    #[error("block {block} has already been returned: return each block only once")]
    AlreadyReturned {
        /// The block's number.
        block: u64,
    },
    /// A captured graph holds a lease on the block. The block cannot be returned until its last
    /// lease has been dropped.
    #[error("captured graphs still hold {leases} leases on block {block}: drop the graphs first")]
    LeasedBlock {
        /// The block's number.
        block: u64,
        /// The number of leases on the block.
        leases: u64,
    },
    /// The pool has been disposed of.
    #[error("the pool has been disposed of: create a new pool")]
    Disposed,
    /// A capture session or its graph is using the arena. No other code can allocate from an arena
    /// that a session or its graph is using.
    #[error(
        "the arena at {address:#x} is in use by a capture session or its graph: acquire the memory \
         from the capture, or create another arena"
    )]
    ArenaInUse {
        /// The arena's start address.
        address: u64,
    },
    /// The arena is full.
    #[error(
        "the arena has no room for {requested} bytes: {used} of {capacity} bytes are in use. {}",
        shortage.advice()
    )]
    ArenaExhausted {
        /// The requested size in bytes.
        requested: u64,
        /// The offset in bytes where the next region would have started.
        used: u64,
        /// The arena's capacity in bytes.
        capacity: u64,
        /// The reason the arena is too small, with advice for the caller.
        shortage: ArenaShortage,
    },
    /// An allocation differs from the one planned at the same position.
    #[error(
        "allocation {allocation} requests {requested} bytes{}: create a new plan from a run that \
         makes the same allocations as this one",
        Planned(*planned)
    )]
    PlanDiverged {
        /// The number of allocations since the last reset, not including this one.
        allocation: usize,
        /// The planned size in bytes at this position, or `None` if the plan contains fewer
        /// allocations.
        planned: Option<u64>,
        /// The requested size in bytes.
        requested: u64,
    },
    /// The capture forks, but its arena has already moved its offset back to reuse bytes. Several
    /// streams might access the reused bytes at the same time.
    #[error(
        "the capture forks onto another stream, but its arena has been rewound {rewinds} times, so \
         two streams could use the same bytes at once: discard the capture, and use an arena with \
         the Monotone or Planned policy"
    )]
    ForkedCapture {
        /// The number of times that the arena has moved its offset back to reuse bytes.
        rewinds: u64,
    },
    /// The arena has been reset since the lease was created, so other code might be using the
    /// leased bytes.
    #[error(
        "the arena has been reset since the lease was created (its reset count was {leased} and is \
         now {current}): capture the graph again"
    )]
    StaleLease {
        /// The number of times that the arena had been reset before the lease was created.
        leased: u64,
        /// The number of times that the arena has been reset so far.
        current: u64,
    },
    /// The stream and the memory are on different devices.
    #[error("the stream is on {stream}, but the memory is on {memory}: use a stream on {memory}")]
    WrongDevice {
        /// The stream's device.
        stream: Device,
        /// The memory's device.
        memory: Device,
    },
    /// The stream already has an arena, or this arena is already installed on a stream.
    #[error(
        "stream {stream:#x} already has an arena, or this arena is already installed on a stream: \
         clear the existing installation first"
    )]
    AlreadyInstalled {
        /// The stream's numeric handle.
        stream: u64,
    },
    /// The arena is not installed on the stream.
    #[error("this arena is not installed on stream {stream:#x}: install the arena first")]
    NotInstalled {
        /// The stream's numeric handle.
        stream: u64,
    },
    /// The source failed during an operation other than an allocation.
    #[error("could not {operation}")]
    Source {
        /// The operation that failed.
        operation: &'static str,
        /// The error returned by the source.
        source: E,
    },
}

/// The planned size of an allocation. Error messages show this size after the requested size.
struct Planned(Option<u64>);

impl fmt::Display for Planned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(planned) => {
                write!(f, ", but the plan contains {planned} bytes for this allocation")
            }
            None => f.write_str(", but the plan ends before this allocation"),
        }
    }
}

impl<E> From<NoHostMemory> for GraphMemoryError<E> {
    fn from(NoHostMemory { requested }: NoHostMemory) -> Self {
        Self::Bookkeeping { requested }
    }
}
