//! Contexts, streams and pools that end in any order and on any thread.

use std::sync::Arc;

use pool_core::{DynamicPool, Pool, PoolView, PoolViewMut, error_chain};
use pool_cuda::{Cuda, CudaError, DeviceStream};

use crate::support::{in_many_orders, pool, start};

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_pool_is_dropped_on_a_thread_that_never_saw_its_context() {
    in_many_orders(|device| {
        let mut pool = pool(device);
        pool.scope().acquire_filled(1000, 1.5_f64);
        std::thread::spawn(move || {
            assert_eq!(pool.scope().acquire_zeroed::<u8, _>(100).copy_to_vec().unwrap(), [0; 100]);
            drop(pool);
        })
        .join()
        .unwrap();
    });
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_pool_outlives_its_device_value_and_its_stream_value() {
    in_many_orders(|device| {
        let stream = device.context().new_stream().unwrap();
        let mut pool = Pool::<Cuda>::new(DeviceStream::from_stream(Arc::clone(&stream)).unwrap());
        drop(stream);
        let scope = pool.scope();
        assert_eq!(scope.acquire_filled(10, 3_u16).copy_to_vec().unwrap(), [3; 10]);
    });
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn the_per_thread_stream_is_refused_as_a_pools_own() {
    start();
    let device = Cuda::device(0).unwrap();
    let refused = DeviceStream::from_stream(device.context().per_thread_stream()).unwrap_err();
    assert_eq!(refused, CudaError::WrongContext { ordinal: 0 });
    let mut pool =
        Pool::<Cuda>::new(DeviceStream::from_stream(device.context().default_stream()).unwrap());
    assert_eq!(pool.scope().acquire_filled(10, 3_u16).copy_to_vec().unwrap(), [3; 10]);
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn handles_of_a_dynamic_pool_are_device_memory() {
    in_many_orders(|device| {
        let mut pool = DynamicPool::<Cuda>::new(device.new_stream().unwrap());
        let kept = pool.acquire_filled(100, 2.5_f32);
        let depth = pool.checkpoint();
        let gone = pool.acquire_zeroed::<u8>(5);
        assert_eq!(pool.get(gone).unwrap().copy_to_vec().unwrap(), [0; 5]);
        pool.rewind_to(depth).unwrap();
        assert!(pool.get(gone).is_err());
        let (mut handles, scope) = pool.split();
        let scratch = scope.acquire_from(&[1.0_f32; 100]);
        handles.get_mut(kept).unwrap().copy_from(scratch.as_view()).unwrap();
        assert_eq!(handles.get(kept).unwrap().copy_to_vec().unwrap(), [1.0; 100]);
    });
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn trim_has_given_the_memory_back_when_it_returns() {
    let simulator = start();
    let device = Cuda::device(0).unwrap();
    let mut pool = pool(&device);
    pool.scope().acquire::<u8, _>(1);
    let free = device.memory().unwrap().free;
    {
        let mut scope = pool.scope();
        let held = scope.acquire_filled(1000, 4_u8);
        scope.scope().acquire_filled(100 << 20, 1_u8);
        assert!(device.memory().unwrap().free < free - (90 << 20));
        assert_eq!(scope.trim().slots, 1);
        assert!(device.memory().unwrap().free >= free - (2 << 20));
        assert_eq!(held.copy_to_vec().unwrap(), [4; 1000]);
    }
    let stats = pool.stats();
    assert_eq!(stats.device.to_string(), "cuda:0");
    simulator.assert_clean();
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_pool_rests_while_its_stream_is_captured() {
    use cudarc::driver::sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL as LOCAL;
    let simulator = start();
    let device = Cuda::device(0).unwrap();
    let mut pool = pool(&device);
    pool.scope().acquire::<u8, _>(1000);
    let stream = Arc::clone(pool.context().stream());
    stream.begin_capture(LOCAL).unwrap();
    {
        let scope = pool.scope();
        let mut warm = scope.acquire::<u8, _>(1000);
        stream.memset_zeros(&mut warm).unwrap();
        let refused = scope.try_acquire::<u8, _>(5000).unwrap_err();
        let text = error_chain(&refused).to_string();
        assert!(text.contains("captured"), "{text}");
        assert!(matches!(warm.copy_to_vec(), Err(CudaError::Capturing { .. })));
    }
    // The block is freed after the capture.
    assert_eq!(pool.trim().slots, 1);
    assert_eq!(simulator.calls("cuMemFreeAsync"), 0);
    let graph = stream.end_capture(cudarc::driver::sys::CUgraphInstantiate_flags(0)).unwrap();
    drop(graph);
    assert_eq!(pool.scope().acquire_zeroed::<u8, _>(10).copy_to_vec().unwrap(), [0; 10]);
    assert_eq!(simulator.calls("cuMemFreeAsync"), 1);
    drop((stream, pool, device));
    simulator.assert_clean();
    simulator.assert_no_leaks();
}
