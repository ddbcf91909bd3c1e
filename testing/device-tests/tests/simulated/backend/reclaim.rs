//! The attempts to free memory before an allocation of a device pool fails. The pool frees its idle
//! blocks, waits for pending frees on other streams, and trims the thread's idle pools. The error
//! lists these attempts and the memory that pools hold.

use std::sync::Arc;

use cuda_sim_control::Settings;
use cudarc::driver::sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;
use cudarc::driver::sys::CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_ACTIVE;
use cudarc::driver::{CudaStream, sys};
use pool_core::{Pool, PoolError, SharedPool};
use pool_cuda::{AcquireShaped, Cuda, CudaDevice, CudaError, DeviceStream, Reclaim};
use pool_facade::{local, with_pool};

use crate::support::{calls_like, orders, start, start_anew};

/// One eighth of the device's page.
const UNIT: usize = 256 << 10;

/// The size of the device's memory in units. The tests request slightly more than half of it, so
/// that only one such block fits.
const DEVICE: usize = 64;
const MOST: usize = 40 * UNIT;

/// Returns a device with memory for one large block, and a second object for the same device with
/// its own memory pool.
fn devices() -> [CudaDevice; 2] {
    let device = Cuda::device(0).unwrap();
    let other = CudaDevice::of_context(Arc::clone(device.context())).unwrap();
    [device, other]
}

fn settings() -> Settings {
    Settings { bytes: (DEVICE * UNIT) as u64, ..Settings::default() }
}

/// Runs a program in many orders on a small device. After each run, there are no reports and no
/// leaks.
fn in_many_orders_on_a_small_device(program: impl Fn()) {
    let simulator = start();
    for seed in 0..orders() {
        start_anew(simulator, settings(), seed);
        program();
        simulator.assert_clean();
    }
}

/// Runs a program that uses pools of the thread. Their device lives until the process ends.
fn on_a_small_device(program: impl Fn()) {
    let simulator = start();
    start_anew(simulator, settings(), 0);
    program();
    simulator.assert_clean();
}

fn acquire(pool: &mut Pool<Cuda>, bytes: usize) -> Result<usize, PoolError<CudaError>> {
    Ok(pool.scope().try_acquire::<u8, _>(bytes)?.len())
}

/// Returns the attempts that the error of an acquire lists.
fn reclaim_of(failed: Result<usize, PoolError<CudaError>>) -> Reclaim {
    match failed {
        Err(PoolError::OutOfMemory { source: CudaError::OutOfMemory { reclaim, .. }, .. }) => {
            reclaim
        }
        other => panic!("{other:?}"),
    }
}

/// Drops a pool whose blocks are freed on a stream with running work.
fn leave_pending_frees(device: &CudaDevice, stream: &Arc<CudaStream>) {
    let mut pool = Pool::<Cuda>::new(DeviceStream::new(device, stream.clone()).unwrap());
    acquire(&mut pool, MOST).unwrap();
}

/// Uses cudarc's own slices, like user code: two live streams each allocate and free more than half
/// of the memory.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn another_stream_has_freed_the_memory() {
    let simulator = start();
    for seed in 0..orders() {
        start_anew(simulator, settings(), seed);
        let device = Cuda::device(0).unwrap();
        let [one, two] = [0; 2].map(|_| device.context().new_stream().unwrap());
        drop(one.alloc_zeros::<u8>(MOST).unwrap());
        drop(two.alloc_zeros::<u8>(MOST).unwrap());
        two.synchronize().unwrap();
        simulator.assert_clean();
    }
}

/// The pools of one device share its memory pool, which reuses memory that was freed on another
/// stream.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn pools_one_after_the_other_have_the_same_memory() {
    in_many_orders_on_a_small_device(|| {
        let device = Cuda::device(0).unwrap();
        for _ in 0..3 {
            acquire(&mut Pool::new(device.new_stream().unwrap()), MOST).unwrap();
        }
        let mut trimmed = Pool::<Cuda>::new(device.new_stream().unwrap());
        acquire(&mut trimmed, MOST).unwrap();
        trimmed.trim();
        acquire(&mut Pool::new(device.new_stream().unwrap()), MOST).unwrap();
    });
}

