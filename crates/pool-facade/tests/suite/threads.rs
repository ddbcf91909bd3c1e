//! Each thread has pools of its own: acceptance case 17, and pools that are handed over.

use std::collections::BTreeSet;
use std::sync::{Barrier, Mutex};

use pool_facade::prelude::*;

use crate::support::{first_block, on_fresh_thread};

#[test]
fn a_fresh_thread_gets_its_own_pool() {
    let mut guard = local::<Cpu>();
    let blocks = Mutex::new(BTreeSet::from([first_block(&mut guard)]));
    // All hold their pools at once, so that no address is used twice by turns.
    let barrier = Barrier::new(8);
    std::thread::scope(|threads| {
        for _ in 0..8 {
            threads.spawn(|| {
                assert_eq!(local::<Cpu>().stats().growths, 0, "nothing came with the thread");
                let mut own = local::<Cpu>();
                let block = first_block(&mut own);
                assert!(blocks.lock().unwrap().insert(block));
                barrier.wait();
                drop(own);
                assert_eq!(first_block(&mut local()), block);
            });
        }
    });
    assert_eq!(blocks.into_inner().unwrap().len(), 9);
}

#[test]
fn eight_threads_keep_their_data() {
    let scopes = if cfg!(miri) { 10 } else { 10_000 };
    let barrier = Barrier::new(8);
    std::thread::scope(|threads| {
        for thread in 0..8_usize {
            let barrier = &barrier;
            threads.spawn(move || {
                barrier.wait();
                for pass in 0..scopes {
                    with_pool!(|scope| {
                        let own = scope.acquire_filled(64, thread);
                        let passes = scope.acquire_filled(pass % 50, pass);
                        with_pool!(|inner| {
                            inner.acquire_filled(64, usize::MAX);
                            if pass % 64 == thread {
                                std::thread::yield_now();
                            }
                        });
                        assert!(own.iter().all(|&value| value == thread), "thread {thread}");
                        assert!(passes.iter().all(|&value| value == pass), "thread {thread}");
                    });
                }
                let stats = local::<Cpu>().stats();
                assert_eq!((stats.pools, stats.high_water_slots), (2, 3));
                assert!(stats.growths <= 8, "{stats}");
            });
        }
    });
}

/// An explicit pool goes from thread to thread, with its blocks.
#[test]
fn an_owned_pool_is_handed_over() {
    let mut pool = Pool::<Cpu>::new(());
    let mut dynamic = DynamicPool::<Cpu>::new(());
    let handle = dynamic.acquire_filled(10, 1_u64);
    for value in 0..5_u64 {
        (pool, dynamic) = on_fresh_thread(move || {
            let recycled = pool.scope().acquire::<u64, _>(100);
            if value > 0 {
                assert_eq!(recycled, [value - 1; 100]);
            }
            recycled.fill(value);
            dynamic.get_mut(handle).unwrap()[0] += value;
            (pool, dynamic)
        });
    }
    assert_eq!((pool.stats().growths, dynamic.get(handle).unwrap()[0]), (1, 11));
}
