//! Eager pools during captures: no operation of an eager pool on memory that an unknown stream used
//! invalidates a capture of a session. The attacks come from `att/hand.rs` and from part 1 of
//! `last.rs`.

use std::mem;
use std::sync::Arc;
use std::thread;

use cuda_sim_control::Settings;
use cudarc::driver::sys::CUstreamCaptureStatus;
use cudarc::driver::{CudaStream, DevicePtrMut};
use pool_core::{Pool, PoolView, PoolViewMut};
use pool_cuda::{Cuda, CudaDevice, CudaError};
use pool_driver::capture_mode::with_relaxed_capture_mode;
use pool_graph::{
    ArenaPolicy, Capture, CaptureError, CaptureMode, CaptureSession, CudaArena, DeviceMemory,
};

use crate::common::{BYTES, Made, arena, pool, stream};
use crate::support::{start, start_anew};

const N: usize = 100;
const CAPTURED: CUstreamCaptureStatus = CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_ACTIVE;
const MODES: [CaptureMode; 3] =
    [CaptureMode::Global, CaptureMode::ThreadLocal, CaptureMode::Relaxed];

/// The way in which other code has used an eager pool's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Past {
    Unregistered,
    PerThread,
    Default,
    Forgotten,
    AnotherDevice,
}

const ALL: [Past; 5] =
    [Past::Unregistered, Past::PerThread, Past::Default, Past::Forgotten, Past::AnotherDevice];

impl Past {
    fn leaves_no_event(self) -> bool {
        matches!(self, Self::Forgotten | Self::AnotherDevice)
    }

    fn stream(self, device: &CudaDevice) -> Arc<CudaStream> {
        let context = device.context();
        match self {
            Self::PerThread => context.per_thread_stream(),
            Self::Default => context.default_stream(),
            _ => context.new_stream().unwrap(),
        }
    }
}

/// Runs an eager pool during a capture. Other code uses the pool's memory, the pool fills it, and
/// the pool is dropped.
fn eager(past: Past, [device, far]: &[CudaDevice; 2]) -> Result<(), CudaError> {
    let mut eager = Pool::<Cuda>::new(device.new_stream()?);
    let filled = {
        let scope = eager.scope();
        let mut view = scope.try_acquire_filled(N, 1.0_f32).unwrap();
        let other = past.stream(device);
        match past {
            Past::AnotherDevice => {
                let there = far.context().new_stream().unwrap();
                // A strict capture forbids cudarc's own allocation.
                let mut copy = with_relaxed_capture_mode(|| there.alloc_zeros::<f32>(N)).unwrap();
                there.memcpy_dtod(&view, &mut copy).unwrap();
                with_relaxed_capture_mode(|| drop(copy));
            }
            Past::Forgotten => mem::forget(view.device_ptr_mut(&other).1),
            _ => other.memset_zeros(&mut view).unwrap(),
        }
        let filled = view.fill_with_value(2.0);
        if filled.is_ok() {
            assert_eq!(view.copy_to_vec()?, [2.0; N]);
        }
        filled
    };
    drop(eager);
    filled
}

/// `an_eager_pool_spoils_captures`: on another thread in each mode, and on the capturing thread in
/// relaxed mode.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn an_eager_pool_spoils_no_capture() {
    let simulator = start();
    for (seed, mode) in (0..4).flat_map(|seed| MODES.map(|mode| (seed, mode))) {
        for (past, is_beside) in ALL.into_iter().flat_map(|past| [(past, true), (past, false)]) {
            if !is_beside && mode != CaptureMode::Relaxed {
                // The driver refuses the pool's calls on the capturing thread.
                continue;
            }
            start_anew(simulator, Settings { devices: 2, ..Settings::default() }, seed);
            let devices = [0, 1].map(|ordinal| Cuda::device(ordinal).unwrap());
            let (main, pool) = (stream(), pool());
            let block = pool.allocate(BYTES).unwrap();
            let lease = pool.lease(&[block.id()]).unwrap();
            let session = CaptureSession::new(&main).unwrap().lease(lease).mode(mode);
            let mut filled = Ok(());
            let made: Made = session.prepare(arena()).unwrap().capture((), |capture, ()| {
                capture.fill_bytes(capture.main(), &mut capture.block::<f32>(&block)?, 1)?;
                filled = match is_beside {
                    true => thread::scope(|threads| {
                        threads.spawn(|| eager(past, &devices)).join().unwrap()
                    }),
                    false => eager(past, &devices),
                };
                capture.fill_bytes(capture.main(), &mut capture.block::<f32>(&block)?, 2)
            });
            let mut graph = made.unwrap_or_else(|error| panic!("{mode:?} {past:?}: {error:?}"));
            let is_unknown = matches!(filled, Err(CudaError::UnknownUse { .. }));
            assert_eq!(is_unknown, past.leaves_no_event(), "{mode:?} {past:?}: {filled:?}");
            graph.replay().unwrap();
            graph.synchronize().unwrap();
            drop((graph, main, pool, devices));
            assert_eq!(Cuda::retry_deferred_frees(), 0, "{}", Cuda::deferred_frees());
            simulator.assert_clean();
            simulator.assert_no_leaks();
        }
    }
}

