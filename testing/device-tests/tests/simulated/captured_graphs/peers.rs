//! Graphs on one device that use memory of another device: a block that is accessible to the
//! kernels of the first device, and a view of a pool on the other device.

use std::sync::Arc;

use cuda_sim_control::{Mistake, Settings};
use cudarc::driver::{CudaFunction, CudaStream, LaunchConfig, PushKernelArg};
use pool_core::{Pool, PoolView, PoolViewMut};
use pool_cuda::{Cuda, CudaDevice, CudaError};
use pool_graph::{
    CUDAGraphMemoryPool, CaptureError, CaptureSession, DeviceMemory, GraphMemoryBlock,
    GraphPoolConfig,
};
use pool_kernels::elementwise;

use crate::common::{BYTES, Made, arena};
use crate::support::{function, orders, start, start_anew};

const N: u64 = 64;

fn launch(
    stream: &Arc<CudaStream>,
    axpy: &CudaFunction,
    [x, y]: [u64; 2],
) -> Result<(), CaptureError> {
    let (factor, count) = (3.0_f32, N);
    let mut launch = stream.launch_builder(axpy);
    launch.arg(&factor).arg(&x).arg(&y).arg(&count);
    // SAFETY: the arguments match `AXPY`, and both blocks have more elements.
    Ok(unsafe { launch.launch(LaunchConfig::for_num_elems(64)) }.map(drop)?)
}

/// Returns a pool of plain memory on a device, and one of its blocks.
fn block_of(device: &CudaDevice) -> (CUDAGraphMemoryPool, GraphMemoryBlock) {
    let config = GraphPoolConfig { initial: 0, maximum: u64::MAX };
    let pool = CUDAGraphMemoryPool::with_config(DeviceMemory::new(device), config);
    let block = pool.allocate(BYTES).unwrap();
    (pool, block)
}

/// Computes `y += 3 x` in each replay, with `x` on device 1 and `y` on device 0, whose graph leases
/// both blocks. The result is correct once device 1 has enabled access for device 0. Before that,
/// the access is reported.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_graph_with_a_block_that_a_peer_lets() {
    let simulator = start();
    for seed in 0..orders() {
        let is_let = seed % 4 != 0;
        start_anew(simulator, Settings { devices: 2, ..Settings::default() }, seed);
        let [near, far] = [0, 1].map(|ordinal| Cuda::device(ordinal).unwrap());
        let far = far.without_memory_pool();
        if is_let {
            far.grant_peer_access(&near).unwrap();
        }
        let main = near.context().new_stream().unwrap();
        let axpy = function(near.context(), elementwise::MODULE, elementwise::AXPY.f32);
        let ((lent_pool, x), (pool, y)) = (block_of(&far), block_of(&near));
        // A graph on device 1 fills the block that device 0 reads. It runs on its own stream, which
        // is synchronized.
        let there = far.context().new_stream().unwrap();
        let session = CaptureSession::new(&there).unwrap();
        let session = session.lease(lent_pool.lease(&[x.id()]).unwrap());
        let there_arena = pool_graph::CudaArena::new(
            DeviceMemory::new(&far),
            1 << 16,
            pool_graph::ArenaPolicy::Monotone,
        );
        let made: Made = session.prepare(there_arena.unwrap()).unwrap().capture((), |_, ()| Ok(()));
        let mut writer = made.unwrap();
        writer.write(&x, &[2.0_f32; 64]).unwrap();
        drop(writer);

        let session = CaptureSession::new(&main).unwrap();
        let session = session.lease(pool.lease(&[y.id()]).unwrap());
        let session = session.lease(lent_pool.lease(&[x.id()]).unwrap());
        let made: Made = session.prepare(arena()).unwrap().capture((), |capture, ()| {
            // Safe code cannot name the block.
            let refused = CaptureError::WrongContext { session: 0, other: 1 };
            assert_eq!(capture.block::<f32>(&x).map(drop), Err(refused));
            let mut y = capture.block::<f32>(&y)?;
            let addresses = [x.address(), y.address()];
            // SAFETY: the graph leases the other device's block, and no work writes the block at
            // the same time.
            unsafe {
                capture.enqueue(capture.main(), &[y.write()], |stream| {
                    launch(stream, &axpy, addresses)
                })
            }
        });
        let mut graph = made.unwrap();
        graph.write(&y, &[1.0_f32; 64]).unwrap();
        // The pool and its names are dropped, but the graph's lease keeps the block.
        drop(lent_pool);
        for _ in 0..3 {
            graph.replay().unwrap();
        }
        let mut read = [0.0_f32; 64];
        let result = graph.read(&y, &mut read);
        if is_let {
            result.unwrap();
            assert_eq!(read, [1.0 + 3.0 * 6.0; 64]);
            drop((graph, pool, axpy, main, there, near, far));
            simulator.assert_clean();
            simulator.assert_no_leaks();
        } else {
            assert!(matches!(result, Err(CaptureError::Driver(_))), "{result:?}");
            let reports = simulator.reports();
            assert!(!reports.is_empty());
            assert!(reports.iter().all(|report| report.mistake() != Mistake::Race), "{reports:?}");
        }
    }
}

/// A scope of a capture on device 0 uses a view of an ordinary pool on device 1, lent or not. The
/// pool's stream is not captured, so no event orders the two streams. The body receives an error,
/// and the session captures again.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_view_of_a_pool_of_another_device_in_a_capture() {
    let simulator = start();
    for (seed, is_let) in [(0, true), (1, false)] {
        start_anew(simulator, Settings { devices: 2, ..Settings::default() }, seed);
        let [near, far] = [0, 1].map(|ordinal| Cuda::device(ordinal).unwrap());
        let far = far.without_memory_pool();
        if is_let {
            far.grant_peer_access(&near).unwrap();
        }
        let mut pool = Pool::<Cuda>::new(far.new_stream().unwrap());
        let scope = pool.scope();
        let view = scope.try_acquire_filled(64, 2.0_f32).unwrap();
        let main = near.context().new_stream().unwrap();
        let prepared = CaptureSession::new(&main).unwrap().prepare(arena()).unwrap();
        let made: Made = prepared.capture((), |capture, ()| {
            capture.scope(capture.main(), |own| {
                let mut to = own.try_acquire_zeroed::<f32, _>(64)?;
                to.copy_from(view.as_view())?;
                Ok::<(), CaptureError>(())
            })
        });
        let operation = "copy memory that the graph does not own";
        let refused = CaptureError::Driver(CudaError::Capturing { operation });
        assert_eq!(made.map(drop), Err(refused));
        let made: Made = prepared.capture((), |_, ()| Ok(view.as_view().on(&main).map(drop)?));
        let operation = "order another stream with the pool's own stream";
        let refused = match is_let {
            true => CudaError::Capturing { operation },
            false => CudaError::WrongDevice { memory: 1, stream: 0 },
        };
        assert_eq!(made.map(drop), Err(CaptureError::Driver(refused)));
        let made: Made = prepared.capture((), |_, ()| Ok(()));
        made.unwrap().replay().unwrap();
        assert_eq!(view.copy_to_vec().unwrap(), [2.0; 64]);
        drop((view, scope));
        drop((pool, prepared, main, near, far));
        simulator.assert_clean();
        simulator.assert_no_leaks();
    }
}
