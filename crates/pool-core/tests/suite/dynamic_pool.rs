//! The dynamic pool: the acquire family by handles, checkpoints as a stack with a root, and a lexical
//! scope above the handles.

use pool_conformance::Refusal;
use pool_core::{Compaction, PoolConfig, PoolError};

use crate::support::{
    address, assert_stamped, dynamic_heap_pool, panic_text, rounds, slots_per_table, stamp,
};

#[test]
fn acquire_family_by_handles() {
    let (mut pool, ledger) = dynamic_heap_pool();
    let recycled = pool.acquire::<u64>(3);
    pool.get_mut(recycled).unwrap().fill(9);
    let zeroed = pool.acquire_zeroed::<f64>(2);
    let filled = pool.acquire_filled(4, true);
    let copied = pool.acquire_from(&[1_u8, 2, 3]);
    let long = pool.acquire::<i32>(5);
    let empty = pool.acquire::<u64>(0);
    assert_eq!(pool.active_slots(), 6);
    assert_eq!(pool.get(recycled).unwrap(), [9; 3]);
    assert_eq!(pool.get(zeroed).unwrap(), [0.0; 2]);
    assert_eq!(pool.get(filled).unwrap(), [true; 4]);
    assert_eq!(pool.get(copied).unwrap(), [1, 2, 3]);
    assert_eq!(pool.get(long).unwrap().len(), 5);
    assert!(pool.get(empty).unwrap().is_empty());
    assert_eq!(ledger.allocations(), 5);

    let twins = [
        pool.try_acquire::<u64>(3).unwrap(),
        pool.try_acquire_zeroed(3).unwrap(),
        pool.try_acquire_filled(3, 4).unwrap(),
        pool.try_acquire_from(&[5, 5, 5]).unwrap(),
    ];
    let [_, zeroed, filled, copied] = twins;
    assert!(twins.iter().all(|&handle| pool.get(handle).unwrap().len() == 3));
    assert_eq!(pool.get(zeroed).unwrap(), [0; 3]);
    assert_eq!(pool.get(filled).unwrap(), [4; 3]);
    assert_eq!(pool.get(copied).unwrap(), [5; 3]);
}

#[test]
fn refusals_are_typed_and_take_nothing() {
    let (mut pool, ledger) = dynamic_heap_pool();
    let held = pool.acquire_filled(3, 5_u64);
    let error = pool.try_acquire::<u64>(usize::MAX).unwrap_err();
    assert_eq!(error, PoolError::SizeOverflow { elements: usize::MAX, element_size: 8 });
    assert_eq!(panic_text(|| pool.acquire::<u64>(usize::MAX)), error.to_string());
    ledger.refuse(Refusal::From(0));
    assert!(pool.try_acquire_zeroed::<u64>(100).is_err());
    assert!(pool.try_acquire_filled(100, 1_u64).is_err());
    assert!(pool.try_acquire_from(&[1_u64; 100]).is_err());
    assert!(pool.try_acquire::<u64>(100).is_err());
    assert_eq!(pool.active_slots(), 1);
    ledger.refuse(Refusal::Never);
    let next = pool.acquire_filled(100, 6_u64);
    assert_eq!(pool.get(held).unwrap(), [5; 3]);
    assert_eq!(pool.get(next).unwrap(), [6; 100]);
}

#[test]
fn checkpoints_count_one_two_three_two_one_zero() {
    let (mut pool, _) = dynamic_heap_pool();
    assert_eq!(pool.depth(), 0);
    for depth in 1..=3 {
        pool.acquire::<u64>(1);
        assert_eq!(pool.checkpoint(), depth);
        assert_eq!((pool.depth(), pool.active_slots()), (depth, depth));
    }
    pool.acquire::<u64>(1);
    for depth in [2, 1, 0] {
        pool.rewind();
        assert_eq!((pool.depth(), pool.active_slots()), (depth, depth + 1));
    }
    pool.rewind();
    assert_eq!((pool.depth(), pool.active_slots()), (0, 0), "the root's own checkpoint is 0");
}

