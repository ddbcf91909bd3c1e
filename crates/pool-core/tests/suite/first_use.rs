//! The first use of a vector that was acquired without capacity, or collected without a size hint.
//! Its slot was taken without the block, and the first push hands the block out, with every duty of
//! an acquire. These were holes in an attack from outside: such a push skipped `reuse`, `fresh`,
//! poison and the sample.

use pool_conformance::arming::first_bytes_at_reuse;
use pool_conformance::{HeapBackend, Ledger, Refusal};
use pool_core::{Compaction, Pool, PoolConfig, PoolError, Scope};

use crate::backends::Arming;
use crate::support::{
    address, assert_stamped, heap_pool, heap_pool_with, rounds, slots_per_table, stamp, take,
};

/// Twice the number of elements that a fill writes.
const NUMBERS: u32 = if cfg!(miri) { 20 } else { 100 };

/// Fills the first slot of a scope without a length that is known before.
type Fill = fn(&Scope<'_, HeapBackend>);

/// The fills that find a slot without capacity, and one that has a capacity.
const FILLS: [(&str, Fill); 3] = [
    ("a vector without capacity", |scope| {
        let mut vector = scope.acquire_vec(0);
        vector.extend((0..NUMBERS).filter(|number| number % 2 == 0));
    }),
    ("an iterator without a size hint", |scope| {
        scope.acquire_from_iter((0..NUMBERS).filter(|number| number % 2 == 0));
    }),
    ("a vector with capacity", |scope| {
        let mut vector = scope.acquire_vec(NUMBERS as usize / 2);
        vector.extend(0..NUMBERS / 2);
    }),
];

/// The attack `reuse_bypass`: the block of an armed slot was written while a transfer still read it.
#[test]
fn an_armed_block_is_ordered_before_the_first_push() {
    type Form = fn(&Scope<'_, Arming>) -> usize;
    let forms: [(&str, Form); 7] = [
        ("acquire_filled", |scope| scope.acquire_filled(8, 1_u8).block_address()),
        ("acquire_with", |scope| address(scope.acquire_with(1, |_| (1_u8, 2_u32)))),
        ("acquire_vec(8)", |scope| {
            let mut vector = scope.acquire_vec(8);
            vector.push(7_u8);
            address(vector.into_slice())
        }),
        ("acquire_vec(0)", |scope| {
            let mut vector = scope.acquire_vec(0);
            vector.push(7_u8);
            address(vector.into_slice())
        }),
        ("acquire_vec(0), reserve", |scope| {
            let mut vector = scope.acquire_vec(0);
            vector.reserve(4);
            vector.push((7_u8, 1_u32));
            address(vector.into_slice())
        }),
        ("acquire_vec(0), other acquires between", |scope| {
            let mut vector = scope.acquire_vec(0);
            scope.acquire_filled(300, 2_u8);
            vector.push(7_u64);
            address(vector.into_slice())
        }),
        ("acquire_from_iter, no hint", |scope| {
            address(scope.acquire_from_iter((0..20_u8).filter(|number| number % 2 == 0)))
        }),
    ];
    for (name, form) in forms {
        let mut pool = Pool::<Arming>::new(Ledger::new());
        let armed = {
            let view = pool.scope().acquire_filled(64, 0xA5_u8);
            view.arm();
            view.block_address()
        };
        let (at, ordered) = first_bytes_at_reuse(|| form(&pool.scope()));
        assert_eq!((at, ordered), (armed, vec![0xA5]), "{name}: ordered once, and not written yet");
        let (_, again) = first_bytes_at_reuse(|| form(&pool.scope()));
        assert_eq!(again, [], "{name}: the duty is done");
    }
}

#[test]
fn a_refused_order_leaves_the_vector_empty_and_the_slot_armed() {
    let ledger = Ledger::new();
    let mut pool = Pool::<Arming>::new(ledger.clone());
    pool.scope().acquire_filled(64, 0xA5_u8).arm();
    let scope = pool.scope();
    let mut vector = scope.acquire_vec::<u8>(0);
    ledger.refuse_reuse(true);
    let error = vector.try_push(1).unwrap_err();
    assert!(matches!(error, PoolError::Backend { .. }), "{error}");
    assert_eq!((vector.len(), vector.capacity(), ledger.reuses().len()), (0, 0, 1));
    ledger.refuse_reuse(false);
    vector.push(2);
    assert_eq!((vector.into_slice(), ledger.reuses().len()), (&mut [2][..], 2));
}

/// The attacks `vec0` and `iter0`.
#[test]
fn a_first_use_is_a_sample_so_compaction_releases_the_block() {
    let samples = u64::from(Compaction::SAMPLES);
    for (name, fill) in FILLS {
        let (mut pool, ledger) = heap_pool();
        pool.scope().acquire::<u8, _>(10 << 20);
        pool.sample_lengths();
        let before = pool.stats().cold_acquires;
        for _ in 0..rounds(1_000, usize::from(Compaction::SAMPLES) + 2) {
            fill(&pool.scope());
        }
        assert_eq!(pool.stats().cold_acquires - before, samples, "{name}");
        let released = pool.compact(&Compaction::default());
        assert!(released.bytes > (10 << 20) - 4_096, "{name}: {released:?}");
        assert_eq!(ledger.live_bytes(), pool.stats().reserved_bytes);
    }
}

/// The attack `vec0`.
#[test]
fn a_first_use_is_fresh_where_the_configuration_says_so() {
    for (name, fill) in FILLS {
        let (mut pool, ledger) = heap_pool_with(PoolConfig::new().fresh(true));
        pool.scope().acquire::<u8, _>(1_000);
        for pass in 0..3 {
            let allocations = ledger.allocations();
            fill(&pool.scope());
            assert!(ledger.allocations() > allocations, "{name}, pass {pass}");
        }
    }
}

/// The attack `iter0`.
#[test]
fn a_first_use_is_poisoned_as_far_as_it_has_room() {
    for capacity in [0, 4] {
        let (mut pool, _) = heap_pool_with(PoolConfig::new().poison(true));
        pool.scope().acquire_filled(64, 1_u8);
        {
            let scope = pool.scope();
            let mut vector = scope.acquire_vec::<u8>(capacity);
            vector.push(5);
            assert_eq!(vector.capacity(), 4);
        }
        pool.configure(PoolConfig::new()).unwrap();
        let left = pool.scope().acquire::<u8, _>(6);
        assert_eq!(left, [5, 0xFF, 0xFF, 0xFF, 1, 1], "capacity {capacity}");
    }
}

/// The attack `iter0`.
#[test]
fn a_first_use_counts_its_live_bytes_once() {
    let (mut pool, _) = heap_pool_with(PoolConfig::new().measure_live_bytes(true));
    for _ in 0..3 {
        let scope = pool.scope();
        let mut vector = scope.acquire_vec::<u8>(0);
        scope.acquire::<u8, _>(10);
        vector.reserve(100);
        assert_eq!((vector.capacity(), scope.stats().peak_live_bytes), (100, Some(110)));
    }
}

/// The slot is below the cursor: memory in use above it is neither freed nor handed out.
#[test]
fn a_first_use_without_memory_frees_only_what_is_idle() {
    for rest in 0..rounds(3, 1) {
        let (mut pool, ledger) = heap_pool();
        let taken = slots_per_table() - rest;
        {
            let scope = pool.scope();
            take(&scope, taken + 4, 20);
        }
        let scope = pool.scope();
        take(&scope, taken - 2, 1);
        let mut vector = scope.acquire_vec::<u64>(0);
        let above = scope.acquire::<u64, _>(20);
        stamp(above, 1);
        ledger.refuse(Refusal::From(0));
        let error = vector.try_reserve(1_000).unwrap_err();
        assert!(matches!(error, PoolError::OutOfMemory { .. }), "{error}");
        assert_eq!(
            ledger.live_blocks(),
            taken - 1,
            "the vector's block and the idle ones are freed"
        );
        assert_stamped(above, 1);
        ledger.refuse(Refusal::Once(0));
        let last = rounds(1_000, 200) as u64;
        vector.extend(0..last);
        assert!(vector.iter().copied().eq(0..last));
        assert_stamped(above, 1);
        let next = scope.acquire::<u64, _>(20);
        stamp(next, 2);
        assert_stamped(above, 1);
        assert!(vector.iter().copied().eq(0..last));
    }
}

/// A vector's first growth is that of an acquire: it leaves the large idle block of the next slot alone.
#[test]
fn a_first_use_leaves_the_blocks_of_other_slots_where_they_are() {
    let (mut pool, ledger) = heap_pool();
    let large = {
        let scope = pool.scope();
        scope.acquire::<u8, _>(0);
        address(scope.acquire::<u8, _>(1 << 16))
    };
    for _ in 0..3 {
        let scope = pool.scope();
        let mut vector = scope.acquire_vec::<u64>(0);
        vector.push(1);
        assert_ne!(address(&vector), large);
        assert_eq!(address(scope.acquire::<u8, _>(1 << 16)), large);
    }
    assert_eq!(ledger.allocations(), 2);
}
