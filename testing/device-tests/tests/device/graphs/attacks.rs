//! Attempts to free a graph's memory, to run at the same time as another graph, or to use foreign
//! memory in a graph. Each is refused, on any device.

use std::sync::Barrier;

use pool_core::error_chain;
use pool_graph::{
    ArenaPolicy, Capture, CaptureError, CaptureMode, CaptureSession, CapturedGraph, CudaArena,
    GraphMemoryError, Probe,
};

use crate::graphs::{BYTES, arena, captured, pool, prepared, runs, stream, through};
use crate::{memory, require_device};

type Made<S = ()> = Result<CapturedGraph<S>, CaptureError>;

#[test]
#[ignore = "needs a CUDA device"]
fn a_graph_replays_after_trim_reset_and_disposal() {
    let _present = require_device();
    let (stream, pool) = (stream(), pool());
    let (mut graph, blocks) = captured(&stream, &pool);
    runs(&mut graph, blocks, 1);
    assert_eq!(pool.trim().unwrap(), 0, "its chunk is the graph's");
    assert_eq!(pool.reset().unwrap().leased, 2);
    runs(&mut graph, blocks, 2);
    assert!(pool.dispose().kept_bytes > 0);
    runs(&mut graph, blocks, 3);
    drop(pool);
    runs(&mut graph, blocks, 4);
    assert_eq!(memory().take_pending_error(), None);
}

/// An arena of a session cannot be used in another session, through any handle. Graphs can share it
/// only on the stream of its graph.
#[test]
#[ignore = "needs a CUDA device"]
fn two_graphs_of_one_arena_never_run_at_once() {
    let _present = require_device();
    let (own, other, pool) = (stream(), stream(), pool());
    let arena = arena();
    arena.install(&own).unwrap();
    let handles = [(); 3].map(|()| CudaArena::on(&own).unwrap());
    let session = CaptureSession::new(&own).unwrap().prepare(arena).unwrap();
    let [second, third, cleared] = handles;
    for (stream, handle) in [(&own, second), (&other, third)] {
        let refused = CaptureSession::new(stream).unwrap().prepare(handle);
        assert!(matches!(refused, Err(CaptureError::ArenaInUse { .. })));
    }
    cleared.clear(&own).unwrap();
    let body = |capture: &Capture<'_>, (): &mut ()| {
        let mut scratch = capture.acquire::<u8>(100)?;
        capture.fill_bytes(capture.main(), &mut scratch, 1)
    };
    let graph: Made = session.capture((), body);
    let graph = graph.unwrap();
    let elsewhere = CaptureSession::new(&other).unwrap();
    let probe: Result<Probe, CaptureError> = elsewhere.probe(&mut (), body);
    let refused = elsewhere.beside(&graph, &probe.unwrap());
    assert!(matches!(refused, Err(CaptureError::AnotherStream { .. })));
    drop((graph, session, pool));
    drop(CaptureSession::new(&other).unwrap().prepare(cleared).unwrap());
}

/// Each of two threads captures and, in its body, drops the graph on the other thread's stream.
#[test]
#[ignore = "needs a CUDA device"]
fn each_capture_drops_the_graph_of_the_other_s_stream() {
    let _present = require_device();
    for mode in [CaptureMode::Global, CaptureMode::ThreadLocal, CaptureMode::Relaxed] {
        let (streams, pool) = ([stream(), stream()], pool());
        let [(first, _), (second, _)] = streams.each_ref().map(|stream| captured(stream, &pool));
        // Calls that wait for the whole device come first.
        let sessions = streams.each_ref().map(|stream| {
            let blocks = [(); 2].map(|()| pool.allocate(BYTES as u64).unwrap());
            let lease = pool.lease(&blocks.map(|block| block.id())).unwrap();
            let session = CaptureSession::new(stream).unwrap().lease(lease).mode(mode);
            (session.prepare(arena()).unwrap(), blocks)
        });
        let parts = sessions.into_iter().zip([second, first]);
        let barrier = Barrier::new(2);
        std::thread::scope(|scope| {
            for (value, ((session, blocks), others)) in (1..).zip(parts) {
                let barrier = &barrier;
                scope.spawn(move || {
                    barrier.wait();
                    let graph: Made = session.capture((), |capture, ()| {
                        barrier.wait();
                        drop(others);
                        barrier.wait();
                        through(capture, blocks)?;
                        barrier.wait();
                        Ok(())
                    });
                    barrier.wait();
                    runs(&mut graph.unwrap(), blocks, value);
                });
            }
        });
    }
}

