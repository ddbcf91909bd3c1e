//! The facade on a device: `with_pool!`, the pools of a thread, host and device pools together, and
//! code that is generic over both.

use std::sync::Arc;
use std::thread;

use cuda_sim_control::Settings;
use pool_core::error_chain;
use pool_facade::prelude::*;
use pool_facade::{LocalPool, PoolBackend, half::f16};

use crate::support::{in_many_orders, start, start_anew};

/// Checks the first request of a new thread for a pool.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_fresh_thread_gets_its_own_pool() {
    in_many_orders(|_| {
        let parent = || {
            with_pool!(Cuda, |scope| {
                let held = scope.acquire_filled(1000, 1_u8);
                let (address, theirs) = (held.address(), Arc::clone(held.pool_stream()));
                let child = move || {
                    assert_eq!(
                        (local::<Cuda>().stats().pools, local::<Cuda>().stats().growths),
                        (1, 0)
                    );
                    with_pool!(Cuda, |scope| {
                        let other = scope.acquire_filled(1000, 2_u8);
                        assert!(other.address() != address && other.pool_stream() != &theirs);
                    });
                };
                thread::spawn(child).join().unwrap();
                assert_eq!(held.copy_to_vec().unwrap(), [1; 1000]);
            });
        };
        thread::spawn(parent).join().unwrap();
    });
}

/// Copies through two temporaries, for any backend.
fn copy_twice<B: PoolBackend>(
    scope: &mut Scope<'_, B>,
    input: &[f32],
) -> Result<usize, PoolError<B::Error>> {
    let scope = scope.scope();
    scope.try_acquire_from(input)?;
    scope.try_acquire::<f32, _>(input.len())?;
    Ok(scope.active_slots())
}

fn run_on<B: LocalPool>(input: &[f32]) -> usize {
    with_pool!(B, |scope| { copy_twice(&mut scope, input).unwrap() })
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn the_same_code_on_host_and_device() {
    let simulator = start();
    // The backend is chosen at run time, and the code is compiled for each backend.
    for on_device in [false, true] {
        let run = if on_device { run_on::<Cuda> } else { run_on::<Cpu> };
        assert_eq!(run(&[1.0; 100]), 2);
    }
    assert_eq!(local::<Cuda>().stats().growths, 2);
    for _ in 0..100 {
        run_on::<Cuda>(&[2.0; 100]);
    }
    assert_eq!(local::<Cuda>().stats().growths, 2);
    assert_eq!(local::<Cuda>().stats().device.to_string(), "cuda:0");
    simulator.assert_clean();
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn host_and_device_in_one_macro() {
    let work = || {
        for round in 0..10_u8 {
            let found = with_pool!(Cpu, Cuda, |host, device| {
                let there = device.acquire_filled(100, f16::from_f32(f32::from(round)));
                let here = host.acquire_zeroed::<f16, _>(100);
                there.copy_to_host(here).unwrap();
                here[99].to_f32()
            });
            assert_eq!(found, f32::from(round));
        }
        assert_eq!(local::<Cuda>().stats().growths, 1);
    };
    in_many_orders(|_| thread::spawn(work).join().unwrap());
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn pools_of_one_thread_share_a_stream_and_each_device_has_its_own() {
    let simulator = start();
    start_anew(simulator, Settings { devices: 2, ..Settings::default() }, 0);
    with_pool!(Cuda, Cuda, |outer, inner| {
        assert!(Arc::ptr_eq(outer.context().stream(), inner.context().stream()));
        let (one, mut two) = (outer.acquire_filled(10, 1_u8), inner.acquire::<u8, _>(10));
        two.copy_from(one.as_view()).unwrap();
        assert_eq!(two.copy_to_vec().unwrap(), [1; 10]);
    });
    Cuda::set_device(1).unwrap();
    with_pool!(Cuda, |scope| { assert_eq!(scope.acquire_zeroed::<u8, _>(1).ordinal(), 1) });
    Cuda::set_device(0).unwrap();
    with_pool!(Cuda, |scope| { assert_eq!(scope.acquire_zeroed::<u8, _>(1).ordinal(), 0) });
    // One list contains three pools, and each is found by its device.
    let mut guard = local::<Cuda>();
    assert_eq!((guard.stats().pools, guard.stats().growths), (3, 3));
    assert_eq!(guard.trim().slots, 3);
    simulator.assert_clean();
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_given_stream_is_the_threads_from_then_on() {
    let simulator = start();
    with_pool!(Cuda, |scope| {
        scope.acquire_zeroed::<u8, _>(1);
    });
    let device = Cuda::device(0).unwrap();
    let given = device.context().new_stream().unwrap();
    DeviceStream::set_for_thread(Arc::clone(&given)).unwrap();
    with_pool!(Cuda, |scope| {
        scope.acquire_zeroed::<u8, _>(1);
        assert!(Arc::ptr_eq(scope.context().stream(), &given));
    });
    assert_eq!(local::<Cuda>().stats().pools, 2);
    simulator.assert_clean();
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_thread_gives_everything_back_when_it_ends() {
    let simulator = start();
    for _ in 0..4 {
        let work = || {
            with_pool!(Cuda, Cuda, |left, right| {
                left.acquire_filled(1000, 1_u32);
                right.acquire_filled(1000, 2_u32);
            });
            let mut guard = local::<Cuda>();
            guard.configure(PoolConfig::new().byte_limit(1 << 20)).unwrap();
            assert!(guard.scope().try_acquire::<u8, _>(2 << 20).is_err());
        };
        thread::spawn(work).join().unwrap();
    }
    simulator.assert_clean();
    simulator.assert_no_leaks();
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_device_that_cannot_be_opened_is_an_error_of_try_with_pool() {
    let simulator = start();
    simulator.fail_call("cuDevicePrimaryCtxRetain", 1, 999);
    let refused = try_with_pool!(Cuda, |scope| { scope.active_slots() }).unwrap_err();
    let text = error_chain(&refused).to_string();
    assert!(text.contains("open the device") && text.contains("999 UNKNOWN"), "{text}");
    assert_eq!(try_with_pool!(Cuda, |scope| { scope.active_slots() }), Ok(0));
}
