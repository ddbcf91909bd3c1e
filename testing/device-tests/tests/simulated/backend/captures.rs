//! Manual captures during all operations of a pool: on the pool's stream, on another stream, and on
//! several streams. No pool invalidates a capture, no capture leaks a block, and all work stays
//! ordered.

use std::sync::Arc;
use std::thread;

use cuda_sim_control::Settings;
use cudarc::driver::sys::CUgraphInstantiate_flags as Flags;
use cudarc::driver::sys::CUstreamCaptureMode::{
    self, CU_STREAM_CAPTURE_MODE_GLOBAL as GLOBAL, CU_STREAM_CAPTURE_MODE_RELAXED as RELAXED,
    CU_STREAM_CAPTURE_MODE_THREAD_LOCAL as LOCAL,
};
use cudarc::driver::{CudaGraph, CudaStream};
use pool_core::{Pool, PoolView, PoolViewMut};
use pool_cuda::{Cuda, CudaDevice, CudaError, record_use, register_stream};
use pool_facade::with_pool;

use crate::support::{in_many_orders, orders, pool, start, start_anew};

/// The number of elements in each array.
const N: usize = 1000;

/// Returns a pool that has already copied from the host and stored a shape on the device.
fn used_pool(device: &CudaDevice) -> Pool<Cuda> {
    let mut pool = pool(device);
    pool.scope().acquire_from(&[1_u8; N]);
    pool.scope().acquire_zeroed::<u8, _>(&[10, 10][..]);
    pool
}

fn another_stream(device: &CudaDevice) -> Arc<CudaStream> {
    let stream = device.context().new_stream().unwrap();
    register_stream(&stream);
    stream
}

/// Ends a capture, which must be valid.
fn end(stream: &Arc<CudaStream>) -> Option<CudaGraph> {
    match stream.end_capture(Flags(0)) {
        Ok(graph) => graph,
        Err(error) => panic!("the capture was spoiled: {:?}", error.0),
    }
}

fn in_a_capture(stream: &Arc<CudaStream>, mode: CUstreamCaptureMode, what: impl FnOnce()) {
    stream.begin_capture(mode).unwrap();
    what();
    drop(end(stream));
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_pool_is_dropped_while_its_stream_is_captured() {
    in_many_orders(|device| {
        let pool = used_pool(device);
        let stream = Arc::clone(pool.context().stream());
        in_a_capture(&stream, LOCAL, || {
            drop(pool);
            assert!(
                Cuda::retry_deferred_frees() > 0,
                "what it held waits for the end of the capture"
            );
        });
        assert_eq!(Cuda::retry_deferred_frees(), 0);
    });
}

/// The next pool that allocates, on any device, frees the deferred blocks.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn what_a_pool_left_on_one_device_is_given_back_by_one_of_another() {
    let simulator = start();
    for seed in 0..orders() {
        start_anew(simulator, Settings { devices: 2, ..Settings::default() }, seed);
        let [here, there] = [0, 1].map(|it| Cuda::device(it).unwrap().without_memory_pool());
        let far = used_pool(&there);
        let stream = Arc::clone(far.context().stream());
        in_a_capture(&stream, LOCAL, || drop(far));
        let before = [&here, &there].map(|device| device.memory().unwrap().free);
        let mut near = pool(&here);
        assert_eq!(near.scope().acquire_filled(N, 1_u8).copy_to_vec().unwrap(), [1; N]);
        let after = [&here, &there].map(|device| device.memory().unwrap().free);
        assert!(after[0] < before[0] && after[1] > before[1], "{before:?} {after:?}");
        drop((near, here, there, stream));
        assert_eq!(Cuda::retry_deferred_frees(), 0);
        simulator.assert_clean();
        simulator.assert_no_leaks();
    }
}

/// Such a capture forbids every thread to use page-locked memory and to wait.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_pool_works_beside_a_global_capture() {
    let work = |mut pool: Pool<Cuda>| {
        let view = pool.scope().acquire_from(&[1_u8; 3 * N]);
        assert_eq!(view.copy_to_vec().unwrap(), [1; 3 * N]);
        assert_eq!(pool.trim().slots, 1);
        assert_eq!(pool.context().take_pending_error(), None);
    };
    in_many_orders(|device| {
        let other = another_stream(device);
        for plain in [false, true] {
            let device = if plain { device.clone().without_memory_pool() } else { device.clone() };
            in_a_capture(&other, GLOBAL, || work(pool(&device)));
            let pool = used_pool(&device);
            in_a_capture(&other, GLOBAL, || thread::spawn(move || work(pool)).join().unwrap());
        }
    });
}

/// Before creating the first stream of a context, cudarc would wait for the whole context.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_threads_first_pool_is_made_beside_a_capture() {
    in_many_orders(|device| {
        let other = another_stream(device);
        for mode in [GLOBAL, LOCAL, RELAXED] {
            let work = || {
                with_pool!(Cuda, |scope| {
                    assert_eq!(scope.acquire_filled(N, 1_u8).copy_to_vec().unwrap(), [1; N]);
                });
            };
            in_a_capture(&other, mode, || thread::spawn(work).join().unwrap());
        }
    });
}

