//! A captured graph owns its memory, and operations that would release this memory fail.

use std::sync::Arc;

use cudarc::driver::CudaStream;
use pool_core::error_chain;
use pool_cuda::Cuda;
use pool_graph::{
    ArenaPolicy, CUDAGraphMemoryPool, Capture, CaptureError, CaptureMode, CaptureSession,
    CapturedGraph, CudaArena, GraphMemoryBlock, GraphMemoryError, GraphPoolConfig, PreparedCapture,
};

use crate::{memory, require_device};

pub(crate) const BYTES: usize = 4096;

pub(crate) fn stream() -> Arc<CudaStream> {
    Cuda::device(0).unwrap().context().new_stream().unwrap()
}

pub(crate) fn pool() -> CUDAGraphMemoryPool {
    CUDAGraphMemoryPool::with_config(memory(), GraphPoolConfig { initial: 0, maximum: u64::MAX })
}

pub(crate) fn arena() -> CudaArena {
    CudaArena::new(memory(), 1 << 16, ArenaPolicy::Monotone).unwrap()
}

/// Returns a prepared session with an arena, on a stream and two blocks of a pool.
pub(crate) fn prepared(
    stream: &Arc<CudaStream>,
    pool: &CUDAGraphMemoryPool,
) -> (PreparedCapture, [GraphMemoryBlock; 2]) {
    let blocks = [pool.allocate(BYTES as u64).unwrap(), pool.allocate(BYTES as u64).unwrap()];
    let lease = pool.lease(&blocks.map(|block| block.id())).unwrap();
    let session = CaptureSession::new(stream).unwrap().lease(lease);
    (session.prepare(arena()).unwrap(), blocks)
}

/// Copies one block to another through a temporary.
pub(crate) fn through(
    capture: &Capture<'_>,
    blocks: [GraphMemoryBlock; 2],
) -> Result<(), CaptureError> {
    let main = capture.main();
    let mut scratch = capture.acquire::<u8>(BYTES)?;
    capture.copy(main, &mut scratch, &capture.block(&blocks[0])?)?;
    capture.copy(main, &mut capture.block(&blocks[1])?, &scratch)
}

pub(crate) fn captured(
    stream: &Arc<CudaStream>,
    pool: &CUDAGraphMemoryPool,
) -> (CapturedGraph, [GraphMemoryBlock; 2]) {
    let (prepared, blocks) = prepared(stream, pool);
    let graph = prepared.capture((), |capture, ()| through(capture, blocks));
    (graph.unwrap_or_else(|error: CaptureError| panic!("{}", error_chain(&error))), blocks)
}

pub(crate) fn runs<S>(graph: &mut CapturedGraph<S>, blocks: [GraphMemoryBlock; 2], value: u8) {
    graph.write(&blocks[0], &[value; BYTES]).unwrap();
    graph.replay().unwrap();
    let mut bytes = [0; BYTES];
    graph.read(&blocks[1], &mut bytes).unwrap();
    assert!(bytes.iter().all(|&byte| byte == value), "{} is not {value}", bytes[0]);
}

#[test]
#[ignore = "needs a CUDA device"]
fn a_graph_outlives_pool_arena_stream_and_context() {
    let _present = require_device();
    let (mut graph, blocks) = {
        let (stream, pool) = (stream(), pool());
        captured(&stream, &pool)
    };
    graph.upload().unwrap();
    for value in 1..20 {
        runs(&mut graph, blocks, value);
    }
    std::thread::spawn(move || runs(&mut graph, blocks, 99)).join().unwrap();
}

#[test]
#[ignore = "needs a CUDA device"]
fn a_leased_block_is_neither_handed_out_nor_returned() {
    let _present = require_device();
    let (stream, pool) = (stream(), pool());
    let (mut graph, blocks) = captured(&stream, &pool);
    for block in blocks {
        let refused = pool.deallocate(block.id());
        assert!(matches!(refused, Err(GraphMemoryError::LeasedBlock { leases: 1, .. })));
    }
    assert_eq!(pool.reset().unwrap().leased, 2);
    let other = pool.allocate(BYTES as u64).unwrap();
    assert!(blocks.iter().all(|block| block.address() != other.address()));
    runs(&mut graph, blocks, 5);
    let foreign = graph.write(&other, &[1_u8]);
    assert!(matches!(foreign, Err(CaptureError::NotLeased { bytes: 1, .. })));
    assert!(matches!(
        graph.read(&blocks[0], &mut [0_u8; BYTES + 1]),
        Err(CaptureError::NotLeased { .. })
    ));
}

