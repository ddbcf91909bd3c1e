//! One acquire in a random program, made with a method that only the scopes of host backends
//! provide.

use std::cell::{Cell, RefCell};

use pool_core::Scope;

use super::account::Account;
use super::contents::Contents;
use super::frame::{Frame, LiveSlice};
use super::machine::{Machine, Outcome};
use super::program::{Acquire, Fill, Form};
use crate::element::{Kind, Sample};
use crate::host::{Extent, HeldSlice, HostAcquire, HostForm, HostKind, Moment};
use crate::panics::{is_in_allocation, is_planned, panic_as_planned};
use crate::probe::{BackendProbe, View, Watching};

/// A record of the bytes that have been written to a vector.
struct Written {
    /// The number of the vector's block and the vector's offset in that block.
    place: (usize, usize),
    asked: usize,
    written: usize,
}

/// The events of an acquire, recorded so that the model can be updated afterward.
#[derive(Default)]
pub(super) struct Happenings {
    /// `true` if any code that creates elements was called.
    pub(super) entered: Cell<bool>,
    /// The writes performed by all vectors. Each entry contains a vector's position, the number of
    /// bytes that the vector requested, and the number of bytes that it wrote.
    written: RefCell<Vec<Written>>,
    /// The number of slots that were reserved but not handed out, for each move of a vector.
    moves: RefCell<Vec<usize>>,
}

impl Happenings {
    /// Records an event. By the time the event occurs, the acquire's own slot has been handed out,
    /// along with `reentered` other slots.
    pub(super) fn note<P: BackendProbe>(
        &self,
        probe: &P,
        asked: &HostAcquire,
        moment: Moment,
        reentered: usize,
    ) {
        match moment {
            Moment::Element(index) => {
                self.entered.set(true);
                if asked.panic_at == Some(index) {
                    panic_as_planned();
                }
            }
            // The block might already have been freed before the acquire returns.
            Moment::Written { start, written, asked } => {
                let written = probe.place_of(start).map(|place| Written { place, asked, written });
                self.written.borrow_mut().extend(written);
            }
            Moment::Moved => self.moves.borrow_mut().push(reentered + 2),
        }
    }

    /// Updates the model with the recorded events. The model does not yet contain the slots of the
    /// current acquire.
    pub(super) fn tell(&self, account: &mut Account, contents: &mut Contents, marks: bool) -> u64 {
        for Written { place: (block, offset), asked, written } in self.written.take() {
            if marks {
                contents.mark(block, offset, asked, written);
            } else {
                contents.write(block, offset..offset + asked);
            }
        }
        let moves = self.moves.take();
        moves.iter().for_each(|&slots| account.reserved(slots));
        moves.len() as u64
    }
}

impl HostAcquire {
    /// Returns an equivalent request for a backend that does not support host methods.
    fn elsewhere(&self) -> Acquire {
        let kind = match self.kind {
            HostKind::Unit => Kind::Unit,
            HostKind::Byte | HostKind::Optional => Kind::U8,
            HostKind::Number | HostKind::Text => Kind::F64,
            HostKind::Point => Kind::Vector,
            HostKind::Pair => Kind::Wide,
        };
        Acquire { kind, form: Form::Flat(Fill::Copied, self.length), panics: self.panics }
    }
}

impl<P: BackendProbe> Machine<'_, P> {
    /// Acquires slices in a scope with one of the host backend's methods, and stores them in the
    /// frame.
    pub(super) fn acquire_host<'s>(
        &mut self,
        scope: &Scope<'s, P::Backend>,
        frame: &mut Frame<'_, 's, P>,
        asked: &HostAcquire,
    ) {
        let Some(forms) = self.probe.host_forms() else {
            return self.acquire(scope, frame, &asked.elsewhere());
        };
        let (probe, seed) = (self.probe, self.model.new_seed());
        let happenings = Happenings::default();
        let reentered = RefCell::new(Vec::<View<'s, P, u8>>::new());
        let watch = |moment| {
            happenings.note(probe, asked, moment, reentered.borrow().len());
            let Moment::Element(index) = moment else { return };
            if asked.reenter_at.is_some_and(|at| index % (at + 1) == 0) {
                let more = scope.try_acquire_filled(2, u8::sample(seed, 0));
                reentered.borrow_mut().extend(more);
            }
        };
        let before = probe.held();
        let outcome = Self::call(|| forms.acquire(scope, asked, seed, &watch));
        let reentered = reentered.into_inner();
        self.note_happenings(asked, &happenings, reentered.len());
        let (slot, entered) = (self.model.account().active, happenings.entered.get());
        // If the acquire fails, the slot for the iterator's elements is released, unless the
        // iterator has acquired memory in the same scope.
        let gives_back = asked.form == HostForm::FromIter && reentered.is_empty();
        match outcome {
            Outcome::Done(held) => {
                self.tally.host.note(asked.form);
                self.took(1 + reentered.len());
                self.admit_host(slot, &held, asked);
                frame.views.push(Box::new(LiveSlice::new(held)));
                self.admit_reentered(frame, slot + 1, reentered, seed);
            }
            Outcome::Refused(error) => {
                self.tally.host.refusals += 1;
                let taken = usize::from(entered && !gives_back);
                self.took(taken + reentered.len());
                self.admit_reentered(frame, slot + taken, reentered, seed);
                if gives_back {
                    self.check_error(&error, &scope.stats(), before);
                } else {
                    self.refused(scope, &error, before);
                }
            }
            Outcome::Panicked(payload) => {
                let refused = !is_planned(payload.as_ref()) && !is_in_allocation(payload.as_ref());
                self.tally.host.panics += u64::from(entered && !refused);
                let taken = entered && !(gives_back && refused);
                self.took(usize::from(taken) + reentered.len());
                self.model.contents.lose_track();
                self.check_scope(scope);
                self.unwind(payload, before)
            }
        }
    }

    /// Updates the model with an acquire's events. The model does not yet contain the slots of the
    /// current acquire.
    pub(super) fn note_happenings(
        &mut self,
        asked: &HostAcquire,
        happenings: &Happenings,
        reentered: usize,
    ) {
        let marks = asked.kind.marks();
        let (account, contents) = self.model.account_and_contents();
        if asked.form == HostForm::FromIter {
            // The elements are collected into a vector that the model cannot observe.
            account.may_have_reserved(reentered + 2);
            contents.lose_track();
        }
        self.tally.host.moved_vectors += happenings.tell(account, contents, marks);
    }

    /// Checks the address of a slice that was just handed out and updates the model.
    fn admit_host(&mut self, slot: usize, held: &HeldSlice<'_>, asked: &HostAcquire) {
        let extent = held.extent();
        assert_eq!(extent.start % held.alignment, 0, "a slice that is not aligned");
        self.admit_extent(slot, extent, asked);
    }

    /// Records in the model a slice that was just handed out.
    pub(super) fn admit_extent(&mut self, slot: usize, extent: Extent, asked: &HostAcquire) {
        self.model.hand_out(self.probe, slot, extent.start, extent.bytes);
        let marks = asked.kind.marks() || asked.form.leaves_room();
        self.model.write_host(self.probe, extent, marks);
    }
}
