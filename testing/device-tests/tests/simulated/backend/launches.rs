//! Kernels on the pool's stream and on other streams, with shapes in device memory.

use cudarc::driver::{LaunchConfig, PushKernelArg};
use pool_core::{PoolView, PoolViewMut};
use pool_cuda::{AcquireShaped, CudaDevice, Launch, register_stream};
use pool_kernels::{elementwise, gather, reduction};

use crate::support::{function, in_many_orders, pool, races_in_every_order};

/// The number of elements in each array.
const N: usize = 100;

const BLOCK: LaunchConfig =
    LaunchConfig { grid_dim: (2, 1, 1), block_dim: (64, 1, 1), shared_mem_bytes: 0 };

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn launches_of_a_scope_are_in_the_pools_order() {
    in_many_orders(|device| {
        let axpy = function(device.context(), elementwise::MODULE, elementwise::AXPY.f32);
        let sum = function(device.context(), reduction::MODULE, reduction::SUM.f32);
        let mut pool = pool(device);
        for round in 0..4_u8 {
            let mut outer = pool.scope();
            let mut total = outer.acquire_zeroed::<f32, _>(1);
            let scope = outer.scope();
            let (x, mut y) = (scope.acquire_filled(N, 2.0_f32), scope.acquire_filled(N, 1.0_f32));
            let (factor, count) = (f32::from(round), N as u64);
            // SAFETY: the arguments match `AXPY`, and `count` is the length of the views.
            unsafe {
                scope.launch(&axpy).arg(&factor).arg(&x).arg(&mut y).arg(&count).launch(BLOCK)
            }
            .unwrap();
            // SAFETY: the arguments match the parameters of `SUM`.
            unsafe { scope.launch(&sum).arg(&y).arg(&mut total).arg(&count).launch(BLOCK) }
                .unwrap();
            assert_eq!(total.copy_to_vec().unwrap(), [100.0 * (2.0 * factor + 1.0)]);
        }
    });
}

/// In each round, kernels on another stream read one view and write another, without explicit
/// joins.
fn on_another_stream(device: &CudaDevice, ordered: bool) {
    let axpy = function(device.context(), elementwise::MODULE, elementwise::AXPY.f32);
    let other = device.context().new_stream().unwrap();
    register_stream(&other);
    let mut pool = pool(device);
    // SAFETY: the memory belongs to the simulator, which reports races.
    unsafe { pool.context().order_foreign_streams(ordered) };
    for round in 0..4_u8 {
        let scope = pool.scope();
        let x = scope.acquire_filled(N, f32::from(round));
        let mut y = scope.acquire_filled(N, 1.0_f32);
        let (factor, count) = (3.0_f32, N as u64);
        {
            let (x, y) = (x.as_view(), y.reborrow());
            let mut y = y;
            let (x, y) = (x.on(&other).unwrap(), y.on(&other).unwrap());
            let mut launch = other.launch_builder(&axpy);
            launch.arg(&factor).arg(&x).arg(&y).arg(&count);
            // SAFETY: the arguments match `AXPY`, and `count` is the length of the views.
            unsafe { launch.launch(BLOCK) }.unwrap();
        }
        let found = y.copy_to_vec().unwrap();
        if ordered {
            assert_eq!(found, [3.0 * f32::from(round) + 1.0; N]);
        }
    }
    device.context().synchronize().unwrap();
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn launches_on_another_stream_are_ordered_both_ways() {
    in_many_orders(|device| on_another_stream(device, true));
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn without_the_order_such_launches_race() {
    races_in_every_order(|device| on_another_stream(device, false));
}

/// A view that another stream is using becomes an argument of the pool's own launch.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn an_argument_waits_for_other_streams() {
    in_many_orders(|device| {
        let axpy = function(device.context(), elementwise::MODULE, elementwise::AXPY.f32);
        let other = device.context().new_stream().unwrap();
        register_stream(&other);
        let mut pool = pool(device);
        for _ in 0..3 {
            let scope = pool.scope();
            let mut x = scope.acquire::<f32, _>(N);
            let mut y = scope.acquire_zeroed::<f32, _>(N);
            other.memcpy_htod(&[4.0; N], &mut x).unwrap();
            let count = N as u64;
            // SAFETY: the arguments match `AXPY`, and `count` is the length of the views.
            unsafe {
                scope.launch(&axpy).arg(&2.0_f32).arg(&x).arg(&mut y).arg(&count).launch(BLOCK)
            }
            .unwrap();
            assert_eq!(y.copy_to_vec().unwrap(), [8.0; N]);
        }
    });
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_kernel_reads_the_shape_from_device_memory() {
    in_many_orders(|device| {
        let gather = function(device.context(), gather::MODULE, gather::GATHER.f32);
        let mut pool = pool(device);
        let numbers: Vec<f32> = (0..24_u8).map(f32::from).collect();
        let shapes: [&[usize]; 5] = [&[2, 3, 4], &[4, 6], &[24], &[1, 24, 1], &[12, 2]];
        for dims in shapes.into_iter().cycle().take(12) {
            let scope = pool.scope();
            let shaped = scope.try_acquire_shaped::<f32>(dims).unwrap();
            let (mut from, _) = shaped.array.into_parts();
            let mut to = scope.acquire_zeroed::<f32, _>(24);
            from.copy_from_host(&numbers).unwrap();
            let capacity = 24_u64;
            // SAFETY: the arguments match `GATHER`, and the shape describes `from`.
            unsafe {
                scope
                    .launch(&gather)
                    .arg(&from)
                    .arg(&mut to)
                    .arg(&shaped.shape)
                    .arg(&capacity)
                    .launch(BLOCK)
            }
            .unwrap();
            assert_eq!(to.copy_to_vec().unwrap(), numbers, "{dims:?}");
        }
    });
}
