//! Attacks on captured graphs with nothing but safe functions, ours and cudarc's: each ends in a typed
//! error, and the checkers of the simulated driver have nothing to report.

use std::sync::Arc;

use cuda_sim_control::Settings;
use cudarc::driver::CudaStream;
use pool_core::Pool;
use pool_cuda::{Cuda, CudaError, DeviceStream};
use pool_graph::{
    ArenaPolicy, CUDAGraphMemoryPool, Capture, CaptureError, CaptureSession, CapturedGraph,
    CudaArena, DeviceMemory, Ended, GraphMemoryBlock, GraphMemoryError, GraphPoolConfig,
};

use crate::common::{
    BYTES, Made, NO_FLAGS, RELAXED, arena, memory, pool, stream, without_a_report,
};
use crate::support::{start, start_anew};

/// A block value from before, of bytes that lie in a leased block, is another name for these bytes.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_stale_block_value_is_not_what_was_leased() {
    without_a_report(|| {
        let (main, side, pool) = (stream(), stream(), pool());
        let parts = [(); 2].map(|()| pool.allocate(BYTES).unwrap());
        parts.iter().for_each(|part| pool.deallocate(part.id()).unwrap());
        let whole = pool.allocate(2 * BYTES).unwrap();
        assert_eq!(whole.device_pointer(), parts[0].device_pointer());
        let session = CaptureSession::new(&main).unwrap().branch(&side).unwrap();
        let session = session.lease(pool.lease(&[whole.id()]).unwrap());
        let graph: Made = session.prepare(arena()).unwrap().capture((), |capture, ()| {
            let side = capture.branch(0)?;
            for part in &parts {
                let refused = capture.block::<u8>(part).map(|_| ());
                assert!(matches!(refused, Err(CaptureError::NotLeased { .. })), "{refused:?}");
                if let Ok(mut part) = capture.block::<u8>(part) {
                    capture.fill_bytes(side, &mut part, 1)?;
                }
            }
            capture.fill_bytes(capture.main(), &mut capture.block::<u8>(&whole)?, 2)
        });
        let mut graph = graph.unwrap();
        assert!(matches!(graph.read(&parts[1], &mut [0_u8]), Err(CaptureError::NotLeased { .. })));
        graph.replay().unwrap();
        let mut bytes = vec![0_u8; 8192];
        graph.read(&whole, &mut bytes).unwrap();
        assert_eq!(bytes, [2; 8192]);
    });
}

/// Graphs on two streams that have one block, which one of them writes: nothing orders their runs.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_block_of_two_graphs_on_two_streams() {
    without_a_report(|| {
        let (streams, pool) = ([stream(), stream()], pool());
        let blocks = [(); 3].map(|()| pool.allocate(BYTES).unwrap());
        let captured = |stream: &Arc<CudaStream>, from: usize, to: usize| -> Made {
            let lease = pool.lease(&[blocks[from].id(), blocks[to].id()]).unwrap();
            let session = CaptureSession::new(stream).unwrap().lease(lease);
            session.prepare(arena()).unwrap().capture((), |capture, ()| {
                let from = capture.block::<u8>(&blocks[from])?;
                capture.copy(capture.main(), &mut capture.block(&blocks[to])?, &from)
            })
        };
        let mut first = captured(&streams[0], 0, 1).unwrap();
        for (from, to) in [(1, 2), (2, 0), (2, 1)] {
            let mut refused = captured(&streams[1], from, to);
            if let Ok(other) = &mut refused {
                first.replay().unwrap();
                other.replay().unwrap();
            }
            assert!(matches!(refused, Err(CaptureError::SharedBlock { .. })), "{refused:?}");
        }
        // What both only read is no hazard, until somebody writes it.
        first.write(&blocks[0], &[5_u8]).unwrap();
        let mut second = captured(&streams[1], 0, 2).unwrap();
        for graph in [&mut first, &mut second] {
            let refused = graph.write(&blocks[0], &[6_u8]);
            assert!(matches!(refused, Err(CaptureError::SharedBlock { .. })), "{refused:?}");
            graph.replay().unwrap();
        }
        let mut byte = [0_u8];
        second.read(&blocks[2], &mut byte).unwrap();
        assert_eq!(byte, [5]);
        drop(first);
        second.write(&blocks[0], &[6_u8]).unwrap();
        // On one stream, all is in a row.
        let _third = captured(&streams[1], 2, 0).unwrap();
    });
}

