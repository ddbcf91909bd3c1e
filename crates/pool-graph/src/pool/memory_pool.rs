//! A thread-safe memory pool whose blocks stay at fixed addresses.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

use pool_core::Device;

use super::config::GraphPoolConfig;
use super::growth;
use super::shared::Shared;
use crate::base::block::{BlockId, GraphMemoryBlock};
use crate::base::request::{BlockLayout, Request};
use crate::base::sync::{Arc, Condvar, Mutex};
use crate::ledger::{BlockLedger, GraphPoolStats, Reset};
use crate::source::{DeviceMemory, GraphMemoryResult, MemorySource};

/// A thread-safe memory pool for captured graphs. A block stays at its address until it is
/// returned. The pool never frees memory while a graph holds a [lease](Self::lease) on it.
///
/// The pool uses a best-fit strategy to allocate blocks from chunks of 16 MiB. A request larger
/// than a chunk receives a chunk of its own. Returning a block merges it with adjacent free blocks.
/// The type parameter `M` is the memory source. On a GPU, the source is [`DeviceMemory`].
/// [`SyntheticMemory`](crate::SyntheticMemory) returns addresses that do not refer to real memory.
///
/// ```
/// use pool_graph::{BlockState, CUDAGraphMemoryPool, GraphPoolConfig, SyntheticMemory};
///
/// let config = GraphPoolConfig { initial: 32 << 20, ..Default::default() };
/// let pool = CUDAGraphMemoryPool::with_config(SyntheticMemory::new(), config);
/// let weights = pool.allocate(6 << 20)?;
/// let scratch = pool.allocate((1000, 4096))?;
/// assert_eq!(scratch.address() % 4096, 0);
///
/// // What a captured graph holds: the block can be neither returned nor reset away meanwhile.
/// let lease = pool.lease(&[weights.id()])?;
/// assert_eq!(pool.block(weights.id()).map(|block| block.state()), Some(BlockState::Leased));
/// assert!(pool.deallocate(weights.id()).is_err());
/// assert_eq!(pool.reset()?.leased, 1);
/// drop(lease);
///
/// // The same sequence after a reset gets the same addresses.
/// pool.reset()?;
/// assert_eq!(pool.allocate(6 << 20)?.address(), weights.address());
/// # Ok::<(), pool_graph::GraphMemoryError<pool_graph::SyntheticRefusal>>(())
/// ```
///
/// # Threads
///
/// Every method may be called from any thread. A single lock protects the pool's tables, and it is
/// held only while the tables are read or changed. The pool never holds the lock while it calls the
/// source, or while it allocates or frees host memory. If a thread finds no free block while
/// another thread is requesting memory, the first thread waits until that request has ended. If
/// several threads use the pool, the order of their calls determines which addresses each thread
/// receives. Equal addresses after a reset are therefore guaranteed only for a fixed sequence of
/// calls, without races between threads.
///
/// # Host memory
///
/// If the host cannot allocate memory for the pool's records, [`allocate`](Self::allocate) and
/// [`lease`](Self::lease) fail with
/// [`GraphMemoryError::Bookkeeping`](crate::GraphMemoryError::Bookkeeping) and change nothing.
/// Returning a block, dropping a lease, and resetting, trimming, or disposing of the pool allocate
/// no host memory. A new pool needs about 270 KB of host memory for its tables. If the host cannot
/// allocate this memory, [`with_config`](Self::with_config) aborts the process, as the standard
/// collections do. If the host has memory for the tables but not for the records of all initial
/// chunks, the pool starts with fewer chunks.
///
/// # The same addresses
///
/// If no block is leased during a [`reset`](Self::reset), the same sequence of calls returns the
/// same addresses as before. The addresses can differ only if a chunk has been freed since the
/// reset. The pool frees a chunk when [`trim`](Self::trim) is called, or when a request would
/// exceed the pool's maximum size or the device's free memory.
pub struct CUDAGraphMemoryPool<M: MemorySource = DeviceMemory> {
    shared: Arc<Shared<M>>,
    refusal: Option<M::Error>,
}

/// The result of [`CUDAGraphMemoryPool::dispose`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Disposal {
    /// The number of bytes returned to the source.
    pub freed_bytes: u64,
    /// The number of bytes that will be returned to the source later. Memory is returned later if
    /// it is leased, if it is part of a request in progress, or if the driver could not free it
    /// immediately.
    pub kept_bytes: u64,
}

impl<M: MemorySource> CUDAGraphMemoryPool<M> {
    /// Creates a pool with the default [`GraphPoolConfig`].
    #[must_use]
    pub fn new(source: M) -> Self {
        Self::with_config(source, GraphPoolConfig::default())
    }

    /// Creates a pool that immediately requests `config.initial` bytes in chunks of 16 MiB. The
    /// pool starts with fewer chunks if the source runs out of memory or the pool reaches its
    /// maximum size. If the source ran out of memory, [`refusal`](Self::refusal) returns the
    /// source's error.
    #[must_use]
    pub fn with_config(source: M, config: GraphPoolConfig) -> Self {
        let mut ledger = BlockLedger::new(next_number(), config.maximum);
        let refusal = growth::preallocate(&source, &mut ledger, config.initial).err();
        ledger.offer_anew();
        let shared = Shared { source, ledger: Mutex::new(ledger), changed: Condvar::new() };
        Self { shared: Arc::new(shared), refusal }
    }

    /// Returns the source's error if the source could not provide all of the pool's initial memory.
    #[must_use]
    pub fn refusal(&self) -> Option<&M::Error> {
        self.refusal.as_ref()
    }

