//! The fourth attack's attempts on pools of the device, one test each.

use std::sync::Arc;
use std::thread;

use cuda_sim_control::Settings;
use cudarc::driver::sys::{CUgraphInstantiate_flags, CUstreamCaptureMode};
use cudarc::driver::{CudaFunction, CudaStream, LaunchConfig, PushKernelArg};
use fastrand::Rng;
use pool_core::{Pool, PoolView, PoolViewMut};
use pool_cuda::{Cuda, CudaDevice, OnStream};
use pool_kernels::elementwise;

use crate::support::{function, orders, pool, start, start_anew};

const N: usize = 1000;

/// Another thread captures a pool's stream in the middle of a copy. From then on, the pool's
/// page-locked buffer belongs to that graph, and its event can no longer be queried. Every later
/// copy of the pool queried the event, and failed.
fn a_copy_that_is_captured(reads: bool) {
    let simulator = start();
    let device = Cuda::device(0).unwrap();
    let mut pool = pool(&device);
    let stream = Arc::clone(pool.context().stream());
    let scope = pool.scope();
    let mut view = scope.acquire_zeroed::<u8, _>(N);
    for round in 0..6_u8 {
        let call = if reads { "cuMemcpyDtoHAsync_v2" } else { "cuMemcpyHtoDAsync_v2" };
        let other = Arc::clone(&stream);
        simulator.before_call(call, 1, move || {
            let relaxed = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;
            thread::spawn(move || other.begin_capture(relaxed).unwrap()).join().unwrap();
        });
        if reads {
            assert!(view.copy_to_vec().is_err());
        } else {
            view.copy_from_host(&[99; N]).unwrap();
        }
        let _graph = stream.end_capture(CUgraphInstantiate_flags(0));
        view.copy_from_host(&[round; N]).unwrap();
        assert_eq!(view.copy_to_vec().unwrap(), [round; N]);
    }
    drop(pool);
    simulator.assert_clean();
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_pool_copies_again_after_a_write_that_somebody_captured() {
    a_copy_that_is_captured(false);
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_pool_copies_again_after_a_read_that_somebody_captured() {
    a_copy_that_is_captured(true);
}

/// Launches a fill of the argument, on the stream that was passed to `on`.
fn launch(fill: &CudaFunction, stream: &Arc<CudaStream>, arg: &OnStream<'_>, value: f32, n: usize) {
    let count = n as u64;
    let mut launch = stream.launch_builder(fill);
    launch.arg(arg).arg(&value).arg(&count);
    let threads = u32::try_from(n).unwrap();
    // SAFETY: the arguments match `FILL`, and the argument's view has `count` elements.
    unsafe { launch.launch(LaunchConfig::for_num_elems(threads)) }.unwrap();
}

/// Streams of a peer, of every kind, use blocks that grow, are freed, reused, copied and dropped.
fn peers(random: &mut Rng) {
    let [mut near, far] = [0, 1].map(|ordinal| Cuda::device(ordinal).unwrap());
    if random.bool() {
        near = near.without_memory_pool();
    }
    near.grant_peer_access(&far).unwrap();
    let fills: [CudaFunction; 2] = [&near, &far].map(|device: &CudaDevice| {
        function(device.context(), elementwise::MODULE, elementwise::FILL.f32)
    });
    let context = far.context();
    let kept =
        [context.new_stream().unwrap(), context.default_stream(), context.per_thread_stream()];
    let mut pool: Pool<Cuda> = pool(&near);
    for round in 0..12_u8 {
        let scope = pool.scope();
        let value = f32::from(round);
        for _ in 0..random.usize(1..3) {
            let n = random.usize(1..4000);
            let mut view = scope.acquire_filled(n, value);
            let (fill, stream) = match random.u8(0..6) {
                0 => (&fills[0], near.context().new_stream().unwrap()),
                1 => (&fills[1], context.new_stream().unwrap()),
                2 => (&fills[1], context.default_stream()),
                other => (&fills[1], Arc::clone(&kept[usize::from(other - 3)])),
            };
            if random.bool() {
                launch(fill, &stream, &view.on(&stream).unwrap(), value + 0.5, n);
            } else {
                stream.memset_zeros(&mut view).unwrap();
            }
            match random.u8(0..4) {
                0 => view.fill_with_value(7.0).unwrap(),
                1 => drop(view.copy_to_vec().unwrap()),
                2 => drop(stream.clone_dtoh(&view).unwrap()),
                _ => {}
            }
        }
        if random.u8(0..3) == 0 {
            pool.trim();
        }
    }
    drop(pool);
    if random.bool() {
        drop(kept);
    }
    drop((fills, near, far));
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn streams_of_a_peer_are_ordered_with_all_that_a_pool_does() {
    let simulator = start();
    for seed in 0..10 * orders() {
        start_anew(simulator, Settings { devices: 2, ..Settings::default() }, seed);
        peers(&mut Rng::with_seed(seed));
        assert_eq!(Cuda::retry_deferred_frees(), 0);
        simulator.assert_clean();
        simulator.assert_no_leaks();
    }
}

/// The context of a peer breaks while the peer borrows memory of a pool. No more work runs on that
/// context. The bug: the pool, whose device still works, kept querying the lost context before each
/// reuse and free of the block.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_pool_goes_on_when_a_peer_is_lost() {
    let simulator = start();
    for (seed, registered) in [(0, true), (1, false)] {
        start_anew(simulator, Settings { devices: 2, ..Settings::default() }, seed);
        let [near, far] = [0, 1].map(|ordinal| Cuda::device(ordinal).unwrap());
        near.grant_peer_access(&far).unwrap();
        let stream = far.context().new_stream().unwrap();
        let fill = function(far.context(), elementwise::MODULE, elementwise::FILL.f32);
        let mut pool = pool(&near);
        let scope = pool.scope();
        let mut view = scope.acquire_filled(N, 1.0_f32);
        if registered {
            launch(&fill, &stream, &view.on(&stream).unwrap(), 2.0, N);
        } else {
            stream.memset_zeros(&mut view).unwrap();
        }
        let (value, count, nowhere) = (1.0_f32, 1_u64, 8_u64);
        let mut lost = stream.launch_builder(&fill);
        lost.arg(&nowhere).arg(&value).arg(&count);
        // SAFETY: the memory belongs to the simulator, which reports accesses without access
        // rights.
        unsafe { lost.launch(LaunchConfig::for_num_elems(1)) }.unwrap();
        assert!(stream.synchronize().is_err());
        let scope = pool.scope();
        let view = scope.try_acquire_filled(N, 3.0_f32).unwrap();
        assert_eq!(view.copy_to_vec().unwrap(), [3.0; N]);
        assert!(scope.try_acquire_filled(2 * N, 3.0_f32).is_ok());
        pool.trim();
        assert_eq!(pool.context().take_pending_error(), None);
        drop(pool);
        assert_eq!(simulator.reports().len(), 1, "the one access");
        simulator.forget_reports();
    }
}

/// cudarc's safe calls pass a pool's memory to a default stream of a peer. The handle of a default
/// stream is the same number in every context, and the pool had made its own context current. The
/// work therefore ran on the default stream of the pool's device, without any ordering.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn work_on_a_default_stream_of_a_peer_runs_there() {
    let simulator = start();
    for seed in 0..orders() {
        start_anew(simulator, Settings { devices: 2, ..Settings::default() }, seed);
        let [near, far] = [0, 1].map(|ordinal| Cuda::device(ordinal).unwrap());
        near.grant_peer_access(&far).unwrap();
        let context = far.context();
        let mut pool = pool(&near);
        for stream in [context.default_stream(), context.per_thread_stream()] {
            let scope = pool.scope();
            let mut view = scope.acquire_filled(N, 7.0_f32);
            stream.memset_zeros(&mut view).unwrap();
            assert_eq!(view.copy_to_vec().unwrap(), [0.0; N]);
            let ones = stream.clone_htod(&[1.0_f32; N]).unwrap();
            stream.memcpy_dtod(&ones, &mut view).unwrap();
            assert_eq!(view.copy_to_vec().unwrap(), [1.0; N]);
        }
        drop((pool, near, far));
        simulator.assert_clean();
        simulator.assert_no_leaks();
    }
}
