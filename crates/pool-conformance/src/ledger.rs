//! The ledger of a backend's blocks: the allocated blocks, the freed ones and how they were freed, and the rule by
//! which the test refuses coming allocations. A backend in a test reports every allocation and free to it, and asks it
//! before each allocation.

use std::collections::BTreeMap;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pool_core::Reuse;
use thiserror::Error;

use crate::panics::panic_in_allocation;

/// A record of the blocks that a backend allocated and freed, and of the allocations that it is to
/// refuse. A clone is the same ledger: the contexts of several pools and the probe share one.
///
/// ```
/// use pool_conformance::{Ledger, Refusal};
///
/// let ledger = Ledger::new();
/// // In the backend: ask, allocate, tell; and tell again when the memory is given back.
/// ledger.ask(256).expect("nothing is refused yet");
/// ledger.given(0x1000, 256);
/// assert_eq!((ledger.live_blocks(), ledger.block_of(0x10FF)), (1, Some((0x1000, 256))));
/// assert!(ledger.freed(0x1000, 256));
/// assert!(!ledger.freed(0x1000, 256), "a second time: that is noted");
/// assert_eq!(ledger.faults().len(), 1);
///
/// // In the test: the allocation after the next one fails.
/// ledger.refuse(Refusal::Once(1));
/// assert!(ledger.ask(256).is_ok() && ledger.ask(256).is_err());
/// ```
#[derive(Clone, Debug, Default)]
pub struct Ledger(Arc<Mutex<Entries>>);

impl Ledger {
    /// Returns `true` if both handles are of one ledger.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

#[derive(Debug, Default)]
struct Entries {
    /// Every block that is allocated, by its address.
    live: BTreeMap<usize, BlockEntry>,
    /// Bytes of blocks that the pools freed, and whose memory has not returned yet, by the
    /// addresses of the blocks.
    returning: BTreeMap<usize, usize>,
    held: BlockCounts,
    refuse: Refusal,
    faults: Vec<Fault>,
    reuses: Vec<Reuse>,
    refuse_reuse: bool,
    settled: usize,
}

#[derive(Clone, Copy, Debug)]
struct BlockEntry {
    bytes: usize,
    /// The number of blocks that were given before this one.
    number: usize,
    /// The block's address, if its memory is the host's and a test may free it in the end.
    block: Option<NonNull<u8>>,
}

// SAFETY: an address and a number; the address is used only for blocks that no pool knows any longer.
unsafe impl Send for BlockEntry {}

/// The blocks that a backend has allocated, as counted outside the pools.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockCounts {
    /// Blocks that are allocated now.
    pub blocks: usize,
    /// Bytes of those blocks.
    pub bytes: usize,
    /// Blocks that the pools freed, and whose memory has not returned yet.
    pub returning: usize,
    /// The most bytes at any moment since [`Ledger::forget_peak`].
    pub peak_bytes: usize,
    /// The number of requests that were granted.
    pub allocations: usize,
    /// The number of requests that were refused, by an error or by a panic.
    pub refused: usize,
}

/// The rule by which allocations are refused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Refusal {
    /// No allocation is refused.
    #[default]
    Never,
    /// The allocation after this many more is refused.
    Once(usize),
    /// All allocations after this many more are refused.
    From(usize),
    /// All allocations that would raise the live blocks above this many bytes are refused.
    Above(usize),
    /// The allocation after this many more panics instead.
    PanicOnce(usize),
}

/// The result of [`Ledger::ask`] if the test refuses: the error of a backend that refuses on request.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("the test refused {bytes} bytes")]
pub struct RefusalError {
    /// The requested bytes.
    pub bytes: usize,
}

/// A misuse of a block. Callers of the cases check that no fault was noted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// A block was freed while it was not allocated: a second time, or at an address that never was a block's.
    NotAllocated {
        /// The address that was freed.
        address: usize,
    },
    /// A block was freed with other bytes than it was allocated with.
    OtherBytes {
        /// The address of the block.
        address: usize,
        /// The bytes that it was allocated with.
        allocated: usize,
        /// The bytes that it was freed with.
        freed: usize,
    },
    /// A block was given while some of its bytes belonged to another block.
    Overlaps {
        /// The address of the new block.
        address: usize,
        /// The bytes of the block.
        bytes: usize,
    },
    /// Work used a block after it was freed.
    UsedAfterFree {
        /// The address of the block.
        address: usize,
    },
    /// Work went beyond the bytes of a block.
    Beyond {
        /// The address of the block.
        address: usize,
        /// The bytes of the block.
        bytes: usize,
        /// The offset at which the work would have ended.
        end: usize,
    },
}

