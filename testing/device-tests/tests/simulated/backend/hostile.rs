//! Safe code that uses scopes, views, guards, streams and threads arbitrarily. No use is too early
//! or too late, and nothing leaks.

use std::cell::RefCell;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread;

use cuda_sim_control::Settings;
use cudarc::driver::{CudaContext, DevicePtrMut};
use pool_core::{Compaction, DynamicPool, Pool};
use pool_cuda::{Cuda, DeviceStream, record_use, register_stream};
use pool_facade::LocalGuard;
use pool_facade::prelude::*;

use crate::support::{in_many_orders, orders, pool, start, start_anew};

/// The number of elements in each array.
const N: usize = 1000;

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
#[expect(clippy::forget_non_drop, reason = "this applies to everything that they may drop later")]
fn scopes_views_and_guards_are_forgotten() {
    in_many_orders(|device| {
        let other = device.context().new_stream().unwrap();
        let mut pool = pool(device);
        for round in 0..5_u8 {
            let mut outer = pool.scope();
            let mut view = outer.acquire_filled(N, round);
            mem::forget(view.device_ptr_mut(&other));
            other.memset_zeros(&mut view).unwrap();
            {
                let inner = outer.scope();
                let mut second = inner.acquire_filled(2 * N, round);
                mem::forget(second.on(&other).unwrap());
                mem::forget((second, inner));
            }
            let again = outer.acquire_filled(3 * N, 7_u8);
            assert_eq!(again.copy_to_vec().unwrap(), [7; 3 * N]);
            mem::forget((again, view, outer));
        }
        assert_eq!(pool.stats().high_water_slots, 2);
    });
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_pool_moves_between_threads_while_other_streams_use_it() {
    in_many_orders(|device| {
        let mut pool = pool(device);
        for value in 0..4_u8 {
            let device = device.clone();
            // A per-thread stream ends with its thread while work is still pending on it.
            let used = move || {
                {
                    let scope = pool.scope();
                    let mut view = scope.acquire_filled(N, value);
                    assert_eq!(view.copy_to_vec().unwrap(), [value; N]);
                    device.context().per_thread_stream().memset_zeros(&mut view).unwrap();
                }
                pool
            };
            pool = thread::spawn(used).join().unwrap();
        }
        assert_eq!(pool.scope().acquire::<u8, _>(N).copy_to_vec().unwrap(), [0; N]);
    });
}

/// A thread-local value whose destructor takes pools and returns one of them.
struct AtExit(RefCell<Option<LocalGuard<Cuda>>>);

impl Drop for AtExit {
    fn drop(&mut self) {
        for _ in 0..2 {
            let seen =
                with_pool!(Cuda, |scope| { scope.acquire_filled(9, 1_u8).copy_to_vec().unwrap() });
            assert_eq!(seen, [1; 9]);
            drop(self.0.take());
        }
    }
}

thread_local!(static AT_EXIT: AtExit = const { AtExit(RefCell::new(None)) });

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn guard_dropped_in_a_thread_local_destructor_both_orders() {
    in_many_orders(|_| {
        for registered_first in [true, false] {
            let work = move || {
                if registered_first {
                    AT_EXIT.with(|_| ());
                }
                let mut guard = local::<Cuda>();
                guard.scope().acquire_from(&[1_u8; 100]);
                AT_EXIT.with(|exit| *exit.0.borrow_mut() = Some(guard));
            };
            thread::spawn(work).join().unwrap();
        }
    });
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn the_device_is_chosen_anew_in_the_middle_of_scopes() {
    let simulator = start();
    for seed in 0..orders() {
        start_anew(simulator, Settings { devices: 2, ..Settings::default() }, seed);
        thread::spawn(two_devices_in_turns).join().unwrap();
        simulator.assert_clean();
        simulator.assert_no_leaks();
    }
}

fn two_devices_in_turns() {
    let mut outer = local::<Cuda>();
    let mut scope = outer.scope();
    let near = scope.acquire_filled(N, 1_u8);
    Cuda::set_device(1).unwrap();
    with_pool!(Cuda, |far| {
        let mut there = far.acquire_filled(N, 2_u8);
        assert_eq!(there.ordinal(), 1);
        there.copy_from(near.as_view()).unwrap();
        let inner = scope.scope();
        let more = inner.acquire_filled(N, 3_u8);
        assert_eq!(more.ordinal(), 0);
        Cuda::set_device(0).unwrap();
        assert_eq!(there.copy_to_vec().unwrap(), [1; N]);
        assert_eq!(more.copy_to_vec().unwrap(), [3; N]);
    });
    assert_eq!(near.copy_to_vec().unwrap(), [1; N]);
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn the_threads_stream_is_set_anew_between_guards() {
    let simulator = start();
    for seed in 0..orders() {
        start_anew(simulator, Settings::default(), seed);
        thread::spawn(three_streams_in_turns).join().unwrap();
        simulator.assert_clean();
        simulator.assert_no_leaks();
    }
}

fn three_streams_in_turns() {
    let device = Cuda::device(0).unwrap();
    let mut one = local::<Cuda>();
    DeviceStream::set_for_thread(device.context().new_stream().unwrap()).unwrap();
    let mut two = local::<Cuda>();
    DeviceStream::set_for_thread(device.context().default_stream()).unwrap();
    let mut three = local::<Cuda>();
    {
        let (a, b, c) = (one.scope(), two.scope(), three.scope());
        let x = a.acquire_filled(N, 1_u8);
        let (mut y, mut z) = (b.acquire::<u8, _>(N), c.acquire::<u8, _>(N));
        y.copy_from(x.as_view()).unwrap();
        z.copy_from(y.as_view()).unwrap();
        assert_eq!(z.copy_to_vec().unwrap(), [1; N]);
    }
    drop((one, three, two));
    with_pool!(Cuda, |scope| {
        scope.acquire_filled(N, 4_u8);
    });
    assert_eq!(local::<Cuda>().stats().pools, 3);
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn nothing_and_too_much() {
    in_many_orders(|device| {
        let mut pool = pool(device);
        let scope = pool.scope();
        assert!(scope.acquire_filled(0, 1.1_f64).copy_to_vec().unwrap().is_empty());
        assert_eq!(scope.acquire_filled(7, [0.0_f32; 0]).copy_to_vec().unwrap().len(), 7);
        let mut none = scope.acquire_from(&[[0_u64; 0]; 9]);
        none.fill_with_value([]).unwrap();
        none.fill_with_zeros().unwrap();
        none.copy_from_host(&[[]; 9]).unwrap();
        record_use(&none, &device.context().default_stream()).unwrap();
        assert!(scope.try_acquire::<u8, _>(usize::MAX).is_err());
        assert!(scope.try_acquire_zeroed::<f64, _>(usize::MAX / 8).is_err());
        assert!(scope.try_acquire_filled(usize::MAX / 2, 1.5_f64).is_err());
        assert!(scope.try_acquire::<u8, _>(isize::MAX as usize - 10).is_err());
        assert!(scope.try_acquire::<f32, _>([usize::MAX, 2, 0]).is_err());
        let most = isize::MAX as usize;
        let endless = scope.acquire::<[f64; 0], _>(most);
        assert_eq!(endless.copy_to_vec().unwrap().len(), most);
        let (before, after) = endless.into_split_at(5).unwrap();
        assert_eq!(before.len() + after.len(), most);
        assert_eq!(after.into_view().as_bytes().len(), 0);
        assert_eq!(scope.acquire_filled(10, 1_u8).copy_to_vec().unwrap(), [1; 10]);
    });
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn parts_of_one_slot_are_copied_to_each_other_on_several_streams() {
    in_many_orders(|device| {
        let other = device.context().new_stream().unwrap();
        register_stream(&other);
        let mut pool = pool(device);
        for round in 0..3_u8 {
            let scope = pool.scope();
            let (mut low, mut high) = scope.acquire_filled(2 * N, round).into_split_at(N).unwrap();
            other.memset_zeros(&mut low).unwrap();
            high.copy_from(low.as_view()).unwrap();
            other.memcpy_htod(&[9; N], &mut high).unwrap();
            low.copy_from(high.as_view()).unwrap();
            assert_eq!(low.copy_to_vec().unwrap(), [9; N]);
        }
    });
}

/// A stream to which only the pool still holds a reference receives no more work, so the pool waits
/// for it once and drops it.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn streams_that_come_and_go_are_not_collected() {
    let simulator = start();
    let device = Cuda::device(0).unwrap();
    let mut pool = pool(&device);
    let scope = pool.scope();
    let mut view = scope.acquire_filled(N, 1_u8);
    for _ in 0..100 {
        let other = device.context().new_stream().unwrap();
        register_stream(&other);
        other.memset_zeros(&mut view).unwrap();
    }
    assert!(simulator.calls("cuStreamDestroy_v2") >= 98);
    assert!(simulator.calls("cuStreamWaitEvent") <= 200);
    assert_eq!(view.copy_to_vec().unwrap(), [0; N]);
    simulator.assert_clean();
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn handles_are_rewound_while_another_stream_uses_them() {
    in_many_orders(|device| {
        let other = device.context().new_stream().unwrap();
        let mut pool = DynamicPool::<Cuda>::new(device.new_stream().unwrap());
        for round in 0..4_u8 {
            let depth = pool.checkpoint();
            let (one, two) = (pool.acquire_filled(N, round), pool.acquire_filled(N, round));
            let [mut a, mut b] = pool.get_disjoint_mut([one, two]).unwrap();
            other.memset_zeros(&mut a).unwrap();
            a.copy_from(b.as_view()).unwrap();
            other.memset_zeros(&mut b).unwrap();
            if round == 2 {
                pool.reset();
                pool.trim();
            } else {
                pool.rewind_to(depth).unwrap();
            }
            assert!(pool.get(one).is_err());
        }
    });
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn pools_of_several_threads_share_a_stream() {
    in_many_orders(|device| {
        let stream = device.context().new_stream().unwrap();
        let threads = [1_u8, 2, 3].map(|number| {
            let stream = Arc::clone(&stream);
            thread::spawn(move || {
                let mut pool = Pool::<Cuda>::new(DeviceStream::from_stream(stream).unwrap());
                for _ in 0..10 {
                    let view = pool.scope().acquire_filled(N, number);
                    assert_eq!(view.copy_to_vec().unwrap(), [number; N]);
                }
            })
        });
        for thread in threads {
            thread.join().unwrap();
        }
    });
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn one_stream_uses_the_pools_of_several_threads() {
    in_many_orders(|device| {
        let other = device.context().new_stream().unwrap();
        let threads = [1_u8, 2, 3].map(|number| {
            let (other, device) = (Arc::clone(&other), device.clone());
            thread::spawn(move || {
                let mut pool = pool(&device);
                for round in 0..6_usize {
                    let scope = pool.scope();
                    let mut view = scope.acquire_filled(N + round * 100, number);
                    if round % 2 == 0 {
                        register_stream(&other);
                    }
                    other.memset_zeros(&mut view).unwrap();
                    assert_eq!(view.copy_to_vec().unwrap(), vec![0; N + round * 100]);
                    other.memset_zeros(&mut view).unwrap();
                }
            })
        });
        for thread in threads {
            thread.join().unwrap();
        }
    });
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_second_context_object_and_the_default_stream_as_the_pools_own() {
    in_many_orders(|device| {
        let again = CudaContext::new(0).unwrap();
        let other = again.new_stream().unwrap();
        let own = DeviceStream::from_stream(device.context().default_stream()).unwrap();
        let mut pool = Pool::<Cuda>::new(own);
        for round in 0..3_u8 {
            let scope = pool.scope();
            let mut view = scope.acquire_filled(N, round);
            other.memset_zeros(&mut view).unwrap();
            again.default_stream().memset_zeros(&mut view).unwrap();
            view.copy_from_host(&[5; N]).unwrap();
            other.memset_zeros(&mut view).unwrap();
        }
    });
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_panic_leaves_what_is_held_and_what_is_pending_in_order() {
    in_many_orders(|device| {
        let other = device.context().new_stream().unwrap();
        let mut pool = pool(device);
        for round in 0..3_u8 {
            let mut outer = pool.scope();
            let kept = outer.acquire_filled(N, round);
            let inner = outer.scope();
            let caught = catch_unwind(AssertUnwindSafe(|| {
                let inner = inner;
                let mut view = inner.acquire_filled(N, 9_u8);
                other.memset_zeros(&mut view).unwrap();
                inner.acquire::<u8, _>(usize::MAX);
            }));
            assert!(caught.is_err());
            assert_eq!(outer.acquire_filled(N, 8_u8).copy_to_vec().unwrap(), [8; N]);
            assert_eq!(kept.copy_to_vec().unwrap(), [round; N]);
        }
    });
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn every_configuration_orders_other_streams() {
    in_many_orders(|device| {
        let [known, unknown] = [(); 2].map(|()| device.context().new_stream().unwrap());
        register_stream(&known);
        let configs = [
            (PoolConfig::new().poison(true), true),
            (PoolConfig::new().fresh(true), true),
            (PoolConfig::new().byte_limit(8 * N), false),
        ];
        for (config, has_room) in configs {
            let mut pool = pool(device);
            pool.configure(config).unwrap();
            for round in 1..5 {
                let scope = pool.scope();
                let mut view = scope.acquire::<u8, _>(N * round);
                let mut second = scope.acquire_filled(N, 2_u8);
                known.memset_zeros(&mut view).unwrap();
                unknown.memset_zeros(&mut second).unwrap();
                known.memset_zeros(&mut second).unwrap();
                scope.trim();
                scope.compact(&Compaction::default());
                assert_eq!(scope.try_acquire::<u8, _>(100 * N).is_ok(), has_room);
                assert_eq!(second.copy_to_vec().unwrap(), [0; N]);
            }
            pool.sample_lengths();
            pool.scope().acquire_filled(10, 1_u8);
            pool.compact(&Compaction::default());
        }
    });
}
