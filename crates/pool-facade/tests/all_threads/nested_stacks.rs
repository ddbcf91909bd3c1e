//! Nested thread-local scopes of `Stacked<Cpu>`: their memory at each depth, on each thread, after
//! a release, and with guards that are dropped in thread-local destructors or held over `.await`.

use std::cell::RefCell;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Waker};

use pool_facade::prelude::*;
use pool_facade::{LocalGuard, Stacked, stats_all, trim_all};

use crate::support::{AT_ONCE, Ending, Worker, alone, forget, held};

/// The numbers of the arrays that are live at once.
const LENGTH: usize = if cfg!(miri) { 3_000 } else { 1 << 18 };

/// The step from one tested depth to the next.
const DEPTHS: usize = if cfg!(miri) { 7 } else { 1 };

/// Three private functions that each open a scope of their own, and call the next one.
mod private {
    use super::*;

    pub(super) fn first(depth: usize, length: usize) -> u64 {
        with_pool!(Stacked<Cpu>, |scope| {
            let array = scope.acquire_filled(length, depth as u64);
            let sum = if depth > 1 { second(depth - 1, length) } else { 0 };
            assert!(array.iter().all(|&number| number == depth as u64));
            sum + array[0]
        })
    }

    pub(super) fn second(depth: usize, length: usize) -> u64 {
        with_pool!(Stacked<Cpu>, |scope| {
            let sum = if depth > 1 { third(depth - 1, length) } else { 0 };
            let array = scope.acquire_zeroed::<u64, _>(length);
            array.fill(depth as u64);
            sum + array[length - 1]
        })
    }

    pub(super) fn third(depth: usize, length: usize) -> u64 {
        with_pool!(Stacked<Cpu>, |scope| {
            let array = scope.acquire_with(length, |index| (index * depth) as u64);
            let mut vector = scope.acquire_vec::<u64>(0);
            let sum = if depth > 1 { first(depth - 1, length) } else { 0 };
            vector.extend_from_slice(&array[..length / 2]);
            assert!(vector.iter().enumerate().all(|(at, &number)| number == (at * depth) as u64));
            sum
        })
    }
}

/// The numbers of the arrays in tests that do not compare bytes with a peak.
const SHORT: usize = if cfg!(miri) { 200 } else { LENGTH };

/// Opens `depth` scopes with a line each, and works in the innermost one.
fn work(depth: usize) {
    work_on(depth, LENGTH);
}

/// Does the same as [`work`], with arrays of this length in total.
fn work_on(depth: usize, length: usize) {
    with_pool!(Stacked<Cpu>, |scope| {
        let line = scope.acquire_filled(8, depth as u64);
        if depth > 1 {
            work_on(depth - 1, length);
        } else {
            let numbers = scope.acquire_filled(length / 2, 1.5_f64);
            let more = scope.acquire_zeroed::<f64, _>(length / 2);
            more.copy_from_slice(numbers);
            assert_eq!(more[length / 2 - 1].to_bits(), 1.5_f64.to_bits());
        }
        assert!(line.iter().all(|&number| number == depth as u64));
    });
}

#[test]
fn every_depth_holds_what_is_live() {
    alone(|| {
        let mut bytes = Vec::new();
        for depth in (1..=8).step_by(DEPTHS) {
            trim_all();
            for _ in 0..3 {
                work(depth);
            }
            bytes.push(held());
        }
        let (least, most) = (bytes.iter().min().unwrap(), bytes.iter().max().unwrap());
        assert!(*most <= 8 * LENGTH * 105 / 100, "{bytes:?} for {}", 8 * LENGTH);
        assert!(most - least <= 16 * 64, "{bytes:?}");
    });
}

/// Same as above, without a release in between: a deep call uses the memory of a shallow one, and
/// the other way round.
#[test]
fn depths_that_alternate_hold_the_peak() {
    alone(|| {
        for _ in 0..if cfg!(miri) { 2 } else { 4 } {
            for depth in [1, 8, 3, 5, 2] {
                work(depth);
            }
        }
        assert!(held() <= 8 * LENGTH * 105 / 100, "{} for {}", held(), 8 * LENGTH);
    });
}

#[test]
fn three_private_functions_hold_the_peak_at_every_depth() {
    alone(|| {
        let length = LENGTH / if cfg!(miri) { 60 } else { 16 };
        for depth in (1..=8).step_by(DEPTHS) {
            trim_all();
            let mut sums = [0; if cfg!(miri) { 3 } else { 5 }];
            for sum in &mut sums {
                *sum = private::first(depth, length);
            }
            assert!(sums.iter().all(|&sum| sum == sums[0]));
            // The first and the third function hold an array and call. The third has a vector of half an array, which its
            // inner scopes come before, and the second an array.
            let bytes = held();
            assert!(bytes <= 8 * length * (depth + 1) * 105 / 100 + 8_192, "{bytes} at {depth}");
        }
    });
}

#[test]
fn eight_threads_hold_eight_times_one() {
    alone(|| {
        let count = if cfg!(miri) { 2 } else { 8 };
        let mut workers: Vec<Worker> = Vec::new();
        let mut one = 0;
        for number in 1..=count {
            workers.push(Worker::start());
            workers.iter().for_each(|worker| worker.run(|| (0..4).for_each(|_| work_on(4, SHORT))));
            one = if number == 1 { held() } else { one };
            assert_eq!(held(), number * one);
        }
        let released = trim_all();
        if AT_ONCE {
            assert_eq!((released.bytes, held()), (count * one, 0));
            let (tables, pools) = (stats_all().bookkeeping_bytes, stats_all().pools);
            assert!(tables <= pools * 2_048, "{tables} bytes for {pools} pools");
        }
        workers.iter().for_each(|worker| worker.run(|| (0..4).for_each(|_| work_on(4, SHORT))));
    });
}

