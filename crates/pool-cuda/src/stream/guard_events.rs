//! The events of the guards that a pool has given to cudarc, for uses on streams that the pool does not know.
//!
//! cudarc holds a reference to such an event for as long as the guard lives, and a guard may be recorded as late as that.
//! A guard borrows the view that gave the pointer. So an event is kept until the views of its block have ended: until the
//! block is handed out again or freed, or until another view gets the same bytes exclusively.

use std::cell::Cell;
use std::fmt;
use std::ptr::NonNull;
use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaEvent};
use pool_driver::calls::Address;
use pool_driver::chain::Chain;
use pool_driver::error::CudaError;
use pool_driver::guard_event::{GuardEvent, UseEnd};

/// How many events a block has at most. Further uses end without one, and are waited for as uses whose guard was
/// forgotten.
const MOST: usize = 32;

/// The bytes that a view gave a pointer to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bytes {
    pub(crate) block: Address,
    pub(crate) start: Address,
    pub(crate) length: usize,
}

/// The events of one pool's guards. Changed by taking all of them out of the cell: no code of others runs meanwhile.
#[derive(Default)]
pub(crate) struct GuardEvents(Cell<Chain<Given>>);

struct Given {
    /// The bytes that are ordered together with those of the view.
    ordered: Bytes,
    bytes: Bytes,
    event: GuardEvent,
}

impl Bytes {
    /// All bytes of a block.
    pub(crate) fn of_block(block: Address) -> Self {
        Self { block, start: block, length: usize::MAX }
    }

    pub(crate) fn end(&self) -> Address {
        self.start.saturating_add(self.length as Address)
    }

    /// Whether some byte is in both.
    pub(crate) fn overlap(&self, other: &Self) -> bool {
        self.block == other.block && self.start < other.end() && other.start < self.end()
    }

    /// Whether all bytes of the other are in these.
    pub(crate) fn contain(&self, other: &Self) -> bool {
        self.block == other.block && self.start <= other.start && other.end() <= self.end()
    }
}

impl GuardEvents {
    /// A new event for a guard of a view of these bytes, and its name. `None` where the bytes that are ordered together with
    /// them have many already, or where
    /// cudarc does not record what its guards have.
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

    /// Destroys the events of bytes whose views have all ended.
    pub(crate) fn end(&self, has_ended: impl Fn(&Bytes) -> bool) {
        drop(self.look(|all| all.unlink(|given| has_ended(&given.ordered))));
    }

    /// Destroys the events of guards that have ended, because a view has these bytes exclusively, but for those that are
    /// still to be waited for.
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
