//! The acceptance cases that hold for every backend: each is a function over a fresh pool, which may
//! end early with the pool's error where allocations are made to fail.

mod counters;
mod dynamic;
mod leaving;
mod release;
mod sizes;
mod steady;
mod world;

use std::any::Any;

use pool_core::{DynamicPool, Pool, PoolBackend, PoolError};

use crate::heap::Refusal;
use crate::panics::{catch_quietly, text};
use crate::probe::{Failure, Probe};
use world::World;

/// What a case returns.
type Outcome<P> = Result<(), Failure<P>>;

type OnPool<P> = fn(&World<'_, P>, &mut Pool<<P as Probe>::Backend>) -> Outcome<P>;
type OnDynamicPool<P> = fn(&World<'_, P>, &mut DynamicPool<<P as Probe>::Backend>) -> Outcome<P>;

/// One acceptance case.
#[derive(Debug)]
pub struct Case<P: Probe> {
    name: &'static str,
    body: Body<P>,
}

#[derive(Debug)]
enum Body<P: Probe> {
    Lexical(OnPool<P>),
    Dynamic(OnDynamicPool<P>),
}

/// How a case ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Every check passed.
    Passed,
    /// An acquire returned an error, because the backend refused an allocation.
    Refused,
    /// The backend panicked in an allocation, as it was told to.
    Panicked,
}

/// Runs every case.
///
/// # Panics
///
/// Where a check fails, with the name of the case.
pub fn run_all<P: Probe>(probe: &P) {
    for case in all::<P>() {
        assert_eq!(case.run(probe), Ending::Passed, "case {}", case.name);
    }
}

/// Every case.
#[must_use]
pub fn all<P: Probe>() -> Vec<Case<P>> {
    let groups = [
        counters::cases(),
        leaving::cases(),
        sizes::cases(),
        release::cases(),
        steady::cases(),
        dynamic::cases(),
    ];
    groups.into_iter().flatten().collect()
}

impl<P: Probe> Case<P> {
    fn lexical(name: &'static str, body: OnPool<P>) -> Self {
        Self { name, body: Body::Lexical(body) }
    }

    fn dynamic(name: &'static str, body: OnDynamicPool<P>) -> Self {
        Self { name, body: Body::Dynamic(body) }
    }

    /// What the case is about.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Runs the case with a new pool. What the backend was told to refuse stays in force for the
    /// case alone; whatever happened in it, the pool must be usable afterwards and leave no block.
    ///
    /// # Panics
    ///
    /// Where a check fails.
    pub fn run(&self, probe: &P) -> Ending {
        let world = World::new(probe);
        let ended = match &self.body {
            Body::Lexical(body) => {
                let mut pool = Pool::new(probe.context());
                let ended = catch_quietly(|| body(&world, &mut pool));
                probe.refuse(Refusal::Never);
                world.check_usable(&mut pool);
                ended
            }
            Body::Dynamic(body) => {
                let mut pool = DynamicPool::new(probe.context());
                let ended = catch_quietly(|| body(&world, &mut pool));
                probe.refuse(Refusal::Never);
                world.check_dynamic_usable(&mut pool);
                ended
            }
        };
        if let Some(held) = probe.held() {
            assert_eq!((held.blocks, held.bytes), (0, 0), "case {}: blocks left", self.name);
        }
        self.ending(ended)
    }

    fn ending(&self, ended: Result<Outcome<P>, Box<dyn Any + Send>>) -> Ending {
        match ended {
            Ok(Ok(())) => Ending::Passed,
            Ok(Err(PoolError::OutOfMemory { .. })) => Ending::Refused,
            Ok(Err(error)) => panic!("case {}: {error}", self.name),
            Err(payload) => match text(payload.as_ref()) {
                text if text.starts_with("the test panics instead of allocating") => {
                    Ending::Panicked
                }
                text => panic!("case {}: {text}", self.name),
            },
        }
    }
}

/// The error type of the backend, for `PoolError`s in patterns.
type BackendError<P> = <<P as Probe>::Backend as PoolBackend>::Error;
