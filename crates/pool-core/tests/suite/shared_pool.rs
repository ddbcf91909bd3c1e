//! Owned arrays: reused, limited, trimmed, poisoned, refused, and freed after the last handle.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex, mpsc};
use std::thread;

use pool_conformance::{HeapBackend, Ledger, Refusal};
use pool_core::{Owned, PoolConfig, PoolError, PoolView, PoolViewMut, SharedPool};

use crate::support::rounds;

type Pool = SharedPool<HeapBackend>;

/// Returns the number of bytes that a pool holds at most, for a given peak of its live bytes. Arrays
/// in larger blocks are exceptions.
fn bound(live_peak: usize, threads: usize) -> usize {
    live_peak + live_peak / 32 * 5 + (256 << 10) + threads * (64 << 10)
}

fn pool_with(config: PoolConfig) -> (Pool, Ledger) {
    let ledger = Ledger::default();
    (Pool::with_config(ledger.clone(), config).unwrap(), ledger)
}

fn pool() -> (Pool, Ledger) {
    pool_with(PoolConfig::new())
}

#[test]
fn what_is_dropped_is_used_again() {
    let (pool, ledger) = pool();
    for _ in 0..rounds(100, 5) {
        let mut first = pool.take_zeroed::<f32>(1000);
        let second = pool.take_from(&[1_u8, 2, 3]);
        first[999] += f32::from(second[2]);
        assert_eq!(first[999], 3.0);
    }
    assert_eq!((pool.stats().growths, ledger.allocations()), (2, 2));
    drop(pool);
    assert_eq!(ledger.live_blocks(), 0);
}

/// If a thread released a lock that it failed to take, two arrays would get one block.
#[test]
fn no_block_has_two_owners() {
    let (pool, ledger) = pool();
    let (threads, rounds) = if cfg!(miri) { (3, 12) } else { (16, 5_000) };
    thread::scope(|scope| {
        for number in 0..threads {
            let pool = pool.clone();
            scope.spawn(move || {
                for round in 0..rounds {
                    let length = 1 + (number * 7 + round) % 50;
                    let array = pool.take_with(length, |i| (number, round, i));
                    assert!(array.iter().enumerate().all(|(i, &v)| v == (number, round, i)));
                }
            });
        }
    });
    assert_eq!(pool.stats().active_slots, 0);
    drop(pool);
    assert_eq!(ledger.live_blocks(), 0);
}

#[test]
fn arrays_outlive_all_handles() {
    let (threads, rounds) = if cfg!(miri) { (2, 4) } else { (4, 200) };
    for _ in 0..rounds {
        let (pool, ledger) = pool();
        let idle = pool.take::<u64>(64);
        let arrays: Vec<_> = (0..threads).map(|n| pool.take_with(8, move |i| n + i)).collect();
        drop(idle);
        let start = Arc::new(Barrier::new(threads + 1));
        let workers = arrays.into_iter().enumerate().map(|(n, array)| {
            let start = Arc::clone(&start);
            thread::spawn(move || {
                start.wait();
                assert_eq!(array[7], n + 7);
                drop(array);
            })
        });
        let workers: Vec<_> = workers.collect();
        start.wait();
        drop(pool);
        workers.into_iter().for_each(|worker| worker.join().unwrap());
        assert_eq!(ledger.live_blocks(), 0);
    }
}

#[test]
fn the_last_array_frees_the_pool() {
    let (pool, ledger) = pool();
    let first = pool.take::<u8>(100);
    let second = pool.clone().take::<u8>(100);
    drop(pool);
    assert_eq!(ledger.live_blocks(), 2);
    drop(first);
    assert_eq!(ledger.live_blocks(), 1);
    drop(second);
    assert_eq!(ledger.live_blocks(), 0);
}