/// Nested scopes at work, guards in any order, and two threads that release all the time.
#[test]
fn nested_stacks_at_work_while_others_release() {
    let rounds = if cfg!(miri) { 3 } else { 1_500 };
    alone(|| {
        let workers: Vec<_> =
            (0..if cfg!(miri) { 2 } else { 6 }).map(|_| Worker::start()).collect();
        let ends = AtomicBool::new(false);
        std::thread::scope(|threads| {
            let ending = Ending(&ends);
            for _ in 0..if cfg!(miri) { 1 } else { 2 } {
                threads.spawn(|| {
                    while !ends.load(Ordering::Relaxed) {
                        trim_all();
                    }
                });
            }
            for (seed, worker) in (1_u64..).zip(&workers) {
                worker.begin(move || {
                    let mut random = fastrand::Rng::with_seed(seed);
                    for _ in 0..rounds {
                        private::first(
                            random.usize(1..6),
                            random.usize(1..if cfg!(miri) { 60 } else { 300 }),
                        );
                        any_order(&mut random);
                    }
                });
            }
            workers.iter().for_each(Worker::wait);
            drop(ending);
        });
        trim_all();
        trim_all();
        assert!(!AT_ONCE || held() == 0, "{} bytes are held", held());
    });
}

/// Guards that live side by side and are dropped in any order.
fn any_order(random: &mut fastrand::Rng) {
    let mut guards: Vec<LocalGuard<Stacked<Cpu>>> = Vec::new();
    for round in 0..8 {
        if guards.len() < 4 && random.bool() {
            guards.push(local());
        } else if !guards.is_empty() {
            drop(guards.swap_remove(random.usize(..guards.len())));
        }
        let mut arrays: Vec<_> = Vec::new();
        for (number, guard) in (0_u64..).zip(&mut guards) {
            let length = random.usize(1..if cfg!(miri) { 60 } else { 200 });
            arrays.push((number, guard.scope().acquire_filled(length, number)));
        }
        private::first(2, 20);
        for (number, array) in arrays {
            assert!(array.iter().all(|&found| found == number), "guard {number}, round {round}");
        }
    }
}

thread_local! {
    /// Guards for the end of the thread.
    static LEFT: RefCell<Vec<LocalGuard<Stacked<Cpu>>>> = const { RefCell::new(Vec::new()) };
}

/// A guard that is dropped while its thread ends, before and after the list of the thread is
/// closed.
#[test]
fn guards_dropped_in_thread_local_destructors() {
    alone(|| {
        for registered_first in [true, false] {
            for leaves_first in [0, 1, 2] {
                let ended = std::thread::spawn(move || {
                    if registered_first {
                        LEFT.with_borrow_mut(Vec::clear);
                    }
                    (0..3).for_each(|_| work_on(3, SHORT));
                    let mut guards: Vec<_> = (0..3).map(|_| local::<Stacked<Cpu>>()).collect();
                    for (number, guard) in (0_u64..).zip(&mut guards) {
                        guard.scope().acquire_filled(100, number);
                    }
                    drop(guards.remove(leaves_first));
                    LEFT.set(guards);
                });
                ended.join().unwrap();
            }
        }
        assert_eq!(held(), 0, "everything is freed");
    });
}

/// Two tasks of one thread that hold scopes over `.await`, finished in either order, dropped and forgotten.
#[test]
fn scopes_held_over_an_await() {
    async fn task(number: u64, length: usize) -> u64 {
        with_pool!(Stacked<Cpu>, |scope| {
            let array = scope.acquire_filled(length, number);
            pause().await;
            let more = scope.acquire_filled(2 * length, !number);
            pause().await;
            assert!(array.iter().all(|&found| found == number));
            assert!(more.iter().all(|&found| found == !number));
            array[0]
        })
    }
    async fn pause() {
        let mut is_first = true;
        std::future::poll_fn(|_| {
            if std::mem::take(&mut is_first) { Poll::Pending } else { Poll::Ready(()) }
        })
        .await;
    }
    alone(|| {
        let mut context = Context::from_waker(Waker::noop());
        for order in [[0, 1], [1, 0]] {
            for _ in 0..4 {
                let mut tasks = [pin!(task(1, 100)), pin!(task(2, SHORT.min(1_000)))];
                for _ in 0..2 {
                    for at in order {
                        assert!(tasks[at].as_mut().poll(&mut context).is_pending());
                    }
                }
                for at in [order[1], order[0]] {
                    assert_eq!(tasks[at].as_mut().poll(&mut context), Poll::Ready(at as u64 + 1));
                }
            }
        }
        // Dropped in the middle, and forgotten.
        let mut forgotten = Box::pin(task(3, 500));
        assert!(forgotten.as_mut().poll(&mut context).is_pending());
        let mut other = Box::pin(task(4, 700));
        assert!(other.as_mut().poll(&mut context).is_pending());
        drop(other);
        assert!(forgotten.as_mut().poll(&mut context).is_pending());
        forget(local::<Stacked<Cpu>>());
        work_on(3, SHORT);
        assert_eq!(forgotten.as_mut().poll(&mut context), Poll::Ready(3));
        work_on(3, SHORT);
    });
}
