//! Limits of a pool: its own maximum, and the source's memory.

use pool_graph::{
    CUDAGraphMemoryPool, GraphMemoryError, GraphPoolConfig, SyntheticMemory, SyntheticRefusal,
};

use crate::cases::MIB;

fn pool(
    source: &SyntheticMemory,
    initial: u64,
    maximum: u64,
) -> CUDAGraphMemoryPool<SyntheticMemory> {
    CUDAGraphMemoryPool::with_config(source.clone(), GraphPoolConfig { initial, maximum })
}

#[test]
fn takes_512_mib_in_chunks_by_default() {
    let source = SyntheticMemory::new();
    let pool = CUDAGraphMemoryPool::new(source.clone());
    assert_eq!((pool.allocated_bytes(), pool.block_count()), (512 * MIB, 32));
    assert!(source.pieces().iter().all(|&(_, bytes)| bytes == 16 * MIB));
    assert_eq!(pool.refusal(), None);
    let stats = pool.stats();
    assert_eq!((stats.growths, stats.free_bytes, stats.maximum_bytes), (0, 512 * MIB, u64::MAX));
    // The initial memory is really used.
    for _ in 0..32 {
        pool.allocate(16 * MIB).unwrap();
    }
    assert_eq!((source.allocations(), pool.stats().growths), (32, 0));
}

#[test]
fn stops_early_where_the_source_ends() {
    let source = SyntheticMemory::with_limit(40 * MIB);
    let pool = pool(&source, 512 * MIB, u64::MAX);
    assert_eq!(pool.allocated_bytes(), 32 * MIB);
    let refusal = pool.refusal().copied();
    let (requested, held, limit) = (16 * MIB, 32 * MIB, 40 * MIB);
    assert_eq!(refusal, Some(SyntheticRefusal::Full { requested, held, limit }));
    let stats = pool.stats();
    assert_eq!((stats.refusals, stats.reserved_bytes), (1, 32 * MIB));
    assert!(pool.allocate(16 * MIB).is_ok());
}

#[test]
fn stops_early_at_its_maximum() {
    let source = SyntheticMemory::new();
    let pool = pool(&source, 512 * MIB, 40 * MIB + 100);
    assert_eq!(pool.allocated_bytes(), 40 * MIB);
    assert_eq!((pool.refusal(), source.allocations()), (None, 3));
}

#[test]
fn the_maximum_is_exact() {
    let source = SyntheticMemory::new();
    let pool = pool(&source, 0, 20 * MIB);
    let first = pool.allocate(16 * MIB).unwrap();
    let second = pool.allocate(4 * MIB).unwrap();
    assert_eq!(source.held(), 20 * MIB);
    let refused = pool.allocate(1).unwrap_err();
    let (used, reserved, capacity) = (20 * MIB, 20 * MIB, 20 * MIB);
    assert_eq!(
        refused,
        GraphMemoryError::CapacityExceeded { requested: 1, used, reserved, capacity }
    );
    pool.deallocate(second.id()).unwrap();
    let refused = pool.allocate(4 * MIB + 1).unwrap_err();
    assert!(matches!(refused, GraphMemoryError::CapacityExceeded { used, .. } if used == 16 * MIB));
    assert!(pool.allocate(4 * MIB).is_ok());
    pool.deallocate(first.id()).unwrap();
    assert_eq!(source.allocations(), 2);
}

#[test]
fn idle_chunks_make_room_for_a_large_request() {
    let source = SyntheticMemory::new();
    let pool = pool(&source, 64 * MIB, 64 * MIB);
    let small = pool.allocate(1).unwrap();
    let large = pool.allocate(40 * MIB).unwrap();
    assert_eq!(pool.allocated_bytes(), source.held());
    assert_eq!(source.held(), 56 * MIB, "one chunk stays: it has a block");
    assert!(pool.allocate(17 * MIB).is_err());
    assert_eq!(pool.block(small.id()), Some(small));
    pool.deallocate(large.id()).unwrap();
    assert!(pool.allocate(48 * MIB).is_ok(), "the large chunk goes for a larger one");
    assert_eq!(source.held(), 64 * MIB);
}

