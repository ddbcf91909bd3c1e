//! Threads at work while others release pools all the time: contents stay right, and at the end nothing is held.

use std::sync::atomic::{AtomicBool, Ordering};

use pool_facade::trim_all;

use crate::support::{AT_ONCE, Ending, Worker, alone, held, work};

/// Returns the number of actions of each thread.
fn rounds() -> usize {
    if cfg!(miri) { 3 } else { 2_000 }
}

#[test]
fn eight_threads_at_work_while_two_release() {
    alone(|| {
        let workers: Vec<_> =
            (0..if cfg!(miri) { 3 } else { 8 }).map(|_| Worker::start()).collect();
        let (ends, released) = (AtomicBool::new(false), AtomicBool::new(false));
        std::thread::scope(|threads| {
            let ending = Ending(&ends);
            for _ in 0..if cfg!(miri) { 1 } else { 2 } {
                threads.spawn(|| {
                    while !ends.load(Ordering::Relaxed) {
                        if trim_all().bytes > 0 {
                            released.store(true, Ordering::Relaxed);
                        }
                    }
                });
            }
            for (seed, worker) in (1_u64..).zip(&workers) {
                worker.begin(move || {
                    let mut random = fastrand::Rng::with_seed(seed);
                    for _ in 0..rounds() {
                        work(
                            random.usize(1..5),
                            random.usize(1..if cfg!(miri) { 30 } else { 500 }),
                        );
                    }
                });
            }
            workers.iter().for_each(Worker::wait);
            drop(ending);
        });
        assert!(released.into_inner() || cfg!(miri), "nothing was released while they worked");
        trim_all();
        assert!(!AT_ONCE || held() == 0, "{} bytes are held", held());
    });
}

/// The shortest way from the list into an array and back, which leaves no time between the two loads of a take.
#[test]
fn shortest_blocks_while_another_thread_releases() {
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
            worker.run(move || {
                for stamp in 0..if cfg!(miri) { 20 } else { 100 * rounds() } {
                    pool_facade::with_pool!(|scope| {
                        let array = scope.acquire_filled(8, stamp);
                        assert_eq!(std::hint::black_box(&*array), [stamp; 8]);
                    });
                }
            });
            drop(ending);
        });
    });
}
