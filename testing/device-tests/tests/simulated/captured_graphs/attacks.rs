//! Attacks on captured graphs with safe functions alone, ours and cudarc's: each ends in a typed
//! error, and the checkers of the simulated driver report nothing.

use std::sync::Arc;

use cudarc::driver::CudaStream;
use pool_core::{Pool, PoolViewMut};
use pool_cuda::{Cuda, CudaError, DeviceStream};
use pool_graph::{
    ArenaPolicy, Capture, CaptureError, CaptureSession, CapturedGraph, CudaArena, Deallocation,
    GraphMemoryBlock, GraphMemoryError,
};

use crate::common::{
    BYTES, Made, NO_FLAGS, RELAXED, arena, memory, pool, stream, without_a_report,
};

/// Safe calls of a device pool in the body, on the session's stream, or on one that waited for it.
/// They would put the pool's memory into the nodes of a graph without a lease of it.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn work_by_hand_in_the_body_is_refused() {
    without_a_report(|| {
        for joined in [false, true] {
            let (main, side) = (stream(), stream());
            let by_hand = Arc::clone(if joined { &side } else { &main });
            let mut temporaries = Pool::<Cuda>::new(DeviceStream::from_stream(by_hand).unwrap());
            // The block exists now, so no allocation enters the capture.
            let _warm = temporaries.scope().try_acquire::<u8, _>(4096).unwrap().len();
            let session = CaptureSession::new(&main).unwrap();
            let made: Made = session.prepare(arena()).unwrap().capture((), |capture, ()| {
                let mut view = capture.acquire::<u8>(100)?;
                capture.fill_bytes(capture.main(), &mut view, 1)?;
                if joined {
                    side.join(&main)?;
                }
                let scope = temporaries.scope();
                scope.try_acquire::<u8, _>(4096).unwrap().fill_with_value(9)?;
                if joined {
                    main.join(&side)?;
                }
                Ok(())
            });
            assert!(matches!(made, Err(CaptureError::ForeignWork { .. })), "{made:?}");
        }
    });
}

/// While a scope is open, foreign work on its stream is recognised by the memory in its nodes. The
/// caller of `enqueue` is responsible for its own work.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn memory_of_another_pool_in_a_scope_of_the_body_is_refused() {
    without_a_report(|| {
        for enqueued in [false, true] {
            let main = stream();
            let context = DeviceStream::from_stream(Arc::clone(&main)).unwrap();
            let mut temporaries = Pool::<Cuda>::new(context);
            let _warm = temporaries.scope().try_acquire::<u8, _>(4096).unwrap().len();
            let session = CaptureSession::new(&main).unwrap();
            let made: Made = session.prepare(arena()).unwrap().capture((), |capture, ()| {
                capture.scope(capture.main(), |scope| {
                    scope.try_acquire::<u8, _>(100)?.fill_with_value(1)?;
                    let besides = temporaries.scope();
                    let mut view = besides.try_acquire::<u8, _>(4096)?;
                    if !enqueued {
                        return Ok(view.fill_with_value(9)?);
                    }
                    // SAFETY: the pool, and with it the block, lives until the graph is dropped.
                    unsafe {
                        capture.enqueue(capture.main(), &[], |_| Ok(view.fill_with_value(9)?))
                    }?;
                    scope.try_acquire::<u8, _>(100)?.fill_with_value(2)?;
                    Ok::<(), CaptureError>(())
                })
            });
            match made {
                Ok(mut graph) if enqueued => graph.replay().and(graph.synchronize()).unwrap(),
                Err(CaptureError::ForeignMemory { bytes: 4096, .. }) if !enqueued => {}
                _ => panic!("{made:?}"),
            }
        }
    });
}

