//! A dynamic program's acquires. The pool returns a handle for each acquired array. The module also
//! borrows pairs of arrays, and tries to use handles that another pool created.

use std::cell::Cell;

use pool_core::{DynamicPool, Handle, LendView, PoolError, PoolView, ReleaseReport, error_chain};

use super::acquire::MISSHAPEN_LENGTH;
use super::dynamic::Subject;
use super::entry::Entry;
use super::machine::{Machine, Outcome};
use super::program::{Fill, Form};
use crate::element::{Kind, Sample, samples, with_kind};
use crate::panics::panic_as_planned;
use crate::probe::{BackendProbe, Failure, Watching};

impl<P: BackendProbe> Machine<'_, P> {
    /// Acquires an array from a dynamic pool. An array with a shape is acquired as a slice whose
    /// length is the product of the shape's dimensions.
    pub(super) fn name(&mut self, subject: &mut Subject<P>, kind: Kind, form: &Form) {
        with_kind!(kind, Array => match form {
            &Form::Flat(fill, length) => self.name_flat::<Array>(subject, kind, fill, length),
            Form::Like => self.name_like::<Array>(subject, kind),
            &Form::With { length, panic_at, .. } => {
                self.name_with::<Array>(subject, kind, length, panic_at);
            }
            Form::Shaped(fill, dims) | Form::Dynamic(fill, dims) => {
                self.name_flat::<Array>(subject, kind, *fill, dims.iter().product());
            }
            &Form::Split(rows, columns, _) => {
                self.name_flat::<Array>(subject, kind, Fill::Recycled, rows * columns);
            }
            Form::Misshapen => {
                self.name_flat::<Array>(subject, kind, Fill::Copied, MISSHAPEN_LENGTH);
            }
            Form::Impossible(_) => self.name_impossible::<Array>(subject),
        });
    }

    fn name_flat<T: Sample>(
        &mut self,
        subject: &mut Subject<P>,
        kind: Kind,
        fill: Fill,
        length: usize,
    ) {
        let seed = self.model.new_seed();
        let named = self.take_named(subject, |pool| match fill {
            Fill::Recycled => T::recycle_named(pool, length),
            Fill::Zeroed => pool.try_acquire_zeroed(length),
            Fill::Filled => pool.try_acquire_filled(length, T::sample(seed, 0)),
            Fill::Copied => pool.try_acquire_from(&samples(seed, length)),
        });
        let Some(handle) = named else { return };
        let expected: Option<Vec<T>> = match fill {
            Fill::Recycled => None,
            Fill::Zeroed => Some(vec![T::zeroed(); length]),
            Fill::Filled => Some(vec![T::sample(seed, 0); length]),
            Fill::Copied => Some(samples(seed, length)),
        };
        self.note(subject, kind, handle, length, expected);
    }

    fn name_like<T: Sample>(&mut self, subject: &mut Subject<P>, kind: Kind) {
        let length = subject.entries.last().map_or(1, |entry| entry.length);
        if T::RECYCLES {
            self.name_flat::<T>(subject, kind, Fill::Recycled, length);
        } else {
            self.name_flat::<T>(subject, kind, Fill::Copied, length);
        }
    }

    fn name_with<T: Sample>(
        &mut self,
        subject: &mut Subject<P>,
        kind: Kind,
        length: usize,
        panic_at: Option<usize>,
    ) {
        let seed = self.model.new_seed();
        let entered = Cell::new(false);
        let element = |index| {
            entered.set(true);
            if panic_at == Some(index) {
                panic_as_planned();
            }
            T::sample(seed, index)
        };
        let before = self.probe.held();
        let probe = self.probe;
        match Self::call(|| probe.acquire_named_with(&mut subject.pool, length, element)) {
            Outcome::Done(handle) => {
                self.took(1);
                self.note(subject, kind, handle, length, Some(samples(seed, length)));
            }
            Outcome::Refused(error) => self.refused_name(subject, &error, before),
            Outcome::Panicked(payload) => {
                // The slot was handed out before the first element was created, but no handle
                // refers to it.
                self.took(usize::from(entered.get()));
                self.model.contents.lose_track();
                self.unwind(payload, before)
            }
        }
    }

    fn name_impossible<T: Sample>(&mut self, subject: &mut Subject<P>) {
        match subject.pool.try_acquire_zeroed::<T>(usize::MAX - 7) {
            Err(PoolError::SizeOverflow { elements, .. }) => {
                assert_eq!(elements, usize::MAX - 7, "numbers of the error");
            }
            Err(other) => panic!("too much got another error: {other}"),
            Ok(_) if size_of::<T>() == 0 => self.took(1),
            Ok(_) => panic!("too much was given"),
        }
    }

    /// Calls an acquire method. Returns `None` if the acquire failed for an expected reason.
    fn take_named<T>(
        &mut self,
        subject: &mut Subject<P>,
        call: impl FnOnce(&mut DynamicPool<P::Backend>) -> Result<Handle<T>, Failure<P>>,
    ) -> Option<Handle<T>> {
        let before = self.probe.held();
        match Self::call(|| call(&mut subject.pool)) {
            Outcome::Done(handle) => {
                self.took(1);
                Some(handle)
            }
            Outcome::Refused(error) => {
                self.refused_name(subject, &error, before);
                None
            }
            Outcome::Panicked(payload) => self.unwind(payload, before),
        }
    }

    fn refused_name(
        &mut self,
        subject: &mut Subject<P>,
        error: &Failure<P>,
        before: Option<crate::ledger::BlockCounts>,
    ) {
        self.check_error(error, &subject.pool.stats(), before);
        self.check_nothing_idle();
        assert_eq!(subject.pool.trim(), ReleaseReport::default(), "refused with idle blocks left");
    }

    /// Checks an array whose handle was just created, updates the model, and writes new contents to
    /// the array.
    fn note<T: Sample>(
        &mut self,
        subject: &mut Subject<P>,
        kind: Kind,
        handle: Handle<T>,
        length: usize,
        expected: Option<Vec<T>>,
    ) {
        let slot = subject.pool.active_slots() - 1;
        let seed = self.model.new_seed();
        let mut view = subject.pool.get_mut(handle).expect("a new handle is live");
        assert_eq!(view.len(), length, "an array of another length than asked for");
        let (start, bytes) = (self.probe.address(&view), length * size_of::<T>());
        self.model.hand_out(self.probe, slot, start, bytes);
        match expected {
            None if T::RECYCLES => {
                let remains = self.model.read(self.probe, start, bytes);
                self.check_recycled::<T>(&remains, 0, &view.as_view());
            }
            _ => self.model.write(self.probe, start, bytes),
        }
        if let Some(expected) = expected {
            self.checks.compare::<T>(&view.as_view(), move |found| {
                assert_eq!(found, expected, "an array of the wrong content");
            });
        }
        self.probe.write(&mut view, &samples(seed, length));
        subject.entries.push(Entry::new(kind, handle, slot, (start, length), seed));
    }

    /// Borrows two arrays of the same element type at the same time. If the arrays are live and
    /// distinct, the method writes to both. If either array is stale, or if both handles refer to
    /// the same array, the method checks the error.
    pub(super) fn rewrite_pair(&mut self, subject: &mut Subject<P>, first: usize, second: usize) {
        if subject.entries.is_empty() {
            return;
        }
        let first = first % subject.entries.len();
        let kind = subject.entries[first].kind;
        let same = |index: &usize| subject.entries[*index].kind == kind;
        let alike: Vec<usize> = (0..subject.entries.len()).filter(same).collect();
        let second = alike[second % alike.len()];
        with_kind!(kind, Array => self.rewrite_both::<Array>(subject, [first, second]));
    }

    fn rewrite_both<T: Sample>(&mut self, subject: &mut Subject<P>, pair: [usize; 2]) {
        let active = self.model.account().active;
        let entries = pair.map(|index| &subject.entries[index]);
        let dead = entries.iter().find(|entry| !entry.live);
        match (subject.pool.get_disjoint_mut(entries.map(Entry::handle::<T>)), dead) {
            (Err(PoolError::RepeatedHandle { slot }), None) => {
                assert_eq!(pair[0], pair[1], "two different arrays were called the same");
                assert_eq!(slot, entries[0].slot, "the repeated slot");
            }
            (Err(error), Some(dead)) => dead.expect_stale(Some(error), active),
            (Err(error), None) => panic!("two live arrays were refused: {}", error_chain(&error)),
            (Ok(_), Some(_)) => panic!("a stale handle was accepted"),
            (Ok(mut views), None) => {
                assert_ne!(pair[0], pair[1], "one array was lent twice");
                for (view, index) in views.iter_mut().zip(pair) {
                    let seed = self.model.new_seed();
                    self.probe.write(view, &samples(seed, subject.entries[index].length));
                    subject.entries[index].seed = seed;
                }
            }
        }
    }

    /// Looks up a handle that another pool created. The handle's slot is live in both pools.
    pub(super) fn try_foreign<T: Sample>(&mut self, subject: &mut Subject<P>) {
        let mut other = DynamicPool::<P::Backend>::new(self.probe.context());
        // The array is empty and needs no block, so the backend's counts still match those of the
        // pool in use.
        let handle = other.acquire_zeroed::<T>(0);
        match subject.pool.get(handle) {
            Err(PoolError::ForeignHandle { pool, made_by }) => assert_ne!(pool, made_by),
            Err(error) => panic!("a foreign handle got another error: {}", error_chain(&error)),
            Ok(_) => panic!("a foreign handle was accepted"),
        }
        assert!(subject.pool.get_mut(handle).is_err(), "a foreign handle was accepted for writing");
    }
}
