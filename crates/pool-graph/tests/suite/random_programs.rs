//! Random programs compared with the naive model, an interval set. `POOL_TEST_CASES` sets their
//! number, `POOL_TEST_SEED` the seed.

use std::collections::BTreeMap;

use pool_conformance::programs::{for_all, test_cases};
use pool_graph::{
    BlockId, CUDAGraphMemoryPool, GraphMemoryBlock, GraphMemoryError, GraphPoolConfig,
    GraphPoolStats, Lease, SyntheticMemory,
};
use proptest::prelude::{Strategy, any};
use proptest::{collection, prop_oneof};

use crate::cases::MIB;
use crate::cases::intervals::{Gap, Intervals};

/// One call of a random program. Indices are taken modulo the number of objects.
#[derive(Clone, Debug)]
enum Call {
    Allocate {
        size: u64,
        alignment: u64,
    },
    Return {
        place: usize,
    },
    ReturnAgain {
        place: usize,
    },
    Lease {
        place: usize,
        count: usize,
    },
    DropLease {
        place: usize,
    },
    Reset,
    Trim,
    /// The source refuses the n-th allocation from here.
    Refuse {
        nth: u64,
    },
}

/// Returns the number of programs; a few under Miri, where the model takes seconds for each.
fn cases() -> u32 {
    if cfg!(miri) { test_cases().div_ceil(20) } else { test_cases() }
}

fn calls() -> impl Strategy<Value = Vec<Call>> {
    // Half of them are large enough to fill a pool.
    let power = prop_oneof![0_u32..26, 20_u32..25];
    let size = (power, any::<u64>()).prop_map(|(power, rest)| 1 + rest % (1 << power));
    let allocate =
        (size, 0_u32..21).prop_map(|(size, power)| Call::Allocate { size, alignment: 1 << power });
    let place = || any::<usize>();
    let call = prop_oneof![
        12 => allocate,
        8 => place().prop_map(|place| Call::Return { place }),
        1 => place().prop_map(|place| Call::ReturnAgain { place }),
        2 => (place(), 1_usize..4).prop_map(|(place, count)| Call::Lease { place, count }),
        2 => place().prop_map(|place| Call::DropLease { place }),
        1 => proptest::strategy::Just(Call::Reset),
        1 => proptest::strategy::Just(Call::Trim),
        1 => (1_u64..4).prop_map(|nth| Call::Refuse { nth }),
    ];
    collection::vec(call, 1..if cfg!(miri) { 25 } else { 80 })
}

/// The pool under test, and its expected contents.
struct Machine {
    source: SyntheticMemory,
    pool: CUDAGraphMemoryPool<SyntheticMemory>,
    maximum: u64,
    /// Blocks with valid names.
    blocks: Vec<GraphMemoryBlock>,
    /// Names that are not valid any more.
    gone: Vec<BlockId>,
    leases: Vec<(Lease<SyntheticMemory>, Vec<BlockId>)>,
    /// The number of leases of each block; blocks left by a reset have no other entry.
    leased: BTreeMap<u64, u64>,
    /// The ranges of all allocated blocks, with or without a valid name.
    live: Intervals,
    ranges: BTreeMap<u64, (u64, u64)>,
    orphans: Vec<u64>,
    /// The calls so far, as the statistics count them.
    counts: Counts,
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Counts {
    allocations: u64,
    returns: u64,
    resets: u64,
    peak_in_use: u64,
    /// Chunks that the pool had from the beginning.
    initial: u64,
}

impl Machine {
    fn new(initial: u64, maximum: u64) -> Self {
        let source = SyntheticMemory::with_limit(96 * MIB);
        let config = GraphPoolConfig { initial, maximum };
        let pool = CUDAGraphMemoryPool::with_config(source.clone(), config);
        let initial = source.pieces().len() as u64;
        Self {
            pool,
            source,
            maximum,
            blocks: Vec::new(),
            gone: Vec::new(),
            leases: Vec::new(),
            leased: BTreeMap::new(),
            live: Intervals::default(),
            ranges: BTreeMap::new(),
            orphans: Vec::new(),
            counts: Counts { initial, ..Counts::default() },
        }
    }

