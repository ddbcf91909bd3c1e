//! The modes that find mistakes: poison exposes reads before writes, fresh blocks expose pointers
//! that outlived their scope. Both arm every slot, and end when the configuration turns them off.

use pool_core::PoolConfig;

use super::Heap;
use crate::support::{
    HasSlots, address, assert_active, dynamic_pool_of, pool_of, pool_with, rounds, slots_per_table,
};

#[test]
fn poison_nan_every_acquire() {
    let (mut pool, ledger) = pool_with::<Heap>(PoolConfig::new().poison(true));
    for round in 0..rounds(100, 10) {
        let mut scope = pool.scope();
        let doubles = scope.acquire::<f64, _>(5);
        assert!(doubles.iter().all(|double| double.is_nan()), "round {round}");
        doubles.fill(1.0);
        let singles = scope.acquire::<f32, _>(3);
        assert!(singles.iter().all(|single| single.is_nan()), "round {round}");
        singles.fill(1.0);
        let mut array = scope.acquire::<f64, _>([2, 2]);
        assert!(array.as_slice().iter().all(|double| double.is_nan()), "round {round}");
        array.as_mut_slice().fill(1.0);
        let mut dynamic = scope.acquire::<f32, _>(&[2, 1, 2][..]);
        assert!(dynamic.as_slice().iter().all(|single| single.is_nan()), "round {round}");
        dynamic.as_mut_slice().fill(1.0);
        let inner = scope.scope();
        assert_eq!(inner.acquire::<u8, _>(doubles.len()), [0xFF; 5], "round {round}");
        assert_eq!(inner.acquire_zeroed::<u8, _>(5), [0; 5]);
        assert_eq!(inner.acquire_filled(5, 7_u8), [7; 5]);
        assert_eq!(inner.acquire_from(&[1.0_f64, 2.0]), [1.0, 2.0]);
        assert_eq!(inner.acquire_with(3, |index| index as u64), [0, 1, 2]);
        assert_eq!((&*doubles, &*singles), (&[1.0; 5][..], &[1.0; 3][..]));
    }
    if Heap::HAS_SLOTS {
        assert_eq!(ledger.allocations(), 9);
    }
}

#[test]
fn poison_over_several_tables() {
    let count = 2 * slots_per_table() + 5;
    let (mut pool, ledger) = pool_with::<Heap>(PoolConfig::new().poison(true));
    for _ in 0..3 {
        let scope = pool.scope();
        for _ in 0..count {
            let view = scope.acquire::<u32, _>(3);
            assert_eq!(view, [u32::MAX; 3]);
            view.fill(0);
        }
        assert_active::<Heap>(scope.active_slots(), count);
    }
    if Heap::HAS_SLOTS {
        assert_eq!(ledger.allocations(), count);
    }
}

#[test]
fn poison_comes_and_goes_with_the_configuration() {
    let (mut pool, ledger) = pool_of::<Heap>();
    pool.scope().acquire::<u64, _>(4).fill(5);
    pool.configure(PoolConfig::new().poison(true)).unwrap();
    for _ in 0..3 {
        let view = pool.scope().acquire::<u64, _>(4);
        assert_eq!(view, [u64::MAX; 4]);
        view.fill(6);
    }
    pool.configure(PoolConfig::new()).unwrap();
    for round in 6..9 {
        let view = pool.scope().acquire::<u64, _>(4);
        assert_eq!(view, [round; 4], "whatever the last use left behind");
        view.fill(round + 1);
    }
    if Heap::HAS_SLOTS {
        assert_eq!(ledger.allocations(), 1);
    }
}

#[test]
fn poison_reaches_slots_that_a_dynamic_pool_had_handed_out() {
    let (mut pool, _) = dynamic_pool_of::<Heap>();
    let handle = pool.acquire_filled(4, 5_u64);
    pool.configure(PoolConfig::new().poison(true)).unwrap();
    assert_eq!(pool.get(handle).unwrap(), [5; 4], "in use: not touched");
    pool.reset();
    let handle = pool.acquire::<u64>(4);
    assert_eq!(pool.get(handle).unwrap(), [u64::MAX; 4], "its next use follows the configuration");
    pool.configure(PoolConfig::new()).unwrap();
    pool.get_mut(handle).unwrap().fill(7);
    pool.reset();
    let handle = pool.acquire::<u64>(4);
    assert_eq!(pool.get(handle).unwrap(), [7; 4]);
}

#[test]
fn fresh_gives_every_acquire_a_new_block_and_frees_the_old_one() {
    let (mut pool, ledger) = pool_with::<Heap>(PoolConfig::new().fresh(true));
    for round in 1..=5 {
        let scope = pool.scope();
        let first = scope.acquire::<u64, _>(4);
        let second = scope.acquire::<u64, _>(40);
        assert_eq!((first.len(), second.len()), (4, 40));
        assert!(first.iter().chain(&*second).all(|&element| element == 0), "never used before");
        first.fill(1);
        second.fill(1);
        assert_eq!((ledger.allocations(), ledger.live_blocks()), (2 * round, 2));
        assert_eq!(scope.stats().reserved_bytes, ledger.live_bytes());
    }
    // Exactly as large as needed, however large the last one was.
    let view = pool.scope().acquire::<u64, _>(1);
    let block = if Heap::HAS_SLOTS { 64 } else { 128 };
    assert_eq!(ledger.block_of(address(view)).map(|(_, bytes)| bytes), Some(block));
}

#[test]
fn fresh_within_a_limit_of_one_block() {
    // A chunk is one line longer than its array.
    let block = if Heap::HAS_SLOTS { 64 } else { 128 };
    let (mut pool, ledger) = pool_with::<Heap>(PoolConfig::new().fresh(true).byte_limit(block));
    for _ in 0..3 {
        let view = pool.scope().acquire::<u64, _>(7);
        assert_eq!(view, [0; 7]);
        view.fill(1);
        assert_eq!(ledger.live_bytes(), block);
    }
}
