//! Named cases of the pool.

use pool_graph::{
    BlockState, CUDAGraphMemoryPool, GraphMemoryBlock, GraphMemoryError, MemorySource,
};

use super::intervals::Intervals;
use super::{MIB, Subject};

/// The step in powers of two from one alignment to the next.
const STEP: usize = if cfg!(miri) { 5 } else { 1 };

/// Sizes from 1 byte to the largest that the subject has, alignments from 1 to 1 MiB.
pub(crate) fn sizes_and_alignments<M: MemorySource + Clone>(subject: &Subject<M>) {
    let pool = subject.pool(0, u64::MAX);
    let mut sizes = vec![1, 255, 256, 257, 4096, 65_537, MIB, 16 * MIB - 1, 16 * MIB + 1];
    sizes.push(subject.largest);
    let mut live = Intervals::default();
    for &size in sizes.iter().filter(|&&size| size <= subject.largest) {
        let mut blocks = Vec::new();
        for alignment in (0..=20).step_by(STEP).map(|power| 1 << power) {
            let block = pool.allocate((size, alignment)).unwrap();
            assert_eq!((block.size(), block.alignment()), (size, alignment));
            assert_eq!(block.address() % alignment.max(256), 0);
            assert_eq!(block.state(), BlockState::Allocated);
            live.insert(block.address(), size);
            blocks.push(block);
            if size > MIB {
                // Large ones in turn, because the memory is limited.
                give_all(&pool, &mut live, &mut blocks);
            }
        }
        give_all(&pool, &mut live, &mut blocks);
        pool.trim().unwrap();
    }
    assert_eq!((live.len(), pool.allocated_bytes()), (0, 0));
}

fn give_all<M: MemorySource>(
    pool: &CUDAGraphMemoryPool<M>,
    live: &mut Intervals,
    blocks: &mut Vec<GraphMemoryBlock>,
) {
    for block in blocks.drain(..) {
        live.remove(block.address(), block.size());
        pool.deallocate(block.id()).unwrap();
    }
}

/// An invalid size or alignment is an error, and allocates nothing.
pub(crate) fn impossible_requests<M: MemorySource + Clone>(subject: &Subject<M>) {
    let pool = subject.pool(16 * MIB, u64::MAX);
    assert!(matches!(pool.allocate(0), Err(GraphMemoryError::ZeroSize)));
    for alignment in [0, 3, 255, 1000, u64::MAX] {
        let refused = pool.allocate((64, alignment));
        assert!(matches!(refused, Err(GraphMemoryError::BadAlignment { alignment: said })
            if said == alignment));
    }
    for (size, alignment) in [(u64::MAX, 1), (u64::MAX - 1, 256), (1 << 63, 1 << 63)] {
        let refused = pool.allocate((size, alignment)).unwrap_err();
        assert!(!matches!(refused, GraphMemoryError::ZeroSize), "{refused:?}");
    }
    let stats = pool.stats();
    assert_eq!((stats.allocated_blocks, stats.in_use_bytes, stats.allocations), (0, 0, 0));
    assert!(pool.allocate(1).is_ok());
}

/// Neither the first bytes nor later ones exceed the maximum, and a refusal has the numbers.
pub(crate) fn the_maximum_holds<M: MemorySource + Clone>(subject: &Subject<M>) {
    let pool = subject.pool(512 * MIB, 40 * MIB + 100);
    assert_eq!((pool.allocated_bytes(), pool.block_count()), (40 * MIB, 3));
    assert!(pool.refusal().is_none(), "the maximum ends it, not the source");
    let blocks = [16, 16, 8].map(|size| pool.allocate(size * MIB).unwrap());
    let (all, most) = (40 * MIB, 40 * MIB + 100);
    assert!(matches!(
        pool.allocate(1),
        Err(GraphMemoryError::CapacityExceeded { requested: 1, used, reserved, capacity })
            if (used, reserved, capacity) == (all, all, most)
    ));
    pool.deallocate(blocks[2].id()).unwrap();
    assert!(pool.allocate(8 * MIB + 1).is_err());
    assert_eq!(pool.allocate(8 * MIB).unwrap().address(), blocks[2].address());
}

