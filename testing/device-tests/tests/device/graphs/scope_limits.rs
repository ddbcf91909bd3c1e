//! Limits of scopes in a body: calls that cannot be captured, lent memory, full arenas, and failing
//! bodies.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use cudarc::driver::CudaStream;
use pool_core::{Pool, PoolError, PoolView, PoolViewMut, error_chain};
use pool_cuda::{AcquireShaped, Cuda, CudaError, DeviceStream};
use pool_graph::{ArenaPolicy, Capture, CaptureError, CapturedGraph, CudaArena};

use crate::scopes::{arena, captured, check_replays, stream};
use crate::steps::{Axpy, BYTES, Ends, N, assert_same_bits, input};
use crate::{memory, require_device};

/// Each refusal leaves the capture unchanged.
#[test]
#[ignore = "needs a CUDA device"]
fn what_cannot_be_captured_is_refused_by_name() {
    let _present = require_device();
    let (stream, elsewhere) = (stream(), stream());
    let outside = |stream: &Arc<CudaStream>| {
        Pool::<Cuda>::new(DeviceStream::from_stream(Arc::clone(stream)).unwrap())
    };
    // One view is on the same stream, and the other is on another stream.
    let (mut same, mut other) = (outside(&stream), outside(&elsewhere));
    let (same, other) = (same.scope(), other.scope());
    let mut strangers = [same.acquire_zeroed::<f64, _>(N), other.acquire_zeroed::<f64, _>(N)];
    let mut body = |capture: &Capture<'_>, ends: Ends| {
        let refused = |answer: Result<(), CudaError>| {
            assert!(matches!(answer, Err(CudaError::Capturing { .. })), "{answer:?}");
        };
        ends.with_views(capture, |scope, from, to| {
            let mut view = scope.try_acquire_zeroed::<f64, _>(N)?;
            refused(view.copy_to_vec().map(drop));
            refused(view.copy_to_host(&mut [0.0; N]));
            refused(view.copy_from_host(&[0.0; N]));
            refused(scope.context().synchronize());
            let from_host = scope.try_acquire_from(&[1.0_f64; N]).map(drop);
            let capturing = |error| {
                matches!(error, PoolError::Backend { source: CudaError::Capturing { .. }, .. })
            };
            assert!(from_host.is_err_and(capturing));
            for stranger in &mut strangers {
                refused(view.copy_from(stranger.as_view()));
                refused(stranger.copy_from(view.as_view()));
            }
            let _released = scope.trim();
            view.copy_from(*from)?;
            Ok(to.copy_from(view.as_view())?)
        })
    };
    let (session, ends) = Ends::of_session(&[&stream]).unwrap();
    let probe = session.probe(&mut (), |capture, ()| body(capture, ends));
    drop(probe.unwrap_or_else(|error: CaptureError| panic!("{}", error_chain(&error))));
    let (mut graph, ends) = captured(&[&stream], body).unwrap();
    assert_same_bits(&ends.run(&mut graph, &input(2)).unwrap(), &input(2));
}

/// Each replay copies the shape from memory that the graph keeps.
#[test]
#[ignore = "needs a CUDA device"]
fn shapes_are_captured() {
    let _present = require_device();
    let stream = stream();
    let body = |capture: &Capture<'_>, ends: Ends| {
        let main = capture.main();
        let mut to = capture.block::<u64>(&ends.to)?;
        let mut to = capture.lend(main, &mut to)?;
        capture.scope(main, |scope| {
            let mut addresses = Vec::new();
            for _ in 0..2 {
                let inner = scope.scope();
                let shaped = inner.try_acquire_shaped::<f32>(&[3, 5])?;
                addresses.push(shaped.shape.address());
            }
            assert!(addresses[0] != 0 && addresses[0] == addresses[1], "it is known by then");
            to.view_mut()?.fill_with_value(0x0102_0304_0506_0708)?;
            Ok::<(), CaptureError>(())
        })
    };
    let (mut graph, ends) = captured(&[&stream], body).unwrap();
    for _ in 0..2 {
        graph.write(&ends.to, &[0_u64; N]).unwrap();
        graph.replay().unwrap();
        let mut numbers = [0_u64; N];
        graph.read(&ends.to, &mut numbers).unwrap();
        assert!(numbers.iter().all(|&number| number == 0x0102_0304_0506_0708));
    }
    let (session, ends) = Ends::of_session(&[&stream]).unwrap();
    let probe: Result<_, CaptureError> = session.probe(&mut (), |capture, ()| body(capture, ends));
    assert_eq!(probe.unwrap().temporaries(), 2, "an array, and the memory of shapes");
}

