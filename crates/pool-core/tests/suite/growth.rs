//! Growth, shrinking and retention of blocks: the growth factor and its clamps, kept capacity, and
//! `compact`.

use pool_conformance::{HeapBackend, Ledger, Refusal};
use pool_core::{Compaction, Pool, PoolConfig};

use crate::support::{address, assert_stamped, heap_pool, heap_pool_with, stamp};

/// The bytes of the block that a view is in.
fn block_bytes<T>(ledger: &Ledger, view: &[T]) -> usize {
    ledger.block_of(address(view)).expect("a view of a live block").1
}

#[test]
fn growing_slot_one_leaves_slot_two_intact() {
    let (mut pool, _) = heap_pool();
    let mut scope = pool.scope();
    let zeroth = scope.acquire::<u64, _>(20);
    stamp(zeroth, 0);
    {
        let inner = scope.scope();
        inner.acquire::<u64, _>(10);
        stamp(inner.acquire(20), 2);
    }
    let inner = scope.scope();
    let grown = inner.acquire::<u64, _>(200);
    stamp(grown, 1);
    let second = inner.acquire::<u64, _>(20);
    assert_stamped(second, 2);
    stamp(second, 3);
    assert_stamped(grown, 1);
    assert_stamped(zeroth, 0);
}

#[test]
fn capacity_is_kept_on_shrink() {
    let (mut pool, ledger) = heap_pool();
    let large = address(pool.scope().acquire::<f64, _>(1000));
    for length in [0, 200, 1, 999, 1000] {
        let scope = pool.scope();
        let view = scope.acquire::<f64, _>(length);
        assert_eq!(view.len(), length);
        if length > 0 {
            assert_eq!(address(view), large, "{length}");
        }
    }
    for (length, size) in [(2000, 4), (4000, 2), (8000, 1)] {
        let scope = pool.scope();
        let view: &mut [u8] = match size {
            4 => bytemuck::cast_slice_mut(scope.acquire::<f32, _>(length)),
            2 => bytemuck::cast_slice_mut(scope.acquire::<u16, _>(length)),
            _ => scope.acquire::<u8, _>(length),
        };
        assert_eq!((view.len(), address(view)), (8000, large));
    }
    assert_eq!(ledger.allocations(), 1);
}

#[test]
fn growth_frees_the_old_block_and_copies_nothing() {
    let (mut pool, ledger) = heap_pool();
    pool.scope().acquire_filled(100, u64::MAX);
    let grown = pool.scope().acquire::<u64, _>(10_000);
    assert!(grown == vec![0; grown.len()], "a new block of this backend is zeroed");
    assert_eq!((ledger.live_blocks(), ledger.allocations()), (1, 2));
    assert_eq!(pool.stats().growths, 2);
    assert_eq!(pool.stats().reserved_bytes, ledger.live_bytes());
}

#[test]
fn growth_factor_applies_to_the_old_capacity() {
    for (factor, expected) in [(1.0, 1088), (1.5, 1536), (2.0, 2048), (100.0, 102_400)] {
        let (mut pool, ledger) = heap_pool_with(PoolConfig::new().growth_factor(factor));
        // 127 words and the one that the strict compare needs: 1,024 bytes.
        assert_eq!(block_bytes(&ledger, pool.scope().acquire::<u64, _>(127)), 1024);
        assert_eq!(block_bytes(&ledger, pool.scope().acquire::<u64, _>(128)), expected, "{factor}");
    }
}

#[test]
#[cfg_attr(miri, ignore = "SKIPPED: compares numbers of bytes; the random programs run this code")]
fn growth_factor_adds_a_quarter_beyond_64_kib() {
    const KIB: usize = 1 << 10;
    for (factor, old, expected) in
        [(1.5, 64, 96), (2.0, 64, 128), (1.5, 128, 128 + 40), (2.0, 1024, 1024 + 64 + 240)]
    {
        let (mut pool, ledger) = heap_pool_with(PoolConfig::new().growth_factor(factor));
        let words = old * KIB / 8;
        assert_eq!(block_bytes(&ledger, pool.scope().acquire::<u64, _>(words - 1)), old * KIB);
        let grown = block_bytes(&ledger, pool.scope().acquire::<u64, _>(words));
        assert_eq!(grown, expected * KIB, "{factor} of {old} KiB");
    }
}

#[test]
fn growth_factor_clamped_to_limit_and_isize() {
    // To the limit: 1,024 bytes held, twice as much wanted, 1,280 left.
    let config = PoolConfig::new().growth_factor(2.0).byte_limit(1024 + 1280 + 63);
    let (mut pool, ledger) = heap_pool_with(config);
    ledger.refuse(Refusal::Above(config.limit()));
    assert_eq!(block_bytes(&ledger, pool.scope().acquire::<u64, _>(127)), 1024);
    assert_eq!(block_bytes(&ledger, pool.scope().acquire::<u64, _>(128)), 1280);
    assert_eq!(ledger.refused(), 0, "not even during growth did the pool hold more than its limit");

    // To an address space: the generous size is refused, the exact one is had.
    for factor in [1e18, f64::MAX] {
        let (mut pool, ledger) = heap_pool_with(PoolConfig::new().growth_factor(factor));
        ledger.refuse(Refusal::Above(1 << 20));
        assert_eq!(block_bytes(&ledger, pool.scope().acquire::<u64, _>(127)), 1024);
        assert_eq!(block_bytes(&ledger, pool.scope().acquire::<u64, _>(128)), 1088);
        assert_eq!((ledger.refused(), ledger.live_blocks()), (1, 1));
    }
}

