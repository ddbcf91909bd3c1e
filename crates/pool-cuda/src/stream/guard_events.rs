//! Provides events for the guards that a pool returns to cudarc. A pool returns a guard when a
//! stream unknown to the pool uses its memory.
//!
//! Until a guard is dropped, it holds a reference to its event and can record the event. The guard
//! borrows the view that returned the pointer, so the pool keeps the event alive until all views of
//! the block have ended. By the time the block is reused or freed, or a new exclusive view covers
//! the same bytes, all earlier views have ended.

use std::cell::Cell;
use std::fmt;
use std::ptr::NonNull;
use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaEvent};
use pool_driver::calls::Address;
use pool_driver::chain::Chain;
use pool_driver::error::CudaError;
use pool_driver::guard_event::{GuardEvent, UseEnd};

/// The maximum number of events for one block. The pool creates no events for additional uses of
/// the block. The pool handles each additional use as if its guard had been forgotten.
const MOST: usize = 32;

/// The bytes for which a view returned a pointer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bytes {
    pub(crate) block: Address,
    pub(crate) start: Address,
    pub(crate) length: usize,
}

/// The events of one pool's guards. Each change takes all events out of the cell and then puts them
/// back. No user code can run during the change.
#[derive(Default)]
pub(crate) struct GuardEvents(Cell<Chain<Given>>);

struct Given {
    /// The bytes that the pool treats as a unit when ordering streams.
    ordered: Bytes,
    bytes: Bytes,
    event: GuardEvent,
}

impl Bytes {
    /// Returns the range of all bytes in a block.
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

    /// Returns `true` if this range contains the whole other range.
    pub(crate) fn contain(&self, other: &Self) -> bool {
        self.block == other.block && self.start <= other.start && other.end() <= self.end()
    }
}

impl GuardEvents {
    /// Creates an event for a guard returned by a view of these bytes. Returns `None` if the
    /// maximum number of events already exists for the unit that contains these bytes. The method
    /// also returns `None` if cudarc's event tracking is disabled.
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

    /// Destroys the events of dropped guards for bytes covered by a new exclusive view. An event
    /// stays alive as long as a stream still has to wait for it.
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
