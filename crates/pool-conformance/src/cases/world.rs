//! The environment of a test case, which contains a probe and generates distinct contents for each
//! view. The environment also records whether a test is making allocations fail. If allocations
//! fail, a pool frees its idle blocks and might allocate memory more often than usual.

use std::cell::Cell;
use std::fmt::Debug;

use pool_core::{DynamicPool, LendView, Pool, PoolView};

use crate::element::{Sample, are_equal, samples};
use crate::probe::{BackendProbe, Later, SkipReason, View, Watching};

/// The environment in which one test case runs.
#[derive(Debug)]
pub(super) struct World<'p, P> {
    pub(super) probe: &'p P,
    refused_before: usize,
    /// `true` if allocations were already being refused at the start of the test case.
    is_swept: bool,
    declined: Cell<Option<SkipReason>>,
}

impl<'p, P: BackendProbe> World<'p, P> {
    pub(super) fn new(probe: &'p P) -> Self {
        Self {
            probe,
            refused_before: refused(probe),
            is_swept: probe.is_refusing(),
            declined: Cell::new(None),
        }
    }

    /// Returns `true` if a sweep is making allocations fail. A sweep runs each test case many times
    /// and decides which allocations are refused.
    pub(super) fn is_swept(&self) -> bool {
        self.is_swept
    }

    /// Returns the value if the probe provides one. Otherwise, returns `None` and counts the test
    /// case as skipped.
    pub(super) fn offered<T>(&self, offer: Result<T, SkipReason>) -> Option<T> {
        offer.map_err(|why| self.declined.set(Some(why))).ok()
    }

    /// Returns the reason that the test case could not be completed.
    pub(super) fn declined(&self) -> Option<SkipReason> {
        self.declined.get()
    }

    /// Returns `true` if no allocation has been refused since the start of the test case. After a
    /// refused allocation, a pool might allocate again even if the same acquires are repeated.
    pub(super) fn is_undisturbed(&self) -> bool {
        refused(self.probe) == self.refused_before
    }

    /// Checks that two values are equal, unless an allocation was refused.
    #[track_caller]
    pub(super) fn assert_economy<T: Copy + PartialEq + Debug>(
        &self,
        left: T,
        right: T,
        what: &str,
    ) {
        if self.is_undisturbed() {
            assert_eq!(left, right, "{what}");
        }
    }

    /// Checks the number of active slots, if the pool's layout uses slots.
    #[track_caller]
    pub(super) fn assert_active(&self, found: usize, right: usize, what: &str) {
        let _ = self;
        if P::HAS_SLOTS {
            assert_eq!(found, right, "{what}");
        }
    }

    /// Fills a view with the contents generated from `seed`.
    pub(super) fn write<T: Sample>(&self, view: &mut View<'_, P, T>, seed: u64) {
        let content = samples(seed, view.len());
        self.probe.write(view, &content);
    }

    /// Checks that a view contains the contents generated from `seed`.
    #[track_caller]
    pub(super) fn assert_holds<T: Sample>(&self, view: &View<'_, P, T>, seed: u64) {
        let (found, right) = (self.probe.read(view), samples::<T>(seed, view.len()));
        assert!(are_equal(&found, &right), "found {found:?}, expected {right:?}");
    }

    /// Enqueues work that fills a view with the contents generated from `seed`.
    pub(super) fn write_later<T: Sample>(&self, view: &mut View<'_, P, T>, seed: u64) {
        self.probe.write_later(view, &samples(seed, view.len()));
    }

    /// Enqueues work that reads a view. The returned function waits for the work and returns the
    /// elements.
    pub(super) fn read_later<T: Sample>(&self, view: &View<'_, P, T>) -> Later<'p, T> {
        self.probe.read_later::<T>(&view.as_view())
    }

    /// Checks that two views do not overlap.
    #[track_caller]
    pub(super) fn assert_apart<T: Sample, U: Sample>(
        &self,
        first: &View<'_, P, T>,
        second: &View<'_, P, U>,
    ) {
        let (start, other) = (self.probe.address(first), self.probe.address(second));
        let (end, other_end) =
            (start + first.len() * size_of::<T>(), other + second.len() * size_of::<U>());
        assert!(end <= other || other_end <= start, "two live views overlap");
    }

    /// Checks that no slot is active after a test case and that acquires still work.
    pub(super) fn check_usable(&self, pool: &mut Pool<P::Backend>) {
        assert_eq!(pool.stats().active_slots, 0);
        let scope = pool.scope();
        let mut first = scope.acquire::<f64, _>(33);
        let mut second = scope.acquire_zeroed::<u8, _>(5);
        self.write(&mut first, 1);
        assert_eq!(self.probe.read(&second), [0; 5]);
        self.write(&mut second, 2);
        self.assert_apart::<f64, u8>(&first, &second);
        self.assert_holds(&first, 1);
        self.assert_holds(&second, 2);
    }

    /// Checks that `acquire`, `rewind`, and `reset` still work on a dynamic pool after a test case.
    pub(super) fn check_dynamic_usable(&self, pool: &mut DynamicPool<P::Backend>) {
        let depth = pool.checkpoint();
        let handle = pool.acquire_zeroed::<f64>(33);
        self.write(&mut pool.get_mut(handle).expect("a live handle"), 1);
        assert_eq!(
            self.probe.read_shared(&pool.get(handle).expect("a live handle")),
            samples::<f64>(1, 33)
        );
        pool.rewind_to(depth).expect("a depth that there is");
        assert!(pool.get(handle).is_err());
        pool.reset();
        assert_eq!((pool.active_slots(), pool.depth()), (0, 0));
    }
}

fn refused<P: BackendProbe>(probe: &P) -> usize {
    probe.held().map_or(0, |held| held.refused)
}
