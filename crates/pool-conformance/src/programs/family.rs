//! The members of the acquire family that scopes of every backend have, called for an element type.

use pool_core::{AcquireResult, DynamicShape, NdAcquireResult, Scope, Shape};

use super::program::{Fill, Impossible};
use crate::element::{Sample, samples};
use crate::probe::{Failure, Probe, View};

/// A view with the shape that the shape cache lent it.
pub(super) type ViewAndShape<'s, P, T> = (View<'s, P, T>, DynamicShape<'s>);

pub(super) fn ask_for<P: Probe, T: Sample>(
    scope: &Scope<'_, P::Backend>,
    impossible: Impossible,
) -> Result<(), Failure<P>> {
    let huge = isize::MAX as usize;
    match impossible {
        Impossible::Length(beyond) => scope.try_acquire_zeroed::<T>(usize::MAX - beyond).map(drop),
        Impossible::Product => scope.try_acquire_nd_zeroed::<T, _>([huge, 3]).map(drop),
        Impossible::ProductBesideZero => T::recycle_nd(scope, [usize::MAX, 2, 0]).map(drop),
        Impossible::DynamicProductBesideZero => {
            T::recycle_nd(scope, &[0, huge, huge][..]).map(drop)
        }
        Impossible::SourceOfOtherLength => {
            scope.try_acquire_nd_from([2, 1], &samples::<T>(1, 3)).map(drop)
        }
    }
}

pub(super) fn flat<'s, P: Probe, T: Sample>(
    scope: &Scope<'s, P::Backend>,
    fill: Fill,
    length: usize,
    seed: u64,
    panics: bool,
) -> AcquireResult<'s, P::Backend, T> {
    if panics {
        return Ok(match fill {
            Fill::Recycled => T::recycle_or_panic(scope, length),
            Fill::Zeroed => scope.acquire_zeroed(length),
            Fill::Filled => scope.acquire_filled(length, T::sample(seed, 0)),
            Fill::Copied => scope.acquire_from(&samples(seed, length)),
        });
    }
    match fill {
        Fill::Recycled => T::recycle(scope, length),
        Fill::Zeroed => scope.try_acquire_zeroed(length),
        Fill::Filled => scope.try_acquire_filled(length, T::sample(seed, 0)),
        Fill::Copied => scope.try_acquire_from(&samples(seed, length)),
    }
}

fn shaped<'s, P: Probe, T: Sample, S: Shape>(
    scope: &Scope<'s, P::Backend>,
    fill: Fill,
    shape: S,
    length: usize,
    seed: u64,
    panics: bool,
) -> NdAcquireResult<'s, P::Backend, T, S> {
    if panics {
        return Ok(match fill {
            Fill::Recycled => T::recycle_nd_or_panic(scope, shape),
            Fill::Zeroed => scope.acquire_nd_zeroed(shape),
            Fill::Filled => scope.acquire_nd_filled(shape, T::sample(seed, 0)),
            Fill::Copied => scope.acquire_nd_from(shape, &samples(seed, length)),
        });
    }
    match fill {
        Fill::Recycled => T::recycle_nd(scope, shape),
        Fill::Zeroed => scope.try_acquire_nd_zeroed(shape),
        Fill::Filled => scope.try_acquire_nd_filled(shape, T::sample(seed, 0)),
        Fill::Copied => scope.try_acquire_nd_from(shape, &samples(seed, length)),
    }
}

/// An array of the rank that `dims` has, which is at most 6.
pub(super) fn of_fixed_rank<'s, P: Probe, T: Sample>(
    scope: &Scope<'s, P::Backend>,
    fill: Fill,
    dims: &[usize],
    seed: u64,
    panics: bool,
) -> AcquireResult<'s, P::Backend, T> {
    match *dims {
        [a] => with_rank::<P, T, _>(scope, fill, [a], dims, seed, panics),
        [a, b] => with_rank::<P, T, _>(scope, fill, (a, b), dims, seed, panics),
        [a, b, c] => with_rank::<P, T, _>(scope, fill, [a, b, c], dims, seed, panics),
        [a, b, c, d] => with_rank::<P, T, _>(scope, fill, [a, b, c, d], dims, seed, panics),
        [a, b, c, d, e] => with_rank::<P, T, _>(scope, fill, (a, b, c, d, e), dims, seed, panics),
        [a, b, c, d, e, f] => {
            with_rank::<P, T, _>(scope, fill, [a, b, c, d, e, f], dims, seed, panics)
        }
        _ => panic!("no fixed rank: {dims:?}"),
    }
}

fn with_rank<'s, P: Probe, T: Sample, S: Shape>(
    scope: &Scope<'s, P::Backend>,
    fill: Fill,
    shape: S,
    dims: &[usize],
    seed: u64,
    panics: bool,
) -> AcquireResult<'s, P::Backend, T> {
    let array = shaped::<P, T, S>(scope, fill, shape, dims.iter().product(), seed, panics)?;
    assert_eq!(array.shape(), dims, "an array of another shape than asked for");
    Ok(array.into_view())
}

pub(super) fn of_dynamic_rank<'s, P: Probe, T: Sample>(
    scope: &Scope<'s, P::Backend>,
    fill: Fill,
    dims: &[usize],
    seed: u64,
    panics: bool,
) -> Result<ViewAndShape<'s, P, T>, Failure<P>> {
    let length = dims.iter().product();
    let array = shaped::<P, T, &[usize]>(scope, fill, dims, length, seed, panics)?;
    assert_eq!(array.shape(), dims, "an array of another shape than asked for");
    Ok(array.into_parts())
}
