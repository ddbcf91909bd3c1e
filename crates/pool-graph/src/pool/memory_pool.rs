//! A thread-safe pool of memory whose blocks stay at fixed addresses.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

use pool_core::Device;

use super::config::GraphPoolConfig;
use super::growth;
use super::shared::Shared;
use crate::base::block::{BlockId, GraphMemoryBlock};
use crate::base::request::{BlockLayout, Request};
use crate::base::sync::{Arc, Condvar, Mutex};
use crate::book::{Book, GraphPoolStats, Reset};
use crate::source::{DeviceMemory, GraphMemoryResult, MemorySource};

/// A thread-safe pool of memory for captured graphs. A block stays at its address until it is
/// returned. Memory is never freed while a graph holds a [lease](Self::lease) on it.
///
/// The pool cuts blocks from chunks of 16 MiB, using best fit. Requests larger than a chunk get
/// their own chunk, and a returned block is merged with its free neighbours. `M` is the source of
/// the memory: [`DeviceMemory`] on a GPU, or [`SyntheticMemory`](crate::SyntheticMemory), which
/// hands out addresses without memory behind them.
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
/// Every method may be called from any thread. One lock protects the pool's tables, and is held
/// only to read and change them. It is never held while the source is called, or while host memory
/// is allocated or freed. A thread that finds no free block while another thread requests memory
/// waits for that request to end. The addresses that a thread receives depend on the order in which
/// threads call the pool. The promise of the same addresses after a reset therefore applies to a
/// sequence of calls, not to threads that race.
///
/// # Host memory
///
/// If the host cannot allocate the records, [`allocate`](Self::allocate) and [`lease`](Self::lease)
/// fail with [`GraphMemoryError::Bookkeeping`](crate::GraphMemoryError::Bookkeeping) and change
/// nothing. Returning a block, resetting, trimming, disposing and dropping a lease allocate no host
/// memory. Creating a pool is the exception: if about 270 KB for its tables cannot be allocated,
/// [`with_config`](Self::with_config) aborts the process, as Rust's collections do. If the host can
/// allocate the tables but not the records of all initial chunks, the pool starts with fewer
/// chunks.
///
/// # The same addresses
///
/// After a [`reset`](Self::reset) that left no block leased, the same sequence of calls returns the
/// same addresses, provided that no chunk has been freed in between. A chunk is freed by
/// [`trim`](Self::trim), or to satisfy a request that exceeds the maximum or the device's memory.
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
    /// The number of bytes that will be returned later: when their last lease is dropped, when
    /// another thread's request for them has ended, or when the driver accepts a deferred free.
    pub kept_bytes: u64,
}

impl<M: MemorySource> CUDAGraphMemoryPool<M> {
    /// Creates a pool with the default [`GraphPoolConfig`].
    #[must_use]
    pub fn new(source: M) -> Self {
        Self::with_config(source, GraphPoolConfig::default())
    }

    /// Creates a pool that immediately requests `config.initial` bytes in chunks of 16 MiB. It
    /// stops early if the source has no more memory or the maximum is reached; see
    /// [`refusal`](Self::refusal).
    #[must_use]
    pub fn with_config(source: M, config: GraphPoolConfig) -> Self {
        let mut book = Book::new(next_number(), config.maximum);
        let refusal = growth::preallocate(&source, &mut book, config.initial).err();
        book.offer_anew();
        let shared = Shared { source, book: Mutex::new(book), changed: Condvar::new() };
        Self { shared: Arc::new(shared), refusal }
    }

    /// Returns the source's error if the source could not provide the initial bytes of the pool.
    #[must_use]
    pub fn refusal(&self) -> Option<&M::Error> {
        self.refusal.as_ref()
    }

    /// Returns the device that holds the memory.
    #[must_use]
    pub fn device(&self) -> Device {
        self.shared.source.device()
    }

    /// Allocates a block, given a size or a size and an alignment. By default a block is aligned to
    /// 256 bytes.
    ///
    /// For an alignment above 256, a new chunk is requested with `alignment - 256` additional
    /// bytes, so that the block fits wherever the chunk starts.
    ///
    /// # Errors
    ///
    /// Fails if the size is 0 or cannot be rounded up, if the alignment is not a power of two, or
    /// if the request exceeds the maximum or the source's memory. It also fails if the host cannot
    /// allocate the records
    /// ([`GraphMemoryError::Bookkeeping`](crate::GraphMemoryError::Bookkeeping)), and after
    /// [`dispose`](Self::dispose).
    pub fn allocate(&self, layout: impl BlockLayout) -> GraphMemoryResult<GraphMemoryBlock, M> {
        let (size, alignment) = layout.size_and_alignment();
        growth::allocate(&self.shared, &Request::new(size, alignment)?)
    }

