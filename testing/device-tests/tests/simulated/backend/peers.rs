//! Kernels of one device that use another device's memory. One call enables this, it is refused
//! without that call, and it is ordered like a use on any other stream.

use std::sync::Arc;

use cuda_sim_control::{Mistake, Settings, Simulator};
use cudarc::driver::{CudaFunction, CudaStream, LaunchConfig, PushKernelArg};
use pool_core::{Pool, PoolError, PoolView, error_chain};
use pool_cuda::{Cuda, CudaDevice, CudaError, record_use};
use pool_kernels::elementwise;

use crate::support::{function, orders, pool, start, start_anew};

const N: usize = 100;
const BLOCK: LaunchConfig =
    LaunchConfig { grid_dim: (2, 1, 1), block_dim: (64, 1, 1), shared_mem_bytes: 0 };

fn two_devices() -> Settings {
    Settings { devices: 2, ..Settings::default() }
}

fn devices(plain: bool) -> [CudaDevice; 2] {
    let [near, far] = [0, 1].map(|ordinal| Cuda::device(ordinal).unwrap());
    [if plain { near.without_memory_pool() } else { near }, far]
}

fn axpy(device: &CudaDevice) -> CudaFunction {
    function(device.context(), elementwise::MODULE, elementwise::AXPY.f32)
}

/// Runs `y += 3 x` on a stream of a device other than the pool's, with addresses that are ordered
/// for this stream.
fn on_the_other(
    stream: &Arc<CudaStream>,
    axpy: &CudaFunction,
    pool: &mut Pool<Cuda>,
    round: u8,
) -> Result<Vec<f32>, PoolError<CudaError>> {
    let wrapped = |source| PoolError::Backend { operation: "use memory of a peer", source };
    let scope = pool.scope();
    let x = scope.try_acquire_filled(N, f32::from(round))?;
    let mut y = scope.try_acquire_filled(N, 1.0_f32)?;
    let (factor, count) = (3.0_f32, N as u64);
    {
        let x = x.as_view();
        let (x, y) = (x.on(stream).map_err(wrapped)?, y.on(stream).map_err(wrapped)?);
        let mut launch = stream.launch_builder(axpy);
        launch.arg(&factor).arg(&x).arg(&y).arg(&count);
        // SAFETY: the arguments match `AXPY`, and `count` is the length of the views.
        let launched = unsafe { launch.launch(BLOCK) };
        launched.map_err(|error| {
            wrapped(CudaError::Call { call: "cuLaunchKernel", code: error.into() })
        })?;
    }
    y.copy_to_vec().map_err(wrapped)
}

/// Kernels of the other device use memory of pools, for several blocks and several rounds.
fn kernels_of_the_other(plain: bool) {
    let simulator = start();
    for seed in 0..orders() {
        start_anew(simulator, two_devices(), seed);
        let [near, far] = devices(plain);
        let (stream, axpy) = (far.context().new_stream().unwrap(), axpy(&far));
        // One pool is created before the call, and one after it.
        let mut before = pool(&near);
        before.scope().acquire_zeroed::<f32, _>(N);
        near.grant_peer_access(&far).unwrap();
        near.grant_peer_access(&far).unwrap();
        near.grant_peer_access(&near).unwrap();
        let mut after = pool(&near);
        for round in 0..4_u8 {
            let expected = vec![1.0 + 3.0 * f32::from(round); N];
            for pool in [&mut before, &mut after] {
                assert_eq!(on_the_other(&stream, &axpy, pool, round).unwrap(), expected);
            }
        }
        drop((before, after, axpy, stream, near, far));
        simulator.assert_clean();
        simulator.assert_no_leaks();
    }
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn kernels_of_a_peer_use_memory_of_a_pool() {
    kernels_of_the_other(false);
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn kernels_of_a_peer_use_plain_memory() {
    kernels_of_the_other(true);
}

/// Access stays enabled even if all objects of the other device are dropped in the meantime.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_peer_that_comes_back() {
    let simulator = start();
    for (seed, plain) in [(0, false), (1, true)] {
        start_anew(simulator, two_devices(), seed);
        let [near, far] = devices(plain);
        near.grant_peer_access(&far).unwrap();
        drop(far);
        let far = Cuda::device(1).unwrap();
        let (stream, axpy) = (far.context().new_stream().unwrap(), axpy(&far));
        let mut pool = pool(&near);
        assert_eq!(on_the_other(&stream, &axpy, &mut pool, 2).unwrap(), [7.0; N]);
        drop((pool, axpy, stream, near, far));
        simulator.assert_clean();
        simulator.assert_no_leaks();
    }
}

/// Enabling access in one direction does not enable the other direction. Another device object has
/// a separate memory pool. Without access, a use is refused before any driver call.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn what_was_not_let_is_refused() {
    let simulator = start();
    start_anew(simulator, two_devices(), 0);
    let [near, far] = devices(false);
    far.grant_peer_access(&near).unwrap();
    Cuda::device(0).unwrap().without_memory_pool().grant_peer_access(&far).unwrap();
    let mut pool = pool(&near);
    let scope = pool.scope();
    let view = scope.acquire_zeroed::<f32, _>(N).into_view();
    let stream = far.context().new_stream().unwrap();
    let refused = CudaError::WrongDevice { memory: 0, stream: 1 };
    assert_eq!(view.on(&stream).map(drop), Err(refused));
    assert_eq!(record_use(&view, &stream), Err(refused));
    simulator.assert_clean();
}

