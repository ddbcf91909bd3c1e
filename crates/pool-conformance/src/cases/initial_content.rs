//! The contents that an acquire can provide, that is, how a backend fills a block before it is
//! viewed.

use pool_core::{AcquireResult, Scope};

use crate::element::{Sample, samples};
use crate::probe::Probe;

/// The contents of a new view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum InitialContent {
    /// Zero bytes.
    Zeros,
    /// The same value in all elements.
    Value,
    /// A copy of host memory.
    Copy,
    /// Elements that host code returns one at a time. A host backend does nothing here, and a queue
    /// may have to be synchronized.
    EachByHost,
}

impl InitialContent {
    /// The contents that a backend itself writes to a block. A queue writes them without being
    /// synchronized.
    pub(super) const OF_BACKEND: [Self; 3] = [Self::Zeros, Self::Value, Self::Copy];

    /// All contents. Add new variants here as well.
    pub(super) const ALL: [Self; 4] = [Self::Zeros, Self::Value, Self::Copy, Self::EachByHost];

    /// Acquires elements with these contents. `seed` selects the value, or the elements to copy.
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

    /// Returns the elements that [`acquire`](Self::acquire) should have produced.
    pub(super) fn content<T: Sample>(self, length: usize, seed: u64) -> Vec<T> {
        match self {
            Self::Zeros => vec![T::zeroed(); length],
            Self::Value => vec![T::sample(seed, 0); length],
            Self::Copy | Self::EachByHost => samples(seed, length),
        }
    }
}
