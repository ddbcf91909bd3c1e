//! Vectors in stacks: they grow in place, give back unused memory, and so hold little more than
//! their elements.

use pool_conformance::{HeapBackend, Ledger};
use pool_core::{Pool, PoolConfig, Scope, Stacked};

use crate::support::{address, assert_stamped, pool_of, pool_with, rounds, stamp};

type StackedHeap = Stacked<HeapBackend>;

fn stack() -> (Pool<StackedHeap>, Ledger) {
    pool_of()
}

/// A parser: a vector of tokens for each node, whose length is known at its end, and then the node's children.
fn parse(scope: &mut Scope<'_, StackedHeap>, random: &mut fastrand::Rng, depth: usize) -> usize {
    let count = random.u32(1..if cfg!(miri) { 100 } else { 3_000 });
    let mut tokens = scope.acquire_vec::<(u32, u32)>(0);
    tokens.extend((0..count).map(|token| (token, !token)));
    let tokens = tokens.into_slice();
    let children = if depth == 0 { 0 } else { random.usize(1..3) };
    let deepest =
        (0..children).map(|_| parse(&mut scope.scope(), random, depth - 1)).max().unwrap_or(0);
    assert!(tokens.iter().map(|token| token.0).eq(0..count));
    size_of_val(tokens) + deepest
}

#[test]
fn growing_vectors_hold_what_they_have() {
    for seed in 0..rounds(20, 1) as u64 {
        let (mut pool, ledger) = stack();
        let (mut live, mut allocations) = (0, 0);
        for pass in 0..6 {
            live = parse(&mut pool.scope(), &mut fastrand::Rng::with_seed(seed), 4);
            if pass == 2 {
                allocations = ledger.allocations();
            }
        }
        assert_eq!(ledger.allocations(), allocations, "equal passes allocate nothing");
        let held = pool.stats().reserved_bytes;
        // Each of five live vectors is rounded up to lines.
        assert!(held <= live * 105 / 100 + 6 * 64, "seed {seed}: {held} of {live}");
    }
}

#[test]
fn a_vector_gives_back_what_it_does_not_use_if_it_is_the_last_array() {
    let (mut pool, _) = stack();
    for _ in 0..3 {
        let scope = pool.scope();
        let mut last = scope.acquire_vec::<u64>(100);
        last.extend(0..10);
        let last = last.into_slice();
        let next = scope.acquire::<u64, _>(3);
        stamp(next, 1);
        assert_eq!(address(next) - address(last), 128, "ten numbers are two lines");

        let mut first = scope.acquire_vec::<u64>(100);
        first.extend(0..10);
        let between = scope.acquire::<u64, _>(3);
        stamp(between, 2);
        let first = first.into_slice();
        let after = scope.acquire::<u64, _>(3);
        stamp(after, 3);
        assert_eq!(address(after) - address(between), 64, "what came after the vector stays");
        assert!(first.iter().chain(&*last).copied().eq((0..10).chain(0..10)));
        assert_stamped(next, 1);
        assert_stamped(between, 2);

        let empty = scope.acquire_vec::<u64>(100).into_slice();
        let at_once = scope.acquire::<u64, _>(1);
        assert_eq!((address(empty), empty.len()), (address(at_once), 0));
    }
}

/// A vector's part of the rest of a chunk ends with the chunk, even if it is poisoned.
#[test]
fn a_vector_that_gets_the_rest_of_its_chunk_ends_with_it() {
    for config in [PoolConfig::new(), PoolConfig::new().poison(true)] {
        let (mut pool, ledger) = pool_with::<StackedHeap>(config);
        for pass in 0..5 {
            let scope = pool.scope();
            let mut vector = scope.acquire_vec::<u64>(0);
            vector.extend(0..rounds(3_000, 300) as u64);
            assert!(vector.iter().copied().eq(0..rounds(3_000, 300) as u64));
            let capacity = vector.capacity();
            let (block, bytes) = ledger.block_of(address(&vector)).unwrap();
            assert!(address(&vector) + 8 * capacity <= block + bytes - 64, "pass {pass}");
            assert_eq!(vector.into_slice()[1], 1);
        }
    }
}

/// A vector that is not made a slice may have needed all of its capacity.
#[test]
fn a_vector_that_is_dropped_counts_with_its_capacity() {
    let (mut pool, ledger) = stack();
    let mut allocations = 0;
    for pass in 0..6 {
        let scope = pool.scope();
        let mut vector = scope.acquire_vec::<u64>(0);
        vector.extend(0..rounds(5_000, 300) as u64);
        assert_eq!(vector.len(), rounds(5_000, 300));
        if pass == 2 {
            allocations = ledger.allocations();
        }
    }
    assert_eq!(ledger.allocations(), allocations, "equal passes allocate nothing");
}
