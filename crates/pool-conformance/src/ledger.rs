//! A ledger for a backend's blocks. The ledger records the blocks that the backend allocates and
//! frees. The ledger also stores the rule that selects which future allocations to refuse. A
//! backend under test asks the ledger for permission before each allocation and reports every block
//! that it allocates or frees.

use std::collections::BTreeMap;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pool_core::Reuse;
use thiserror::Error;

use crate::panics::panic_in_allocation;

/// A record of a backend's allocated and freed blocks, along with a rule that selects the
/// allocations to refuse. A clone refers to the same ledger, so a probe and the contexts of several
/// pools can share it.
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
    /// Returns `true` if both values refer to the same ledger.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

#[derive(Debug, Default)]
struct Entries {
    /// All allocated blocks. The keys are the blocks' addresses.
    live: BTreeMap<usize, BlockEntry>,
    /// The sizes of the freed blocks whose memory has not been returned yet. The keys are the
    /// blocks' addresses.
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
    /// The number of blocks that were allocated before this one.
    number: usize,
    /// The block's address, if the block is host memory that may be freed at the end of a test.
    block: Option<NonNull<u8>>,
}

// SAFETY: an entry consists of numbers and an address. Any thread may hold such an entry. The
// address is used only once all pools have stopped tracking the block.
unsafe impl Send for BlockEntry {}

/// Counts of the blocks that a backend has allocated. The ledger counts the blocks independently of
/// the pools.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockCounts {
    /// The number of blocks that are currently allocated.
    pub blocks: usize,
    /// The total size, in bytes, of the blocks that are currently allocated.
    pub bytes: usize,
    /// The number of freed blocks whose memory has not been returned yet.
    pub returning: usize,
    /// The largest number of bytes allocated at any one time since the last call to
    /// [`Ledger::forget_peak`].
    pub peak_bytes: usize,
    /// The number of granted requests.
    pub allocations: usize,
    /// The number of requests that were refused with an error or a panic.
    pub refused: usize,
}

/// A rule that selects the allocations to refuse.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Refusal {
    /// No allocation is refused.
    #[default]
    Never,
    /// Skips this number of allocations and then refuses the next one.
    Once(usize),
    /// Skips this number of allocations and refuses all later ones.
    From(usize),
    /// Refuses each allocation that would cause the number of allocated bytes to exceed this limit.
    Above(usize),
    /// Skips this number of allocations and panics during the next one.
    PanicOnce(usize),
}

/// The error that [`Ledger::ask`] returns when the test refuses an allocation. A backend that
/// refuses allocations on request also returns this error.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("the test refused to allocate {bytes} bytes")]
pub struct RefusalError {
    /// The number of bytes requested.
    pub bytes: usize,
}

/// A misuse of a block. The code that runs a test case checks that no faults were recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// A block was freed that had not been allocated. Either the block was freed twice, or no block
    /// ever had its address.
    NotAllocated {
        /// The address of the memory that was freed.
        address: usize,
    },
    /// A block was freed with a size that differs from its allocated size.
    OtherBytes {
        /// The address of the block.
        address: usize,
        /// The block's allocated size in bytes.
        allocated: usize,
        /// The size, in bytes, that was passed when the block was freed.
        freed: usize,
    },
    /// A new block overlaps a block that is already allocated.
    Overlaps {
        /// The new block's address.
        address: usize,
        /// The new block's size in bytes.
        bytes: usize,
    },
    /// Work accessed a block after it had been freed.
    UsedAfterFree {
        /// The address of the block.
        address: usize,
    },
    /// Work accessed memory past the end of a block.
    Beyond {
        /// The address of the block.
        address: usize,
        /// The block's size in bytes.
        bytes: usize,
        /// The distance from the start of the block to the end of the attempted access.
        end: usize,
    },
}

impl Ledger {
    /// Creates an empty ledger.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    fn entries(&self) -> MutexGuard<'_, Entries> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks whether the test permits an allocation. A backend must call `ask` before each
    /// allocation.
    ///
    /// # Errors
    ///
    /// Returns [`RefusalError`] if the test refuses the allocation. The backend returns this error
    /// from `allocate`, or converts it to its own error type.
    ///
    /// # Panics
    ///
    /// Panics if the test has set [`Refusal::PanicOnce`] and this allocation is the selected one.
    /// The backend must let the panic propagate through `allocate`.
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

    /// Records that a backend has allocated a block. `address` is the block's address or another
    /// number that identifies the block.
    pub fn given(&self, address: usize, bytes: usize) {
        self.note(address, bytes, None);
    }

    /// Does the same as [`given`](Self::given) for a block from the global allocator.
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

    /// Records that a backend is freeing a block. Returns `false` if the ledger contains no block
    /// with this address, or if the block has a different size. If the result is `false`, the
    /// ledger has recorded a [`Fault`], and the backend must not free the memory.
    #[must_use = "memory that is not a block's must not be given back"]
    pub fn freed(&self, address: usize, bytes: usize) -> bool {
        let may = self.freeing(address, bytes);
        if may {
            self.returned(address);
        }
        may
    }