    fn run(&mut self, call: &Call) {
        match *call {
            Call::Allocate { size, alignment } => self.allocate(size, alignment),
            Call::Return { place } => self.give(place),
            Call::ReturnAgain { place } => self.give_again(place),
            Call::Lease { place, count } => self.lease(place, count),
            Call::DropLease { place } => self.drop_lease(place),
            Call::Reset => self.reset(),
            Call::Trim => {
                let before = self.source.held();
                let freed = self.pool.trim().unwrap();
                assert_eq!(before - self.source.held(), freed);
                let idle = self.pieces_without_blocks();
                assert_eq!(idle, 0, "nothing idle is left");
            }
            Call::Refuse { nth } => self.source.refuse(nth),
        }
        self.check();
    }

    fn allocate(&mut self, size: u64, alignment: u64) {
        let (pieces, gaps) = (self.source.pieces(), self.live.gaps(&self.source.pieces()));
        let fits = |gap: &&Gap| gap.fits(size, alignment);
        match self.pool.allocate((size, alignment)) {
            Ok(block) => {
                // Chunks without a block may sleep, and are then used last.
                let is_awake = |gap: &&Gap| {
                    self.live.iter().any(|(start, _)| contains(pieces[gap.piece], start))
                };
                let best = gaps.iter().filter(is_awake).filter(fits).map(|gap| gap.bytes).min();
                let place = block.address();
                let taken = gaps.iter().find(|gap| contains((gap.address, gap.bytes), place));
                let taken = taken.map_or(u64::MAX, |gap| gap.bytes);
                assert!(best.is_none_or(|best| taken <= best), "{taken} and not {best:?}");
                self.counts.allocations += 1;
                assert_eq!((block.size(), block.alignment()), (size, alignment));
                assert_eq!(block.address() % alignment.max(256), 0);
                let inside = |&(address, bytes): &(u64, u64)| {
                    address <= block.address() && block.address() + size <= address + bytes
                };
                assert!(self.source.pieces().iter().any(inside), "outside of every chunk");
                self.live.insert(block.address(), size);
                self.ranges.insert(block.id().number(), (block.address(), size));
                self.blocks.push(block);
            }
            Err(GraphMemoryError::CapacityExceeded { requested, used, reserved, capacity }) => {
                assert_eq!((requested, capacity), (size, self.maximum));
                assert!(used <= reserved && reserved <= capacity);
                assert_eq!(gaps.iter().find(fits), None, "{size} bytes would fit there");
                let busy = reserved - self.pieces_without_blocks();
                let most = size.next_multiple_of(256) + alignment.max(256) - 256;
                assert!(busy + most > capacity, "there was room to grow");
            }
            Err(GraphMemoryError::OutOfMemory { requested, .. }) => {
                assert_eq!(requested, size);
                assert_eq!(gaps.iter().find(fits), None, "{size} bytes would fit there");
                assert_eq!(self.pieces_without_blocks(), 0, "idle chunks go first");
            }
            Err(other) => panic!("{other:?}"),
        }
    }

    fn give(&mut self, place: usize) {
        if self.blocks.is_empty() {
            return;
        }
        let place = place % self.blocks.len();
        let id = self.blocks[place].id();
        let leases = self.leases_of(id);
        let given = self.pool.deallocate(id);
        if leases > 0 {
            assert_eq!(given, Err(GraphMemoryError::LeasedBlock { block: id.number(), leases }));
            return;
        }
        given.unwrap();
        self.counts.returns += 1;
        self.blocks.swap_remove(place);
        self.end(id.number());
        self.gone.push(id);
    }

    fn give_again(&mut self, place: usize) {
        if self.gone.is_empty() {
            return;
        }
        let id = self.gone[place % self.gone.len()];
        assert_eq!(self.pool.block(id), None);
        assert!(matches!(
            self.pool.deallocate(id),
            Err(GraphMemoryError::AlreadyReturned { .. } | GraphMemoryError::StaleBlock { .. })
        ));
    }