#[test]
fn no_more_goes_than_makes_room_and_the_newest_first() {
    let source = SyntheticMemory::new();
    let pool = pool(&source, 80 * MIB, 80 * MIB);
    let before = source.pieces();
    // 20 MiB need two of five idle chunks to be freed.
    let large = pool.allocate(20 * MIB).unwrap();
    let mut left = before[..3].to_vec();
    left.push((large.address(), 20 * MIB));
    assert_eq!(source.pieces(), left);
}

#[test]
fn trim_gives_idle_chunks_back() {
    let source = SyntheticMemory::new();
    let pool = pool(&source, 48 * MIB, u64::MAX);
    let block = pool.allocate(100).unwrap();
    assert_eq!(pool.trim(), Ok(32 * MIB));
    assert_eq!((source.held(), pool.allocated_bytes()), (16 * MIB, 16 * MIB));
    assert_eq!(pool.block(block.id()), Some(block));
    pool.deallocate(block.id()).unwrap();
    assert_eq!(pool.trim(), Ok(16 * MIB));
    assert_eq!((pool.trim(), pool.block_count()), (Ok(0), 0));
    assert!(pool.allocate(1).is_ok());
}

#[test]
fn sleeping_chunks_are_trimmed_and_used_for_other_sizes() {
    let source = SyntheticMemory::new();
    let pool = pool(&source, 0, u64::MAX);
    pool.allocate(100).unwrap();
    pool.allocate(40 * MIB).unwrap();
    pool.reset().unwrap();
    let other = pool.allocate(33 * MIB).unwrap();
    assert_eq!(source.allocations(), 2, "the chunk of 40 MiB wakes for another size");
    assert_eq!(pool.trim(), Ok(16 * MIB));
    pool.deallocate(other.id()).unwrap();
    assert_eq!(source.held(), 40 * MIB);
}

#[test]
fn best_fit_takes_the_smallest_that_fits() {
    let source = SyntheticMemory::new();
    let pool = pool(&source, 16 * MIB, 16 * MIB);
    let sizes = [3 * MIB, 256, 2 * MIB, 256, 4 * MIB, 256];
    let blocks = sizes.map(|size| pool.allocate(size).unwrap());
    for place in [0, 2, 4] {
        pool.deallocate(blocks[place].id()).unwrap();
    }
    for (size, place) in [(2 * MIB - 300, 2), (2 * MIB + 1, 0), (3 * MIB + 1, 4)] {
        let block = pool.allocate(size).unwrap();
        assert_eq!(block.address(), blocks[place].address(), "{size}");
    }
}

#[test]
fn of_one_size_the_newest_is_taken_first() {
    let source = SyntheticMemory::new();
    let pool = pool(&source, 16 * MIB, 16 * MIB);
    let blocks = [(); 7].map(|()| pool.allocate(MIB).unwrap());
    // Every second one, so that they do not merge.
    for place in [1, 5, 3] {
        pool.deallocate(blocks[place].id()).unwrap();
    }
    for place in [3, 5, 1] {
        let address = pool.allocate(MIB).unwrap().address();
        assert_eq!(address, blocks[place].address(), "{place}");
    }
}

#[test]
fn addresses_at_the_end_of_all() {
    let source = SyntheticMemory::starting_at(u64::MAX - 32 * MIB - 255, u64::MAX);
    let pool = pool(&source, 0, u64::MAX);
    let first = pool.allocate(16 * MIB).unwrap();
    let last = pool.allocate((16 * MIB, 256)).unwrap();
    assert!(last.address() > first.address());
    let refused = pool.allocate(1).unwrap_err();
    assert!(matches!(refused, GraphMemoryError::OutOfMemory { used, .. } if used == 32 * MIB));
    for (size, alignment) in [(u64::MAX - 511, 256), (1 << 63, 1 << 62), (256, 1 << 63)] {
        assert!(pool.allocate((size, alignment)).is_err());
    }
}

#[test]
fn a_new_chunk_has_room_for_its_padding() {
    let source = SyntheticMemory::new();
    let pool = pool(&source, 0, 2 * MIB - 512);
    let refused = pool.allocate((MIB, MIB)).unwrap_err();
    let (requested, capacity) = (MIB, 2 * MIB - 512);
    let expected = GraphMemoryError::CapacityExceeded { requested, used: 0, reserved: 0, capacity };
    assert_eq!(refused, expected);
    assert_eq!(source.allocations(), 0);
    let pool = self::pool(&source, 0, 2 * MIB - 256);
    assert_eq!(pool.allocate((MIB, MIB)).unwrap().address() % MIB, 0);
}
