//! Releases from inside an allocator's hook, at each call of it, and without memory for new pools.

use std::cell::Cell;

use pool_facade::prelude::*;
use pool_facade::{stats_all, trim_all};

use crate::allocator::with_hook;
use crate::support::{AT_ONCE, Worker, alone, held, work};

const LENGTH: usize = if cfg!(miri) { 100 } else { 1_000 };

thread_local! {
    /// Calls of the hook that are still to be served.
    static LEFT: Cell<usize> = const { Cell::new(0) };
}

#[test]
fn release_from_an_allocators_hook() {
    alone(|| {
        let idle = Worker::start();
        idle.run(|| work(3, LENGTH));
        let worker = Worker::start();
        worker.run(|| {
            let at_each_call = || {
                trim_all();
                assert!(stats_all().reserved_bytes < 1 << 30);
                true
            };
            with_hook(at_each_call, || {
                for length in [10, 100, if cfg!(miri) { 200 } else { 10_000 }] {
                    work(4, length);
                }
                let mut guard = local::<Cpu>();
                guard.configure(PoolConfig::new().name("hooked")).unwrap();
                guard.trim();
                drop(guard);
                trim_all();
            });
            work(4, 100);
        });
        idle.run(|| work(3, LENGTH));
    });
}

/// The hook of the n-th allocation or free of a release releases pools and works, for each n.
#[test]
fn release_inside_a_release_sweep() {
    alone(|| {
        let worker = Worker::start();
        for number in 1.. {
            worker.run(|| work(3, LENGTH));
            work(2, LENGTH);
            LEFT.set(number);
            let once = || {
                LEFT.set(LEFT.get().saturating_sub(1));
                if LEFT.get() == 0 {
                    LEFT.set(usize::MAX);
                    trim_all();
                    work(2, 10);
                }
                true
            };
            with_hook(once, trim_all);
            if LEFT.get() < usize::MAX / 2 {
                break;
            }
        }
        worker.run(|| work(3, LENGTH));
    });
}

/// The n-th allocation of a release fails, for each n: pools that are not released stay whole.
#[test]
fn refused_memory_sweep() {
    alone(|| {
        let worker = Worker::start();
        for served in 0.. {
            worker.run(|| work(3, LENGTH));
            work(2, LENGTH);
            let before = held();
            LEFT.set(served);
            let count = || {
                let left = LEFT.get();
                LEFT.set(left.saturating_sub(1));
                left > 0
            };
            let released = with_hook(count, trim_all);
            let is_last = LEFT.get() > 0;
            assert_eq!(held() + released.bytes, before, "after {served} calls");
            assert!(released.bytes >= 2 * LENGTH * 12, "at least the pools of this thread");
            if is_last {
                assert!(!AT_ONCE || held() == 0);
                break;
            }
        }
        worker.run(|| work(3, LENGTH));
    });
}