/// D2: an update whose body writes another block that is leased, or one that it only read: a graph of another
/// stream reads that one, and was told that nobody writes it.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn an_update_that_writes_another_block() {
    without_a_report(|| {
        let (streams, pool) = ([stream(), stream()], pool());
        let [x, y, z] = [(); 3].map(|()| pool.allocate(BYTES).unwrap());
        let fills = |capture: &Capture<'_>, to: &mut GraphMemoryBlock| {
            capture.fill_bytes(capture.main(), &mut capture.block::<u8>(to)?, 1)
        };
        let lease = pool.lease(&[x.id(), y.id()]).unwrap();
        let session = CaptureSession::new(&streams[0]).unwrap().lease(lease);
        let mut first = session.prepare(arena()).unwrap().capture(y, fills).unwrap();
        let reads = |capture: &Capture<'_>, writes: &mut bool| {
            let [mut x, mut z] = [capture.block::<u8>(&x)?, capture.block::<u8>(&z)?];
            let (to, from) = if *writes { (&mut x, &z) } else { (&mut z, &x) };
            capture.copy(capture.main(), to, from)
        };
        let lease = pool.lease(&[x.id(), z.id()]).unwrap();
        let session = CaptureSession::new(&streams[1]).unwrap().lease(lease);
        let mut second = session.prepare(arena()).unwrap().capture(false, reads).unwrap();
        *first.state().unwrap() = x;
        let refused = first.update(fills);
        first.replay().unwrap();
        second.replay().unwrap();
        assert!(matches!(refused, Err(CaptureError::Diverged { .. })), "{refused:?}");
        *second.state().unwrap() = true;
        let refused = second.update(reads);
        assert!(matches!(refused, Err(CaptureError::Diverged { .. })), "{refused:?}");
        first.replay().unwrap();
        second.replay().unwrap();
        for graph in [first.synchronize(), second.synchronize()] {
            graph.unwrap();
        }
    });
}

/// Safe calls of a device pool in the body, on the session's stream, or on one that was made to wait for
/// it: the pool's memory would be in the nodes of a graph that has no lease of it.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn work_by_hand_in_the_body_is_refused() {
    without_a_report(|| {
        for joined in [false, true] {
            let (main, side) = (stream(), stream());
            let by_hand = Arc::clone(if joined { &side } else { &main });
            let mut temporaries = Pool::<Cuda>::new(DeviceStream::given(by_hand).unwrap());
            // Now the block is there: no allocation comes into the capture.
            let _warm = temporaries.scope().try_acquire::<u8>(4096).unwrap().len();
            let session = CaptureSession::new(&main).unwrap();
            let made: Made = session.prepare(arena()).unwrap().capture((), |capture, ()| {
                let mut view = capture.acquire::<u8>(100)?;
                capture.fill_bytes(capture.main(), &mut view, 1)?;
                if joined {
                    side.join(&main)?;
                }
                let scope = temporaries.scope();
                scope.try_acquire::<u8>(4096).unwrap().fill(9)?;
                if joined {
                    main.join(&side)?;
                }
                Ok(())
            });
            assert!(matches!(made, Err(CaptureError::ForeignWork { .. })), "{made:?}");
        }
    });
}