#[test]
fn rewind_at_root_is_a_reset_and_repeatable() {
    let (mut pool, ledger) = dynamic_heap_pool();
    for _ in 0..3 {
        let handle = pool.acquire_filled(4, 1_u64);
        for _ in 0..4 {
            pool.rewind();
            assert_eq!((pool.depth(), pool.active_slots()), (0, 0));
        }
        assert!(matches!(pool.get(handle), Err(PoolError::StaleHandle { slot: 0, active: 0 })));
        // The sentinel is intact: checkpoints work as in a new pool.
        assert_eq!(pool.checkpoint(), 1);
        pool.rewind();
        pool.rewind_to(0).unwrap();
    }
    assert_eq!(ledger.allocations(), 1, "the blocks stay");
}

#[test]
fn rewind_to_a_depth_forgets_all_from_there() {
    let (mut pool, _) = dynamic_heap_pool();
    let handles: Vec<_> = (1..=5)
        .map(|depth| {
            let handle = pool.acquire_filled(2, depth);
            assert_eq!(pool.checkpoint(), depth);
            handle
        })
        .collect();
    pool.acquire::<u64>(1);
    pool.rewind_to(3).unwrap();
    assert_eq!((pool.depth(), pool.active_slots()), (2, 3));
    for (index, &handle) in handles.iter().enumerate() {
        assert_eq!(pool.get(handle).is_ok(), index < 3, "{index}");
    }
    pool.rewind_to(2).unwrap();
    assert_eq!((pool.depth(), pool.active_slots()), (1, 2));
    pool.rewind_to(0).unwrap();
    assert_eq!((pool.depth(), pool.active_slots()), (0, 0));
}

#[test]
fn rewind_to_above_top() {
    let (mut pool, _) = dynamic_heap_pool();
    let handle = pool.acquire_filled(2, 1_u64);
    pool.checkpoint();
    let above = pool.acquire_filled(2, 2_u64);
    for asked in [2, 3, usize::MAX] {
        let error = pool.rewind_to(asked).unwrap_err();
        assert_eq!(error, PoolError::NoSuchCheckpoint { asked, top: 1 });
        assert_eq!((pool.depth(), pool.active_slots()), (1, 2), "nothing was changed");
    }
    assert_eq!(pool.get(handle).unwrap(), [1; 2]);
    assert_eq!(pool.get(above).unwrap(), [2; 2]);
    pool.rewind_to(1).unwrap();
    let error = pool.rewind_to(1).unwrap_err();
    assert_eq!(error, PoolError::NoSuchCheckpoint { asked: 1, top: 0 });
}

#[test]
fn rewind_never_raises_the_count() {
    let (mut pool, _) = dynamic_heap_pool();
    for _ in 0..5 {
        pool.acquire::<u64>(1);
    }
    pool.checkpoint();
    pool.reset();
    pool.acquire::<u64>(1);
    pool.rewind();
    assert_eq!(pool.active_slots(), 0);
    pool.acquire::<u64>(1);
    assert_eq!(pool.checkpoint(), 1, "reset cut the stack to the root");
    assert_eq!(pool.active_slots(), 1);
}

#[test]
fn checkpoints_at_the_ends_of_tables() {
    let per_table = slots_per_table();
    let (mut pool, _) = dynamic_heap_pool();
    for boundary in [per_table, 2 * per_table, 3 * per_table].into_iter().take(rounds(3, 1)) {
        while pool.active_slots() < boundary {
            pool.acquire::<u64>(1);
        }
        let depth = pool.checkpoint();
        for _ in 0..2 {
            let last = pool.acquire_filled(2, 5_u64);
            assert_eq!(pool.active_slots(), boundary + 1);
            pool.rewind_to(depth).unwrap();
            assert_eq!((pool.active_slots(), pool.get(last).is_ok()), (boundary, false));
            assert_eq!(pool.checkpoint(), depth);
            assert_eq!(pool.trim().slots, 1);
            pool.scope().acquire::<u64, _>(1);
        }
    }
    pool.reset();
    assert_eq!(pool.active_slots(), 0);
}

