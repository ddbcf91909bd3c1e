//! A capture's arena. An arena is a single buffer allocated before the capture begins. The capture
//! allocates regions by advancing an offset into this buffer.

use std::fmt;

use pool_core::Device;
use pool_core::reserve::lock_reserved;

use super::ledger::ArenaLedger;
use super::policy::ArenaPolicy;
use super::region::{ArenaRegion, Deallocation};
use super::shared::ArenaShared;
use super::stats::ArenaStats;
use crate::base::error::GraphMemoryError;
use crate::base::range::LeasedRange;
use crate::base::request::{BlockLayout, GRANULE, Request};
use crate::base::shortage::ArenaShortage;
use crate::base::sync::{Arc, Mutex};
use crate::source::{DeviceMemory, GraphMemoryResult, MemorySource, is_good_address};

/// A bump arena for the memory of captured graphs. The arena is a single buffer at a fixed address,
/// allocated outside the capture. Each region starts at a 256-byte boundary and occupies at least
/// 256 bytes, even if its requested size is 0.
///
/// ```
/// use pool_graph::{ArenaPolicy, CudaArena, Deallocation, SyntheticMemory};
///
/// let arena = CudaArena::new(SyntheticMemory::new(), 4096, ArenaPolicy::Monotone)?;
/// let first = arena.allocate(1000)?;
/// let second = arena.allocate(0)?;
/// assert_eq!(second.address() - first.address(), 1024);
/// assert_eq!(arena.deallocate(first.address()), Deallocation::Region { bytes: 1024 });
/// let numbers = arena.stats();
/// assert_eq!((numbers.sum_bytes, numbers.peak_live_bytes, numbers.live_bytes), (1280, 1280, 256));
/// assert_eq!(arena.remaining(), 4096 - 1280);
/// # Ok::<(), pool_graph::GraphMemoryError<pool_graph::SyntheticRefusal>>(())
/// ```
pub struct CudaArena<M: MemorySource = DeviceMemory> {
    shared: Arc<ArenaShared<M>>,
    /// `true` if this handle belongs to the session that is using the arena. While a session uses
    /// the arena, no other handle can allocate or deallocate regions.
    of_session: bool,
}

impl<M: MemorySource> CudaArena<M> {
    /// Allocates an arena whose size is `capacity` bytes, rounded up to a multiple of 256.
    ///
    /// # Errors
    ///
    /// Returns an error if `capacity` is 0, overflows when rounded up, or is smaller than the
    /// plan's peak. The call also fails if the source cannot allocate the buffer.
    pub fn new(source: M, capacity: u64, policy: ArenaPolicy) -> GraphMemoryResult<Self, M> {
        let bytes = Request::new(capacity, GRANULE)?.bytes;
        if let ArenaPolicy::Planned(plan) = &policy
            && plan.peak() > bytes
        {
            return Err(GraphMemoryError::ArenaExhausted {
                requested: plan.peak(),
                used: 0,
                capacity: bytes,
                shortage: ArenaShortage::SmallerThanPlan,
            });
        }
        let out_of_memory = |source| GraphMemoryError::OutOfMemory {
            requested: bytes,
            used: 0,
            reserved: 0,
            source,
        };
        let address = source.allocate(bytes).map_err(out_of_memory)?;
        if !is_good_address(address, bytes) {
            // SAFETY: the source has just returned this range, and the address has not been passed
            // to any other code.
            unsafe { source.free(address, bytes) };
            return Err(GraphMemoryError::BadAddress { address, bytes });
        }
        let ledger = Mutex::new(ArenaLedger::new(address, bytes, policy));
        let shared = ArenaShared { source, range: LeasedRange { address, bytes }, ledger };
        Ok(Self { shared: Arc::new(shared), of_session: false })
    }

    /// Returns the device on which the arena's memory is allocated.
    #[must_use]
    pub fn device(&self) -> Device {
        self.shared.device()
    }