#[test]
fn blocks_come_back_from_other_threads() {
    let (pool, ledger) = pool();
    let rounds = if cfg!(miri) { 10 } else { 10_000 };
    let (sender, receiver) = mpsc::sync_channel::<Owned<HeapBackend, u32>>(4);
    let taker = pool.clone();
    let worker = thread::spawn(move || {
        for number in 0..rounds {
            let mut array = taker.take::<u32>(100);
            array.fill(number);
            sender.send(array).unwrap();
        }
    });
    for (number, array) in receiver.iter().enumerate() {
        assert!(array.iter().all(|&value| value as usize == number));
    }
    worker.join().unwrap();
    // At most seven arrays are live: four in the channel, two at its ends, and one that is being dropped. A thread that
    // finds a list locked allocates instead, but only within the slack of the pool and of the two magazines.
    let most = bound(7 * 448, 2);
    assert!(ledger.allocations() <= most / 400, "{} blocks", ledger.allocations());
    assert!(ledger.live_bytes() <= most, "{} bytes", ledger.live_bytes());
}

#[test]
fn a_limit_counts_what_is_handed_out() {
    let (pool, ledger) = pool_with(PoolConfig::new().byte_limit(4096));
    let idle = pool.take::<u8>(2048);
    drop(idle);
    let held = pool.take::<u8>(3072); // the idle block is freed for it
    assert_eq!(ledger.live_bytes(), 3072);
    let refused = pool.try_take::<u8>(2000).unwrap_err();
    assert_eq!(refused, PoolError::LimitExceeded { requested: 2048, reserved: 3072, limit: 4096 });
    assert_eq!(pool.stats().active_slots, 1);
    drop(held);
    assert!(pool.try_take::<u8>(4000).is_ok());
}

#[test]
fn trim_frees_what_any_thread_dropped() {
    let (pool, ledger) = pool();
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| drop([pool.take::<u64>(100), pool.take::<u64>(1000)]));
        }
    });
    let held = pool.take::<u64>(100);
    let before = ledger.live_blocks();
    let released = pool.trim();
    assert_eq!((released.slots, ledger.live_blocks()), (before - 1, 1));
    assert_eq!(pool.stats().reserved_bytes, ledger.live_bytes());
    assert!(ledger.settled() > 0);
    drop(held);
}

#[test]
fn poison_and_fresh_blocks_follow_the_configuration() {
    let (pool, ledger) = pool_with(PoolConfig::new().poison(true));
    for _ in 0..2 {
        let mut array = pool.take::<f32>(10);
        assert!(array.iter().all(|value| value.is_nan()));
        array.fill(1.0);
        assert_eq!(*pool.take_zeroed::<u8>(40), [0; 40]);
    }
    assert_eq!(ledger.allocations(), 2);

    let (pool, ledger) = pool_with(PoolConfig::new().fresh(true));
    for round in 1..4 {
        drop(pool.take::<f32>(10));
        assert_eq!((ledger.allocations(), ledger.live_blocks()), (round, 0));
    }
}

/// Under Miri, a read of uninitialised padding is an error.
#[test]
fn padding_is_zeroed_before_it_is_read() {
    let (pool, ledger) = pool();
    for length in [1, 3, 8] {
        let padded = pool.take_with(length, |i| (i == 0, u64::MAX));
        assert_eq!(padded[length - 1].1, u64::MAX);
        drop(padded);
        let bytes = pool.take::<u8>(length * 16);
        assert!(bytes.iter().all(|&byte| byte == 0));
        drop(bytes);
        let plain = pool.take_with(length * 2, |_| 7_u64);
        drop(plain);
        assert_eq!(*pool.take::<u64>(length * 2), vec![7; length * 2]);
    }
    // A shorter copy keeps the mark of the bytes after it.
    drop(pool.take_with(4, |_| (1_u8, 2_u64)));
    drop(pool.take_from(&[3_u8; 50]));
    assert_eq!(pool.take::<u8>(64)[50..], [0; 14]);
    assert_eq!(ledger.allocations(), 2);
}

