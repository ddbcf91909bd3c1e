//! Owned arrays of device memory are freed and reused in the order of the stream that used them
//! last.

use std::thread;

use cudarc::driver::{LaunchConfig, PushKernelArg};
use pool_core::{Owned, PoolConfig, PoolError, PoolView, PoolViewMut, SharedPool};
use pool_cuda::{Cuda, CudaDevice, record_use, register_stream};
use pool_kernels::elementwise;

use crate::support::{calls_like, function, in_many_orders, start, start_anew};
use cuda_sim_control::Settings;

/// The number of elements in each array.
const N: usize = 1000;

const BLOCK: LaunchConfig =
    LaunchConfig { grid_dim: (16, 1, 1), block_dim: (64, 1, 1), shared_mem_bytes: 0 };

fn shared(device: &CudaDevice) -> SharedPool<Cuda> {
    SharedPool::new(device.new_stream().unwrap())
}

fn is_send<T: Send + 'static>() {}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn arrays_used_on_other_streams_are_used_again_in_order() {
    is_send::<Owned<Cuda, f32>>();
    in_many_orders(|device| {
        let axpy = function(device.context(), elementwise::MODULE, elementwise::AXPY.f32);
        let pool = shared(device);
        let other = device.context().new_stream().unwrap();
        register_stream(&other);
        for round in 0..4_u8 {
            let x = pool.take_from(&[f32::from(round); N]);
            let mut y = pool.take_zeroed::<f32>(N);
            let (factor, count) = (3.0_f32, N as u64);
            {
                let (x, mut y) = (x.view(), y.view_mut());
                let (x, y) = (x.on(&other).unwrap(), y.on(&other).unwrap());
                let mut launch = other.launch_builder(&axpy);
                launch.arg(&factor).arg(&x).arg(&y).arg(&count);
                // SAFETY: the arguments match `AXPY`, and `count` is the length of the views.
                unsafe { launch.launch(BLOCK) }.unwrap();
            }
            // The input is dropped while the kernel may still be reading it, and its memory is
            // reused immediately.
            drop(x);
            let mut next = pool.take::<f32>(N);
            next.view_mut().fill_with_value(-1.0).unwrap();
            assert_eq!(y.view().copy_to_vec().unwrap(), [3.0 * f32::from(round); N]);
        }
        assert_eq!(pool.stats().growths, 2);
    });
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn cudarc_takes_owned_arrays_as_slices() {
    in_many_orders(|device| {
        let pool = shared(device);
        let other = device.context().new_stream().unwrap();
        let mut array = pool.take_from(&[1_u32; N]);
        other.memset_zeros(&mut array.view_mut()).unwrap();
        assert_eq!(other.clone_dtoh(&array.view()).unwrap(), [0; N]);
        // The order does not depend on a destructor.
        record_use(&array.view(), &other).unwrap();
        drop(array);
        let again = pool.take_from(&[2_u32; N]);
        let part = again.view().into_part(10..20).unwrap();
        assert_eq!(part.copy_to_vec().unwrap(), [2; 10]);
    });
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn arrays_are_taken_and_dropped_on_many_threads() {
    in_many_orders(|device| {
        let pool = shared(device);
        let arrays: Vec<Owned<Cuda, u32>> = thread::scope(|scope| {
            let workers = (0..3_u32).map(|number| {
                let (pool, device) = (pool.clone(), device.clone());
                scope.spawn(move || {
                    let stream = device.context().new_stream().unwrap();
                    register_stream(&stream);
                    let mut last = pool.take_zeroed::<u32>(N);
                    for round in 0..3 {
                        let next = pool.take_from(&[number * 10 + round; N]);
                        record_use(&next.view(), &stream).unwrap();
                        last = next;
                    }
                    last
                })
            });
            let workers: Vec<_> = workers.collect();
            workers.into_iter().map(|worker| worker.join().unwrap()).collect()
        });
        drop(pool); // the arrays keep their memory
        for (number, array) in (0..).zip(&arrays) {
            assert_eq!(array.view().copy_to_vec().unwrap(), [number * 10 + 2; N]);
        }
    });
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn steady_state_makes_no_call_and_trim_gives_memory_back() {
    let simulator = start();
    start_anew(simulator, Settings::default(), 0);
    let device = Cuda::device(0).unwrap();
    let pool = shared(&device);
    drop(pool.take::<f32>(N));
    simulator.forget_calls();
    for _ in 0..10 {
        drop(pool.take::<f32>(N));
    }
    assert_eq!(calls_like(simulator, "cuMem"), 0);
    assert_eq!(pool.trim().slots, 1);
    assert!(calls_like(simulator, "cuMemFree") > 0);
    drop((pool, device));
    simulator.assert_clean();
    simulator.assert_no_leaks();
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_limit_is_a_typed_error_and_elements_of_any_size_fit() {
    let simulator = start();
    start_anew(simulator, Settings::default(), 0);
    let device = Cuda::device(0).unwrap();
    let config = PoolConfig::new().byte_limit(8192).poison(true);
    let pool = SharedPool::<Cuda>::with_config(device.new_stream().unwrap(), config).unwrap();
    for length in [0, 1, 63, 64, 65, 200] {
        let mut array = pool.take::<[f32; 3]>(length);
        array.view_mut().fill_with_value([1.0, 2.0, 3.0]).unwrap();
        assert_eq!(array.view().copy_to_vec().unwrap(), vec![[1.0, 2.0, 3.0]; length]);
    }
    assert!(pool.take::<f32>(10).view().copy_to_vec().unwrap().iter().all(|v| v.is_nan()));
    let refused = pool.try_take::<u8>(10_000).unwrap_err();
    assert!(matches!(refused, PoolError::LimitExceeded { limit: 8192, .. }), "{refused}");
    drop((pool, device));
    simulator.assert_clean();
    simulator.assert_no_leaks();
}