#[test]
fn generous_size_refused_falls_back_to_the_exact_one() {
    let (mut pool, ledger) = heap_pool();
    let mut scope = pool.scope();
    scope.acquire::<u64, _>(10);
    {
        let inner = scope.scope();
        inner.acquire::<u64, _>(127);
        inner.acquire::<u64, _>(127);
    }
    ledger.refuse(Refusal::Once(0));
    let inner = scope.scope();
    assert_eq!(block_bytes(&ledger, inner.acquire::<u64, _>(128)), 1088);
    assert_eq!((ledger.refused(), ledger.live_blocks()), (1, 3), "idle blocks were not touched");
}

fn one_million_then(rounds: usize, length: usize) -> (Pool<HeapBackend>, Ledger) {
    let (mut pool, ledger) = heap_pool();
    pool.scope().acquire::<f64, _>(1_000_000);
    pool.sample_lengths();
    for _ in 0..rounds {
        pool.scope().acquire::<f64, _>(length);
    }
    (pool, ledger)
}

#[test]
fn compact_one_million_to_one_hundred_and_fifty() {
    let (mut pool, ledger) = one_million_then(5, 150);
    let before = ledger.live_bytes();
    let released = pool.compact(&Compaction::default());
    // 151 words, one and a half times, rounded up to blocks of 64 bytes.
    assert_eq!(ledger.live_bytes(), 1856);
    assert_eq!((released.slots, released.bytes), (1, before - 1856));
    assert_eq!(pool.stats().reserved_bytes, 1856);
    let allocations = ledger.allocations();
    let view = pool.scope().acquire::<f64, _>(150);
    view.fill(1.0);
    pool.scope().acquire::<f64, _>(200);
    assert_eq!(ledger.allocations(), allocations, "half as much again fits");
    assert_eq!(pool.compact(&Compaction::default()).slots, 0, "there is nothing to gain now");
}

#[test]
fn compact_leaves_what_is_used_unseen_or_too_little() {
    let (mut pool, _) = one_million_then(3, 100_001);
    assert_eq!(pool.compact(&Compaction::default()).slots, 0, "less than ten times too large");
    let (mut pool, _) = one_million_then(0, 0);
    assert_eq!(pool.compact(&Compaction::default()).slots, 0, "nothing was seen");
    let (mut pool, _) = one_million_then(3, 150);
    let reluctant = Compaction { minimum_bytes: 8_000_000, ..Compaction::default() };
    assert_eq!(pool.compact(&reluctant).slots, 0, "less than the least gain");

    let (mut pool, ledger) = heap_pool();
    {
        let scope = pool.scope();
        scope.acquire::<f64, _>(1_000_000);
        scope.acquire::<f64, _>(1_000_000);
    }
    pool.sample_lengths();
    {
        let scope = pool.scope();
        scope.acquire::<f64, _>(150);
        scope.acquire::<f64, _>(150);
    }
    let mut scope = pool.scope();
    let held = scope.acquire::<u64, _>(500_000);
    held[..100].fill(3);
    let inner = scope.scope();
    assert_eq!(inner.compact(&Compaction::default()).slots, 1, "the held one is not touched");
    assert_eq!(ledger.live_blocks(), 2);
    assert!(held[..100].iter().all(|&element| element == 3));
}

#[test]
fn compact_without_memory_leaves_an_empty_slot() {
    let (mut pool, ledger) = one_million_then(3, 150);
    ledger.refuse(Refusal::From(0));
    let before = ledger.live_bytes();
    let released = pool.compact(&Compaction::default());
    assert_eq!((released.slots, released.bytes, ledger.live_blocks()), (1, before, 0));
    assert_eq!(pool.stats().reserved_bytes, 0);
    assert!(pool.scope().try_acquire::<f64, _>(150).is_err());
    ledger.refuse(Refusal::Never);
    assert_eq!(pool.scope().acquire::<f64, _>(150).len(), 150);
}

#[test]
#[cfg_attr(miri, ignore = "SKIPPED: compares numbers of bytes; the random programs run this code")]
fn samples_end_and_the_slot_is_hot_again() {
    let (mut pool, ledger) = one_million_then(usize::from(Compaction::SAMPLES), 150);
    assert_eq!(pool.stats().cold_acquires, 1 + u64::from(Compaction::SAMPLES));
    // Not sampled any more: the large acquire is not seen, and the block is judged by the samples.
    pool.scope().acquire::<f64, _>(1_000_000);
    assert_eq!(pool.stats().cold_acquires, 1 + u64::from(Compaction::SAMPLES));
    assert_eq!(pool.compact(&Compaction::default()).slots, 1);
    assert_eq!(ledger.live_bytes(), 1856);
}

#[test]
fn compact_with_any_factors_does_not_panic() {
    let odd = [0.0, -1.0, 0.001, f64::NAN, f64::INFINITY, f64::NEG_INFINITY];
    for (number, factor) in odd.into_iter().enumerate() {
        // Each with all others, or with another one.
        let others = if cfg!(miri) { &odd[odd.len() - 1 - number..][..1] } else { &odd[..] };
        for &shrink_to in others {
            let compaction = Compaction { factor, shrink_to, minimum_bytes: 0 };
            let (mut pool, ledger) = heap_pool();
            pool.scope().acquire::<u64, _>(500);
            pool.sample_lengths();
            pool.scope().acquire::<u64, _>(400);
            // The largest sample exceeds the slot's current block.
            pool.trim();
            pool.scope().acquire::<u64, _>(3);
            pool.compact(&compaction);
            assert_eq!(pool.stats().reserved_bytes, ledger.live_bytes(), "{compaction:?}");
            let view = pool.scope().acquire::<u64, _>(400);
            stamp(view, 1);
            assert_stamped(view, 1);
        }
    }
}
