//! Several threads at once: each has its own pools and its own count.

use std::sync::Barrier;

use pool_facade::prelude::*;

use crate::steady::never_allocates;

#[test]
fn every_thread_on_its_own() {
    let barrier = Barrier::new(4);
    std::thread::scope(|threads| {
        for thread in 0..4_u64 {
            let barrier = &barrier;
            threads.spawn(move || {
                barrier.wait();
                never_allocates(|| {
                    with_pool!(|outer| {
                        let kept = outer.acquire_filled(100, thread);
                        with_pool!(|inner| {
                            let array = inner.acquire_array_dyn::<u64>(&[1, 2, 1, 2, 1, 2, 1, 2]);
                            array.as_slice_mut().unwrap().fill(thread);
                            assert_eq!(array.as_slice().unwrap()[15] + kept[99], 2 * thread);
                        });
                    });
                });
            });
        }
        // One that allocates all the time beside them.
        threads.spawn(|| {
            allocate_all_the_time();
        });
    });
}

/// Allocates and frees, without a count.
fn allocate_all_the_time() {
    for size in 0..10_000 / if cfg!(miri) { 100 } else { 1 } {
        std::hint::black_box(vec![1_u8; size % 100 + 1]);
    }
}
