//! Steady state: the pool makes no driver calls, allocates nothing, and changes no address.

use std::ops::Range;
use std::sync::Arc;

use cuda_sim_control::{DriverCall, Settings, Simulator};
use cudarc::driver::{
    CudaContext, CudaFunction, CudaSlice, CudaStream, LaunchConfig, PushKernelArg,
};
use pool_core::{NdView, Pool};
use pool_cuda::{AcquireShaped, Cuda, CudaDevice, Launch};
use pool_kernels::elementwise;

use crate::support::{calls_like, function, orders, pool, start, start_anew};

/// The number of scopes. It is limited so that their calls fit in the driver's log.
const SCOPES: usize = 10_000;

/// Returns the lengths of the five arrays in a scope, which differ between scopes.
fn lengths(scope: usize) -> [usize; 5] {
    [1, 2, 3, 4, 5].map(|slot| 100 * slot + (scope * 7 * slot) % 50)
}

fn with_a_pool(pool: &mut Pool<Cuda>, axpy: &CudaFunction, scopes: Range<usize>) {
    let mut first = None;
    for number in scopes {
        let scope = pool.scope();
        let [a, b, c, d, e] = lengths(number);
        let (x, mut y) = (scope.acquire::<f32, _>(a), scope.acquire::<f32, _>(a));
        let third = scope.acquire::<f64, _>([b, 2]);
        let fourth = scope.acquire::<f32, _>(&[c % 4 + 1, 3, 5][..]);
        let fifth = scope.acquire::<[f32; 3], _>(d + e);
        let count = a as u64;
        // SAFETY: the arguments match `AXPY`, and `count` is the length of the views.
        unsafe { scope.launch(axpy).arg(&2.0_f32).arg(&x).arg(&mut y).arg(&count).launch(BLOCK) }
            .unwrap();
        let here = [
            x.address(),
            y.address(),
            third.into_view().address(),
            fourth.into_view().address(),
            fifth.address(),
        ];
        assert_eq!(here, *first.get_or_insert(here), "scope {number}");
    }
}

fn without_a_pool(
    stream: &Arc<CudaStream>,
    axpy: &CudaFunction,
    [x, y]: &mut [CudaSlice<f32>; 2],
    scopes: Range<usize>,
) {
    for number in scopes {
        let count = lengths(number)[0] as u64;
        // SAFETY: as above; the slices are longer than any count.
        unsafe {
            stream
                .launch_builder(axpy)
                .arg(&2.0_f32)
                .arg(&*x)
                .arg(&mut *y)
                .arg(&count)
                .launch(BLOCK)
        }
        .unwrap();
    }
}

/// A small number of threads, because the simulator interprets each of them.
const BLOCK: LaunchConfig =
    LaunchConfig { grid_dim: (1, 1, 1), block_dim: (32, 1, 1), shared_mem_bytes: 0 };

