//! Stacked pools: the memory they hold, and the addresses of arrays. The programs and the
//! conformance suite, which run over both layouts, test the features that they share with slots.

use std::cell::Cell;

use pool_conformance::{HeapBackend, Ledger, Refusal};
use pool_core::{Pool, PoolBackend, PoolConfig, PoolError, Scope, Stacked};

use crate::support::{address, assert_stamped, rounds, stamp};

type StackedHeap = Stacked<HeapBackend>;

fn stack() -> (Pool<StackedHeap>, Ledger) {
    stack_with(PoolConfig::new())
}

fn stack_with(config: PoolConfig) -> (Pool<StackedHeap>, Ledger) {
    let ledger = Ledger::new();
    (Pool::with_config(ledger.clone(), config).unwrap(), ledger)
}

/// Runs a pass of the same lengths, and returns the addresses of its arrays.
fn pass(pool: &mut Pool<StackedHeap>, lengths: &[usize]) -> Vec<usize> {
    let scope = pool.scope();
    let arrays: Vec<_> = lengths.iter().map(|&length| scope.acquire::<u64, _>(length)).collect();
    let mut addresses = Vec::new();
    for (owner, array) in arrays.into_iter().enumerate() {
        stamp(array, owner as u64);
        addresses.push((owner, array));
    }
    addresses
        .iter()
        .map(|(owner, array)| {
            assert_stamped(array, *owner as u64);
            address(array)
        })
        .collect()
}

#[test]
fn the_third_equal_pass_allocates_nothing_and_has_the_same_addresses() {
    let (mut pool, ledger) = stack();
    let lengths = [1_000, 3, rounds(70_000, 700), 1, rounds(5_000, 50)];
    pass(&mut pool, &lengths);
    let second = pass(&mut pool, &lengths);
    let allocations = ledger.allocations();
    for _ in 0..5 {
        assert_eq!(pass(&mut pool, &lengths), second);
    }
    assert_eq!((ledger.allocations(), ledger.live_blocks()), (allocations, 1));
    let live: usize = lengths.iter().map(|length| (length * 8).next_multiple_of(64)).sum();
    assert!(pool.stats().reserved_bytes <= live * 105 / 100, "{} of {live}", pool.stats());
}

#[test]
#[cfg_attr(miri, ignore = "SKIPPED: compares numbers of bytes; the random programs run this code")]
fn a_stack_holds_the_peak_of_lengths_that_vary() {
    let (mut pool, _) = stack();
    let mut random = fastrand::Rng::with_seed(7);
    let mut peak = 0;
    for _ in 0..400 {
        let scope = pool.scope();
        let mut live = 0;
        for _ in 0..20 {
            let length = random.usize(1..20_000);
            scope.acquire::<u8, _>(length)[0] = 1;
            live += length.next_multiple_of(64);
        }
        peak = peak.max(live);
    }
    pool.scope().acquire::<u8, _>(1);
    let held = pool.stats().reserved_bytes;
    assert!(held <= peak * 105 / 100, "held {held}, live at most {peak}");
}

#[test]
fn an_outer_scope_goes_on_where_it_was_after_an_inner_one_grew() {
    let (mut pool, ledger) = stack();
    for pass in 0..3 {
        let mut scope = pool.scope();
        let first = scope.acquire::<u64, _>(10);
        stamp(first, 1);
        for inner_length in [rounds(50_000, 700), rounds(400_000, 2_500), 10] {
            let inner = scope.scope();
            let large = inner.acquire::<u64, _>(inner_length);
            stamp(large, 2);
            let more = inner.acquire::<u64, _>(100);
            stamp(more, 3);
            assert_stamped(large, 2);
        }
        let second = scope.acquire::<u64, _>(20);
        stamp(second, 4);
        assert_stamped(first, 1);
        assert_eq!(address(second), address(first) + 128, "pass {pass}");
    }
    assert_eq!(ledger.live_blocks(), 1);
}

#[test]
fn a_cursor_that_trim_left_without_a_chunk_finds_another() {
    let (mut pool, ledger) = stack();
    pool.scope().acquire::<u64, _>(1_000);
    let mut outer = pool.scope();
    {
        let inner = outer.scope();
        assert!(inner.trim().bytes >= 8_000);
        assert_eq!(ledger.live_blocks(), 0);
        let array = inner.acquire::<u64, _>(5_000);
        stamp(array, 1);
        assert_stamped(array, 1);
    }
    // The outer cursor is still at the former place of the first chunk.
    let array = outer.acquire::<u64, _>(50);
    stamp(array, 2);
    let next = outer.acquire::<u64, _>(50);
    stamp(next, 3);
    assert_stamped(array, 2);
}