/// The memory pools of two objects for one device share nothing, so the pool must wait for the
/// free.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn pending_frees_of_other_streams_are_waited_for() {
    in_many_orders_on_a_small_device(|| {
        let [device, other] = devices();
        let stream = other.context().new_stream().unwrap();
        leave_pending_frees(&other, &stream);
        // Its memory pool keeps free memory until the pool is trimmed.
        let keeper = Pool::<Cuda>::new(other.new_stream().unwrap());
        acquire(&mut Pool::new(device.new_stream().unwrap()), MOST).unwrap();
        drop(keeper);
    });
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn idle_pools_of_the_thread_are_trimmed() {
    on_a_small_device(|| {
        with_pool!(Cuda, |scope| {
            scope.acquire::<u8, _>(MOST);
        });
        let device = Cuda::device(0).unwrap();
        acquire(&mut Pool::new(device.new_stream().unwrap()), MOST).unwrap();
        // In reverse: a user's pool keeps its block, and the thread's pool cannot obtain one.
        let mut pool = Pool::<Cuda>::new(device.new_stream().unwrap());
        acquire(&mut pool, MOST).unwrap();
        let failed =
            with_pool!(Cuda, |scope| { scope.try_acquire::<u8, _>(MOST).map(|view| view.len()) });
        let reclaim = reclaim_of(failed);
        assert!(reclaim.held_bytes() >= MOST, "{reclaim}");
        pool.trim();
        with_pool!(Cuda, |scope| {
            scope.acquire::<u8, _>(MOST);
        });
    });
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn the_error_lists_what_was_tried_and_what_pools_hold() {
    on_a_small_device(|| {
        with_pool!(Cuda, |scope| {
            scope.acquire::<u8, _>(4 * UNIT);
        });
        let device = Cuda::device(0).unwrap();
        let mut holders: Vec<Pool<Cuda>> =
            (0..2).map(|_| Pool::new(device.new_stream().unwrap())).collect();
        acquire(&mut holders[0], 8 * UNIT).unwrap();
        acquire(&mut holders[1], 24 * UNIT).unwrap();
        let mut pool = Pool::<Cuda>::new(device.new_stream().unwrap());
        let reclaim = reclaim_of(acquire(&mut pool, MOST));
        assert!(reclaim.is_made());
        assert!(reclaim.trimmed_bytes() >= 4 * UNIT, "{reclaim}");
        // These are the streams of the two pools and of the thread, and the first stream of the
        // device's context, which cudarc keeps.
        assert!(reclaim.streams_waited() >= 3, "{reclaim}");
        assert_eq!((reclaim.streams_captured(), reclaim.pools()), (0, 2));
        let held: Vec<usize> = reclaim.largest_pools().collect();
        assert!(held[0] >= 24 * UNIT && held[1] >= 8 * UNIT && held.len() == 2);
        assert_eq!(reclaim.held_bytes(), held.iter().sum::<usize>());
        // The earlier attempts did not damage the pools.
        acquire(&mut pool, 8 * UNIT).unwrap();
        acquire(&mut holders[0], 8 * UNIT).unwrap();
    });
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn all_arrays_of_a_shared_pool_count_as_one_pool() {
    on_a_small_device(|| {
        let device = Cuda::device(0).unwrap();
        let shared = SharedPool::<Cuda>::new(device.new_stream().unwrap());
        let [first, second, _third] = [8, 8, 12].map(|units| shared.take::<u8>(units * UNIT));
        let mut pool = Pool::<Cuda>::new(device.new_stream().unwrap());
        let reclaim = reclaim_of(acquire(&mut pool, MOST));
        assert_eq!(reclaim.pools(), 1, "{reclaim}");
        assert_eq!(reclaim.held_bytes(), shared.stats().reserved_bytes);
        // The memory of an array that outlives the pool's handles is still counted.
        drop((first, second, shared));
        let reclaim = reclaim_of(acquire(&mut pool, 2 * MOST));
        assert_eq!(reclaim.pools(), 1, "{reclaim}");
        assert!((12 * UNIT..16 * UNIT).contains(&reclaim.held_bytes()), "{reclaim}");
    });
}

/// The pool does not wait for a captured stream, and the capture continues.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn captured_streams_are_left_alone() {
    in_many_orders_on_a_small_device(|| {
        let [device, other] = devices();
        let stream = other.context().new_stream().unwrap();
        leave_pending_frees(&other, &stream);
        let keeper = Pool::<Cuda>::new(other.new_stream().unwrap());
        stream.begin_capture(CU_STREAM_CAPTURE_MODE_RELAXED).unwrap();
        let mut pool = Pool::<Cuda>::new(device.new_stream().unwrap());
        let reclaim = reclaim_of(acquire(&mut pool, MOST));
        assert_eq!(reclaim.streams_captured(), 1, "{reclaim}");
        assert_eq!(stream.capture_status().unwrap(), CU_STREAM_CAPTURE_STATUS_ACTIVE);
        drop(stream.end_capture(sys::CUgraphInstantiate_flags(0)).unwrap());
        acquire(&mut pool, MOST).unwrap();
        drop(keeper);
    });
}

/// An optional block, and a block that fits once the pool's idle blocks have been freed, do not
/// affect other pools.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn nothing_outside_is_touched_before_the_last_attempt() {
    let simulator = start();
    start_anew(simulator, settings(), 0);
    with_pool!(Cuda, |scope| {
        scope.acquire::<u8, _>(UNIT);
    });
    let held = || local::<Cuda>().stats().reserved_bytes;
    assert!(held() >= UNIT);
    let device = Cuda::device(0).unwrap();
    let mut pool = Pool::<Cuda>::new(device.new_stream().unwrap());
    // With its growth factor, the pool first requests more than the device has.
    acquire(&mut pool, 25 * UNIT).unwrap();
    acquire(&mut pool, 32 * UNIT).unwrap();
    // The pool's own idle block is freed first.
    acquire(&mut pool, 52 * UNIT).unwrap();
    assert!(held() >= UNIT);
    let waits = calls_like(simulator, "cuStreamSynchronize");
    assert!(waits <= 2, "{waits}");
    acquire(&mut pool, 63 * UNIT).unwrap();
    assert_eq!(held(), 0);
    drop(pool);
    simulator.assert_clean();
}

