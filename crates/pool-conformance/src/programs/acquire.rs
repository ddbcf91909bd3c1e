//! A single acquire in a random program. Together, the acquires in this module cover all acquire
//! methods. For each acquire, the module checks either the guaranteed contents or the returned
//! error.

use std::cell::{Cell, RefCell};

use pool_core::bytemuck::cast_slice;
use pool_core::{
    LendView, PoolBackend, PoolError, PoolView, PoolViewMut, ReleaseReport, Scope, ShapeError,
    error_chain,
};

use super::contents::Remains;
use super::family::{ViewAndShape, ask_for, flat, of_dynamic_rank, of_fixed_rank};
use super::frame::{Frame, LiveView};
use super::machine::{Machine, Outcome};
use super::program::{Acquire, Fill, Form, Impossible};
use crate::element::{Sample, are_equal, samples, with_kind};
use crate::ledger::BlockCounts;
use crate::panics::panic_as_planned;
use crate::probe::{BackendProbe, Failure, View, ViewRef, Watching};

/// The length of a copy whose requested shape has a different number of elements.
pub(super) const MISSHAPEN_LENGTH: usize = 3;

/// The contents that a view must have when it is handed out.
#[derive(Clone, Copy, PartialEq)]
enum Content {
    Unspecified,
    Zeroed,
    /// All elements equal the first element of the contents generated from this seed.
    Filled(u64),
    Samples(u64),
}

impl Content {
    fn of(fill: Fill, seed: u64) -> Self {
        match fill {
            Fill::Recycled => Self::Unspecified,
            Fill::Zeroed => Self::Zeroed,
            Fill::Filled => Self::Filled(seed),
            Fill::Copied => Self::Samples(seed),
        }
    }

    fn allows<T: Sample>(self, found: &[T]) -> bool {
        match self {
            Self::Unspecified => true,
            Self::Zeroed => are_equal(found, &vec![T::zeroed(); found.len()]),
            Self::Filled(seed) => are_equal(found, &vec![T::sample(seed, 0); found.len()]),
            Self::Samples(seed) => are_equal(found, &samples(seed, found.len())),
        }
    }
}

