//! Owned arrays of host memory: the magazines of threads, and arrays that leave a scope without a copy.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

use pool_facade::prelude::*;

const THREADS: usize = if cfg!(miri) { 3 } else { 16 };
const ROUNDS: usize = if cfg!(miri) { 20 } else { 20_000 };

/// Takes arrays of several lengths on a thread, and checks that no other thread writes them.
fn take_and_drop(pool: &SharedPool<Cpu>, number: usize, rounds: usize) {
    let mut held = Vec::new();
    for round in 0..rounds {
        let length = [10, 100, 1000][round % 3] + number;
        let mut array = pool.take::<usize>(length);
        array[0] = number;
        array[length - 1] = round;
        held.push(array);
        if round % 5 == 4 {
            for array in held.drain(..) {
                assert_eq!((array[0], array[array.len() - 1] / 5), (number, round / 5));
            }
        }
    }
}

#[test]
fn threads_take_and_drop_while_others_trim() {
    let pool = SharedPool::<Cpu>::default();
    let has_ended = AtomicBool::new(false);
    thread::scope(|scope| {
        let trims = scope.spawn(|| {
            while !has_ended.load(Ordering::Relaxed) {
                pool.trim();
                thread::yield_now();
            }
        });
        let takers = (0..THREADS).map(|number| {
            let pool = pool.clone();
            scope.spawn(move || take_and_drop(&pool, number, ROUNDS))
        });
        takers.collect::<Vec<_>>().into_iter().for_each(|taker| taker.join().unwrap());
        has_ended.store(true, Ordering::Relaxed);
        trims.join().unwrap();
    });
    assert_eq!(pool.stats().active_slots, 0);
    pool.trim();
    assert_eq!(pool.stats().reserved_bytes, 0);
}

#[test]
fn handles_go_while_arrays_are_returned() {
    for round in 0..if cfg!(miri) { 2 } else { 300 } {
        let pool = SharedPool::<Cpu>::default();
        let (sender, receiver) = mpsc::channel();
        let workers: Vec<_> = (0..4)
            .map(|number| {
                let (pool, sender) = (pool.clone(), sender.clone());
                thread::spawn(move || {
                    take_and_drop(&pool, number, 20);
                    sender.send(pool.take_with(64, |i| i + number)).unwrap();
                })
            })
            .collect();
        drop((sender, pool));
        let last = receiver.iter().map(|array| array[63]).max();
        assert_eq!(last, Some(66), "round {round}");
        workers.into_iter().for_each(|worker| worker.join().unwrap());
    }
}

/// A thread that begins may get the cell of one that has ended, and with it that one's magazines.
#[test]
fn threads_that_end_leave_their_magazines() {
    let pool = SharedPool::<Cpu>::default();
    for number in 0..if cfg!(miri) { 4 } else { 200 } {
        let pool = pool.clone();
        thread::spawn(move || take_and_drop(&pool, number % 4, 12)).join().unwrap();
    }
    let stats = pool.stats();
    // Threads of other tests exchange cells with these.
    assert!(stats.growths <= 200, "{} blocks for threads one after the other", stats.growths);
}

#[test]
fn an_array_is_dropped_after_its_thread_locals() {
    thread_local! {
        static LAST: std::cell::RefCell<Option<Owned<Cpu, u8>>> =
            const { std::cell::RefCell::new(None) };
    }
    let pool = SharedPool::<Cpu>::default();
    for _ in 0..3 {
        let pool = pool.clone();
        let worker = thread::spawn(move || {
            LAST.with(|_| ()); // registered before the pool's own destructor
            let array = pool.take_from(&[7; 100]);
            LAST.set(Some(array));
        });
        worker.join().unwrap();
    }
    assert_eq!((pool.stats().active_slots, pool.stats().growths), (0, 1));
}

#[test]
fn one_thread_uses_many_pools() {
    let pools: Vec<_> = (0..9).map(|_| SharedPool::<Cpu>::default()).collect();
    let (rounds, length) = if cfg!(miri) { (3, 20) } else { (10, 100) };
    for round in 0..rounds {
        let arrays =
            pools.iter().enumerate().map(|(i, pool)| pool.take_with(length, |_| (i, round)));
        let arrays: Vec<_> = arrays.collect();
        assert!(arrays.iter().enumerate().all(|(i, array)| array[length - 1] == (i, round)));
    }
    assert!(pools.iter().all(|pool| pool.stats().growths == 1));
}

#[test]
fn a_limit_is_met_by_the_magazines_of_others() {
    let config = PoolConfig::new().byte_limit(64 << 10);
    let pool = SharedPool::<Cpu>::with_config((), config).unwrap();
    let (ready, go_on) = (mpsc::channel(), mpsc::channel::<()>());
    thread::scope(|scope| {
        let other = pool.clone();
        scope.spawn(move || {
            drop([other.take::<u8>(20_000), other.take::<u8>(20_000)]);
            ready.0.send(()).unwrap();
            go_on.1.recv().unwrap_err(); // lives on, and does nothing
        });
        ready.1.recv().unwrap();
        let all = pool.try_take::<u8>(60_000);
        assert!(all.is_ok(), "{all:?}");
        let refused = pool.try_take::<u8>(10_000);
        assert!(matches!(refused, Err(PoolError::LimitExceeded { .. })), "{refused:?}");
        drop(go_on.0);
    });
}

