//! Comparisons of views with their expected contents. A comparison is usually made immediately. If
//! reads must wait for a device, comparisons are postponed so that many of them can share one wait.

use std::cell::RefCell;

use pool_core::Element;

use crate::probe::{BackendProbe, ViewRef};

/// One program's deferred comparisons.
pub(super) struct Checks<'p, P: BackendProbe> {
    probe: &'p P,
    open: RefCell<Vec<Box<dyn FnOnce() + 'p>>>,
}

impl<'p, P: BackendProbe> Checks<'p, P> {
    /// Creates an empty list of comparisons.
    pub(super) fn new(probe: &'p P) -> Self {
        Self { probe, open: RefCell::default() }
    }

    /// Returns the probe that reads the views.
    pub(super) fn probe(&self) -> &'p P {
        self.probe
    }

    /// Calls `check` with the contents that the view had when `compare` was called.
    pub(super) fn compare<T: Element>(
        &self,
        view: &ViewRef<'_, P, T>,
        check: impl FnOnce(Vec<T>) + 'p,
    ) {
        let most = self.probe.open_reads();
        if most == 0 {
            return check(self.probe.read_shared::<T>(view));
        }
        let found = self.probe.read_later::<T>(view);
        let mut open = self.open.borrow_mut();
        open.push(Box::new(move || check(found())));
        let is_full = open.len() >= most;
        drop(open);
        if is_full {
            self.finish();
        }
    }

    /// Makes all deferred comparisons.
    pub(super) fn finish(&self) {
        self.open.take().into_iter().for_each(|check| check());
    }
}
