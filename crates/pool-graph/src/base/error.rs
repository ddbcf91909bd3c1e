//! The error of graph memory, with the numbers of the request and of the pool, and advice.
//! `Display` has an error's own part, `source` the cause below it.

use std::fmt;

use pool_core::Device;
use pool_core::reserve::NoHostMemory;
use thiserror::Error;

use super::shortage::ArenaShortage;

/// The reason for which a pool or an arena of graph memory refused a request. Both are as usable
/// afterwards as before.
///
/// `E` is the error of the memory's source ([`MemorySource::Error`](crate::MemorySource::Error)).
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum GraphMemoryError<E> {
    /// The request was for a block of 0 bytes.
    #[error("a block has at least one byte: 0 were requested")]
    ZeroSize,
    /// The alignment is not a power of two.
    #[error("the alignment {alignment} is not a power of two")]
    BadAlignment {
        /// The requested alignment, in bytes.
        alignment: u64,
    },
    /// Rounded up, the size exceeds the address space.
    #[error(
        "{size} bytes with alignment {alignment} exceed the address space: check how the size was \
         computed"
    )]
    SizeOverflow {
        /// The requested bytes.
        size: u64,
        /// The requested alignment, in bytes.
        alignment: u64,
    },
    /// It exceeds the pool's maximum, even after all idle chunks were freed.
    #[error(
        "{requested} bytes do not fit the pool's maximum of {capacity} ({reserved} are reserved, {used} \
         of them in use): raise the maximum, or return blocks first"
    )]
    CapacityExceeded {
        /// The requested bytes.
        requested: u64,
        /// The bytes of allocated blocks.
        used: u64,
        /// The bytes that the pool holds.
        reserved: u64,
        /// The pool's maximum in bytes.
        capacity: u64,
    },
    /// The source is out of memory, even after all idle chunks of this pool were freed.
    #[error(
        "cannot allocate {requested} bytes: {reserved} are reserved, {used} of them in use, and idle chunks \
         were freed: request less, or free memory elsewhere"
    )]
    OutOfMemory {
        /// The requested bytes.
        requested: u64,
        /// The bytes of allocated blocks.
        used: u64,
        /// The bytes that the pool holds.
        reserved: u64,
        /// The source's error.
        source: E,
    },
    /// The source returned an invalid address; the memory was freed.
    #[error(
        "the source returned {bytes} bytes at {address:#x}, which is 0, not a multiple of 256 or beyond the \
         address space: it breaks its contract"
    )]
    BadAddress {
        /// The address.
        address: u64,
        /// The requested bytes.
        bytes: u64,
    },
    /// The pool has the maximum number of blocks.
    #[error("the pool has {blocks} blocks, the maximum: use a second pool")]
    TooManyBlocks {
        /// The number of its blocks, including free ones.
        blocks: u64,
    },
    /// The host has no memory for the records of the pool or arena.
    #[error("the host has no {requested} bytes for records: free host memory first")]
    Bookkeeping {
        /// The requested bytes.
        requested: usize,
    },
    /// The block belongs to another pool.
    #[error(
        "the block was allocated by pool {made_by}, not by this one ({pool}): use it with the pool that \
         made it"
    )]
    UnknownBlock {
        /// The pool that was called.
        pool: u64,
        /// The pool that allocated the block.
        made_by: u64,
    },
    /// A reset has freed the block.
    #[error("block {block} is stale: a reset has freed it, so allocate again")]
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
    /// The block belongs to a graph, and cannot be returned before its last lease is dropped.
    #[error("captured graphs hold {leases} leases of block {block}: drop the graphs first")]
    LeasedBlock {
        /// The block's number.
        block: u64,
        /// The number of its leases.
        leases: u64,
    },
    /// The pool was disposed.
    #[error("the pool was disposed: create another one")]
    Disposed,
    /// A capture session, or a graph of it, has the arena; no other code can allocate from it.
    #[error(
        "a capture session or its graph has the arena at {address:#x}: acquire from the capture, or create \
         another arena"
    )]
    ArenaInUse {
        /// The start of the arena.
        address: u64,
    },
    /// The arena is full.
    #[error(
        "the arena has no room for {requested} bytes: {used} of {capacity} are used. {}",
        shortage.advice()
    )]
    ArenaExhausted {
        /// The requested bytes.
        requested: u64,
        /// Bytes up to the start of the next region.
        used: u64,
        /// Bytes of the arena.
        capacity: u64,
        /// The reason, which depends on the arena's policy.
        shortage: ArenaShortage,
    },
    /// An allocation differs from the plan's at its place.
    #[error(
        "allocation {allocation} requests {requested} bytes{}: plan again from a run that allocates the \
         same",
        Planned(*planned)
    )]
    PlanDiverged {
        /// The number of the allocation since the last reset, from 0.
        allocation: usize,
        /// The plan's bytes there; `None` after its end.
        planned: Option<u64>,
        /// The requested bytes.
        requested: u64,
    },
    /// A capture that forks used an arena that rewinds.
    #[error(
        "the capture forks, and the arena has rewound {rewinds} times by the order of calls, which does not \
         order a fork: discard it and use Monotone or Planned"
    )]
    ForkedCapture {
        /// The number of its rewinds.
        rewinds: u64,
    },
    /// The arena was reset since the lease was made: its bytes may have another owner.
    #[error(
        "the arena was reset since the lease was made ({leased} resets then, {current} now): capture \
         again"
    )]
    StaleLease {
        /// The number of resets before the lease.
        leased: u64,
        /// The number of resets now.
        current: u64,
    },
    /// The stream is of another device than the memory.
    #[error("the stream is on {stream} and the memory on {memory}: use a stream of {memory}")]
    WrongDevice {
        /// The stream's device.
        stream: Device,
        /// The memory's device.
        memory: Device,
    },
    /// The stream has an arena, or the arena a stream, already.
    #[error("stream {stream:#x} or this arena is installed already: clear it first")]
    AlreadyInstalled {
        /// The stream's handle, as a number.
        stream: u64,
    },
    /// The stream has no arena, or a different one.
    #[error("this arena is not installed on stream {stream:#x}: install it first")]
    NotInstalled {
        /// The stream's handle, as a number.
        stream: u64,
    },
    /// The source failed in another operation than an allocation.
    #[error("could not {operation}")]
    Source {
        /// The operation.
        operation: &'static str,
        /// The source's error.
        source: E,
    },
}

/// The plan's bytes for another allocation, formatted after the requested ones.
struct Planned(Option<u64>);

impl fmt::Display for Planned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(planned) => write!(f, ", and the plan has {planned} there"),
            None => f.write_str(" after the end of the plan"),
        }
    }
}

impl<E> From<NoHostMemory> for GraphMemoryError<E> {
    fn from(NoHostMemory { requested }: NoHostMemory) -> Self {
        Self::Bookkeeping { requested }
    }
}
