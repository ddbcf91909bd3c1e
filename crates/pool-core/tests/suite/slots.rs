//! The slots of acquires: zero lengths, the end of a table, the same addresses in every pass, and
//! the slots that trim leaves alone.

use pool_conformance::HeapBackend;
use pool_core::Pool;

use crate::counting::allocations_in;
use crate::support::{
    address, assert_stamped, further_tables, heap_pool, rounds, slots_per_table, stamp, take,
};

#[test]
fn zero_length_takes_slot_no_block() {
    let (mut pool, ledger) = heap_pool();
    let scope = pool.scope();
    let empty = scope.acquire::<u64, _>(0);
    assert_eq!((empty.len(), scope.active_slots(), ledger.allocations()), (0, 1, 0));
    assert_eq!(address(empty) % align_of::<u64>(), 0);
    scope.acquire_zeroed::<bool, _>(0);
    scope.acquire_filled(0, 1.0_f64);
    scope.acquire_from::<u16>(&[]);
    scope.acquire_with(0, |_| -> u32 { unreachable!("there is no element to make") });
    scope.acquire::<f32, _>([3, 0]);
    scope.acquire::<f32, _>(&[0, 3][..]);
    assert_eq!((scope.active_slots(), ledger.allocations()), (7, 0));
    assert_eq!(scope.stats().reserved_bytes, 0);

    let view = scope.acquire::<u64, _>(4);
    stamp(view, 1);
    assert_eq!((scope.active_slots(), ledger.allocations()), (8, 1));
    drop(scope);

    // The slots are the same ones, for all earlier lengths.
    let scope = pool.scope();
    for _ in 0..7 {
        scope.acquire::<u64, _>(0);
    }
    scope.acquire::<u64, _>(4);
    assert_eq!((scope.active_slots(), ledger.allocations()), (8, 1));
}

#[test]
fn zero_length_in_a_slot_with_a_block_keeps_it() {
    let (mut pool, ledger) = heap_pool();
    let with_block = address(pool.scope().acquire::<u64, _>(100));
    for _ in 0..3 {
        let scope = pool.scope();
        let empty = scope.acquire::<u64, _>(0);
        let next = scope.acquire::<u64, _>(5);
        stamp(next, 1);
        assert!(empty.is_empty());
        assert_ne!(address(next), with_block, "the empty view took the slot with the block");
    }
    assert_eq!(address(pool.scope().acquire::<u64, _>(100)), with_block);
    assert_eq!(ledger.allocations(), 2);
}

#[test]
fn zero_length_on_sentinel() {
    let per_table = slots_per_table();
    let (mut pool, ledger) = heap_pool();
    for round in 0..3 {
        let mut scope = pool.scope();
        for _ in 0..per_table {
            scope.acquire::<u64, _>(2);
        }
        let empty = scope.acquire::<u64, _>(0);
        assert!(empty.is_empty());
        assert_eq!(scope.active_slots(), per_table + 1, "round {round}");
        let view = scope.acquire::<u64, _>(2);
        stamp(view, 1);
        let inner = scope.scope();
        assert_eq!(inner.active_slots(), per_table + 2);
        stamp(inner.acquire(2), 2);
        assert_stamped(view, 1);
        assert_eq!(further_tables(&inner.stats()), 1);
    }
    assert_eq!(ledger.allocations(), per_table + 2);
}

#[test]
fn only_zero_lengths_fill_tables_without_a_block() {
    let per_table = slots_per_table();
    let (mut pool, ledger) = heap_pool();
    for _ in 0..2 {
        let scope = pool.scope();
        for taken in 0..4 * per_table {
            assert_eq!(scope.active_slots(), taken);
            scope.acquire::<u8, _>(0);
        }
        assert_eq!(further_tables(&scope.stats()), 3);
    }
    assert_eq!(ledger.allocations(), 0);
    assert_eq!(pool.trim().slots, 0);
}

#[test]
fn zst_any_length() {
    let (mut pool, ledger) = heap_pool();
    let most = isize::MAX as usize;
    // In the second pass the slots have a block, so that the compare serves them.
    for cold in [true, false] {
        let before = pool.stats().cold_acquires;
        let scope = pool.scope();
        for length in [0, 1, 7, most, most + 1, usize::MAX] {
            assert_eq!(scope.acquire::<(), _>(length).len(), length);
            assert_eq!(scope.try_acquire::<[u64; 0], _>(length).unwrap().len(), length);
            assert_eq!(scope.acquire_zeroed::<(), _>(length).len(), length);
            assert_eq!(scope.acquire_filled(length, ()).len(), length);
        }
        assert_eq!(scope.acquire_from(&[(); 9]).len(), 9);
        let mut made = 0;
        assert_eq!(scope.acquire_with(5, |_| made += 1).len(), 5);
        assert_eq!(made, 5, "also what has no size is made");
        assert_eq!(scope.acquire::<(), _>([most, 1]).shape(), [most, 1]);
        assert_eq!(scope.acquire::<(), _>(&[3, 1, 3][..]).len(), 9);
        assert!(scope.try_acquire::<(), _>([most + 1]).is_err());
        assert!(scope.try_acquire::<(), _>(&[most, 2][..]).is_err());
        assert_eq!(scope.active_slots(), 28);
        assert_eq!(scope.stats().cold_acquires - before, if cold { 28 } else { 0 });
        if cold {
            assert_eq!(ledger.allocations(), 0);
            drop(scope);
            take(&pool.scope(), 28, 1);
        }
    }
    assert_eq!(ledger.allocations(), 28);
}

