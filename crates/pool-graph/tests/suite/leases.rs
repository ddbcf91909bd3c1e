//! Leases: a captured graph's hold on memory.

use pool_graph::{
    ArenaPolicy, BlockState, CUDAGraphMemoryPool, CudaArena, GraphMemoryError, GraphPoolConfig,
    Lease, SyntheticMemory,
};

use crate::cases::MIB;

fn pool(source: &SyntheticMemory) -> CUDAGraphMemoryPool<SyntheticMemory> {
    let config = GraphPoolConfig { initial: 0, maximum: u64::MAX };
    CUDAGraphMemoryPool::with_config(source.clone(), config)
}

#[test]
fn the_pool_goes_and_the_memory_with_the_last_lease() {
    let source = SyntheticMemory::new();
    let pool = pool(&source);
    let small = pool.allocate(1000).unwrap().id();
    let large = pool.allocate(20 * MIB).unwrap().id();
    pool.allocate(30 * MIB).unwrap();
    let (both, one) = (pool.lease(&[small, large]).unwrap(), pool.lease(&[large]).unwrap());
    assert_eq!(both.bytes(), 1000 + 20 * MIB);
    drop(pool);
    assert_eq!(source.held(), 36 * MIB);
    drop(both);
    assert_eq!(source.held(), 20 * MIB);
    drop(one);
    assert_eq!((source.held(), source.mistakes()), (0, 0));
}

#[test]
fn a_block_can_be_returned_after_its_last_lease() {
    let source = SyntheticMemory::new();
    let pool = pool(&source);
    let block = pool.allocate(1000).unwrap().id();
    let leases = [pool.lease(&[block]).unwrap(), pool.lease(&[block, block]).unwrap()];
    let refused = pool.deallocate(block);
    assert_eq!(refused, Err(GraphMemoryError::LeasedBlock { block: 0, leases: 3 }));
    assert_eq!((pool.stats().leased_blocks, pool.stats().leased_bytes), (1, 1024));
    drop(leases);
    assert_eq!(pool.block(block).unwrap().state(), BlockState::Allocated);
    assert_eq!(pool.deallocate(block), Ok(()));
    assert_eq!(pool.stats().leased_blocks, 0);
}

#[test]
fn what_a_reset_left_is_taken_back_with_the_last_lease() {
    let source = SyntheticMemory::new();
    let pool = pool(&source);
    let blocks = [(); 4].map(|()| pool.allocate(4 * MIB).unwrap());
    let lease = pool.lease(&[blocks[1].id(), blocks[2].id()]).unwrap();
    let reset = pool.reset().unwrap();
    assert_eq!((reset.returned, reset.leased), (2, 2));
    assert_eq!(pool.block(blocks[1].id()), None, "its name is stale");
    assert!(matches!(pool.lease(&[blocks[1].id()]), Err(GraphMemoryError::StaleBlock { .. })));
    assert_eq!(pool.stats().in_use_bytes, 8 * MIB);
    assert_eq!(pool.reset().unwrap().leased, 2);
    drop(lease);
    assert_eq!((pool.stats().in_use_bytes, pool.block_count()), (0, 1));
    assert_eq!(pool.allocate(16 * MIB).unwrap().address(), blocks[0].address());
}

#[test]
fn bytes_of_a_block_that_is_leased_twice_end_at_what_can_be_said() {
    let source = SyntheticMemory::new();
    let pool = pool(&source);
    let half = pool.allocate(1 << 63).unwrap().id();
    assert_eq!(pool.lease(&[half]).unwrap().bytes(), 1 << 63);
    assert_eq!(pool.lease(&[half, half]).unwrap().bytes(), u64::MAX);
}

#[test]
fn a_lease_of_nothing_holds_nothing() {
    let source = SyntheticMemory::new();
    let pool = pool(&source);
    let lease = pool.lease(&[]).unwrap();
    assert_eq!((lease.bytes(), lease.ranges().count()), (0, 0));
    assert!(!lease.contains(0, 0) && lease.check().is_ok());
    drop(pool);
    drop(lease);
}

#[test]
fn ranges_at_the_end_of_all_addresses() {
    let source = SyntheticMemory::starting_at(u64::MAX - 511, u64::MAX);
    let arena = CudaArena::new(source, 256, ArenaPolicy::Monotone).unwrap();
    let lease = arena.lease();
    let start = u64::MAX - 511;
    assert!(lease.contains(start, 256) && lease.contains(start + 256, 0));
    for (address, bytes) in [(start, 257), (start + 255, 2), (start + 1, u64::MAX), (0, 1)] {
        assert!(!lease.contains(address, bytes));
        assert!(!arena.contains(address, bytes));
    }
}

#[test]
fn pools_and_leases_go_between_threads() {
    fn goes<T: Send + Sync>() {}
    goes::<CUDAGraphMemoryPool<SyntheticMemory>>();
    goes::<CudaArena<SyntheticMemory>>();
    goes::<Lease<SyntheticMemory>>();
    goes::<GraphMemoryError<std::fmt::Error>>();
}