#[test]
fn what_is_over_the_limit_is_a_typed_error_and_the_pool_is_usable() {
    let (mut pool, ledger) = stack_with(PoolConfig::new().byte_limit(10_000));
    let scope = pool.scope();
    let kept = scope.acquire::<u64, _>(100);
    stamp(kept, 1);
    let error = scope.try_acquire::<u64, _>(2_000).unwrap_err();
    let PoolError::LimitExceeded { requested, reserved, limit: 10_000 } = error else {
        panic!("{error:?}")
    };
    assert!(requested >= 16_000 && reserved >= 800);
    assert!(matches!(
        scope.try_acquire::<u64, _>(usize::MAX),
        Err(PoolError::SizeOverflow { elements: usize::MAX, element_size: 8 })
    ));
    stamp(scope.acquire::<u64, _>(200), 2);
    assert_stamped(kept, 1);
    assert!(ledger.live_bytes() <= 10_000);
}

#[test]
fn a_merge_that_is_refused_keeps_the_chunks() {
    let (mut pool, ledger) = stack();
    let lengths = [250, 500, 1_000].map(|length| length * rounds(40, 1));
    pass(&mut pool, &lengths);
    ledger.refuse(Refusal::From(0));
    pass(&mut pool, &lengths);
    pass(&mut pool, &lengths);
    ledger.refuse(Refusal::Never);
    pass(&mut pool, &lengths);
    assert_eq!(ledger.live_blocks(), 1);
}

#[test]
fn padding_is_zeroed_before_it_is_read() {
    let (mut pool, _) = stack();
    for _ in 0..3 {
        let scope = pool.scope();
        let pairs = scope.acquire_with(100, |i| (7_u8, i as u64));
        assert_eq!(pairs[99], (7, 99));
        let room = scope.acquire_uninit::<u64, _>(10);
        room[3].write(5);
        drop(scope);
        let scope = pool.scope();
        let numbers = scope.acquire::<u64, _>(300);
        crate::support::assert_initialised(bytemuck_bytes(numbers));
    }
}

fn bytemuck_bytes(numbers: &[u64]) -> &[u8] {
    bytemuck::cast_slice(numbers)
}

#[test]
fn the_last_vector_grows_where_it_is() {
    let (mut pool, _) = stack();
    let count = rounds(10_000, 600);
    for _ in 0..3 {
        let scope = pool.scope();
        let mut vector = scope.acquire_vec::<u64>(4);
        let mut moves = 0;
        let mut at = address(&vector);
        for element in 0..count as u64 {
            vector.push(element);
            moves += usize::from(address(&vector) != at);
            at = address(&vector);
        }
        assert!(vector.iter().copied().eq(0..count as u64));
        assert!(moves < 12, "{moves}");
    }
    let scope = pool.scope();
    let mut vector = scope.acquire_vec::<u64>(4);
    let at = address(&vector);
    vector.extend_from_slice(&vec![7; count]);
    assert_eq!(address(&vector), at, "the chunk has room, so nothing moves");
    // Another array ends that.
    let after = scope.acquire::<u64, _>(10);
    stamp(after, 1);
    vector.push(8);
    vector.extend_from_slice(&vec![9; 2 * count]);
    assert_stamped(after, 1);
    assert_eq!((vector[0], vector[count], vector[3 * count]), (7, 8, 9));
}

#[test]
fn a_kept_array_moves_down_to_the_cursor() {
    let (mut pool, _) = stack();
    for _ in 0..3 {
        let mut scope = pool.scope();
        let first = scope.acquire::<u64, _>(8);
        stamp(first, 1);
        for round in 0..4 {
            let kept = scope.keep(|inner| {
                let temporary = inner.acquire::<u64, _>(1_000);
                stamp(temporary, 9);
                let result = inner.acquire::<u64, _>(8);
                stamp(result, 100 + round);
                &mut result[2..]
            });
            assert_eq!((kept[0], kept.len()), ((100 + round) << 32 | 2, 6));
            assert_stamped(first, 1);
        }
    }
    let stats = pool.stats();
    assert!(stats.reserved_bytes < 12_000, "{stats}");
}

#[test]
fn shapes_of_dynamic_rank_are_found_again() {
    let (mut pool, ledger) = stack();
    for pass in 0..4 {
        let before = (pool.stats().shape_misses, ledger.allocations());
        let scope = pool.scope();
        let matrix = scope.acquire::<f64, _>(&[3, 4][..]);
        let empty = scope.acquire::<f64, _>(&[3, 0][..]);
        let cube = scope.acquire::<f32, _>(&[2, 2, 2][..]);
        assert_eq!((matrix.len(), empty.len(), cube.len()), (12, 0, 8));
        assert_eq!(cube.strides(), [4, 2, 1]);
        drop(scope);
        if pass > 1 {
            assert_eq!((pool.stats().shape_misses, ledger.allocations()), before, "pass {pass}");
        }
    }
}