#[test]
#[ignore = "needs a CUDA device"]
fn memory_is_lent_once_and_not_used_meanwhile() {
    let _present = require_device();
    let stream = stream();
    let body = |capture: &Capture<'_>, ends: Ends| {
        let main = capture.main();
        let address = ends.from.address();
        let mut from = capture.block::<f64>(&ends.from)?;
        let mut again = capture.block::<f64>(&ends.from)?;
        let mut scratch = capture.acquire::<f64>(N)?;
        {
            let _lent = capture.lend(main, &mut from)?;
            let refused = capture.lend(main, &mut again).map(drop);
            assert_eq!(refused, Err(CaptureError::Lent { address }));
            let refused = capture.copy(main, &mut scratch, &again);
            assert_eq!(refused, Err(CaptureError::Lent { address }));
        }
        capture.copy(main, &mut scratch, &again)?;
        // A temporary that is lent permanently keeps its bytes.
        let mut other = capture.acquire::<f64>(N)?;
        let kept = other.address();
        let mut lent = capture.lend(main, &mut other)?;
        lent.view_mut()?.fill_with_zeros()?;
        std::mem::forget(lent);
        drop(other);
        let last = capture.acquire::<f64>(N)?;
        assert_ne!(last.address(), kept);
        drop(last);
        capture.copy(main, &mut capture.block(&ends.to)?, &scratch)
    };
    for policy in [Some(ArenaPolicy::Linear), None] {
        let (session, ends) = Ends::of_session(&[&stream]).unwrap();
        let body = |capture: &Capture<'_>, (): &mut ()| body(capture, ends);
        let prepared = match policy {
            Some(policy) => session.prepare(arena(policy)),
            None => {
                let probe = session.probe(&mut (), body).unwrap();
                session.planned(&probe)
            }
        };
        let mut graph: CapturedGraph = prepared.unwrap().capture((), body).unwrap();
        assert_same_bits(&ends.run(&mut graph, &input(4)).unwrap(), &input(4));
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn an_arena_without_room_is_a_pools_error() {
    let _present = require_device();
    let stream = stream();
    let (session, ends) = Ends::of_session(&[&stream]).unwrap();
    let arena = CudaArena::new(memory(), 2 * BYTES, ArenaPolicy::Monotone).unwrap();
    let body = |capture: &Capture<'_>, (): &mut ()| {
        ends.with_views(capture, |scope, from, to| {
            let refused = scope.try_acquire::<f64, _>(4 * N).map(drop);
            let no_block = |error: &PoolError<CudaError>| {
                matches!(error, PoolError::OutOfMemory { source: CudaError::NoBlock { .. }, .. })
            };
            assert!(refused.as_ref().is_err_and(no_block), "{refused:?}");
            // Code that can work with less memory continues.
            let mut view = scope.try_acquire::<f64, _>(N)?;
            view.copy_from(*from)?;
            Ok(to.copy_from(view.as_view())?)
        })
    };
    let mut graph: CapturedGraph = session
        .prepare(arena)
        .unwrap()
        .capture((), body)
        .unwrap_or_else(|error: CaptureError| panic!("{}", error_chain(&error)));
    assert_same_bits(&ends.run(&mut graph, &input(3)).unwrap(), &input(3));
}

#[test]
#[ignore = "needs a CUDA device"]
fn a_body_that_fails_or_panics_in_a_scope() {
    let _present = require_device();
    let (stream, side) = (stream(), stream());
    let axpy = Axpy::load(stream.context());
    for panics in [false, true] {
        let fail = |capture: &Capture<'_>, ends: Ends| {
            ends.with_views(capture, |scope, from, _| {
                let mut sum = scope.try_acquire_filled(N, 0.5_f64)?;
                axpy.on_stream(&side, 2.0, from, &mut sum)?;
                capture.scope(capture.branch(0)?, |inner| {
                    inner.try_acquire_zeroed::<f64, _>(N)?;
                    assert!(!panics, "the body panics");
                    Err(CaptureError::DefaultStream)
                })
            })
        };
        let left = catch_unwind(AssertUnwindSafe(|| captured(&[&stream, &side], fail).map(drop)));
        match left {
            Ok(answer) => assert_eq!(answer, Err(CaptureError::DefaultStream)),
            Err(_) => assert!(panics),
        }
        // The streams are unchanged, and a body that catches the panic continues.
        let caught = |capture: &Capture<'_>, ends: Ends| {
            let left = catch_unwind(AssertUnwindSafe(|| fail(capture, ends)));
            assert!(left.is_err() == panics);
            ends.body(capture, &axpy)
        };
        let (mut graph, ends) = captured(&[&stream, &side], caught).unwrap();
        check_replays(&mut graph, &ends, &axpy, &stream);
    }
}
