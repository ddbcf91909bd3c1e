//! Pools whose acquires get the idle block that fits best, against a model that has nothing but block sizes.

use std::mem::MaybeUninit;

use fastrand::Rng;
use pool_conformance::{HeapBackend, Refusal};
use pool_core::{Compaction, DynamicPool, Pool, PoolConfig, PoolError, Scope};

use crate::support::{address, assert_stamped, heap_pool_with, rounds, stamp};

/// Blocks grow to what is asked for, so that a model knows how large they are.
const BEST_FIT: PoolConfig = PoolConfig::new().best_fit(true).growth_factor(1.0);

/// The bytes of the block for so many `u64`s: one word more, in multiples of the alignment.
fn block_bytes(length: usize) -> usize {
    if length == 0 { 0 } else { ((length + 1) * 8).next_multiple_of(64) }
}

/// The blocks of a pool: those of a scope's arrays, and those that are idle.
#[derive(Default)]
struct Model {
    idle: Vec<usize>,
    growths: u64,
    peak: usize,
}

impl Model {
    /// The block that an acquire gets; `live` is what the scopes around it have.
    fn take(&mut self, needed: usize, live: usize) -> usize {
        self.peak = self.peak.max(live + needed);
        if needed == 0 {
            return 0;
        }
        let fitting = self.idle.iter().copied().filter(|&bytes| bytes >= needed).min();
        let Some(found) = fitting.or_else(|| self.idle.iter().copied().max()) else {
            self.growths += 1;
            return needed;
        };
        let index = self.idle.iter().position(|&bytes| bytes == found).unwrap();
        self.idle.swap_remove(index);
        self.growths += u64::from(found < needed);
        found.max(needed)
    }
}

/// A scope whose arrays are stamped, and looked at again at its end.
fn body(
    scope: &mut Scope<'_, HeapBackend>,
    model: &mut Model,
    live: usize,
    random: &mut Rng,
    depth: usize,
) {
    let (mut live, mut taken, mut blocks) = (live, Vec::new(), Vec::new());
    for _ in 0..random.usize(1..5) {
        let most = 1 << random.u8(1..9);
        let length = random.usize(1..=most);
        let block = model.take(block_bytes(length), live);
        live += block_bytes(length);
        blocks.push(block);
        let view = scope.acquire::<u64, _>(length);
        stamp(view, taken.len() as u64);
        taken.push(view);
    }
    for _ in 0..if depth == 0 { 0 } else { random.usize(0..3) } {
        body(&mut scope.scope(), model, live, random, depth - 1);
    }
    for (owner, view) in taken.iter().enumerate() {
        assert_stamped(view, owner as u64);
    }
    model.idle.extend(blocks.into_iter().filter(|&bytes| bytes > 0));
}

/// A scope with arrays of these lengths.
fn use_once<const N: usize>(pool: &mut Pool<HeapBackend>, lengths: [usize; N]) {
    let scope = pool.scope();
    for length in lengths {
        scope.acquire::<u64, _>(length);
    }
}

#[test]
fn random_scopes_hold_and_grow_what_the_model_does() {
    for seed in 0..rounds(300, 1) as u64 {
        let mut random = Rng::with_seed(seed);
        let (mut pool, ledger) = heap_pool_with(BEST_FIT);
        let mut model = Model::default();
        for _ in 0..rounds(20, 4) {
            body(&mut pool.scope(), &mut model, 0, &mut random, 2);
            let stats = pool.stats();
            assert_eq!(stats.growths, model.growths, "seed {seed}");
            assert_eq!(stats.reserved_bytes, model.idle.iter().sum(), "seed {seed}");
            assert_eq!(stats.reserved_bytes, ledger.live_bytes());
        }
        assert_eq!(ledger.faults(), []);
    }
}

