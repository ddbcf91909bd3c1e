//! Steps of random programs that only scopes of the host have: elements of any `Copy` type, uninitialised memory,
//! vectors, and slices that are kept when their scope ends.

mod calls;
mod element;
mod forms;
mod keep;
mod request;
mod reuse;
mod slice;

use std::fmt;

use pool_core::{HostBackend, PoolBackend, Scope};

use calls::{Calls, HostMemory};
pub use element::HostKind;
use forms::HostResult;
pub(crate) use forms::Moment;
pub(crate) use keep::KeepBody;
pub use request::{HostAcquire, HostForm};
pub(crate) use slice::{Extent, HeldSlice};

/// The forms of the acquire family that scopes of a host backend have, for code that does not know
/// at compile time whether its backend is one. [`Probe::host_forms`](crate::Probe::host_forms)
/// returns it.
pub struct HostForms<B: PoolBackend>(&'static dyn Calls<B>);

impl<B: HostBackend> HostForms<B> {
    /// Returns the forms that scopes of this backend have.
    #[must_use]
    pub fn new() -> Self {
        Self(&HostMemory)
    }
}

impl<B: HostBackend> Default for HostForms<B> {
    fn default() -> Self {
        Self::new()
    }
}

impl<B: PoolBackend> fmt::Debug for HostForms<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HostForms")
    }
}

impl<B: PoolBackend> HostForms<B> {
    /// Acquires, and checks that the result has the content `seed`. `watch` is called for each
    /// event in between.
    pub(crate) fn acquire<'s>(
        &self,
        scope: &Scope<'s, B>,
        asked: &HostAcquire,
        seed: u64,
        watch: &dyn Fn(Moment),
    ) -> HostResult<HeldSlice<'s>, B> {
        self.0.acquire(scope, asked, seed, watch)
    }

    /// Acquires in an inner scope, and keeps the elements from the first to the second place of
    /// `part`, both modulo their number plus one; all elements of an array. Checks that they have
    /// the content `seed`. Returns `None` if `body` ended early, or the slice was refused.
    pub(crate) fn keep<'s>(
        &self,
        scope: &mut Scope<'s, B>,
        asked: &HostAcquire,
        part: [usize; 2],
        seed: u64,
        body: &mut dyn KeepBody<B>,
    ) -> Option<HeldSlice<'s>> {
        self.0.keep(scope, asked, part, seed, body)
    }

    /// Runs every form of the acquire family on a slot that a view armed, with the backend's
    /// memory. Checks that the block is ordered exactly once, before the first write.
    pub(crate) fn check_reuse(&self, context: &dyn Fn() -> B::Context) -> HostResult<(), B> {
        self.0.check_reuse(context)
    }
}
