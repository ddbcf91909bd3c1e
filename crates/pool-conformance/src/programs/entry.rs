//! The model's record of a dynamic pool's arrays. The record determines what each handle must
//! return, both with the pool and with either half returned by `split`.

use std::any::Any;

use pool_core::{DynamicPool, Element, Handle, Handles, PoolBackend, PoolError, PoolView};

use super::checks::Checks;
use super::frame::Views;
use crate::element::{Kind, Sample, are_equal, samples, with_kind};
use crate::probe::BackendProbe;

/// A pool, or a part of a pool, that can look up handles.
pub(super) trait Lookup<B: PoolBackend> {
    fn get<T: Element>(&self, handle: Handle<T>) -> Result<B::ViewRef<'_, T>, PoolError<B::Error>>;

    fn get_mut<T: Element>(
        &mut self,
        handle: Handle<T>,
    ) -> Result<B::View<'_, T>, PoolError<B::Error>>;
}

impl<B: PoolBackend> Lookup<B> for DynamicPool<B> {
    fn get<T: Element>(&self, handle: Handle<T>) -> Result<B::ViewRef<'_, T>, PoolError<B::Error>> {
        self.get(handle)
    }

    fn get_mut<T: Element>(
        &mut self,
        handle: Handle<T>,
    ) -> Result<B::View<'_, T>, PoolError<B::Error>> {
        self.get_mut(handle)
    }
}

impl<B: PoolBackend> Lookup<B> for Handles<'_, B> {
    fn get<T: Element>(&self, handle: Handle<T>) -> Result<B::ViewRef<'_, T>, PoolError<B::Error>> {
        self.get(handle)
    }

    fn get_mut<T: Element>(
        &mut self,
        handle: Handle<T>,
    ) -> Result<B::View<'_, T>, PoolError<B::Error>> {
        self.get_mut(handle)
    }
}

/// An array to which a handle refers. The array may be live or stale.
pub(super) struct Entry {
    pub(super) kind: Kind,
    /// The handle. The handle's type is `Handle<T>`, and `kind` names the element type `T`.
    handle: Box<dyn Any>,
    pub(super) slot: usize,
    pub(super) length: usize,
    start: usize,
    pub(super) seed: u64,
    pub(super) live: bool,
}

impl Entry {
    /// Creates a live array's entry.
    pub(super) fn new<T: Sample>(
        kind: Kind,
        handle: Handle<T>,
        slot: usize,
        (start, length): (usize, usize),
        seed: u64,
    ) -> Self {
        Self { kind, handle: Box::new(handle), slot, length, start, seed, live: true }
    }

    /// Returns the array's handle. The element type of the array must be `T`.
    pub(super) fn handle<T: Sample>(&self) -> Handle<T> {
        *self.handle.downcast_ref().expect("a handle of the kind's type")
    }

    /// Looks up the array and compares the result with the model.
    pub(super) fn verify<P: BackendProbe>(
        &self,
        checks: &Checks<'_, P>,
        lookup: &impl Lookup<P::Backend>,
        active: usize,
    ) {
        with_kind!(self.kind, Array => {
            let answer = lookup.get(self.handle::<Array>());
            if !self.live {
                self.expect_stale(answer.err(), active);
                return;
            }
            let view = answer.unwrap_or_else(|error| panic!("a live handle is refused: {error:?}"));
            assert_eq!(view.len(), self.length, "an array changed its length");
            assert_eq!(checks.probe().shared_address(&view), self.start, "an array moved");
            let (seed, length) = (self.seed, self.length);
            checks.compare::<Array>(&view, move |content| {
                let right = samples::<Array>(seed, length);
                assert!(are_equal(&content, &right), "an array changed: {content:?}");
            });
        });
    }

    /// Looks up the array for writing and writes new contents to it if it is live.
    pub(super) fn rewrite<P: BackendProbe>(
        &mut self,
        probe: &P,
        lookup: &mut impl Lookup<P::Backend>,
        active: usize,
        seed: u64,
    ) {
        with_kind!(self.kind, Array => {
            let answer = lookup.get_mut(self.handle::<Array>());
            if !self.live {
                self.expect_stale(answer.err(), active);
                return;
            }
            let mut view = answer.unwrap_or_else(|error| panic!("a live handle is refused: {error:?}"));
            assert_eq!(probe.address(&view), self.start, "an array moved");
            self.seed = seed;
            probe.write(&mut view, &samples(seed, self.length));
        });
    }

    /// Checks that the pool refuses a stale array's handle.
    pub(super) fn expect_stale<E: std::error::Error>(
        &self,
        error: Option<PoolError<E>>,
        active: usize,
    ) {
        match error {
            Some(PoolError::StaleHandle { slot, active: reported }) => {
                assert_eq!((slot, reported), (self.slot, active), "numbers of a stale handle");
            }
            Some(other) => panic!("a stale handle got another error: {other}"),
            None => panic!("a stale handle was accepted"),
        }
    }
}

/// The arrays of a dynamic pool that lie below a split-off scope. The arrays can be looked up while
/// the scope is in use.
pub(super) struct ArraysBelowScope<'e, 'p, B: PoolBackend> {
    pub(super) handles: Handles<'p, B>,
    pub(super) entries: &'e mut [Entry],
    pub(super) active: usize,
}

impl<P: BackendProbe> Views<P> for ArraysBelowScope<'_, '_, P::Backend> {
    fn verify(&self, checks: &Checks<'_, P>) {
        for entry in self.entries.iter() {
            entry.verify(checks, &self.handles, self.active);
        }
    }

    fn count(&self) -> usize {
        self.entries.len()
    }

    fn rewrite(&mut self, probe: &P, index: usize, seed: u64) {
        if let Some(entry) = self.entries.get_mut(index) {
            entry.rewrite(probe, &mut self.handles, self.active, seed);
        }
    }
}