impl Ledger {
    /// Creates a ledger without entries.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    fn entries(&self) -> MutexGuard<'_, Entries> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks whether the test lets a backend allocate, before it does.
    ///
    /// # Errors
    ///
    /// [`RefusalError`], which the backend turns into its own error, or returns.
    ///
    /// # Panics
    ///
    /// If the test set [`Refusal::PanicOnce`]: the backend lets the panic pass through `allocate`.
    pub fn ask(&self, bytes: usize) -> Result<(), RefusalError> {
        let mut entries = self.entries();
        let live = entries.held.bytes;
        let refused = match &mut entries.refuse {
            Refusal::Never => false,
            Refusal::Above(limit) => live + bytes > *limit,
            Refusal::From(0) => true,
            refusal @ Refusal::Once(0) => {
                *refusal = Refusal::Never;
                true
            }
            refusal @ Refusal::PanicOnce(0) => {
                *refusal = Refusal::Never;
                entries.held.refused += 1;
                drop(entries);
                panic_in_allocation(bytes);
            }
            Refusal::From(left) | Refusal::Once(left) | Refusal::PanicOnce(left) => {
                *left -= 1;
                false
            }
        };
        entries.held.refused += usize::from(refused);
        if refused { Err(RefusalError { bytes }) } else { Ok(()) }
    }

    /// Records that a backend allocated a block, by its address or another number that is unique to it.
    pub fn given(&self, address: usize, bytes: usize) {
        self.note(address, bytes, None);
    }

    /// Does the same as [`given`](Self::given), for memory of the global allocator.
    pub(crate) fn given_on_heap(&self, block: NonNull<u8>, bytes: usize) {
        self.note(block.addr().get(), bytes, Some(block));
    }

    fn note(&self, address: usize, bytes: usize, block: Option<NonNull<u8>>) {
        let entries = &mut *self.entries();
        let live = BlockEntry { bytes, number: entries.held.allocations, block };
        let end = address + bytes;
        let before = entries.live.range(..end).next_back().map(|(at, before)| (at, before.bytes));
        let leaving = entries.returning.range(..end).next_back().map(|(at, &bytes)| (at, bytes));
        if [before, leaving].into_iter().flatten().any(|(at, bytes)| at + bytes > address) {
            entries.faults.push(Fault::Overlaps { address, bytes });
        }
        if let Some(replaced) = entries.live.insert(address, live) {
            entries.held.bytes -= replaced.bytes;
        }
        let held = &mut entries.held;
        held.blocks = entries.live.len();
        held.bytes += bytes;
        held.allocations += 1;
        held.peak_bytes = held.peak_bytes.max(held.bytes);
    }

    /// Records that a backend frees a block. Returns `false` if the backend must not, because no
    /// such block exists, or one of other bytes. Then a [`Fault`] is noted, and the backend should
    /// leave the memory alone.
    #[must_use = "memory that is not a block's must not be given back"]
    pub fn freed(&self, address: usize, bytes: usize) -> bool {
        let may = self.freeing(address, bytes);
        if may {
            self.returned(address);
        }
        may
    }

    /// Does as [`freed`](Self::freed), for a backend that frees memory later, in the order of a
    /// queue: there [`returned`](Self::returned) follows.
    #[must_use = "memory that is not a block's must not be given back"]
    pub fn freeing(&self, address: usize, bytes: usize) -> bool {
        let entries = &mut *self.entries();
        let fault = match entries.live.get(&address) {
            None => Fault::NotAllocated { address },
            Some(live) if live.bytes != bytes => {
                Fault::OtherBytes { address, allocated: live.bytes, freed: bytes }
            }
            Some(_) => {
                entries.live.remove(&address);
                entries.returning.insert(address, bytes);
                entries.held.returning = entries.returning.len();
                entries.held.blocks = entries.live.len();
                entries.held.bytes -= bytes;
                return true;
            }
        };
        entries.faults.push(fault);
        false
    }

