//! Output for people: tables and texts.

use pool_core::error_chain;
use pool_graph::{
    ArenaPolicy, ArenaShortage, CUDAGraphMemoryPool, CudaArena, GraphMemoryError, GraphPoolConfig,
    SyntheticMemory, SyntheticRefusal,
};

use crate::cases::MIB;

#[test]
fn a_pool_is_a_table() {
    let config = GraphPoolConfig { initial: 32 * MIB, maximum: 64 * MIB };
    let pool = CUDAGraphMemoryPool::with_config(SyntheticMemory::new(), config);
    let block = pool.allocate(5 * MIB + 1).unwrap();
    let _lease = pool.lease(&[block.id()]).unwrap();
    let table = pool.stats().to_string();
    for line in [
        "  reserved               32.0 MiB",
        "  maximum                64.0 MiB",
        "  in use                  5.0 MiB",
        "  leased                  5.0 MiB",
        "  fragmentation             0.0 %",
        "  chunks                        2",
        "  blocks                        3",
        "  blocks leased                 1",
    ] {
        assert!(table.lines().any(|other| other == line), "{line:?} is not in\n{table}");
    }
    let widths: Vec<usize> = table.lines().skip(1).map(str::len).collect();
    assert!(widths.iter().all(|&width| width == widths[0]), "{table}");
    assert_eq!(format!("{pool:?}"), table);
}

#[test]
fn fragmentation_is_what_lies_scattered() {
    let config = GraphPoolConfig { initial: 16 * MIB, maximum: 16 * MIB };
    let pool = CUDAGraphMemoryPool::with_config(SyntheticMemory::new(), config);
    let blocks = [(); 16].map(|()| pool.allocate(MIB).unwrap());
    for block in blocks.iter().step_by(2) {
        pool.deallocate(block.id()).unwrap();
    }
    let stats = pool.stats();
    assert_eq!((stats.free_bytes, stats.largest_free_bytes), (8 * MIB, MIB));
    assert_eq!(stats.fragmentation(), 7.0 / 8.0);
    assert_eq!(stats.blocks, 16);
    pool.reset().unwrap();
    assert_eq!(pool.stats().fragmentation(), 0.0);
}

#[test]
fn an_arena_is_a_table() {
    let arena = CudaArena::new(SyntheticMemory::new(), MIB, ArenaPolicy::Linear).unwrap();
    arena.allocate(1024).unwrap();
    let table = arena.stats().to_string();
    assert!(table.contains("  remaining            1023.0 KiB\n"), "{table}");
    let widths: Vec<usize> = table.lines().skip(1).map(str::len).collect();
    assert!(widths.iter().all(|&width| width == widths[0]), "{table}");
}

#[test]
fn errors_say_what_to_do() {
    type Error = GraphMemoryError<SyntheticRefusal>;
    let source = SyntheticRefusal::OnRequest { requested: 9 };
    let (requested, used, reserved, capacity) = (7, 8, 9, 10);
    let shortage = ArenaShortage::Monotone;
    for (error, words) in [
        (Error::CapacityExceeded { requested, used, reserved, capacity }, "raise the maximum"),
        (
            Error::OutOfMemory { requested, used, reserved, source },
            "the test made this allocation of 9 bytes fail",
        ),
        (Error::ArenaInUse { address: 4096 }, "0x1000 is in use by a capture session"),
        (Error::ArenaExhausted { requested, used, capacity, shortage }, "8 of 10"),
        (Error::LeasedBlock { block: 3, leases: 2 }, "2 leases on block 3: drop the graphs first"),
        (Error::StaleBlock { block: 3 }, "allocate another block"),
        (Error::PlanDiverged { allocation: 1, planned: Some(2), requested }, "create a new plan"),
        (Error::PlanDiverged { allocation: 1, planned: None, requested }, "the plan ends before"),
        (Error::ForkedCapture { rewinds: 4 }, "Monotone or Planned"),
        (Error::StaleLease { leased: 0, current: 1 }, "capture the graph again"),
    ] {
        let text = error_chain(&error).to_string();
        assert!(text.contains(words), "{text}");
        let below = std::error::Error::source(&error).map(ToString::to_string);
        // Each has only its own part.
        assert!(below.as_ref().is_none_or(|below| !error.to_string().contains(below)), "{error}");
        let has_source = below.is_some();
        assert_eq!(has_source, matches!(error, Error::OutOfMemory { .. }));
    }
}
