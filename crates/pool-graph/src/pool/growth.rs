//! Block allocation. A pool requests memory from its source when its own is insufficient. The pool
//! does not hold its lock during such a request, so it counts the requested bytes as reserved
//! before it makes the request.
//!
//! An allocation makes up to three requests to the source. The first request is for a whole chunk,
//! and the second is for the minimum size. The third request is again for the minimum size and is
//! made after the pool has freed all idle chunks. The lock is released between these requests, so
//! each attempt checks the available memory again.

use pool_core::reserve::Reserve;

use super::shared::Shared;
use crate::base::block::GraphMemoryBlock;
use crate::base::error::GraphMemoryError;
use crate::base::request::Request;
use crate::base::sync::{SourceCall, get_ready_to_wait, is_ready_to_wait};
use crate::ledger::{AllocationStep, BlockLedger, Growth};
use crate::source::{GraphMemoryResult, MemorySource, is_good_address};

/// Requests a new pool's initial chunks. If the source does not have enough memory, the function
/// returns the error from the source. If the host cannot allocate memory for the records, the pool
/// starts with fewer chunks.
pub(crate) fn preallocate<M: MemorySource>(
    source: &M,
    ledger: &mut BlockLedger,
    initial: u64,
) -> Result<(), M::Error> {
    while let Some(growth) = ledger.preallocate(initial) {
        match source.allocate(growth.bytes) {
            Ok(address) if is_good_address(address, growth.bytes) && has_room(ledger, growth) => {
                ledger.preallocated(growth, address);
            }
            Ok(address) => {
                // SAFETY: the source has just returned this range, and no other code has its
                // address.
                unsafe { source.free(address, growth.bytes) };
                ledger.not_grown(growth);
                return Ok(());
            }
            Err(refusal) => {
                ledger.not_grown(growth);
                return Err(refusal);
            }
        }
    }
    Ok(())
}

/// Reserves host memory for the record of one more chunk. Returns `false` if the host is out of
/// memory.
fn has_room(ledger: &mut BlockLedger, growth: Growth) -> bool {
    while let Some(missing) = ledger.lacking(Some(growth.bytes)) {
        let Ok(mut room) = BlockLedger::allocate(missing) else { return false };
        ledger.move_to(&mut room);
    }
    true
}

/// Returns a block from the pool's existing memory, or from memory newly requested from the source.
pub(crate) fn allocate<M: MemorySource>(
    shared: &Shared<M>,
    request: &Request,
) -> GraphMemoryResult<GraphMemoryBlock, M> {
    let mut refusal: Option<Refusal<M::Error>> = None;
    loop {
        let mut ledger = shared.ledger_with_capacity(None)?;
        let refused = refusal.as_ref().map(|refusal| refusal.bytes_now(&ledger));
        match ledger.step(request, refused, !SourceCall::is_under_way())? {
            AllocationStep::Taken(block) => return Ok(block),
            AllocationStep::Wait if is_ready_to_wait() => drop(shared.changed.wait(ledger)),
            AllocationStep::Wait => {
                drop(ledger);
                get_ready_to_wait();
            }
            AllocationStep::GiveBack(idle) => {
                drop(ledger);
                shared.give_back(idle);
            }
            AllocationStep::Grow(growth) => {
                let returns = ledger.returns_to_source();
                drop(ledger);
                match grow(shared, growth, request)? {
                    Ok(block) => return Ok(block),
                    Err(source) => {
                        refusal = Some(Refusal { bytes: growth.bytes, returns, source });
                    }
                }
            }
            AllocationStep::GiveUp => {
                let (used, reserved) = ledger.used_and_reserved();
                let requested = request.size;
                return Err(match refusal {
                    Some(Refusal { source, .. }) => {
                        GraphMemoryError::OutOfMemory { requested, used, reserved, source }
                    }
                    // The ledger reports a failure only after the source has refused a request. If
                    // a bug makes the ledger fail earlier, this branch returns an error to end the
                    // loop.
                    None => ledger.capacity_exceeded(request),
                });
            }
        }
    }
}

/// A request that the source refused during this call.
struct Refusal<E> {
    bytes: u64,
    /// The number of pieces that had been returned to the source before this request was made.
    returns: u64,
    source: E,
}

impl<E> Refusal<E> {
    /// Returns the size of the refused request. Returns `u64::MAX` if any thread has returned
    /// memory to the source since the request, because the source might now grant it.
    fn bytes_now(&self, ledger: &BlockLedger) -> u64 {
        if ledger.returns_to_source() == self.returns { self.bytes } else { u64::MAX }
    }
}

/// A growth operation in progress. Dropping this value, even during a panic, records the end of the
/// growth in the ledger and notifies the waiting threads.
struct GrowthUnderWay<'s, M: MemorySource> {
    shared: &'s Shared<M>,
    growth: Option<Growth>,
    _call: SourceCall,
}

impl<M: MemorySource> Drop for GrowthUnderWay<'_, M> {
    fn drop(&mut self) {
        if let Some(growth) = self.growth.take() {
            self.shared.ledger.lock().not_grown(growth);
        }
        self.shared.changed.notify_all();
    }
}

/// Requests memory from the source and creates the requested block in it. The inner result contains
/// the source's error if the source refuses the request.
fn grow<M: MemorySource>(
    shared: &Shared<M>,
    growth: Growth,
    request: &Request,
) -> GraphMemoryResult<Result<GraphMemoryBlock, M::Error>, M> {
    let mut under_way = GrowthUnderWay { shared, growth: Some(growth), _call: SourceCall::begin() };
    let address = match shared.source.allocate(growth.bytes) {
        Ok(address) => address,
        Err(refusal) => return Ok(Err(refusal)),
    };
    let bad = GraphMemoryError::BadAddress { address, bytes: growth.bytes };
    if !is_good_address(address, growth.bytes) {
        // SAFETY: the source has just returned this range, and no other code has its address.
        unsafe { shared.source.free(address, growth.bytes) };
        return Err(bad);
    }
    let ledger = shared.ledger_with_capacity(Some(growth.bytes)).map_err(GraphMemoryError::from);
    let ledger = ledger.and_then(|ledger| match ledger.is_disposed() {
        true => Err(GraphMemoryError::Disposed),
        false => Ok(ledger),
    });
    let mut ledger = match ledger {
        Ok(ledger) => ledger,
        Err(error) => {
            // SAFETY: the source has just returned this range, and it contains no block yet.
            unsafe { shared.source.free(address, growth.bytes) };
            return Err(error);
        }
    };
    under_way.growth = None;
    let block = ledger.grown(growth, address, request);
    drop(ledger);
    block.map(Ok).ok_or(bad)
}