/// One thread replays on a stream while another thread captures the stream repeatedly. Each replay
/// is refused or executed, and none becomes part of a capture.
#[test]
#[ignore = "needs a CUDA device"]
fn replays_and_captures_of_one_stream_on_two_threads() {
    let _present = require_device();
    let (stream, pool) = (stream(), pool());
    let (mut graph, blocks) = captured(&stream, &pool);
    let captures: Vec<_> = (0..20).map(|_| prepared(&stream, &pool)).collect();
    let over = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        let (graph, over) = (&mut graph, &over);
        scope.spawn(move || {
            while !over.load(std::sync::atomic::Ordering::Relaxed) {
                for answer in [graph.replay(), graph.synchronize()] {
                    let may_be = matches!(answer, Ok(()) | Err(CaptureError::Capturing { .. }));
                    assert!(may_be, "{answer:?}");
                }
            }
        });
        let made: Vec<Made> = captures
            .into_iter()
            .map(|(session, blocks)| {
                session.capture((), |capture, ()| {
                    std::thread::yield_now();
                    through(capture, blocks)
                })
            })
            .collect();
        over.store(true, std::sync::atomic::Ordering::Relaxed);
        for graph in made {
            assert_eq!(graph.unwrap().verified().accesses, 2);
        }
    });
    runs(&mut graph, blocks, 9);
}

/// A graph is dropped on one thread while another thread captures its stream. The graph's state is
/// dropped once its runs are over.
#[test]
#[ignore = "needs a CUDA device"]
fn a_graph_that_ends_while_its_stream_is_captured() {
    let _present = require_device();
    let (stream, pool) = (stream(), pool());
    let (mut old, _) = captured(&stream, &pool);
    let (session, blocks) = prepared(&stream, &pool);
    old.replay().unwrap();
    let graph: Made = session.capture((), |capture, ()| {
        std::thread::spawn(move || old.into_state().unwrap()).join().unwrap();
        through(capture, blocks)
    });
    runs(&mut graph.unwrap(), blocks, 3);
}

/// Bodies forget views, and catch a panic in their own work.
#[test]
#[ignore = "needs a CUDA device"]
fn bodies_that_forget_and_catch() {
    let _present = require_device();
    let (stream, pool) = (stream(), pool());
    let (session, blocks) = prepared(&stream, &pool);
    let graph: Made = session.capture((), |capture, ()| {
        std::mem::forget(capture.acquire::<u64>(16)?);
        std::mem::forget(capture.block::<u8>(&blocks[0])?);
        let panics = || {
            let work = |_: &_| panic!("as it should");
            // SAFETY: the closure enqueues no work on the stream.
            unsafe { capture.enqueue(capture.main(), &[], work) }
        };
        let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(panics));
        assert!(caught.is_err());
        through(capture, blocks)
    });
    let found = graph.map(drop);
    assert!(matches!(found, Err(CaptureError::Invalidated { .. })), "{found:?}");
    let (mut graph, blocks) = captured(&stream, &pool);
    runs(&mut graph, blocks, 6);
}

