//! Ownership of a pool: the order in which its parts end, moves, and a context that lives until the
//! last block is freed.

use std::mem::ManuallyDrop;

use pool_core::{DynamicPool, PoolConfig, PoolError};

use crate::backends::{Event, Logged, logged_pool, take_events};
use crate::support::{heap_pool, heap_pool_with, is_send, slots_per_table, stamp};

#[test]
fn backend_drop_order_blocks_then_context() {
    let (mut pool, _) = logged_pool(PoolConfig::new());
    {
        let scope = pool.scope();
        scope.acquire::<u64, _>(3);
        scope.acquire::<u64, _>(&[2, 3][..]);
        scope.acquire::<u64, _>(0);
        for _ in 0..slots_per_table() {
            scope.acquire::<u64, _>(5);
        }
    }
    let allocated = take_events().len();
    assert_eq!(allocated, 2 + slots_per_table());
    drop(pool);
    let events = take_events();
    let (last, before) = events.split_last().unwrap();
    assert_eq!(*last, Event::ContextDropped);
    let freed = before.iter().filter(|event| matches!(event, Event::FreeCalled { .. })).count();
    assert_eq!(freed, allocated, "every block, once");
    let descriptors = before.iter().filter(|&&event| event == Event::DescriptorDropped).count();
    assert_eq!(descriptors, 1);
    assert_eq!(before.len(), freed + descriptors);
    let descriptor = before.iter().position(|&event| event == Event::DescriptorDropped);
    assert_eq!(descriptor, Some(1), "after the first block and before that of its own slot");
}

#[test]
fn dynamic_pool_drops_in_the_same_order() {
    let (pool, switches) = logged_pool(PoolConfig::new());
    drop((pool, switches));
    assert_eq!(take_events(), [Event::ContextDropped], "an unused pool has only its context");
    assert!(!is_send!(DynamicPool<Logged>));
}

#[test]
fn refused_configuration_drops_the_context() {
    let (pool, ledger) = heap_pool();
    let refused = pool_core::Pool::<pool_conformance::HeapBackend>::with_config(
        ledger,
        PoolConfig::new().ways(0),
    );
    assert!(matches!(refused, Err(PoolError::Config(_))));
    drop(pool);
}

#[test]
fn moved_and_swapped_pools_keep_their_slots() {
    let (mut first, first_ledger) = heap_pool_with(PoolConfig::new().name("first"));
    let (mut second, second_ledger) = heap_pool_with(PoolConfig::new().name("second"));
    stamp(first.scope().acquire(10), 1);
    stamp(second.scope().acquire(20), 2);
    std::mem::swap(&mut first, &mut second);
    assert_eq!((first.stats().name, second.stats().name), ("second", "first"));
    let mut boxed = Box::new(first);
    stamp(boxed.scope().acquire(20), 3);
    let mut pools = vec![second, *boxed];
    pools.reverse();
    for pool in &mut pools {
        stamp(pool.scope().acquire(10), 4);
    }
    assert_eq!((first_ledger.allocations(), second_ledger.allocations()), (1, 1));
    drop(pools);
    assert_eq!((first_ledger.live_blocks(), second_ledger.live_blocks()), (0, 0));
}

#[test]
fn context_is_seen_from_pool_and_scope() {
    let (mut pool, ledger) = heap_pool();
    assert_eq!(pool.context().allocations(), 0);
    let scope = pool.scope();
    scope.acquire::<u64, _>(1);
    assert_eq!(scope.context().allocations(), 1);
    assert_eq!(ledger.allocations(), 1);
}

#[test]
fn a_forgotten_pool_leaks_only_itself() {
    let (mut pool, ledger) = heap_pool();
    stamp(pool.scope().acquire(10), 1);
    let (other, other_ledger) = heap_pool();
    let mut forgotten = ManuallyDrop::new(pool);
    drop(other);
    assert_eq!((ledger.live_blocks(), other_ledger.live_blocks()), (1, 0));
    stamp(forgotten.scope().acquire(10), 2);
    assert_eq!(ledger.allocations(), 1);
    // Not permanently, so that a leak checker reports nothing.
    drop(ManuallyDrop::into_inner(forgotten));
    assert_eq!(ledger.live_blocks(), 0);
}
