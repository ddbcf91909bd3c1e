//! Attacks on stacks: each found a bug in the layout, or tests one of its invariants.

use std::cell::{Cell, RefCell};
use std::ptr::NonNull;

use pool_conformance::adapted::{AdaptedError, Adaptor, StackedAdaptor};
use pool_conformance::{AdaptedBackend, HeapBackend, Ledger, Refusal, RefusalError};
use pool_core::{
    Advice, Compaction, DynamicPool, Pool, PoolBackend, PoolConfig, PoolError, Scope, Stacked,
};

use crate::support::{assert_initialised, assert_stamped, rounds, stamp};

type StackedHeap = Stacked<HeapBackend>;

fn stack_with(config: PoolConfig) -> (Pool<StackedHeap>, Ledger) {
    let ledger = Ledger::new();
    (Pool::with_config(ledger.clone(), config).unwrap(), ledger)
}

/// Host memory whose addresses the test chooses.
struct Placed {
    ledger: Ledger,
    arena: RefCell<Vec<Line>>,
    /// The addresses of the next chunks, in lines, the last one first.
    next: RefCell<Vec<usize>>,
}

#[derive(Clone, Copy)]
#[repr(align(64))]
struct Line(#[expect(dead_code, reason = "memory")] [u8; 64]);

impl Placed {
    fn new(mut lines: Vec<usize>) -> Self {
        lines.reverse();
        let arena = RefCell::new(vec![Line([0; 64]); 4_096]);
        Self { ledger: Ledger::new(), arena, next: RefCell::new(lines) }
    }
}

// SAFETY: the blocks are parts of one allocation; the tests choose disjoint parts.
unsafe impl Adaptor for Placed {
    type Inner = HeapBackend;
    type Descriptor = u64;

    fn inner(&self) -> &Ledger {
        &self.ledger
    }

    fn allocate(&self, bytes: usize, advice: Advice) -> Result<NonNull<u8>, AdaptedError<Self>> {
        let Some(line) = self.next.borrow_mut().pop() else {
            return HeapBackend::allocate(&self.ledger, bytes, advice).map_err(AdaptedError::Inner);
        };
        let mut arena = self.arena.borrow_mut();
        assert!(line * 64 + bytes <= arena.len() * 64);
        let start = NonNull::new(arena.as_mut_ptr()).unwrap();
        // SAFETY: within the arena.
        Ok(unsafe { start.add(line) }.cast())
    }

    unsafe fn free(&self, block: NonNull<u8>, bytes: usize) {
        let arena = self.arena.borrow().as_ptr_range();
        if !(arena.start.addr()..arena.end.addr()).contains(&block.addr().get()) {
            // SAFETY: the same contract, which the caller upholds.
            unsafe { HeapBackend::free(&self.ledger, block, bytes) };
        }
    }
}

// SAFETY: the views are the heap's, which ignore the reference; nothing else is overridden.
unsafe impl StackedAdaptor for Placed {}

/// A cursor without a chunk may be an address within the next chunk. No memory of that chunk may be below the cursor.
#[test]
fn what_is_kept_is_in_no_chunk_that_covers_a_stray_cursor() {
    for second in [56, 60, 62, 40] {
        let placed = Placed::new(vec![64, second, 1_024, 2_048]);
        let mut pool = Pool::<Stacked<AdaptedBackend<Placed>>>::new(placed);
        for _ in 0..2 {
            pool.scope().acquire::<u8, _>(4_032);
        }
        let mut scope = pool.scope();
        assert_eq!(scope.trim().slots, 1);
        // The cursor is at line 64, and the chunk of the inner scope begins below.
        let kept = scope.keep(|inner| {
            let array = inner.acquire::<u64, _>(200);
            stamp(array, 1);
            array
        });
        let next = scope.acquire::<u64, _>(200);
        stamp(next, 2);
        assert_stamped(kept, 1);
        assert_stamped(next, 2);
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(align(256))]
struct Wide(u8);

#[test]
#[cfg_attr(
    miri,
    ignore = "SKIPPED: for Miri's symbolic check, memory has the alignment of its block"
)]
fn an_empty_vector_of_wide_elements_grows_above_what_is_live() {
    let (mut pool, _) = stack_with(PoolConfig::new());
    for _ in 0..3 {
        let scope = pool.scope();
        let mut held: Vec<&mut [u64]> = Vec::new();
        for round in 0..8 {
            let array = scope.acquire::<u64, _>(3);
            stamp(array, round);
            held.push(array);
            let mut vector = scope.acquire_vec::<Wide>(0);
            for element in 0..5 {
                vector.push(Wide(element));
            }
            assert_eq!(vector[4], Wide(4));
            let collected = scope.acquire_from_iter((0..3).map(Wide));
            assert_eq!(collected, [Wide(0), Wide(1), Wide(2)]);
            let none = scope.acquire_from_iter((0..0).map(Wide));
            assert!(none.is_empty());
        }
        for (round, array) in (0..).zip(held) {
            assert_stamped(array, round);
        }
    }
}