#[test]
fn what_is_kept_is_not_copied() {
    let results = SharedPool::<Cpu>::default();
    let mut pool = Pool::<Cpu>::new(());
    let mut addresses = Vec::new();
    let length = if cfg!(miri) { 100 } else { 1000 };
    for round in 0..10_u64 {
        let mut scope = pool.scope();
        let below = scope.acquire_filled(10, round);
        let mut inside = 0;
        let kept = scope.keep_owned(&results, |inner| {
            inner.acquire_zeroed::<u8, _>(300);
            let result = inner.acquire_with(length, |i| i as u64 + round);
            inside = result.as_ptr().addr();
            &mut result[10..]
        });
        assert_eq!((kept.as_ptr().addr(), kept.len()), (inside + 80, length - 10));
        // The slot that it was in gets another block.
        let scratch = scope.acquire_filled(length, 1_u64);
        scope.acquire_filled(length, 2_u64);
        assert!(kept.iter().enumerate().all(|(i, &value)| value == i as u64 + 10 + round));
        assert!(below.iter().all(|&value| value == round) && scratch[length - 1] == 1);
        addresses.push(inside);
    }
    // The kept block and its replacement alternate: no block is allocated in steady state.
    let growths = (pool.stats().growths, results.stats().growths);
    assert!(growths.0 + growths.1 <= 5, "{growths:?} {addresses:x?}");
    assert_eq!(addresses[8], addresses[6]);
    assert_eq!(results.stats().active_slots, 0);
}

#[test]
fn kept_blocks_of_many_lengths_stay_within_the_bound() {
    let results = SharedPool::<Cpu>::default();
    let mut pool = Pool::<Cpu>::new(());
    let rounds = if cfg!(miri) { 3 } else { 40 };
    for round in 1..=rounds {
        let mut scope = pool.scope();
        let length = round * if cfg!(miri) { 1 << 10 } else { 100 << 10 };
        let kept = [0_u8, 1]
            .map(|fill| scope.keep_owned(&results, |inner| inner.acquire_filled(length, fill)));
        assert!(kept[1].iter().all(|&value| value == 1));
    }
    let stats = results.stats();
    let peak = stats.peak_live_bytes.unwrap();
    assert!(peak >= 2 * rounds * 1024, "{stats:?}");
    let bound = peak + peak / 32 * 5 + ((256 + 64) << 10);
    assert!(stats.peak_reserved_bytes <= bound, "{} of {peak}", stats.peak_reserved_bytes);
}

#[test]
fn what_cannot_move_is_copied() {
    let results = SharedPool::<Cpu>::default();
    let mut stack = Pool::<Stacked<Cpu>>::new(());
    let mut scope = stack.scope();
    let kept = scope.keep_owned(&results, |inner| inner.acquire_with(100, |i| i));
    assert_eq!(kept[99], 99);
    let mut slots = Pool::<Cpu>::new(());
    let empty = slots.scope().keep_owned(&results, |inner| inner.acquire::<u8, _>(0));
    assert!(empty.is_empty());
    // A limit that does not allow the whole block allows the part.
    let small = SharedPool::<Cpu>::with_config((), PoolConfig::new().byte_limit(1024)).unwrap();
    let part = slots.scope().keep_owned(&small, |inner| &mut inner.acquire_with(1000, |i| i)[..9]);
    assert_eq!((part[8], small.stats().reserved_bytes), (8, 128));
}

/// Under Miri, a read of uninitialised padding is an error.
#[test]
fn a_kept_block_takes_its_mark_with_it() {
    let results = SharedPool::<Cpu>::default();
    let mut pool = Pool::<Cpu>::new(());
    for _ in 0..3 {
        let mut scope = pool.scope();
        let kept =
            scope.keep_owned(&results, |inner| inner.acquire_with(50, |i| (i % 2 == 0, 1_u64)));
        assert_eq!(kept[49], (false, 1));
        assert!(scope.acquire::<u8, _>(400).iter().all(|&byte| byte < 255));
        drop(kept);
        let bytes = results.take::<u8>(800);
        assert!(bytes.iter().map(|&byte| usize::from(byte)).sum::<usize>() < usize::MAX);
    }
}

#[test]
fn arrays_are_sent_and_shared() {
    fn is_send_and_sync<T: Send + Sync + 'static>() {}
    is_send_and_sync::<Owned<Cpu, f32>>();
    is_send_and_sync::<SharedPool<Cpu>>();
    let pool = SharedPool::<Cpu>::default();
    let array = pool.take_with(100, |i| i);
    let sum = AtomicUsize::new(0);
    thread::scope(|scope| {
        for part in array.chunks(25) {
            let sum = &sum;
            scope.spawn(move || sum.fetch_add(part.iter().sum(), Ordering::Relaxed));
        }
    });
    assert_eq!(sum.into_inner(), 4950);
}
