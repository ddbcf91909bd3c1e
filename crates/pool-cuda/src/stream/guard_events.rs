//! Events for the guards that a pool returns to cudarc. A pool returns a guard when its memory is
//! used on a stream that it does not know.
//!
//! A guard refers to its event, and may record the event, until the guard is dropped. Because the
//! guard borrows the view that returned the pointer, the pool keeps the event until all views of
//! the event's block have ended. All views have ended when the block is reused or freed, or when a
//! new view covers the same bytes exclusively.

use std::cell::Cell;
use std::fmt;
use std::ptr::NonNull;
use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaEvent};
use pool_driver::calls::Address;
use pool_driver::chain::Chain;
use pool_driver::error::CudaError;
use pool_driver::guard_event::{GuardEvent, UseEnd};

/// The maximum number of events for one block. If a block has more uses, the pool creates no events
/// for the additional uses. The pool waits for these uses as if their guards had been forgotten.
const MOST: usize = 32;

/// The range of bytes that a view returned a pointer to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bytes {
    pub(crate) block: Address,
    pub(crate) start: Address,
    pub(crate) length: usize,
}

/// The events of one pool's guards. Every change temporarily moves all events out of the cell, and
/// no user code runs until the events have been moved back.
#[derive(Default)]
pub(crate) struct GuardEvents(Cell<Chain<Given>>);

struct Given {
    /// The range of bytes that the pool orders as a unit when a view is used.
    ordered: Bytes,
    bytes: Bytes,
    event: GuardEvent,
}

impl Bytes {
    /// Returns the range that contains all bytes of a block.
    pub(crate) fn of_block(block: Address) -> Self {
        Self { block, start: block, length: usize::MAX }
    }

    pub(crate) fn end(&self) -> Address {
        self.start.saturating_add(self.length as Address)
    }

    /// Returns `true` if the two ranges overlap.
    pub(crate) fn overlap(&self, other: &Self) -> bool {
        self.block == other.block && self.start < other.end() && other.start < self.end()
    }

    /// Returns `true` if this range contains all bytes of the other range.
    pub(crate) fn contain(&self, other: &Self) -> bool {
        self.block == other.block && self.start <= other.start && other.end() <= self.end()
    }
}

impl GuardEvents {
    /// Creates an event for the guard of a view of these bytes. Returns `None` if the unit that
    /// contains the bytes already has the maximum number of events. The method also returns `None`
    /// if cudarc does not record the events of its guards.
    pub(crate) fn give(
        &self,
        (ordered, bytes): (Bytes, Bytes),
        context: &Arc<CudaContext>,
    ) -> Result<Option<(UseEnd, NonNull<CudaEvent>)>, CudaError> {
        let is_of_these = |given: &&Given| given.ordered.overlap(&ordered);
        let given = self.look(|all| all.iter().filter(is_of_these).count());
        if given >= MOST || !context.is_managing_stream_synchronization() {
            return Ok(None);
        }
        let event = GuardEvent::new(context)?;
        let (name, place) = (event.name(), event.place());
        let link = Chain::of(Given { ordered, bytes, event })?;
        self.look(|all| all.add(link));
        Ok(Some((name, place)))
    }

    /// Destroys the events for bytes whose views have all ended.
    pub(crate) fn end(&self, has_ended: impl Fn(&Bytes) -> bool) {
        drop(self.look(|all| all.unlink(|given| has_ended(&given.ordered))));
    }

    /// Destroys the events of guards that have been dropped, for bytes that a new view covers
    /// exclusively. Events that a stream still has to wait for are kept.
    pub(crate) fn end_overlapping(&self, bytes: &Bytes, is_awaited: impl Fn(UseEnd) -> bool) {
        let has_ended =
            |given: &Given| given.bytes.overlap(bytes) && !is_awaited(given.event.name());
        drop(self.look(|all| all.unlink(has_ended)));
    }

    fn look<R>(&self, act: impl FnOnce(&mut Chain<Given>) -> R) -> R {
        let mut all = self.0.take();
        let result = act(&mut all);
        self.0.set(all);
        result
    }
}

impl fmt::Debug for GuardEvents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GuardEvents").finish_non_exhaustive()
    }
}
