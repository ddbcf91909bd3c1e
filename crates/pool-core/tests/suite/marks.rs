//! Slots that hold values with padding, pointers and references are marked. The next recycled use
//! finds zeros up to the longest of them, after any uses in between.
//!
//! Outside of Miri an uninitialised byte reads as the last byte written there. So these tests write
//! bytes that are not zero, and check for zeros.

use std::cell::Cell;

use pool_conformance::panics::catch_quietly;
use pool_conformance::{HeapBackend, Refusal};
use pool_core::{Compaction, HostBackend, Pool, PoolConfig, PoolError, Scope};

use crate::backends::logged_pool;
use crate::support::{dynamic_heap_pool, heap_pool, panic_text};

/// Eight bytes, three of them padding.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
struct Padded {
    byte: u8,
    word: u32,
}

const PADDED: Padded = Padded { byte: 0xAB, word: 0xCDCD_CDCD };

/// Marks the first slot with 100 elements, 800 bytes.
fn mark_first_slot(pool: &mut Pool<HeapBackend>) {
    assert_eq!(pool.scope().acquire_with(100, |_| PADDED), [PADDED; 100]);
}

/// Returns `true` if the scope's next slot, recycled, has zeros in its marked bytes.
fn next_is_zeroed(scope: &Scope<'_, HeapBackend>, bytes: usize) -> bool {
    scope.acquire::<u8, _>(bytes) == vec![0; bytes]
}

#[test]
fn values_of_any_type_are_what_was_written() {
    let (mut pool, _) = heap_pool();
    let text = String::from("outlives the scope");
    for _ in 0..2 {
        let scope = pool.scope();
        let words: &mut [&str] = scope.acquire_with(2, |i| if i == 0 { &text } else { "static" });
        let tuples = scope.acquire_with(2, |i| [(1_u8, 2_u64), (3, 4)][i]);
        let options = scope.acquire_with(3, |_| Some(7_u16));
        let pointers = scope.acquire_with(2, |_| std::ptr::from_ref(&text));
        let functions = scope.acquire_with::<fn(f64) -> f64, _>(2, |i| [f64::sqrt, f64::abs][i]);
        let array = scope.acquire_with([2, 1], |[row, _]| [Some("a"), None][row]);
        let units = scope.acquire_with(100, |_| ());
        words.reverse();
        options[1] = None;
        assert_eq!(words, ["static", "outlives the scope"]);
        assert_eq!(tuples, [(1, 2), (3, 4)]);
        assert_eq!(options, [Some(7), None, Some(7)]);
        assert_eq!(pointers, [std::ptr::from_ref(&text); 2]);
        assert_eq!((functions[0](4.0), functions[1](-1.0)), (2.0, 1.0));
        assert_eq!((array[[0, 0]], array[[1, 0]]), (Some("a"), None));
        assert_eq!(units.len(), 100);
    }
    assert_eq!(pool.stats().growths, 6);
}

#[test]
fn a_slice_of_references_keeps_a_longer_lifetime_than_the_scope_value() {
    fn shortest<'s, 't: 's>(
        scope: &Scope<'s, HeapBackend>,
        words: &[&'t str],
    ) -> (&'s mut [&'t str], &'t str) {
        let sorted = scope.acquire_with(words.len(), |i| words[i]);
        sorted.sort_by_key(|word| word.len());
        let first = sorted[0];
        (sorted, first)
    }
    let text = String::from("some words");
    let words: Vec<_> = text.split(' ').rev().collect();
    let first;
    {
        let (mut pool, _) = heap_pool();
        let sorted;
        (sorted, first) = shortest(&pool.scope(), &words);
        assert_eq!(sorted, ["some", "words"]);
    }
    assert_eq!(first, "some", "what was in the pool outlives it");
}

#[test]
fn a_marked_slot_is_zeroed_before_it_is_read_and_cold_until_then() {
    let (mut pool, ledger) = heap_pool();
    mark_first_slot(&mut pool);
    let cold = pool.stats().cold_acquires;
    for round in 1..=3 {
        mark_first_slot(&mut pool);
        assert_eq!(pool.stats().cold_acquires, cold + round, "a marked slot is cold at every use");
    }
    assert!(next_is_zeroed(&pool.scope(), 800));
    assert_eq!(pool.stats().cold_acquires, cold + 4);
    pool.scope().acquire::<u8, _>(800).fill(9);
    assert_eq!(pool.scope().acquire::<u8, _>(800), [9; 800], "zeroed once, and hot from then on");
    assert_eq!(pool.stats().cold_acquires, cold + 4);
    assert_eq!(ledger.allocations(), 1);
}

