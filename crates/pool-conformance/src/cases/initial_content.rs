//! The contents that an acquire can give: how a backend fills a block before it is viewed.

use pool_core::{AcquireResult, Scope};

use crate::element::{Sample, samples};
use crate::probe::Probe;

/// The content of a new view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum InitialContent {
    /// Zero bytes.
    Zeros,
    /// One value in all elements.
    Value,
    /// A copy of host memory.
    Copy,
    /// The elements that code of the host returns, one by one: a host backend has no part in it,
    /// and a queue may be waited for.
    EachByHost,
}

impl InitialContent {
    /// The contents that a backend itself puts into a block: on a queue, without waiting for it.
    pub(super) const OF_BACKEND: [Self; 3] = [Self::Zeros, Self::Value, Self::Copy];

    /// All contents: a new one belongs here, too.
    pub(super) const ALL: [Self; 4] = [Self::Zeros, Self::Value, Self::Copy, Self::EachByHost];

    /// Acquires elements with this content; `seed` selects the value, or the elements that are
    /// copied.
    pub(super) fn acquire<'s, P: Probe, T: Sample>(
        self,
        probe: &P,
        scope: &Scope<'s, P::Backend>,
        length: usize,
        seed: u64,
    ) -> AcquireResult<'s, P::Backend, T> {
        match self {
            Self::Zeros => scope.try_acquire_zeroed(length),
            Self::Value => scope.try_acquire_filled(length, T::sample(seed, 0)),
            Self::Copy => scope.try_acquire_from(&samples::<T>(seed, length)),
            Self::EachByHost => probe.acquire_with(scope, length, |index| T::sample(seed, index)),
        }
    }

    /// Returns the elements that [`acquire`](Self::acquire) should have given.
    pub(super) fn content<T: Sample>(self, length: usize, seed: u64) -> Vec<T> {
        match self {
            Self::Zeros => vec![T::zeroed(); length],
            Self::Value => vec![T::sample(seed, 0); length],
            Self::Copy | Self::EachByHost => samples(seed, length),
        }
    }
}
