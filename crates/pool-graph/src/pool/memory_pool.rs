//! The thread-safe pool of memory with fixed addresses.

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

/// A thread-safe pool of memory for captured graphs: a block stays at its address until it is
/// returned, and memory is never freed while a graph that [leases](Self::lease) it lives.
///
/// Blocks are cut from chunks of 16 MiB by best fit, larger requests get separate chunks, and a
/// returned block merges with free neighbours. `M` is the source of the memory: the
/// [`DeviceMemory`] of a GPU, or [`SyntheticMemory`](crate::SyntheticMemory), which is addresses
/// alone.
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
/// Every call may be made from any thread. One lock is held only to read and change the pool's own
/// tables. It is never held during a call of the source, nor during an allocation or a free of host
/// memory. A thread that finds no block while another one fetches memory waits for that. The
/// addresses that a thread gets depend on the order of the threads. So "the same addresses after a
/// reset" is a promise for a sequence of calls, not for a race of threads.
///
/// # Host memory
///
/// If the host has no memory for the records, [`allocate`](Self::allocate) and
/// [`lease`](Self::lease) fail with
/// [`GraphMemoryError::Bookkeeping`](crate::GraphMemoryError::Bookkeeping) and change nothing.
/// Returning, resetting, trimming, disposing and the end of a lease allocate nothing.
/// [`with_config`](Self::with_config) is the exception: without some 270 KB for its tables the
/// process aborts, as everywhere in Rust. With less memory than its chunks need it begins with
/// fewer.
///
/// # The same addresses
///
/// After a [`reset`](Self::reset) that left no block leased, the same sequence of calls gets the
/// same addresses, if no chunk is freed meanwhile. A chunk is freed by [`trim`](Self::trim), or for
/// a request that exceeds the maximum or the device's memory.
pub struct CUDAGraphMemoryPool<M: MemorySource = DeviceMemory> {
    shared: Arc<Shared<M>>,
    refusal: Option<M::Error>,
}

/// The result of [`CUDAGraphMemoryPool::dispose`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Disposal {
    /// Bytes returned to the source.
    pub freed_bytes: u64,
    /// Bytes that are returned later: when their last lease is dropped, when another thread has
    /// fetched them, or when the driver accepts a deferred free.
    pub kept_bytes: u64,
}

impl<M: MemorySource> CUDAGraphMemoryPool<M> {
    /// Creates a pool with the default configuration: see [`GraphPoolConfig`].
    #[must_use]
    pub fn new(source: M) -> Self {
        Self::with_config(source, GraphPoolConfig::default())
    }

    /// Creates a pool that takes `config.initial` bytes at once, in chunks of 16 MiB. It stops
    /// early if the source has no more or the maximum is reached; see [`refusal`](Self::refusal).
    #[must_use]
    pub fn with_config(source: M, config: GraphPoolConfig) -> Self {
        let mut book = Book::new(next_number(), config.maximum);
        let refusal = growth::preallocate(&source, &mut book, config.initial).err();
        book.offer_anew();
        let shared = Shared { source, book: Mutex::new(book), changed: Condvar::new() };
        Self { shared: Arc::new(shared), refusal }
    }

    /// Returns the source's error if it had less than the initial bytes of the pool.
    #[must_use]
    pub fn refusal(&self) -> Option<&M::Error> {
        self.refusal.as_ref()
    }

    /// Returns the device of the memory.
    #[must_use]
    pub fn device(&self) -> Device {
        self.shared.source.device()
    }

    /// Allocates a block: of a size (at a multiple of 256), or of a size and an alignment.
    ///
    /// Above an alignment of 256, a new chunk for it has `alignment - 256` bytes more, so that it
    /// fits at any address of the chunk.
    ///
    /// # Errors
    ///
    /// Fails if the size is 0 or cannot be rounded up, if the alignment is not a power of two, and
    /// if it exceeds the maximum or the source's memory. It also fails if the host has no memory
    /// for the records ([`GraphMemoryError::Bookkeeping`](crate::GraphMemoryError::Bookkeeping)),
    /// and after [`dispose`](Self::dispose).
    pub fn allocate(&self, layout: impl BlockLayout) -> GraphMemoryResult<GraphMemoryBlock, M> {
        let (size, alignment) = layout.size_and_alignment();
        growth::allocate(&self.shared, &Request::new(size, alignment)?)
    }

    /// Returns a block, for reuse by any caller.
    ///
    /// All work on the device that uses it must be ordered before its next use. In particular, work
    /// that was enqueued on a stream must have been waited for.
    ///
    /// # Errors
    ///
    /// Fails if the block is another pool's, was returned or reset before, or is leased, and after
    /// [`dispose`](Self::dispose).
    pub fn deallocate(&self, id: BlockId) -> GraphMemoryResult<(), M> {
        self.shared.book.lock().give(id)
    }

    /// Returns the current block of a name, or `None` if the name is no longer valid.
    #[must_use]
    pub fn block(&self, id: BlockId) -> Option<GraphMemoryBlock> {
        self.find(id).ok()
    }

    /// Returns the block of a name, or the reason for which there is none.
    ///
    /// # Errors
    ///
    /// Fails if the block is another pool's, was returned or reset before, and after
    /// [`dispose`](Self::dispose).
    pub fn find(&self, id: BlockId) -> GraphMemoryResult<GraphMemoryBlock, M> {
        self.shared.book.lock().find(id)
    }

    /// Frees every block that is not leased, and keeps the memory.
    ///
    /// Earlier block values become stale. A leased block stays in place until its last lease is
    /// dropped, and is then freed, too.
    ///
    /// # Errors
    ///
    /// Fails after [`dispose`](Self::dispose).
    pub fn reset(&self) -> GraphMemoryResult<Reset, M> {
        self.shared.book.lock().reset()
    }

    /// Returns chunks without any block to the source. Returns the number of freed bytes. A chunk
    /// that the driver refuses to free does not count: its free is deferred
    /// (`Cuda::give_back_leftovers`), and it leaves the pool.
    ///
    /// # Errors
    ///
    /// Fails after [`dispose`](Self::dispose).
    pub fn trim(&self) -> GraphMemoryResult<u64, M> {
        let idle = self.shared.book.lock().trim()?;
        Ok(self.shared.give_back(idle))
    }

    /// Frees all memory without a lease. Every later call fails with
    /// [`GraphMemoryError::Disposed`](crate::GraphMemoryError::Disposed); a second disposal does
    /// nothing.
    ///
    /// Memory under a lease is freed when its last lease is dropped. The drop of the pool does the
    /// same.
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

    /// Returns `true` if the pool was disposed.
    #[must_use]
    pub fn is_disposed(&self) -> bool {
        self.shared.book.lock().is_disposed()
    }

    /// Returns the reserved bytes: taken from the source, or in transit in either direction.
    #[must_use]
    pub fn allocated_bytes(&self) -> u64 {
        self.shared.book.lock().reserved()
    }

    /// Returns the number of blocks held, free or not.
    #[must_use]
    pub fn block_count(&self) -> u64 {
        self.shared.book.lock().region_count()
    }

    /// Returns the pool's statistics. It reads every block, under the lock.
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

/// Shows the statistics of the pool.
impl<M: MemorySource> fmt::Debug for CUDAGraphMemoryPool<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.stats())
    }
}

/// Returns a number that no other pool of this process has.
fn next_number() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}
