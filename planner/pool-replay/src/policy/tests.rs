//! Tests each simulator against its naive model, and against known facts about the allocators.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use super::simulator::PoolId;
use super::*;

/// A request, which is an allocation in a pool on a stream, a free of the n-th live buffer on a
/// stream, or the release of a private pool.
#[derive(Clone, Copy, Debug)]
enum Request {
    Allocate(PoolId, u64, u64),
    Free(usize, u64),
    Release(PoolId),
}

/// The pools of the requests.
const POOLS: [PoolId; 3] = [(0, 0), (0, 1), (7, 0)];

fn requests() -> impl Strategy<Value = Vec<Request>> {
    let bytes = prop_oneof![
        1..2000_u64,
        Just(512),
        Just(1 << 20),
        (1 << 20) - 600..(1 << 20) + 600_u64,
        100_000..4_000_000_u64,
        (9_u64 << 20)..(25 << 20),
    ];
    let request = prop_oneof![
        6 => (0..6_usize, bytes, 0..3_u64).prop_map(|(at, bytes, stream)| {
            // Half of the buffers are in the default pool.
            let pool = POOLS.get(at).copied().unwrap_or(POOLS[0]);
            Request::Allocate(pool, bytes, stream)
        }),
        4 => (any::<usize>(), 0..3_u64).prop_map(|(at, stream)| Request::Free(at, stream)),
        1 => (1..3_usize).prop_map(|at| Request::Release(POOLS[at])),
    ];
    vec(request, 1..120)
}

/// Runs both allocators. They must agree on every address, on the held bytes, and on the first
/// failure.
fn agree(
    requests: &[Request],
    has_addresses: bool,
    simulator: &mut dyn Simulator,
    naive: &mut dyn Simulator,
) -> Result<(), TestCaseError> {
    let mut live: Vec<(u64, u64, u64)> = Vec::new();
    for (number, &request) in (0..).zip(requests) {
        match request {
            Request::Allocate(pool, bytes, stream) => {
                let address = simulator.allocate_in(pool, number, stream, bytes);
                let expected = naive.allocate_in(pool, number, stream, bytes);
                prop_assert_eq!(address, expected, "{:?}", request);
                if let Ok(address) = address {
                    let is_apart = |&(_, low, high): &(u64, u64, u64)| {
                        high <= address || low >= address + bytes
                    };
                    prop_assert!(!has_addresses || live.iter().all(is_apart), "{:?}", request);
                    live.push((number, address, address + bytes));
                    let taken = simulator.taken(number);
                    prop_assert_eq!(taken, naive.taken(number), "{:?}", request);
                    prop_assert!(taken >= bytes, "{:?}", request);
                }
            }
            Request::Free(at, stream) if !live.is_empty() => {
                let (buffer, ..) = live.swap_remove(at % live.len());
                simulator.free(buffer, stream);
                naive.free(buffer, stream);
            }
            Request::Free(..) => {}
            Request::Release(pool) => {
                simulator.release_pool(pool);
                naive.release_pool(pool);
            }
        }
        let of_pools = POOLS.map(|pool| simulator.held_by(pool));
        prop_assert_eq!(of_pools, POOLS.map(|pool| naive.held_by(pool)), "{:?}", request);
        if let [Some(first), Some(second), Some(third)] = of_pools {
            prop_assert_eq!(first + second + third, simulator.held());
        }
        prop_assert_eq!(simulator.held(), naive.held(), "{:?}", request);
    }
    Ok(())
}

