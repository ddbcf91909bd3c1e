//! The arithmetic of arenas, at the limits of the address space.

use pool_graph::{
    ArenaPolicy, ArenaShortage, CudaArena, Deallocation, GraphMemoryError, SyntheticMemory,
};

/// Returns an arena at the last addresses.
fn at_the_end(capacity: u64, policy: ArenaPolicy) -> CudaArena<SyntheticMemory> {
    let first = u64::MAX - 255 - capacity;
    CudaArena::new(SyntheticMemory::starting_at(first, u64::MAX), capacity, policy).unwrap()
}

#[test]
fn exhaustion_names_requested_used_and_capacity() {
    let arena = CudaArena::new(SyntheticMemory::new(), 1000, ArenaPolicy::Monotone).unwrap();
    assert_eq!(arena.capacity(), 1024);
    arena.allocate(300).unwrap();
    for requested in [513, 1 << 40, u64::MAX - 255, u64::MAX - 254, u64::MAX] {
        let refused = arena.allocate(requested).unwrap_err();
        assert_eq!(
            refused,
            GraphMemoryError::ArenaExhausted {
                requested,
                used: 512,
                capacity: 1024,
                shortage: ArenaShortage::Monotone
            }
        );
    }
    let stats = arena.stats();
    assert_eq!((stats.allocations, stats.sum_bytes, stats.remaining_bytes), (1, 512, 512));
    assert!(arena.allocate(512).is_ok(), "refusals change nothing");
}

#[test]
fn the_last_addresses_can_be_used() {
    for policy in [ArenaPolicy::Monotone, ArenaPolicy::Linear] {
        let arena = at_the_end(1024, policy);
        let regions = [(); 4].map(|()| arena.allocate(256).unwrap().address());
        assert_eq!(regions[3], u64::MAX - 255 - 256);
        for (size, alignment) in [(0, 1), (1, 256), (u64::MAX, 1), (1, 1 << 63), (0, 1 << 63)] {
            let refused = arena.allocate((size, alignment)).unwrap_err();
            assert!(matches!(refused, GraphMemoryError::ArenaExhausted { used: 1024, .. }));
        }
        assert_eq!(arena.deallocate(u64::MAX), Deallocation::Foreign);
        assert_eq!(arena.deallocate(regions[3]), Deallocation::Region { bytes: 256 });
        assert!(arena.contains(regions[3], 256) && !arena.contains(regions[3], 257));
    }
}

#[test]
fn alignment_that_no_address_has_is_exhaustion() {
    let arena = at_the_end(4096, ArenaPolicy::Monotone);
    let refused = arena.allocate((1, 1 << 63)).unwrap_err();
    assert_eq!(
        refused,
        GraphMemoryError::ArenaExhausted {
            requested: 1,
            used: 0,
            capacity: 4096,
            shortage: ArenaShortage::Monotone
        }
    );
    for alignment in [0, 3, 384] {
        let refused = arena.allocate((1, alignment)).unwrap_err();
        assert_eq!(refused, GraphMemoryError::BadAlignment { alignment });
    }
}

#[test]
fn a_capacity_that_cannot_be_is_refused() {
    let source = SyntheticMemory::with_limit(1 << 20);
    let arena = |capacity| CudaArena::new(source.clone(), capacity, ArenaPolicy::Monotone);
    assert_eq!(arena(0).err(), Some(GraphMemoryError::ZeroSize));
    let overflow = Some(GraphMemoryError::SizeOverflow { size: u64::MAX, alignment: 256 });
    assert_eq!(arena(u64::MAX).err(), overflow);
    let refused = arena((1 << 20) + 1).err();
    let requested = (1 << 20) + 256;
    assert!(matches!(refused, Some(GraphMemoryError::OutOfMemory { requested: said, .. })
        if said == requested));
    assert!(arena(1 << 20).is_ok());
    assert_eq!((source.held(), source.mistakes()), (0, 0));
}

#[test]
fn a_reset_begins_anew() {
    let arena = CudaArena::new(SyntheticMemory::new(), 4096, ArenaPolicy::Linear).unwrap();
    let first = arena.allocate(1000).unwrap();
    assert_eq!(arena.deallocate(first.address()), Deallocation::Region { bytes: 1024 });
    assert_eq!(arena.deallocate(first.address()), Deallocation::Foreign);
    arena.allocate(10).unwrap();
    arena.reset();
    let stats = arena.stats();
    assert_eq!((stats.used_bytes, stats.sum_bytes, stats.peak_live_bytes), (0, 0, 0));
    assert_eq!((stats.high_water_bytes, stats.live_regions, stats.rewinds), (0, 0, 0));
    assert_eq!((stats.foreign_deallocations, stats.resets), (1, 1));
    let again = arena.allocate(1000).unwrap();
    assert_eq!(again.address(), first.address());
    assert_eq!((first.generation(), again.generation()), (0, 1));
}

#[test]
fn rewinding_skips_padding() {
    let arena = CudaArena::new(SyntheticMemory::new(), 1 << 20, ArenaPolicy::Linear).unwrap();
    let first = arena.allocate(256).unwrap();
    let aligned = arena.allocate((256, 65_536)).unwrap();
    assert_eq!(arena.deallocate(aligned.address()), Deallocation::Region { bytes: 256 });
    assert_eq!(arena.stats().used_bytes, 256, "the padding goes with it");
    assert_eq!(arena.deallocate(first.address()), Deallocation::Region { bytes: 256 });
    assert_eq!(arena.stats().used_bytes, 0);
}
