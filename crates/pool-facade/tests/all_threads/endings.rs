//! Threads that end while their pools are released, and releases from the destructors of thread-locals.

use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, Ordering};

use pool_facade::prelude::*;
use pool_facade::{LocalGuard, stats_all, trim_all};

use crate::support::{Ending, alone, held, work};

#[test]
fn threads_that_end_meanwhile() {
    alone(|| {
        let pools = stats_all().pools;
        let ends = AtomicBool::new(false);
        std::thread::scope(|threads| {
            let ending = Ending(&ends);
            threads.spawn(|| {
                while !ends.load(Ordering::Relaxed) {
                    trim_all();
                    assert!(stats_all().pools < 1_000);
                }
            });
            for round in 0..if cfg!(miri) { 2 } else { 500 } {
                let batch: Vec<_> = (1..if cfg!(miri) { 3 } else { 5 })
                    .map(|depth| threads.spawn(move || work(depth, 10 + round)))
                    .collect();
                batch.into_iter().for_each(|thread| thread.join().unwrap());
            }
            drop(ending);
        });
        trim_all();
        assert_eq!(
            (stats_all().pools, held()),
            (pools, 0),
            "the pools of threads that ended are gone"
        );
    });
}

/// The numbers of an array that the destructor uses.
const LENGTH: usize = if cfg!(miri) { 20 } else { 100 };

/// A thread-local whose destructor uses and releases pools.
struct AtExit(Option<LocalGuard<Cpu>>);

thread_local! {
    static AT_EXIT: RefCell<AtExit> = const { RefCell::new(AtExit(None)) };
}

impl Drop for AtExit {
    fn drop(&mut self) {
        if let Some(guard) = &mut self.0 {
            let scope = guard.scope();
            let kept = scope.acquire_filled(LENGTH, 4_u64);
            trim_all();
            work(2, LENGTH);
            trim_all();
            assert_eq!(kept, [4; LENGTH]);
        }
        drop(self.0.take());
        trim_all();
        work(3, LENGTH);
        trim_all();
    }
}

/// The destructor runs before the list is closed, and after.
#[test]
fn release_from_a_thread_local_destructor_both_orders() {
    alone(|| {
        let pools = stats_all().pools;
        for register_first in [true, false] {
            std::thread::spawn(move || {
                if register_first {
                    AT_EXIT.with(|_| ());
                }
                work(3, LENGTH);
                AT_EXIT.with(|at_exit| at_exit.borrow_mut().0 = Some(local()));
            })
            .join()
            .expect("no panic while the thread ends");
            assert_eq!(stats_all().pools, pools);
        }
    });
}
