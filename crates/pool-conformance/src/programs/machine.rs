//! The code that all interpreters share. The shared code calls the library, which may refuse a
//! request or panic. After each call, the shared code performs the checks.

use std::any::Any;
use std::panic::resume_unwind;

use pool_core::{PoolError, PoolStats, ReleaseReport, Scope};

use super::checks::Checks;
use super::model::Model;
use super::tally::Tally;
use crate::ledger::BlockCounts;
use crate::panics::{catch_quietly, is_in_allocation, is_planned, panic_as_planned, text};
use crate::probe::{BackendProbe, Failure, Watching};

/// The number of slots in a slot table. If a program needs more slots than one table contains, the
/// library creates another table.
const SLOTS_OF_A_TABLE: usize = 31;

/// Runs each program both on a backend and on the model.
pub(super) struct Machine<'p, P: BackendProbe> {
    pub(super) probe: &'p P,
    pub(super) checks: Checks<'p, P>,
    pub(super) model: Model,
    pub(super) tally: Tally,
}

/// The outcome of a library call.
pub(super) enum Outcome<P: BackendProbe, V> {
    Done(V),
    Refused(Failure<P>),
    Panicked(Box<dyn Any + Send>),
}

impl<'p, P: BackendProbe> Machine<'p, P> {
    pub(super) fn new(probe: &'p P) -> Self {
        let tally = Tally { programs: 1, ..Tally::default() };
        Self { probe, checks: Checks::new(probe), model: Model::new(P::HAS_SLOTS), tally }
    }

    /// Calls a library function that may return an error or panic.
    pub(super) fn call<V>(call: impl FnOnce() -> Result<V, Failure<P>>) -> Outcome<P, V> {
        match catch_quietly(call) {
            Ok(Ok(value)) => Outcome::Done(value),
            Ok(Err(error)) => Outcome::Refused(error),
            Err(payload) => Outcome::Panicked(payload),
        }
    }

    /// Calls a library function that cannot return an error, and returns the function's result. If
    /// the backend panics on request, the panic propagates.
    pub(super) fn call_plain<V>(&self, call: impl FnOnce() -> V) -> V {
        let before = self.probe.held();
        catch_quietly(call).unwrap_or_else(|payload| self.unwind(payload, before))
    }

    /// Checks that a panic was either planned or has the message of an expected error. Also resumes
    /// the panic.
    pub(super) fn unwind(&self, payload: Box<dyn Any + Send>, before: Option<BlockCounts>) -> ! {
        if is_planned(payload.as_ref()) {
            resume_unwind(payload);
        }
        let text = text(payload.as_ref());
        if text.starts_with("cannot allocate a block of") {
            self.check_was_refused(before);
        } else if !text.starts_with("a block of") && !is_in_allocation(payload.as_ref()) {
            panic!("the library panicked: {text}");
        }
        panic_as_planned()
    }

    /// Records that the pool handed out the given number of slots.
    pub(super) fn took(&mut self, slots: usize) {
        let account = self.model.account();
        account.took(slots);
        self.tally.acquires += slots as u64;
        self.tally.beyond_first_table += u64::from(account.active > SLOTS_OF_A_TABLE);
    }

    /// Records a pool's final statistics.
    pub(super) fn note_stats(&mut self, stats: &PoolStats) {
        self.tally.shape_hits += stats.shape_hits;
        let acquires = self.model.account().acquires;
        self.tally.hot_acquires += acquires.saturating_sub(stats.cold_acquires);
    }

    /// Checks that the model expects the error and that the error's numbers are correct.
    pub(super) fn check_error(
        &mut self,
        error: &Failure<P>,
        stats: &PoolStats,
        before: Option<BlockCounts>,
    ) {
        match *error {
            PoolError::LimitExceeded { requested, reserved, limit } => {
                assert_eq!(limit, self.model.account().setting.limit());
                assert_eq!(reserved, stats.reserved_bytes);
                assert!(reserved.saturating_add(requested) > limit, "refused below the limit");
                self.tally.over_limit += 1;
            }
            PoolError::OutOfMemory { reserved, .. } => {
                assert_eq!(reserved, stats.reserved_bytes);
                self.check_was_refused(before);
                self.tally.out_of_memory += 1;
            }
            ref other => panic!("an error without a reason: {other}"),
        }
        self.check_stats(stats);
    }

    /// Checks that only active slots have blocks.
    pub(super) fn check_nothing_idle(&mut self) {
        let held = self.probe.held();
        self.model.account().check_nothing_idle(held);
    }

    /// Checks that the backend has refused an allocation since `before` was recorded.
    fn check_was_refused(&self, before: Option<BlockCounts>) {
        if let (Some(before), Some(now)) = (before, self.probe.held()) {
            assert!(now.refused > before.refused, "out of memory, but nothing was refused");
        }
    }

    /// Compares a pool's statistics with the model.
    pub(super) fn check_stats(&mut self, stats: &PoolStats) {
        let held = self.probe.held();
        self.model.account().check(stats, held);
    }

    /// Compares a scope's statistics with the model.
    pub(super) fn check_scope(&mut self, scope: &Scope<'_, P::Backend>) {
        if P::HAS_SLOTS {
            assert_eq!(
                scope.active_slots(),
                self.model.account().active,
                "active slots of a scope"
            );
        }
        self.check_stats(&scope.stats());
    }

    /// Calls `trim` or `compact` and checks that it reports the number of bytes that the backend
    /// has freed.
    pub(super) fn release(&mut self, call: impl FnOnce() -> ReleaseReport) -> ReleaseReport {
        let before = self.probe.held();
        let released = self.call_plain(call);
        if let (Some(before), Some(now)) = (before, self.probe.held()) {
            assert_eq!(released.bytes, before.bytes - now.bytes, "bytes that were given back");
        }
        self.tally.releases += u64::from(released.bytes > 0);
        released
    }

    /// Calls `trim` and checks that every idle block was freed.
    pub(super) fn trim(&mut self, mut call: impl FnMut() -> ReleaseReport) {
        let before = self.probe.held();
        let released = self.release(&mut call);
        if let (Some(before), Some(now)) = (before, self.probe.held()) {
            assert_eq!(released.slots, before.blocks - now.blocks, "slots that were trimmed");
        }
        assert_eq!(call(), ReleaseReport::default(), "a second trim found something");
        self.check_nothing_idle();
    }
}
