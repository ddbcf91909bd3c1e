//! The ledger of a backend's blocks: what is allocated, what was freed and how, and which of the coming
//! allocations the test refuses. A backend in a test tells it of every block, at the place where memory
//! is really taken and given back, and asks it before it takes any.

use std::collections::BTreeMap;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pool_core::Reuse;
use thiserror::Error;

use crate::panics::panic_in_allocation;

/// A record of the blocks that a backend allocated and freed, and of the allocations that it is to refuse. A
/// clone is the same ledger, so that the contexts of several pools, and the probe that looks on, share one.
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
    /// Bytes of blocks that the pools gave back, and whose memory is not back yet, by the addresses of the
    /// blocks.
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
    /// How many blocks were given before this one.
    number: usize,
    /// The block's address, where its memory is the host's and a test may free it in the end.
    block: Option<NonNull<u8>>,
}

// SAFETY: an address and a number; nothing is reached through it but what no pool knows any more.
unsafe impl Send for BlockEntry {}

/// The blocks that a backend has allocated, as counted outside the pools.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockCounts {
    /// Blocks that are allocated now.
    pub blocks: usize,
    /// Bytes of those blocks.
    pub bytes: usize,
    /// Blocks that the pools gave back, and whose memory is not back yet.
    pub returning: usize,
    /// The most bytes at any moment since [`Ledger::forget_peak`].
    pub peak_bytes: usize,
    /// How often a block was asked for and given.
    pub allocations: usize,
    /// How often a block was asked for and refused, by an error or by a panic.
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
    /// All allocations are refused with which the live blocks would hold more than this many bytes.
    Above(usize),
    /// The allocation after this many more panics instead.
    PanicOnce(usize),
}

/// The answer of [`Ledger::ask`] where the test refuses: the error of a backend that was told to refuse.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("the test refused {bytes} bytes")]
pub struct RefusalError {
    /// Bytes that were asked for.
    pub bytes: usize,
}

/// A misuse of a block. Whoever runs the cases finds that no fault was noted.
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
    /// A ledger without entries.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    fn entries(&self) -> MutexGuard<'_, Entries> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asked by a backend before it allocates: whether the test lets it.
    ///
    /// # Errors
    ///
    /// [`RefusalError`], which the backend turns into its own error, or returns.
    ///
    /// # Panics
    ///
    /// Where the test said so ([`Refusal::PanicOnce`]): the backend lets the panic pass through `allocate`.
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

    /// Told by a backend that it allocated a block, by its address or whatever tells blocks apart.
    pub fn given(&self, address: usize, bytes: usize) {
        self.note(address, bytes, None);
    }

    /// As [`given`](Self::given), for memory of the global allocator.
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

    /// Told by a backend that it gives a block back. False where the backend must not, because no such block
    /// exists, or one of other bytes: then a [`Fault`] is noted, and the memory is better left alone.
    #[must_use = "memory that is not a block's must not be given back"]
    pub fn freed(&self, address: usize, bytes: usize) -> bool {
        let may = self.freeing(address, bytes);
        if may {
            self.returned(address);
        }
        may
    }

    /// As [`freed`](Self::freed), by a backend that gives memory back later, in the order of a queue: there
    /// [`returned`](Self::returned) follows.
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

    /// Told by a backend that the memory of a block is back.
    pub fn returned(&self, address: usize) {
        let entries = &mut *self.entries();
        if entries.returning.remove(&address).is_none() {
            entries.faults.push(Fault::NotAllocated { address });
        }
        entries.held.returning = entries.returning.len();
    }

    /// Notes a misuse of a block, told by whoever sees it.
    pub fn note_fault(&self, fault: Fault) {
        self.entries().faults.push(fault);
    }

    /// The misuses of blocks that were noted so far.
    #[must_use]
    pub fn faults(&self) -> Vec<Fault> {
        self.entries().faults.clone()
    }

    /// The blocks that are allocated, and the number of requests so far.
    #[must_use]
    pub fn held(&self) -> BlockCounts {
        self.entries().held
    }

    /// Blocks that are allocated now.
    #[must_use]
    pub fn live_blocks(&self) -> usize {
        self.held().blocks
    }

    /// Bytes of the blocks that are allocated now.
    #[must_use]
    pub fn live_bytes(&self) -> usize {
        self.held().bytes
    }

    /// The most bytes that the blocks held at any moment, also in the middle of a call, since
    /// [`forget_peak`](Self::forget_peak).
    #[must_use]
    pub fn peak_bytes(&self) -> usize {
        self.held().peak_bytes
    }

    /// Starts to look for a new peak from what is allocated now.
    pub fn forget_peak(&self) {
        let held = &mut self.entries().held;
        held.peak_bytes = held.bytes;
    }

    /// How often a block was asked for and given.
    #[must_use]
    pub fn allocations(&self) -> usize {
        self.held().allocations
    }

    /// How often a block was refused, by an error or by a panic.
    #[must_use]
    pub fn refused(&self) -> usize {
        self.held().refused
    }

    /// The block that holds the address, as its start and bytes.
    #[must_use]
    pub fn block_of(&self, address: usize) -> Option<(usize, usize)> {
        let entries = self.entries();
        let (&start, &BlockEntry { bytes, .. }) = entries.live.range(..=address).next_back()?;
        (address < start + bytes).then_some((start, bytes))
    }

    /// The number of the block that holds the address, by which it differs from every other, also from one that was
    /// at the same address before, and where in the block the address is.
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

    /// Which of the coming allocations are refused.
    #[must_use]
    pub fn refusal(&self) -> Refusal {
        self.entries().refuse
    }

    /// Told by a backend that memory is wanted back at once.
    pub fn note_settled(&self) {
        self.entries().settled += 1;
    }

    /// How often memory was wanted back at once.
    #[must_use]
    pub fn settled(&self) -> usize {
        self.entries().settled
    }

    /// Told by a backend why a block is reused.
    ///
    /// # Errors
    ///
    /// [`RefusalError`] where the test said so.
    pub fn note_reuse(&self, why: Reuse) -> Result<(), RefusalError> {
        let mut entries = self.entries();
        entries.reuses.push(why);
        if entries.refuse_reuse { Err(RefusalError { bytes: 0 }) } else { Ok(()) }
    }

    /// Whether `reuse` fails from now on.
    pub fn refuse_reuse(&self, on: bool) {
        self.entries().refuse_reuse = on;
    }

    /// Why blocks of armed slots were reused so far.
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
