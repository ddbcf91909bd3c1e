//! Other streams that use a pool's memory are ordered before and after the pool's stream, even if
//! guards and views are dropped or forgotten.

use std::mem;
use std::sync::Arc;

use cuda_sim_control::Settings;
use cudarc::driver::{CudaStream, DevicePtr, DevicePtrMut, result};
use pool_core::{Pool, PoolView, PoolViewMut, error_chain};
use pool_cuda::{Cuda, CudaDevice, record_use, register_stream};

use crate::support::{
    calls_like, in_many_orders, orders, pool, races_in_every_order, start, start_anew,
};

/// The number of elements in each array.
const N: usize = 1000;

fn another_stream(device: &CudaDevice) -> Arc<CudaStream> {
    let stream = device.context().new_stream().unwrap();
    register_stream(&stream);
    stream
}

/// Runs rounds in which the pool's stream writes, and another stream reads and then writes, without
/// explicit joins.
fn rounds(pool: &mut Pool<Cuda>, other: &Arc<CudaStream>) {
    // SAFETY: the memory is written before it is read.
    let mut copy = unsafe { other.alloc::<u32>(N) }.unwrap();
    for round in 0..4 {
        let scope = pool.scope();
        let mut view = scope.acquire_filled(N, round);
        other.memcpy_dtod(&view, &mut copy).unwrap();
        other.memset_zeros(&mut view).unwrap();
        let seen = other.clone_dtoh(&copy).unwrap();
        assert!(seen.iter().all(|element| *element == round), "round {round}");
    }
    let scope = pool.scope();
    let view = scope.acquire::<u32, _>(N);
    assert_eq!(view.copy_to_vec().unwrap(), [0; N], "the other stream's last write");
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_known_stream_is_ordered() {
    in_many_orders(|device| {
        let other = another_stream(device);
        rounds(&mut pool(device), &other);
    });
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn an_unknown_stream_is_ordered() {
    in_many_orders(|device| {
        let other = device.context().new_stream().unwrap();
        rounds(&mut pool(device), &other);
    });
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn the_default_streams_are_ordered() {
    in_many_orders(|device| {
        rounds(&mut pool(device), &device.context().default_stream());
        rounds(&mut pool(device), &device.context().per_thread_stream());
    });
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn without_the_order_it_is_a_race() {
    races_in_every_order(|device| {
        let other = another_stream(device);
        let mut pool = pool(device);
        // SAFETY: the memory belongs to the simulator, which reports races.
        unsafe { pool.context().order_foreign_streams(false) };
        // SAFETY: the memory is written before it is read.
        let mut copy = unsafe { other.alloc::<u32>(N) }.unwrap();
        for round in 0..4 {
            let scope = pool.scope();
            let mut view = scope.acquire_filled(N, round);
            other.memcpy_dtod(&view, &mut copy).unwrap();
            other.memset_zeros(&mut view).unwrap();
        }
        device.context().synchronize().unwrap();
    });
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn foreign_stream_view_forgotten_then_slot_reused() {
    in_many_orders(|device| {
        let other = another_stream(device);
        let mut pool = pool(device);
        for round in 0..4_u8 {
            let scope = pool.scope();
            let mut view = scope.acquire::<u8, _>(N);
            let (address, guard) = view.device_ptr_mut(&other);
            mem::forget(guard);
            // SAFETY: the view is in use, and `other` is ordered after the pool's stream.
            unsafe { result::memset_d8_async(address, round, N, other.cu_stream()) }.unwrap();
        }
        assert_eq!(pool.scope().acquire::<u8, _>(N).copy_to_vec().unwrap(), [3; N]);
    });
}

/// Work that is enqueued late, with a pointer that was taken early, runs before the next use of the
/// slot.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn work_that_is_enqueued_late_is_ordered() {
    in_many_orders(|device| {
        let other = another_stream(device);
        let mut pool = pool(device);
        let copy = other.alloc_zeros::<u8>(N).unwrap();
        let (to, _guard) = copy.device_ptr(&other);
        {
            let scope = pool.scope();
            let view = scope.acquire_filled(N, 1_u8);
            let (from, _guard) = view.device_ptr(&other);
            // The read joins the other stream before any work on the view has been enqueued on that
            // stream.
            assert_eq!(view.copy_to_vec().unwrap(), [1; N]);
            // SAFETY: both ranges are allocated, and the view is in use.
            unsafe { result::memcpy_dtod_async(to, from, N, other.cu_stream()) }.unwrap();
        }
        let scope = pool.scope();
        let _next = scope.acquire_filled(N, 2_u8);
        drop(_guard);
        assert_eq!(other.clone_dtoh(&copy).unwrap(), [1; N]);
    });
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn growing_trimming_and_dropping_wait_for_other_streams() {
    in_many_orders(|device| {
        let other = another_stream(device);
        let mut pool = pool(device);
        for length in [N, 2 * N, 10 * N] {
            let scope = pool.scope();
            let mut view = scope.acquire::<u32, _>(length);
            other.memset_zeros(&mut view).unwrap();
        }
        assert_eq!(pool.trim().slots, 1);
        let scope = pool.scope();
        let mut view = scope.acquire::<u32, _>(N);
        other.memset_zeros(&mut view).unwrap();
        drop(pool);
    });
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_stream_that_its_owner_drops_is_kept_until_it_was_waited_for() {
    in_many_orders(|device| {
        let mut pool = pool(device);
        for known in [true, false] {
            let other = device.context().new_stream().unwrap();
            if known {
                register_stream(&other);
            }
            let scope = pool.scope();
            let mut view = scope.acquire::<u32, _>(N);
            other.memset_zeros(&mut view).unwrap();
            drop(other);
            pool.scope().acquire_filled(N, 1_u32);
        }
    });
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn two_other_streams_in_turn() {
    in_many_orders(|device| {
        let (one, two) = (another_stream(device), another_stream(device));
        let mut pool = pool(device);
        for round in 0..3_u8 {
            let scope = pool.scope();
            let mut view = scope.acquire::<u8, _>(N);
            one.memcpy_htod(&vec![round; N], &mut view).unwrap();
            let seen = two.clone_dtoh(&view).unwrap();
            assert_eq!(seen, [round; N]);
            one.memset_zeros(&mut view).unwrap();
            two.memcpy_htod(&vec![9; N], &mut view).unwrap();
            assert_eq!(view.copy_to_vec().unwrap(), [9; N]);
        }
    });
}

/// A pool cannot distinguish the two streams.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn two_unknown_streams_in_turn() {
    in_many_orders(|device| {
        let [one, two] = [(); 2].map(|()| device.context().new_stream().unwrap());
        let mut pool = pool(device);
        for round in 0..3_u8 {
            let scope = pool.scope();
            let mut view = scope.acquire::<u8, _>(N);
            one.memset_zeros(&mut view).unwrap();
            assert_eq!(two.clone_dtoh(&view).unwrap(), [0; N]);
            one.memcpy_htod(&vec![round; N], &mut view).unwrap();
            two.memset_zeros(&mut view).unwrap();
            assert_eq!(view.copy_to_vec().unwrap(), [0; N]);
        }
    });
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn the_default_streams_and_another_in_turn() {
    in_many_orders(|device| {
        let (legacy, thread) =
            (device.context().default_stream(), device.context().per_thread_stream());
        let other = device.context().new_stream().unwrap();
        let mut pool = pool(device);
        for _ in 0..3 {
            let scope = pool.scope();
            let mut view = scope.acquire_filled::<u8, _>(N, 1);
            for stream in [&legacy, &other, &thread, &legacy] {
                stream.memset_zeros(&mut view).unwrap();
            }
            view.fill_with_value(4).unwrap();
            other.memset_zeros(&mut view).unwrap();
        }
    });
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn raw_pointers_are_ordered_when_their_use_is_recorded() {
    in_many_orders(|device| {
        let other = another_stream(device);
        let mut pool = pool(device);
        for round in 0..3_u8 {
            let scope = pool.scope();
            let view = scope.acquire_filled(N, round);
            record_use(&view, &other).unwrap();
            // SAFETY: the view is in use, and `other` is ordered after the pool's stream.
            unsafe { result::memset_d8_async(view.address(), 5, N, other.cu_stream()) }.unwrap();
        }
        assert_eq!(pool.scope().acquire::<u8, _>(N).copy_to_vec().unwrap(), [5; N]);
    });
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn two_pools_on_two_streams() {
    in_many_orders(|device| {
        let (mut left, mut right) = (pool(device), pool(device));
        for round in 0..4_u32 {
            let (left, right) = (left.scope(), right.scope());
            let from = left.acquire_filled(N, round);
            let mut to = right.acquire::<u32, _>(N);
            to.copy_from(from.as_view()).unwrap();
            assert!(to.copy_to_vec().unwrap().iter().all(|element| *element == round));
        }
    });
}

/// cudarc's traits cannot return an error, so the host waits if an event cannot be recorded.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn an_event_that_fails_is_made_up_for_by_waiting() {
    let simulator = start();
    for (call, nth) in [("cuEventRecord", 1), ("cuStreamWaitEvent", 1), ("cuEventRecord", 2)] {
        for seed in 0..orders() {
            start_anew(simulator, Settings::default(), seed);
            let device = Cuda::device(0).unwrap();
            let other = another_stream(&device);
            let mut pool = pool(&device);
            let scope = pool.scope();
            let mut view = scope.acquire_filled(N, 1_u8);
            simulator.fail_call(call, nth, 999);
            other.memset_zeros(&mut view).unwrap();
            // The second record belongs to this use.
            assert_eq!(other.clone_dtoh(&view).unwrap(), [0; N]);
            other.memcpy_htod(&[7; N], &mut view).unwrap();
            let _ = pool.scope().try_acquire_filled(N, 2_u8);
            assert_eq!(pool.scope().acquire_filled(N, 3_u8).copy_to_vec().unwrap(), [3; N]);
            assert!(pool.context().take_pending_error().is_some(), "{call} {nth}");
            drop((pool, other, device));
            simulator.assert_clean();
            simulator.assert_no_leaks();
        }
    }
}

/// The host waits for a stream that could not be ordered, even if the stream belongs to another
/// device.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn an_event_that_fails_is_made_up_for_across_devices() {
    let simulator = start();
    for seed in 0..orders() {
        start_anew(simulator, Settings { devices: 2, ..Settings::default() }, seed);
        let (here, there) = (Cuda::device(0).unwrap(), Cuda::device(1).unwrap());
        let (mut near, mut far) = (pool(&here), pool(&there));
        let (near, far) = (near.scope(), far.scope());
        let mut from = near.acquire_filled(N, 1_u8);
        let mut to = far.acquire::<u8, _>(N);
        to.copy_from(from.as_view()).unwrap();
        let stream = Arc::clone(near.context().stream());
        simulator.fail_call("cuEventCreate", 1, 999);
        stream.memset_zeros(&mut from).unwrap();
        assert!(near.context().take_pending_error().is_some());
        assert_eq!(to.copy_to_vec().unwrap(), [1; N]);
        simulator.assert_clean();
    }
}

/// A block that another stream uses is not reused in a capture, because a wait would invalidate the
/// capture. It is freed after the capture.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_capture_is_not_spoiled_by_other_streams_uses() {
    use cudarc::driver::sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL as LOCAL;
    in_many_orders(|device| {
        let other = another_stream(device);
        let mut pool = pool(device);
        let mut view = pool.scope().acquire::<u8, _>(N);
        other.memset_zeros(&mut view).unwrap();
        let stream = Arc::clone(pool.context().stream());
        let mut kept = other.alloc_zeros::<u8>(N).unwrap();
        stream.begin_capture(LOCAL).unwrap();
        let refused = pool.scope().try_acquire::<u8, _>(N).unwrap_err();
        let text = error_chain(&refused).to_string();
        assert!(text.contains("captured"), "{text}");
        assert_eq!(pool.trim().slots, 1);
        let (address, _guard) = kept.device_ptr_mut(&other);
        // SAFETY: the memory is allocated, and no other work uses it.
        unsafe { result::memset_d8_async(address, 1, N, stream.cu_stream()) }.unwrap();
        let graph = stream.end_capture(cudarc::driver::sys::CUgraphInstantiate_flags(0)).unwrap();
        assert!(graph.is_some(), "the capture is whole");
        drop((graph, _guard));
        assert_eq!(pool.scope().acquire_filled(N, 5_u8).copy_to_vec().unwrap(), [5; N]);
        assert_eq!(pool.context().take_pending_error(), None);
    });
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn the_pools_own_stream_needs_no_event_and_no_waiting() {
    let simulator = start();
    let device = Cuda::device(0).unwrap();
    let mut pool = pool(&device);
    pool.scope().acquire::<u32, _>(N);
    simulator.forget_calls();
    for _ in 0..10 {
        let scope = pool.scope();
        let mut view = scope.acquire::<u32, _>(N);
        let stream = Arc::clone(scope.context().stream());
        stream.memset_zeros(&mut view).unwrap();
        view.fill_with_value(7).unwrap();
    }
    assert_eq!(calls_like(simulator, "cuEvent"), 0);
    assert_eq!(calls_like(simulator, "cuStreamWait"), 0);
    assert!(!simulator.log().iter().any(|call| call.name.contains("Synchronize")));
    simulator.assert_clean();
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn leaving_a_scope_never_waits_on_the_host() {
    let simulator = start();
    let device = Cuda::device(0).unwrap();
    let other = another_stream(&device);
    let mut pool = pool(&device);
    pool.scope().acquire::<u32, _>(N);
    simulator.forget_calls();
    for _ in 0..10 {
        let scope = pool.scope();
        let mut view = scope.acquire::<u32, _>(N);
        other.memset_zeros(&mut view).unwrap();
    }
    assert!(!simulator.log().iter().any(|call| call.name.contains("Synchronize")));
    assert_eq!(simulator.calls("cuStreamWaitEvent"), 19, "each waits for the one before");
    assert_eq!(simulator.calls("cuEventCreate"), 1, "one event serves them all");
    simulator.assert_clean();
}
