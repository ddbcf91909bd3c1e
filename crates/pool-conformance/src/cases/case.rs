//! A single acceptance case, and the code that runs it. After each case, the module checks the pool
//! and the ledger, whatever the result.

use std::any::Any;

use pool_core::{DynamicPool, Pool, PoolBackend, PoolError, error_chain};

use super::world::World;
use crate::ledger::{BlockCounts, Refusal};
use crate::panics::{catch_quietly, is_in_allocation, text};
use crate::probe::{BackendProbe, Failure, SkipReason, Watching};

/// The result of a case.
pub(super) type Outcome<P> = Result<(), Failure<P>>;

type OnPool<P> = fn(&World<'_, P>, &mut Pool<<P as BackendProbe>::Backend>) -> Outcome<P>;
type OnDynamicPool<P> =
    fn(&World<'_, P>, &mut DynamicPool<<P as BackendProbe>::Backend>) -> Outcome<P>;

/// One acceptance case.
#[derive(Debug)]
pub struct Case<P: BackendProbe> {
    name: &'static str,
    body: Body<P>,
    is_long: bool,
}

#[derive(Debug)]
enum Body<P: BackendProbe> {
    Lexical(OnPool<P>),
    Dynamic(OnDynamicPool<P>),
}

/// The result of running a test case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Every check in the test case passed.
    Passed,
    /// An acquire returned an error because the backend refused an allocation.
    Refused,
    /// The backend panicked during an allocation, as the test case requested.
    Panicked,
    /// The probe does not support an operation that the test case requires.
    Skipped(SkipReason),
}

impl<P: BackendProbe> Case<P> {
    pub(super) fn lexical(name: &'static str, body: OnPool<P>) -> Self {
        Self { name, body: Body::Lexical(body), is_long: false }
    }

    pub(super) fn dynamic(name: &'static str, body: OnDynamicPool<P>) -> Self {
        Self { name, body: Body::Dynamic(body), is_long: false }
    }

    pub(super) fn long(name: &'static str, body: OnPool<P>) -> Self {
        Self { is_long: true, ..Self::lexical(name, body) }
    }

    /// Returns the test case's name, which states the property that the case checks.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Returns `true` if the test case moves hundreds of mebibytes of data. Callers that run every
    /// case many times should skip the long ones.
    #[must_use]
    pub fn is_long(&self) -> bool {
        self.is_long
    }

    /// Runs the test case with a new pool. After the test case, the ledger stops refusing
    /// allocations. Whatever the result, the pool must remain usable after the test case, and no
    /// block may be leaked or misused. A case that must choose the failing allocations itself
    /// returns immediately if the test already makes allocations fail.
    ///
    /// # Panics
    ///
    /// Panics if a check fails. The message contains the case's name.
    pub fn run(&self, probe: &P) -> Ending {
        catch_quietly(|| self.run_within(&World::new(probe)))
            .unwrap_or_else(|payload| panic!("case {}: {}", self.name, text(payload.as_ref())))
    }

    fn run_within(&self, world: &World<'_, P>) -> Ending {
        let probe = world.probe;
        let ended = match &self.body {
            Body::Lexical(body) => {
                let mut pool = Pool::new(probe.context());
                let ended = judge::<P>(|| body(world, &mut pool));
                probe.refuse(Refusal::Never);
                conclude(pool, ended, |pool| world.check_usable(pool))
            }
            Body::Dynamic(body) => {
                let mut pool = DynamicPool::new(probe.context());
                let ended = judge::<P>(|| body(world, &mut pool));
                probe.refuse(Refusal::Never);
                conclude(pool, ended, |pool| world.check_dynamic_usable(pool))
            }
        };
        check_ledger(probe);
        world.declined().map_or(ended, Ending::Skipped)
    }
}

/// Runs a test case's body. Returns the case's result, or the message of the check that failed.
fn judge<P: BackendProbe>(body: impl FnOnce() -> Outcome<P>) -> Result<Ending, String> {
    match catch_quietly(body) {
        Ok(Ok(())) => Ok(Ending::Passed),
        Ok(Err(PoolError::OutOfMemory { .. })) => Ok(Ending::Refused),
        Ok(Err(error)) => Err(error_chain(&error).to_string()),
        Err(payload) if is_in_allocation(payload.as_ref()) => Ok(Ending::Panicked),
        Err(payload) => Err(text(payload.as_ref()).to_owned()),
    }
}

/// Checks the pool after a test case, then drops it. Only the first failure is reported, so that a
/// panic while the pool is dropped does not hide the test case's failure.
fn conclude<T>(mut pool: T, ended: Result<Ending, String>, check: impl FnOnce(&mut T)) -> Ending {
    let failure = |payload: Box<dyn Any + Send>| format!("{AFTERWARDS}{}", text(payload.as_ref()));
    let checked = ended
        .and_then(|ending| catch_quietly(|| check(&mut pool)).map(|()| ending).map_err(failure));
    let dropped = catch_quietly(|| drop(pool)).map_err(failure);
    checked.and_then(|ending| dropped.map(|()| ending)).unwrap_or_else(|text| panic!("{text}"))
}

/// The prefix of messages from checks that run after every test case. Messages from a test case's
/// own checks have no prefix.
pub(crate) const AFTERWARDS: &str = "afterwards: ";

/// Checks that no block was misused and that every block has been freed.
fn check_ledger<P: BackendProbe>(probe: &P) {
    let Ok(ledger) = probe.accounting() else { return };
    let (faults, held) = (ledger.faults(), ledger.held());
    assert!(faults.is_empty(), "{AFTERWARDS}blocks were misused: {faults:?}");
    let BlockCounts { blocks, bytes, .. } = held;
    assert!(blocks == 0, "{AFTERWARDS}{blocks} blocks left, of {bytes} bytes");
    assert!(held.returning == 0, "{AFTERWARDS}memory of {} blocks is not back", held.returning);
}

/// The error type of the probe's backend. The test cases use this type in patterns that match a
/// `PoolError`.
pub(super) type BackendError<P> = <<P as BackendProbe>::Backend as PoolBackend>::Error;