/// The same sequence gets the same addresses after every reset, including grown and large chunks,
/// and takes no more memory from the source.
pub(crate) fn same_addresses_after_reset<M: MemorySource + Clone>(subject: &Subject<M>) {
    let pool = subject.pool(32 * MIB, u64::MAX);
    let first = sequence(&pool);
    let reserved = pool.allocated_bytes();
    assert!(reserved > 32 * MIB, "the sequence grows the pool");
    for round in 0..if cfg!(miri) { 2 } else { 10 } {
        let reset = pool.reset().unwrap();
        assert_eq!((reset.returned, reset.leased), (12, 0));
        assert_eq!(pool.stats().fragmentation(), 0.0, "round {round}");
        assert_eq!(sequence(&pool), first, "round {round}");
        assert_eq!(pool.allocated_bytes(), reserved);
    }
}

/// Leaves 12 blocks. Returns addresses in order of allocation.
fn sequence<M: MemorySource>(pool: &CUDAGraphMemoryPool<M>) -> Vec<u64> {
    let mut addresses = Vec::new();
    let mut take = |size, alignment| {
        let block = pool.allocate((size, alignment)).unwrap();
        addresses.push(block.address());
        block.id()
    };
    let large = take(17 * MIB, 1);
    let small = take(2 * MIB, 4096);
    pool.deallocate(large).unwrap();
    // It would fit the large one's bytes better than a chunk, unless there is a sleeping chunk.
    let other = take(3 * MIB, 1);
    pool.deallocate(small).unwrap();
    for size in 1..=5 {
        take(size * MIB + size * 256, 1 << (8 + size));
    }
    pool.deallocate(other).unwrap();
    for size in [100, 16 * MIB, 15 * MIB, 24 * MIB, 16 * MIB - 256, 1, 9 * MIB] {
        take(size, 1);
    }
    addresses
}

/// The same request finds a returned block again.
pub(crate) fn retention<M: MemorySource + Clone>(subject: &Subject<M>) {
    let pool = subject.pool(16 * MIB, u64::MAX);
    let sizes = [300, 70_000, 5 * MIB];
    let blocks = sizes.map(|size| pool.allocate(size).unwrap());
    for _ in 0..10 {
        for block in blocks {
            let now = pool.find(pool.allocate(1).unwrap().id()).unwrap();
            pool.deallocate(now.id()).unwrap();
            assert_eq!(pool.block(block.id()), Some(block), "others do not move it");
        }
    }
    for block in blocks {
        pool.deallocate(block.id()).unwrap();
        let again = pool.allocate(block.size()).unwrap();
        assert_ne!(again.id(), block.id(), "a name is never given twice");
        assert_eq!(again.address(), block.address());
    }
}

/// Returned blocks merge: a chunk full of small blocks can hold one large block again.
pub(crate) fn neighbours_merge<M: MemorySource + Clone>(subject: &Subject<M>) {
    let pool = subject.pool(16 * MIB, 16 * MIB);
    for order in [[0, 1, 2, 3], [3, 2, 1, 0], [1, 3, 0, 2], [2, 0, 3, 1]] {
        let blocks = [(); 4].map(|()| pool.allocate(4 * MIB).unwrap());
        assert!(pool.allocate(1).is_err());
        for place in order {
            pool.deallocate(blocks[place].id()).unwrap();
        }
        let whole = pool.allocate(16 * MIB).unwrap();
        assert_eq!(pool.block_count(), 1);
        pool.deallocate(whole.id()).unwrap();
    }
    let stats = pool.stats();
    assert_eq!((stats.growths, stats.largest_free_bytes), (0, 16 * MIB));
}