fn simulators(
    capacity: u64,
    is_unlimited: bool,
    initial: u64,
) -> Vec<(Box<dyn Simulator>, Box<dyn Simulator>)> {
    let given = if is_unlimited { u64::MAX } else { capacity };
    let of = |allocator: Allocator| allocator.simulator(given, initial).unwrap();
    let (live, held, next) = (Vec::new(), 0, 0);
    let begun = initial.div_ceil(256) * 256;
    let begun = begun.min(capacity / 256 * 256);
    // The arena has the given size, or else half of the capacity.
    let arena = match initial {
        0 if is_unlimited => None,
        0 => Some(capacity / 2),
        initial => Some(initial.min(capacity)),
    };
    let arena = arena.map(|size| size / 256 * 256);
    // The initial memory of a pool is in the list of stream 0.
    let (streams, blocks) = match begun {
        0 => (Vec::new(), Vec::new()),
        begun => (vec![0], vec![(0, begun, true, 0, None)]),
    };
    let caching = naive::Caching { capacity, next, segments: Vec::new(), released: Vec::new() };
    let expandable = naive::Expandable { capacity, segments: Vec::new(), released: Vec::new() };
    vec![
        (of(Allocator::Bump), Box::new(naive::Bump { capacity, live, held })),
        (of(Allocator::Slots), Box::new(naive::Slots { capacity, slots: Vec::new() })),
        (of(Allocator::Pool), Box::new(naive::RmmPool { capacity, is_unlimited, streams, blocks })),
        (of(Allocator::Arena), Box::new(naive::RmmArena::new(arena))),
        (of(Allocator::Caching), Box::new(caching)),
        (of(Allocator::Expandable), Box::new(expandable)),
    ]
}

#[test]
fn simulators_agree_with_naive_models() {
    let given = std::env::var("POOL_TEST_CASES").ok().and_then(|text| text.parse().ok());
    let config = Config::with_cases(given.unwrap_or(500));
    let config = Config { failure_persistence: None, ..config };
    // Three quarters of the cases have a capacity that may be too small. All other cases have no
    // capacity.
    let capacity = prop_oneof![3 => (1_u64..200 << 20).prop_map(Some), 1 => Just(None)];
    let initial = prop_oneof![Just(0), 1_u64..100 << 20];
    let strategy = (requests(), capacity, initial);
    let outcome = TestRunner::new(config).run(&strategy, |(requests, capacity, initial)| {
        // The naive models do not check additions for overflow.
        let all = simulators(capacity.unwrap_or(1 << 60), capacity.is_none(), initial);
        for (at, (mut simulator, mut naive)) in all.into_iter().enumerate() {
            // Slots have no addresses.
            agree(&requests, at != 1, &mut *simulator, &mut *naive)?;
        }
        Ok(())
    });
    assert!(outcome.is_ok(), "{outcome:?}");
}

/// The segments of PyTorch's own test of graphs
/// (`test_graph_memory_stats_and_use_result_after_destroy_graph`). Small segments have 2 MiB, large
/// ones have 20 MiB, and segments for buffers of 10 MiB or more are rounded up to 2 MiB.
#[test]
fn caching_takes_the_segments_of_pytorch() {
    let mib: u64 = 1 << 20;
    let cases = [
        (512, 4096, 2 * mib),
        (mib, 3, 4 * mib),
        (mib + 512, 1, 20 * mib),
        (10 * mib - 512, 3, 40 * mib),
        (10 * mib + 512, 3, 36 * mib),
    ];
    for (bytes, count, expected) in cases {
        let mut caching = Allocator::Caching.simulator(u64::MAX, 0).unwrap();
        for number in 0..count {
            caching.allocate(number, 0, bytes).unwrap();
        }
        assert_eq!(caching.held(), expected, "{count} of {bytes} bytes");
    }
}

/// The superblocks of RMM's arenas. Small buffers of two streams have one superblock each, and a
/// large buffer has its own. An empty superblock returns only when there is no room.
#[test]
fn arenas_share_superblocks_when_they_are_full() {
    let mib: u64 = 1 << 20;
    let mut arena = Allocator::Arena.simulator(u64::MAX, 4 * mib).unwrap();
    assert_eq!(arena.held(), 4 * mib);
    assert_eq!(arena.allocate(0, 1, 1000), Ok(0));
    assert_eq!(arena.allocate(1, 2, 1000), Ok(mib));
    assert_eq!(arena.allocate(2, 1, 1000), Ok(1024));
    assert_eq!(arena.allocate(3, 1, mib + 1), Ok(2 * mib));
    // The large buffer occupies the last two MiB, and a stream takes the remaining part.
    assert_eq!(arena.allocate(4, 2, mib - 512), Ok(3 * mib + 256));
    arena.free(0, 1);
    arena.free(2, 2);
    assert_eq!(arena.allocate(5, 3, mib), Ok(0), "stream 1 frees its superblock");
    assert_eq!(arena.allocate(6, 1, mib), Err(Full));
}