impl<P: BackendProbe> Machine<'_, P> {
    /// Acquires arrays in a scope and stores their views in the frame.
    pub(super) fn acquire<'s>(
        &mut self,
        scope: &Scope<'s, P::Backend>,
        frame: &mut Frame<'_, 's, P>,
        acquire: &Acquire,
    ) {
        with_kind!(acquire.kind, Element => self.acquire_of::<Element>(scope, frame, acquire));
        self.check_scope(scope);
    }

    fn acquire_of<'s, T: Sample>(
        &mut self,
        scope: &Scope<'s, P::Backend>,
        frame: &mut Frame<'_, 's, P>,
        Acquire { form, panics, .. }: &Acquire,
    ) {
        let seed = self.model.new_seed();
        match form {
            &Form::Flat(fill, length) => {
                let view = self.take(scope, || flat::<P, T>(scope, fill, length, seed, *panics));
                self.keep(frame, view, length, Content::of(fill, seed));
            }
            Form::Like => {
                let length = frame.views.last().map_or(1, |view| view.length());
                let view = self.take(scope, || T::recycle(scope, length));
                self.keep(frame, view, length, Content::of(Fill::Recycled, seed));
            }
            &Form::With { length, reenter_at, panic_at } => {
                self.acquire_with::<T>(scope, frame, length, reenter_at, panic_at);
            }
            Form::Shaped(fill, dims) => {
                let view =
                    self.take(scope, || of_fixed_rank::<P, T>(scope, *fill, dims, seed, *panics));
                let length = dims.iter().product();
                self.keep(frame, view, length, Content::of(*fill, seed));
            }
            Form::Dynamic(fill, dims) => {
                let call = || of_dynamic_rank::<P, T>(scope, *fill, dims, seed, *panics);
                let lent = self.take(scope, call);
                self.keep_lent(frame, lent, dims, Content::of(*fill, seed));
            }
            &Form::Split(rows, columns, at) => {
                self.acquire_split::<T>(scope, frame, [rows, columns], at % (rows + 1));
            }
            Form::Misshapen => self.acquire_misshapen::<T>(scope, frame, seed),
            &Form::Impossible(impossible) => self.acquire_impossible::<T>(scope, impossible),
        }
    }

    /// Calls an acquire method. Returns `None` if the acquire failed for an expected reason.
    fn take<V>(
        &mut self,
        scope: &Scope<'_, P::Backend>,
        call: impl FnOnce() -> Result<V, Failure<P>>,
    ) -> Option<V> {
        let before = self.probe.held();
        match Self::call(call) {
            Outcome::Done(value) => {
                self.took(1);
                Some(value)
            }
            Outcome::Refused(error) => {
                self.refused(scope, &error, before);
                None
            }
            Outcome::Panicked(payload) => self.unwind(payload, before),
        }
    }

    pub(super) fn refused(
        &mut self,
        scope: &Scope<'_, P::Backend>,
        error: &Failure<P>,
        before: Option<BlockCounts>,
    ) {
        self.check_error(error, &scope.stats(), before);
        self.check_nothing_idle();
        assert_eq!(scope.trim(), ReleaseReport::default(), "refused with idle blocks left");
    }

    /// Checks a view that was just handed out and updates the model. Writes new contents to the
    /// view and stores the view.
    fn keep<'s, T: Sample>(
        &mut self,
        frame: &mut Frame<'_, 's, P>,
        view: Option<View<'s, P, T>>,
        length: usize,
        content: Content,
    ) {
        let Some(view) = view else { return };
        assert_eq!(view.len(), length, "a view of another length than asked for");
        let slot = self.model.account().active - 1;
        self.admit(slot, &view, content);
        let seed = self.model.new_seed();
        frame.views.push(Box::new(LiveView::<P, T>::new(self.probe, view, None, seed)));
    }

    /// Does the same as [`keep`](Self::keep) for a view whose shape is borrowed from the shape
    /// cache.
    fn keep_lent<'s, T: Sample>(
        &mut self,
        frame: &mut Frame<'_, 's, P>,
        lent: Option<ViewAndShape<'s, P, T>>,
        dims: &[usize],
        content: Content,
    ) {
        let Some((view, shape)) = lent else { return };
        self.model.account().shaped += 1;
        let slot = self.model.account().active - 1;
        self.admit(slot, &view, content);
        let seed = self.model.new_seed();
        let shape = Some((shape, dims.to_vec()));
        frame.views.push(Box::new(LiveView::<P, T>::new(self.probe, view, shape, seed)));
    }

    /// Checks the address and contents of a view that was just handed out and updates the model.
    fn admit<T: Sample>(&mut self, slot: usize, view: &View<'_, P, T>, content: Content) {
        let (start, bytes) = (self.probe.address(view), view.len() * size_of::<T>());
        let aligned = if bytes == 0 { align_of::<T>() } else { P::Backend::ALIGN };
        assert_eq!(start % aligned, 0, "a view that is not aligned");
        self.model.hand_out(self.probe, slot, start, bytes);
        if content == Content::Unspecified && T::RECYCLES {
            let remains = self.model.read(self.probe, start, bytes);
            return self.check_recycled::<T>(&remains, 0, &view.as_view());
        }
        self.model.write(self.probe, start, bytes);
        self.checks.compare::<T>(&view.as_view(), move |found| {
            assert!(
                content.allows(&found),
                "a view was handed out with the wrong content: {found:?}"
            );
        });
    }

    /// Checks a view with recycled contents that begins at `offset` in a block. `remains` contains
    /// the block's earlier contents. If the pool poisons memory, the view must contain poison. If
    /// the pool does not poison memory, all bytes that an earlier use has left in a marked slot
    /// must read as zero.
    pub(super) fn check_recycled<T: Sample>(
        &mut self,
        remains: &Remains,
        offset: usize,
        view: &ViewRef<'_, P, T>,
    ) {
        let had_marks = remains.has_zeros(offset + view.len() * size_of::<T>());
        if self.model.account().setting.poison {
            self.tally.host.poisoned_reads += u64::from(had_marks);
            return self.checks.compare::<T>(view, |found| {
                let bytes = cast_slice::<T, u8>(&found);
                assert!(bytes == vec![0xFF; bytes.len()], "a view that is not poisoned");
            });
        }
        self.tally.host.zeroed_reads += u64::from(had_marks);
        let remains = remains.clone();
        self.checks.compare::<T>(view, move |found| {
            let bytes = cast_slice::<T, u8>(&found);
            assert!(remains.allow(offset, bytes), "bytes of a marked use are left: {found:?}");
            // The bytes may have any value, but all of them must be initialized. Miri checks that
            // every compared byte is initialized.
            assert!(bytes == bytes.to_vec());
        });
    }

    /// Acquires elements created by a closure. The closure may panic or acquire memory in the same
    /// scope.
    fn acquire_with<'s, T: Sample>(
        &mut self,
        scope: &Scope<'s, P::Backend>,
        frame: &mut Frame<'_, 's, P>,
        length: usize,
        reenter_at: Option<usize>,
        panic_at: Option<usize>,
    ) {
        let seed = self.model.new_seed();
        let entered = Cell::new(false);
        let reentered = RefCell::new(Vec::new());
        let element = |index: usize| {
            entered.set(true);
            if panic_at == Some(index) {
                panic_as_planned();
            }
            if reenter_at.is_some_and(|at| index % (at + 1) == 0) {
                reentered.borrow_mut().extend(scope.try_acquire_filled(2, T::sample(seed, 0)));
            }
            T::sample(seed, index)
        };
        let before = self.probe.held();
        let outcome = Self::call(|| self.probe.acquire_with(scope, length, element));
        let (entered, reentered) = (entered.get(), reentered.into_inner());
        match outcome {
            Outcome::Done(view) => {
                let slot = self.model.account().active;
                self.took(1 + reentered.len());
                self.check_scope(scope);
                self.admit(slot, &view, Content::Samples(seed));
                let own = self.model.new_seed();
                frame.views.push(Box::new(LiveView::<P, T>::new(self.probe, view, None, own)));
                self.admit_reentered(frame, slot + 1, reentered, seed);
            }
            Outcome::Refused(error) => self.refused(scope, &error, before),
            Outcome::Panicked(payload) => {
                // The slot was handed out before the first element was created.
                self.took(usize::from(entered) + reentered.len());
                self.model.contents.lose_track();
                self.check_scope(scope);
                self.unwind(payload, before)
            }
        }
    }

    /// Updates the model for views that were acquired by the code that creates elements. The views
    /// use slot `first` and subsequent slots. All elements of the views equal the first element of
    /// the contents generated from `seed`.
    pub(super) fn admit_reentered<'s, T: Sample>(
        &mut self,
        frame: &mut Frame<'_, 's, P>,
        first: usize,
        reentered: Vec<View<'s, P, T>>,
        seed: u64,
    ) {
        for (index, view) in reentered.into_iter().enumerate() {
            self.admit(first + index, &view, Content::Filled(seed));
            let own = self.model.new_seed();
            frame.views.push(Box::new(LiveView::<P, T>::new(self.probe, view, None, own)));
        }
    }

    /// Acquires a matrix and splits it at a row so that two views share one slot.
    fn acquire_split<'s, T: Sample>(
        &mut self,
        scope: &Scope<'s, P::Backend>,
        frame: &mut Frame<'_, 's, P>,
        [rows, columns]: [usize; 2],
        at: usize,
    ) {
        let Some(matrix) = self.take(scope, || T::recycle_nd(scope, [rows, columns])) else {
            return;
        };
        let slot = self.model.account().active - 1;
        let (upper, lower) = matrix.split_at(at);
        assert_eq!((upper.shape(), lower.shape()), (&[at, columns][..], &[rows - at, columns][..]));
        let (upper, lower) = (upper.into_view(), lower.into_view());
        let (start, bytes) = (self.probe.address(&upper), rows * columns * size_of::<T>());
        if T::RECYCLES {
            let remains = self.model.read(self.probe, start, bytes);
            self.check_recycled::<T>(&remains, 0, &upper.as_view());
            let offset = upper.len() * size_of::<T>();
            self.check_recycled::<T>(&remains, offset, &lower.as_view());
        } else {
            self.model.write(self.probe, start, bytes);
        }
        for part in [upper, lower] {
            let start = self.probe.address(&part);
            self.model.hand_out(self.probe, slot, start, part.len() * size_of::<T>());
            let seed = self.model.new_seed();
            frame.views.push(Box::new(LiveView::<P, T>::new(self.probe, part, None, seed)));
        }
    }

    /// Acquires a copy and tries to give it a shape with a different number of elements. Checks the
    /// error and verifies that the copy retains its slot and contents.
    fn acquire_misshapen<'s, T: Sample>(
        &mut self,
        scope: &Scope<'s, P::Backend>,
        frame: &mut Frame<'_, 's, P>,
        seed: u64,
    ) {
        let copy = || flat::<P, T>(scope, Fill::Copied, MISSHAPEN_LENGTH, seed, false);
        let Some(mut view) = self.take(scope, copy) else { return };
        let refused = view.reborrow().try_reshape([2, 1]).map(drop);
        let error = ShapeError::LengthMismatch { asked: 2, length: MISSHAPEN_LENGTH };
        assert_eq!(refused, Err(error), "a shape of another length than its elements");
        let source = samples::<T>(seed, MISSHAPEN_LENGTH - 1);
        let copied = view.copy_from_host(&source);
        assert!(copied.is_err(), "a copy from a source of another length was done");
        self.keep(frame, Some(view), MISSHAPEN_LENGTH, Content::Samples(seed));
    }

    /// Makes a request that no pool can fulfill. Checks the error and verifies that the request
    /// consumed no slot.
    fn acquire_impossible<T: Sample>(
        &mut self,
        scope: &Scope<'_, P::Backend>,
        impossible: Impossible,
    ) {
        let before = self.probe.held();
        let outcome = Self::call(|| ask_for::<P, T>(scope, impossible));
        let error = match outcome {
            // An array may contain any number of zero-sized elements, but the product of the
            // shape's dimensions must not overflow.
            Outcome::Done(())
                if size_of::<T>() == 0 && matches!(impossible, Impossible::Length(_)) =>
            {
                self.took(1);
                return;
            }
            Outcome::Done(()) => panic!("{impossible:?} was given"),
            Outcome::Refused(error) => error,
            Outcome::Panicked(payload) => self.unwind(payload, before),
        };
        match (impossible, error) {
            (Impossible::Length(_), PoolError::SizeOverflow { .. }) => {}
            (
                Impossible::Product
                | Impossible::ProductBesideZero
                | Impossible::DynamicProductBesideZero,
                PoolError::Shape(ShapeError::Overflow { .. }),
            ) => {}
            (_, error) => panic!("{impossible:?} got the wrong error: {}", error_chain(&error)),
        }
    }
}