/// A dry run, which no memory limits, requests more bytes than the address space contains.
#[test]
#[ignore = "needs a CUDA device"]
fn dry_runs_of_more_than_there_are_addresses() {
    let _present = require_device();
    let session = CaptureSession::new(&stream()).unwrap();
    for (elements, count) in [(1 << 62, 2), (1 << 62, 3), (1 << 61, 8), (usize::MAX, 1)] {
        let probe = session.probe(&mut (), |capture, ()| {
            let mut views = Vec::new();
            for _ in 0..count {
                let mut view = capture.acquire::<u8>(elements)?;
                capture.fill_bytes(capture.main(), &mut view, 1)?;
                views.push(view);
            }
            Ok(())
        });
        match probe {
            Ok(probe) => assert_eq!(probe.footprint().peak, elements as u64 * count),
            Err(error) => assert!(
                matches!(error, CaptureError::SizeOverflow { .. } | CaptureError::Plan(_)),
                "{}",
                error_chain(&error)
            ),
        }
    }
    let empty = session.probe(&mut (), |capture, ()| {
        (0..3).try_for_each(|_| capture.acquire::<[u8; 0]>(usize::MAX).map(drop))
    });
    let empty: Result<Probe, CaptureError> = empty;
    assert_eq!(empty.unwrap().temporaries(), 3);
}

/// A body differs from the probed one in the number, order or size of its temporaries.
#[test]
#[ignore = "needs a CUDA device"]
fn a_probe_of_another_body() {
    let _present = require_device();
    let stream = stream();
    let session = || CaptureSession::new(&stream).unwrap();
    let fill = |sizes: &'static [usize]| {
        move |capture: &Capture<'_>, (): &mut ()| {
            for &size in sizes {
                let mut view = capture.acquire::<u8>(size)?;
                capture.fill_bytes(capture.main(), &mut view, 1)?;
            }
            Ok(())
        }
    };
    let probe: Result<Probe, CaptureError> = session().probe(&mut (), fill(&[256, 512]));
    let probe = probe.unwrap();
    for (sizes, step) in [(&[512][..], 1), (&[256], 3), (&[256, 512, 1], 5), (&[256, 1024], 3)] {
        let made: Made = session().planned(&probe).unwrap().capture((), fill(sizes));
        let diverged = CaptureError::Diverged { step, planned: 4 };
        assert_eq!(made.map(|_| ()), Err(diverged), "{sizes:?}");
    }
    // Temporaries that are not in the plan need fresh bytes, but an arena of the plan's size has
    // none.
    let fresh = probe.on_divergence(pool_graph::Divergence::FreshBytes);
    let made: Made = session().planned(&fresh).unwrap().capture((), fill(&[512, 512]));
    assert!(
        matches!(made, Err(CaptureError::Memory(GraphMemoryError::ArenaExhausted { .. }))),
        "{made:?}"
    );
}

/// An arena belongs to one stream and can be used from any thread. Dropping a handle leaves the
/// arena installed.
#[test]
#[ignore = "needs a CUDA device"]
fn an_installed_arena_that_is_dropped_and_cleared_by_others() {
    let _present = require_device();
    let (own, other) = (stream(), stream());
    let arena = CudaArena::new(memory(), 4096, ArenaPolicy::Monotone).unwrap();
    let region = arena.allocate(100).unwrap();
    arena.install(&own).unwrap();
    drop(arena);
    std::thread::scope(|scope| {
        let of_others = scope.spawn(|| {
            let again = CudaArena::new(memory(), 4096, ArenaPolicy::Monotone).unwrap();
            let refused = again.install(&own);
            assert!(matches!(refused, Err(GraphMemoryError::AlreadyInstalled { .. })));
            let refused = again.clear(&own);
            assert!(matches!(refused, Err(GraphMemoryError::NotInstalled { .. })));
            let found = CudaArena::on(&own).unwrap();
            assert!(found.contains(region.address(), 100));
            let refused = found.install(&other);
            assert!(matches!(refused, Err(GraphMemoryError::AlreadyInstalled { .. })));
            found.clear(&own).unwrap();
            assert!(CudaArena::on(&own).is_none());
            let refused = found.clear(&own);
            assert!(matches!(refused, Err(GraphMemoryError::NotInstalled { .. })));
        });
        of_others.join().unwrap();
    });
}
