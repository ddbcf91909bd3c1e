//! The allocation of blocks. A pool requests memory from its source when its own memory is
//! insufficient. The pool does not hold its lock during such a request, so it counts the requested
//! bytes as reserved beforehand.
//!
//! An allocation makes up to three requests to the source. The first request is for a whole chunk,
//! and the second is for the minimum size. The third request is for the minimum size again, after
//! all idle chunks have been freed. The lock is released between these requests, so each attempt
//! checks the available memory again.

use pool_core::reserve::Reserve;

use super::shared::Shared;
use crate::base::block::GraphMemoryBlock;
use crate::base::error::GraphMemoryError;
use crate::base::request::Request;
use crate::base::sync::{SourceCall, get_ready_to_wait, is_ready_to_wait};
use crate::book::{AllocationStep, Book, Growth};
use crate::source::{GraphMemoryResult, MemorySource, is_good_address};

/// Requests a new pool's initial chunks. If the source does not have enough memory, the function
/// returns the source's error. If the host cannot allocate memory for the records, the pool starts
/// with fewer chunks.
pub(crate) fn preallocate<M: MemorySource>(
    source: &M,
    book: &mut Book,
    initial: u64,
) -> Result<(), M::Error> {
    while let Some(growth) = book.preallocate(initial) {
        match source.allocate(growth.bytes) {
            Ok(address) if is_good_address(address, growth.bytes) && has_room(book, growth) => {
                book.preallocated(growth, address);
            }
            Ok(address) => {
                // SAFETY: the source has just returned this range, and no other code knows its
                // address.
                unsafe { source.free(address, growth.bytes) };
                book.not_grown(growth);
                return Ok(());
            }
            Err(refusal) => {
                book.not_grown(growth);
                return Err(refusal);
            }
        }
    }
    Ok(())
}

/// Reserves host memory for one more chunk's record. Returns `false` if the host is out of memory.
fn has_room(book: &mut Book, growth: Growth) -> bool {
    while let Some(missing) = book.lacking(Some(growth.bytes)) {
        let Ok(mut room) = Book::allocate(missing) else { return false };
        book.move_to(&mut room);
    }
    true
}

/// Returns a block from the pool's memory, or from memory newly requested from the source.
pub(crate) fn allocate<M: MemorySource>(
    shared: &Shared<M>,
    request: &Request,
) -> GraphMemoryResult<GraphMemoryBlock, M> {
    let mut refusal: Option<Refusal<M::Error>> = None;
    loop {
        let mut book = shared.book_with_room(None)?;
        let refused = refusal.as_ref().map(|refusal| refusal.bytes_now(&book));
        match book.step(request, refused, !SourceCall::is_under_way())? {
            AllocationStep::Taken(block) => return Ok(block),
            AllocationStep::Wait if is_ready_to_wait() => drop(shared.changed.wait(book)),
            AllocationStep::Wait => {
                drop(book);
                get_ready_to_wait();
            }
            AllocationStep::GiveBack(idle) => {
                drop(book);
                shared.give_back(idle);
            }
            AllocationStep::Grow(growth) => {
                let returns = book.returns_to_source();
                drop(book);
                match grow(shared, growth, request)? {
                    Ok(block) => return Ok(block),
                    Err(source) => {
                        refusal = Some(Refusal { bytes: growth.bytes, returns, source });
                    }
                }
            }
            AllocationStep::GiveUp => {
                let (used, reserved) = book.used_and_reserved();
                let requested = request.size;
                return Err(match refusal {
                    Some(Refusal { source, .. }) => {
                        GraphMemoryError::OutOfMemory { requested, used, reserved, source }
                    }
                    // The book reports a failure only after the source has refused a request. If a
                    // bug makes the book fail earlier, this branch ends the loop by returning an
                    // error.
                    None => book.capacity_exceeded(request),
                });
            }
        }
    }
}

/// A request that the source refused during this call.
struct Refusal<E> {
    bytes: u64,
    /// The number of pieces that had been returned to the source when this request was made.
    returns: u64,
    source: E,
}

impl<E> Refusal<E> {
    /// Returns the size of the refused request. Returns `u64::MAX` if any thread has returned
    /// memory to the source since the request, because the refusal is then outdated.
    fn bytes_now(&self, book: &Book) -> u64 {
        if book.returns_to_source() == self.returns { self.bytes } else { u64::MAX }
    }
}

/// A growth in progress. Dropping this value (even during a panic) records the end of the growth in
/// the book and notifies the waiting threads.
struct GrowthUnderWay<'s, M: MemorySource> {
    shared: &'s Shared<M>,
    growth: Option<Growth>,
    _call: SourceCall,
}

impl<M: MemorySource> Drop for GrowthUnderWay<'_, M> {
    fn drop(&mut self) {
        if let Some(growth) = self.growth.take() {
            self.shared.book.lock().not_grown(growth);
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
        // SAFETY: the source has just returned this range, and no other code knows its address.
        unsafe { shared.source.free(address, growth.bytes) };
        return Err(bad);
    }
    let book = shared.book_with_room(Some(growth.bytes)).map_err(GraphMemoryError::from);
    let book = book.and_then(|book| match book.is_disposed() {
        true => Err(GraphMemoryError::Disposed),
        false => Ok(book),
    });
    let mut book = match book {
        Ok(book) => book,
        Err(error) => {
            // SAFETY: the source has just returned this range, and it contains no block yet.
            unsafe { shared.source.free(address, growth.bytes) };
            return Err(error);
        }
    };
    under_way.growth = None;
    let block = book.grown(growth, address, request);
    drop(book);
    block.map(Ok).ok_or(bad)
}
