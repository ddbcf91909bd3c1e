//! Uses on streams that a pool does not know. Each use ends with an event, so that the pool does
//! not invalidate captures in the context. Without an event, the pool waits for the whole context.

use std::mem;
use std::sync::Arc;

use cuda_sim_control::Settings;
use cudarc::driver::sys::{CUgraphInstantiate_flags, CUstreamCaptureMode as Mode};
use cudarc::driver::{CudaStream, DevicePtr, DevicePtrMut, SyncOnDrop, result};
use pool_core::{Pool, PoolView, PoolViewMut};
use pool_cuda::{Cuda, CudaDevice, CudaError, register_stream};

use crate::support::{in_many_orders, pool, start, start_anew};

const N: usize = 1000;

fn unknown(device: &CudaDevice) -> [Arc<CudaStream>; 3] {
    let context = device.context();
    [context.new_stream().unwrap(), context.per_thread_stream(), context.default_stream()]
}

/// `an_eager_pool_spoils_hand_made_captures` of `att/hand.rs`: a manual cudarc capture, in each
/// mode, while an eager pool fills, reads, reuses, trims and drops memory that an unknown stream
/// used.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn an_eager_pool_spoils_no_hand_made_capture() {
    let simulator = start();
    for mode in [
        Mode::CU_STREAM_CAPTURE_MODE_GLOBAL,
        Mode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL,
        Mode::CU_STREAM_CAPTURE_MODE_RELAXED,
    ] {
        for which in 0..3 {
            start_anew(simulator, Settings::default(), 0);
            let device = Cuda::device(0).unwrap();
            let captured = device.context().new_stream().unwrap();
            let others = unknown(&device);
            let other = &others[which];
            let mut eager = pool(&device);
            {
                let scope = eager.scope();
                let mut views = [(); 3].map(|()| scope.acquire_filled(N, 1.0_f32));
                for view in &mut views {
                    other.memset_zeros(view).unwrap();
                }
                captured.begin_capture(mode).unwrap();
                views[0].fill_with_value(2.0).unwrap();
                assert_eq!(views[1].copy_to_vec().unwrap(), [0.0; N], "{mode:?} {which}");
            }
            // This allocates, which the other modes forbid on this thread.
            if mode == Mode::CU_STREAM_CAPTURE_MODE_RELAXED {
                let _again = eager.scope().acquire_filled(N, 3.0_f32);
            }
            drop(eager);
            let graph = captured.end_capture(CUgraphInstantiate_flags(0));
            assert!(graph.is_ok(), "{mode:?} {which}: {:?}", graph.as_ref().err());
            drop((graph, captured));
            assert_eq!(simulator.calls("cuCtxSynchronize"), 0);
            drop((others, device));
            assert_eq!(Cuda::retry_deferred_frees(), 0);
            simulator.assert_clean();
            simulator.assert_no_leaks();
        }
    }
}

/// Drops guards in loops of reads and of writes. The host never waits for the context, and the
/// number of events per block is bounded.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn uses_on_an_unknown_stream_end_in_events() {
    let simulator = start();
    start_anew(simulator, Settings::default(), 0);
    let device = Cuda::device(0).unwrap();
    let mut pool = pool(&device);
    let other = device.context().new_stream().unwrap();
    {
        let scope = pool.scope();
        let mut view = scope.acquire_filled(N, 1_u32);
        for round in 0..100 {
            other.memset_zeros(&mut view).unwrap();
            view.fill_with_value(round).unwrap();
        }
        let (made, destroyed) =
            (simulator.calls("cuEventCreate"), simulator.calls("cuEventDestroy_v2"));
        assert!(made - destroyed < 8, "{made} events made, {destroyed} destroyed");
        assert_eq!(simulator.calls("cuCtxSynchronize"), 0);
        assert_eq!(view.copy_to_vec().unwrap(), [99; N]);
        // Concurrent readers keep their events, up to a limit.
        let mut copy = other.alloc_zeros::<u32>(N).unwrap();
        for _ in 0..100 {
            other.memcpy_dtod(&view, &mut copy).unwrap();
            assert_eq!(view.as_view().copy_to_vec().unwrap()[0], 99);
        }
        let (made, destroyed) =
            (simulator.calls("cuEventCreate"), simulator.calls("cuEventDestroy_v2"));
        assert!(made - destroyed < 50, "{made} events made, {destroyed} destroyed");
        assert_eq!(other.clone_dtoh(&copy).unwrap(), [99; N]);
    }
    drop((pool, other, device));
    simulator.assert_clean();
    simulator.assert_no_leaks();
}