/// The address of a vector without memory may be above the chunk.
#[test]
#[cfg_attr(
    miri,
    ignore = "SKIPPED: for Miri's symbolic check, memory has the alignment of its block"
)]
fn an_empty_vector_of_wide_elements_at_the_end_of_a_chunk_grows_elsewhere() {
    for lines in 1..64 {
        let (mut pool, _) = stack_with(PoolConfig::new());
        let scope = pool.scope();
        let held = scope.acquire::<u64, _>(8);
        stamp(held, 1);
        let more = scope.acquire::<u64, _>(8 * (lines - 1));
        stamp(more, 2);
        let mut vector = scope.acquire_vec::<Wide>(0);
        vector.push(Wide(5));
        stamp(scope.acquire::<u64, _>(8), 3);
        assert_eq!(vector[0], Wide(5));
        assert_stamped(held, 1);
        assert_stamped(more, 2);
    }
}

/// A refused push of wide elements leaves the cursor unchanged, above the live arrays.
#[test]
#[cfg_attr(
    miri,
    ignore = "SKIPPED: for Miri's symbolic check, memory has the alignment of its block"
)]
fn a_refused_vector_of_wide_elements_moves_no_cursor() {
    let (mut pool, ledger) = stack_with(PoolConfig::new());
    let scope = pool.scope();
    let held = scope.acquire::<u64, _>(3);
    stamp(held, 1);
    ledger.refuse(Refusal::From(0));
    let refused = scope.try_acquire_from_iter((0..100_000_u32).map(|_| Wide(7)));
    assert!(matches!(refused, Err(PoolError::OutOfMemory { .. })));
    ledger.refuse(Refusal::Never);
    for round in 2..40 {
        stamp(scope.acquire::<u64, _>(3), round);
    }
    assert_stamped(held, 1);
}

/// Arrays of wide elements have the same padding in every chunk, at any address.
#[test]
#[cfg_attr(
    miri,
    ignore = "SKIPPED: for Miri's symbolic check, memory has the alignment of its block"
)]
fn equal_passes_of_wide_elements_allocate_nothing() {
    let mut random = fastrand::Rng::with_seed(3);
    for first in 1..rounds(200, 6) {
        let lines = (0..40).map(|chunk| chunk * 100 + random.usize(0..4)).collect();
        let mut pool = Pool::<Stacked<AdaptedBackend<Placed>>>::new(Placed::new(lines));
        let mut pass = || {
            {
                let scope = pool.scope();
                scope.acquire::<u8, _>(first % 40 * 64);
                let one = scope.acquire_with(1, |_| Wide(1));
                scope.acquire::<u8, _>(1);
                let two = scope.acquire_with(2, |_| Wide(2));
                scope.acquire::<u8, _>(first);
                let three = scope.acquire_with(1, |_| Wide(3));
                assert_eq!((one[0].0, two[1].0, three[0].0), (1, 2, 3));
                let addresses = one.as_ptr().addr() | two.as_ptr().addr() | three.as_ptr().addr();
                assert_eq!(addresses % 256, 0);
            }
            pool.stats().growths
        };
        for _ in 0..2 {
            pass();
        }
        let settled = pass();
        for _ in 0..10 {
            assert_eq!(pass(), settled, "after {first} lines");
        }
    }
}

/// An idle chunk makes room, as an idle block does.
#[test]
fn the_limit_counts_an_idle_chunk_as_free() {
    let (mut pool, ledger) = stack_with(PoolConfig::new().byte_limit(10_000));
    pool.scope().acquire::<u8, _>(4_032);
    let scope = pool.scope();
    let array = scope.try_acquire::<u64, _>(1_200).expect("nothing else is live");
    stamp(array, 1);
    assert_stamped(array, 1);
    assert!(ledger.peak_bytes() <= 10_000);
    assert!(matches!(
        scope.try_acquire::<u64, _>(1_200),
        Err(PoolError::LimitExceeded { limit: 10_000, .. })
    ));
    assert_stamped(array, 1);
}