/// A graph launch on the pool's stream does not wait for work that another stream performed before
/// the capture, although that stream took part in the capture.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn work_before_a_capture_is_not_taken_for_a_part_of_it() {
    in_many_orders(|device| {
        let other = another_stream(device);
        let mut pool = pool(device);
        let stream = Arc::clone(pool.context().stream());
        let mut view = pool.scope().acquire::<u8, _>(N);
        other.memset_zeros(&mut view).unwrap();
        stream.begin_capture(LOCAL).unwrap();
        let begun = stream.record_event(None).unwrap();
        other.wait(&begun).unwrap();
        let refused = CudaError::Capturing { operation: "wait for another stream" };
        assert_eq!(view.fill_with_value(3), Err(refused));
        assert_eq!(record_use(&view, &other), Err(refused));
        let joined = other.record_event(None).unwrap();
        stream.wait(&joined).unwrap();
        let graph = end(&stream).unwrap();
        graph.launch().unwrap();
        assert_eq!(view.copy_to_vec().unwrap(), [0; N]);
    });
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn two_captures_at_once_are_not_joined() {
    in_many_orders(|device| {
        let other = another_stream(device);
        let mut pool = pool(device);
        let stream = Arc::clone(pool.context().stream());
        let mut view = pool.scope().acquire_zeroed::<u8, _>(N);
        // The end of the inner capture instantiates a graph, which a strict capture forbids.
        in_a_capture(&stream, RELAXED, || {
            in_a_capture(&other, LOCAL, || {
                let refused = record_use(&view, &other).unwrap_err();
                assert!(matches!(refused, CudaError::Capturing { .. }), "{refused}");
                view.fill_with_value(1).unwrap();
            });
        });
    });
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_forked_capture_uses_a_block_again_in_its_order() {
    in_many_orders(|device| {
        let other = another_stream(device);
        let mut pool = pool(device);
        pool.scope().acquire_filled(N, 1_u8);
        let stream = Arc::clone(pool.context().stream());
        stream.begin_capture(LOCAL).unwrap();
        other.wait(&stream.record_event(None).unwrap()).unwrap();
        for round in 0..3_u8 {
            let scope = pool.scope();
            let mut view = scope.acquire_filled(N, round);
            other.memset_zeros(&mut view).unwrap();
        }
        stream.wait(&other.record_event(None).unwrap()).unwrap();
        let graph = end(&stream).unwrap();
        for _ in 0..3 {
            graph.launch().unwrap();
        }
        assert_eq!(pool.scope().acquire_filled(N, 9_u8).copy_to_vec().unwrap(), [9; N]);
    });
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn another_stream_is_captured_when_the_pool_goes() {
    in_many_orders(|device| {
        let other = another_stream(device);
        let mut pool = pool(device);
        let mut view = pool.scope().acquire::<u8, _>(N);
        other.memset_zeros(&mut view).unwrap();
        in_a_capture(&other, LOCAL, || {
            assert!(pool.scope().try_acquire::<u8, _>(N).is_err());
            assert_eq!(pool.trim().slots, 1);
            assert_eq!(pool.scope().acquire_filled(N, 1_u8).copy_to_vec().unwrap(), [1; N]);
            drop(pool);
        });
        assert_eq!(Cuda::retry_deferred_frees(), 0);
    });
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn trimmed_and_dropped_in_a_capture_with_another_streams_work_pending() {
    in_many_orders(|device| {
        let other = another_stream(device);
        let mut pool = pool(device);
        let mut view = pool.scope().acquire::<u8, _>(N);
        other.memset_zeros(&mut view).unwrap();
        let stream = Arc::clone(pool.context().stream());
        in_a_capture(&stream, LOCAL, || {
            pool.trim();
            assert!(pool.scope().try_acquire::<u8, _>(N).is_err());
            drop(pool);
        });
        assert_eq!(Cuda::retry_deferred_frees(), 0);
    });
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn another_thread_captures_the_pools_stream() {
    in_many_orders(|device| {
        let mut pool = used_pool(device);
        let stream = Arc::clone(pool.context().stream());
        let theirs = Arc::clone(&stream);
        thread::spawn(move || theirs.begin_capture(RELAXED).unwrap()).join().unwrap();
        assert!(matches!(
            pool.scope().acquire::<u8, _>(N).copy_to_vec(),
            Err(CudaError::Capturing { .. })
        ));
        assert!(pool.scope().try_acquire::<u8, _>(5 * N).is_err());
        drop(pool);
        drop(end(&stream));
        assert_eq!(Cuda::retry_deferred_frees(), 0);
    });
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_capture_is_spoiled_and_the_pool_goes_on() {
    in_many_orders(|device| {
        let mut pool = pool(device);
        let scope = pool.scope();
        let mut view = scope.acquire_filled(N, 1_u8);
        let stream = Arc::clone(scope.context().stream());
        stream.begin_capture(LOCAL).unwrap();
        assert!(stream.synchronize().is_err());
        assert!(view.fill_with_value(2).is_err());
        assert!(view.copy_to_vec().is_err());
        assert!(scope.try_acquire::<u8, _>(5).is_err());
        assert!(stream.end_capture(Flags(0)).is_err());
        assert_eq!(view.copy_to_vec().unwrap(), [1; N]);
        assert_eq!(scope.acquire_filled(N, 3_u8).copy_to_vec().unwrap(), [3; N]);
    });
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_capture_that_nobody_ends() {
    let simulator = start();
    let pool = used_pool(&Cuda::device(0).unwrap());
    pool.context().stream().begin_capture(GLOBAL).unwrap();
    drop(pool);
    let left = Cuda::retry_deferred_frees();
    assert!(left > 0);
    let device = Cuda::device(0).unwrap();
    let mut next = crate::support::pool(&device);
    assert_eq!(next.scope().acquire_filled(N, 1_u8).copy_to_vec().unwrap(), [1; N]);
    assert_eq!(Cuda::retry_deferred_frees(), left, "kept, and no more than that");
    simulator.assert_clean();
}
