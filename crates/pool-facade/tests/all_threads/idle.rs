//! Threads that wait: their idle pools are released, for any kind of wait.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};

use pool_facade::prelude::*;
use pool_facade::{stats_all, trim_all};

use crate::support::{AT_ONCE, Ending, Worker, alone, forget, held, work};

const LENGTH: usize = if cfg!(miri) { 40 } else { 4_000 };

/// After a release only tables remain, also of nested pools; the threads continue with right
/// contents.
#[test]
fn threads_that_wait_in_a_channel() {
    alone(|| {
        let workers: Vec<_> = (0..4).map(|_| Worker::start()).collect();
        for depth in 1..4 {
            workers.iter().for_each(|worker| worker.run(move || work(depth, LENGTH)));
        }
        let before = held();
        assert!(before >= 4 * 3 * LENGTH * 12, "{before} bytes");
        let released = trim_all();
        if AT_ONCE {
            assert_eq!((released.bytes, held()), (before, 0));
            assert_eq!(released.slots, 4 * 3 * 2);
            let tables = stats_all().bookkeeping_bytes;
            assert!(tables <= stats_all().pools * (8 << 10), "{tables} bytes for tables");
            assert_eq!(trim_all().bytes, 0, "there is nothing left");
        }
        workers.iter().for_each(|worker| worker.run(|| work(4, LENGTH)));
        trim_all();
        // If a thread releases its own pools alone, it does so when it needs a new pool.
        workers.iter().for_each(|worker| worker.run(|| work(5, 1)));
        assert!(held() < before, "{} of {before} bytes", held());
    });
}

#[test]
fn threads_that_are_parked_or_wait_for_a_condition() {
    alone(|| {
        let shared = Arc::new((Mutex::new((0, false)), Condvar::new()));
        let threads: Vec<_> = (0..4)
            .map(|_| {
                let shared = Arc::clone(&shared);
                std::thread::spawn(move || {
                    work(2, LENGTH);
                    let (state, changed) = &*shared;
                    let mut state = state.lock().unwrap();
                    state.0 += 1;
                    changed.notify_all();
                    drop(changed.wait_while(state, |state| !state.1).unwrap());
                    work(2, LENGTH);
                    std::thread::park();
                    work(2, LENGTH);
                })
            })
            .collect();
        let (state, changed) = &*shared;
        let ready = changed.wait_while(state.lock().unwrap(), |state| state.0 < 4).unwrap();
        drop(ready);
        let released = trim_all();
        assert!(!AT_ONCE || (released.bytes >= 4 * 2 * LENGTH * 12 && held() == 0), "{released:?}");
        state.lock().unwrap().1 = true;
        changed.notify_all();
        while AT_ONCE && held() < 4 * 2 * LENGTH * 12 {
            std::thread::yield_now();
        }
        // They are parked, or about to be.
        trim_all();
        for thread in threads {
            thread.thread().unpark();
            thread.join().unwrap();
        }
    });
}

/// Pools that are in use keep their memory and their contents, on this thread and on another one.
#[test]
fn pools_in_use_keep_their_memory() {
    alone(|| {
        let worker = Worker::start();
        worker.run(|| {
            with_pool!(|scope| {
                let outer = scope.acquire_filled(LENGTH, 7_u64);
                work(1, LENGTH);
                let before = held();
                let released = trim_all();
                assert!(
                    released.bytes >= LENGTH * 12,
                    "the idle pool of the inner block: {released:?}"
                );
                assert_eq!(held(), before - released.bytes);
                assert!(held() >= LENGTH * 8);
                assert!(outer.iter().all(|&number| number == 7));
                let again = scope.acquire_filled(LENGTH, 8_u64);
                work(1, LENGTH);
                assert_eq!((outer[LENGTH - 1], again[0]), (7, 8));
            });
        });
        with_pool!(|scope| {
            let kept = scope.acquire_filled(LENGTH, 3_u64);
            std::thread::scope(|threads| {
                threads.spawn(trim_all).join().unwrap();
            });
            assert!(kept.iter().all(|&number| number == 3));
        });
    });
}

/// A guard that comes back after others, and one that was forgotten.
#[test]
fn guards_out_of_order_and_forgotten() {
    alone(|| {
        let worker = Worker::start();
        worker.run(|| {
            let mut guards: Vec<_> = (0..4).map(|_| local::<Cpu>()).collect();
            for (number, guard) in (0_u64..).zip(&mut guards) {
                guard.scope().acquire_filled(LENGTH, number);
            }
            guards.swap(0, 2);
            drop(guards.remove(1));
            trim_all();
            for guard in &mut guards {
                let scope = guard.scope();
                let array = scope.acquire::<u64, _>(LENGTH);
                assert!(array.iter().all(|number| array[0] == *number));
            }
            guards.truncate(2);
            // The memory of the pool that is forgotten here is lost, as ever.
            forget(guards.pop());
        });
        trim_all();
        assert!(held() >= LENGTH * 8, "the forgotten pool");
        worker.run(|| work(6, LENGTH));
        trim_all();
    });
}

/// The pools that a release makes have the configuration that their thread has chosen.
#[test]
fn released_pools_keep_their_configuration() {
    alone(|| {
        let worker = Worker::start();
        let config = PoolConfig::new().name("small").byte_limit(1 << 16);
        worker.run(move || {
            work(1, 10);
            local::<Cpu>().configure(config).unwrap();
            work(1, 100);
        });
        trim_all();
        worker.run(|| {
            let mut guard = local::<Cpu>();
            assert_eq!(guard.stats().name, "small");
            assert!(guard.scope().try_acquire::<u8, _>(1 << 17).is_err());
            assert!(guard.scope().try_acquire::<u8, _>(1 << 15).is_ok());
        });
    });
}

/// A configuration by one thread stays, while another one releases pools.
#[test]
fn configurations_stay_while_another_thread_releases() {
    alone(|| {
        let worker = Worker::start();
        let ends = AtomicBool::new(false);
        std::thread::scope(|threads| {
            let ending = Ending(&ends);
            threads.spawn(|| {
                while !ends.load(Ordering::Relaxed) {
                    trim_all();
                }
            });
            worker.run(|| {
                for round in 0..if cfg!(miri) { 2 } else { 20_000 } {
                    with_pool!(|scope| scope.acquire_filled(8, 1_u8)[7]);
                    let limit = (1 << 12) + 64 * round;
                    let mut guard = local::<Cpu>();
                    guard.configure(PoolConfig::new().byte_limit(limit)).unwrap();
                    assert!(guard.scope().try_acquire::<u8, _>(limit + 64).is_err());
                    drop(guard);
                    assert!(local::<Cpu>().scope().try_acquire::<u8, _>(limit + 64).is_err());
                }
            });
            drop(ending);
        });
    });
}