#[test]
fn a_panic_in_an_element_returns_the_block() {
    let (pool, ledger) = pool();
    let attempt = || pool.take_with(10, |i| if i == 5 { panic!("planted") } else { (i, 0_u8) });
    for _ in 0..3 {
        assert!(std::panic::catch_unwind(attempt).is_err());
    }
    assert_eq!((ledger.allocations(), pool.stats().active_slots), (1, 0));
}

/// The closure that computes an element can use and trim the pool, also on another thread.
#[test]
fn an_element_can_use_the_pool() {
    let (pool, ledger) = pool_with(PoolConfig::new().byte_limit(64 << 10));
    let rounds = if cfg!(miri) { 6 } else { 60 };
    for round in 0..rounds {
        let outer = pool.take_with(rounds, |index| {
            let inner = pool.take_with(index, |i| (i, i == 1));
            let other = pool.clone();
            if index == round {
                thread::scope(|scope| scope.spawn(move || drop(other.take::<u64>(9))).join())
                    .unwrap();
                pool.trim();
            }
            assert!(matches!(pool.try_take::<u8>(64 << 10), Err(PoolError::LimitExceeded { .. })));
            assert!(pool.try_take_zeroed::<u64>(usize::MAX / 8).is_err());
            inner.len()
        });
        assert!(outer.iter().enumerate().all(|(index, &length)| length == index));
    }
    assert_eq!(pool.stats().active_slots, 0);
    drop(pool);
    assert_eq!((ledger.live_blocks(), ledger.faults().len()), (0, 0));
}

/// Takes and drops arrays. Returns the number of refusals.
fn program(pool: &Pool) -> usize {
    let mut refusals = 0;
    let mut held = Vec::new();
    for round in 0_usize..12 {
        let length = [100, 5000, 40_000][round % 3];
        match pool.try_take_zeroed::<u8>(length) {
            Ok(array) => held.push(array),
            Err(PoolError::OutOfMemory { requested, .. }) => {
                assert!(requested >= length);
                refusals += 1;
            }
            Err(error) => panic!("{error}"),
        }
        assert_eq!(pool.stats().active_slots, held.len());
        if round % 4 == 3 {
            held.clear();
        }
    }
    refusals
}

#[test]
fn every_refused_allocation_leaves_a_usable_pool() {
    for number in (0..).step_by(rounds(1, 5)) {
        let (pool, ledger) = pool();
        ledger.refuse(Refusal::From(number));
        let refusals = program(&pool);
        let refused = ledger.refused();
        assert!(refusals <= refused);
        ledger.refuse(Refusal::Never);
        assert_eq!(program(&pool), 0);
        assert_eq!(pool.stats().reserved_bytes, ledger.live_bytes());
        drop(pool);
        assert_eq!(ledger.live_blocks(), 0);
        if refused == 0 {
            return;
        }
    }
}

#[test]
fn one_refused_allocation_is_tried_again_without_idle_blocks() {
    let (pool, ledger) = pool();
    drop(pool.take::<u8>(10_000));
    ledger.refuse(Refusal::Once(0));
    let array = pool.take::<u8>(20_000);
    assert_eq!((ledger.refused(), ledger.live_blocks()), (1, 1));
    drop(array);
}

#[test]
fn a_backend_that_panics_leaves_a_usable_pool() {
    let (pool, ledger) = pool();
    ledger.refuse(Refusal::PanicOnce(0));
    assert!(std::panic::catch_unwind(|| pool.take::<u8>(1000)).is_err());
    assert_eq!((pool.stats().active_slots, pool.stats().reserved_bytes), (0, 0));
    assert_eq!(program(&pool), 0);
    drop(pool);
    assert_eq!(ledger.live_blocks(), 0);
}

#[test]
fn arrays_without_bytes_have_no_block() {
    let (pool, ledger) = pool_with(PoolConfig::new().byte_limit(0));
    for _ in 0..3 {
        let mut empty = pool.take::<u64>(0);
        assert!(empty.is_empty() && empty.view_mut().is_empty());
        let units = pool.take_zeroed::<[u8; 0]>(usize::MAX);
        assert_eq!((units.len(), units.view().len()), (usize::MAX, usize::MAX));
    }
    assert_eq!(ledger.allocations(), 0);
}