    fn lease(&mut self, place: usize, count: usize) {
        let ids: Vec<BlockId> = self
            .blocks
            .iter()
            .cycle()
            .skip(place % 7)
            .take(count)
            .map(GraphMemoryBlock::id)
            .collect();
        let lease = self.pool.lease(&ids).unwrap();
        for id in &ids {
            *self.leased.entry(id.number()).or_default() += 1;
        }
        self.leases.push((lease, ids));
    }

    fn drop_lease(&mut self, place: usize) {
        if self.leases.is_empty() {
            return;
        }
        let (lease, ids) = self.leases.swap_remove(place % self.leases.len());
        drop(lease);
        for id in ids {
            let number = id.number();
            let count = self.leased.get_mut(&number).unwrap();
            *count -= 1;
            if *count > 0 {
                continue;
            }
            self.leased.remove(&number);
            if let Some(place) = self.orphans.iter().position(|&orphan| orphan == number) {
                self.orphans.swap_remove(place);
                self.end(number);
            }
        }
    }

    fn reset(&mut self) {
        let reset = self.pool.reset().unwrap();
        self.counts.resets += 1;
        let blocks = std::mem::take(&mut self.blocks);
        let (leased, loose): (Vec<_>, Vec<_>) =
            blocks.into_iter().partition(|block| self.leases_of(block.id()) > 0);
        assert_eq!(reset.returned, loose.len() as u64);
        for block in &loose {
            self.end(block.id().number());
        }
        self.orphans.extend(leased.iter().map(|block| block.id().number()));
        assert_eq!(reset.leased, self.orphans.len() as u64);
        self.gone.extend(leased.iter().chain(&loose).map(GraphMemoryBlock::id));
        if self.orphans.is_empty() {
            let stats = self.pool.stats();
            assert_eq!(stats.fragmentation(), 0.0);
            assert_eq!(stats.blocks, stats.chunks);
        }
    }

    fn leases_of(&self, id: BlockId) -> u64 {
        self.leased.get(&id.number()).copied().unwrap_or(0)
    }

    fn end(&mut self, number: u64) {
        let (address, size) = self.ranges.remove(&number).unwrap();
        self.live.remove(address, size);
    }

    fn pieces_without_blocks(&self) -> u64 {
        let empty =
            |&piece: &(u64, u64)| !self.live.iter().any(|(start, _)| contains(piece, start));
        self.source.pieces().into_iter().filter(empty).map(|(_, bytes)| bytes).sum()
    }

    fn check(&mut self) {
        let stats = self.pool.stats();
        assert_eq!(stats.reserved_bytes, self.source.held());
        assert!(stats.reserved_bytes <= self.maximum);
        assert_eq!(stats.allocated_blocks, self.live.len() as u64);
        assert_eq!(stats.requested_bytes, self.ranges.values().map(|(_, size)| size).sum::<u64>());
        let rounded = self.ranges.values().map(|(_, size)| size.next_multiple_of(256));
        assert_eq!(stats.in_use_bytes, rounded.sum::<u64>());
        assert_eq!(stats.free_bytes, stats.reserved_bytes - stats.in_use_bytes);
        assert_eq!(stats.leased_blocks, self.leased.len() as u64);
        let leased = self.leased.keys().map(|number| self.ranges[number].1.next_multiple_of(256));
        assert_eq!(stats.leased_bytes, leased.sum::<u64>());
        self.check_gaps(&stats);
        self.check_counts(&stats);
        for block in &self.blocks {
            let now = self.pool.find(block.id()).unwrap();
            assert_eq!(now.address(), block.address());
        }
        for (lease, _) in &self.leases {
            for block in lease.blocks() {
                let range = self.ranges.get(&block.id().number());
                assert_eq!(range, Some(&(block.address(), block.size())), "it is gone");
            }
        }
    }

