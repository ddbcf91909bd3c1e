//! Slots that a view armed: the backend orders the block before it is reused or freed, an armed
//! slot is not taken for the end of its table, and a refusal is a typed error or a leak.

use std::mem;

use pool_conformance::{Ledger, RefusalError};
use pool_core::{Compaction, DynamicPool, Pool, PoolConfig, PoolError, Reuse};

use crate::backends::{Arming, ArmingView};
use crate::support::{address, assert_stamped, further_tables, rounds, slots_per_table, stamp};

fn arming_pool() -> (Pool<Arming>, Ledger) {
    let ledger = Ledger::new();
    (Pool::new(ledger.clone()), ledger)
}

type View<'s> = ArmingView<&'s mut [u64]>;

#[test]
fn arm_live_and_idle_slots() {
    let (mut pool, ledger) = arming_pool();
    let addresses = {
        let mut outer = pool.scope();
        let mut armed: View<'_> = outer.acquire(4);
        let mut plain: View<'_> = outer.acquire(4);
        stamp(&mut armed, 1);
        stamp(&mut plain, 2);
        armed.arm();
        armed.arm();
        assert_stamped(&armed, 1);
        {
            let inner = outer.scope();
            let mut of_inner: View<'_> = inner.acquire(4);
            stamp(&mut of_inner, 3);
            of_inner.arm();
            // Nothing may depend on a view being dropped.
            mem::forget(of_inner);
        }
        assert_eq!(ledger.reuses(), [], "all of them are in use, or not yet asked for");
        let mut third: View<'_> = outer.acquire(4);
        assert_eq!(ledger.reuses(), [Reuse::HandOut], "the idle one is ordered when it is reused");
        stamp(&mut third, 4);
        assert_stamped(&armed, 1);
        assert_stamped(&plain, 2);
        assert_stamped(&third, 4);
        [address(&armed), address(&plain), address(&third)]
    };

    for cold in [1, 0, 0] {
        let before = pool.stats().cold_acquires;
        let scope = pool.scope();
        let again = [0, 1, 2].map(|_| address(&scope.acquire::<u64, _>(4)));
        assert_eq!(again, addresses);
        assert_eq!(scope.stats().cold_acquires - before, cold, "only the armed one, and once");
        assert_eq!(ledger.reuses(), [Reuse::HandOut; 2], "then the slot is as any other");
    }
    assert_eq!(ledger.allocations(), 3);
}

#[test]
fn armed_block_freed_with_real_bytes() {
    // The ledger panics if a block is freed with other bytes than it was allocated with.
    let (mut pool, ledger) = arming_pool();
    let lengths = [1, 100, 1000];
    let arm_all = |pool: &mut Pool<Arming>| {
        let scope = pool.scope();
        for length in lengths {
            scope.acquire::<u64, _>(length).arm();
        }
    };
    arm_all(&mut pool);
    let bytes = ledger.live_bytes();
    let released = pool.trim();
    assert_eq!((released.slots, released.bytes), (3, bytes));
    assert_eq!((ledger.live_blocks(), pool.stats().reserved_bytes), (0, 0));
    assert_eq!(ledger.reuses(), [Reuse::Free; 3]);

    // By growth.
    arm_all(&mut pool);
    let view: View<'_> = pool.scope().acquire(1001);
    assert_eq!((view.len(), ledger.live_blocks()), (1001, 3));
    assert_eq!(ledger.reuses()[3..], [Reuse::Free]);

    // By `compact`.
    pool.sample_lengths();
    pool.scope().acquire::<u64, _>(1).arm();
    let compaction = Compaction { minimum_bytes: 1, ..Compaction::default() };
    assert_eq!(pool.compact(&compaction).slots, 1);
    assert_eq!(ledger.reuses()[4..], [Reuse::Free]);

    // By the end of the pool.
    arm_all(&mut pool);
    let asked_before = ledger.reuses().len();
    drop(pool);
    assert_eq!((ledger.live_blocks(), ledger.live_bytes()), (0, 0));
    assert_eq!(ledger.reuses()[asked_before..], [Reuse::Free; 3]);
}

