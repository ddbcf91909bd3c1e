//! Holds slices of different element types after their scope has ended.

use std::ops::Range;

use pool_core::{HostBackend, NdView, PoolBackend, PoolError, Scope};

use super::element::HostSample;
use super::forms::{self, Moment};
use super::request::HostAcquire;
use super::slice::{Extent, HeldSlice};

/// Code that runs in an inner scope before and after a slice is acquired. The slice outlives the
/// inner scope.
pub(crate) trait KeepBody<B: PoolBackend> {
    /// Runs before the slice is acquired from the pool. If `before` returns `false`, no slice is
    /// acquired.
    fn before(&mut self, inner: &mut Scope<'_, B>) -> bool;

    /// Receives each event that occurs while the slice is being acquired.
    fn watch(&self, moment: Moment);

    /// Runs after the slice has been acquired from the pool.
    fn acquired(&mut self, inner: &Scope<'_, B>, extent: Extent);

    /// Runs if the slice could not be acquired.
    fn refused(&mut self, inner: &Scope<'_, B>, error: &PoolError<B::Error>);
}

/// The error that is reported if no slice outlives the inner scope because the body ended early or
/// the acquire failed.
struct NotKept;

impl<E> From<PoolError<E>> for NotKept {
    fn from(_: PoolError<E>) -> Self {
        Self
    }
}

/// Acquires a slice in an inner scope and returns it after the scope has ended. Returns `None` if
/// no slice was acquired.
pub(super) fn keep<'s, B: HostBackend, T: HostSample>(
    scope: &mut Scope<'s, B>,
    asked: &HostAcquire,
    part: [usize; 2],
    seed: u64,
    body: &mut dyn KeepBody<B>,
) -> Option<HeldSlice<'s>> {
    let count = asked.count();
    let [from, to] = if asked.form.is_nd() { [0, count] } else { part.map(|at| at % (count + 1)) };
    let part = from.min(to)..from.max(to);
    let mut kept = keep_slice::<B, T>(scope, asked, part.clone(), seed, body)?;
    if asked.form.is_nd() {
        kept = NdView::new(kept, asked.dims()).expect("an array kept whole").into_view();
    }
    assert!(*kept == forms::content::<T>(asked, seed)[part], "what is kept changed: {kept:?}");
    // The returned slice may be only part of its block. The rest of the block cannot be used.
    let extent = Extent::of(kept).asked(0);
    Some(HeldSlice::new(kept, extent, align_of::<T>(), seed))
}

fn keep_slice<'s, B: HostBackend, T: HostSample>(
    scope: &mut Scope<'s, B>,
    asked: &HostAcquire,
    part: Range<usize>,
    seed: u64,
    body: &mut dyn KeepBody<B>,
) -> Option<&'s mut [T]> {
    if !asked.panics {
        return scope.try_keep(|inner| part_of(inner, asked, part, seed, body)).ok();
    }
    let mut answered = false;
    let kept = scope.keep(|inner| {
        let answer = part_of(inner, asked, part, seed, body);
        answered = answer.is_ok();
        answer.unwrap_or_default()
    });
    answered.then_some(kept)
}

fn part_of<'i, B: HostBackend, T: HostSample>(
    mut inner: Scope<'i, B>,
    asked: &HostAcquire,
    part: Range<usize>,
    seed: u64,
    body: &mut dyn KeepBody<B>,
) -> Result<&'i mut [T], NotKept> {
    if !body.before(&mut inner) {
        return Err(NotKept);
    }
    match forms::slice::<B, T>(&inner, asked, seed, &|moment| body.watch(moment)) {
        Ok(slice) => {
            body.acquired(&inner, forms::extent(slice, asked));
            Ok(&mut slice[part])
        }
        Err(error) => {
            body.refused(&inner, &error);
            Err(NotKept)
        }
    }
}