fn logged(simulator: Simulator, program: impl FnOnce()) -> Vec<DriverCall> {
    simulator.forget_calls();
    program();
    simulator.log()
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn every_call_of_the_driver_is_the_users() {
    let simulator = start();
    let context = CudaContext::new(0).unwrap();
    // SAFETY: all work is on one stream.
    unsafe { context.disable_event_tracking() };
    let axpy = function(&context, elementwise::MODULE, elementwise::AXPY.f32);
    let stream = context.new_stream().unwrap();
    let mut kept = [1, 2].map(|_| stream.alloc_zeros::<f32>(1000).unwrap());
    let theirs = logged(simulator, || without_a_pool(&stream, &axpy, &mut kept, 0..SCOPES));

    let device = Cuda::device(0).unwrap();
    let mut pool = pool(&device);
    // Each length occurs once. The blocks grow during this time, so addresses are constant only
    // afterwards.
    for number in 0..50 {
        with_a_pool(&mut pool, &axpy, number..number + 1);
    }
    let before = (pool.stats(), device.memory().unwrap());
    let ours = logged(simulator, || with_a_pool(&mut pool, &axpy, 0..SCOPES));
    let launches = ours.iter().filter(|call| call.name == "cuLaunchKernel").count();
    assert_eq!((launches, ours.len()), (SCOPES, theirs.len()));
    assert!(ours == theirs, "the calls differ");
    let after = pool.stats();
    assert_eq!(after.growths, before.0.growths);
    assert_eq!(after.cold_acquires, before.0.cold_acquires);
    assert_eq!(after.shape_misses, before.0.shape_misses);
    assert_eq!(device.memory().unwrap(), before.1, "bytes of the device");
    simulator.assert_clean();
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_shape_on_the_device_is_written_once() {
    let simulator = start();
    let device = Cuda::device(0).unwrap();
    let mut pool = pool(&device);
    let shapes: [&[usize]; 4] = [&[2, 3, 4], &[24], &[4, 6], &[1, 2, 3, 4]];
    let first = shapes.map(|dims| shape_address(&mut pool, dims));
    simulator.forget_calls();
    for _ in 0..100 {
        assert_eq!(shapes.map(|dims| shape_address(&mut pool, dims)), first);
    }
    assert_eq!(simulator.all_calls(), 0);
    assert_eq!((pool.stats().shape_misses, pool.stats().shape_hits), (4, 400));

    // A fifth shape evicts the first one, and reuses its address on the device.
    assert_eq!(shape_address(&mut pool, &[12, 2]), first[0]);
    assert_eq!(numbers_at(&mut pool, &[12, 2]), [2, 0, 12, 2, 2, 1]);
    assert_eq!(numbers_at(&mut pool, &[2, 3, 4]), [3, 0, 2, 3, 4, 12, 4, 1]);
    assert!(pool.scope().try_acquire_shaped::<u8>(&[1; 16]).is_err());
    drop(pool);
    drop(device);
    simulator.assert_clean();
    simulator.assert_no_leaks();
}

fn shape_address(pool: &mut Pool<Cuda>, dims: &[usize]) -> u64 {
    let scope = pool.scope();
    let shaped = scope.try_acquire_shaped::<f32>(dims).unwrap();
    assert_eq!((shaped.array.shape(), shaped.shape.rank()), (dims, dims.len()));
    shaped.shape.address()
}

/// Returns the numbers that a kernel would read at the shape's address.
fn numbers_at(pool: &mut Pool<Cuda>, dims: &[usize]) -> Vec<u64> {
    let scope = pool.scope();
    let shaped = scope.try_acquire_shaped::<f32>(dims).unwrap();
    let stream = scope.context().stream();
    let mut numbers = vec![0_u64; 2 + 2 * dims.len()];
    // SAFETY: the shape consists of this number of integers, and was written on this stream.
    let copied = unsafe {
        cudarc::driver::result::memcpy_dtoh_async(
            &mut numbers,
            shaped.shape.address(),
            stream.cu_stream(),
        )
    };
    copied.unwrap();
    stream.synchronize().unwrap();
    numbers
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn reuse_of_other_ranks_and_lengths_keeps_the_block() {
    let simulator = start();
    for seed in 0..orders() {
        start_anew(simulator, Settings::default(), seed);
        reuse_of_other_ranks_and_lengths(simulator, &Cuda::device(0).unwrap());
        simulator.assert_clean();
        simulator.assert_no_leaks();
    }
}

fn reuse_of_other_ranks_and_lengths(simulator: Simulator, device: &CudaDevice) {
    let mut pool = pool(device);
    let address = pool.scope().acquire::<f32, _>(1000).address();
    simulator.forget_calls();
    let free = device.memory().unwrap();
    for length in [1000, 0, 200] {
        let view = pool.scope().acquire::<f32, _>(length);
        assert!(view.is_empty() || view.address() == address);
    }
    let shapes: [&[usize]; 6] = [&[10, 100], &[10, 10, 10], &[5, 200], &[1000], &[2, 500], &[999]];
    for dims in shapes {
        assert_eq!(pool.scope().acquire::<f32, _>(dims).into_view().address(), address);
    }
    let cube: NdView<_, _> = pool.scope().acquire::<f32, _>([10, 10, 10]);
    assert_eq!(cube.strides(), [100, 10, 1]);
    assert_eq!(calls_like(simulator, "cuMemAlloc"), 0);
    assert_eq!(device.memory().unwrap(), free);

    pool.scope().acquire::<f32, _>(2000);
    assert_eq!(simulator.calls("cuMemFreeAsync"), 1, "growth frees the old block");
}