#[test]
fn a_mark_goes_with_the_block_and_is_zeroed_wherever_it_is_read() {
    let (mut pool, _) = heap_pool_with(BEST_FIT);
    let marked = {
        let scope = pool.scope();
        let long = scope.acquire_uninit::<u64, _>(100);
        long.fill(MaybeUninit::uninit());
        scope.acquire::<u64, _>(1);
        long.as_ptr().addr()
    };
    let scope = pool.scope();
    // The first slot gets the short block, the second the long one, which the first has left marked.
    scope.acquire::<u64, _>(1);
    let long = scope.acquire::<u64, _>(100);
    assert_eq!(address(long), marked);
    assert!(long.iter().all(|&word| word == 0));
}

#[test]
fn a_shape_stays_with_the_block_that_it_fits() {
    let (mut pool, _) = heap_pool_with(BEST_FIT);
    for first in [true, false, true, false] {
        let scope = pool.scope();
        let lengths = if first { [40, 3] } else { [3, 40] };
        for length in lengths {
            let mut array = scope.acquire::<u64, _>(&[2, length][..]);
            assert_eq!(array.shape(), [2, length]);
            stamp(array.as_mut_slice(), length as u64);
        }
    }
    let stats = pool.stats();
    assert_eq!((stats.growths, stats.shape_misses, stats.shape_hits), (2, 2, 6));
}

#[test]
fn where_memory_is_refused_the_pool_goes_on_with_what_it_has() {
    let (mut pool, ledger) = heap_pool_with(BEST_FIT);
    use_once(&mut pool, [10, 20, 30]);
    let held = pool.stats().reserved_bytes;
    let scope = pool.scope();
    ledger.refuse(Refusal::From(0));
    let error = scope.try_acquire::<u64, _>(1_000).unwrap_err();
    assert!(matches!(error, PoolError::OutOfMemory { requested: 8_064, .. }), "{error:?}");
    ledger.refuse(Refusal::Never);
    // To make room, every idle block was freed before the second attempt.
    assert_eq!((scope.stats().reserved_bytes, ledger.live_blocks()), (0, 0));
    assert!(held > 0);
    stamp(scope.acquire::<u64, _>(1_000), 1);
    drop(scope);
    assert_eq!(ledger.faults(), []);
}

#[test]
fn compact_judges_a_block_by_what_it_was_used_for() {
    let (mut pool, _) = heap_pool_with(BEST_FIT);
    use_once(&mut pool, [1_000, 900]);
    pool.sample_lengths();
    for lengths in [[1_000, 10], [10, 1_000], [10, 1_000], [1_000, 10]] {
        use_once(&mut pool, lengths);
    }
    let compaction = Compaction { factor: 2.0, shrink_to: 1.0, minimum_bytes: 1 };
    let released = pool.compact(&compaction);
    assert_eq!(released.slots, 1, "one block is always long");
    assert_eq!(pool.stats().reserved_bytes, block_bytes(1_000) + block_bytes(10));
}

#[test]
fn dynamic_pools_have_the_mode_too() {
    let mut pool = DynamicPool::<HeapBackend>::with_config(Default::default(), BEST_FIT).unwrap();
    for lengths in [[100, 3], [3, 100], [100, 3]] {
        pool.checkpoint();
        let handles = lengths.map(|length| pool.acquire_filled(length, length as u64));
        for (handle, length) in handles.into_iter().zip(lengths) {
            assert_eq!(*pool.get(handle).unwrap(), vec![length as u64; length]);
        }
        pool.rewind();
    }
    assert_eq!(pool.stats().growths, 2);
}

#[test]
fn a_slot_that_was_never_handed_out_gets_no_block() {
    let (mut pool, _) = heap_pool_with(BEST_FIT);
    pool.scope().acquire::<u64, _>(10);
    // An array of no length keeps its slot's block, because no other slot was ever counted.
    pool.scope().acquire::<u64, _>(0);
    pool.configure(PoolConfig::new()).unwrap();
    let scope = pool.scope();
    scope.acquire::<u64, _>(0);
    scope.acquire::<u64, _>(10);
    let stats = scope.stats();
    assert_eq!((stats.active_slots, stats.high_water_slots, stats.growths), (2, 2, 2));
}