#[test]
fn lengths_that_no_address_space_has_are_refused() {
    let (pool, _ledger) = pool();
    let most = isize::MAX as usize;
    for elements in [usize::MAX, usize::MAX / 8, most / 8 + 1, most / 8] {
        let refused = pool.try_take::<u64>(elements).unwrap_err();
        assert_eq!(refused, PoolError::SizeOverflow { elements, element_size: 8 });
    }
    assert_eq!(pool.stats().active_slots, 0);
}

/// Returns the peak of held bytes for each byte of the live peak.
fn held_per_live(longest: usize, most: usize, steps: usize) -> f64 {
    let (pool, ledger) = pool();
    let mut random = fastrand::Rng::with_seed(7);
    let (mut held, mut live, mut peak) = (Vec::new(), 0, 0);
    for _ in 0..steps {
        if held.len() < most && random.bool() {
            let length = random.usize(longest / 2..longest);
            held.push(pool.take::<u8>(length));
            live += length;
            peak = peak.max(live);
        } else if let Some(last) = held.len().checked_sub(1) {
            live -= held.swap_remove(random.usize(0..=last)).len();
        }
    }
    let stats = pool.stats();
    assert_eq!(stats.reserved_bytes, ledger.live_bytes());
    assert!(stats.peak_live_bytes.is_some_and(|noted| noted <= peak + 64 * most));
    ledger.peak_bytes() as f64 / peak as f64
}

#[test]
#[cfg_attr(miri, ignore = "SKIPPED: compares numbers of bytes; the random programs run this code")]
fn what_is_held_follows_what_is_live() {
    for (longest, most) in [(400_000, 200), (1 << 22, 40)] {
        let ratio = held_per_live(longest, most, 20_000);
        assert!(ratio <= 1.20, "{ratio:.3} for {most} arrays of up to {longest}");
    }
}

/// The bytes of live arrays, counted by the threads that acquire and drop the arrays. An array is
/// counted before it is acquired and until after it is dropped.
#[derive(Default)]
struct LiveBytes {
    now: AtomicUsize,
    peak: AtomicUsize,
}

impl LiveBytes {
    fn take(&self, pool: &Pool, length: usize) -> Owned<HeapBackend, u8> {
        let bytes = length.next_multiple_of(64);
        let now = self.now.fetch_add(bytes, Ordering::SeqCst) + bytes;
        self.peak.fetch_max(now, Ordering::SeqCst);
        pool.take(length)
    }

    fn drop(&self, array: Owned<HeapBackend, u8>) {
        let bytes = array.len().next_multiple_of(64);
        drop(array);
        self.now.fetch_sub(bytes, Ordering::SeqCst);
    }
}

#[test]
fn threads_that_pass_arrays_on_hold_at_most_the_bound() {
    let (threads, rounds, most, longest) =
        if cfg!(miri) { (3, 20, 6, 2_000) } else { (16, 1_500, 200, 400_000) };
    let (pool, ledger) = pool();
    let (live, passed) = (LiveBytes::default(), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for number in 0..threads {
            let (pool, live, passed) = (&pool, &live, &passed);
            scope.spawn(move || {
                for round in 0..rounds {
                    let length = longest / 4 + (round * 7919 + number * 104_729) % longest;
                    let array = live.take(pool, length);
                    let mut passed = passed.lock().unwrap();
                    passed.push(array);
                    let last = (passed.len() > most).then(|| passed.swap_remove(round % most));
                    drop(passed);
                    last.into_iter().for_each(|array| live.drop(array));
                }
            });
        }
    });
    let peak = live.peak.load(Ordering::SeqCst);
    let noted = pool.stats().peak_live_bytes.unwrap();
    assert!(noted <= peak, "the pool noted {noted} live bytes of {peak}");
    // Blocks that are all in use can exceed the bound, because a block can be larger than its array.
    let most = bound(peak, threads) + peak / 16;
    assert!(ledger.peak_bytes() <= most, "{} of {most} for {peak}", ledger.peak_bytes());
}