#[test]
fn dyn_split_handles_beside_scope() {
    let above = rounds(2, 1) * slots_per_table();
    let (mut pool, _) = dynamic_heap_pool();
    let first = pool.acquire_filled(4, 1_u64);
    let second = pool.acquire_filled(4, 2_u64);
    let depth = pool.checkpoint();
    for _ in 0..2 {
        let (mut handles, mut scope) = pool.split();
        assert_eq!(scope.active_slots(), 2);
        let scratch = scope.acquire_from(handles.get(first).unwrap());
        handles.get_mut(second).unwrap()[0] = 20;
        scratch[1] = 11;
        {
            let inner = scope.scope();
            let [first_view, second_view] = handles.get_disjoint_mut([first, second]).unwrap();
            // The tables of the scope grow while views of the handles are in use.
            for _ in 0..above {
                stamp(inner.acquire(4), 7);
            }
            inner.trim();
            first_view[3] = second_view[0];
            assert_eq!(inner.active_slots(), 3 + above);
        }
        assert_eq!(scratch, [1, 11, 1, 1]);
        assert_eq!(handles.get(first).unwrap(), [1, 1, 1, 20]);
        handles.get_mut(first).unwrap()[3] = 1;
        assert_eq!(handles.get(second).unwrap(), [20, 2, 2, 2]);
        scope.trim();
        assert_eq!(scratch, [1, 11, 1, 1]);
    }
    assert_eq!((pool.active_slots(), pool.depth()), (2, depth));
    assert_eq!(pool.get(first).unwrap(), [1; 4]);
}

#[test]
fn split_handles_beside_scope() {
    // With the scope forgotten, and with the cursor at the end of a table.
    let per_table = slots_per_table();
    let (mut pool, _) = dynamic_heap_pool();
    let handles: Vec<_> =
        (0..per_table as u64).map(|value| pool.acquire_filled(2, value)).collect();
    for _ in 0..3 {
        let (mut below, above) = pool.split();
        let scratch = above.acquire::<u64, _>(2);
        scratch.fill(99);
        let [first, last] = below.get_disjoint_mut([handles[0], handles[per_table - 1]]).unwrap();
        assert_eq!((first[0], last[0]), (0, per_table as u64 - 1));
        assert_eq!(above.active_slots(), per_table + 1);
        std::mem::forget(above);
        assert_eq!(scratch, [99; 2]);
    }
    assert_eq!(pool.active_slots(), per_table);
    for (value, &handle) in (0..).zip(&handles) {
        assert_eq!(pool.get(handle).unwrap(), [value; 2]);
    }
}

#[test]
fn split_handles_may_be_swapped_across_pools() {
    let (mut here, _) = dynamic_heap_pool();
    let (mut there, _) = dynamic_heap_pool();
    let of_here = here.acquire_filled(2, 1_u64);
    let of_there = there.acquire_filled(2, 2_u64);
    let (mut first, first_scope) = here.split();
    let (mut second, second_scope) = there.split();
    std::mem::swap(&mut first, &mut second);
    assert!(matches!(first.get(of_here), Err(PoolError::ForeignHandle { .. })));
    first.get_mut(of_there).unwrap()[0] = 20;
    second.get_mut(of_here).unwrap()[0] = 10;
    stamp(first_scope.acquire(2), 3);
    stamp(second_scope.acquire(2), 4);
    assert_eq!(here.get(of_here).unwrap(), [10, 1]);
    assert_eq!(there.get(of_there).unwrap(), [20, 2]);
}

