//! Handles: every use is checked against the pool, the slot and the serial. So a stale, foreign or
//! repeated one is a typed error and never another array's memory.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use pool_core::{Handle, PoolError};

use crate::support::{dynamic_heap_pool, is_send, is_sync, rounds};

#[test]
fn handle_of_other_pool() {
    let (mut here, _) = dynamic_heap_pool();
    let (mut there, _) = dynamic_heap_pool();
    // The same slot and the same serial in both, and a length that is too long for the other.
    let long = here.acquire_filled(100, 1_u64);
    let short = there.acquire_filled(1, 2_u64);
    let Err(PoolError::ForeignHandle { pool, made_by }) = there.get(long) else {
        panic!("a foreign handle was taken");
    };
    assert_ne!(pool, made_by);
    let Err(PoolError::ForeignHandle { pool: other, made_by: maker }) = here.get_mut(short) else {
        panic!("a foreign handle was taken");
    };
    assert_eq!((pool, made_by), (maker, other));
    assert!(matches!(here.get_disjoint_mut([long, short]), Err(PoolError::ForeignHandle { .. })));
    let (mut handles, _scope) = here.split();
    assert!(matches!(handles.get(short), Err(PoolError::ForeignHandle { .. })));
    assert!(matches!(handles.get_mut(short), Err(PoolError::ForeignHandle { .. })));
    assert_eq!(handles.get(long).unwrap(), [1; 100]);
    assert_eq!(there.get(short).unwrap(), [2]);
}

#[test]
fn handle_of_a_dropped_pool_is_foreign_to_every_later_one() {
    let stale = {
        let (mut pool, _) = dynamic_heap_pool();
        pool.acquire_filled(4, 1_u64)
    };
    for _ in 0..rounds(50, 5) {
        let (mut pool, _) = dynamic_heap_pool();
        pool.acquire_filled(4, 2_u64);
        assert!(matches!(pool.get(stale), Err(PoolError::ForeignHandle { .. })));
    }
}

#[test]
fn handle_after_trim() {
    let (mut pool, _) = dynamic_heap_pool();
    pool.checkpoint();
    let handle = pool.acquire_filled(4, 1_u64);
    assert_eq!(pool.trim().slots, 0, "handed out");
    assert_eq!(pool.get(handle).unwrap(), [1; 4]);
    pool.rewind();
    assert_eq!(pool.trim().slots, 1);
    assert_eq!(pool.get(handle).unwrap_err(), PoolError::StaleHandle { slot: 0, active: 0 });
    let next = pool.acquire_filled(2, 2_u64);
    assert_eq!(pool.get(handle).unwrap_err(), PoolError::StaleHandle { slot: 0, active: 1 });
    assert_eq!(pool.get_mut(handle).unwrap_err(), PoolError::StaleHandle { slot: 0, active: 1 });
    assert_ne!(handle, next);
    assert_eq!(pool.get(next).unwrap(), [2; 2]);
}

#[test]
fn handle_after_reset_then_rewind() {
    let (mut pool, _) = dynamic_heap_pool();
    pool.acquire::<u64>(4);
    let handle = pool.acquire_filled(4, 1_u64);
    pool.checkpoint();
    pool.reset();
    pool.trim();
    // A checkpoint that survived the reset would raise the count over freed slots.
    pool.rewind();
    assert_eq!((pool.active_slots(), pool.depth()), (0, 0));
    assert_eq!(pool.get(handle).unwrap_err(), PoolError::StaleHandle { slot: 1, active: 0 });
    let (first, second) = (pool.acquire_filled(1, 2_u64), pool.acquire_filled(1, 3_u64));
    assert_eq!(pool.get(handle).unwrap_err(), PoolError::StaleHandle { slot: 1, active: 2 });
    assert_eq!((pool.get(first).unwrap(), pool.get(second).unwrap()), (&[2][..], &[3][..]));
}

#[test]
fn handle_of_a_rewound_slot_used_by_a_scope_stays_stale() {
    let (mut pool, _) = dynamic_heap_pool();
    let depth = pool.checkpoint();
    let handle = pool.acquire_filled(4, 1_u64);
    pool.rewind_to(depth).unwrap();
    pool.checkpoint();
    let (handles, scope) = pool.split();
    scope.acquire_filled(1, 9_u64);
    assert!(matches!(handles.get(handle), Err(PoolError::StaleHandle { slot: 0, active: 0 })));
}

#[test]
fn handle_serial_is_u64() {
    // Two 64-bit numbers and the slot: a generation that wraps in seconds has no place to hide.
    let words = if size_of::<usize>() == 8 { 24 } else { 20 };
    assert!(size_of::<Handle<u8>>() >= words);
    let (mut pool, _) = dynamic_heap_pool();
    let mut seen = HashSet::new();
    let first = pool.acquire_filled(1, 0_u64);
    pool.reset();
    seen.insert(first);
    let mut serials = vec![serial(&first)];
    for value in 1..rounds(5_000, 23) as u64 {
        let handle = pool.acquire_filled(1, value);
        assert!(pool.get(first).is_err());
        assert_eq!(pool.get(handle).unwrap(), [value]);
        assert!(seen.insert(handle), "a serial came twice");
        serials.push(serial(&handle));
        pool.rewind();
        if value % 7 == 0 {
            pool.trim();
        }
        if value % 11 == 0 {
            pool.clear();
        }
    }
    assert!(serials.windows(2).all(|pair| pair[0] < pair[1]), "a freed slot must not start anew");
    assert!(serials[0] > 0, "0 is no handle");
}

