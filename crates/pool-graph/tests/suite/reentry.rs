//! The source is never called under the pool's lock: a source that queries the pool's statistics
//! would deadlock.

use std::error::Error;
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, Weak};

use pool_core::Device;
use pool_graph::{CUDAGraphMemoryPool, GraphMemoryError, GraphPoolConfig, MemorySource};
use pool_graph::{SyntheticMemory, SyntheticRefusal};

use crate::cases::MIB;

type Pool = CUDAGraphMemoryPool<Curious>;

/// Queries its pool in each allocation and free.
#[derive(Clone)]
struct Curious {
    inner: SyntheticMemory,
    pool: Arc<OnceLock<Weak<Pool>>>,
    asked: Arc<AtomicUsize>,
}

impl Curious {
    fn ask(&self) {
        if let Some(pool) = self.pool.get().and_then(Weak::upgrade) {
            assert!(pool.stats().reserved_bytes >= pool.stats().in_use_bytes);
            self.asked.fetch_add(1, Ordering::Relaxed);
        }
    }
}

// SAFETY: it returns the results of another source.
unsafe impl MemorySource for Curious {
    type Error = SyntheticRefusal;

    fn device(&self) -> Device {
        self.inner.device()
    }

    fn allocate(&self, bytes: u64) -> Result<u64, SyntheticRefusal> {
        self.ask();
        self.inner.allocate(bytes)
    }

    unsafe fn free(&self, address: u64, bytes: u64) -> bool {
        self.ask();
        // SAFETY: the caller's promise.
        unsafe { self.inner.free(address, bytes) }
    }
}

#[test]
fn the_source_may_ask_the_pool() {
    let source = Curious {
        inner: SyntheticMemory::with_limit(32 * MIB),
        pool: Arc::default(),
        asked: Arc::default(),
    };
    let config = GraphPoolConfig { initial: 0, maximum: u64::MAX };
    let pool = Arc::new(CUDAGraphMemoryPool::with_config(source.clone(), config));
    source.pool.set(Arc::downgrade(&pool)).unwrap();
    let block = pool.allocate(1).unwrap();
    assert!(pool.allocate(17 * MIB).is_err());
    let lease = pool.lease(&[block.id()]).unwrap();
    pool.reset().unwrap();
    pool.trim().unwrap();
    pool.dispose();
    drop(lease);
    assert_eq!(source.inner.held(), 0);
    assert_eq!(source.asked.load(Ordering::Relaxed), 3, "two allocations and a free");
}

/// Returns an address that a source must not return.
#[derive(Clone)]
struct Wrong(u64, Arc<AtomicUsize>);

#[derive(Debug, PartialEq)]
struct Never;

impl fmt::Display for Never {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("never")
    }
}

impl Error for Never {}

// SAFETY: it breaks the second point of the contract, which is checked.
unsafe impl MemorySource for Wrong {
    type Error = Never;

    fn device(&self) -> Device {
        Device { kind: "wrong", ordinal: Some(1) }
    }

    fn allocate(&self, _: u64) -> Result<u64, Never> {
        self.1.fetch_add(1, Ordering::Relaxed);
        Ok(self.0)
    }

    unsafe fn free(&self, address: u64, _: u64) -> bool {
        assert_eq!(address, self.0);
        self.1.fetch_sub(1, Ordering::Relaxed);
        true
    }
}

#[test]
fn addresses_that_cannot_be_go_back() {
    for address in [0, 128, u64::MAX - 255] {
        let source = Wrong(address, Arc::default());
        let config = GraphPoolConfig { initial: 32 * MIB, maximum: u64::MAX };
        let pool = CUDAGraphMemoryPool::with_config(source.clone(), config);
        assert_eq!(pool.allocated_bytes(), 0);
        let bytes = 16 * MIB;
        assert_eq!(pool.allocate(1), Err(GraphMemoryError::BadAddress { address, bytes }));
        let arena = pool_graph::CudaArena::new(source.clone(), 512, Default::default());
        assert_eq!(arena.err(), Some(GraphMemoryError::BadAddress { address, bytes: 512 }));
        assert_eq!((pool.allocated_bytes(), source.1.load(Ordering::Relaxed)), (0, 0));
    }
}
