//! Shapes in the scopes of captures are stored in memory of the graph, and the scope's pool frees
//! none of it.

use std::sync::Arc;

use cuda_sim_control::{Settings, Simulator};
use cudarc::driver::CudaStream;
use pool_core::PodElement;
use pool_cuda::{AcquireShaped, Cuda};
use pool_graph::{
    ArenaPolicy, CUDAGraphMemoryPool, Capture, CaptureError, CaptureSession, CapturedGraph,
    CudaArena, DeviceMemory, GraphPoolConfig, Probe,
};

use crate::support::{orders, pool, start, start_anew};

const BYTES: usize = 4096;

fn stream() -> Arc<CudaStream> {
    Cuda::device(0).unwrap().context().new_stream().unwrap()
}

fn memory() -> DeviceMemory {
    DeviceMemory::new(&Cuda::device(0).unwrap())
}

/// Acquires an array with a shape in a scope of a capture. If the array has no elements, the shape
/// is the first allocation in the arena.
fn shaped<T: PodElement>(capture: &Capture<'_>, dims: &[usize]) -> Result<(), CaptureError> {
    capture.scope(capture.main(), |scope| {
        scope.try_acquire_shaped::<T>(dims)?;
        Ok(())
    })
}

/// Checks that there are no deferred frees, and that a retry makes no driver call.
fn nothing_is_left_over(simulator: Simulator) {
    simulator.forget_calls();
    assert_eq!(Cuda::retry_deferred_frees(), 0);
    for call in ["cuMemFree_v2", "cuMemFreeAsync"] {
        assert_eq!(simulator.calls(call), 0, "{call}");
    }
}

fn in_many_orders(program: impl Fn(Simulator)) {
    let simulator = start();
    for seed in 0..orders() {
        start_anew(simulator, Settings::default(), seed);
        program(simulator);
        simulator.assert_clean();
        simulator.assert_no_leaks();
    }
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_pool_of_a_captured_scope_does_not_free_its_shapes() {
    in_many_orders(|simulator| {
        for dims in [[0, 3], [5, 3]] {
            let config = GraphPoolConfig { initial: 0, maximum: u64::MAX };
            let (main, pool) = (stream(), CUDAGraphMemoryPool::with_config(memory(), config));
            let block = pool.allocate(BYTES as u64).unwrap();
            let lease = pool.lease(&[block.id()]).unwrap();
            let session = CaptureSession::new(&main).unwrap().lease(lease);
            let arena = CudaArena::new(memory(), 1 << 16, ArenaPolicy::Monotone).unwrap();
            let prepared = session.prepare(arena).unwrap();
            let graph: Result<CapturedGraph, CaptureError> = prepared.capture((), |capture, ()| {
                shaped::<u8>(capture, &dims)?;
                let mut temporary = capture.acquire::<u8>(BYTES)?;
                capture.fill_bytes(capture.main(), &mut temporary, 7)?;
                let mut kept = capture.block::<u8>(&block)?;
                capture.copy(capture.main(), &mut kept, &temporary)
            });
            let mut graph = graph.unwrap();
            nothing_is_left_over(simulator);
            let mut bytes = [0_u8; BYTES];
            for _ in 0..2 {
                graph.replay().unwrap();
                graph.read(&block, &mut bytes).unwrap();
                assert_eq!(bytes, [7; BYTES]);
            }
        }
    });
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_pool_of_a_probed_scope_does_not_free_its_shapes() {
    in_many_orders(|simulator| {
        let main = stream();
        let session = CaptureSession::new(&main).unwrap();
        let probe: Result<Probe, CaptureError> =
            session.probe(&mut (), |capture, ()| shaped::<u8>(capture, &[5, 3]));
        assert!(probe.unwrap().arena_bytes() > 0);
        nothing_is_left_over(simulator);
    });
}

/// In contrast, a pool of the device frees its shapes after a capture of the stream.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_pool_of_the_device_frees_its_shapes() {
    in_many_orders(|simulator| {
        let mut pool = pool(&Cuda::device(0).unwrap());
        let stream = Arc::clone(pool.context().stream());
        pool.scope().try_acquire_shaped::<f32>(&[5, 3]).unwrap();
        let local = cudarc::driver::sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
        stream.begin_capture(local).unwrap();
        drop(pool);
        assert!(Cuda::retry_deferred_frees() > 0);
        simulator.forget_calls();
        let no_flags = cudarc::driver::sys::CUgraphInstantiate_flags(0);
        drop(stream.end_capture(no_flags).unwrap());
        assert_eq!(Cuda::retry_deferred_frees(), 0);
        assert_eq!(simulator.calls("cuMemFreeAsync"), 2, "the block and the shapes");
    });
}
