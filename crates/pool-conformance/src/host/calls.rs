//! Create a pool with `Pool::<LedgeredBackend<B>>::new(unsafe { LedgeredContext::new(context,
//! ledger) })`. The ledger records only the calls that come from the pool. Generic code cannot test
//! at run time whether its backend is a host backend.

use pool_core::{HostBackend, PoolBackend, Scope};

use super::element::with_host_kind;
use super::forms::{HostResult, Moment, acquire};
use super::keep::{KeepBody, keep};
use super::request::HostAcquire;
use super::reuse::check_reuse;
use super::slice::HeldSlice;

/// The methods of [`HostForms`](super::HostForms), which only host backends can implement.
pub(super) trait Calls<B: PoolBackend> {
    fn acquire<'s>(
        &self,
        scope: &Scope<'s, B>,
        asked: &HostAcquire,
        seed: u64,
        watch: &dyn Fn(Moment),
    ) -> HostResult<HeldSlice<'s>, B>;

    fn keep<'s>(
        &self,
        scope: &mut Scope<'s, B>,
        asked: &HostAcquire,
        part: [usize; 2],
        seed: u64,
        body: &mut dyn KeepBody<B>,
    ) -> Option<HeldSlice<'s>>;

    fn check_reuse(&self, context: &dyn Fn() -> B::Context) -> HostResult<(), B>;
}

/// The implementation of `Calls` for all host backends.
pub(super) struct HostMemory;

impl<B: HostBackend> Calls<B> for HostMemory {
    fn acquire<'s>(
        &self,
        scope: &Scope<'s, B>,
        asked: &HostAcquire,
        seed: u64,
        watch: &dyn Fn(Moment),
    ) -> HostResult<HeldSlice<'s>, B> {
        acquire(scope, asked, seed, watch)
    }

    fn keep<'s>(
        &self,
        scope: &mut Scope<'s, B>,
        asked: &HostAcquire,
        part: [usize; 2],
        seed: u64,
        body: &mut dyn KeepBody<B>,
    ) -> Option<HeldSlice<'s>> {
        with_host_kind!(asked.kind, Element => keep::<B, Element>(scope, asked, part, seed, body))
    }

    fn check_reuse(&self, context: &dyn Fn() -> B::Context) -> HostResult<(), B> {
        check_reuse::<B>(context)
    }
}