#[test]
#[ignore = "needs a CUDA device"]
fn a_reset_arena_stops_its_graph() {
    let _present = require_device();
    let (stream, pool) = (stream(), pool());
    let (blocks, lease, session) = {
        let blocks = [pool.allocate(BYTES as u64).unwrap(), pool.allocate(BYTES as u64).unwrap()];
        let lease = pool.lease(&blocks.map(|block| block.id())).unwrap();
        (blocks, lease, CaptureSession::new(&stream).unwrap())
    };
    let arena = arena();
    arena.install(&stream).unwrap();
    let second = CudaArena::on(&stream).unwrap();
    let third = CudaArena::on(&stream).unwrap();
    let prepared = session.lease(lease).prepare(arena).unwrap();
    let mut graph: CapturedGraph = prepared
        .capture((), |capture, ()| through(capture, blocks))
        .unwrap_or_else(|error: CaptureError| panic!("{}", error_chain(&error)));
    runs(&mut graph, blocks, 1);
    // Another holder of the arena cannot capture with it …
    let shared = CaptureSession::new(&stream).unwrap().prepare(second);
    assert!(matches!(shared, Err(CaptureError::ArenaInUse { .. })));
    // … and a reset is detected.
    third.reset();
    for refused in [graph.replay(), graph.upload()] {
        let stale = GraphMemoryError::StaleLease { leased: 0, current: 1 };
        assert_eq!(refused, Err(CaptureError::Memory(stale)));
    }
    third.clear(&stream).unwrap();
    drop((graph, prepared));
    // Once the graph and its sources are dropped, the arena is free.
    drop(CaptureSession::new(&stream).unwrap().prepare(third).unwrap());
}

