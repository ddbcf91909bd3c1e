//! The first failure is returned. A closure of the caller fails, and afterwards each later driver
//! call fails in turn. The returned error is the closure's own error.
//!
//! The table [`CLOSURES`] contains every function of the crates that runs a fallible closure of the
//! caller. The functions in [`OTHERS`] have their own tests, or do nothing fallible after the
//! closure. A test reads the sources to check that both lists are complete. The macros of
//! `pool-facade` do nothing fallible after their body.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use cuda_sim_control::{Settings, Simulator};
use cudarc::driver::{CudaStream, DevicePtr, result};
use pool_cuda::{Cuda, CudaError};
use pool_graph::{
    Capture, CaptureError, CaptureMode, CaptureSession, CapturedGraph, GraphMemoryBlock,
};
use pool_plan::Options;

use crate::common::{BYTES, NO_FLAGS, arena, pool, stream};
use crate::support::{start, start_anew};

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

/// Returns an error that no call in these bodies creates.
fn own() -> CaptureError {
    CaptureError::Driver(CudaError::WrongContext { ordinal: 7 })
}

/// The objects that the closures use.
struct World {
    simulator: Simulator,
    stream: Arc<CudaStream>,
    block: GraphMemoryBlock,
    /// The number of the driver call that fails after the closure has failed; 0 if the closure does
    /// not fail.
    fails_behind: Cell<u64>,
    /// The number of driver calls before the closure failed.
    calls: Cell<u64>,
}

impl World {
    fn new(simulator: Simulator) -> (Self, CaptureSession) {
        let (pool, stream) = (pool(), stream());
        let block = pool.allocate(BYTES).unwrap();
        let session =
            CaptureSession::new(&stream).unwrap().branch(&crate::common::stream()).unwrap();
        let session = session.lease(pool.lease(&[block.id()]).unwrap());
        let (fails_behind, calls) = (Cell::new(0), Cell::new(0));
        (Self { simulator, stream, block, fails_behind, calls }, session)
    }

    /// Fails, and arranges a later failure.
    fn fail<E>(&self, error: E) -> Result<(), E> {
        match self.fails_behind.get() {
            0 => Ok(()),
            nth => {
                self.simulator.fail_any_call(nth, 999);
                self.calls.set(self.simulator.all_calls());
                Err(error)
            }
        }
    }

    /// Uses a scope on the branch, the block and a temporary, so that work follows the closure.
    fn work(&self, capture: &Capture<'_>) -> Result<(), CaptureError> {
        let mut temporary = capture.acquire::<u8>(100)?;
        capture.fill_bytes(capture.main(), &mut temporary, 1)?;
        capture.scope(capture.branch(0)?, |scope| {
            scope.try_acquire_zeroed::<u32, _>(100)?;
            Ok::<(), CaptureError>(())
        })?;
        capture.fill_bytes(capture.main(), &mut capture.block::<u8>(&self.block)?, 1)
    }

    /// Runs a body that fails at its end.
    fn body(&self, capture: &Capture<'_>) -> Result<(), Own> {
        self.work(capture)?;
        self.fail(Own::Error)
    }

    fn in_scope(&self, capture: &Capture<'_>) -> Result<(), Own> {
        self.work(capture)?;
        capture.scope(capture.main(), |scope| {
            scope.try_acquire_zeroed::<u32, _>(100).map_err(CaptureError::from)?;
            self.fail(Own::Error)
        })
    }

    fn enqueued(&self, capture: &Capture<'_>) -> Result<(), Own> {
        self.work(capture)?;
        let mut temporary = capture.acquire::<u8>(100)?;
        let address = temporary.address();
        let work = |stream: &Arc<CudaStream>| {
            // SAFETY: the bytes belong to the view.
            unsafe { result::memset_d8_async(address, 1, 100, stream.cu_stream()) }?;
            self.fail(own())
        };
        // SAFETY: the work only writes its view, which no other work uses.
        let done = unsafe { capture.enqueue(capture.main(), &[temporary.write()], work) };
        done.map_err(|error| if error == own() { Own::Error } else { error.into() })
    }
}

type Run = fn(&World, CaptureSession) -> Result<(), Own>;