/// One thread's arrays are dropped by another thread, so the counters of both threads change all
/// the time, in opposite directions.
#[test]
fn the_peak_counts_no_array_twice() {
    const LENGTH: usize = 64 << 10;
    let (pool, _ledger) = pool();
    let rounds = if cfg!(miri) { 10 } else { 300_000 };
    let (sender, receiver) = mpsc::sync_channel::<Owned<HeapBackend, u8>>(4);
    let taker = pool.clone();
    let worker = thread::spawn(move || {
        for _ in 0..rounds {
            sender.send(taker.take(LENGTH)).unwrap();
        }
    });
    let dropper = thread::spawn(move || receiver.iter().for_each(drop));
    while !dropper.is_finished() {
        std::hint::black_box(pool.stats());
    }
    worker.join().unwrap();
    dropper.join().unwrap();
    // Seven arrays are live at most. A sum can miss a few arrays that move while it is formed.
    let peak = pool.stats().peak_live_bytes.unwrap() / LENGTH;
    assert!(peak <= 2 * 7, "{peak} arrays");
}

#[test]
fn a_refused_array_does_not_raise_the_bound() {
    let (pool, ledger) = pool_with(PoolConfig::new().byte_limit(64 << 20));
    drop(pool.take::<u8>(1 << 20));
    assert!(matches!(pool.try_take::<u8>(1 << 30), Err(PoolError::LimitExceeded { .. })));
    ledger.refuse(Refusal::From(0));
    assert!(matches!(pool.try_take::<u8>(32 << 20), Err(PoolError::OutOfMemory { .. })));
    ledger.refuse(Refusal::Never);
    assert_eq!(pool.stats().peak_live_bytes, Some(1 << 20));
    let lengths = (1..=64).step_by(if cfg!(miri) { 21 } else { 1 }).map(|number| number << 14);
    lengths.for_each(|length| drop(pool.take::<u8>(length)));
    assert_eq!(pool.stats().peak_live_bytes, Some(1 << 20));
    assert!(ledger.peak_bytes() <= bound(1 << 20, 1), "{}", ledger.peak_bytes());
}

#[test]
#[cfg_attr(miri, ignore = "SKIPPED: compares numbers of bytes; the random programs run this code")]
fn two_lengths_in_turn_allocate_once() {
    let (pool, ledger) = pool();
    for round in 0..50 {
        drop(pool.take::<u8>(1 << 20));
        drop(pool.take::<u8>([600_000, 300_000, 90_000][round % 3]));
    }
    assert!(ledger.allocations() <= 4, "{}", ledger.allocations());
    assert!(ledger.peak_bytes() <= bound(1 << 20, 1));
}

/// Acquires the arrays of one pass of a residual network, whose lengths fall from stage to stage.
fn pass_of_a_network(pool: &Pool) {
    let take = |bytes| pool.take::<u8>(bytes);
    let stem = take(1_605_632);
    let mut input = take(401_408);
    drop(stem);
    for length in [401_408, 200_704, 100_352, 50_176] {
        let inner = take(length);
        let output = take(length);
        drop(inner);
        let skipped = take(length);
        drop((input, skipped));
        input = output;
    }
    let mean = take(1_024);
    drop(input);
    drop((take(4_000), mean));
}

#[test]
#[cfg_attr(miri, ignore = "SKIPPED: compares numbers of bytes; the random programs run this code")]
fn a_loop_over_falling_lengths_stops_allocating() {
    let (pool, ledger) = pool();
    (0..3).for_each(|_| pass_of_a_network(&pool));
    let before = ledger.allocations();
    (0..3).for_each(|_| pass_of_a_network(&pool));
    assert_eq!(ledger.allocations(), before);
    let peak = pool.stats().peak_live_bytes.unwrap();
    assert!(ledger.peak_bytes() <= bound(peak, 1));
}