/// A vector is in the chunk that would otherwise be idle.
#[test]
fn the_limit_does_not_free_the_chunk_of_a_vector_that_grows() {
    let (mut pool, ledger) = stack_with(PoolConfig::new().byte_limit(10_000));
    let scope = pool.scope();
    let mut vector = scope.acquire_vec::<u64>(500);
    vector.extend((0..500).map(|element| element + 7));
    assert!(matches!(vector.try_reserve(700), Err(PoolError::LimitExceeded { .. })));
    assert!(vector.iter().copied().eq(7..507));
    // It has the memory also while it is empty.
    vector.clear();
    assert!(matches!(vector.try_reserve(2_000), Err(PoolError::LimitExceeded { .. })));
    assert_eq!(ledger.live_blocks(), 1);
    vector.extend(0..500);
    assert!(vector.iter().copied().eq(0..500));
}

#[test]
fn one_refusal_is_made_up_for() {
    let (mut pool, ledger) = stack_with(PoolConfig::new());
    let scope = pool.scope();
    for length in [10, rounds(10_000, 1_000), rounds(300_000, 10_000)] {
        ledger.refuse(Refusal::Once(0));
        stamp(scope.try_acquire::<u64, _>(length).unwrap(), 1);
        assert_eq!(ledger.refusal(), Refusal::Never);
    }
}

#[test]
fn samples_come_to_an_end() {
    let (mut pool, _) = stack_with(PoolConfig::new());
    let mut pass = || {
        {
            let scope = pool.scope();
            scope.acquire::<u64, _>(100);
            scope.acquire::<u64, _>(200);
        }
        pool.stats().cold_acquires
    };
    for _ in 0..3 {
        pass();
    }
    let settled = pass();
    assert_eq!(pass(), settled);
    pool.sample_lengths();
    let mut pass = || {
        pool.scope().acquire::<u64, _>(100);
        pool.stats().cold_acquires
    };
    for _ in 0..Compaction::SAMPLES {
        pass();
    }
    let sampled = pass();
    assert_eq!(pass(), sampled, "the sampling has ended");
}

#[test]
fn giving_memory_back_allocates_nothing() {
    let (mut pool, ledger) = stack_with(PoolConfig::new());
    for call in [|pool: &mut Pool<StackedHeap>| pool.trim(), Pool::clear] {
        for length in [1_000, 50_000] {
            pool.scope().acquire::<u64, _>(length);
        }
        pool.scope().acquire::<u64, _>(70_000);
        let before = ledger.held();
        let released = call(&mut pool);
        assert_eq!((released.bytes, released.slots), (before.bytes, before.blocks));
        assert_eq!((ledger.allocations(), ledger.live_blocks()), (before.allocations, 0));
    }
    let mut dynamic = DynamicPool::<StackedHeap>::new(ledger.clone());
    for length in [1_000, 50_000] {
        dynamic.acquire::<u64>(length);
    }
    let before = ledger.held();
    assert_eq!(dynamic.clear().bytes, before.bytes);
    assert_eq!((ledger.allocations(), ledger.live_blocks()), (before.allocations, 0));
    let handle = dynamic.acquire_filled(10, 3_u8);
    assert_eq!(dynamic.get(handle).unwrap(), [3; 10]);
}

/// Writes pairs, whose padding is not initialised, at many places, and reads all of them.
#[test]
fn many_dirty_ranges_are_zeroed_and_leave_the_pool_hot() {
    let (mut pool, _) = stack_with(PoolConfig::new());
    for pass in 0..4 {
        for lengths in [[3, 1], [9, 2], [2, 5], [17, 1]]
            .map(|lengths| lengths.map(|length| length * rounds(20, 4)))
        {
            let scope = pool.scope();
            for round in 0..12 {
                scope.acquire_with(lengths[0], |i| (round, i as u64));
                scope.acquire_with(lengths[1] * 5, |i| i as u64);
            }
        }
        let mut scope = pool.scope();
        scope.acquire_with(100 * pass, |i| i as u64);
        for length in [8, 16, 64, 8, 300, 5_000] {
            let inner = scope.scope();
            let numbers = inner.acquire::<u64, _>(length);
            assert_initialised(bytemuck::cast_slice(numbers));
        }
    }
    // Since then, chunks and their dirty ranges were merged: dirty bytes are zeroed once.
    let mut pass = || {
        for _ in 0..3 {
            pool.scope().acquire::<u64, _>(rounds(20_000, 2_000));
        }
        pool.stats().cold_acquires
    };
    for _ in 0..3 {
        pass();
    }
    let settled = pass();
    assert_eq!(pass(), settled, "a pool whose bytes are all initialised is hot");
}

