//! The host has no memory for the pool's own bookkeeping: tables, shape sets and the checkpoint stack.
//! Each host allocation is refused in turn, until the call needs no more of them.

use pool_conformance::{HeapBackend, Ledger};
use pool_core::{DynamicPool, Pool, PoolConfig, PoolError};

use crate::counting::{allocations_in, refusing_one};
use crate::support::{
    assert_stamped, dynamic_heap_pool, heap_pool, rounds, slots_per_table, stamp, take,
};

/// Checks that the error is the host's, and asks for a plausible number of bytes, which it returns.
#[track_caller]
fn assert_bookkeeping<E: std::fmt::Debug>(error: &PoolError<E>) -> usize {
    let PoolError::Bookkeeping { requested } = error else { panic!("{error:?}") };
    assert!((1..1 << 16).contains(requested), "{requested} bytes");
    *requested
}

#[test]
fn refused_memory_for_a_new_pool() {
    let ledger = Ledger::new();
    let mut refused_bytes = Vec::new();
    loop {
        let context = ledger.clone();
        let (pool, refused) = refusing_one(refused_bytes.len(), || {
            Pool::<HeapBackend>::with_config(context, PoolConfig::new())
        });
        if !refused {
            pool.unwrap().scope().acquire::<u64, _>(1);
            break;
        }
        refused_bytes.push(assert_bookkeeping(&pool.unwrap_err()));
    }
    let [_state, list, _table] = refused_bytes[..] else { panic!("{refused_bytes:?}") };
    assert_eq!(list, 4 * size_of::<usize>(), "a list of four tables");

    let context = ledger.clone();
    let (pool, refused) = refusing_one(refused_bytes.len(), || {
        DynamicPool::<HeapBackend>::with_config(context, PoolConfig::new())
    });
    assert!(refused, "the checkpoint stack is memory as well");
    assert_bookkeeping(&pool.unwrap_err());
    assert_eq!(ledger.live_blocks(), 0);
}

#[test]
fn refused_memory_for_another_table() {
    let per_table = slots_per_table();
    let (mut pool, _) = heap_pool();
    for table in 1..rounds(6, 3) {
        let mut scope = pool.scope();
        take(&scope, table * per_table - 1, 0);
        let last = scope.acquire::<u64, _>(4);
        stamp(last, 1);
        let mut refusals = 0;
        loop {
            let (view, refused) = refusing_one(refusals, || scope.try_acquire::<u64, _>(0));
            if !refused {
                assert!(view.unwrap().is_empty());
                break;
            }
            assert_bookkeeping(&view.unwrap_err());
            assert_eq!(scope.active_slots(), table * per_table, "nothing was taken");
            assert_eq!(scope.trim().slots, 0);
            refusals += 1;
        }
        assert!(refusals >= 1, "a table");
        let inner = scope.scope();
        stamp(inner.acquire(4), 2);
        assert_eq!(inner.active_slots(), table * per_table + 2);
        assert_stamped(last, 1);
    }
}

/// The total cost of all copies of the list of tables stays proportional to its length.
#[test]
fn the_list_of_tables_has_twice_the_room_each_time() {
    let (mut pool, _) = heap_pool();
    let scope = pool.scope();
    let doublings = rounds(5, 1);
    let tables = 4 << doublings;
    let slots = tables * slots_per_table();
    let allocations = allocations_in(|| take(&scope, slots - 1, 0));
    assert_eq!(allocations, tables - 1 + doublings, "the first table and room for 4 were there");
}

#[test]
fn refused_memory_for_a_shape() {
    let (mut pool, _) = heap_pool();
    pool.scope().acquire::<u64, _>(100);
    let scope = pool.scope();
    let mut refusals = 0;
    let array = loop {
        let (array, refused) =
            refusing_one(refusals, || scope.try_acquire::<u64, _>(&[2, 3, 4][..]));
        if !refused {
            break array.unwrap();
        }
        assert_bookkeeping(&array.unwrap_err());
        assert_eq!(scope.active_slots(), 0);
        refusals += 1;
    };
    assert!(refusals >= 3, "the lengths, the ways, and the set");
    assert_eq!((array.shape(), array.strides()), (&[2, 3, 4][..], &[12, 4, 1][..]));
}

#[test]
fn refused_memory_for_a_further_shape_leaves_the_others_in_the_cache() {
    let (mut pool, _) = heap_pool();
    pool.scope().acquire::<u64, _>(100);
    let shapes: [&[usize]; 5] = [&[1, 2], &[2, 2], &[3, 2], &[4, 2], &[5, 2]];
    for dims in &shapes[..4] {
        pool.scope().acquire::<u64, _>(*dims);
    }
    let (refusal, refused) =
        refusing_one(0, || pool.scope().try_acquire::<u64, _>(shapes[4]).map(drop));
    assert!(refused);
    assert_bookkeeping(&refusal.unwrap_err());
    for dims in &shapes[..4] {
        let (array, refused) = refusing_one(0, || pool.scope().acquire::<u64, _>(*dims));
        assert_eq!((array.shape(), refused), (*dims, false), "a hit needs no memory");
    }
    assert_eq!(pool.stats().shape_hits, 4);
}

#[test]
fn refused_memory_for_a_checkpoint() {
    let (mut pool, _) = dynamic_heap_pool();
    let mut refusals = 0;
    for depth in 1..rounds(1000, 40) {
        pool.acquire::<u64>(0);
        let (pushed, refused) = refusing_one(0, || pool.try_checkpoint());
        if refused {
            assert_bookkeeping(&pushed.unwrap_err());
            assert_eq!((pool.depth(), pool.active_slots()), (depth - 1, depth));
            refusals += 1;
            assert_eq!(pool.checkpoint(), depth);
        } else {
            assert_eq!(pushed.unwrap(), depth);
        }
    }
    assert!(refusals >= 3, "the stack grew so often");
    pool.rewind_to(1).unwrap();
    assert_eq!((pool.depth(), pool.active_slots()), (0, 1));
}

/// The error has the bytes that the stack needed: a word for the root, and one for every
/// checkpoint.
#[test]
fn a_refused_checkpoint_says_how_long_a_stack_it_wanted() {
    let words = |count: usize| PoolError::Bookkeeping { requested: count * size_of::<usize>() };
    let (mut pool, _) = dynamic_heap_pool();
    let mut refusals = 0;
    for depth in 1..rounds(100, 20) {
        let (pushed, refused) = refusing_one(0, || pool.try_checkpoint());
        if refused {
            assert_eq!(pushed.unwrap_err(), words(1 + depth));
            refusals += 1;
            pool.checkpoint();
        }
    }
    assert!(refusals >= 2, "the stack grew so often");
}
