//! Bodies that end a capture explicitly, with a safe call of cudarc. With the resulting graph,
//! other code could run the work at any time, on memory that has been reused by then.

use std::sync::Arc;

use cuda_sim_control::Settings;
use pool_core::PoolViewMut;
use pool_graph::{Capture, CaptureError, CaptureSession, Probe};

use crate::common::{BYTES, Made, NO_FLAGS, RELAXED, arena, pool, stream, without_a_report};

/// D7: the body ends the capture explicitly, but receives no graph. The stream stays captured until
/// the session's capture ends, so no work executes outside the capture. The next capture uses the
/// same memory.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_capture_that_its_body_ends_by_hand() {
    without_a_report(|| {
        let stream = stream();
        let prepared = CaptureSession::new(&stream).unwrap().prepare(arena()).unwrap();
        let ended: Made = prepared.capture((), |capture, ()| {
            let mut view = capture.acquire::<u8>(100)?;
            capture.fill_bytes(capture.main(), &mut view, 1)?;
            assert!(stream.end_capture(NO_FLAGS).is_err(), "it did not begin on this stream");
            // Another capture cannot begin in its place either.
            assert!(stream.begin_capture(RELAXED).is_err());
            let refused = capture.fill_bytes(capture.main(), &mut view, 1);
            assert!(matches!(refused, Err(CaptureError::Invalidated { .. })), "{refused:?}");
            Ok(())
        });
        assert!(matches!(ended, Err(CaptureError::Invalidated { .. })), "{ended:?}");
        let next: Made = prepared.capture((), |capture, ()| {
            capture.fill_bytes(capture.main(), &mut capture.acquire::<u8>(100)?, 1)
        });
        next.unwrap().replay().unwrap();
        stream.synchronize().unwrap();
    });
}

/// The work captured so far writes a block that a graph on another stream reads.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_graph_that_was_ended_by_hand_shares_no_block() {
    without_a_report(|| {
        let (streams, pool) = ([stream(), stream()], pool());
        let [x, z] = [(); 2].map(|()| pool.allocate(BYTES).unwrap());
        let lease = pool.lease(&[x.id()]).unwrap();
        let session = CaptureSession::new(&streams[0]).unwrap().lease(lease);
        let mut stolen = None;
        let failed: Made = session.prepare(arena()).unwrap().capture((), |capture, ()| {
            capture.fill_bytes(capture.main(), &mut capture.block::<u8>(&x)?, 1)?;
            stolen = streams[0].end_capture(NO_FLAGS).ok().flatten();
            Ok(())
        });
        assert!(failed.is_err());
        let lease = pool.lease(&[x.id(), z.id()]).unwrap();
        let session = CaptureSession::new(&streams[1]).unwrap().lease(lease);
        let reads: Made = session.prepare(arena()).unwrap().capture((), |capture, ()| {
            capture.copy(capture.main(), &mut capture.block::<u8>(&z)?, &capture.block(&x)?)
        });
        if let Some(stolen) = &stolen {
            stolen.launch().unwrap();
        }
        let mut reads = reads.unwrap();
        reads.replay().unwrap();
        reads.synchronize().unwrap();
    });
}

/// A scope on a branch continues after the end. Its work must not run at the same time as a graph
/// of the same arena. This holds for another graph and, after a failed update, for the graph
/// itself.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_branch_goes_on_after_the_end() {
    without_a_report(|| {
        let (main, side) = (stream(), stream());
        let session = CaptureSession::new(&main).unwrap().branch(&side).unwrap();
        let prepared = session.prepare(arena()).unwrap();
        let body = |capture: &Capture<'_>, ends: &mut bool| {
            capture.scope(capture.branch(0)?, |scope| {
                let mut view = scope.try_acquire_zeroed::<u8, _>(4096)?;
                if *ends {
                    assert!(main.end_capture(NO_FLAGS).is_err());
                    assert!(view.fill_with_value(2).is_err(), "it would run at once");
                }
                Ok::<(), CaptureError>(view.fill_with_value(2)?)
            })
        };
        let mut good = prepared.capture(false, body).unwrap();
        assert!(prepared.capture(true, body).is_err());
        good.replay().unwrap();
        *good.state().unwrap() = true;
        assert!(good.update(body).is_err());
        good.replay().unwrap();
        good.synchronize().unwrap();
    });
}

/// D8: the stream of a dry run is exposed, and its addresses refer to no memory.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn the_stream_of_a_dry_run_is_ended_by_hand() {
    without_a_report(|| {
        let session = CaptureSession::new(&stream()).unwrap();
        let probe: Result<Probe, CaptureError> = session.probe(&mut (), |capture, ()| {
            capture.scope(capture.main(), |scope| {
                let mut view = scope.try_acquire::<u8, _>(1000)?;
                let dry = Arc::clone(scope.context().stream());
                if dry.memset_zeros(&mut view).is_err() {
                    // A driver may check the address during the capture.
                    assert!(Settings::default().other_answers);
                }
                let graph = dry.end_capture(NO_FLAGS);
                if let Ok(Some(graph)) = &graph {
                    graph.launch()?;
                    dry.synchronize()?;
                }
                assert!(graph.is_err(), "it did not begin on this stream");
                assert!(dry.memset_zeros(&mut view).is_err(), "it would run at once");
                Ok::<(), CaptureError>(())
            })
        });
        assert_eq!(probe.unwrap().temporaries(), 1);
    });
}
