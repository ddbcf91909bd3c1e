//! A pool for lexical use, which owns the slots and opens scopes.

use core::fmt;
use core::marker::PhantomData;
use core::panic::{RefUnwindSafe, UnwindSafe};

use crate::backend::{Cursor, PoolBackend, PoolRoot, PoolState, Root, State};
use crate::config::{Compaction, PoolConfig};
use crate::error::{PoolError, panic_with};
use crate::scope::Scope;
use crate::stats::{PoolStats, ReleaseReport};

/// Memory for the temporaries of one thread at a time, on one device.
///
/// A pool has no acquire methods: open a [`Scope`] instead. A pool keeps every block until you call
/// [`trim`](Self::trim), [`compact`](Self::compact) or [`clear`](Self::clear), or drop the pool.
/// The second pass through the same scopes therefore allocates nothing. A loop over
/// [`keep`](Scope::keep) may need more passes; its documentation gives the number.
///
/// A pool can be sent to another thread if the backend's context and
/// [`Descriptor`](PoolBackend::Descriptor) are `Send`. A descriptor is the data that a backend
/// stores with a cached shape. A pool cannot be shared between threads.
///
/// ```
/// # use pool_conformance::HeapBackend as Memory;
/// # use pool_core::Pool;
/// let mut pool = Pool::<Memory>::new(Default::default());
/// for _ in 0..100 {
///     let scope = pool.scope();
///     let (a, b) = (scope.acquire_zeroed::<f32, _>(1000), scope.acquire_zeroed::<u8, _>(10));
///     a[0] = f32::from(b[0]);
/// }
/// assert_eq!(pool.stats().growths, 2);
/// ```
///
/// The page [`soundness`](crate::soundness) lists programs that do not compile, such as opening a
/// second scope while a view lives.
pub struct Pool<B: PoolBackend> {
    root: Root<B>,
    owner: PhantomData<State<B>>,
}

// SAFETY: the pool is the only owner of its state, tables and blocks. None of them is bound to a
// thread, because blocks may move wherever the context may (`PoolBackend`'s contract). Descriptors
// are the backend's own data, and are moved only if they are `Send`.
unsafe impl<B: PoolBackend> Send for Pool<B>
where
    B::Context: Send,
    B::Descriptor: Send,
{
}

impl<B: PoolBackend> Pool<B> {
    /// Creates an empty pool with the default configuration.
    ///
    /// # Panics
    ///
    /// Panics with the error that [`with_config`](Self::with_config) returns.
    #[must_use]
    pub fn new(context: B::Context) -> Self {
        Self::with_config(context, PoolConfig::new()).unwrap_or_else(|error| panic_with(&error))
    }

    /// Creates an empty pool with a configuration.
    ///
    /// # Errors
    ///
    /// [`PoolError::Config`] if a value is out of range, and [`PoolError::Bookkeeping`] if the host
    /// has no memory for the first slot table.
    pub fn with_config(
        context: B::Context,
        config: PoolConfig,
    ) -> Result<Self, PoolError<B::Error>> {
        Ok(Self { root: Root::<B>::create(context, config)?, owner: PhantomData })
    }