thread_local! {
    /// The scope from which the hook of [`Hooked`] acquires.
    static IN_USE: Cell<Option<&'static Scope<'static, HookedStack>>> = const { Cell::new(None) };
    /// The number of times that the hook was refused.
    static REFUSED: Cell<usize> = const { Cell::new(0) };
}

type HookedStack = Stacked<AdaptedBackend<Hooked>>;

/// The heap with foreign code in each of its operations: it uses the pool that calls.
struct Hooked(Ledger);

fn hook() {
    let Some(scope) = IN_USE.get() else { return };
    let results = [
        scope.try_acquire::<u8, _>(10).map(drop),
        scope.try_acquire_filled(10, 1_u8).map(drop),
        scope.try_acquire::<u8, _>(&[2, 5][..]).map(drop),
        scope.try_acquire_vec::<u64>(3).map(drop),
    ];
    for result in results {
        assert!(matches!(result, Err(PoolError::Reentered)), "{result:?}");
    }
    assert_eq!(scope.trim().slots, 0);
    scope.sample_lengths();
    assert!(scope.stats().reserved_bytes > 0);
    REFUSED.set(REFUSED.get() + 1);
}

// SAFETY: the inner backend does everything.
unsafe impl Adaptor for Hooked {
    type Inner = HeapBackend;
    type Descriptor = u64;

    fn inner(&self) -> &Ledger {
        &self.0
    }

    fn allocate(&self, bytes: usize, advice: Advice) -> Result<NonNull<u8>, AdaptedError<Self>> {
        hook();
        HeapBackend::allocate(&self.0, bytes, advice).map_err(AdaptedError::Inner)
    }

    unsafe fn free(&self, block: NonNull<u8>, bytes: usize) {
        hook();
        // SAFETY: the same contract, which the caller upholds.
        unsafe { HeapBackend::free(&self.0, block, bytes) };
    }

    fn settle(&self) {
        hook();
    }

    unsafe fn set_bytes(
        &self,
        block: NonNull<u8>,
        value: u8,
        bytes: usize,
    ) -> Result<(), RefusalError> {
        hook();
        // SAFETY: the same contract, which the caller upholds.
        unsafe { HeapBackend::set_bytes(&self.0, block, value, bytes) }
    }
}

// SAFETY: the views are the heap's, which ignore the reference; nothing else is overridden.
unsafe impl StackedAdaptor for Hooked {}

/// Foreign code that runs inside an operation finds the pool busy, whether it is settled or not.
#[test]
fn foreign_code_is_refused_in_every_operation() {
    let ledger = Ledger::new();
    let mut pool = Pool::<HookedStack>::new(Hooked(ledger.clone()));
    for _ in 0..3 {
        let scope = pool.scope();
        scope.acquire::<u64, _>(1_000);
        scope.acquire_uninit::<u64, _>(100);
    }
    // A scope that the hook can reach. The pool is freed at the end, when nothing refers to the scope any more.
    let pool = Box::into_raw(Box::new(pool));
    // SAFETY: the box was just given up.
    let scope = Box::into_raw(Box::new(unsafe { &mut *pool }.scope()));
    // SAFETY: as above; freed after the hook has forgotten it.
    let shared: &'static Scope<'static, HookedStack> = unsafe { &*scope };
    shared.acquire_filled(1_000, 1_u64);
    IN_USE.set(Some(shared));
    let zeroed = shared.acquire::<u64, _>(50);
    assert_eq!(zeroed, [0; 50]);
    let in_zeroing = REFUSED.get();
    assert!(in_zeroing > 0, "a dirty range is zeroed");
    stamp(shared.acquire::<u64, _>(rounds(100_000, 5_000)), 2);
    let in_growing = REFUSED.get();
    assert!(in_growing > in_zeroing, "a chunk is allocated");
    assert_eq!(zeroed, [0; 50]);
    IN_USE.set(None);
    // SAFETY: made of a box above, and nothing refers to it any more.
    drop(unsafe { Box::from_raw(scope) });
    // SAFETY: as above.
    drop(unsafe { Box::from_raw(pool) });
    assert_eq!(ledger.live_blocks(), 0);
}