/// Each function that runs a fallible closure of the caller, with a closure that fails.
const CLOSURES: [(&str, Run); 10] = [
    ("PreparedCapture::capture", |world, session| {
        let prepared = session.prepare(arena()).unwrap();
        prepared.capture((), |capture, ()| world.body(capture)).map(drop)
    }),
    ("PreparedCapture::capture_keeping_state", |world, session| {
        let prepared = session.prepare(arena()).unwrap();
        let captured = prepared.capture_keeping_state(7, |capture, _| world.body(capture));
        captured.map(drop).map_err(|failed| {
            assert_eq!(failed.state, 7);
            failed.error
        })
    }),
    ("PreparedCapture::capture_unverified", |world, session| {
        let prepared = session.prepare(arena()).unwrap();
        prepared.capture_unverified(&mut (), |capture, ()| world.body(capture)).map(drop)
    }),
    ("CapturedGraph::update", |world, session| {
        let prepared = session.prepare(arena()).unwrap();
        let nth = world.fails_behind.take();
        let mut graph: CapturedGraph<()> =
            prepared.capture((), |capture, ()| world.body(capture)).unwrap();
        world.fails_behind.set(nth);
        graph.update(|capture, ()| world.body(capture))
    }),
    ("CaptureSession::probe", |world, session| {
        session.probe(&mut (), |capture, ()| world.body(capture)).map(drop)
    }),
    ("CaptureSession::probe_with", |world, session| {
        session
            .probe_with(&Options::default(), &mut (), |capture, ()| world.body(capture))
            .map(drop)
    }),
    ("CaptureSession::probe_ladder", |world, session| {
        let (options, mut states) = (Options::default(), [(); 2]);
        session.probe_ladder(&options, &mut states, |capture, ()| world.body(capture)).map(drop)
    }),
    ("CapturedGraph::scope", |world, session| {
        let (prepared, other) = (session.prepare(arena()).unwrap(), stream());
        let mut graph: CapturedGraph<()> =
            prepared.capture((), |capture, ()| world.work(capture)).unwrap();
        graph.scope(|scope| {
            let mut view = scope.try_acquire_zeroed::<u32, _>(100).map_err(CaptureError::from)?;
            let _used = view.on(&other).map_err(CaptureError::from)?;
            world.fail(Own::Error)
        })
    }),
    ("Capture::scope", |world, session| {
        let prepared = session.prepare(arena()).unwrap();
        prepared.capture((), |capture, ()| world.in_scope(capture)).map(drop)
    }),
    ("Capture::enqueue", |world, session| {
        let prepared = session.prepare(arena()).unwrap();
        prepared.capture((), |capture, ()| world.enqueued(capture)).map(drop)
    }),
];

/// Functions with a fallible closure that are not in the table, with the reason.
const OTHERS: [(&str, &str); 6] = [
    ("try_keep", "the value is kept behind the closure without a call that can fail"),
    ("try_boxed_slice", "the value is kept behind the closure without a call that can fail"),
    ("try_keep_owned", "the array is kept behind the closure without a call that can fail"),
    ("lock_reserved", "the closures are the crates' own, and cannot fail"),
    ("record", "the closure returns no error: `try_record` is for those that do"),
    (
        "try_record",
        "the_closures_own_error_is_returned_and_nothing_of_it_is_recorded, of pool-wgpu",
    ),
];

/// Returns the names of public functions in a source whose signature contains a closure that
/// returns a `Result`.
fn functions_with_closures(source: &str) -> Vec<&str> {
    let mut found = Vec::new();
    for (start, _) in source.match_indices("pub fn ").chain(source.match_indices("pub unsafe fn "))
    {
        let declaration = &source[start..];
        let after_name = declaration.split_once("fn ").map_or("", |(_, rest)| rest);
        let name = after_name.split(['(', '<']).next().unwrap_or_default();
        let signature = after_name.split(" {\n").next().unwrap_or_default();
        let has_closure = ["FnOnce(", "FnMut(", "Fn("].iter().any(|closure| {
            let of_closure = signature.split(closure).skip(1);
            of_closure.into_iter().any(|closure| {
                let returned = closure.split_once(") -> ").map_or("", |(_, returned)| returned);
                returned.starts_with("Result<")
            })
        });
        if has_closure {
            found.push(name);
        }
    }
    found
}

