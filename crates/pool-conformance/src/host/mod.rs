//! Operations that random programs perform only with the scopes of host backends. The operations
//! use elements of any `Copy` type, uninitialized memory, vectors, and slices that outlive their
//! scope.

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

/// The acquire methods that a host backend's scopes provide. Generic code can call the host's
/// acquire methods even if the compiler cannot verify that its backend is a host backend.
/// [`BackendProbe::host_forms`](crate::BackendProbe::host_forms) returns this type.
pub struct HostForms<B: PoolBackend>(&'static dyn Calls<B>);

impl<B: HostBackend> HostForms<B> {
    /// Returns the acquire methods provided by this backend's scopes.
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
    /// Acquires elements and checks that the result contains the contents generated from `seed`.
    /// Calls `watch` for each event during the acquire.
    pub(crate) fn acquire<'s>(
        &self,
        scope: &Scope<'s, B>,
        asked: &HostAcquire,
        seed: u64,
        watch: &dyn Fn(Moment),
    ) -> HostResult<HeldSlice<'s>, B> {
        self.0.acquire(scope, asked, seed, watch)
    }

    /// Acquires a slice in an inner scope and returns the elements between the two indices in
    /// `part`. Each index in `part` is taken modulo the slice's length plus one. Arrays are always
    /// returned whole. The method checks that the returned elements equal the contents generated
    /// from `seed`. Returns `None` if `body` ended early or if the acquire failed.
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

    /// Runs every acquire method on an armed slot whose memory comes from this backend. Checks that
    /// `reuse` is called exactly once for the block and before the first write to the block.
    pub(crate) fn check_reuse(&self, context: &dyn Fn() -> B::Context) -> HostResult<(), B> {
        self.0.check_reuse(context)
    }
}