    /// Opens a scope. Opening a scope costs one load, and leaving it costs nothing.
    #[inline]
    pub fn scope(&mut self) -> Scope<'_, B> {
        // SAFETY: the pool is borrowed exclusively for the lifetime of the scope and its views. No
        // view of an earlier scope is in use, and no other cursor of this pool is used during the
        // borrow.
        let cursor = unsafe { self.root.cursor() };
        // SAFETY: as for the cursor above.
        unsafe { Scope::from_cursor(cursor) }
    }

    /// Frees every block. The slots stay, and the next acquire of each slot allocates again.
    pub fn trim(&mut self) -> ReleaseReport {
        self.scope().trim()
    }

    /// Replaces oversized blocks with smaller ones. The new sizes follow the lengths acquired since
    /// [`sample_lengths`](Self::sample_lengths) or the previous call. Without samples, the first
    /// call replaces nothing and starts sampling; see [`Compaction`].
    ///
    /// ```
    /// # use pool_conformance::HeapBackend as Memory;
    /// use pool_core::{Compaction, Pool};
    ///
    /// let mut pool = Pool::<Memory>::default();
    /// let pass = |pool: &mut Pool<Memory>, length: usize| {
    ///     pool.scope().acquire::<f64, _>(length).fill(0.0);
    /// };
    /// let compaction = Compaction { minimum_bytes: 1, ..Compaction::default() };
    /// pass(&mut pool, 100_000); // once, and never again
    /// assert_eq!(pool.compact(&compaction).bytes, 0); // nothing was sampled; sampling starts here
    /// pass(&mut pool, 100);
    /// assert!(pool.compact(&compaction).bytes > 790_000);
    /// ```
    pub fn compact(&mut self, compaction: &Compaction) -> ReleaseReport {
        self.scope().compact(compaction)
    }

    /// Starts sampling the lengths of acquires, for [`compact`](Self::compact).
    pub fn sample_lengths(&mut self) {
        self.scope().sample_lengths();
    }

    /// Frees every block and resets the peaks, as if the pool were new.
    pub fn clear(&mut self) -> ReleaseReport {
        let released = self.trim();
        self.state().forget_peaks();
        released
    }

    /// Replaces the configuration. The pool keeps its blocks, even if they exceed a lower limit.
    ///
    /// # Errors
    ///
    /// [`PoolError::Config`] if a value is out of range. The pool then keeps its old configuration.
    pub fn configure(&mut self, config: PoolConfig) -> Result<(), PoolError<B::Error>> {
        // SAFETY: no scope is open, so no view is in use.
        Ok(unsafe { self.state().configure(config) }?)
    }

    /// Returns the configuration.
    #[must_use]
    pub fn config(&self) -> PoolConfig {
        self.state().config()
    }

    /// Returns the statistics of the pool.
    #[must_use]
    pub fn stats(&self) -> PoolStats {
        self.state().stats(0)
    }

    /// Returns the backend's context.
    #[must_use]
    pub fn context(&self) -> &B::Context {
        self.state().context()
    }

    #[inline(always)]
    pub(crate) fn state(&self) -> &State<B> {
        // SAFETY: the pool is live while it is borrowed.
        unsafe { self.root.state() }
    }

    /// Returns a cursor at the beginning of the pool's memory.
    ///
    /// # Safety
    ///
    /// Same as for [`PoolRoot::cursor`].
    #[inline(always)]
    pub(crate) unsafe fn root_cursor(&self) -> Cursor<B> {
        // SAFETY: the caller upholds the same contract.
        unsafe { self.root.cursor() }
    }

    /// Gives up ownership of the pool.
    #[inline(always)]
    pub(crate) fn into_root(self) -> Root<B> {
        let root = self.root;
        core::mem::forget(self);
        root
    }

    /// Creates a pool from a root.
    ///
    /// # Safety
    ///
    /// `root` came from [`into_root`](Self::into_root), and no other pool is created from it.
    #[inline(always)]
    pub(crate) unsafe fn from_root(root: Root<B>) -> Self {
        Self { root, owner: PhantomData }
    }
}

/// Frees every block, then the context.
impl<B: PoolBackend> Drop for Pool<B> {
    fn drop(&mut self) {
        // SAFETY: the pool owns its root. A scope or view would borrow the pool, so none is in use
        // when the pool is dropped.
        unsafe { self.root.destroy() };
    }
}

/// Creates an empty pool with the default configuration and context. Panics as [`Pool::new`] does.
impl<B: PoolBackend> Default for Pool<B>
where
    B::Context: Default,
{
    fn default() -> Self {
        Self::new(B::Context::default())
    }
}

/// A panic cannot break an invariant of a pool.
impl<B: PoolBackend> UnwindSafe for Pool<B> {}
impl<B: PoolBackend> RefUnwindSafe for Pool<B> {}

impl<B: PoolBackend> fmt::Debug for Pool<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool").field("stats", &self.stats()).finish_non_exhaustive()
    }
}
