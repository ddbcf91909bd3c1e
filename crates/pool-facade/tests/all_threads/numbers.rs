//! The numbers of all threads.

use std::sync::Barrier;
use std::thread::ScopedJoinHandle;

use pool_facade::prelude::*;
use pool_facade::{stats_all, trim_all};

use crate::support::{Worker, alone, held, work};

/// Pools in use on other threads count, and the statistics of a pool continue after a release.
#[test]
fn pools_in_use_count() {
    alone(|| {
        let before = stats_all();
        let barrier = Barrier::new(2);
        std::thread::scope(|threads| {
            let thread = threads.spawn(|| {
                with_pool!(|scope| {
                    scope.acquire_filled(1_000, 1_u64);
                    barrier.wait();
                    barrier.wait();
                });
            });
            barrier.wait();
            let stats = stats_all();
            assert_eq!(stats.pools, before.pools + 1);
            assert!(stats.reserved_bytes >= before.reserved_bytes + 8_000);
            assert_eq!(stats.growths, before.growths + 1);
            assert_eq!(
                (stats.name, stats.device.kind, stats.byte_limit),
                ("all threads", "cpu", usize::MAX)
            );
            barrier.wait();
            // A scope does not wait for the destructors of its threads.
            thread.join().unwrap();
        });
        assert_eq!(stats_all().pools, before.pools);
    });
}

#[test]
fn the_numbers_of_a_thread_do_not_go_back() {
    alone(|| {
        let worker = Worker::start();
        worker.run(|| {
            work(2, 1_000);
            let before = local::<Cpu>().stats();
            assert_eq!((before.pools, before.growths, before.high_water_slots), (2, 4, 4));
            assert!(trim_all().bytes > 0);
            let after = local::<Cpu>().stats();
            assert_eq!((after.pools, after.growths, after.high_water_slots), (2, 4, 4));
            assert_eq!(after.peak_reserved_bytes, before.peak_reserved_bytes);
            assert_eq!((after.reserved_bytes, held()), (0, 0));
            work(2, 1_000);
            assert_eq!(local::<Cpu>().stats().growths, 8);
        });
    });
}

/// Readers beside threads at work.
#[test]
fn numbers_are_read_while_pools_change() {
    alone(|| {
        std::thread::scope(|threads| {
            let busy: Vec<_> = (0..3)
                .map(|_| {
                    threads.spawn(|| {
                        for length in 1..if cfg!(miri) { 5 } else { 500 } {
                            work(3, length);
                            local::<Cpu>().trim();
                        }
                    })
                })
                .collect();
            while !busy.iter().all(ScopedJoinHandle::is_finished) {
                assert!(stats_all().reserved_bytes < 1 << 30);
            }
        });
    });
}
