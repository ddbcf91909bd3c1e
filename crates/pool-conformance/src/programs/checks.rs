//! Comparisons of views with the contents that they should have. They are made at once; if a read
//! waits for a device, they are left open until many can be made after one wait.

use std::cell::RefCell;

use pool_core::Element;

use crate::probe::{Probe, SharedView};

/// The comparisons of one program.
pub(super) struct Checks<'p, P: Probe> {
    probe: &'p P,
    open: RefCell<Vec<Box<dyn FnOnce() + 'p>>>,
}

impl<'p, P: Probe> Checks<'p, P> {
    /// Creates an empty list of comparisons.
    pub(super) fn new(probe: &'p P) -> Self {
        Self { probe, open: RefCell::default() }
    }

    /// Returns the probe by which views are read.
    pub(super) fn probe(&self) -> &'p P {
        self.probe
    }

    /// Calls `check` with the view's present contents.
    pub(super) fn compare<T: Element>(
        &self,
        view: &SharedView<'_, P, T>,
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

    /// Makes the comparisons that are open.
    pub(super) fn finish(&self) {
        self.open.take().into_iter().for_each(|check| check());
    }
}