    /// Records that the memory of a block has returned.
    pub fn returned(&self, address: usize) {
        let entries = &mut *self.entries();
        if entries.returning.remove(&address).is_none() {
            entries.faults.push(Fault::NotAllocated { address });
        }
        entries.held.returning = entries.returning.len();
    }

    /// Notes a misuse of a block.
    pub fn note_fault(&self, fault: Fault) {
        self.entries().faults.push(fault);
    }

    /// Returns the misuses of blocks that were noted so far.
    #[must_use]
    pub fn faults(&self) -> Vec<Fault> {
        self.entries().faults.clone()
    }

    /// Returns the allocated blocks, and the number of requests so far.
    #[must_use]
    pub fn held(&self) -> BlockCounts {
        self.entries().held
    }

    /// Returns the number of blocks that are allocated now.
    #[must_use]
    pub fn live_blocks(&self) -> usize {
        self.held().blocks
    }

    /// Returns the bytes of the blocks that are allocated now.
    #[must_use]
    pub fn live_bytes(&self) -> usize {
        self.held().bytes
    }

    /// Returns the most bytes that the blocks held at any moment, also in the middle of a call,
    /// since [`forget_peak`](Self::forget_peak).
    #[must_use]
    pub fn peak_bytes(&self) -> usize {
        self.held().peak_bytes
    }

    /// Starts a new peak at the bytes that are allocated now.
    pub fn forget_peak(&self) {
        let held = &mut self.entries().held;
        held.peak_bytes = held.bytes;
    }

    /// Returns the number of requests that were granted.
    #[must_use]
    pub fn allocations(&self) -> usize {
        self.held().allocations
    }

    /// Returns the number of requests that were refused, by an error or by a panic.
    #[must_use]
    pub fn refused(&self) -> usize {
        self.held().refused
    }

    /// Returns the block that holds the address, as its start and bytes.
    #[must_use]
    pub fn block_of(&self, address: usize) -> Option<(usize, usize)> {
        let entries = self.entries();
        let (&start, &BlockEntry { bytes, .. }) = entries.live.range(..=address).next_back()?;
        (address < start + bytes).then_some((start, bytes))
    }

    /// Returns the number of the block that holds the address, and the place of the address in the
    /// block. The number differs from that of every other block, also from that of a block that was
    /// at the same address before.
    pub(crate) fn place_of(&self, address: usize) -> Option<(usize, usize)> {
        let entries = self.entries();
        let (&start, &BlockEntry { bytes, number, .. }) =
            entries.live.range(..=address).next_back()?;
        (address < start + bytes).then_some((number, address - start))
    }

    /// Sets which of the coming allocations are refused.
    pub fn refuse(&self, refusal: Refusal) {
        self.entries().refuse = refusal;
    }

    /// Returns the rule by which coming allocations are refused.
    #[must_use]
    pub fn refusal(&self) -> Refusal {
        self.entries().refuse
    }

    /// Records that the pool needs the memory at once (`settle`).
    pub fn note_settled(&self) {
        self.entries().settled += 1;
    }

    /// Returns the number of times that the pool needed memory at once.
    #[must_use]
    pub fn settled(&self) -> usize {
        self.entries().settled
    }

    /// Records the reason why a block is reused.
    ///
    /// # Errors
    ///
    /// [`RefusalError`] if the test refuses it.
    pub fn note_reuse(&self, why: Reuse) -> Result<(), RefusalError> {
        let mut entries = self.entries();
        entries.reuses.push(why);
        if entries.refuse_reuse { Err(RefusalError { bytes: 0 }) } else { Ok(()) }
    }

    /// Sets whether `reuse` fails from now on.
    pub fn refuse_reuse(&self, on: bool) {
        self.entries().refuse_reuse = on;
    }

    /// Returns the reasons for which blocks of armed slots were reused so far.
    #[must_use]
    pub fn reuses(&self) -> Vec<Reuse> {
        self.entries().reuses.clone()
    }

    /// Forgets every block, and returns those of the global allocator.
    pub(crate) fn take_heap_blocks(&self) -> Vec<(NonNull<u8>, usize)> {
        let mut entries = self.entries();
        entries.held.blocks = 0;
        entries.held.bytes = 0;
        let live = std::mem::take(&mut entries.live);
        live.into_values().filter_map(|live| Some((live.block?, live.bytes))).collect()
    }
}