/// Row 5: in the body of a capture on device 1, a fill on device 0 follows a cudarc copy to device
/// 1.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_fill_on_one_device_spoils_no_capture_on_another() {
    let simulator = start();
    for seed in 0..20 {
        start_anew(simulator, Settings { devices: 2, ..Settings::default() }, seed);
        let [near, far] = [0, 1].map(|ordinal| Cuda::device(ordinal).unwrap());
        let main = far.context().new_stream().unwrap();
        near.grant_peer_access(&far).unwrap();
        far.grant_peer_access(&near).unwrap();
        let mut pools = [&near, &far].map(|device| Pool::<Cuda>::new(device.new_stream().unwrap()));
        let [from, to] = pools.each_mut().map(Pool::scope);
        let mut source = from.acquire_filled::<u32, _>(N, 1);
        let mut copy = to.acquire_zeroed::<u32, _>(N);
        let other = far.context().new_stream().unwrap();
        other.memcpy_dtod(&source, &mut copy).unwrap();
        let arena = CudaArena::new(DeviceMemory::new(&far), 1 << 14, ArenaPolicy::Monotone);
        let prepared = CaptureSession::new(&main).unwrap().prepare(arena.unwrap()).unwrap();
        let made: Made = prepared.capture((), |capture: &Capture<'_>, ()| {
            let mut view = capture.acquire::<u32>(N)?;
            capture.fill_bytes(capture.main(), &mut view, 1)?;
            assert_eq!(source.fill_with_value(3), Err(CudaError::UnknownUse { stream: None }));
            assert_eq!(copy.as_view().copy_to_vec()?, [1; N], "this one ended in an event");
            capture.fill_bytes(capture.main(), &mut view, 2)
        });
        made.unwrap().replay().unwrap();
        source.fill_with_value(3).unwrap();
        assert_eq!(copy.copy_to_vec().unwrap(), [1; N]);
        drop((source, copy, from, to));
        drop((prepared, pools, other, main, near, far));
        assert_eq!(Cuda::retry_deferred_frees(), 0);
        simulator.assert_clean();
        simulator.assert_no_leaks();
    }
}

/// `a_deferred_free_spoils_capture_after_capture`: each pool that allocates during a capture
/// retries deferred blocks, one of whose users cannot be waited for. The blocks are freed when the
/// last capture has ended.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_deferred_free_spoils_no_capture_after_capture() {
    let simulator = start();
    start_anew(simulator, Settings::default(), 0);
    let device = Cuda::device(0).unwrap();
    let main = stream();
    let mut others = vec![];
    for round in 0..4 {
        let prepared = CaptureSession::new(&main).unwrap().prepare(arena()).unwrap();
        let made: Made = prepared.capture((), |capture, ()| {
            let mut view = capture.acquire::<f32>(N)?;
            capture.fill_bytes(capture.main(), &mut view, 1)?;
            if round == 0 {
                let other = stream();
                let mut eager = Pool::<Cuda>::new(device.new_stream().unwrap());
                mem::forget(eager.scope().acquire_filled(N, 1.0_f32).device_ptr_mut(&other).1);
                drop(eager);
                others.push(other);
            }
            let mut another = Pool::<Cuda>::new(device.new_stream().unwrap());
            assert!(another.scope().try_acquire_filled(10, 1.0_f32).is_ok());
            if round == 0 {
                assert_eq!(Cuda::deferred_frees().total(), 1, "{}", Cuda::deferred_frees());
            }
            capture.fill_bytes(capture.main(), &mut view, 2)
        });
        assert_eq!(Cuda::deferred_frees().total(), 0, "the end of a capture gives it back");
        made.unwrap().replay().unwrap();
    }
    drop((others, main, device));
    simulator.assert_clean();
    simulator.assert_no_leaks();
}

