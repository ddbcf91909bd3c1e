//! Scopes in the body of a capture: an eager step that is captured unchanged, its memory, and the
//! streams of the session.

use std::sync::Arc;

use cudarc::driver::CudaStream;
use pool_core::PoolViewMut;
use pool_cuda::{Cuda, CudaError};
use pool_graph::{
    ArenaPolicy, Capture, CaptureError, CapturedGraph, CudaArena, GraphMemoryError, PreparedCapture,
};

use crate::steps::{Axpy, BYTES, Ends, N, assert_same_bits, eager, input};
use crate::{memory, require_device};

pub(crate) fn stream() -> Arc<CudaStream> {
    Cuda::device(0).unwrap().context().new_stream().unwrap()
}

pub(crate) fn arena(policy: ArenaPolicy) -> CudaArena {
    CudaArena::new(memory(), 1 << 17, policy).unwrap()
}

/// Returns a session with an arena that never reuses bytes, and the session's ends.
fn prepared(streams: &[&Arc<CudaStream>]) -> (PreparedCapture, Ends) {
    let (session, ends) = Ends::of_session(streams).unwrap();
    (session.prepare(arena(ArenaPolicy::Monotone)).unwrap(), ends)
}

/// Captures a body with a monotone arena.
pub(crate) fn captured(
    streams: &[&Arc<CudaStream>],
    body: impl FnOnce(&Capture<'_>, Ends) -> Result<(), CaptureError>,
) -> Result<(CapturedGraph, Ends), CaptureError> {
    let (prepared, ends) = prepared(streams);
    Ok((prepared.capture((), |capture, ()| body(capture, ends))?, ends))
}

pub(crate) fn check_replays(
    graph: &mut CapturedGraph,
    ends: &Ends,
    axpy: &Axpy,
    stream: &Arc<CudaStream>,
) {
    for round in 0..3 {
        let expected = eager(axpy, stream, &input(round));
        assert_same_bits(&ends.run(graph, &input(round)).unwrap(), &expected);
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn a_step_is_the_same_eager_and_captured() {
    let _present = require_device();
    let (stream, other) = (stream(), stream());
    let axpy = Axpy::load(stream.context());
    for policy in [Some(ArenaPolicy::Monotone), Some(ArenaPolicy::Linear), None] {
        let (session, ends) = Ends::of_session(&[&stream]).unwrap();
        let body = |capture: &Capture<'_>, (): &mut ()| ends.body(capture, &axpy);
        let probe = session.probe(&mut (), body).unwrap();
        // There are three blocks: two of the outer scope, and one that the inner scopes use in
        // turn.
        assert_eq!(probe.temporaries(), 3);
        assert_eq!(probe.footprint().peak, probe.footprint().sum, "blocks share nothing");
        let prepared = match policy {
            Some(policy) => session.prepare(arena(policy)),
            None => session.planned(&probe),
        };
        let mut graph: CapturedGraph = prepared.unwrap().capture((), body).unwrap();
        assert_eq!(graph.footprint(), probe.footprint(), "the prediction equals the capture");
        check_replays(&mut graph, &ends, &axpy, &other);
    }
}

/// Temporaries outside scopes share bytes with each other, but never with blocks of scopes.
#[test]
#[ignore = "needs a CUDA device"]
fn blocks_of_scopes_are_used_again_by_scopes_alone() {
    let _present = require_device();
    let stream = stream();
    let (session, ends) = Ends::of_session(&[&stream]).unwrap();
    let places = std::cell::RefCell::new(Vec::new());
    let body = |capture: &Capture<'_>, (): &mut ()| {
        let main = capture.main();
        let note = |address: u64| places.borrow_mut().push(address);
        for _ in 0..3 {
            let mut scratch = capture.acquire::<f64>(N)?;
            capture.copy(main, &mut scratch, &capture.block(&ends.from)?)?;
            capture.fill_bytes(main, &mut scratch, 0)?;
            note(scratch.address());
            drop(scratch);
            ends.with_views(capture, |scope, from, to| {
                let mut view = scope.try_acquire::<f64, _>(N)?;
                note(view.address());
                view.copy_from(*from)?;
                Ok(to.copy_from(view.as_view())?)
            })?;
        }
        Ok::<(), CaptureError>(())
    };
    let probe = session.probe(&mut (), body).unwrap();
    assert_eq!(probe.temporaries(), 4);
    places.take();
    let mut graph = session.planned(&probe).unwrap().capture((), body).unwrap();
    let found = places.take();
    let (temporaries, blocks): (Vec<_>, Vec<_>) =
        found.iter().enumerate().partition(|(place, _)| place % 2 == 0);
    let of = |found: Vec<(usize, &u64)>| found.into_iter().map(|(_, &at)| at).collect::<Vec<u64>>();
    let (temporaries, blocks) = (of(temporaries), of(blocks));
    assert!(blocks.iter().all(|&block| block == blocks[0]), "{blocks:x?}");
    // The first temporary was dropped before the block was allocated, so the two may share bytes.
    // The later temporaries use other bytes.
    assert_eq!(temporaries[1], temporaries[2]);
    assert!(temporaries[1].abs_diff(blocks[0]) >= BYTES);
    assert_same_bits(&ends.run(&mut graph, &input(5)).unwrap(), &input(5));
}

/// A block that is freed by growing a slot, or by a trim, is reused by the same pool.
#[test]
#[ignore = "needs a CUDA device"]
fn what_a_scope_frees_is_used_again_by_its_pool() {
    let _present = require_device();
    let stream = stream();
    let (session, _) = Ends::of_session(&[&stream]).unwrap();
    let addresses = std::cell::RefCell::new(Vec::new());
    let probe: Result<_, CaptureError> = session.probe(&mut (), |capture, ()| {
        for lengths in [&[31][..], &[63], &[63, 20], &[20, 63]] {
            capture.scope(capture.main(), |scope| {
                for &length in lengths {
                    addresses.borrow_mut().push(scope.try_acquire::<f64, _>(length)?.address());
                }
                Ok::<(), CaptureError>(())
            })?;
        }
        capture.scope(capture.main(), |scope| {
            assert_eq!(scope.trim().slots, 2);
            addresses.borrow_mut().push(scope.try_acquire::<f64, _>(20)?.address());
            Ok::<(), CaptureError>(())
        })
    });
    let probe = probe.unwrap();
    let addresses = addresses.into_inner();
    let (small, large) = (addresses[0], addresses[1]);
    // The second slot held the small block, and then needs a large one.
    assert_eq!(addresses[2..5], [large, small, large]);
    assert_eq!(addresses[6], small);
    assert_eq!(probe.temporaries(), 3);
    assert_eq!(probe.footprint().sum, 256 + 2 * 512);
}

#[test]
#[ignore = "needs a CUDA device"]
fn a_body_whose_scopes_take_something_else_diverges() {
    let _present = require_device();
    let stream = stream();
    let lengths = |lengths: &'static [usize]| {
        move |capture: &Capture<'_>, (): &mut ()| {
            capture.scope(capture.main(), |scope| {
                for &length in lengths {
                    scope.try_acquire_zeroed::<f64, _>(length)?;
                }
                Ok::<(), CaptureError>(())
            })
        }
    };
    for other in [&[1000, 3000][..], &[1000], &[1000, 2000, 100], &[2000, 1000]] {
        let (session, _) = Ends::of_session(&[&stream]).unwrap();
        let probe = session.probe(&mut (), lengths(&[1000, 2000])).unwrap();
        let left: Result<CapturedGraph, CaptureError> =
            session.planned(&probe).unwrap().capture((), lengths(other));
        assert!(matches!(left, Err(CaptureError::Diverged { .. })), "{other:?}: {left:?}");
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn a_stream_has_one_scope_at_a_time() {
    let _present = require_device();
    let (stream, side) = (stream(), stream());
    let axpy = Axpy::load(stream.context());
    let body = |capture: &Capture<'_>, ends: Ends| {
        let (main, branch) = (capture.main(), capture.branch(0)?);
        capture.scope(main, |outer| {
            let refused = capture.scope(main, |_| Ok::<(), CaptureError>(()));
            assert_eq!(refused, Err(CaptureError::ScopeOpen { stream: 0 }));
            let mut kept = outer.try_acquire_zeroed::<f64, _>(N)?;
            capture.scope(branch, |inner| {
                let mut view = inner.try_acquire_filled(N, 1.0_f64)?;
                view.fill_with_value(2.0)?;
                let stream = inner.context().stream();
                axpy.on_stream(stream, 1.0, &view.as_view(), &mut kept)
            })?;
            let mut to = capture.block(&ends.to)?;
            let mut to = capture.lend(main, &mut to)?;
            Ok::<(), CaptureError>(to.view_mut()?.copy_from(kept.as_view())?)
        })
    };
    let (mut graph, ends) = captured(&[&stream, &side], body).unwrap();
    assert_same_bits(&ends.run(&mut graph, &input(0)).unwrap(), &[2.0; N]);

    // The same with a plan: in the dry run both scopes are on one stream, whose capture is
    // discarded.
    let (session, ends) = Ends::of_session(&[&stream, &side]).unwrap();
    let body = |capture: &Capture<'_>, (): &mut ()| body(capture, ends);
    let probe = session.probe(&mut (), body).unwrap();
    let mut graph = session.planned(&probe).unwrap().capture((), body).unwrap();
    assert_same_bits(&ends.run(&mut graph, &input(0)).unwrap(), &[2.0; N]);
}

/// A view is used on the session's other stream, and later uses are ordered after that use.
#[test]
#[ignore = "needs a CUDA device"]
fn another_stream_of_the_session_uses_a_view() {
    let _present = require_device();
    let (stream, side, stranger) = (stream(), stream(), stream());
    let axpy = Axpy::load(stream.context());
    let body = |capture: &Capture<'_>, ends: Ends| {
        let branch = capture.branch(0)?;
        ends.with_views(capture, |scope, from, _| {
            let strange = from.on(&stranger).map(|_| ());
            assert!(matches!(strange, Err(CudaError::Capturing { .. })), "{strange:?}");
            for _ in 0..2 {
                let inner = scope.scope();
                let mut sum = inner.try_acquire_filled(N, 0.5_f64)?;
                // The first time, the branch is not yet part of the capture.
                axpy.on_stream(&side, 2.0, from, &mut sum)?;
            }
            Ok(())
        })?;
        // The model must record that the branch contains work that the model has not seen.
        let mut after = capture.acquire::<f64>((branch, N))?;
        capture.copy(branch, &mut after, &capture.block(&ends.from)?)?;
        capture.wait(capture.main(), branch)?;
        capture.copy(capture.main(), &mut capture.block(&ends.to)?, &after)
    };
    let (mut graph, ends) = captured(&[&stream, &side], body).unwrap();
    assert_same_bits(&ends.run(&mut graph, &input(1)).unwrap(), &input(1));

    // An arena that rewinds in call order does not allow a second stream.
    let (session, ends) = Ends::of_session(&[&stream, &side]).unwrap();
    let prepared = session.prepare(arena(ArenaPolicy::Linear)).unwrap();
    let forked: Result<CapturedGraph, CaptureError> =
        prepared.capture((), |capture, ()| body(capture, ends));
    let fork = CaptureError::Memory(GraphMemoryError::ForkedCapture { rewinds: 0 });
    assert_eq!(forked.expect_err("it forks"), fork);

    // A dry run does not capture this stream, so no work may be enqueued on it.
    let (session, ends) = Ends::of_session(&[&stream, &side]).unwrap();
    let dry: Result<_, CaptureError> =
        session.probe(&mut (), |capture, ()| body(capture, ends)).map(|_| ());
    assert!(matches!(dry, Err(CaptureError::Driver(CudaError::Capturing { .. }))), "{dry:?}");
}
