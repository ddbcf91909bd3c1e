//! Allocation where the source must be asked: without the lock, with the bytes reserved before, and
//! with a second and a third try.
//!
//! First a chunk is asked for, then the least that would do, then that again with every idle chunk
//! given back. Between the tries the lock is free, so each looks again at what there is.

use pool_core::reserve::Reserve;

use super::shared::Shared;
use crate::base::block::GraphMemoryBlock;
use crate::base::error::GraphMemoryError;
use crate::base::request::Request;
use crate::base::sync::{SourceCall, get_ready_to_wait, is_ready_to_wait};
use crate::book::{AllocationStep, Book, Growth};
use crate::source::{GraphMemoryResult, MemorySource, is_good_address};

/// Fetches the chunks of a pool that is being made; the source's refusal where it has too few. Stops early
/// where the host has no room for the books.
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
                // SAFETY: the source gave it this moment, and nobody else has seen it.
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

/// Makes room for a chunk in a book that nobody else has yet; false where the host has none.
fn has_room(book: &mut Book, growth: Growth) -> bool {
    while let Some(missing) = book.lacking(Some(growth.bytes)) {
        let Ok(mut room) = Book::allocate(missing) else { return false };
        book.move_to(&mut room);
    }
    true
}

/// A block, of what there is or of what the source gives.
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
                    // The book gives up after a refusal alone. An error, and no endless loop, if it did otherwise.
                    None => book.capacity_exceeded(request),
                });
            }
        }
    }
}

/// What the source has refused to a call.
struct Refusal<E> {
    bytes: u64,
    /// How often memory had gone back to the source before it was asked.
    returns: u64,
    source: E,
}

impl<E> Refusal<E> {
    /// The bytes that it refuses still: where memory has gone back meanwhile, whoever gave it, it may
    /// grant what it refused.
    fn bytes_now(&self, book: &Book) -> u64 {
        if book.returns_to_source() == self.returns { self.bytes } else { u64::MAX }
    }
}

/// A growth under way: whatever happens to the call, the book learns its end, and whoever waits for it.
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

/// Asks the source, and makes the request's block in what it gives; its refusal where it gives nothing.
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
        // SAFETY: the source gave it this moment, and nobody else has seen it.
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
            // SAFETY: as above.
            unsafe { shared.source.free(address, growth.bytes) };
            return Err(error);
        }
    };
    under_way.growth = None;
    let block = book.grown(growth, address, request);
    drop(book);
    block.map(Ok).ok_or(bad)
}
