//! Blocks of pools in graphs: which names are valid, and which other graphs can use a block.

use std::sync::Arc;

use cuda_sim_control::Settings;
use cudarc::driver::CudaStream;
use pool_cuda::Cuda;
use pool_graph::{
    CUDAGraphMemoryPool, Capture, CaptureError, CaptureSession, DeviceMemory, GraphMemoryBlock,
    GraphPoolConfig,
};

use crate::common::{BYTES, Made, arena, pool, stream, without_a_report};
use crate::support::{start, start_anew};

/// An old block value, whose bytes are now part of a leased block, is another name for these bytes.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_stale_block_value_is_not_what_was_leased() {
    without_a_report(|| {
        let (main, side, pool) = (stream(), stream(), pool());
        let parts = [(); 2].map(|()| pool.allocate(BYTES).unwrap());
        parts.iter().for_each(|part| pool.deallocate(part.id()).unwrap());
        let whole = pool.allocate(2 * BYTES).unwrap();
        assert_eq!(whole.address(), parts[0].address());
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

/// Graphs on two streams share a block, and one of them writes it: their runs are not ordered.
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
        // Two readers do not conflict, until one of them also writes.
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
        // On one stream, all runs are ordered.
        let _third = captured(&streams[1], 2, 0).unwrap();
    });
}

/// D2: an update's body writes another leased block, or a block that it only read before. A graph
/// on another stream reads that block, which was allowed because the block had no writer.
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

/// A session uses the lease of another device's block.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_block_of_another_device() {
    let simulator = start();
    start_anew(simulator, Settings { devices: 2, ..Settings::default() }, 0);
    let elsewhere = DeviceMemory::new(&Cuda::device(1).unwrap());
    let config = GraphPoolConfig { initial: 0, maximum: u64::MAX };
    let pool = CUDAGraphMemoryPool::with_config(elsewhere, config);
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
