//! Calls the acquire methods that every backend's scopes provide, for one element type.

use pool_core::{AcquireResult, DynamicShape, PoolView, Scope, Shape};

use super::program::{Fill, Impossible};
use crate::element::{Sample, samples};
use crate::probe::{BackendProbe, Failure, View};

/// A view, along with its shape, which is borrowed from the shape cache.
pub(super) type ViewAndShape<'s, P, T> = (View<'s, P, T>, DynamicShape<'s>);

pub(super) fn ask_for<P: BackendProbe, T: Sample>(
    scope: &Scope<'_, P::Backend>,
    impossible: Impossible,
) -> Result<(), Failure<P>> {
    let huge = isize::MAX as usize;
    match impossible {
        Impossible::Length(beyond) => {
            scope.try_acquire_zeroed::<T, _>(usize::MAX - beyond).map(drop)
        }
        Impossible::Product => scope.try_acquire_zeroed::<T, _>([huge, 3]).map(drop),
        Impossible::ProductBesideZero => T::recycle_nd(scope, [usize::MAX, 2, 0]).map(drop),
        Impossible::DynamicProductBesideZero => {
            T::recycle_nd(scope, &[0, huge, huge][..]).map(drop)
        }
    }
}

pub(super) fn flat<'s, P: BackendProbe, T: Sample>(
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

fn shaped<'s, P: BackendProbe, T: Sample, S: Shape>(
    scope: &Scope<'s, P::Backend>,
    fill: Fill,
    shape: S,
    seed: u64,
    panics: bool,
) -> AcquireResult<'s, P::Backend, T, S> {
    if panics {
        return Ok(match fill {
            Fill::Recycled => T::recycle_nd_or_panic(scope, shape),
            Fill::Zeroed => scope.acquire_zeroed(shape),
            Fill::Filled => scope.acquire_filled(shape, T::sample(seed, 0)),
            Fill::Copied => panic!("a copy gets its axes afterwards"),
        });
    }
    match fill {
        Fill::Recycled => T::recycle_nd(scope, shape),
        Fill::Zeroed => scope.try_acquire_zeroed(shape),
        Fill::Filled => scope.try_acquire_filled(shape, T::sample(seed, 0)),
        Fill::Copied => panic!("a copy gets its axes afterwards"),
    }
}

/// Acquires an array whose rank equals the length of `dims`. The rank must be at most 6.
pub(super) fn of_fixed_rank<'s, P: BackendProbe, T: Sample>(
    scope: &Scope<'s, P::Backend>,
    fill: Fill,
    dims: &[usize],
    seed: u64,
    panics: bool,
) -> AcquireResult<'s, P::Backend, T> {
    macro_rules! of_rank {
        ($shape:expr, $lengths:expr) => {{
            let array = if fill == Fill::Copied {
                let copy = flat::<P, T>(scope, fill, dims.iter().product(), seed, panics)?;
                copy.try_reshape($lengths)?
            } else {
                shaped::<P, T, _>(scope, fill, $shape, seed, panics)?
            };
            assert_eq!(array.shape(), dims, "an array of another shape than asked for");
            Ok(array.into_view())
        }};
    }
    match *dims {
        [a] => of_rank!([a], [a]),
        [a, b] => of_rank!((a, b), [a, b]),
        [a, b, c] => of_rank!([a, b, c], [a, b, c]),
        [a, b, c, d] => of_rank!([a, b, c, d], [a, b, c, d]),
        [a, b, c, d, e] => of_rank!((a, b, c, d, e), [a, b, c, d, e]),
        [a, b, c, d, e, f] => of_rank!([a, b, c, d, e, f], [a, b, c, d, e, f]),
        _ => panic!("no fixed rank: {dims:?}"),
    }
}

pub(super) fn of_dynamic_rank<'s, P: BackendProbe, T: Sample>(
    scope: &Scope<'s, P::Backend>,
    fill: Fill,
    dims: &[usize],
    seed: u64,
    panics: bool,
) -> Result<ViewAndShape<'s, P, T>, Failure<P>> {
    let array = shaped::<P, T, &[usize]>(scope, fill, dims, seed, panics)?;
    assert_eq!(array.shape(), dims, "an array of another shape than asked for");
    Ok(array.into_parts())
}