    /// Records that a pool has freed a block. The backend will return the block's memory later, in
    /// queue order. `freeing` returns the same result as [`freed`](Self::freed). After the memory
    /// has been returned, the backend must call [`returned`](Self::returned).
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

    /// Records that a freed block's memory has been returned.
    pub fn returned(&self, address: usize) {
        let entries = &mut *self.entries();
        if entries.returning.remove(&address).is_none() {
            entries.faults.push(Fault::NotAllocated { address });
        }
        entries.held.returning = entries.returning.len();
    }

    /// Records that a block was misused.
    pub fn note_fault(&self, fault: Fault) {
        self.entries().faults.push(fault);
    }

    /// Returns all recorded misuses of blocks.
    #[must_use]
    pub fn faults(&self) -> Vec<Fault> {
        self.entries().faults.clone()
    }

    /// Returns the number of blocks that are currently allocated, along with the ledger's other
    /// counts.
    #[must_use]
    pub fn held(&self) -> BlockCounts {
        self.entries().held
    }

    /// Returns the number of blocks that are currently allocated.
    #[must_use]
    pub fn live_blocks(&self) -> usize {
        self.held().blocks
    }

    /// Returns the total size, in bytes, of the blocks that are currently allocated.
    #[must_use]
    pub fn live_bytes(&self) -> usize {
        self.held().bytes
    }

    /// Returns the largest number of bytes allocated at any one time since the last call to
    /// [`forget_peak`](Self::forget_peak). The peak includes bytes that were allocated and freed
    /// during a single call.
    #[must_use]
    pub fn peak_bytes(&self) -> usize {
        self.held().peak_bytes
    }

    /// Resets the peak to the number of bytes that are currently allocated.
    pub fn forget_peak(&self) {
        let held = &mut self.entries().held;
        held.peak_bytes = held.bytes;
    }

    /// Returns the number of requests that were granted.
    #[must_use]
    pub fn allocations(&self) -> usize {
        self.held().allocations
    }

    /// Returns the number of requests that the backend refused with an error or a panic.
    #[must_use]
    pub fn refused(&self) -> usize {
        self.held().refused
    }

    /// Returns the start and size of the block that contains an address.
    #[must_use]
    pub fn block_of(&self, address: usize) -> Option<(usize, usize)> {
        let entries = self.entries();
        let (&start, &BlockEntry { bytes, .. }) = entries.live.range(..=address).next_back()?;
        (address < start + bytes).then_some((start, bytes))
    }

    /// Returns the number of the block that contains an address, along with the address's offset in
    /// that block. A block's number is unique even if an earlier block had the same address.
    pub(crate) fn place_of(&self, address: usize) -> Option<(usize, usize)> {
        let entries = self.entries();
        let (&start, &BlockEntry { bytes, number, .. }) =
            entries.live.range(..=address).next_back()?;
        (address < start + bytes).then_some((number, address - start))
    }

    /// Sets the rule that selects which future allocations to refuse.
    pub fn refuse(&self, refusal: Refusal) {
        self.entries().refuse = refusal;
    }

    /// Returns the rule that selects which future allocations to refuse.
    #[must_use]
    pub fn refusal(&self) -> Refusal {
        self.entries().refuse
    }

    /// Records that the pool has called `settle` because it needs freed memory immediately.
    pub fn note_settled(&self) {
        self.entries().settled += 1;
    }

    /// Returns the number of times that the pool has called `settle`.
    #[must_use]
    pub fn settled(&self) -> usize {
        self.entries().settled
    }

    /// Records the reason for reusing an armed slot's block.
    ///
    /// # Errors
    ///
    /// Returns [`RefusalError`] if the test has made `reuse` fail.
    pub fn note_reuse(&self, why: Reuse) -> Result<(), RefusalError> {
        let mut entries = self.entries();
        entries.reuses.push(why);
        if entries.refuse_reuse { Err(RefusalError { bytes: 0 }) } else { Ok(()) }
    }

    /// Makes all later `reuse` calls fail if `on` is `true`, or succeed if `on` is `false`.
    pub fn refuse_reuse(&self, on: bool) {
        self.entries().refuse_reuse = on;
    }

    /// Returns the recorded reasons for reusing the blocks of armed slots.
    #[must_use]
    pub fn reuses(&self) -> Vec<Reuse> {
        self.entries().reuses.clone()
    }

    /// Removes all blocks from the ledger and returns those that come from the global allocator.
    pub(crate) fn take_heap_blocks(&self) -> Vec<(NonNull<u8>, usize)> {
        let mut entries = self.entries();
        entries.held.blocks = 0;
        entries.held.bytes = 0;
        let live = std::mem::take(&mut entries.live);
        live.into_values().filter_map(|live| Some((live.block?, live.bytes))).collect()
    }
}