/// The table is complete: each function of the crates with a fallible closure is in the table, or
/// is listed with a reason.
#[test]
fn every_function_whose_closure_can_fail_is_in_the_table() {
    let crates = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crates");
    let (mut open, mut names) = (Vec::new(), std::collections::BTreeSet::new());
    for package in ["core", "cpu", "cuda", "driver", "facade", "graph", "wgpu"] {
        open.push(crates.join(format!("pool-{package}/src")));
    }
    while let Some(path) = open.pop() {
        if path.is_dir() {
            open.extend(std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let source = std::fs::read_to_string(path).unwrap();
            names.extend(functions_with_closures(&source).into_iter().map(str::to_owned));
        }
    }
    let in_table =
        |name: &str| CLOSURES.iter().any(|(known, _)| known.ends_with(&format!("::{name}")));
    let is_known = |name: &str| in_table(name) || OTHERS.iter().any(|(other, _)| *other == name);
    let missing: Vec<&String> = names.iter().filter(|name| !is_known(name)).collect();
    assert!(missing.is_empty(), "not in the table: {missing:?}");
    for (name, _) in CLOSURES {
        let function = name.rsplit("::").next().unwrap();
        assert!(names.contains(function), "there is no {name} any more");
    }
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn the_closures_own_error_is_returned_whatever_fails_behind_it() {
    let simulator = start();
    for (name, run) in CLOSURES {
        let mut planted = 0;
        for nth in 1.. {
            start_anew(simulator, Settings::default(), nth);
            let (world, session) = World::new(simulator);
            world.fails_behind.set(nth);
            let found = run(&world, session);
            let behind = simulator.all_calls() - world.calls.get();
            simulator.forget_failures();
            assert_eq!(found, Err(Own::Error), "{name}, with call {nth} after it failing");
            drop(world);
            assert_eq!(Cuda::retry_deferred_frees(), 0, "{name}, call {nth}");
            simulator.assert_clean();
            if behind < nth {
                break;
            }
            planted += 1;
        }
        // A dry run calls the driver only for its scopes.
        println!("FIGURE: {name}: {planted} failures after the closure");
        assert!(planted >= 2, "{name}: {planted}");
    }
}

/// A pool of the body cannot obtain a block, the body continues without the block, and then the
/// capture is invalidated. The refusal came first, so it is returned.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_refusal_comes_before_what_spoils_the_capture_later() {
    let simulator = start();
    let (world, session) = World::new(simulator);
    let body = |capture: &Capture<'_>, longer: &mut bool| {
        let elements = if *longer { 1 << 12 } else { 100 };
        let _refused = capture.scope(capture.main(), |scope| {
            let _refused = scope.try_acquire::<u32, _>(elements).map(drop);
            Ok::<(), CaptureError>(())
        });
        if *longer {
            assert!(world.stream.end_capture(NO_FLAGS).is_err());
        }
        Ok::<(), CaptureError>(())
    };
    let probe = session.probe(&mut false, body).unwrap();
    let found = session.planned(&probe).unwrap().capture(true, body).map(drop);
    assert!(matches!(found, Err(CaptureError::Diverged { .. })), "{found:?}");
    simulator.assert_clean();
}

/// A view of a scope is passed to a stream outside the session, which fails without returning an
/// error, and then the capture is invalidated. The first failure is returned.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn what_a_pointer_failed_for_comes_before_what_spoils_the_capture_later() {
    let simulator = start();
    let (world, session) = World::new(simulator);
    let foreign = stream();
    let prepared = session.prepare(arena()).unwrap();
    let found: Result<CapturedGraph<()>, CaptureError> = prepared.capture((), |capture, ()| {
        capture.scope(capture.main(), |scope| {
            let view = scope.try_acquire_zeroed::<u32, _>(100)?;
            let (address, _guard) = view.device_ptr(&foreign);
            assert_eq!(address, 0);
            assert!(world.stream.end_capture(NO_FLAGS).is_err());
            Ok(())
        })
    });
    let expected = CaptureError::Driver(CudaError::Capturing {
        operation: "use memory on a stream outside the session",
    });
    assert_eq!(found.map(drop), Err(expected));
    simulator.assert_clean();
}

/// A capture that another thread invalidates makes its body skip steps. The invalidation came
/// first, so it is returned.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn an_invalidation_comes_before_the_steps_that_it_made_the_body_skip() {
    let simulator = start();
    let (world, session) = World::new(simulator);
    let (skipped, spoils) = (RefCell::new(None), Cell::new(false));
    let body = |capture: &Capture<'_>, (): &mut ()| {
        let mut block = capture.block::<u8>(&world.block)?;
        capture.fill_bytes(capture.main(), &mut block, 1)?;
        if spoils.get() {
            assert!(world.stream.end_capture(NO_FLAGS).is_err());
        }
        *skipped.borrow_mut() = capture.fill_bytes(capture.main(), &mut block, 2).err();
        if skipped.borrow().is_none() {
            capture.fill_bytes(capture.main(), &mut block, 3)?;
        }
        Ok::<(), CaptureError>(())
    };
    let probe = session.probe(&mut (), body).unwrap();
    let prepared = session.planned(&probe).unwrap();
    spoils.set(true);
    let found = prepared.capture((), body).map(drop);
    let mode = CaptureMode::default();
    let invalidated = CaptureError::Invalidated { mode, event_tracking: true };
    assert_eq!(skipped.take(), Some(invalidated.clone()));
    assert!(
        found == Err(invalidated) || matches!(found, Err(CaptureError::Driver(_))),
        "{found:?}"
    );
    simulator.assert_clean();
}