    /// Allocates a region with the given size and alignment. If no alignment is given, the region
    /// is aligned to 256 bytes. In an arena without a plan, every live region has a unique address,
    /// even if its size is 0.
    ///
    /// # Errors
    ///
    /// Returns an error if the arena is full, or if the alignment is not a power of two. Returns an
    /// error if the allocation differs from the planned one, or if the arena has rejected a
    /// [fork](Self::forked) since its last reset. The call also fails if the host cannot allocate
    /// memory for the arena's records, or if a capture session or its graph is using the arena.
    pub fn allocate(&self, layout: impl BlockLayout) -> GraphMemoryResult<ArenaRegion, M> {
        let (size, alignment) = layout.size_and_alignment();
        let mut ledger = lock_reserved(|| self.shared.ledger.lock(), ArenaLedger::live_mut, ())?;
        if ledger.is_given_away() && !self.of_session {
            return Err(GraphMemoryError::ArenaInUse { address: self.shared.range.address });
        }
        ledger.allocate(size, alignment)
    }

    /// Deallocates the region that begins at `address`. If the policy is
    /// [`Linear`](ArenaPolicy::Linear) and the region is the last one in the arena, the arena can
    /// reuse its bytes. In all other cases, the call updates only the statistics.
    ///
    /// If no live region begins at the address, the arena counts the call but otherwise ignores it.
    /// Captured code may also drop memory that it allocated before the capture. While a capture
    /// session or its graph uses the arena, this method updates only the statistics.
    pub fn deallocate(&self, address: u64) -> Deallocation {
        let mut ledger = self.shared.ledger.lock();
        if ledger.is_given_away() && !self.of_session {
            return ledger.ignore();
        }
        ledger.deallocate(address)
    }

    /// Records that the capture using this arena forks into several streams.
    ///
    /// # Errors
    ///
    /// Returns an error if the arena's policy is [`Linear`](ArenaPolicy::Linear). A linear arena
    /// reuses bytes in the order of its calls, but work on forked streams might run in a different
    /// order. If this error occurs, the caller must discard the capture. The arena rejects all
    /// allocations until it is reset.
    pub fn forked(&self) -> GraphMemoryResult<(), M> {
        self.shared.ledger.lock().forked()
    }

    /// Deallocates all regions. After the reset, graphs captured with this arena must not be
    /// replayed. [`Lease::check`](crate::Lease::check) returns an error for any lease that one of
    /// these graphs holds.
    pub fn reset(&self) {
        self.shared.ledger.lock().reset();
    }

    /// Returns the state that this arena shares with its leases.
    pub(crate) fn shared(&self) -> &Arc<ArenaShared<M>> {
        &self.shared
    }

    /// Returns `true` if the arena's buffer contains the whole range `[address, address + bytes)`.
    #[must_use]
    pub fn contains(&self, address: u64, bytes: u64) -> bool {
        self.shared.range.contains(address, bytes)
    }

    /// Returns the size of the arena's buffer in bytes.
    #[must_use]
    pub fn capacity(&self) -> u64 {
        self.shared.range.bytes
    }

    /// Returns the number of unused bytes after the last region.
    #[must_use]
    pub fn remaining(&self) -> u64 {
        self.stats().remaining_bytes
    }

    /// Returns the arena's statistics.
    #[must_use]
    pub fn stats(&self) -> ArenaStats {
        self.shared.ledger.lock().stats()
    }
}

/// Operations on arenas that are installed on streams or used in sessions.
#[cfg(feature = "cuda")]
impl<M: MemorySource> CudaArena<M> {
    pub(crate) fn of_shared(shared: Arc<ArenaShared<M>>) -> Self {
        Self { shared, of_session: false }
    }

    /// Creates a handle for a session to which the arena was [given](Self::give_away).
    pub(crate) fn of_session(shared: Arc<ArenaShared<M>>) -> Self {
        Self { shared, of_session: true }
    }

    /// Transfers the arena to a session if `given` is `true`, or back to its owner if `given` is
    /// `false`.
    pub(crate) fn give_away(&self, given: bool) {
        self.shared.ledger.lock().give_away(given);
    }

    pub(crate) fn source(&self) -> &M {
        &self.shared.source
    }

    /// Returns `true` if the arena's policy is `Linear`.
    pub(crate) fn rewinds(&self) -> bool {
        self.shared.ledger.lock().is_linear()
    }
}

/// Formats the arena's statistics.
impl<M: MemorySource> fmt::Debug for CudaArena<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.stats())
    }
}