    /// Checks that every gap is one free block: neighbours have merged.
    fn check_gaps(&self, stats: &GraphPoolStats) {
        let pieces = self.source.pieces();
        let gaps = self.live.gaps(&pieces);
        let largest_in = |piece: usize| {
            gaps.iter().filter(|gap| gap.piece == piece).map(|gap| gap.bytes).max().unwrap_or(0)
        };
        let free: u64 = gaps.iter().map(|gap| gap.bytes).sum();
        let largest: u64 = (0..pieces.len()).map(largest_in).sum();
        assert_eq!(stats.chunks, pieces.len() as u64);
        assert_eq!(stats.blocks, (self.live.len() + gaps.len()) as u64);
        assert_eq!((stats.free_bytes, stats.scattered_free_bytes), (free, free - largest));
        assert_eq!(stats.largest_free_bytes, gaps.iter().map(|gap| gap.bytes).max().unwrap_or(0));
    }

    fn check_counts(&mut self, stats: &GraphPoolStats) {
        let Counts { allocations, returns, resets, peak_in_use, initial } = &mut self.counts;
        *peak_in_use = stats.in_use_bytes.max(*peak_in_use);
        let counted = (stats.allocations, stats.returns, stats.resets, stats.peak_in_use_bytes);
        assert_eq!(counted, (*allocations, *returns, *resets, *peak_in_use));
        assert!((stats.reserved_bytes..=self.maximum).contains(&stats.peak_reserved_bytes));
        let asked = stats.growths + stats.refusals + *initial;
        assert_eq!(asked, self.source.allocations(), "each call of the source ends in one way");
    }

    /// Drops everything, in the order in which users drop it.
    fn end_all(self) {
        let Self { source, pool, leases, .. } = self;
        drop(pool);
        drop(leases);
        assert_eq!((source.held(), source.mistakes()), (0, 0));
    }
}

fn contains((address, bytes): (u64, u64), place: u64) -> bool {
    (address..address + bytes).contains(&place)
}

fn limits() -> impl Strategy<Value = (u64, u64)> {
    (0_u64..3, prop_oneof![16_u64..80, proptest::strategy::Just(u64::MAX / MIB)])
        .prop_map(|(initial, maximum)| (initial * 16 * MIB, maximum * MIB))
}

#[test]
fn random_programs_agree_with_the_naive_model() {
    for_all(cases(), &(limits(), calls()), |((initial, maximum), calls)| {
        let mut machine = Machine::new(initial, maximum);
        for call in &calls {
            machine.run(call);
        }
        machine.end_all();
    });
}

/// Makes allocations and returns alone. Returns addresses in order of allocation.
fn addresses(pool: &CUDAGraphMemoryPool<SyntheticMemory>, calls: &[Call]) -> Vec<u64> {
    let (mut blocks, mut addresses) = (Vec::new(), Vec::new());
    for call in calls {
        match *call {
            Call::Allocate { size, alignment } => {
                let block = pool.allocate((size, alignment)).unwrap();
                addresses.push(block.address());
                blocks.push(block.id());
            }
            Call::Return { place } if !blocks.is_empty() => {
                let id = blocks.swap_remove(place % blocks.len());
                pool.deallocate(id).unwrap();
            }
            _ => {}
        }
    }
    addresses
}

#[test]
fn random_sequences_get_the_same_addresses_after_a_reset() {
    for_all(cases(), &(0_u64..3, calls()), |(initial, calls)| {
        let source = SyntheticMemory::new();
        let config = GraphPoolConfig { initial: initial * 16 * MIB, maximum: u64::MAX };
        let pool = CUDAGraphMemoryPool::with_config(source.clone(), config);
        let first = addresses(&pool, &calls);
        let taken = source.allocations();
        for _ in 0..2 {
            pool.reset().unwrap();
            assert_eq!(addresses(&pool, &calls), first);
        }
        assert_eq!(source.allocations(), taken, "nothing new is needed");
    });
}