    /// Returns a block to the pool, so that any caller may reuse its memory.
    ///
    /// All device work that uses the block must be ordered before the next use of its memory. If
    /// work was enqueued on a stream, for example, the caller must have synchronized that stream.
    ///
    /// # Errors
    ///
    /// Fails if the block belongs to another pool, has already been returned or reset, or is
    /// leased. It also fails after [`dispose`](Self::dispose).
    pub fn deallocate(&self, id: BlockId) -> GraphMemoryResult<(), M> {
        self.shared.book.lock().give(id)
    }

    /// Returns the block with this ID, or `None` if the ID is no longer valid.
    #[must_use]
    pub fn block(&self, id: BlockId) -> Option<GraphMemoryBlock> {
        self.find(id).ok()
    }

    /// Returns the block with this ID, or an error that states why there is none.
    ///
    /// # Errors
    ///
    /// Fails if the block belongs to another pool, or has already been returned or reset. It also
    /// fails after [`dispose`](Self::dispose).
    pub fn find(&self, id: BlockId) -> GraphMemoryResult<GraphMemoryBlock, M> {
        self.shared.book.lock().find(id)
    }

    /// Frees every block that is not leased. The pool keeps the memory.
    ///
    /// Block values from before the reset become stale. A leased block stays in place until its
    /// last lease is dropped, and is then freed as well.
    ///
    /// # Errors
    ///
    /// Fails after [`dispose`](Self::dispose).
    pub fn reset(&self) -> GraphMemoryResult<Reset, M> {
        self.shared.book.lock().reset()
    }

    /// Returns chunks that contain no blocks to the source, and returns the number of freed bytes.
    /// If the driver refuses to free a chunk, the free is deferred (`Cuda::give_back_leftovers`).
    /// The chunk still leaves the pool, but its bytes are not counted.
    ///
    /// # Errors
    ///
    /// Fails after [`dispose`](Self::dispose).
    pub fn trim(&self) -> GraphMemoryResult<u64, M> {
        let idle = self.shared.book.lock().trim()?;
        Ok(self.shared.give_back(idle))
    }

    /// Frees all memory that is not leased. Every later call fails with
    /// [`GraphMemoryError::Disposed`](crate::GraphMemoryError::Disposed), except that a second
    /// `dispose` does nothing.
    ///
    /// Leased memory is freed when its last lease is dropped. Dropping the pool has the same
    /// effect.
    pub fn dispose(&self) -> Disposal {
        let idle = self.shared.book.lock().dispose();
        let bytes = idle.bytes;
        let freed_bytes = self.shared.give_back(idle);
        Disposal { freed_bytes, kept_bytes: self.allocated_bytes() + (bytes - freed_bytes) }
    }

    /// Returns the state that the pool shares with its leases.
    pub(crate) fn shared(&self) -> &Arc<Shared<M>> {
        &self.shared
    }

    /// Returns `true` if the pool has been disposed.
    #[must_use]
    pub fn is_disposed(&self) -> bool {
        self.shared.book.lock().is_disposed()
    }

    /// Returns the number of reserved bytes: memory held by the pool, being requested from the
    /// source, or being returned to it.
    #[must_use]
    pub fn allocated_bytes(&self) -> u64 {
        self.shared.book.lock().reserved()
    }

    /// Returns the number of blocks that the pool tracks, both free and in use.
    #[must_use]
    pub fn block_count(&self) -> u64 {
        self.shared.book.lock().region_count()
    }

    /// Returns the pool's statistics. The call reads every block while it holds the lock.
    #[must_use]
    pub fn stats(&self) -> GraphPoolStats {
        let device = self.device();
        self.shared.book.lock().stats(device)
    }
}

impl<M: MemorySource> Drop for CUDAGraphMemoryPool<M> {
    fn drop(&mut self) {
        self.dispose();
    }
}

/// Prints the statistics of the pool.
impl<M: MemorySource> fmt::Debug for CUDAGraphMemoryPool<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.stats())
    }
}

/// Returns a number that is unique to this pool within the process.
fn next_number() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}