#[test]
#[ignore = "needs a CUDA device"]
fn a_body_that_fails_or_panics_leaves_the_streams_usable() {
    let _present = require_device();
    let (stream, branch, pool) = (stream(), stream(), pool());
    for mode in [CaptureMode::Global, CaptureMode::ThreadLocal, CaptureMode::Relaxed] {
        for panics in [false, true] {
            let session = CaptureSession::new(&stream).unwrap().branch(&branch).unwrap();
            let prepared = session.mode(mode).prepare(arena()).unwrap();
            let body = |capture: &Capture<'_>, (): &mut ()| -> Result<(), CaptureError> {
                let side = capture.branch(0)?;
                let mut view = capture.acquire::<u8>((side, 100))?;
                capture.fill_bytes(side, &mut view, 1)?;
                capture.fill_bytes(capture.main(), &mut view, 2)?;
                capture.fill_bytes(side, &mut view, 3)?;
                assert!(!panics, "as it should");
                capture.branch(7)?;
                Ok(())
            };
            let run = std::panic::AssertUnwindSafe(|| prepared.capture((), body));
            match std::panic::catch_unwind(run) {
                Ok(answer) => {
                    let refused = CaptureError::NoSuchBranch { asked: 7, branches: 1 };
                    assert_eq!(answer.map(|_: CapturedGraph| ()), Err(refused));
                }
                Err(_) => assert!(panics),
            }
            for stream in [&stream, &branch] {
                stream.synchronize().unwrap();
                let (mut graph, blocks) = captured(stream, &pool);
                runs(&mut graph, blocks, 3);
            }
        }
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn what_cannot_be_captured_is_refused_by_name() {
    let _present = require_device();
    let (stream, pool) = (stream(), pool());
    let device = Cuda::device(0).unwrap();
    for default in [device.context().default_stream(), device.context().per_thread_stream()] {
        let refused = CaptureSession::new(&default).map(drop);
        assert_eq!(refused, Err(CaptureError::DefaultStream));
    }
    let twice = CaptureSession::new(&stream).unwrap().branch(&stream);
    assert!(matches!(twice, Err(CaptureError::StreamTwice { .. })));

    let (mut graph, blocks) = captured(&stream, &pool);
    let (prepared, _) = prepared(&stream, &pool);
    let unleased = pool.allocate(256).unwrap();
    let made: Result<CapturedGraph, CaptureError> = prepared.capture((), |capture, ()| {
        // The other graph's stream is captured: none of that graph's work may become part of the
        // capture.
        for (refused, operation) in [
            (graph.replay(), "be replayed"),
            (graph.upload(), "be uploaded"),
            (graph.read(&blocks[1], &mut [0_u8]), "be read from"),
            (graph.write(&blocks[1], &[0_u8]), "be written to"),
            (graph.synchronize(), "be waited for"),
        ] {
            assert_eq!(refused, Err(CaptureError::Capturing { operation }));
        }
        let session = CaptureSession::new(&stream)?.prepare(arena())?;
        let nested: Result<CapturedGraph, CaptureError> = session.capture((), |_, ()| Ok(()));
        assert!(matches!(nested, Err(CaptureError::AlreadyCapturing { .. })));
        let foreign = capture.block::<u8>(&unleased).map(|_| ());
        assert!(matches!(foreign, Err(CaptureError::NotLeased { bytes: 256, .. })));
        let full = capture.acquire::<u8>(1 << 17).map(|_| ());
        assert!(matches!(full, Err(CaptureError::Memory(GraphMemoryError::ArenaExhausted { .. }))));
        let huge = capture.acquire::<u64>(usize::MAX / 2).map(|_| ());
        assert!(matches!(huge, Err(CaptureError::SizeOverflow { size: 8, .. })));
        let (mut one, two) = (capture.acquire::<u8>(1)?, capture.acquire::<u8>(2)?);
        let lengths = capture.copy(capture.main(), &mut one, &two);
        assert_eq!(lengths, Err(CaptureError::LengthMismatch { from: 2, to: 1 }));
        capture.fill_bytes(capture.main(), &mut one, 1)
    });
    drop(made.unwrap());
    runs(&mut graph, blocks, 8);
}

#[test]
#[ignore = "needs a CUDA device"]
fn a_graph_with_memory_nodes_is_refused() {
    let _present = require_device();
    let (stream, pool) = (stream(), pool());
    let (session, _) = prepared(&stream, &pool);
    let made: Result<CapturedGraph, CaptureError> = session.capture((), |capture, ()| {
        let allocate = |stream: &Arc<CudaStream>| {
            let stream = stream.cu_stream();
            // SAFETY: no work uses the allocation.
            let address = unsafe { cudarc::driver::result::malloc_async(stream, 4096) }?;
            // SAFETY: the address was allocated in this graph.
            Ok(unsafe { cudarc::driver::result::free_async(address, stream) }?)
        };
        // SAFETY: the work reads and writes no memory.
        unsafe { capture.enqueue(capture.main(), &[], allocate) }
    });
    let error = made.expect_err("it has memory nodes");
    assert_eq!(error, CaptureError::MemoryNodes { nodes: 2 });
    assert!(error.to_string().contains("acquire the memory from the capture"));
}

/// The addresses in nodes reveal work outside the declared views.
#[test]
#[ignore = "needs a CUDA device"]
fn work_outside_of_its_views_is_refused() {
    let _present = require_device();
    let (stream, pool) = (stream(), pool());
    let (session, _) = prepared(&stream, &pool);
    let made: Result<CapturedGraph, CaptureError> = session.capture((), |capture, ()| {
        let mut view = capture.acquire::<u8>(256)?;
        let behind = view.address() + 256;
        let stray = |stream: &Arc<CudaStream>| {
            let stream = stream.cu_stream();
            // SAFETY: the arena contains the byte, and the graph never runs.
            Ok(unsafe { cudarc::driver::result::memset_d8_async(behind, 1, 1, stream) }?)
        };
        // SAFETY: the declaration is wrong on purpose, and the graph never runs.
        unsafe { capture.enqueue(capture.main(), &[view.write()], stray) }
    });
    let error = made.expect_err("it strays");
    let text = error_chain(&error).to_string();
    assert!(text.contains("1 bytes at offset 256"), "{text}");
}

#[test]
#[ignore = "needs a CUDA device"]
fn arguments_of_the_host_change_between_replays() {
    let _present = require_device();
    let (stream, pool) = (stream(), pool());
    let (session, blocks) = prepared(&stream, &pool);
    let capture = |capture: &Capture<'_>, argument: &mut Option<_>| {
        let mut scratch = capture.acquire::<u8>(BYTES)?;
        let numbers = vec![4_u8; BYTES];
        *argument = Some(capture.copy_from_host(capture.main(), &mut scratch, &numbers)?);
        capture.copy(capture.main(), &mut capture.block(&blocks[1])?, &scratch)
    };
    let graph: Result<CapturedGraph<_>, CaptureError> = session.capture(None, capture);
    let mut graph = graph.unwrap();
    let argument = graph.state().unwrap().unwrap();
    for value in [4_u8, 5, 6] {
        graph.set_argument(argument, &[value; BYTES]).unwrap();
        graph.replay().unwrap();
        let mut bytes = [0; BYTES];
        graph.read(&blocks[1], &mut bytes).unwrap();
        assert!(bytes.iter().all(|&byte| byte == value), "{} is not {value}", bytes[0]);
    }
    let short = graph.set_argument(argument, &[1_u8]);
    assert_eq!(short, Err(CaptureError::NoSuchArgument { asked: 0, arguments: 1 }));
    assert_eq!(graph.into_state().unwrap(), Some(argument));
}

