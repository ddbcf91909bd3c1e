//! Addresses without memory: for tests, for planning, and for systems without a device.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pool_core::Device;
use pool_core::reserve::{NoHostMemory, lock_reserved};
use thiserror::Error;

use crate::base::request::SOURCE_ALIGNMENT;

use super::contract::MemorySource;

/// The first address: aligned to the minimum for a source.
const FIRST: u64 = 0x7f00_0000_0000 + SOURCE_ALIGNMENT;

/// A [`MemorySource`] of addresses without memory. It can have a limit, refuses on request, and
/// counts calls; clones share all of that.
///
/// Ranges follow each other without a gap, so an access beyond the end of one is in the next. An
/// address is never reused.
///
/// ```
/// use pool_graph::{MemorySource, SyntheticMemory};
///
/// let source = SyntheticMemory::with_limit(1 << 20);
/// let address = source.allocate(1 << 20)?;
/// assert!(source.allocate(256).is_err());
/// // SAFETY: allocated above, and used by nobody.
/// unsafe { source.free(address, 1 << 20) };
/// assert_eq!((source.held(), source.mistakes()), (0, 0));
/// # Ok::<(), pool_graph::SyntheticRefusal>(())
/// ```
#[derive(Clone, Debug)]
pub struct SyntheticMemory(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    next: u64,
    limit: u64,
    held: u64,
    /// The allocated ranges, by address; addresses only grow.
    pieces: Vec<(u64, u64)>,
    allocations: u64,
    /// The number of allocations until the refused one, and `true` if all later ones are refused,
    /// too.
    refused: Option<(u64, bool)>,
    mistakes: u64,
}

/// The reason of a refusal.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum SyntheticRefusal {
    /// The limit is reached.
    #[error("{requested} bytes on top of {held} exceed the limit of {limit}")]
    Full {
        /// The requested bytes.
        requested: u64,
        /// The allocated bytes.
        held: u64,
        /// The limit in bytes.
        limit: u64,
    },
    /// A test requested this refusal.
    #[error("{requested} bytes were refused on request")]
    OnRequest {
        /// The requested bytes.
        requested: u64,
    },
    /// The host has no memory to record the allocation.
    #[error("the host has no {requested} bytes to record the allocation")]
    Bookkeeping {
        /// The requested bytes of host memory.
        requested: usize,
    },
}

impl SyntheticMemory {
    /// Creates synthetic memory limited only by the address space.
    #[must_use]
    pub fn new() -> Self {
        Self::with_limit(u64::MAX)
    }

    /// Creates synthetic memory with a limit of allocated bytes.
    #[must_use]
    pub fn with_limit(limit: u64) -> Self {
        Self::starting_at(FIRST, limit)
    }

    /// Creates synthetic memory with a limit of allocated bytes that starts at `address`: a
    /// multiple of 256 that is not 0.
    #[must_use]
    pub fn starting_at(address: u64, limit: u64) -> Self {
        Self(Arc::new(Mutex::new(State {
            next: address,
            limit,
            held: 0,
            pieces: Vec::new(),
            allocations: 0,
            refused: None,
            mistakes: 0,
        })))
    }

    /// Refuses the n-th allocation from now (1 is the next), and none after it.
    pub fn refuse(&self, nth: u64) {
        self.state().refused = Some((nth, false));
    }

    /// Refuses every allocation from the n-th from now on.
    pub fn refuse_from(&self, nth: u64) {
        self.state().refused = Some((nth, true));
    }

    /// Stops refusing on request.
    pub fn refuse_none(&self) {
        self.state().refused = None;
    }

    /// Returns the allocated bytes.
    #[must_use]
    pub fn held(&self) -> u64 {
        self.state().held
    }

    /// Returns the allocated ranges: address and bytes of each, in order of address.
    #[must_use]
    pub fn pieces(&self) -> Vec<(u64, u64)> {
        let mut pieces = Vec::new();
        loop {
            let state = self.state();
            if state.pieces.len() <= pieces.capacity() {
                pieces.extend_from_slice(&state.pieces);
                return pieces;
            }
            let wanted = state.pieces.len();
            // Nothing is allocated under the lock.
            drop(state);
            pieces.reserve_exact(wanted);
        }
    }

    /// Returns the number of allocations, refused ones included.
    #[must_use]
    pub fn allocations(&self) -> u64 {
        self.state().allocations
    }

    /// Returns the number of invalid frees: of a range that was not allocated, or with another
    /// size.
    #[must_use]
    pub fn mistakes(&self) -> u64 {
        self.state().mistakes
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn is_refused(&mut self) -> bool {
        match &mut self.refused {
            None => false,
            Some((0 | 1, always)) => {
                if !*always {
                    self.refused = None;
                }
                true
            }
            Some((left, _)) => {
                *left -= 1;
                false
            }
        }
    }

    fn allocate(&mut self, bytes: u64) -> Result<u64, SyntheticRefusal> {
        self.allocations += 1;
        if self.is_refused() {
            return Err(SyntheticRefusal::OnRequest { requested: bytes });
        }
        let full = SyntheticRefusal::Full { requested: bytes, held: self.held, limit: self.limit };
        let held = self.held.checked_add(bytes).filter(|&held| held <= self.limit).ok_or(full)?;
        let end = self.next.checked_add(bytes).ok_or(full)?;
        let address = std::mem::replace(&mut self.next, end);
        self.held = held;
        self.pieces.push((address, bytes));
        Ok(address)
    }

    fn free(&mut self, address: u64, bytes: u64) -> bool {
        let Ok(place) = self.pieces.binary_search(&(address, bytes)) else {
            self.mistakes += 1;
            return false;
        };
        self.pieces.remove(place);
        self.held -= bytes;
        true
    }
}

impl Default for SyntheticMemory {
    fn default() -> Self {
        Self::new()
    }
}

// SAFETY: addresses only grow from a multiple of 256 that is not 0, by the requested multiples of
// 256, and stop before an overflow, so ranges never overlap. There is no memory to move, and a lock
// around everything.
unsafe impl MemorySource for SyntheticMemory {
    type Error = SyntheticRefusal;

    fn device(&self) -> Device {
        Device { kind: "synthetic", ordinal: None }
    }

    fn allocate(&self, bytes: u64) -> Result<u64, SyntheticRefusal> {
        let no_room = |NoHostMemory { requested }| SyntheticRefusal::Bookkeeping { requested };
        let room = lock_reserved(|| self.state(), |state| &mut state.pieces, 1);
        room.map_err(no_room)?.allocate(bytes)
    }

    unsafe fn free(&self, address: u64, bytes: u64) -> bool {
        self.state().free(address, bytes)
    }
}
