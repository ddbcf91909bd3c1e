//! Attacks from safe code on pools and arenas: sources that call back or panic, requests at the
//! numeric limits, and names and leases that are kept, copied and forgotten.

use std::mem::forget;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};

use pool_core::Device;
use pool_graph::{
    ArenaPolicy, CUDAGraphMemoryPool, CudaArena, Deallocation, GraphMemoryError, GraphPoolConfig,
    MemorySource, SyntheticMemory, SyntheticRefusal,
};

use crate::cases::MIB;
use crate::cases::intervals::Intervals;

type Action = Box<dyn FnOnce() + Send>;

/// Runs another call first, once, in an allocation or a free.
#[derive(Clone)]
pub(crate) struct Interrupted {
    pub(crate) inner: SyntheticMemory,
    before_allocate: Arc<Mutex<Option<Action>>>,
    before_free: Arc<Mutex<Option<Action>>>,
}

impl Interrupted {
    pub(crate) fn new() -> Self {
        Self::of(SyntheticMemory::new())
    }

    pub(crate) fn of(inner: SyntheticMemory) -> Self {
        Self { inner, before_allocate: Arc::default(), before_free: Arc::default() }
    }

    pub(crate) fn pool(&self, initial: u64, maximum: u64) -> Arc<CUDAGraphMemoryPool<Self>> {
        let config = GraphPoolConfig { initial, maximum };
        Arc::new(CUDAGraphMemoryPool::with_config(self.clone(), config))
    }

    pub(crate) fn on_allocate(&self, action: impl FnOnce() + Send + 'static) {
        *self.before_allocate.lock().unwrap() = Some(Box::new(action));
    }

    pub(crate) fn on_free(&self, action: impl FnOnce() + Send + 'static) {
        *self.before_free.lock().unwrap() = Some(Box::new(action));
    }
}

fn act(action: &Mutex<Option<Action>>) {
    let action = action.lock().unwrap().take();
    if let Some(action) = action {
        action();
    }
}

// SAFETY: it returns the results of another source.
unsafe impl MemorySource for Interrupted {
    type Error = SyntheticRefusal;

    fn device(&self) -> Device {
        self.inner.device()
    }

    fn allocate(&self, bytes: u64) -> Result<u64, SyntheticRefusal> {
        act(&self.before_allocate);
        self.inner.allocate(bytes)
    }

    unsafe fn free(&self, address: u64, bytes: u64) -> bool {
        act(&self.before_free);
        // SAFETY: the caller's promise.
        unsafe { self.inner.free(address, bytes) }
    }
}

#[test]
fn a_pool_that_is_disposed_while_it_grows() {
    let source = Interrupted::new();
    let pool = source.pool(16 * MIB, u64::MAX);
    let disposed = Arc::clone(&pool);
    source.on_allocate(move || assert_eq!(disposed.dispose().freed_bytes, 16 * MIB));
    assert_eq!(pool.allocate(20 * MIB), Err(GraphMemoryError::Disposed));
    assert_eq!((source.inner.held(), source.inner.mistakes(), pool.allocated_bytes()), (0, 0, 0));
}

#[test]
fn a_pool_that_is_reset_and_trimmed_while_it_grows() {
    let source = Interrupted::new();
    let pool = source.pool(16 * MIB, u64::MAX);
    let old = pool.allocate(100).unwrap();
    let emptied = Arc::clone(&pool);
    source.on_allocate(move || {
        assert_eq!(emptied.reset().unwrap().returned, 1);
        assert_eq!(emptied.trim(), Ok(16 * MIB));
    });
    let new = pool.allocate(20 * MIB).unwrap();
    assert_eq!((pool.block(old.id()), pool.block(new.id())), (None, Some(new)));
    assert_eq!((source.inner.held(), pool.allocated_bytes()), (20 * MIB, 20 * MIB));
}

/// Another thread needs the bytes that are being freed: both wait their turn, and one gets them.
#[test]
#[cfg_attr(miri, ignore = "where threads wait, parking_lot makes pointers of numbers")]
fn room_that_another_wants_while_it_is_made() {
    let source = Interrupted::new();
    let pool = source.pool(32 * MIB, 32 * MIB);
    let other = Arc::new(Mutex::new(None));
    let (of_source, second) = (Arc::clone(&other), Arc::clone(&pool));
    source.on_free(move || {
        let waiting = std::thread::spawn(move || second.allocate(16 * MIB));
        *of_source.lock().unwrap() = Some(waiting);
    });
    let own = pool.allocate(24 * MIB);
    let others = other.lock().unwrap().take().unwrap().join().unwrap();
    let mut live = Intervals::default();
    for block in [own, others].into_iter().flatten() {
        live.insert(block.address(), block.size());
    }
    assert!(live.len() == 1 && source.inner.held() <= 32 * MIB);
    assert_eq!((pool.allocated_bytes(), source.inner.mistakes()), (source.inner.held(), 0));
}

#[test]
fn a_lease_that_ends_while_its_chunk_is_given_back() {
    let source = Interrupted::new();
    let pool = source.pool(32 * MIB, u64::MAX);
    let blocks = [(); 2].map(|()| pool.allocate(16 * MIB).unwrap());
    let lease = pool.lease(&[blocks[0].id()]).unwrap();
    source.on_free(move || drop(lease));
    let disposal = pool.dispose();
    assert_eq!((disposal.freed_bytes, disposal.kept_bytes), (16 * MIB, 0));
    assert_eq!((source.inner.held(), source.inner.mistakes()), (0, 0));
}