/// The last attempt also covers the memory for shapes.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn memory_of_shapes_is_reclaimed() {
    on_a_small_device(|| {
        let device = Cuda::device(0).unwrap();
        let mut pool = Pool::<Cuda>::new(device.new_stream().unwrap());
        let scope = pool.scope();
        // The block ends at a page boundary, and the thread's pool holds the last pages.
        scope.acquire::<u8, _>((DEVICE - 8) * UNIT - 256);
        with_pool!(Cuda, |other| {
            other.acquire::<u8, _>(4 * UNIT);
        });
        assert!(scope.try_acquire_shaped::<u8>(&[2, 3]).is_ok());
    });
}

/// Makes each driver call fail in turn while memory is being reclaimed. The result is an error or
/// success, but never a leak.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn every_call_of_an_attempt_may_fail() {
    let simulator = start();
    let mut failures = 0;
    for code in [2, 999] {
        for call in 1.. {
            start_anew(simulator, settings(), call);
            let [device, other] = devices();
            let stream = other.context().new_stream().unwrap();
            leave_pending_frees(&other, &stream);
            let keeper = Pool::<Cuda>::new(other.new_stream().unwrap());
            let mut pool = Pool::<Cuda>::new(device.new_stream().unwrap());
            simulator.fail_any_call(call, code);
            let before = simulator.all_calls();
            let acquired = acquire(&mut pool, MOST);
            let made = simulator.all_calls() - before;
            simulator.forget_failures();
            failures += usize::from(acquired.is_err());
            if acquired.is_err() {
                acquire(&mut pool, MOST).unwrap();
            }
            drop((pool, keeper, stream, device, other));
            Cuda::retry_deferred_frees();
            simulator.assert_clean();
            if made < call {
                break;
            }
        }
    }
    assert!(failures > 10, "{failures}");
}