/// Two threads capture at the same time and drop graphs during the captures, without affecting each
/// other.
#[test]
#[ignore = "needs a CUDA device"]
fn two_captures_at_once_on_two_threads() {
    let _present = require_device();
    for mode in [CaptureMode::Global, CaptureMode::ThreadLocal, CaptureMode::Relaxed] {
        // Calls that wait for the whole device, such as creating a stream, come first.
        let parts = [10, 20].map(|value| {
            let (own, pool, past) = (stream(), pool(), stream());
            let (old, _) = captured(&past, &pool);
            let blocks = [(); 2].map(|()| pool.allocate(BYTES as u64).unwrap());
            let lease = pool.lease(&blocks.map(|block| block.id())).unwrap();
            let session = CaptureSession::new(&own).unwrap().lease(lease).mode(mode);
            (value, old, blocks, session.prepare(arena()).unwrap())
        });
        let barrier = std::sync::Barrier::new(2);
        std::thread::scope(|scope| {
            for (value, old, blocks, session) in parts {
                let barrier = &barrier;
                scope.spawn(move || {
                    let graph = session.capture((), |capture, ()| {
                        barrier.wait();
                        drop(old);
                        barrier.wait();
                        through(capture, blocks)?;
                        barrier.wait();
                        Ok(())
                    });
                    barrier.wait();
                    let mut graph = graph
                        .unwrap_or_else(|error: CaptureError| panic!("{}", error_chain(&error)));
                    runs(&mut graph, blocks, value);
                });
            }
        });
    }
}

/// Graphs on one stream share an arena, with their replays in any order.
#[test]
#[ignore = "needs a CUDA device"]
fn graphs_of_one_stream_share_an_arena() {
    let _present = require_device();
    let (stream, other, pool) = (stream(), stream(), pool());
    let block = || pool.allocate(BYTES as u64).unwrap();
    let blocks: Vec<[GraphMemoryBlock; 2]> = (0..5).map(|_| [block(), block()]).collect();
    let session = |stream: &Arc<CudaStream>, blocks: [GraphMemoryBlock; 2]| {
        let lease = pool.lease(&blocks.map(|block| block.id())).unwrap();
        CaptureSession::new(stream).unwrap().lease(lease)
    };
    let body = |blocks| move |capture: &Capture<'_>, (): &mut ()| through(capture, blocks);
    let first = session(&stream, blocks[0]);
    let probe = first.probe(&mut (), body(blocks[0])).unwrap();
    let first: Result<CapturedGraph, CaptureError> =
        first.planned(&probe).unwrap().capture((), body(blocks[0]));
    let mut graphs = vec![first.unwrap()];
    let elsewhere = session(&other, blocks[1]).beside(&graphs[0], &probe);
    assert!(matches!(elsewhere, Err(CaptureError::AnotherStream { .. })));
    let large = session(&stream, blocks[1]);
    let more = |capture: &Capture<'_>, (): &mut ()| {
        capture.acquire::<u8>(2 * BYTES).map(drop)?;
        through(capture, blocks[1])
    };
    let wanted: Result<_, CaptureError> = large.probe(&mut (), more);
    let refused = large.beside(&graphs[0], &wanted.unwrap());
    assert!(matches!(refused, Err(CaptureError::Memory(GraphMemoryError::ArenaExhausted { .. }))));
    for &pair in &blocks[1..] {
        let session = session(&stream, pair);
        let probe = session.probe(&mut (), body(pair)).unwrap();
        let prepared = session.beside(&graphs[0], &probe).unwrap();
        let graph: Result<CapturedGraph, CaptureError> = prepared.capture((), body(pair));
        graphs.push(graph.unwrap());
    }
    let mut random = fastrand::Rng::with_seed(1);
    for value in 0..100 {
        let which = random.usize(..graphs.len());
        runs(&mut graphs[which], blocks[which], value);
    }
    drop(graphs.remove(0)); // the arena stays for the others
    for (graph, &pair) in graphs.iter_mut().zip(&blocks[1..]) {
        runs(graph, pair, 77);
    }
}