/// A private pool shares no segment with another pool, keeps its segments when memory is short, and
/// returns them once it is released and they are free.
#[test]
fn private_pools_have_their_own_segments() {
    let mib: u64 = 1 << 20;
    for allocator in [Allocator::Caching, Allocator::Expandable] {
        let mut simulator = allocator.simulator(8 * mib, 0).unwrap();
        let (graph, other) = ((0, 1), (0, 2));
        let held =
            |one: &dyn Simulator| [(0, 0), graph, other].map(|pool| one.held_by(pool).unwrap());
        // Each of these buffers fits in the rest of the first segment.
        for (number, pool) in (0..).zip([(0, 0), graph, other]) {
            simulator.allocate_in(pool, number, 0, 1000).unwrap();
        }
        assert_eq!(held(&*simulator), [2 * mib; 3], "{allocator:?}");
        // The free segments of an unreleased pool are kept, and those of the default pool are not.
        simulator.free(0, 0);
        simulator.free(1, 0);
        for number in 3..7 {
            simulator.allocate_in(other, number, 1, mib).unwrap();
        }
        assert_eq!(held(&*simulator), [0, 2 * mib, 6 * mib], "{allocator:?}");
        assert_eq!(simulator.allocate(7, 0, 1000), Err(Full), "{allocator:?}");
        simulator.release_pool(graph);
        assert_eq!(held(&*simulator), [0, 0, 6 * mib], "{allocator:?}");
        // After a release, a segment is kept until its last buffer is freed.
        simulator.release_pool(other);
        assert_eq!(simulator.held(), 6 * mib, "{allocator:?}");
        simulator.free(2, 0);
        assert_eq!(held(&*simulator), [0, 0, 4 * mib], "{allocator:?}");
        // A pool that is used again keeps its segments.
        simulator.allocate_in(other, 8, 0, 1000).unwrap();
        simulator.free(8, 0);
        assert_eq!(held(&*simulator), [0, 0, 6 * mib], "{allocator:?}");
    }
}

/// Tests growing buffers. Each buffer is freed after the next buffer has been allocated. With
/// separate segments, the sizes of all buffers add up. Expandable segments only grow.
#[test]
fn expandable_segments_grow() {
    let mib: u64 = 1 << 20;
    let held = |allocator: Allocator| {
        let mut simulator = allocator.simulator(u64::MAX, 0).unwrap();
        simulator.allocate(0, 0, 30 * mib).unwrap();
        for number in 1..6 {
            simulator.allocate(number, 0, (30 + 10 * number) * mib).unwrap();
            simulator.free(number - 1, 0);
        }
        simulator.held()
    };
    assert_eq!(held(Allocator::Caching), (30 + 40 + 50 + 60 + 70 + 80) * mib);
    assert_eq!(held(Allocator::Expandable), 220 * mib);
    // Each allocation maps one more page.
    let mut simulator = Allocator::Expandable.simulator(60 * mib, 0).unwrap();
    let first = simulator.allocate(0, 0, 15 * mib).unwrap();
    assert_eq!(simulator.held(), 20 * mib);
    assert_eq!(simulator.allocate(1, 0, 15 * mib), Ok(first + 15 * mib));
    assert_eq!(simulator.held(), 40 * mib);
    // Pages that are completely free are unmapped if there is no room.
    simulator.free(0, 0);
    simulator.free(1, 0);
    assert_eq!(simulator.allocate(2, 1, 60 * mib), Ok(1 << 48));
    assert_eq!(simulator.held(), 60 * mib);
    assert_eq!(simulator.allocate(3, 0, 15 * mib), Err(Full));
}

/// If a size exceeds all capacities, the allocation fails and changes nothing.
#[test]
fn sizes_that_overflow() {
    for allocator in Allocator::ALL {
        let Some(mut simulator) = allocator.simulator(u64::MAX, 0) else { continue };
        assert!(simulator.allocate(0, 0, 1000).is_ok());
        let held = simulator.held();
        for bytes in [u64::MAX, u64::MAX - 255, u64::MAX - 511] {
            assert_eq!(simulator.allocate(1, 0, bytes), Err(Full), "{allocator:?}");
        }
        assert_eq!(simulator.held(), held, "{allocator:?}");
        simulator.free(1, 0);
        simulator.free(0, 0);
        assert!(simulator.allocate(2, 9, 1000).is_ok(), "{allocator:?}");
    }
}
