//! The thread-safe pool of memory whose addresses stay.

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

/// A thread-safe pool of memory for captured graphs: a block stays at its address until it is returned,
/// and memory is never freed while a graph that [leases](Self::lease) it lives.
///
/// Blocks are cut from chunks of 16 MiB by best fit, larger requests get a chunk of their own, and what
/// is returned merges with what is free beside it. `M` is where the memory comes from: the
/// [`DeviceMemory`] of a GPU, or [`SyntheticMemory`](crate::SyntheticMemory), which is addresses alone.
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
/// Every call may be made from any thread. One lock is held while the pool's own tables are looked at and changed,
/// and never while the source is called, nor while the host's memory is asked for or given back; a thread that finds
/// no room while another one is fetching some waits for that. Which thread gets which addresses depends on who comes
/// first, so "the same addresses after a reset" is a promise to a sequence of calls, not to a race of threads.
///
/// # Host memory
///
/// Where the host has none for the books, [`allocate`](Self::allocate) and [`lease`](Self::lease) answer
/// [`GraphMemoryError::Bookkeeping`](crate::GraphMemoryError::Bookkeeping), and all is as before. Returning,
/// resetting, trimming, disposing and the end of a lease take none. [`with_config`](Self::with_config) is excepted: without some 270
/// KB for its tables the process ends, as everywhere in Rust; with less than its chunks need it begins with fewer.
///
/// # The same addresses
///
/// After a [`reset`](Self::reset) that left no block leased, the same sequence of calls gets the same
/// addresses, as long as no chunk is given back meanwhile: by [`trim`](Self::trim), or to make room for
/// a request that the maximum or the device had no room for.
pub struct CUDAGraphMemoryPool<M: MemorySource = DeviceMemory> {
    shared: Arc<Shared<M>>,
    refusal: Option<M::Error>,
}

/// What [`CUDAGraphMemoryPool::dispose`] did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Disposal {
    /// Bytes that are back at the source.
    pub freed_bytes: u64,
    /// Bytes that go there later: when their last lease goes, when another thread that is fetching them right now has
    /// them, or when the driver takes back what it refused.
    pub kept_bytes: u64,
}

impl<M: MemorySource> CUDAGraphMemoryPool<M> {
    /// A pool with the default configuration: see [`GraphPoolConfig`].
    #[must_use]
    pub fn new(source: M) -> Self {
        Self::with_config(source, GraphPoolConfig::default())
    }

    /// A pool that takes `config.initial` bytes at once, in chunks of 16 MiB, and stops early where the
    /// source has no more or the maximum is reached; see [`refusal`](Self::refusal).
    #[must_use]
    pub fn with_config(source: M, config: GraphPoolConfig) -> Self {
        let mut book = Book::new(next_number(), config.maximum);
        let refusal = growth::preallocate(&source, &mut book, config.initial).err();
        book.offer_anew();
        let shared = Shared { source, book: Mutex::new(book), changed: Condvar::new() };
        Self { shared: Arc::new(shared), refusal }
    }

    /// What the source said when it had less than the initial bytes of the pool.
    #[must_use]
    pub fn refusal(&self) -> Option<&M::Error> {
        self.refusal.as_ref()
    }

    /// Where the memory is.
    #[must_use]
    pub fn device(&self) -> Device {
        self.shared.source.device()
    }

    /// Allocates a block: of a size (at a multiple of 256), or of a size and an alignment.
    ///
    /// Above an alignment of 256, a new chunk for it has `alignment - 256` bytes more, so that it fits wherever the
    /// source puts the chunk.
    ///
    /// # Errors
    ///
    /// If the size is 0 or cannot be rounded up, if the alignment is not a power of two, if neither the maximum nor the
    /// source allows it, if the host has no memory for the books
    /// ([`GraphMemoryError::Bookkeeping`](crate::GraphMemoryError::Bookkeeping)), and after [`dispose`](Self::dispose).
    pub fn allocate(&self, layout: impl BlockLayout) -> GraphMemoryResult<GraphMemoryBlock, M> {
        let (size, alignment) = layout.size_and_alignment();
        growth::allocate(&self.shared, &Request::new(size, alignment)?)
    }

    /// Returns a block, for whoever allocates next.
    ///
    /// Nothing on the device may use it any more that is not ordered before its next use: work on a
    /// stream that was enqueued and not waited for, above all.
    ///
    /// # Errors
    ///
    /// If the block is another pool's, was returned or reset away before, or is leased, and after
    /// [`dispose`](Self::dispose).
    pub fn deallocate(&self, id: BlockId) -> GraphMemoryResult<(), M> {
        self.shared.book.lock().give(id)
    }

    /// The block of a name, as it is now; `None` where nothing is of that name any more.
    #[must_use]
    pub fn block(&self, id: BlockId) -> Option<GraphMemoryBlock> {
        self.find(id).ok()
    }

    /// The block of a name, or why there is none.
    ///
    /// # Errors
    ///
    /// If the block is another pool's, was returned or reset away before, and after
    /// [`dispose`](Self::dispose).
    pub fn find(&self, id: BlockId) -> GraphMemoryResult<GraphMemoryBlock, M> {
        self.shared.book.lock().find(id)
    }

    /// Takes back every block that is not leased, and keeps the memory.
    ///
    /// All block values from before are stale then. One that is leased stays where it is until its last
    /// lease goes, and is then taken back, too.
    ///
    /// # Errors
    ///
    /// After [`dispose`](Self::dispose).
    pub fn reset(&self) -> GraphMemoryResult<Reset, M> {
        self.shared.book.lock().reset()
    }

    /// Gives chunks without any block back to the source; returns how many bytes are free now. A chunk that the driver
    /// refuses to free does not count: it is left over (`Cuda::give_back_leftovers`), and no longer the pool's.
    ///
    /// # Errors
    ///
    /// After [`dispose`](Self::dispose).
    pub fn trim(&self) -> GraphMemoryResult<u64, M> {
        let idle = self.shared.book.lock().trim()?;
        Ok(self.shared.give_back(idle))
    }

    /// Frees everything that no lease holds, and answers every later call with
    /// [`GraphMemoryError::Disposed`](crate::GraphMemoryError::Disposed); a second disposal does nothing.
    ///
    /// Memory under a lease is freed when its last lease goes. Dropping the pool does the same.
    pub fn dispose(&self) -> Disposal {
        let idle = self.shared.book.lock().dispose();
        let bytes = idle.bytes;
        let freed_bytes = self.shared.give_back(idle);
        Disposal { freed_bytes, kept_bytes: self.allocated_bytes() + (bytes - freed_bytes) }
    }

    /// What the pool and its leases have together.
    pub(crate) fn shared(&self) -> &Arc<Shared<M>> {
        &self.shared
    }

    /// Whether the pool was disposed.
    #[must_use]
    pub fn is_disposed(&self) -> bool {
        self.shared.book.lock().is_disposed()
    }

    /// Bytes that are really reserved: taken from the source, or on their way in either direction.
    #[must_use]
    pub fn allocated_bytes(&self) -> u64 {
        self.shared.book.lock().reserved()
    }

    /// Blocks held, free or not.
    #[must_use]
    pub fn block_count(&self) -> u64 {
        self.shared.book.lock().region_count()
    }

    /// The pool's numbers. Looks at every block, under the lock.
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

/// Shows the numbers of the pool.
impl<M: MemorySource> fmt::Debug for CUDAGraphMemoryPool<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.stats())
    }
}

/// A number that no other pool of this process has.
fn next_number() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}