/// While a scope is open, what comes onto its stream past the capture is known by the memory that it names;
/// what `enqueue` puts there is the caller's to answer for.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn memory_of_another_pool_in_a_scope_of_the_body_is_refused() {
    without_a_report(|| {
        for enqueued in [false, true] {
            let main = stream();
            let context = DeviceStream::given(Arc::clone(&main)).unwrap();
            let mut temporaries = Pool::<Cuda>::new(context);
            let _warm = temporaries.scope().try_acquire::<u8>(4096).unwrap().len();
            let session = CaptureSession::new(&main).unwrap();
            let made: Made = session.prepare(arena()).unwrap().capture((), |capture, ()| {
                capture.scope(capture.main(), |scope| {
                    scope.try_acquire::<u8>(100)?.fill(1)?;
                    let besides = temporaries.scope();
                    let mut view = besides.try_acquire::<u8>(4096)?;
                    if !enqueued {
                        return Ok(view.fill(9)?);
                    }
                    // SAFETY: the pool, and with it the block, is there until the graph is gone.
                    unsafe { capture.enqueue(capture.main(), &[], |_| Ok(view.fill(9)?)) }?;
                    scope.try_acquire::<u8>(100)?.fill(2)?;
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

/// Work that fails halfway has put something on the stream already, whatever the body makes of it.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn work_that_fails_halfway_has_used_its_memory() {
    without_a_report(|| {
        let (main, side) = (stream(), stream());
        let session = CaptureSession::new(&main).unwrap().branch(&side).unwrap();
        let body = |capture: &Capture<'_>, (): &mut ()| {
            let side = capture.branch(0)?;
            let mut first = capture.acquire_on::<u8>(side, 4096)?;
            let address = first.device_pointer();
            let half = |stream: &Arc<CudaStream>| {
                let stream = stream.cu_stream();
                // SAFETY: the bytes are those of the view, and the stream is live.
                unsafe { cudarc::driver::result::memset_d8_async(address, 1, 4096, stream) }?;
                Err(CaptureError::Driver(CudaError::WrongContext { ordinal: 7 }))
            };
            // SAFETY: it writes its view and nothing else, on this stream.
            let failed = unsafe { capture.enqueue(side, &[first.write()], half) };
            assert_eq!(failed.is_err(), !capture.is_dry());
            drop(first);
            let mut second = capture.acquire::<u8>(4096)?;
            capture.fill_bytes(capture.main(), &mut second, 2)
        };
        let probe: Result<_, CaptureError> = session.probe(&mut (), body);
        let probe = probe.unwrap();
        assert_eq!(probe.footprint().peak, 8192, "nothing orders the two");
        let graph: Made = session.planned(&probe).unwrap().capture((), body);
        let mut graph = graph.unwrap();
        assert_eq!(graph.verified().accesses, 2);
        graph.replay().unwrap();
        graph.synchronize().unwrap();
    });
}

/// The stream is captured by hand: what a graph does on it would be nodes of that capture, which has no
/// lease; and its runs cannot be waited for, so its state stays.
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
        // What had to stay goes with the next graph.
        let session = CaptureSession::new(&stream).unwrap().prepare(arena()).unwrap();
        drop(session.capture((), |_, ()| Ok::<(), CaptureError>(())).unwrap());
    });
}

/// What the host gave one graph is not the other one's.
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

/// A reset in the middle of a capture would hand the bytes of living views out again: the graph is refused.
/// What another handle of the arena returns stays the capture's.
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
                    assert_eq!(besides.deallocate(first.device_pointer()), Ended::Foreign);
                    let refused = besides.allocate(1);
                    assert!(matches!(refused, Err(GraphMemoryError::ArenaInUse { .. })));
                }
                let mut second = capture.acquire::<u8>(4096)?;
                assert_eq!(first.device_pointer() == second.device_pointer(), resets);
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

/// Another handle of an arena takes memory after the arena was given to a session, which would hand the same
/// bytes out again, with a lease that is good.
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
                assert_ne!(region.device_pointer(), view.device_pointer());
            }
            capture.fill_bytes(capture.main(), &mut view, 1)
        });
        assert!(matches!(refused, Err(GraphMemoryError::ArenaInUse { .. })), "{refused:?}");
        assert_eq!(second.deallocate(before.device_pointer()), Ended::Foreign);
        drop((made.unwrap(), prepared));
        // With the last of its graphs, the arena is its owner's again.
        assert_ne!(second.deallocate(before.device_pointer()), Ended::Foreign);
        assert!(second.allocate(4096).is_ok());
        second.clear(&stream).unwrap();
    });
}

/// Captures in a body, of another session on another stream; and of its own.
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

/// A lease of another device's block, in a session of this one.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_block_of_another_device() {
    let simulator = start();
    start_anew(simulator, Settings { devices: 2, ..Settings::default() }, 0);
    let elsewhere = DeviceMemory::new(&Cuda::device(1).unwrap());
    let config = GraphPoolConfig { initial: 0, maximum: u64::MAX };
    let pool = CUDAGraphMemoryPool::new(elsewhere, config);
    let block = pool.allocate(BYTES).unwrap();
    let session = CaptureSession::new(&stream()).unwrap();
    let session = session.lease(pool.lease(&[block.id()]).unwrap());
    let body = |capture: &Capture<'_>, (): &mut ()| capture.block::<u8>(&block).map(drop);
    let refused = CaptureError::WrongContext { session: 0, other: 1 };
    assert_eq!(session.probe(&mut (), body).map(drop), Err(refused.clone()));
    let prepared = session.prepare(arena()).unwrap();
    let made: Made = prepared.capture((), body);
    assert_eq!(made.map(drop), Err(refused.clone()));
    let graph: Made = prepared.capture((), |_, ()| Ok(()));
    let mut graph = graph.unwrap();
    assert_eq!(graph.write(&block, &[1_u8; 16]), Err(refused.clone()));
    assert_eq!(graph.read(&block, &mut [0_u8; 16]), Err(refused));
    simulator.assert_clean();
}
