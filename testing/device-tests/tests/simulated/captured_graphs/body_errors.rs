//! The body's own error has priority: its own error type, a driver's error, or a panic. It can
//! occur in every closure and while any guard is open, in probes, captures and updates, under every
//! policy. Afterwards the streams, the memory and the graph are unchanged.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use cuda_sim_control::{Settings, Simulator};
use cudarc::driver::sys::CUresult;
use cudarc::driver::{CudaStream, result};
use pool_core::PoolViewMut;
use pool_cuda::{CudaError, DriverCode};
use pool_graph::{
    ArenaPolicy, Capture, CaptureError, CaptureSession, CapturedGraph, CudaArena, GraphMemoryBlock,
    PreparedCapture,
};

use crate::common::{BYTES, NO_FLAGS, memory, pool, stream};
use crate::support::{start, start_anew};

const N: usize = 1024;
const OUT_OF_MEMORY: u32 = 2;

/// The error type of a body.
#[derive(Clone, Debug, PartialEq)]
enum Own {
    Error,
    Capture(CaptureError),
}

impl From<CaptureError> for Own {
    fn from(error: CaptureError) -> Self {
        Self::Capture(error)
    }
}

/// The point at which a body fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Begin,
    Lent,
    Scope,
    /// Between two blocks of the scope's pool.
    BetweenBlocks,
    /// In an inner scope on another stream, or in a nested scope if there is only one stream.
    InnerScope,
    LentInScope,
    Enqueued,
    BehindTheScope,
    End,
}

const PLACES: [Place; 9] = [
    Place::Begin,
    Place::Lent,
    Place::Scope,
    Place::BetweenBlocks,
    Place::InnerScope,
    Place::LentInScope,
    Place::Enqueued,
    Place::BehindTheScope,
    Place::End,
];

/// The kind of failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    Own,
    Driver,
    Panic,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Policy {
    Monotone,
    Linear,
    Planned,
}

/// The next failure, if any.
#[derive(Clone, Copy, Debug, Default)]
struct State {
    fails: Option<(Place, Fault)>,
}

struct World {
    simulator: Simulator,
    block: GraphMemoryBlock,
    /// `true` if the session has a branch.
    forks: bool,
}

impl World {
    fn new(simulator: Simulator, forks: bool) -> (Self, CaptureSession) {
        let pool = pool();
        let block = pool.allocate(BYTES).unwrap();
        let mut session = CaptureSession::new(&stream()).unwrap();
        if forks {
            session = session.branch(&stream()).unwrap();
        }
        let session = session.lease(pool.lease(&[block.id()]).unwrap());
        (Self { simulator, block, forks }, session)
    }

    /// Does the work, or fails if this is the chosen point.
    fn at(
        &self,
        state: State,
        place: Place,
        work: impl FnOnce() -> Result<(), CaptureError>,
    ) -> Result<(), Own> {
        match state.fails.filter(|(at, _)| *at == place) {
            Some((_, Fault::Own)) => return Err(Own::Error),
            Some((_, Fault::Panic)) => panic!("of the body"),
            Some((_, Fault::Driver)) => {
                for name in ["cuMemsetD8Async", "cuMemsetD32Async"] {
                    self.simulator.fail_call(name, 1, OUT_OF_MEMORY);
                }
            }
            None => {}
        }
        Ok(work()?)
    }

    fn body(&self, capture: &Capture<'_>, state: State) -> Result<(), Own> {
        let main = capture.main();
        let mut block = capture.block::<u32>(&self.block)?;
        self.at(state, Place::Begin, || fill(capture, &mut capture.block(&self.block)?))?;
        {
            let mut lent = capture.lend(main, &mut block)?;
            self.at(state, Place::Lent, || Ok(lent.view_mut()?.fill_with_value(1)?))?;
            capture.scope(main, |scope| {
                let mut one = scope.try_acquire::<u32, _>(N).map_err(CaptureError::from)?;
                self.at(state, Place::Scope, || Ok(one.fill_with_value(1)?))?;
                self.at(state, Place::BetweenBlocks, || Ok(one.fill_with_value(2)?))?;
                let _other = scope.try_acquire::<u32, _>(N).map_err(CaptureError::from)?;
                self.inner(capture, state)
            })?;
            self.at(state, Place::BehindTheScope, || Ok(lent.view_mut()?.fill_with_value(3)?))?;
        }
        self.enqueue(capture, state)?;
        self.at(state, Place::End, || fill(capture, &mut block))
    }

    fn inner(&self, capture: &Capture<'_>, state: State) -> Result<(), Own> {
        let mut temporary = capture.acquire::<u32>(N)?;
        let mut lent = capture.lend(capture.main(), &mut temporary)?;
        self.at(state, Place::LentInScope, || Ok(lent.view_mut()?.fill_with_value(4)?))?;
        if !self.forks {
            return self
                .at(state, Place::InnerScope, || Ok(lent.view_mut()?.fill_with_value(5)?));
        }
        capture.scope(capture.branch(0)?, |inner| {
            let mut view = inner.try_acquire::<u32, _>(N).map_err(CaptureError::from)?;
            self.at(state, Place::InnerScope, || Ok(view.fill_with_value(5)?))
        })
    }

