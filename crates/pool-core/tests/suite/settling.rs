//! The calls of `settle`: only when memory is wanted back at once. Also, a view finds its pool's
//! context and its slot's block.

use pool_conformance::{HeapBackend, Ledger, Refusal};
use pool_core::{Compaction, DynamicPool, Pool, PoolView};

use crate::backends::{Arming, ArmingView};
use crate::support::{heap_pool, slots_per_table};

#[test]
fn backend_settles_after_trim_compact_and_clear() {
    let (mut pool, ledger) = heap_pool();
    pool.scope().acquire::<u64, _>(100);
    pool.scope().acquire::<u64, _>(1000);
    assert_eq!(ledger.settled(), 0, "growing frees, and nobody waits for it");
    pool.trim();
    assert_eq!(ledger.settled(), 1);
    pool.scope().trim();
    assert_eq!(ledger.settled(), 2, "also where nothing is idle: freeing may have begun before");
    pool.clear();
    assert_eq!(ledger.settled(), 3);

    pool.compact(&Compaction::default());
    assert_eq!(ledger.settled(), 3, "nothing was swapped");
    pool.scope().acquire::<u64, _>(1_000_000);
    pool.sample_lengths();
    pool.scope().acquire::<u64, _>(10);
    assert_eq!(pool.compact(&Compaction::default()).slots, 1);
    assert_eq!(ledger.settled(), 4);
    drop(pool);
    assert_eq!(ledger.settled(), 4, "the end of a pool waits for nothing");

    let ledger = Ledger::new();
    let mut dynamic = DynamicPool::<HeapBackend>::new(ledger.clone());
    dynamic.acquire::<u8>(1);
    dynamic.trim();
    assert_eq!(ledger.settled(), 1);
}

#[test]
fn backend_settles_before_the_last_try_of_an_allocation() {
    let (mut pool, ledger) = heap_pool();
    pool.scope().acquire::<u64, _>(100);
    assert_eq!(ledger.settled(), 0);
    ledger.refuse(Refusal::Once(0));
    assert!(pool.scope().try_acquire::<u64, _>(200).is_ok());
    assert_eq!(ledger.settled(), 1);
}

#[test]
fn backend_is_not_asked_in_steady_state() {
    let (mut pool, ledger) = heap_pool();
    for _ in 0..10 {
        let mut scope = pool.scope();
        scope.acquire::<u64, _>(100);
        scope.scope().acquire_zeroed::<u8, _>(7);
    }
    assert_eq!(ledger.settled(), 0);
}

#[test]
fn views_find_their_context_and_block() {
    let ledger = Ledger::new();
    let mut pool = Pool::<Arming>::new(ledger.clone());
    let scope = pool.scope();
    let count = slots_per_table() + 5;
    for number in 1..=count {
        let view: ArmingView<&mut [u64]> = scope.acquire(10);
        assert_eq!(view.context().live_blocks(), number);
        let start = view.as_ptr().addr();
        let (before, after) = view.into_split_at(4).unwrap();
        assert_eq!((before.block_address(), after.block_address()), (start, start));
    }
    let empty: ArmingView<&mut [u64]> = scope.acquire(0);
    assert_eq!(empty.context().live_blocks(), count);
}