/// A guard that is forgotten or still live has not recorded an event, so the host waits for the
/// context.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_forgotten_guard_is_waited_for() {
    in_many_orders(|device| {
        let mut pool = pool(device);
        for other in unknown(device) {
            for is_forgotten in [true, false] {
                let scope = pool.scope();
                let view = scope.acquire_filled::<u8, _>(N, 1);
                let (address, guard) = view.device_ptr(&other);
                // SAFETY: the view is in use, and `other` is ordered after the pool's stream.
                unsafe { result::memset_d8_async(address, 5, N, other.cu_stream()) }.unwrap();
                if is_forgotten {
                    mem::forget(guard);
                    assert_eq!(view.copy_to_vec().unwrap(), [5; N]);
                } else {
                    assert_eq!(view.copy_to_vec().unwrap(), [5; N]);
                    drop(guard);
                }
                assert_eq!(view.copy_to_vec().unwrap(), [5; N]);
            }
        }
        assert_eq!(pool.scope().acquire_filled::<u8, _>(N, 3).copy_to_vec().unwrap(), [3; N]);
    });
}

/// cudarc's guards are public, so user code may record the event early, and drop the guard after
/// the next use. The event must still exist at that time.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn the_event_of_a_guard_lives_as_long_as_the_guard() {
    in_many_orders(|device| {
        let mut pool = pool(device);
        let other = device.context().new_stream().unwrap();
        let scope = pool.scope();
        let view = scope.acquire_filled::<u8, _>(N, 1);
        let (_, guard) = view.device_ptr(&other);
        let SyncOnDrop::Record(Some((event, stream))) = &guard else {
            panic!("the stream is not known")
        };
        event.record(stream).unwrap();
        for _ in 0..40 {
            assert_eq!(view.copy_to_vec().unwrap(), [1; N]);
            drop(view.device_ptr(&other));
        }
        assert!(event.synchronize().is_ok());
        drop(guard);
        assert!(device.context().check_err().is_ok());
        assert_eq!(view.copy_to_vec().unwrap(), [1; N]);
    });
}

/// Without cudarc's event tracking, no guard records an event, so the host waits for the context.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn without_event_tracking_the_context_is_waited_for() {
    in_many_orders(|device| {
        // SAFETY: no cudarc slice is used on two streams here.
        unsafe { device.context().disable_event_tracking() };
        let mut pool = pool(device);
        let other = device.context().new_stream().unwrap();
        for round in 0..3_u8 {
            let scope = pool.scope();
            let mut view = scope.acquire_filled::<u8, _>(N, round);
            let (address, guard) = view.device_ptr_mut(&other);
            // SAFETY: the view is in use, and `other` is ordered after the pool's stream.
            unsafe { result::memset_d8_async(address, 7, N, other.cu_stream()) }.unwrap();
            drop(guard);
            assert_eq!(view.copy_to_vec().unwrap(), [7; N]);
        }
    });
}

/// While a session captures (the test registers one), an unknown use without an event fails with a
/// typed error and makes no driver call.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn an_unknown_use_names_the_stream_while_a_session_captures() {
    let simulator = start();
    start_anew(simulator, Settings { devices: 2, ..Settings::default() }, 0);
    let [device, far] = [0, 1].map(|ordinal| Cuda::device(ordinal).unwrap());
    let mut eager: Pool<Cuda> = pool(&device);
    let (other, there) = (device.context().new_stream().unwrap(), far.context().new_stream());
    let there = there.unwrap();
    let mut kept = there.alloc_zeros::<u8>(N).unwrap();
    {
        let scope = eager.scope();
        let mut views = [(); 2].map(|()| scope.acquire_filled::<u8, _>(N, 1));
        mem::forget(views[0].device_ptr_mut(&other).1);
        there.memcpy_dtod(&views[1], &mut kept).unwrap();
        let capture = pool_driver::captures_under_way::CaptureUnderWay::begin();
        let handle = other.cu_stream().addr() as u64;
        assert_eq!(
            views[0].fill_with_value(2),
            Err(CudaError::UnknownUse { stream: Some(handle) })
        );
        assert_eq!(views[1].fill_with_value(2), Err(CudaError::UnknownUse { stream: None }));
        drop(capture);
        views[0].fill_with_value(2).unwrap();
        register_stream(&other);
        drop(views[0].device_ptr_mut(&other));
        let capture = pool_driver::captures_under_way::CaptureUnderWay::begin();
        views[1].copy_to_vec().unwrap_err();
        drop(capture);
        assert_eq!(views[1].copy_to_vec().unwrap(), [1; N]);
    }
    let capture = pool_driver::captures_under_way::CaptureUnderWay::begin();
    drop(eager);
    assert!(Cuda::retry_deferred_frees() > 0, "blocks with uses that cannot be waited for");
    drop(capture);
    assert_eq!(Cuda::retry_deferred_frees(), 0);
    drop((kept, there, other, device, far));
    simulator.assert_clean();
    simulator.assert_no_leaks();
}