/// Runs a pass of a random program that keeps at most six arrays of up to 64 KiB.
fn small_pass(pool: &Pool, seed: u64) {
    let longest = if cfg!(miri) { 20 } else { 80 };
    let mut random = fastrand::Rng::with_seed(seed);
    let (most, steps, kind) = (random.usize(2..=6), random.usize(10..longest), random.u8(..3));
    let mut held = Vec::new();
    for step in 0..steps {
        if held.len() == most || (!held.is_empty() && random.bool()) {
            drop(held.swap_remove(random.usize(..held.len())));
            continue;
        }
        let length = match kind {
            0 => (64 << 10) >> (step * 7 / steps),
            1 => random.usize(1 << 10..=64 << 10),
            _ => (1 << 10) << random.usize(..=6),
        };
        held.push(pool.take::<u8>(if cfg!(miri) { length / 64 } else { length }));
    }
}

#[test]
fn a_small_loop_over_mixed_lengths_stops_allocating() {
    let seeds = if cfg!(miri) { 1 } else { 500 };
    for seed in 0..seeds {
        let (pool, ledger) = pool();
        // The order in which shards are searched depends on the address of the thread's stack, so
        // the number of passes until the last allocation differs from run to run.
        let settled = (0..8).any(|_| {
            let before = ledger.allocations();
            (0..4).for_each(|_| small_pass(&pool, seed));
            ledger.allocations() == before
        });
        assert!(settled, "seed {seed}: {} allocations in 32 passes", ledger.allocations());
    }
}

#[test]
#[cfg_attr(miri, ignore = "SKIPPED: compares numbers of bytes; the random programs run this code")]
fn arrays_in_larger_blocks_do_not_make_the_pool_grow_with_each_pass() {
    const SMALL: usize = 4 << 10;
    const LARGE: usize = 64 << 10;
    let live = 8 << 20;
    let (pool, ledger) = pool();
    drop((0..live / LARGE).map(|_| pool.take::<u8>(LARGE)).collect::<Vec<_>>());
    let mut large_blocks = live / LARGE;
    for _ in 0..8 {
        // A small array in each block that the pool can use for it.
        let count = (live / 4 / SMALL + large_blocks).min(live / SMALL);
        let small: Vec<_> = (0..count).map(|_| pool.take::<u8>(SMALL)).collect();
        let rest = live - small.len() * SMALL;
        let large: Vec<_> = (0..rest / LARGE).map(|_| pool.take::<u8>(LARGE)).collect();
        large_blocks += large.len();
        drop((small, large));
    }
    let peak = pool.stats().peak_live_bytes.unwrap();
    assert!(peak <= live, "{peak}");
    assert!(ledger.peak_bytes() <= bound(peak, 1) + peak, "{} of {peak}", ledger.peak_bytes());
}

#[test]
fn views_are_those_of_the_backend() {
    let (pool, _ledger) = pool();
    let mut array = pool.take_from(&[1.0_f32, 2.0, 3.0]);
    array.view_mut().fill_with_value(4.0).unwrap();
    assert_eq!(array.view().copy_to_vec().unwrap(), [4.0; 3]);
    assert_eq!(array.as_ref(), &array[..]);
    array.as_mut()[1] = 5.0;
    assert_eq!(array.view(), [4.0, 5.0, 4.0]);
}

#[test]
fn numbers_and_names_are_those_of_a_pool() {
    let (pool, _ledger) = pool_with(PoolConfig::new().name("queue").byte_limit(1 << 20));
    let array = pool.take::<u8>(1000);
    let stats = pool.stats();
    assert_eq!((stats.name, stats.device.kind, stats.active_slots), ("queue", "heap", 1));
    assert_eq!((stats.reserved_bytes, stats.byte_limit), (1024, 1 << 20));
    assert_eq!(stats.peak_live_bytes, Some(1024));
    assert!(format!("{pool:?} {array:?}").contains("length: 1000"));
}