#[test]
fn numbers_mark_nothing() {
    let (mut pool, _) = heap_pool();
    for round in 0..3_u8 {
        let scope = pool.scope();
        scope.acquire_with(100, |i| i as f64 + 0.5);
        scope.acquire_with(100, |_| 1_u32);
        scope.acquire_with(100, |_| true);
        assert_eq!(scope.stats().cold_acquires, 3, "round {round}");
    }
    let scope = pool.scope();
    assert_eq!(scope.acquire::<f64, _>(2), [0.5, 1.5], "recycled, and not zeroed");
}

#[test]
fn every_recycled_use_is_given_zeros_and_takes_the_mark_off() {
    /// Reads the recycled contents of the scope's next slot, 800 bytes.
    type Recycled = fn(&Scope<'_, HeapBackend>) -> Vec<u8>;
    let uses: [Recycled; 8] = [
        |scope| scope.acquire::<u8, _>(800).to_vec(),
        |scope| scope.try_acquire::<u8, _>(800).unwrap().to_vec(),
        |scope| scope.acquire::<u8, _>(800).to_vec(),
        |scope| scope.acquire::<u8, _>([80, 10]).as_slice().to_vec(),
        |scope| scope.try_acquire::<u8, _>((8, 100)).unwrap().as_slice().to_vec(),
        |scope| scope.acquire::<u8, _>(&[8, 10, 10][..]).as_slice().to_vec(),
        |scope| scope.try_acquire::<u8, _>(&[8, 10, 10][..]).unwrap().as_slice().to_vec(),
        |scope| {
            // SAFETY: one slice is made of the block, and used here alone.
            let parts = unsafe { scope.acquire_described::<u8>(&[8, 100]) };
            let block = HeapBackend::host_pointer(parts.block);
            // SAFETY: the block holds `parts.length` elements, which belong to the caller.
            unsafe { std::slice::from_raw_parts(block, parts.length) }.to_vec()
        },
    ];
    for (number, recycled) in uses.into_iter().enumerate() {
        let (mut pool, _) = heap_pool();
        // The second time a shape of dynamic rank is in the slot's set.
        for _ in 0..2 {
            mark_first_slot(&mut pool);
            assert_eq!(recycled(&pool.scope()), [0; 800], "use {number}");
            let cold = pool.stats().cold_acquires;
            recycled(&pool.scope());
            assert_eq!(pool.stats().cold_acquires, cold, "use {number}");
        }
    }
}

#[test]
fn what_is_shorter_than_the_mark_does_not_clear_it() {
    let uses: [fn(&Scope<'_, HeapBackend>); 8] = [
        |scope| _ = scope.acquire_zeroed::<u8, _>(9),
        |scope| _ = scope.acquire_filled(9, 7_u8),
        |scope| _ = scope.acquire_from(&[7_u64; 3]),
        |scope| _ = scope.acquire_with(3, |i| i),
        |scope| _ = scope.acquire_with(2, |_| PADDED),
        |scope| _ = scope.acquire_zeroed::<u8, _>(&[3, 1][..]),
        |scope| _ = scope.acquire_filled([3, 1], 7_u8),
        |scope| _ = scope.acquire::<u8, _>(0),
    ];
    for (number, shorter) in uses.into_iter().enumerate() {
        let (mut pool, _) = heap_pool();
        mark_first_slot(&mut pool);
        shorter(&pool.scope());
        assert!(next_is_zeroed(&pool.scope(), 800), "use {number}");
    }
}

#[test]
fn uses_that_write_first_write_over_what_is_marked() {
    let (mut pool, _) = heap_pool();
    mark_first_slot(&mut pool);
    assert_eq!(pool.scope().acquire_zeroed::<u64, _>(100), [0; 100]);
    assert_eq!(pool.scope().acquire_filled(50, 3_u32), [3; 50]);
    assert_eq!(pool.scope().acquire_from(&[1_u8, 2]), [1, 2]);
    assert_eq!(pool.scope().acquire_from(&[5_u64, 6]), [5, 6]);
    assert!(next_is_zeroed(&pool.scope(), 800));
}

#[test]
fn a_configuration_does_not_lose_the_mark() {
    let (mut pool, _) = heap_pool();
    mark_first_slot(&mut pool);
    pool.configure(PoolConfig::new()).unwrap();
    assert!(next_is_zeroed(&pool.scope(), 800));

    mark_first_slot(&mut pool);
    pool.configure(PoolConfig::new().poison(true)).unwrap();
    assert_eq!(pool.scope().acquire::<u8, _>(10), [0xFF; 10], "poison is what is seen");
    pool.configure(PoolConfig::new()).unwrap();
    let view = pool.scope().acquire::<u8, _>(800);
    assert!(view[..10] == [0xFF; 10] && view[10..] == [0; 790], "and the rest is zeroed");

    pool.configure(PoolConfig::new().poison(true)).unwrap();
    mark_first_slot(&mut pool);
    pool.configure(PoolConfig::new()).unwrap();
    assert!(next_is_zeroed(&pool.scope(), 800));

    mark_first_slot(&mut pool);
    pool.configure(PoolConfig::new().fresh(true)).unwrap();
    assert!(next_is_zeroed(&pool.scope(), 800), "a fresh block is as the backend makes it");
    pool.configure(PoolConfig::new()).unwrap();
    assert!(next_is_zeroed(&pool.scope(), 800));
}

#[test]
fn sampling_and_compaction_do_not_lose_the_mark() {
    let (mut pool, _) = heap_pool();
    mark_first_slot(&mut pool);
    pool.sample_lengths();
    assert!(next_is_zeroed(&pool.scope(), 800));

    mark_first_slot(&mut pool);
    pool.sample_lengths();
    for _ in 0..2 * usize::from(Compaction::SAMPLES) {
        pool.scope().acquire_zeroed::<u8, _>(1);
    }
    assert!(next_is_zeroed(&pool.scope(), 800), "also when the last sample was taken");

    mark_first_slot(&mut pool);
    assert_eq!(pool.compact(&Compaction::default()).slots, 0, "nothing is oversized");
    assert!(next_is_zeroed(&pool.scope(), 800));
}

#[test]
fn another_block_has_no_mark() {
    let (mut pool, ledger) = heap_pool();
    mark_first_slot(&mut pool);
    // Growth for a use that is read.
    assert!(next_is_zeroed(&pool.scope(), 2_000));
    let cold = pool.stats().cold_acquires;
    pool.scope().acquire::<u8, _>(2_000);
    assert_eq!(pool.stats().cold_acquires, cold);
    // Growth for a use that marks: the mark is the new block's.
    let long = pool.scope().acquire_with(1_200, |_| PADDED);
    assert_eq!(long[1_199], PADDED);
    assert!(next_is_zeroed(&pool.scope(), 9_600));
    // Trim, clear, and a swap for a smaller block.
    mark_first_slot(&mut pool);
    pool.trim();
    pool.scope().acquire_filled(100, 1_u64);
    let cold = pool.stats().cold_acquires;
    assert_eq!(pool.scope().acquire::<u64, _>(100), [1; 100], "the new block is as it was written");
    assert_eq!(pool.stats().cold_acquires, cold);
    mark_first_slot(&mut pool);
    pool.clear();
    assert!(next_is_zeroed(&pool.scope(), 800));
    pool.scope().acquire_with(1_200, |_| PADDED);
    pool.sample_lengths();
    pool.scope().acquire_with(100, |_| PADDED);
    assert_eq!(pool.compact(&Compaction { minimum_bytes: 1, ..Compaction::default() }).slots, 1);
    assert!(next_is_zeroed(&pool.scope(), 800));
    drop(pool);
    assert_eq!(ledger.live_blocks(), 0);
}

#[test]
fn a_growth_that_fails_or_panics_does_not_lose_the_mark() {
    let (mut pool, ledger) = heap_pool();
    mark_first_slot(&mut pool);
    ledger.refuse(Refusal::PanicOnce(0));
    assert!(catch_quietly(|| pool.scope().acquire::<u8, _>(5_000).len()).is_err());
    ledger.refuse(Refusal::Never);
    assert!(next_is_zeroed(&pool.scope(), 800), "the old block is still there");

    mark_first_slot(&mut pool);
    ledger.refuse(Refusal::PanicOnce(0));
    assert!(catch_quietly(|| pool.scope().acquire_with(5_000, |_| PADDED).len()).is_err());
    ledger.refuse(Refusal::Never);
    assert!(next_is_zeroed(&pool.scope(), 800));

    mark_first_slot(&mut pool);
    ledger.refuse(Refusal::From(0));
    assert!(pool.scope().try_acquire_with(5_000, |_| PADDED).is_err());
    ledger.refuse(Refusal::Never);
    assert!(next_is_zeroed(&pool.scope(), 800), "freed for the last attempt, and new");
}

#[test]
fn the_mark_is_set_before_the_closure_runs() {
    let (mut pool, _) = heap_pool();
    mark_first_slot(&mut pool);
    assert!(next_is_zeroed(&pool.scope(), 800), "not marked any more");
    let text = panic_text(|| {
        pool.scope().acquire_with(100, |i| if i < 40 { PADDED } else { panic!("at {i}") })
    });
    assert_eq!(text, "at 40");
    assert!(next_is_zeroed(&pool.scope(), 800));

    let scope = pool.scope();
    let seen = Cell::new(0);
    scope.acquire_with(3, |i| {
        // The closure acquires, trims and samples: its own slot is taken, and stays marked.
        seen.set(seen.get() + scope.acquire::<u8, _>(800).len());
        scope.trim();
        scope.sample_lengths();
        if i == 1 { PADDED } else { Padded { byte: 1, ..PADDED } }
    });
    assert_eq!((seen.get(), scope.active_slots()), (2_400, 4));
    assert!(next_is_zeroed(&pool.scope(), 800));
}

#[test]
fn inner_scopes_and_their_outer_scopes_share_marks() {
    let (mut pool, _) = heap_pool();
    let mut scope = pool.scope();
    scope.acquire::<u8, _>(1);
    scope.scope().acquire_with(100, |_| PADDED);
    scope.scope().scope().acquire_with(50, |_| PADDED);
    assert!(next_is_zeroed(&scope, 800));
}

#[test]
fn the_dynamic_pool_reads_zeros_where_a_scope_of_its_own_left_a_mark() {
    let (mut pool, _) = dynamic_heap_pool();
    pool.scope().acquire_with(100, |_| PADDED);
    let written = pool.acquire_filled(3, 5_u8);
    assert_eq!(pool.get(written).unwrap(), [5; 3]);
    pool.reset();
    let recycled = pool.acquire::<u8>(800);
    assert_eq!(pool.get(recycled).unwrap(), [0; 800]);
    pool.reset();
    pool.scope().acquire_with(100, |_| PADDED);
    pool.configure(PoolConfig::new()).unwrap();
    let recycled = pool.try_acquire::<u8>(800).unwrap();
    assert_eq!(pool.get(recycled).unwrap(), [0; 800]);
}

#[test]
fn zeroing_that_fails_is_a_typed_error_and_keeps_the_mark() {
    let (mut pool, switches) = logged_pool(PoolConfig::new());
    pool.scope().acquire_with(100, |_| PADDED);
    switches.fail_writes.set(true);
    for _ in 0..2 {
        let scope = pool.scope();
        let error = scope.try_acquire::<u8, _>(1).unwrap_err();
        assert!(matches!(error, PoolError::Backend { operation: "zero a block", .. }), "{error}");
        assert_eq!(scope.active_slots(), 0);
        assert_eq!(
            scope.acquire_with(1, |_| PADDED),
            [PADDED],
            "what is written first needs no zeros"
        );
    }
    switches.fail_writes.set(false);
    assert_eq!(pool.scope().acquire::<u8, _>(800), [0; 800]);
}

#[test]
fn errors_of_the_host_family_are_those_of_the_family() {
    let (mut pool, ledger) = heap_pool();
    let scope = pool.scope();
    let never = |_| -> Padded { unreachable!("there is no block") };
    let overflow = PoolError::SizeOverflow { elements: usize::MAX, element_size: 8 };
    assert_eq!(scope.try_acquire_with(usize::MAX, never).unwrap_err(), overflow);
    assert_eq!(scope.try_acquire_with(usize::MAX, |_| PADDED).unwrap_err(), overflow);
    assert!(matches!(
        scope.try_acquire_with([usize::MAX, 2], |_| PADDED).unwrap_err(),
        PoolError::Shape(_)
    ));
    assert!(matches!(
        scope.try_acquire_uninit::<Padded, _>((2, usize::MAX)).unwrap_err(),
        PoolError::Shape(_)
    ));
    assert_eq!((scope.active_slots(), ledger.allocations()), (0, 0));
    assert_eq!(panic_text(|| scope.acquire_with(usize::MAX, |_| PADDED)), overflow.to_string());
}
