//! Named cases of the arena.

use pool_graph::{ArenaPolicy, CudaArena, Deallocation, GraphMemoryError, MemorySource};

use super::{MIB, Subject};

/// Consecutive regions begin at multiples of 256; empty ones are regions, too.
pub(crate) fn regions_are_aligned<M: MemorySource + Clone>(subject: &Subject<M>) {
    let arena = CudaArena::new(subject.source.clone(), MIB, ArenaPolicy::Monotone).unwrap();
    let mut end = 0;
    for size in [1, 0, 255, 256, 257, 0, 70_000] {
        let region = arena.allocate(size).unwrap();
        assert_eq!((region.offset(), region.size()), (end, size));
        assert_eq!(region.address() % 256, 0);
        assert!(arena.contains(region.address(), size.max(1)));
        end += size.max(1).next_multiple_of(256);
    }
    let stats = arena.stats();
    assert_eq!((stats.used_bytes, stats.sum_bytes, stats.high_water_bytes), (end, end, end));
    assert_eq!((stats.live_regions, stats.allocations), (7, 7));
    let aligned = arena.allocate((100, 65_536)).unwrap();
    assert_eq!(aligned.address() % 65_536, 0);
}

/// No deallocation lowers the high water of a monotone arena.
pub(crate) fn monotone_never_reuses<M: MemorySource + Clone>(subject: &Subject<M>) {
    let arena = CudaArena::new(subject.source.clone(), 1024, ArenaPolicy::Monotone).unwrap();
    let regions = [(); 3].map(|()| arena.allocate(200).unwrap());
    for (address, ended) in [
        (regions[2].address(), Deallocation::Region { bytes: 256 }), // the top
        (regions[1].address(), Deallocation::Region { bytes: 256 }), // a middle
        (regions[1].address(), Deallocation::Foreign),               // it again
        (regions[0].address() + 1, Deallocation::Foreign),           // inside a region
        (0, Deallocation::Foreign),
        (u64::MAX, Deallocation::Foreign),
    ] {
        assert_eq!(arena.deallocate(address), ended);
        let stats = arena.stats();
        assert_eq!((stats.high_water_bytes, stats.used_bytes), (768, 768));
    }
    let stats = arena.stats();
    assert_eq!(
        (stats.foreign_deallocations, stats.live_bytes, stats.peak_live_bytes),
        (4, 256, 768)
    );
    let last = arena.allocate(256).unwrap();
    assert_eq!(last.offset(), 768);
    assert!(matches!(
        arena.allocate(0),
        Err(GraphMemoryError::ArenaExhausted { requested: 0, used: 1024, capacity: 1024, .. })
    ));
    assert_eq!(arena.remaining(), 0);
}

/// A request that exceeds an arena fails with the numbers, and changes nothing.
pub(crate) fn requests_at_the_edges<M: MemorySource + Clone>(subject: &Subject<M>) {
    let arena = CudaArena::new(subject.source.clone(), 1000, ArenaPolicy::Monotone).unwrap();
    arena.allocate(300).unwrap();
    for size in [513, 1 << 40, 1 << 63, u64::MAX - 255, u64::MAX] {
        assert!(matches!(
            arena.allocate(size),
            Err(GraphMemoryError::ArenaExhausted { requested, used: 512, capacity: 1024, .. })
                if requested == size
        ));
    }
    assert!(arena.allocate((0, 1 << 63)).is_err());
    for alignment in [0, 3, 257, u64::MAX] {
        let refused = arena.allocate((1, alignment));
        assert!(matches!(refused, Err(GraphMemoryError::BadAlignment { .. })));
    }
    assert_eq!((arena.stats().allocations, arena.remaining()), (1, 512));
    for (capacity, zero) in [(0, true), (u64::MAX, false), (u64::MAX - 254, false)] {
        match CudaArena::new(subject.source.clone(), capacity, ArenaPolicy::Monotone).err() {
            Some(GraphMemoryError::ZeroSize) => assert!(zero),
            Some(GraphMemoryError::SizeOverflow { size, .. }) => assert_eq!(size, capacity),
            other => panic!("{other:?}"),
        }
    }
}

/// A linear arena reuses bytes at its top, and refuses a capture that forks.
pub(crate) fn linear_rewinds<M: MemorySource + Clone>(subject: &Subject<M>) {
    let arena = CudaArena::new(subject.source.clone(), 1024, ArenaPolicy::Linear).unwrap();
    let regions = [(); 4].map(|()| arena.allocate(256).unwrap().address());
    assert_eq!(arena.remaining(), 0);
    assert_eq!(arena.deallocate(regions[1]), Deallocation::Region { bytes: 256 });
    assert_eq!(arena.remaining(), 0, "a middle one stays until the top goes");
    assert_eq!(arena.deallocate(regions[3]), Deallocation::Region { bytes: 256 });
    assert_eq!(arena.remaining(), 256);
    assert_eq!(arena.deallocate(regions[2]), Deallocation::Region { bytes: 256 });
    assert_eq!(arena.remaining(), 768, "and goes with it then");
    assert_eq!(arena.allocate(768).unwrap().address(), regions[1]);
    let stats = arena.stats();
    assert_eq!((stats.rewinds, stats.sum_bytes, stats.peak_live_bytes), (2, 1792, 1024));
    assert_eq!(stats.high_water_bytes, 1024);

    assert!(matches!(arena.forked(), Err(GraphMemoryError::ForkedCapture { rewinds: 2 })));
    assert!(matches!(arena.allocate(1), Err(GraphMemoryError::ForkedCapture { .. })));
    arena.reset();
    assert_eq!(arena.allocate(1024).unwrap().address(), regions[0]);

    let monotone = CudaArena::new(subject.source.clone(), 1024, ArenaPolicy::Monotone).unwrap();
    assert!(monotone.forked().is_ok());
}

/// A lease keeps the buffer, and detects a reset.
pub(crate) fn leases_keep_the_buffer<M: MemorySource + Clone>(subject: &Subject<M>) {
    let arena = CudaArena::new(subject.source.clone(), MIB, ArenaPolicy::Monotone).unwrap();
    let region = arena.allocate(1000).unwrap();
    let lease = arena.lease();
    assert!(lease.contains(region.address(), 1000) && lease.bytes() == MIB);
    assert!(lease.check().is_ok());
    arena.reset();
    let stale = lease.check();
    assert!(matches!(stale, Err(GraphMemoryError::StaleLease { leased: 0, current: 1 })));
    let fresh = arena.lease();
    assert_eq!(arena.allocate(1).unwrap().address(), region.address());
    drop(arena);
    assert!(fresh.check().is_ok() && lease.check().is_err());
}