#[test]
fn scope_of_a_dynamic_pool_is_above_what_is_handed_out() {
    let (mut pool, _) = dynamic_heap_pool();
    let handle = pool.acquire::<u64>(4);
    stamp(pool.get_mut(handle).unwrap(), 1);
    let scratch = {
        let scope = pool.scope();
        let view = scope.acquire::<u64, _>(4);
        stamp(view, 2);
        assert_eq!(scope.active_slots(), 2);
        address(view)
    };
    assert_stamped(pool.get(handle).unwrap(), 1);
    let next = pool.acquire::<u64>(4);
    assert_eq!(address(pool.get(next).unwrap()), scratch, "the scope's slot is free again");
    assert_eq!(pool.active_slots(), 2);
}

#[test]
fn trim_clear_compact_and_configure() {
    let (mut pool, ledger) = dynamic_heap_pool();
    let handle = pool.acquire_filled(127, 1_u64);
    pool.checkpoint();
    pool.acquire::<f64>(1_000_000);
    pool.rewind();
    pool.sample_lengths();
    pool.scope().acquire::<f64, _>(150);
    assert_eq!(pool.compact(&Compaction::default()).slots, 1);
    assert_eq!(ledger.live_bytes(), 1024 + 1856);
    let released = pool.trim();
    assert_eq!((released.slots, released.bytes), (1, 1856));
    assert_eq!(pool.get(handle).unwrap(), [1; 127]);

    let config = PoolConfig::new().name("tape").byte_limit(2048);
    pool.configure(config).unwrap();
    assert_eq!((pool.config(), pool.stats().name), (config, "tape"));
    assert!(matches!(pool.try_acquire::<u64>(200), Err(PoolError::LimitExceeded { .. })));
    assert!(pool.configure(PoolConfig::new().ways(0)).is_err());
    assert_eq!(pool.config(), config, "the old one stays");

    let stats = pool.stats();
    assert_eq!((stats.active_slots, stats.high_water_slots), (1, 2));
    pool.checkpoint();
    assert_eq!(pool.clear().slots, 1);
    assert_eq!((pool.depth(), pool.active_slots(), ledger.live_blocks()), (0, 0, 0));
    assert_eq!(pool.stats().high_water_slots, 0);
    assert!(pool.get(handle).is_err());
    assert_eq!(pool.context().live_blocks(), 0);
}

#[test]
fn moved_pools_keep_their_arrays() {
    let (mut pool, _) = dynamic_heap_pool();
    let handle = pool.acquire_filled(4, 5_u64);
    pool.checkpoint();
    let mut boxed = Box::new(pool);
    let second = boxed.acquire_filled(4, 6_u64);
    let mut pool = *boxed;
    let (mut other, _) = dynamic_heap_pool();
    std::mem::swap(&mut pool, &mut other);
    assert_eq!(other.get(handle).unwrap(), [5; 4]);
    assert_eq!(other.get(second).unwrap(), [6; 4]);
    assert!(pool.get(handle).is_err());
    other.rewind();
    assert!(other.get(second).is_err());
}

#[test]
fn thousands_of_unmanaged_acquires_then_reset() {
    let count = rounds(1000, 40);
    let (mut pool, ledger) = dynamic_heap_pool();
    let mut oldest = None;
    for _ in 0..3 {
        for value in 0..count {
            let handle = pool.acquire_filled(1, value);
            oldest.get_or_insert(handle);
            assert_eq!(pool.get(handle).unwrap(), [value]);
        }
        pool.reset();
    }
    assert_eq!((ledger.allocations(), pool.stats().high_water_slots), (count, count));
    assert!(pool.get(oldest.unwrap()).is_err());
}

#[test]
fn debug_shows_the_stack_and_the_numbers() {
    let (mut pool, _) = dynamic_heap_pool();
    pool.acquire::<u64>(1);
    pool.checkpoint();
    let text = format!("{pool:?}");
    assert!(text.starts_with("DynamicPool { checkpoints: [0, 1], stats: PoolStats"), "{text}");
    let (handles, scope) = pool.split();
    assert_eq!(format!("{handles:?}"), "Handles { active: 1, .. }");
    assert_eq!(format!("{scope:?}"), "Scope { active_slots: 1, .. }");
}
