//! A source of addresses that do not refer to real memory. This source is used for tests, for
//! planning, and on systems without a GPU.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pool_core::Device;
use pool_core::reserve::{NoHostMemory, lock_reserved};
use thiserror::Error;

use crate::base::request::SOURCE_ALIGNMENT;

use super::contract::MemorySource;

/// The first address, which has exactly the minimum alignment that a source must provide.
const FIRST: u64 = 0x7f00_0000_0000 + SOURCE_ALIGNMENT;

/// A [`MemorySource`] whose addresses do not refer to real memory. A `SyntheticMemory` can have a
/// limit, refuse allocations on request, and count calls. All clones of a `SyntheticMemory` share
/// one limit, one set of refusals, and one set of counts.
///
/// The allocated ranges are adjacent, so an access past the end of one falls into the next. No
/// address is ever reused.
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
    /// The allocated ranges, sorted by address. Each new address is higher than all previous
    /// addresses.
    pieces: Vec<(u64, u64)>,
    allocations: u64,
    /// The number of allocations before the next refusal, and a flag that is `true` if all later
    /// allocations are refused as well.
    refused: Option<(u64, bool)>,
    mistakes: u64,
}

/// The reason an allocation was refused.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum SyntheticRefusal {
    /// The allocation would exceed the limit.
    #[error(
        "allocating {requested} bytes would exceed the limit of {limit} bytes, because {held} \
         bytes are already in use"
    )]
    Full {
        /// The requested size in bytes.
        requested: u64,
        /// The number of bytes already allocated.
        held: u64,
        /// The limit in bytes.
        limit: u64,
    },
    /// A test requested this refusal.
    #[error("the test made this allocation of {requested} bytes fail")]
    OnRequest {
        /// The requested size in bytes.
        requested: u64,
    },
    /// The host does not have enough memory to record the allocation.
    #[error("cannot allocate {requested} bytes of host memory to record the allocation")]
    Bookkeeping {
        /// The number of bytes requested from the host.
        requested: usize,
    },
}

impl SyntheticMemory {
    /// Creates synthetic memory whose only limit is the size of the address space.
    #[must_use]
    pub fn new() -> Self {
        Self::with_limit(u64::MAX)
    }

    /// Creates synthetic memory with a limit on the number of allocated bytes.
    #[must_use]
    pub fn with_limit(limit: u64) -> Self {
        Self::starting_at(FIRST, limit)
    }

    /// Creates synthetic memory that starts at `address`, with a limit on the number of allocated
    /// bytes. The address must be a multiple of 256 and must not be 0.
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

    /// Refuses only the `nth` allocation after this call. Allocations are counted from 1.
    pub fn refuse(&self, nth: u64) {
        self.state().refused = Some((nth, false));
    }

    /// Refuses the `nth` allocation after this call and all later ones.
    pub fn refuse_from(&self, nth: u64) {
        self.state().refused = Some((nth, true));
    }

    /// Cancels all requested refusals.
    pub fn refuse_none(&self) {
        self.state().refused = None;
    }

    /// Returns the number of bytes currently allocated.
    #[must_use]
    pub fn held(&self) -> u64 {
        self.state().held
    }

    /// Returns the address and size of each allocated range, sorted by address.
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
            // The lock must be released before this function allocates any host memory.
            drop(state);
            pieces.reserve_exact(wanted);
        }
    }

    /// Returns the number of allocation requests, including those that were refused.
    #[must_use]
    pub fn allocations(&self) -> u64 {
        self.state().allocations
    }

    /// Returns the number of invalid calls to `free`. A call to `free` is invalid if its range was
    /// not allocated or was allocated with a different size.
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

// SAFETY: the first address is a nonzero multiple of 256. Each allocation advances the next address
// by the requested size, which is also a multiple of 256. An allocation fails if the addition
// overflows. The allocated ranges therefore never overlap. No real memory exists at these
// addresses, so no memory can move. A lock guards the whole state, so any thread may call
// `allocate` and `free`.
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
