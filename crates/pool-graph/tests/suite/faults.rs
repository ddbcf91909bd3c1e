//! The source refuses: at each call in turn, and permanently.

use pool_graph::{
    CUDAGraphMemoryPool, GraphMemoryError, GraphPoolConfig, SyntheticMemory, SyntheticRefusal,
};

use crate::cases::MIB;

/// Runs a program that grows, returns, leases, trims and resets. Returns `true` without a refusal.
fn program(pool: &CUDAGraphMemoryPool<SyntheticMemory>) -> bool {
    let mut complete = true;
    let mut take = |size| match pool.allocate((size, 4096)) {
        Ok(block) => Some(block.id()),
        Err(GraphMemoryError::OutOfMemory { source, requested, .. }) => {
            assert!(matches!(source, SyntheticRefusal::OnRequest { .. }));
            assert_eq!(requested, size);
            complete = false;
            None
        }
        Err(other) => panic!("{other:?}"),
    };
    let first = take(5 * MIB);
    take(15 * MIB);
    let large = take(40 * MIB);
    let leased: Vec<_> = first.into_iter().collect();
    let lease = pool.lease(&leased).unwrap();
    if let Some(large) = large {
        pool.deallocate(large).unwrap();
    }
    take(41 * MIB);
    pool.reset().unwrap();
    take(16 * MIB);
    drop(lease);
    pool.trim().unwrap();
    take(100 * MIB);
    complete
}

#[test]
fn every_call_of_the_source_fails_in_turn() {
    let mut nth = 1;
    loop {
        let source = SyntheticMemory::new();
        source.refuse(nth);
        let initial = GraphPoolConfig { initial: 16 * MIB, maximum: u64::MAX };
        let pool = CUDAGraphMemoryPool::with_config(source.clone(), initial);
        let complete = program(&pool) && pool.refusal().is_none();
        assert_eq!(pool.allocated_bytes(), source.held());
        assert_eq!(pool.stats().refusals, u64::from(source.allocations() >= nth));
        let reached = source.allocations() >= nth;
        assert!(complete || reached);
        pool.dispose();
        assert_eq!((source.held(), source.mistakes()), (0, 0));
        if !reached {
            break;
        }
        nth += 1;
    }
    assert!(nth > 5, "only {nth} calls");
}

#[test]
fn every_call_after_the_nth_fails() {
    for nth in 1..if cfg!(miri) { 3 } else { 12 } {
        let source = SyntheticMemory::new();
        let pool = CUDAGraphMemoryPool::with_config(
            source.clone(),
            GraphPoolConfig { initial: 0, maximum: u64::MAX },
        );
        source.refuse_from(nth);
        program(&pool);
        assert_eq!(pool.allocated_bytes(), source.held());
        source.refuse_none();
        assert!(program(&pool), "usable after every refusal");
        drop(pool);
        assert_eq!((source.held(), source.mistakes()), (0, 0));
    }
}

#[test]
fn a_refused_chunk_is_followed_by_the_least_that_would_do() {
    let source = SyntheticMemory::with_limit(MIB);
    let pool = CUDAGraphMemoryPool::with_config(
        source.clone(),
        GraphPoolConfig { initial: 0, maximum: u64::MAX },
    );
    let block = pool.allocate((1000, 4096)).unwrap();
    assert_eq!(source.held(), 1024 + 4096 - 256);
    assert_eq!(pool.stats().refusals, 1);
    // The request that caused the growth finds the new chunk again.
    pool.reset().unwrap();
    let again = pool.allocate((1000, 4096)).unwrap();
    assert_eq!(again.address(), block.address());
}

#[test]
fn idle_chunks_go_before_the_source_has_the_last_word() {
    let source = SyntheticMemory::with_limit(48 * MIB);
    let pool = CUDAGraphMemoryPool::with_config(
        source.clone(),
        GraphPoolConfig { initial: 48 * MIB, maximum: u64::MAX },
    );
    assert!(pool.allocate(40 * MIB).is_ok());
    assert_eq!(source.held(), 40 * MIB);
    let refused = pool.allocate(9 * MIB).unwrap_err();
    let expected = SyntheticRefusal::Full { requested: 9 * MIB, held: 40 * MIB, limit: 48 * MIB };
    assert!(matches!(refused, GraphMemoryError::OutOfMemory { source, .. } if source == expected));
    assert!(pool.allocate(8 * MIB).is_ok());
}