/// The serial, as `Debug` shows it; checked to be read as 64 bits.
fn serial(handle: &Handle<u64>) -> u64 {
    let text = format!("{handle:?}");
    let (_, rest) = text.split_once("serial: ").unwrap();
    rest.split_once(',').unwrap().0.parse().unwrap()
}

#[test]
fn dyn_disjoint_mut_same_slot_refused() {
    let (mut pool, _) = dynamic_heap_pool();
    let [a, b, c] = [1_u64, 2, 3].map(|value| pool.acquire_filled(2, value));
    for repeated in [[a, a, b], [a, b, a], [b, a, a], [a, a, a]] {
        let error = pool.get_disjoint_mut(repeated).unwrap_err();
        assert_eq!(error, PoolError::RepeatedHandle { slot: 0 });
    }
    assert_eq!(pool.get_disjoint_mut([c, c]).unwrap_err(), PoolError::RepeatedHandle { slot: 2 });
    let [c_view, a_view, b_view] = pool.get_disjoint_mut([c, a, b]).unwrap();
    c_view[0] = 30;
    a_view[0] = 10;
    b_view[0] = c_view[0] + a_view[0];
    assert_eq!(pool.get(a).unwrap(), [10, 1]);
    assert_eq!(pool.get(b).unwrap(), [40, 2]);
    assert_eq!(pool.get(c).unwrap(), [30, 3]);
    let [] = pool.get_disjoint_mut::<u64, 0>([]).unwrap();

    let (mut handles, _scope) = pool.split();
    assert_eq!(
        handles.get_disjoint_mut([b, b]).unwrap_err(),
        PoolError::RepeatedHandle { slot: 1 }
    );
    let [b_view, c_view] = handles.get_disjoint_mut([b, c]).unwrap();
    std::mem::swap(&mut b_view[0], &mut c_view[0]);
    assert_eq!((handles.get(b).unwrap()[0], handles.get(c).unwrap()[0]), (30, 40));
}

#[test]
fn one_stale_handle_among_several_refuses_them_all() {
    let (mut pool, _) = dynamic_heap_pool();
    let kept = pool.acquire_filled(2, 1_u64);
    pool.checkpoint();
    let stale = pool.acquire_filled(2, 2_u64);
    pool.rewind();
    let newer = pool.acquire_filled(2, 3_u64);
    let expected = PoolError::StaleHandle { slot: 1, active: 2 };
    assert_eq!(pool.get_disjoint_mut([kept, stale]).unwrap_err(), expected);
    assert_eq!(pool.get_disjoint_mut([stale, newer]).unwrap_err(), expected);
    assert_eq!(pool.get_disjoint_mut([newer, stale]).unwrap_err(), expected);
    assert!(pool.get_disjoint_mut([newer, kept]).is_ok());
}

#[test]
fn disjoint_views_of_empty_and_zero_sized_arrays() {
    let (mut pool, _) = dynamic_heap_pool();
    let (first, second) = (pool.acquire::<u64>(0), pool.acquire::<u64>(0));
    let [first_view, second_view] = pool.get_disjoint_mut([first, second]).unwrap();
    assert!(first_view.is_empty() && second_view.is_empty());
    let units = pool.acquire_filled(5, ());
    assert_eq!(pool.get(units).unwrap().len(), 5);
}

#[test]
fn handles_are_plain_values_that_may_be_sent() {
    let (mut pool, _) = dynamic_heap_pool();
    let handle = pool.acquire_filled(2, 7_u64);
    let copy = handle;
    assert_eq!(handle, copy);
    assert_eq!(HashSet::from([handle, copy]).len(), 1);
    // It gives access to elements, so it is `Send` and `Sync` if they are.
    assert!(is_send!(Handle<u64>) && is_sync!(Handle<u64>));
    assert!(!is_send!(Handle<*mut u8>) && !is_sync!(Handle<*mut u8>));
    let returned = std::thread::spawn(move || (pool, handle)).join().unwrap();
    let (pool, handle) = returned;
    assert_eq!(pool.get(handle).unwrap(), [7; 2]);
}

/// Every handle has its own place in a map: handles that differ have different hashes.
#[test]
fn handles_hash_by_pool_and_serial() {
    let hash = |handle: &Handle<u64>| {
        let mut hasher = DefaultHasher::new();
        handle.hash(&mut hasher);
        hasher.finish()
    };
    let mut hashes = HashSet::new();
    for _ in 0..2 {
        let (mut pool, _) = dynamic_heap_pool();
        for _ in 0..rounds(500, 8) {
            let handle = pool.acquire::<u64>(1);
            assert_eq!(hash(&handle), hash(&handle.clone()));
            assert!(hashes.insert(hash(&handle)), "two handles with one hash");
        }
    }
}