/// Work that fails halfway has already put nodes on the stream, and no later step of the body removes them.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn work_that_fails_halfway_has_used_its_memory() {
    without_a_report(|| {
        let (main, side) = (stream(), stream());
        let session = CaptureSession::new(&main).unwrap().branch(&side).unwrap();
        let body = |capture: &Capture<'_>, (): &mut ()| {
            let side = capture.branch(0)?;
            let mut first = capture.acquire::<u8>((side, 4096))?;
            let address = first.address();
            let half = |stream: &Arc<CudaStream>| {
                let stream = stream.cu_stream();
                // SAFETY: the bytes are those of the view, and the stream is live.
                unsafe { cudarc::driver::result::memset_d8_async(address, 1, 4096, stream) }?;
                Err(CaptureError::Driver(CudaError::WrongContext { ordinal: 7 }))
            };
            // SAFETY: it only writes its view, on this stream.
            let failed = unsafe { capture.enqueue(side, &[first.write()], half) };
            assert_eq!(failed.is_err(), !capture.is_dry());
            drop(first);
            let mut second = capture.acquire::<u8>(4096)?;
            capture.fill_bytes(capture.main(), &mut second, 2)
        };
        let probe: Result<_, CaptureError> = session.probe(&mut (), body);
        let probe = probe.unwrap();
        assert_eq!(probe.footprint().peak, 8192, "the two are not ordered");
        let graph: Made = session.planned(&probe).unwrap().capture((), body);
        let mut graph = graph.unwrap();
        assert_eq!(graph.verified().accesses, 2);
        graph.replay().unwrap();
        graph.synchronize().unwrap();
    });
}

/// The stream is captured explicitly. A graph's work on it would be nodes of that capture, which
/// has no lease. Its runs cannot be waited for, so its state stays.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_graph_whose_stream_is_captured_by_hand() {
    without_a_report(|| {
        let (stream, pool, state) = (stream(), pool(), Arc::new(()));
        let block = pool.allocate(BYTES).unwrap();
        let session = CaptureSession::new(&stream).unwrap();
        let session = session.lease(pool.lease(&[block.id()]).unwrap());
        let kept = Arc::clone(&state);
        let graph: Made<_> = session.prepare(arena()).unwrap().capture(kept, |capture, _| {
            capture.fill_bytes(capture.main(), &mut capture.block::<u8>(&block)?, 1)
        });
        let mut graph = graph.unwrap();
        graph.replay().unwrap();
        stream.begin_capture(RELAXED).unwrap();
        for (refused, operation) in [
            (graph.upload(), "be uploaded"),
            (graph.read(&block, &mut [0_u8]), "be read from"),
            (graph.write(&block, &[0_u8]), "be written to"),
            (graph.synchronize(), "be waited for"),
        ] {
            assert_eq!(refused, Err(CaptureError::Capturing { operation }));
        }
        let mut graph = graph.into_state().unwrap_err();
        drop(stream.end_capture(NO_FLAGS).unwrap());
        graph.replay().unwrap();
        let mut bytes = [0_u8; 4];
        graph.read(&block, &mut bytes).unwrap();
        assert_eq!(bytes, [1; 4]);

        graph.replay().unwrap();
        stream.begin_capture(RELAXED).unwrap();
        drop(graph);
        assert_eq!(Arc::strong_count(&state), 2, "a run may use it still");
        drop(stream.end_capture(NO_FLAGS).unwrap());
        // The kept state is dropped with the next graph.
        let session = CaptureSession::new(&stream).unwrap().prepare(arena()).unwrap();
        drop(session.capture((), |_, ()| Ok::<(), CaptureError>(())).unwrap());
    });
}

/// A host buffer belongs to one graph and not to another.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn an_argument_of_another_graph_is_refused() {
    without_a_report(|| {
        let stream = stream();
        let [mut one, mut other] = [(); 2].map(|()| {
            let session = CaptureSession::new(&stream).unwrap();
            let made: Made<_> =
                session.prepare(arena()).unwrap().capture(None, |capture, state| {
                    let mut view = capture.acquire::<u8>(8)?;
                    *state = Some(capture.copy_from_host(capture.main(), &mut view, &[1; 8])?);
                    Ok(())
                });
            made.unwrap()
        });
        let own = one.state().unwrap().unwrap();
        assert_eq!(one.set_argument(own, &[2_u8; 8]), Ok(()));
        let refused = other.set_argument(own, &[2_u8; 8]);
        assert!(matches!(refused, Err(CaptureError::NoSuchArgument { .. })), "{refused:?}");
    });
}