/// Names of blocks that do not exist any more, or never did here.
pub(crate) fn names_of_no_block<M: MemorySource + Clone>(subject: &Subject<M>) {
    let (pool, other) = (subject.pool(0, u64::MAX), subject.pool(0, u64::MAX));
    let block = pool.allocate(1000).unwrap().id();
    let foreign = other.allocate(1000).unwrap().id();

    assert_eq!(pool.block(foreign), None);
    assert!(matches!(pool.deallocate(foreign), Err(GraphMemoryError::UnknownBlock { .. })));
    assert!(matches!(pool.lease(&[block, foreign]), Err(GraphMemoryError::UnknownBlock { .. })));
    assert_eq!(pool.block(block).unwrap().state(), BlockState::Allocated, "all or none");

    pool.deallocate(block).unwrap();
    assert_eq!(pool.block(block), None);
    let twice = pool.deallocate(block);
    assert!(matches!(twice, Err(GraphMemoryError::AlreadyReturned { block: 0 })));
    let reused = pool.allocate(1000).unwrap().id();
    assert!(matches!(pool.deallocate(block), Err(GraphMemoryError::AlreadyReturned { .. })));

    pool.reset().unwrap();
    for stale in [block, reused] {
        assert_eq!(pool.block(stale), None);
        assert!(matches!(pool.deallocate(stale), Err(GraphMemoryError::StaleBlock { .. })));
        assert!(matches!(pool.lease(&[stale]), Err(GraphMemoryError::StaleBlock { .. })));
    }
    let stats = pool.stats();
    assert_eq!((stats.allocated_blocks, stats.returns, stats.allocations), (0, 1, 2));
}

/// After a disposal all memory is returned, and every call is an error.
pub(crate) fn disposal<M: MemorySource + Clone>(subject: &Subject<M>) {
    let pool = subject.pool(32 * MIB, u64::MAX);
    let block = pool.allocate(20 * MIB).unwrap().id();
    let disposal = pool.dispose();
    assert_eq!((disposal.freed_bytes, disposal.kept_bytes), (32 * MIB + 20 * MIB, 0));
    assert!(pool.is_disposed());
    assert_eq!(pool.allocated_bytes(), 0);

    let again = pool.dispose();
    assert_eq!((again.freed_bytes, again.kept_bytes), (0, 0));
    assert!(matches!(pool.allocate(1), Err(GraphMemoryError::Disposed)));
    assert!(matches!(pool.allocate((1, 512)), Err(GraphMemoryError::Disposed)));
    assert!(matches!(pool.deallocate(block), Err(GraphMemoryError::Disposed)));
    assert!(matches!(pool.find(block), Err(GraphMemoryError::Disposed)));
    assert!(matches!(pool.lease(&[block]).err(), Some(GraphMemoryError::Disposed)));
    assert!(matches!(pool.lease(&[]).err(), Some(GraphMemoryError::Disposed)));
    assert!(matches!(pool.reset(), Err(GraphMemoryError::Disposed)));
    assert!(matches!(pool.trim(), Err(GraphMemoryError::Disposed)));
    assert_eq!((pool.block(block), pool.block_count()), (None, 0));
    assert!(pool.stats().disposed);
}

/// Memory under a lease outlives reset, disposal and the pool.
pub(crate) fn leased_memory_stays<M: MemorySource + Clone>(subject: &Subject<M>) {
    let pool = subject.pool(16 * MIB, u64::MAX);
    let kept = pool.allocate(MIB).unwrap();
    let loose = pool.allocate(MIB).unwrap();
    let lease = pool.lease(&[kept.id()]).unwrap();
    assert_eq!((lease.bytes(), lease.blocks().len()), (MIB, 1));
    assert!(lease.contains(kept.address(), MIB));
    assert!(!lease.contains(loose.address(), 1));
    assert!(lease.check().is_ok());

    let refused = pool.deallocate(kept.id());
    assert!(matches!(refused, Err(GraphMemoryError::LeasedBlock { leases: 1, .. })));
    let reset = pool.reset().unwrap();
    assert_eq!((reset.returned, reset.leased), (1, 1));
    assert!(matches!(pool.deallocate(kept.id()), Err(GraphMemoryError::StaleBlock { .. })));
    for _ in 0..3 {
        let other = pool.allocate(5 * MIB).unwrap();
        assert!(!lease.contains(other.address(), 1), "handed out while leased");
    }
    assert_eq!(pool.dispose().kept_bytes, 16 * MIB);
    drop(pool);
    assert!(lease.check().is_ok());
}
