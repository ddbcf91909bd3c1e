//! Two threads. In each round, one thread runs its batch alone, and then both threads run theirs at
//! the same time.

use std::hint::black_box;
use std::sync::Barrier;
use std::thread;

use super::batches::per_pass;
use super::clock::thread_time;
use crate::case::Case;
use crate::record::Timing;
use crate::workloads::threads;

/// The number of passes in a batch.
const TIMES: u64 = 400_000;

/// Times each case on one thread and on two.
#[must_use]
pub fn measure(batches: u32) -> Vec<Timing> {
    threads::cases().iter().flat_map(|case| both(case, batches)).collect()
}

fn both(case: &Case, batches: u32) -> [Timing; 2] {
    let barrier = Barrier::new(2);
    let timing = |variant: &str, nanoseconds| {
        let mut name = case.name();
        variant.clone_into(&mut name.variant);
        Timing { name, nanoseconds, minor_faults: None }
    };
    thread::scope(|scope| {
        let other = scope.spawn(|| {
            let mut prepared = (case.prepare)();
            for _ in 0..batches {
                barrier.wait();
                barrier.wait();
                prepared(black_box(TIMES));
            }
        });
        let mut prepared = (case.prepare)();
        let mut batch = || {
            let before = thread_time();
            prepared(black_box(TIMES));
            per_pass(thread_time() - before, TIMES)
        };
        let (mut alone, mut together) = (Vec::new(), Vec::new());
        for _ in 0..batches {
            barrier.wait();
            alone.push(batch());
            barrier.wait();
            together.push(batch());
        }
        // If the other thread panics, it prints the panic, and its batches are not used.
        let _ = other.join();
        [timing("one thread", alone), timing("two threads", together)]
    })
}