/// A body handles an error of a pool itself.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn an_unknown_use_is_an_error_of_the_body() {
    let simulator = start();
    start_anew(simulator, Settings { devices: 2, ..Settings::default() }, 0);
    let devices = [0, 1].map(|ordinal| Cuda::device(ordinal).unwrap());
    let main = stream();
    let prepared = CaptureSession::new(&main).unwrap().prepare(arena()).unwrap();
    let made: Made = prepared.capture((), |_, ()| Ok(eager(Past::AnotherDevice, &devices)?));
    let error = made.map(drop).unwrap_err();
    let unknown = CaptureError::Driver(CudaError::UnknownUse { stream: None });
    assert_eq!(error, unknown);
    assert!(error.to_string().contains("copy_from"), "{error}");
    drop((prepared, main, devices));
    assert_eq!(Cuda::retry_deferred_frees(), 0);
    simulator.assert_clean();
    simulator.assert_no_leaks();
}

/// The dry capture of a scope in a probe also belongs to a session: an eager pool does not wait for
/// the context during the probe.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn an_eager_pool_spoils_no_probe() {
    let simulator = start();
    for (past, is_beside) in ALL.into_iter().flat_map(|past| [(past, true), (past, false)]) {
        start_anew(simulator, Settings { devices: 2, ..Settings::default() }, 0);
        let devices = [0, 1].map(|ordinal| Cuda::device(ordinal).unwrap());
        let main = stream();
        let mut filled = Ok(());
        let body = |capture: &Capture<'_>, (): &mut ()| {
            capture.scope(capture.main(), |scope| {
                scope.try_acquire_zeroed::<f32, _>(N)?;
                filled = match is_beside {
                    true => thread::scope(|threads| {
                        threads.spawn(|| eager(past, &devices)).join().unwrap()
                    }),
                    false => eager(past, &devices),
                };
                let status = scope.context().stream().capture_status().unwrap();
                assert_eq!(status, CAPTURED, "{past:?}: {filled:?}");
                Ok::<(), CaptureError>(())
            })
        };
        CaptureSession::new(&main).unwrap().probe(&mut (), body).unwrap();
        let is_unknown = matches!(filled, Err(CudaError::UnknownUse { .. }));
        assert_eq!(is_unknown, past.leaves_no_event(), "{past:?}: {filled:?}");
        drop((main, devices));
        assert_eq!(Cuda::retry_deferred_frees(), 0, "{}", Cuda::deferred_frees());
        simulator.assert_clean();
        simulator.assert_no_leaks();
    }
}

/// A graph that is dropped in the body of a probe is destroyed when the probe ends.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_graph_dropped_in_a_probe_goes_with_its_end() {
    let simulator = start();
    start_anew(simulator, Settings::default(), 0);
    let (main, other, pool) = (stream(), stream(), pool());
    let block = pool.allocate(BYTES).unwrap();
    let lease = pool.lease(&[block.id()]).unwrap();
    let prepared = CaptureSession::new(&other).unwrap().lease(lease).prepare(arena()).unwrap();
    let made: Made = prepared.capture((), |capture, ()| {
        capture.fill_bytes(capture.main(), &mut capture.block::<f32>(&block)?, 1)
    });
    let mut graph = made.unwrap();
    graph.replay().unwrap();
    let mut graph = Some(graph);
    let body = |capture: &Capture<'_>, (): &mut ()| {
        capture.scope(capture.main(), |scope| {
            scope.try_acquire_zeroed::<f32, _>(N)?;
            drop(graph.take());
            let status = scope.context().stream().capture_status().unwrap();
            assert_eq!(status, CAPTURED);
            Ok::<(), CaptureError>(())
        })
    };
    CaptureSession::new(&main).unwrap().probe(&mut (), body).unwrap();
    assert_eq!(Cuda::deferred_frees().total(), 0, "{}", Cuda::deferred_frees());
    drop(prepared);
    pool.deallocate(block.id()).unwrap();
    drop((main, other, pool));
    simulator.assert_clean();
    simulator.assert_no_leaks();
}
