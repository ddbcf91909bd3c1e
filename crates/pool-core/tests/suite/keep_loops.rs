//! `keep` in a loop, and with slices from elsewhere: the documented behaviour of `keep` for both.

use pool_conformance::{HeapBackend, Ledger};
use pool_core::{HostBackend, Scope, Stacked};

use crate::support::{address, heap_pool, pool_of, rounds};

/// Bytes of the temporary beside which each array is kept.
const LARGE: usize = 1 << 16;

/// One pass: arrays of 64 bytes, each kept beside a large temporary.
fn keep_beside_a_temporary<B: HostBackend>(scope: &mut Scope<'_, B>, arrays: usize) {
    for _ in 0..arrays {
        scope.keep(|inner| {
            inner.acquire_uninit::<u8, _>(LARGE);
            inner.acquire_uninit::<u8, _>(64)
        });
    }
}

/// Runs passes until nothing grows; returns the bytes that are held, and the last pass that grew.
fn bytes_and_last_growth<B: HostBackend<Context = Ledger>>(arrays: usize) -> (usize, usize) {
    let (mut pool, _) = pool_of::<B>();
    let (mut growths, mut last_growth) = (0, 0);
    for pass in 1..=rounds(3, 1) * (arrays + 3) {
        keep_beside_a_temporary(&mut pool.scope(), arrays);
        if pool.stats().growths > growths {
            (growths, last_growth) = (pool.stats().growths, pass);
        }
    }
    (pool.stats().reserved_bytes, last_growth)
}

/// The attack `keep_rotation`: the largest block gets into every slot.
#[test]
fn a_loop_over_keep_grows_every_slot_that_a_temporary_meets() {
    for arrays in [1, rounds(30, 6)] {
        let (held, last_growth) = bytes_and_last_growth::<HeapBackend>(arrays);
        let large_blocks = arrays + 1;
        assert!(
            held > large_blocks * LARGE && held < large_blocks * (LARGE + 1_024) + arrays * 256,
            "{arrays} arrays: {held} bytes, {large_blocks} large blocks"
        );
        assert!(
            last_growth.abs_diff(arrays) <= 1,
            "{arrays} arrays: the last growth was in pass {last_growth}"
        );
    }
}

/// The other way out that the page of `keep` names.
#[test]
fn in_a_stack_a_loop_over_keep_holds_one_temporary() {
    for arrays in [1, rounds(30, 6)] {
        let (held, last_growth) = bytes_and_last_growth::<Stacked<HeapBackend>>(arrays);
        assert!(held < (LARGE + arrays * 64) * 105 / 100, "{arrays} arrays: {held} bytes");
        assert!(last_growth <= 2, "{arrays} arrays: the last growth was in pass {last_growth}");
    }
}

/// The way out that the page of `keep` names.
#[test]
fn a_temporary_before_the_loop_is_held_once() {
    let (mut pool, _) = heap_pool();
    for _ in 0..rounds(100, 5) {
        let mut scope = pool.scope();
        let temporary = scope.acquire::<u8, _>(LARGE);
        for number in 0..30 {
            scope.keep(|inner| {
                temporary[0] = number;
                inner.acquire::<u8, _>(64)
            });
        }
    }
    assert!(pool.stats().reserved_bytes < LARGE + 31 * 256, "{}", pool.stats());
}

/// The attack `keep_implied`: the bounds that `&'s mut [&'s u8]` implies let a body return a slice of the outer scope, of
/// another pool, or a local one. Each is copied.
#[test]
fn a_body_returns_what_implied_bounds_let_it_return() {
    type Memory<'s> = Scope<'s, HeapBackend>;

    fn local<'s>(scope: &mut Memory<'s>, own: &'s mut [&'s u8]) -> &'s mut [&'s u8] {
        scope.keep(|_| own)
    }
    fn of_the_outer<'s>(scope: &mut Memory<'s>, byte: &'s u8) -> [usize; 3] {
        let array = scope.acquire_with(3, |_| byte);
        let at = address(array);
        let kept = scope.keep(|inner| {
            inner.acquire::<u8, _>(100).fill(0xFF);
            array
        });
        let next = scope.acquire_filled::<u64, _>(3, u64::MAX);
        assert!(kept.iter().all(|&&byte| byte == 3), "{kept:?}");
        [at, address(kept), address(next)]
    }
    fn of_another_pool<'s>(
        scope: &mut Memory<'s>,
        other: &mut Memory<'s>,
        byte: &'s u8,
    ) -> &'s mut [&'s u8] {
        let array = other.acquire_with(3, |_| byte);
        scope.keep(|_| array)
    }

    let byte = 3;
    let mut own = [&byte; 3];
    let ((mut pool, _), (mut other, _)) = (heap_pool(), heap_pool());
    let mut scope = pool.scope();
    let [at, kept, next] = of_the_outer(&mut scope, &byte);
    assert!(at != kept && at != next && kept != next, "a copy, in a slot of its own");
    assert_eq!(scope.active_slots(), 3);
    let mut beside = other.scope();
    let of_other = of_another_pool(&mut scope, &mut beside, &byte);
    let of_own = local(&mut scope, &mut own);
    beside.acquire_filled::<u64, _>(3, u64::MAX);
    assert_eq!((of_other, of_own), (&mut [&3_u8; 3][..], &mut [&3_u8; 3][..]));
}