#[test]
fn blocks_armed_by_the_pool_itself_are_freed_with_real_bytes() {
    for config in [PoolConfig::new().poison(true), PoolConfig::new().fresh(true), PoolConfig::new()]
    {
        let ledger = Ledger::new();
        let mut pool = Pool::<Arming>::with_config(ledger.clone(), config).unwrap();
        for _ in 0..2 {
            let scope = pool.scope();
            scope.acquire::<u64, _>(3);
            scope.acquire::<u64, _>(300);
        }
        pool.sample_lengths();
        assert_eq!(pool.stats().reserved_bytes, ledger.live_bytes());
        let bytes = ledger.live_bytes();
        assert_eq!(pool.trim().bytes, bytes);
        pool.scope().acquire::<u64, _>(3);
        drop(pool);
        assert_eq!(ledger.live_blocks(), 0);
        assert_eq!(ledger.reuses(), [], "no view armed anything");
    }
}

#[test]
fn armed_slot_is_not_the_sentinel() {
    let per_table = slots_per_table();
    let (mut pool, ledger) = arming_pool();
    let count = per_table + 3;
    let passes = rounds(4, 2);
    let mut warm = Vec::new();
    for pass in 0..passes {
        let mut scope = pool.scope();
        let views: Vec<View<'_>> = (0..count)
            .map(|taken| {
                assert_eq!(scope.active_slots(), taken, "pass {pass}");
                scope.acquire(2)
            })
            .collect();
        views.iter().for_each(ArmingView::arm);
        let addresses: Vec<_> = views.iter().map(|view| address(view)).collect();
        if pass == 0 {
            warm = addresses;
        } else {
            assert_eq!(addresses, warm);
        }
        assert_eq!(scope.stats().active_slots, count);
        let inner = scope.scope();
        assert_eq!(inner.active_slots(), count);
        assert_eq!(further_tables(&inner.stats()), 1);
    }
    assert_eq!(ledger.allocations(), count);
    assert_eq!(ledger.reuses(), vec![Reuse::HandOut; (passes - 1) * count]);
    // An empty view in an armed slot neither calls the backend nor steps too far.
    let scope = pool.scope();
    (0..count).for_each(|_| assert!(scope.acquire::<u64, _>(0).is_empty()));
    assert_eq!(scope.active_slots(), count);
    assert_eq!(ledger.reuses().len(), (passes - 1) * count);
}

#[test]
fn trim_with_armed_slots() {
    let (mut pool, ledger) = arming_pool();
    let mut outer = pool.scope();
    let mut held: View<'_> = outer.acquire(4);
    stamp(&mut held, 1);
    held.arm();
    {
        let inner = outer.scope();
        inner.acquire::<u64, _>(4).arm();
        inner.acquire::<u64, _>(4);
        inner.acquire::<u64, _>(4).arm();
    }
    let released = outer.trim();
    assert_eq!(released.slots, 3);
    assert_eq!(ledger.reuses(), [Reuse::Free; 2]);
    assert_eq!(ledger.live_blocks(), 1);
    assert_stamped(&held, 1);
    // A trimmed slot starts again, without a duty.
    outer.acquire::<u64, _>(4);
    outer.acquire::<u64, _>(4);
    assert_eq!(ledger.reuses().len(), 2);
    drop(outer);
    // The held one kept its duty over the trim.
    pool.scope().acquire::<u64, _>(4);
    assert_eq!(ledger.reuses()[2..], [Reuse::HandOut]);
}