#[test]
fn same_sequence_many_times_has_identical_addresses_and_allocates_nothing() {
    let (mut pool, ledger) = heap_pool();
    let pass = |pool: &mut Pool<HeapBackend>, addresses: &mut [usize; 6]| {
        let mut outer = pool.scope();
        let first = outer.acquire_zeroed::<f64, _>(100);
        let second = outer.acquire::<u8, _>(7);
        let mut inner = outer.scope();
        let third = inner.acquire::<f32, _>([3, 5]);
        let fourth = inner.acquire_filled(11, 2.5_f64);
        let fifth = address(inner.scope().acquire::<[u8; 3], _>(50));
        let sixth = inner.acquire::<u64, _>(&[2, 2, 2, 1, 1][..]);
        *addresses = [
            address(first),
            address(second),
            address(third.as_slice()),
            address(fourth),
            fifth,
            address(sixth.as_slice()),
        ];
    };
    let mut warm = [0; 6];
    pass(&mut pool, &mut warm);
    pass(&mut pool, &mut warm);
    let (blocks, cold) = (ledger.allocations(), pool.stats().cold_acquires);
    let mut again = [0; 6];
    let host = allocations_in(|| {
        for _ in 0..rounds(10_000, 20) {
            pass(&mut pool, &mut again);
            assert_eq!(again, warm);
        }
    });
    assert_eq!((host, ledger.allocations() - blocks), (0, 0));
    assert_eq!(pool.stats().cold_acquires, cold);
}

#[test]
fn trim_with_two_active_and_two_inactive_releases_exactly_two() {
    let (mut pool, ledger) = heap_pool();
    let mut outer = pool.scope();
    let first = outer.acquire::<u64, _>(10);
    stamp(first, 1);
    let mut inner = outer.scope();
    let second = inner.acquire::<u64, _>(20);
    stamp(second, 2);
    {
        let deeper = inner.scope();
        deeper.acquire::<u64, _>(30);
        deeper.acquire::<u64, _>(40);
    }
    let idle_bytes = ledger.live_bytes() - 128 - 192;
    let released = inner.trim();
    assert_eq!((released.slots, released.bytes), (2, idle_bytes));
    assert_eq!((ledger.live_blocks(), ledger.live_bytes()), (2, 128 + 192));
    assert_eq!(inner.stats().reserved_bytes, 128 + 192);
    assert_stamped(first, 1);
    assert_stamped(second, 2);

    let third = inner.acquire::<u64, _>(30);
    stamp(third, 3);
    assert_eq!(ledger.live_blocks(), 3);
    assert_eq!(inner.trim().slots, 0, "all three are in use");
    assert_stamped(first, 1);
    assert_stamped(second, 2);
    assert_stamped(third, 3);
    drop(inner);
    assert_eq!(pool.trim().slots, 3);
    assert_eq!(ledger.live_blocks(), 0);
}

#[test]
fn trim_in_a_sibling_leaves_outer_and_inner_views_alone() {
    let (mut pool, ledger) = heap_pool();
    let mut outer = pool.scope();
    let own = outer.acquire::<u64, _>(10);
    stamp(own, 1);
    {
        let inner = outer.scope();
        let (first, second) = (inner.acquire::<u64, _>(10), inner.acquire::<u64, _>(10));
        stamp(first, 2);
        stamp(second, 3);
        assert_eq!(inner.trim().slots, 0);
        assert_stamped(first, 2);
        assert_stamped(second, 3);
    }
    {
        let sibling = outer.scope();
        stamp(sibling.acquire(10), 4);
        assert_eq!(sibling.trim().slots, 1);
        assert_stamped(own, 1);
    }
    assert_eq!(outer.trim().slots, 1);
    assert_eq!(ledger.live_blocks(), 1);
    assert_stamped(own, 1);
}

#[test]
fn clear_frees_every_block_and_forgets_the_peaks() {
    let (mut pool, ledger) = heap_pool();
    {
        let scope = pool.scope();
        for length in 0..40 {
            scope.acquire::<u64, _>(length);
        }
    }
    let before = pool.stats();
    assert_eq!((before.high_water_slots, before.active_slots), (40, 0));
    assert_eq!(before.reserved_bytes, ledger.live_bytes());
    let released = pool.clear();
    assert_eq!((released.slots, released.bytes), (39, before.reserved_bytes));
    let after = pool.stats();
    assert_eq!(
        (after.high_water_slots, after.peak_reserved_bytes, after.reserved_bytes),
        (0, 0, 0)
    );
    assert_eq!(ledger.live_blocks(), 0);
    pool.scope().acquire::<u64, _>(1);
    assert_eq!((pool.stats().high_water_slots, pool.stats().peak_reserved_bytes), (1, 64));
}