    /// Enqueues work. Its closure returns a `CaptureError`; the body's own error is represented by
    /// a variant that the pool does not create here.
    fn enqueue(&self, capture: &Capture<'_>, state: State) -> Result<(), Own> {
        let mut temporary = capture.acquire::<u32>(N)?;
        let address = temporary.address();
        let set = |stream: &Arc<CudaStream>| {
            // SAFETY: the bytes belong to the view.
            let set = || unsafe { result::memset_d8_async(address, 1, 4 * N, stream.cu_stream()) };
            let done = self.at(state, Place::Enqueued, || Ok(set()?));
            done.map_err(|error| match error {
                Own::Error => own(),
                Own::Capture(error) => error,
            })
        };
        // SAFETY: the work only writes its view, on this stream.
        let done = unsafe { capture.enqueue(capture.main(), &[temporary.write()], set) };
        done.map_err(|error| if error == own() { Own::Error } else { error.into() })
    }
}

/// Returns an error that no call in these bodies creates.
fn own() -> CaptureError {
    CaptureError::Driver(CudaError::WrongContext { ordinal: 7 })
}

fn fill(
    capture: &Capture<'_>,
    block: &mut pool_graph::CaptureView<'_, u32>,
) -> Result<(), CaptureError> {
    capture.fill_bytes(capture.main(), block, 6)
}

/// Returns the error of a failing body.
fn outcome<T>(run: impl FnOnce() -> Result<T, Own>) -> Option<Own> {
    match catch_unwind(AssertUnwindSafe(run)) {
        Ok(done) => Some(done.map(drop).unwrap_err()),
        Err(panic) => {
            assert_eq!(panic.downcast_ref(), Some(&"of the body"));
            None
        }
    }
}

fn assert_is(found: &Option<Own>, fault: Fault, what: &str) {
    let code = DriverCode::from(CUresult::CUDA_ERROR_OUT_OF_MEMORY);
    match (fault, found) {
        (Fault::Own, Some(Own::Error)) | (Fault::Panic, None) => {}
        (
            Fault::Driver,
            Some(Own::Capture(CaptureError::Driver(CudaError::Call { code: found, .. }))),
        ) if *found == code => {}
        _ => panic!("{what}: {found:?}"),
    }
}