#[test]
fn arming_an_empty_view_never_asks_for_a_block_that_is_not_there() {
    let (mut pool, ledger) = arming_pool();
    pool.scope().acquire::<u64, _>(0).arm();
    pool.scope().acquire::<(), _>(5).arm();
    assert_eq!(pool.trim().slots, 0);
    pool.scope().acquire::<u64, _>(0).arm();
    let mut view: View<'_> = pool.scope().acquire(4);
    stamp(&mut view, 1);
    assert_stamped(&view, 1);
    pool.scope().acquire::<u64, _>(4);
    assert_eq!(ledger.reuses(), []);
}

#[test]
fn split_views_arm_the_same_slot() {
    use pool_core::PoolView;
    let (mut pool, ledger) = arming_pool();
    {
        let view: View<'_> = pool.scope().acquire(6);
        let (front, back) = view.into_split_at(2).unwrap();
        assert_eq!((front.len(), back.len()), (2, 4));
        back.arm();
    }
    pool.scope().acquire::<u64, _>(6);
    assert_eq!(ledger.reuses(), [Reuse::HandOut]);
}

#[test]
fn refused_reuse_on_hand_out_is_a_typed_error() {
    let (mut pool, ledger) = arming_pool();
    let mut outer = pool.scope();
    let mut held: View<'_> = outer.acquire(4);
    stamp(&mut held, 1);
    let warm = {
        let inner = outer.scope();
        let view = inner.acquire::<u64, _>(4);
        view.arm();
        address(&view)
    };
    ledger.refuse_reuse(true);
    let inner = outer.scope();
    let expected = PoolError::Backend {
        operation: "order a block after its last use",
        source: RefusalError { bytes: 0 },
    };
    for _ in 0..2 {
        assert_eq!(inner.try_acquire::<u64, _>(4).unwrap_err(), expected);
        assert_eq!(inner.try_acquire_zeroed::<u64, _>(4).unwrap_err(), expected);
        assert_eq!(inner.active_slots(), 1, "nothing was handed out");
    }
    assert_eq!(ledger.reuses(), [Reuse::HandOut; 4]);
    assert!(inner.acquire::<u64, _>(0).is_empty(), "the pool is usable");
    assert_stamped(&held, 1);

    ledger.refuse_reuse(false);
    drop(inner);
    let mut again: View<'_> = outer.acquire(4);
    assert_eq!(address(&again), warm);
    stamp(&mut again, 2);
    assert_stamped(&held, 1);
    assert_eq!(ledger.reuses().len(), 5);
    assert_eq!(ledger.allocations(), 2);
}

#[test]
fn refused_reuse_on_free_leaks_and_counts() {
    let (mut pool, ledger) = arming_pool();
    {
        let scope = pool.scope();
        scope.acquire::<u64, _>(127).arm();
        scope.acquire::<u64, _>(255);
        scope.acquire::<u64, _>(511).arm();
    }
    ledger.refuse_reuse(true);
    pool.trim();
    assert_eq!(ledger.reuses(), [Reuse::Free; 2]);
    let stats = pool.stats();
    assert_eq!((stats.leaked_bytes, stats.reserved_bytes), (1024 + 4096, 0));
    assert_eq!((ledger.live_blocks(), ledger.live_bytes()), (2, 1024 + 4096));
    assert!(stats.to_string().contains("leaked                  5.0 KiB"), "{stats}");

    // The pool continues with blocks of its own, and never touches the lost ones.
    let scope = pool.scope();
    let mut views: Vec<View<'_>> = (0..3).map(|_| scope.acquire(127)).collect();
    views.iter_mut().zip(1..).for_each(|(view, owner)| stamp(view, owner));
    views.iter().zip(1..).for_each(|(view, owner)| assert_stamped(view, owner));
    assert_eq!(scope.stats().leaked_bytes, 1024 + 4096);
    drop(pool);
    assert_eq!(ledger.live_blocks(), 2);
    ledger.free_leaked();
}