#[test]
fn a_source_that_panics_leaves_the_pool_as_it_was() {
    let source = Interrupted::new();
    let pool = source.pool(0, 64 * MIB);
    for _ in 0..10 {
        source.on_allocate(|| panic!("as it should"));
        assert!(catch_unwind(AssertUnwindSafe(|| pool.allocate(17 * MIB))).is_err());
        source.on_allocate(|| panic!("as it should"));
        let policy = ArenaPolicy::Monotone;
        let arena = || CudaArena::new(source.clone(), MIB, policy).map(drop);
        assert!(catch_unwind(AssertUnwindSafe(arena)).is_err());
    }
    assert_eq!((pool.allocated_bytes(), pool.block_count()), (0, 0));
    let all = pool.allocate(64 * MIB).unwrap();
    assert!(pool.allocate(1).is_err(), "the maximum is exact still");
    pool.deallocate(all.id()).unwrap();
}

/// A panic prevents a chunk from arriving: a waiting thread is woken, and fetches one.
#[test]
#[cfg_attr(miri, ignore = "where threads wait, parking_lot makes pointers of numbers")]
fn a_source_that_panics_leaves_nobody_waiting() {
    let source = Interrupted::new();
    let pool = source.pool(0, u64::MAX);
    let waiter = Arc::new(Mutex::new(None));
    let (of_source, second) = (Arc::clone(&waiter), Arc::clone(&pool));
    source.on_allocate(move || {
        let waiting = std::thread::spawn(move || second.allocate(1).map(|block| block.size()));
        *of_source.lock().unwrap() = Some(waiting);
        std::thread::sleep(std::time::Duration::from_millis(20));
        panic!("as it should");
    });
    assert!(catch_unwind(AssertUnwindSafe(|| pool.allocate(1))).is_err());
    let waiting = waiter.lock().unwrap().take().unwrap();
    assert_eq!(waiting.join().unwrap(), Ok(1));
}

#[test]
#[cfg_attr(miri, ignore = "a forgotten value leaks, which Miri reports")]
fn leases_that_are_forgotten_keep_their_blocks_for_ever() {
    let source = SyntheticMemory::new();
    let config = GraphPoolConfig { initial: 0, maximum: u64::MAX };
    let pool = CUDAGraphMemoryPool::with_config(source.clone(), config);
    let block = pool.allocate(MIB).unwrap();
    forget(pool.lease(&[block.id()]).unwrap());
    drop(pool.lease(&[block.id(), block.id()]).unwrap());
    assert!(matches!(
        pool.deallocate(block.id()),
        Err(GraphMemoryError::LeasedBlock { leases: 1, .. })
    ));
    pool.reset().unwrap();
    for _ in 0..20 {
        let other = pool.allocate(MIB).unwrap();
        assert_ne!(other.address(), block.address());
    }
    assert_eq!(pool.dispose().kept_bytes, 16 * MIB);
    drop(pool);
    assert_eq!(source.held(), 16 * MIB);
}

/// No request at the numeric limits panics or overlaps.
#[test]
fn requests_at_the_edges_of_what_a_number_can_say() {
    // Miri tests some of them.
    let (size_step, pool_step) = if cfg!(miri) { (4, 3) } else { (1, 1) };
    let edges: Vec<u64> = [0, 1, 255, 256, 257, 16 * MIB, 1 << 32, 1 << 62, 1 << 63, u64::MAX]
        .into_iter()
        .flat_map(|edge: u64| [edge.wrapping_sub(1), edge, edge.wrapping_add(1)])
        .step_by(size_step)
        .collect();
    for maximum in [u64::MAX, 0, 255, 1 << 63, 256, 16 * MIB].into_iter().step_by(pool_step) {
        for start in [u64::MAX - 255 - (40 << 20), 256, 1 << 47].into_iter().step_by(pool_step) {
            let source = SyntheticMemory::starting_at(start, u64::MAX);
            let config = GraphPoolConfig { initial: (48 * MIB).min(maximum), maximum };
            let pool = CUDAGraphMemoryPool::with_config(source.clone(), config);
            let mut live = Intervals::default();
            for &size in &edges {
                for &alignment in &edges {
                    if let Ok(block) = pool.allocate((size, alignment)) {
                        assert_eq!(block.address() % alignment, 0);
                        live.insert(block.address(), size);
                    }
                }
            }
            assert!(pool.allocated_bytes() <= maximum);
            assert_eq!(pool.allocated_bytes(), source.held());
            assert!(!pool.stats().to_string().is_empty());
            drop(pool);
            assert_eq!((source.held(), source.mistakes()), (0, 0));
        }
    }
}

#[test]
fn arenas_at_the_edges_of_what_a_number_can_say() {
    let edges = [0, 1, 255, 256, 257, 1 << 32, 1 << 63, (1 << 63) + 1, u64::MAX - 255, u64::MAX];
    for policy in [ArenaPolicy::Monotone, ArenaPolicy::Linear] {
        for capacity in [1, 4096, 1 << 62, 1 << 63, u64::MAX - 1023] {
            let source = SyntheticMemory::starting_at(512, u64::MAX);
            let arena = CudaArena::new(source, capacity, policy.clone()).unwrap();
            let mut taken = Vec::new();
            for size in edges {
                for alignment in edges {
                    if let Ok(region) = arena.allocate((size, alignment)) {
                        assert!(arena.contains(region.address(), size));
                        taken.push(region.address());
                    }
                }
            }
            assert!(!taken.is_empty() && arena.stats().used_bytes <= arena.capacity());
            assert_eq!(arena.deallocate(u64::MAX), Deallocation::Foreign);
            for address in taken.into_iter().rev() {
                assert!(matches!(arena.deallocate(address), Deallocation::Region { .. }));
            }
            assert_eq!(arena.stats().live_bytes, 0);
        }
    }
}