/// A reset in the middle of a capture would reuse the bytes of live views: the graph is refused. A
/// region that another handle of the arena returns stays with the capture.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn an_arena_that_is_reset_or_returned_to_in_the_body() {
    without_a_report(|| {
        for resets in [true, false] {
            let (stream, pool) = (stream(), pool());
            let output = pool.allocate(BYTES).unwrap();
            let arena = CudaArena::new(memory(), 1 << 16, ArenaPolicy::Linear).unwrap();
            arena.install(&stream).unwrap();
            let session = CaptureSession::new(&stream).unwrap();
            let session = session.lease(pool.lease(&[output.id()]).unwrap());
            let made: Made = session.prepare(arena).unwrap().capture((), |capture, ()| {
                let besides = CudaArena::on(&stream).unwrap();
                let mut first = capture.acquire::<u8>(4096)?;
                capture.fill_bytes(capture.main(), &mut first, 1)?;
                if resets {
                    besides.reset();
                } else {
                    assert_eq!(besides.deallocate(first.address()), Deallocation::Foreign);
                    let refused = besides.allocate(1);
                    assert!(matches!(refused, Err(GraphMemoryError::ArenaInUse { .. })));
                }
                let mut second = capture.acquire::<u8>(4096)?;
                assert_eq!(first.address() == second.address(), resets);
                capture.fill_bytes(capture.main(), &mut second, 2)?;
                capture.copy(capture.main(), &mut capture.block(&output)?, &first)
            });
            match made {
                Err(CaptureError::Memory(GraphMemoryError::StaleLease { .. })) if resets => {}
                Ok(mut graph) if !resets => {
                    graph.replay().unwrap();
                    let mut byte = [0_u8];
                    graph.read(&output, &mut byte).unwrap();
                    assert_eq!(byte, [1]);
                }
                _ => panic!("{made:?}"),
            }
            CudaArena::on(&stream).unwrap().clear(&stream).unwrap();
        }
    });
}

/// Another handle of an arena allocates after the arena was given to a session, which would reuse
/// the same bytes, under a valid lease.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_second_handle_takes_nothing_of_a_session() {
    without_a_report(|| {
        let (stream, arena) = (stream(), arena());
        arena.install(&stream).unwrap();
        let second = CudaArena::on(&stream).unwrap();
        let before = second.allocate(4096).unwrap();
        let prepared = CaptureSession::new(&stream).unwrap().prepare(arena).unwrap();
        let refused = second.allocate(4096);
        let made: Made = prepared.capture((), |capture, ()| {
            let mut view = capture.acquire::<u8>(4096)?;
            let taken = [Some(&before), refused.as_ref().ok()];
            for region in taken.into_iter().flatten() {
                assert_ne!(region.address(), view.address());
            }
            capture.fill_bytes(capture.main(), &mut view, 1)
        });
        assert!(matches!(refused, Err(GraphMemoryError::ArenaInUse { .. })), "{refused:?}");
        assert_eq!(second.deallocate(before.address()), Deallocation::Foreign);
        drop((made.unwrap(), prepared));
        // Once the last of its graphs is dropped, the arena is its owner's again.
        assert_ne!(second.deallocate(before.address()), Deallocation::Foreign);
        assert!(second.allocate(4096).is_ok());
        second.clear(&stream).unwrap();
    });
}

/// Captures in a body, of another session on another stream, and of the same session.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_capture_in_a_capture() {
    without_a_report(|| {
        let (outer, inner, pool) = (stream(), stream(), pool());
        let blocks = [(); 2].map(|()| pool.allocate(BYTES).unwrap());
        let session = |stream: &Arc<CudaStream>, block: &GraphMemoryBlock| {
            let session = CaptureSession::new(stream).unwrap();
            session.lease(pool.lease(&[block.id()]).unwrap()).prepare(arena()).unwrap()
        };
        let fill = |capture: &Capture<'_>, block: &GraphMemoryBlock, value| {
            let mut scratch = capture.acquire::<u8>(4096)?;
            capture.fill_bytes(capture.main(), &mut scratch, value)?;
            capture.copy(capture.main(), &mut capture.block(block)?, &scratch)
        };
        let graph: Made<Option<CapturedGraph>> =
            session(&outer, &blocks[0]).capture(None, |capture, state| {
                let inner: Made = session(&inner, &blocks[1]).capture((), |inner, ()| {
                    let foreign = capture.acquire::<u8>(1)?;
                    let mut own = inner.acquire::<u8>(1)?;
                    let refused = inner.copy(inner.main(), &mut own, &foreign);
                    assert_eq!(refused, Err(CaptureError::ForeignView));
                    fill(inner, &blocks[1], 2)
                });
                *state = Some(inner?);
                fill(capture, &blocks[0], 1)
            });
        let mut graph = graph.unwrap();
        graph.replay().unwrap();
        let mut inner = graph.into_state().unwrap().unwrap();
        inner.replay().unwrap();
        let mut byte = [0_u8];
        inner.read(&blocks[1], &mut byte).unwrap();
        assert_eq!(byte, [2]);
    });
}