#[test]
fn refused_reuse_during_growth_leaks_the_old_block_alone() {
    let (mut pool, ledger) = arming_pool();
    pool.scope().acquire::<u64, _>(127).arm();
    ledger.refuse_reuse(true);
    let mut view: View<'_> = pool.scope().acquire(1000);
    stamp(&mut view, 1);
    assert_stamped(&view, 1);
    assert_eq!(ledger.reuses(), [Reuse::Free]);
    assert_eq!((pool.stats().leaked_bytes, ledger.live_blocks()), (1024, 2));
    pool.scope().acquire::<u64, _>(1000);
    assert_eq!(ledger.reuses().len(), 1, "the new block was armed by nobody");
    drop(pool);
    assert_eq!((ledger.live_blocks(), ledger.live_bytes()), (1, 1024));
    ledger.free_leaked();
}

#[test]
fn dynamic_views_arm_their_slot_shared_or_exclusive() {
    let ledger = Ledger::new();
    let mut pool = DynamicPool::<Arming>::new(ledger.clone());
    let (first, second) = (pool.acquire_filled(4, 1_u64), pool.acquire_filled(4, 2_u64));
    pool.get(first).unwrap().arm();
    pool.get_mut(second).unwrap().arm();
    pool.get(first).unwrap().arm();
    assert_eq!(pool.get(first).unwrap()[..], [1; 4], "looking does not ask");
    {
        let (mut handles, scope) = pool.split();
        handles.get_mut(first).unwrap().arm();
        scope.acquire::<u64, _>(4).arm();
    }
    assert_eq!(ledger.reuses(), []);
    pool.reset();
    assert_eq!(ledger.reuses(), []);
    for _ in 0..3 {
        pool.acquire::<u64>(4);
    }
    assert_eq!(ledger.reuses(), [Reuse::HandOut; 3]);
}

#[test]
fn armed_and_poisoned_is_ordered_before_it_is_overwritten() {
    let ledger = Ledger::new();
    let mut pool =
        Pool::<Arming>::with_config(ledger.clone(), PoolConfig::new().poison(true)).unwrap();
    {
        let mut view: View<'_> = pool.scope().acquire(4);
        stamp(&mut view, 1);
        view.arm();
    }
    ledger.refuse_reuse(true);
    assert!(pool.scope().try_acquire::<u64, _>(4).is_err());
    ledger.refuse_reuse(false);
    let mut pool_without = pool;
    pool_without.configure(PoolConfig::new()).unwrap();
    let view: View<'_> = pool_without.scope().acquire(4);
    assert_stamped(&view, 1);
    assert_eq!(ledger.reuses(), [Reuse::HandOut; 2], "still armed after the refusal");
}

#[test]
fn a_block_that_moves_to_another_slot_takes_its_arming_along() {
    let (mut pool, ledger) = arming_pool();
    {
        let mut scope = pool.scope();
        let kept = scope.keep(|inner| {
            let armed: View<'_> = inner.acquire(100);
            armed.arm();
            inner.acquire_with(2, |i| i as u64 + 1)
        });
        // The slots of the two have exchanged their blocks.
        assert_eq!((&*kept, ledger.reuses()), (&[1, 2][..], vec![]));
        scope.acquire::<u64, _>(100);
        assert_eq!(ledger.reuses(), [Reuse::HandOut], "the armed block is handed out again");
    }
    {
        let scope = pool.scope();
        scope.acquire::<u64, _>(2);
        assert_eq!(ledger.reuses(), [Reuse::HandOut], "what was kept was never armed");
        scope.acquire::<u64, _>(100).arm();
    }
    let scope = pool.scope();
    let mut vector = scope.acquire_vec(2);
    vector.extend([3_u64; 20]);
    assert_eq!(ledger.reuses(), [Reuse::HandOut; 2], "the vector took the next slot's block");
    scope.acquire::<u64, _>(2);
    assert_eq!(ledger.reuses(), [Reuse::HandOut; 2], "and left one that is not armed");
}
