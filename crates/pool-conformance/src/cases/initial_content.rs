//! The initial contents that a backend writes to an array's block before any view of the block
//! exists.

use pool_core::{AcquireResult, Scope};

use crate::element::{Sample, samples};
use crate::probe::BackendProbe;

/// A new view's initial contents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum InitialContent {
    /// Zero bytes.
    Zeros,
    /// Every element has the same given value.
    Value,
    /// The elements are copied from host memory.
    Copy,
    /// Host code creates the elements one at a time. A backend with a queue may have to synchronize
    /// that queue before host code can write elements. A host backend has no queue to wait for.
    EachByHost,
}

impl InitialContent {
    /// The contents that the backend itself writes to a block. A backend with a queue writes these
    /// contents without synchronizing the queue.
    pub(super) const OF_BACKEND: [Self; 3] = [Self::Zeros, Self::Value, Self::Copy];

    /// All kinds of contents. Add every new variant of the enum to this list as well.
    pub(super) const ALL: [Self; 4] = [Self::Zeros, Self::Value, Self::Copy, Self::EachByHost];

    /// Acquires elements with these contents. `seed` determines the fill value or the elements to
    /// copy.
    pub(super) fn acquire<'s, P: BackendProbe, T: Sample>(
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

    /// Returns the elements that [`acquire`](Self::acquire) should write.
    pub(super) fn content<T: Sample>(self, length: usize, seed: u64) -> Vec<T> {
        match self {
            Self::Zeros => vec![T::zeroed(); length],
            Self::Value => vec![T::sample(seed, 0); length],
            Self::Copy | Self::EachByHost => samples(seed, length),
        }
    }
}