fn prepared(
    session: CaptureSession,
    policy: Policy,
    body: impl FnOnce(&Capture<'_>, &mut State) -> Result<(), Own>,
) -> PreparedCapture {
    let arena = |policy| CudaArena::new(memory(), 1 << 18, policy).unwrap();
    let prepared = match policy {
        Policy::Monotone => session.prepare(arena(ArenaPolicy::Monotone)),
        Policy::Linear => session.prepare(arena(ArenaPolicy::Linear)),
        Policy::Planned => {
            let probe = session.probe(&mut State::default(), body).unwrap();
            session.planned(&probe)
        }
    };
    prepared.unwrap()
}

fn check(graph: &mut CapturedGraph<State>, block: &GraphMemoryBlock) {
    graph.write(block, &[0_u32; N]).unwrap();
    graph.replay().unwrap();
    let mut found = [0_u32; N];
    graph.read(block, &mut found).unwrap();
    assert_eq!(found, [0x0606_0606; N]);
}

fn with_each_fault(test: impl Fn(&World, CaptureSession, Policy, Place, Fault)) {
    let simulator = start();
    let mut seed = 0;
    for policy in [Policy::Monotone, Policy::Linear, Policy::Planned] {
        for place in PLACES {
            for fault in [Fault::Own, Fault::Driver, Fault::Panic] {
                seed += 1;
                start_anew(simulator, Settings::default(), seed);
                let (world, session) = World::new(simulator, policy != Policy::Linear);
                test(&world, session, policy, place, fault);
                simulator.forget_failures();
                simulator.assert_clean();
                simulator.assert_no_leaks();
            }
        }
    }
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_capture_returns_the_error_of_its_body() {
    with_each_fault(|world, session, policy, place, fault| {
        let body = |capture: &Capture<'_>, state: &mut State| world.body(capture, *state);
        let prepared = prepared(session, policy, body);
        let failing = State { fails: Some((place, fault)) };
        let found = outcome(|| prepared.capture(failing, body));
        assert_is(&found, fault, &format!("{policy:?} {place:?}"));
        world.simulator.forget_failures();
        check(&mut prepared.capture(State::default(), body).unwrap(), &world.block);
    });
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn an_update_returns_the_error_of_its_body() {
    with_each_fault(|world, session, policy, place, fault| {
        let body = |capture: &Capture<'_>, state: &mut State| world.body(capture, *state);
        let mut graph = prepared(session, policy, body).capture(State::default(), body).unwrap();
        graph.state().unwrap().fails = Some((place, fault));
        let found = outcome(|| graph.update(body));
        assert_is(&found, fault, &format!("{policy:?} {place:?}"));
        world.simulator.forget_failures();
        check(&mut graph, &world.block);
        graph.state().unwrap().fails = None;
        graph.update(body).unwrap();
        check(&mut graph, &world.block);
    });
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_probe_returns_the_error_of_its_body() {
    with_each_fault(|world, session, _, place, fault| {
        // In a dry run, fills of the capture and enqueued work make no driver calls.
        if fault == Fault::Driver || place == Place::Enqueued {
            return;
        }
        let body = |capture: &Capture<'_>, state: &mut State| world.body(capture, *state);
        let found = outcome(|| session.probe(&mut State { fails: Some((place, fault)) }, body));
        assert_is(&found, fault, &format!("{place:?}"));
        let probe = session.probe(&mut State::default(), body).unwrap();
        assert!(probe.footprint().peak > 0);
    });
}

/// A body that continues after the error of a scope does not perform the same steps as its dry run.
/// The next step, or the end of the body, reports the difference.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_scope_that_ends_early_lets_the_next_step_diverge() {
    let simulator = start();
    for (seed, goes_on) in [(0, false), (1, true)] {
        start_anew(simulator, Settings::default(), seed);
        let (world, session) = World::new(simulator, true);
        let body = |capture: &Capture<'_>, fails: &mut bool| {
            let scoped = capture.scope(capture.main(), |scope| {
                scope.try_acquire::<u32, _>(N).map_err(CaptureError::from)?;
                if *fails {
                    return Err(Own::Error);
                }
                scope
                    .try_acquire::<u32, _>(2 * N)
                    .map_err(CaptureError::from)?
                    .fill_with_value(1)
                    .map_err(CaptureError::from)?;
                Ok(())
            });
            assert_eq!(scoped.is_err(), *fails, "the scope returns the error of its body");
            let after = if *fails && !goes_on {
                Ok(())
            } else {
                fill(capture, &mut capture.block(&world.block)?)
            };
            assert_eq!(after.is_err(), *fails && goes_on, "{after:?}");
            Ok::<(), Own>(after?)
        };
        let probe = session.probe(&mut false, body).unwrap();
        let prepared = session.planned(&probe).unwrap();
        let found = prepared.capture(true, body).map(drop);
        let diverged = |error| matches!(error, Err(Own::Capture(CaptureError::Diverged { .. })));
        assert!(diverged(found.clone()), "{found:?}");
        drop(prepared.capture(false, body).unwrap());
        simulator.assert_clean();
    }
}

/// A pool of the body cannot obtain a block, and its error contains no `CaptureError`. The scope
/// returns the reason once, and an error that the body creates from it is the body's own error.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_scope_returns_why_its_pool_got_no_block() {
    let simulator = start();
    let (_, session) = World::new(simulator, true);
    let (inner, outer) = (std::cell::RefCell::new(None), std::cell::Cell::new(0));
    let body = |capture: &Capture<'_>, elements: &mut usize| {
        capture.scope(capture.main(), |_| {
            let scoped = capture.scope(capture.branch(0)?, |scope| {
                scope.try_acquire::<u32, _>(*elements)?;
                Ok::<(), CaptureError>(())
            });
            scoped.map_err(|error| {
                *inner.borrow_mut() = Some(error);
                outer.set(outer.get() + 1);
                Own::Error
            })
        })
    };
    let probe = session.probe(&mut { N }, body).unwrap();
    let prepared = session.planned(&probe).unwrap();
    assert_eq!(prepared.capture(4 * N, body).map(drop), Err(Own::Error));
    assert_eq!(outer.get(), 1);
    assert!(matches!(inner.take(), Some(CaptureError::Diverged { .. })), "why there was no block");
    drop(prepared.capture(N, body).unwrap());
}

/// Work that invalidates the capture and fails returns its own error instead of the capture's.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn enqueued_work_that_spoils_its_capture_returns_its_own_error() {
    let simulator = start();
    let (_, session) = World::new(simulator, true);
    let prepared =
        session.prepare(CudaArena::new(memory(), 1 << 16, ArenaPolicy::Monotone).unwrap());
    let made = prepared.unwrap().capture((), |capture, (): &mut ()| {
        let spoil = |stream: &Arc<CudaStream>| {
            let _ = stream.end_capture(NO_FLAGS);
            Err(own())
        };
        // SAFETY: the closure enqueues no work on the stream.
        unsafe { capture.enqueue(capture.main(), &[], spoil) }
    });
    assert_eq!(made.map(drop), Err(own()));
    simulator.assert_clean();
}