#[test]
#[cfg_attr(
    miri,
    ignore = "SKIPPED: for Miri's symbolic check, memory has the alignment of its block"
)]
fn elements_may_be_aligned_to_more_than_blocks() {
    #[derive(Clone, Copy)]
    #[repr(align(256))]
    struct Wide(u8);

    let (mut pool, _) = stack();
    for _ in 0..3 {
        let scope = pool.scope();
        scope.acquire::<u8, _>(1);
        let wide = scope.acquire_with(3, |_| Wide(2));
        assert_eq!((wide.as_ptr().addr() % 256, wide[2].0), (0, 2));
        let none = scope.acquire_with(0, |_| Wide(0));
        assert_eq!(none.as_ptr().addr() % 256, 0);
    }
}

/// Every chunk ends one line below the end of its block, for acquires that read and for those that write first.
#[test]
fn no_array_reaches_the_last_line_of_a_block() {
    type Acquire = fn(&Scope<'_, StackedHeap>, usize) -> (usize, usize);
    fn ends<T>(view: &[T]) -> (usize, usize) {
        (address(view), address(view) + size_of_val(view))
    }
    let kinds: [(&str, Acquire); 6] = [
        ("acquire", |scope, bytes| ends(scope.acquire::<u8, _>(bytes))),
        ("acquire_zeroed", |scope, bytes| ends(scope.acquire_zeroed::<u8, _>(bytes))),
        ("acquire_with", |scope, bytes| ends(scope.acquire_with(bytes, |_| 1_u8))),
        ("acquire_from", |scope, bytes| ends(scope.acquire_from(&vec![1_u8; bytes]))),
        ("acquire_uninit", |scope, bytes| ends(scope.acquire_uninit::<u8, _>(bytes))),
        ("acquire_vec", |scope, bytes| {
            let mut vector = scope.acquire_vec::<u8>(0);
            vector.extend((0..bytes).map(|_| 1));
            ends(vector.into_slice())
        }),
    ];
    let sizes: &[usize] = if cfg!(miri) { &[130] } else { &[64, 60, 130, 1_000] };
    for (kind, acquire) in kinds {
        for &bytes in sizes {
            let (mut pool, ledger) = stack();
            for _ in 0..3 {
                // Afterwards the pool is settled.
                acquire(&pool.scope(), rounds(10_000, 500));
            }
            let allocations = ledger.allocations();
            let scope = pool.scope();
            while ledger.allocations() == allocations {
                let (start, end) = acquire(&scope, bytes);
                let (block, block_bytes) = ledger.block_of(start).expect("a live block");
                let last = block + block_bytes - HeapBackend::ALIGN;
                assert!(end <= last, "{kind} of {bytes} bytes ends {} bytes above", end - last);
            }
        }
    }
}

#[test]
fn elements_that_are_made_may_acquire() {
    let (mut pool, _) = stack();
    let length = rounds(1_000, 120);
    for _ in 0..3 {
        let scope = pool.scope();
        let calls = Cell::new(0);
        let sums = scope.acquire_with(10, |i| {
            calls.set(calls.get() + 1);
            scope.acquire_filled(length, i as u64).iter().sum::<u64>()
        });
        assert_eq!((sums[9], calls.get()), (9 * length as u64, 10));
    }
}

/// Recursion: each level has an inner scope of its own.
fn recurse(scope: Scope<'_, StackedHeap>, depth: usize) -> usize {
    let mut scope = scope;
    let own = scope.acquire::<u64, _>(100 * (depth + 1));
    stamp(own, depth as u64);
    let below = if depth == 0 { 0 } else { recurse(scope.scope(), depth - 1) };
    assert_stamped(own, depth as u64);
    below + own.len()
}

#[test]
#[cfg_attr(miri, ignore = "SKIPPED: compares numbers of bytes; the random programs run this code")]
fn recursion_holds_the_sum_of_its_levels() {
    let (mut pool, ledger) = stack();
    for _ in 0..3 {
        assert_eq!(recurse(pool.scope(), 9), 5_500);
    }
    assert_eq!(ledger.live_blocks(), 1);
    assert!(pool.stats().reserved_bytes <= 5_500 * 8 + 10 * 64 + 44_000 / 20);
}
