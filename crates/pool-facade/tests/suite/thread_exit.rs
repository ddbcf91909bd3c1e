//! The end of a thread: its idle pools are freed, independently of its other thread-local values,
//! and leaked ones live on.

use std::cell::RefCell;
use std::sync::mpsc::{Receiver, Sender, channel};

use pool_facade::prelude::*;
use pool_facade::{LocalGuard, PoolStats};

use crate::support::{first_block, leak};

/// The observations of a destructor: the statistics of its pool, before and after it was used.
type Seen = (PoolStats, PoolStats, u64);

/// A thread-local value whose destructor uses pools, and reports its observations.
struct AtExit {
    guard: Option<LocalGuard<Cpu>>,
    report: Sender<Seen>,
}

thread_local! {
    static AT_EXIT: RefCell<Option<AtExit>> = const { RefCell::new(None) };
}

impl Drop for AtExit {
    fn drop(&mut self) {
        // Goes to the list of the thread, or is freed if the list is closed.
        drop(self.guard.take());
        let before = local::<Cpu>().stats();
        let sum = with_pool!(|outer| {
            let kept = outer.acquire_filled(100, 1_u64);
            with_pool!(|inner| {
                inner.acquire_filled(100, 2_u64).iter().sum::<u64>() + kept.iter().sum::<u64>()
            })
        });
        let seen = (before, local::<Cpu>().stats(), sum);
        // The receiver waits for one message from each thread.
        self.report.send(seen).expect("the test is waiting");
    }
}

/// Registers the destructor of `AT_EXIT` without giving it anything to do yet.
fn register() {
    AT_EXIT.with(|at_exit| drop(at_exit.borrow_mut()));
}

fn at_exit(guard: Option<LocalGuard<Cpu>>, report: Sender<Seen>) {
    AT_EXIT.set(Some(AtExit { guard, report }));
}

/// Runs `body` on a new thread to its end; returns the observations of the destructor of `AT_EXIT`
/// there.
fn seen_at_exit(body: impl FnOnce(Sender<Seen>) + Send + 'static) -> Seen {
    let (report, reports): (_, Receiver<Seen>) = channel();
    std::thread::spawn(move || body(report)).join().expect("no panic while the thread ends");
    reports.recv().expect("the destructor ran")
}

/// The list of idle pools is closed by a destructor of its own. Registered on either side of it, the
/// destructor that drops the guard runs before it once and after it once.
#[test]
fn guard_dropped_in_tls_destructor_both_orders() {
    let used = |guard: &mut LocalGuard<Cpu>| {
        guard.scope().acquire_filled(100, 7_u64);
    };
    let registered_before = seen_at_exit(move |report| {
        register();
        let mut guard = local::<Cpu>();
        used(&mut guard);
        at_exit(Some(guard), report);
    });
    let registered_after = seen_at_exit(move |report| {
        let mut guard = local::<Cpu>();
        used(&mut guard);
        register();
        at_exit(Some(guard), report);
    });
    let mut growths = Vec::new();
    for (before, after, sum) in [registered_before, registered_after] {
        assert_eq!(sum, 300);
        growths.push((before.growths, after.growths, after.pools));
    }
    growths.sort_unstable();
    // If the list was closed, every pool was new and private: nothing was there before or after. If
    // it was open, the guard's pool came back from it with its block, and a second one was made.
    assert_eq!(growths, [(0, 0, 1), (1, 2, 2)], "one of each");
}

#[test]
fn with_pool_inside_tls_destructor() {
    let never_used = seen_at_exit(|report| at_exit(None, report));
    let used_before = seen_at_exit(|report| {
        with_pool!(|scope| {
            scope.acquire_filled(5, 1_u8);
        });
        at_exit(None, report);
    });
    let used_after = seen_at_exit(|report| {
        at_exit(None, report);
        with_pool!(|scope| {
            scope.acquire_filled(5, 1_u8);
        });
    });
    for (before, after, sum) in [never_used, used_before, used_after] {
        assert_eq!((sum, before.active_slots, after.active_slots), (300, 0, 0));
    }
    assert_eq!(never_used.0.growths, 0);
}

/// A destructor that registers a further one, which uses pools again, long after the list was closed.
#[test]
fn destructors_that_register_destructors() {
    struct Again {
        turn: u32,
        report: Sender<u64>,
    }
    thread_local! {
        static FIRST: RefCell<Option<Again>> = const { RefCell::new(None) };
        static SECOND: RefCell<Option<Again>> = const { RefCell::new(None) };
        static THIRD: RefCell<Option<Again>> = const { RefCell::new(None) };
    }
    impl Drop for Again {
        fn drop(&mut self) {
            let sum = with_pool!(Cpu, Cpu, |a, b| {
                a.acquire_filled(10, 1_u64).iter().chain(&*b.acquire_filled(1, 5)).sum::<u64>()
            });
            self.report.send(sum).expect("the test is waiting");
            let turn = self.turn + 1;
            let next = || Some(Again { turn, report: self.report.clone() });
            match turn {
                1 => SECOND.set(next()),
                2 => THIRD.set(next()),
                _ => {}
            }
        }
    }
    for use_first in [true, false] {
        let (report, reports) = channel();
        std::thread::spawn(move || {
            if use_first {
                with_pool!(|scope| {
                    scope.acquire_filled(3, 3_u8);
                });
            }
            FIRST.set(Some(Again { turn: 0, report }));
        })
        .join()
        .expect("no panic while the thread ends");
        assert_eq!(reports.iter().collect::<Vec<_>>(), [15, 15, 15]);
    }
}

#[test]
fn leaked_pool_and_guard_to_static_thread_exit() {
    let (of_pool, of_guard, of_inner) = std::thread::spawn(|| {
        let pool: &'static mut Pool<Cpu> = leak(Pool::new(()));
        let guard: &'static mut LocalGuard<Cpu> = leak(local::<Cpu>());
        let of_pool: &'static mut [u64] = pool.scope().acquire_filled(500, 1);
        let outer: &'static mut Scope<'static, Cpu> = leak(guard.scope());
        let of_guard: &'static mut [u64] = outer.acquire_filled(500, 2);
        let of_inner: &'static mut [u64] = outer.scope().acquire_filled(500, 3);
        // Idle pools that end with the thread, while the others stay.
        with_pool!(Cpu, Cpu, |a, b| {
            a.acquire_filled(500, 8_u64);
            b.acquire_filled(500, 9_u64);
        });
        (of_pool, of_guard, of_inner)
    })
    .join()
    .unwrap();
    with_pool!(|scope| {
        scope.acquire_filled(500, 7_u64);
    });
    assert_eq!((&*of_pool, &*of_guard, &*of_inner), (&[1; 500][..], &[2; 500][..], &[3; 500][..]));
    of_pool.copy_from_slice(of_guard);
    of_guard.copy_from_slice(of_inner);
    assert_eq!((of_pool[499], of_guard[0]), (2, 3));
}

/// A view of the main thread's pool is used on another thread, which has pools of its own and ends
/// before the view does.
#[test]
fn views_visit_another_thread() {
    with_pool!(|scope| {
        let view = scope.acquire_filled(100, 1_u64);
        let block = view.as_ptr().addr();
        std::thread::scope(|threads| {
            threads.spawn(|| {
                let own = first_block(&mut local());
                assert_ne!(own, block);
                view.iter_mut().for_each(|value| *value += 1);
            });
        });
        assert_eq!(view, [2; 100]);
    });
}