/// A kernel that uses the raw address without access rights faults, and the fault is reported.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_kernel_without_leave_faults() {
    let simulator = start();
    for (seed, plain) in [(0, false), (1, true)] {
        start_anew(simulator, two_devices(), seed);
        let [near, far] = devices(plain);
        let (stream, axpy) = (far.context().new_stream().unwrap(), axpy(&far));
        let mut pool = pool(&near);
        let scope = pool.scope();
        let view = scope.acquire_zeroed::<f32, _>(N);
        scope.context().synchronize().unwrap();
        let (factor, count, address) = (3.0_f32, N as u64, view.address());
        let mut launch = stream.launch_builder(&axpy);
        launch.arg(&factor).arg(&address).arg(&address).arg(&count);
        // SAFETY: the memory belongs to the simulator, which reports accesses without access
        // rights.
        unsafe { launch.launch(BLOCK) }.unwrap();
        assert!(stream.synchronize().is_err(), "the context of the other device is lost");
        let reports = simulator.reports();
        assert_eq!(reports.len(), 1, "{reports:?}");
        assert_eq!(reports[0].mistake(), Mistake::WildAddress);
        let text = reports[0].to_string();
        assert!(text.contains("of device 0, which gave device 1 no access"), "{text}");
    }
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn devices_that_are_no_peers() {
    let simulator = start();
    start_anew(simulator, Settings { peers: false, ..two_devices() }, 0);
    for plain in [false, true] {
        let [near, far] = devices(plain);
        let refused = Err(CudaError::NotPeers { memory: 0, reader: 1 });
        assert_eq!(near.grant_peer_access(&far), refused);
        let (mut pool, stream) = (pool(&near), far.context().new_stream().unwrap());
        let scope = pool.scope();
        let view = scope.acquire_zeroed::<f32, _>(N);
        let refused = Err(CudaError::WrongDevice { memory: 0, stream: 1 });
        assert_eq!(view.as_view().on(&stream).map(drop), refused);
    }
    simulator.assert_clean();
}

/// Makes each call fail in turn. The result is a typed error or success, and a repetition succeeds.
fn every_call_fails(simulator: Simulator, plain: bool) -> usize {
    let mut failures = 0;
    for nth in 1.. {
        start_anew(simulator, two_devices(), nth);
        let [near, far] = devices(plain);
        let (stream, axpy) = (far.context().new_stream().unwrap(), axpy(&far));
        let mut pool = pool(&near);
        let mut run = || {
            let wrapped = |source| PoolError::Backend { operation: "let a peer", source };
            near.grant_peer_access(&far).map_err(wrapped)?;
            on_the_other(&stream, &axpy, &mut pool, 2)
        };
        simulator.forget_calls();
        simulator.fail_any_call(nth, 999);
        let ended = run();
        simulator.forget_failures();
        let failed = simulator.log().iter().any(|call| call.code == 999);
        if let Err(error) = &ended {
            failures += 1;
            let text = error_chain(error).to_string();
            assert!(text.contains("999 UNKNOWN"), "{text}");
            assert_eq!(run().unwrap(), [7.0; N], "after {text}");
        }
        drop((pool, axpy, stream, near, far));
        assert_eq!(Cuda::retry_deferred_frees(), 0);
        simulator.assert_clean();
        simulator.assert_no_leaks();
        if !failed {
            assert_eq!(ended.unwrap(), [7.0; N]);
            break;
        }
    }
    failures
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn every_call_for_a_peer_may_fail() {
    let simulator = start();
    let failures = [false, true].map(|plain| every_call_fails(simulator, plain));
    println!("FIGURE: {failures:?} failures returned");
    assert!(failures.iter().all(|&failures| failures > 10));
}