    /// Returns the device that holds the memory.
    #[must_use]
    pub fn device(&self) -> Device {
        self.shared.source.device()
    }

    /// Allocates a block with the given size and alignment. If no alignment is given, the block is
    /// aligned to 256 bytes.
    ///
    /// If the alignment is larger than 256 and a new chunk is needed, the pool requests
    /// `alignment - 256` additional bytes. These additional bytes ensure that the block fits into
    /// the chunk regardless of the chunk's address.
    ///
    /// # Errors
    ///
    /// Returns an error if the size is 0 or cannot be rounded up, or if the alignment is not a
    /// power of two. The call also returns an error if the request exceeds the pool's maximum size
    /// or the source's available memory. The call also fails if the host cannot allocate memory for
    /// the records ([`GraphMemoryError::Bookkeeping`](crate::GraphMemoryError::Bookkeeping)), or if
    /// the pool has been [disposed of](Self::dispose).
    pub fn allocate(&self, layout: impl BlockLayout) -> GraphMemoryResult<GraphMemoryBlock, M> {
        let (size, alignment) = layout.size_and_alignment();
        growth::allocate(&self.shared, &Request::new(size, alignment)?)
    }

    /// Returns a block to the pool so that later allocations can reuse its memory.
    ///
    /// All device work that uses the block must be ordered before the next use of the same memory.
    /// For example, the caller can first synchronize the stream on which the work was enqueued.
    ///
    /// # Errors
    ///
    /// Returns an error if the block belongs to another pool, has already been returned, has been
    /// freed by a reset, or is leased. The call also fails if the pool has been [disposed
    /// of](Self::dispose).
    pub fn deallocate(&self, id: BlockId) -> GraphMemoryResult<(), M> {
        self.shared.ledger.lock().give(id)
    }

    /// Returns the block with this ID, or `None` if the ID is no longer valid.
    #[must_use]
    pub fn block(&self, id: BlockId) -> Option<GraphMemoryBlock> {
        self.find(id).ok()
    }

    /// Returns the block with this ID, or an error that states why there is no such block.
    ///
    /// # Errors
    ///
    /// Returns an error if the block belongs to another pool, has already been returned, or has
    /// been freed by a reset. The call also fails if the pool has been [disposed
    /// of](Self::dispose).
    pub fn find(&self, id: BlockId) -> GraphMemoryResult<GraphMemoryBlock, M> {
        self.shared.ledger.lock().find(id)
    }

    /// Frees every block that is not leased. The pool retains the freed memory for later
    /// allocations.
    ///
    /// Each [`GraphMemoryBlock`] created before the reset becomes stale. A leased block remains
    /// allocated until its last lease is dropped, and is then freed.
    ///
    /// # Errors
    ///
    /// Returns an error if the pool has been [disposed of](Self::dispose).
    pub fn reset(&self) -> GraphMemoryResult<Reset, M> {
        self.shared.ledger.lock().reset()
    }

    /// Frees all chunks that contain no blocks and returns the number of freed bytes. If the driver
    /// refuses to free a chunk, a later call to `Cuda::retry_deferred_frees` retries the free. A
    /// chunk that could not be freed no longer belongs to the pool, but its bytes are not included
    /// in the result.
    ///
    /// # Errors
    ///
    /// Returns an error if the pool has been [disposed of](Self::dispose).
    pub fn trim(&self) -> GraphMemoryResult<u64, M> {
        let idle = self.shared.ledger.lock().trim()?;
        Ok(self.shared.give_back(idle))
    }

    /// Frees all memory that is not leased. After a call to `dispose`, all methods that return a
    /// `Result` fail with [`GraphMemoryError::Disposed`](crate::GraphMemoryError::Disposed).
    /// Calling `dispose` again has no effect.
    ///
    /// Leased memory is freed when its last lease is dropped. Dropping a pool also disposes of it.
    pub fn dispose(&self) -> Disposal {
        let idle = self.shared.ledger.lock().dispose();
        let bytes = idle.bytes;
        let freed_bytes = self.shared.give_back(idle);
        Disposal { freed_bytes, kept_bytes: self.allocated_bytes() + (bytes - freed_bytes) }
    }

    /// Returns the state shared by the pool and its leases.
    pub(crate) fn shared(&self) -> &Arc<Shared<M>> {
        &self.shared
    }

    /// Returns `true` if the pool has been disposed of.
    #[must_use]
    pub fn is_disposed(&self) -> bool {
        self.shared.ledger.lock().is_disposed()
    }

    /// Returns the number of bytes that the pool has reserved. This number includes bytes that are
    /// being requested from the source or returned to it.
    #[must_use]
    pub fn allocated_bytes(&self) -> u64 {
        self.shared.ledger.lock().reserved()
    }

    /// Returns the number of blocks in the pool, including free blocks.
    #[must_use]
    pub fn block_count(&self) -> u64 {
        self.shared.ledger.lock().region_count()
    }

    /// Returns the pool's statistics. This method examines every block while holding the pool's
    /// lock.
    #[must_use]
    pub fn stats(&self) -> GraphPoolStats {
        let device = self.device();
        self.shared.ledger.lock().stats(device)
    }
}

impl<M: MemorySource> Drop for CUDAGraphMemoryPool<M> {
    fn drop(&mut self) {
        self.dispose();
    }
}

/// Formats the pool's statistics.
impl<M: MemorySource> fmt::Debug for CUDAGraphMemoryPool<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.stats())
    }
}

/// Returns the pool's number, which is unique within the process.
fn next_number() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}
