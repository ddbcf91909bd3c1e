//! Defines the lexical pool type, which owns its slots and opens scopes.

use core::fmt;
use core::marker::PhantomData;
use core::panic::{RefUnwindSafe, UnwindSafe};

use crate::backend::{Cursor, PoolBackend, PoolRoot, PoolState, Root, State};
use crate::config::{Compaction, PoolConfig};
use crate::error::{PoolError, panic_with};
use crate::scope::Scope;
use crate::stats::{PoolStats, ReleaseReport};

/// A memory pool for temporaries on one device, usable by one thread at a time.
///
/// A pool has no acquire methods of its own. To acquire memory, open a [`Scope`]. A pool retains
/// every block until the caller invokes [`trim`](Self::trim), [`compact`](Self::compact), or
/// [`clear`](Self::clear), or drops the pool. A second pass through the same scopes therefore does
/// not allocate any memory. A loop that calls [`keep`](Scope::keep) might need additional passes,
/// as the documentation of `keep` explains.
///
/// A pool can be sent to another thread if both the backend's context and its
/// [`Descriptor`](PoolBackend::Descriptor) are `Send`. A descriptor is the data that a backend
/// attaches to a cached shape. A pool cannot be shared between threads.
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
/// The [`soundness`](crate::soundness) module lists programs that do not compile. For example, a
/// program does not compile if it opens a second scope while a view is alive.
pub struct Pool<B: PoolBackend> {
    root: Root<B>,
    owner: PhantomData<State<B>>,
}

// SAFETY: the pool is the only owner of its state, tables, and blocks. The contract of
// `PoolBackend` allows blocks to be moved to any thread to which the context can be moved. The
// pool's other data is not tied to any thread. Descriptors are the backend's own data and can move
// to another thread only if they are `Send`.
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
    /// Panics with the error that [`with_config`](Self::with_config) would return.
    #[must_use]
    pub fn new(context: B::Context) -> Self {
        Self::with_config(context, PoolConfig::new()).unwrap_or_else(|error| panic_with(&error))
    }

    /// Creates an empty pool with the given configuration.
    ///
    /// # Errors
    ///
    /// Returns [`PoolError::Config`] if a value is out of range, or [`PoolError::Bookkeeping`] if
    /// the host cannot allocate the first slot table.
    pub fn with_config(
        context: B::Context,
        config: PoolConfig,
    ) -> Result<Self, PoolError<B::Error>> {
        Ok(Self { root: Root::<B>::create(context, config)?, owner: PhantomData })
    }

    /// Opens a scope at the start of the pool's memory. Opening a scope costs one load, and ending
    /// it costs nothing.
    #[inline]
    pub fn scope(&mut self) -> Scope<'_, B> {
        // SAFETY: the pool is borrowed exclusively for the lifetime of the scope and its views. No
        // view of an earlier scope is in use, and no other cursor of this pool can be used while
        // the scope is open.
        let cursor = unsafe { self.root.cursor() };
        // SAFETY: the pool is borrowed exclusively for the scope's lifetime, so no other cursor of
        // this pool can be used until the scope ends.
        unsafe { Scope::from_cursor(cursor) }
    }

    /// Frees all of the pool's blocks. The pool retains its slots, and each slot receives a new
    /// block when it is next acquired.
    pub fn trim(&mut self) -> ReleaseReport {
        self.scope().trim()
    }

    /// Replaces oversized blocks with smaller blocks. The sizes of the new blocks are based on the
    /// lengths of the arrays acquired since the previous call to `compact` or
    /// [`sample_lengths`](Self::sample_lengths). If no lengths have been sampled, the first call
    /// only starts sampling and does not replace any blocks (see [`Compaction`]).
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

    /// Starts sampling the lengths of acquired arrays for a later call to
    /// [`compact`](Self::compact).
    pub fn sample_lengths(&mut self) {
        self.scope().sample_lengths();
    }

    /// Returns the pool to its initial state by freeing every block and resetting the peak values.
    pub fn clear(&mut self) -> ReleaseReport {
        let released = self.trim();
        self.state().forget_peaks();
        released
    }

    /// Replaces the pool's configuration. The pool retains its blocks even if they exceed the limit
    /// of the new configuration.
    ///
    /// # Errors
    ///
    /// Returns [`PoolError::Config`] if a value is out of range. If the method fails, the pool
    /// retains its previous configuration.
    pub fn configure(&mut self, config: PoolConfig) -> Result<(), PoolError<B::Error>> {
        // SAFETY: the pool is borrowed exclusively, so no scope is open and no view is in use.
        Ok(unsafe { self.state().configure(config) }?)
    }

    /// Returns the pool's configuration.
    #[must_use]
    pub fn config(&self) -> PoolConfig {
        self.state().config()
    }

    /// Returns the pool's statistics.
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
    /// The same requirements as for [`PoolRoot::cursor`] apply.
    #[inline(always)]
    pub(crate) unsafe fn root_cursor(&self) -> Cursor<B> {
        // SAFETY: the caller upholds the contract of `PoolRoot::cursor`.
        unsafe { self.root.cursor() }
    }

    /// Gives up ownership of the pool and returns its root.
    #[inline(always)]
    pub(crate) fn into_root(self) -> Root<B> {
        let root = self.root;
        core::mem::forget(self);
        root
    }

    /// Creates a pool that owns the given root.
    ///
    /// # Safety
    ///
    /// `root` must have been returned by [`into_root`](Self::into_root), and no other pool may be
    /// created from it.
    #[inline(always)]
    pub(crate) unsafe fn from_root(root: Root<B>) -> Self {
        Self { root, owner: PhantomData }
    }
}

/// Frees every block and then drops the context.
impl<B: PoolBackend> Drop for Pool<B> {
    fn drop(&mut self) {
        // SAFETY: the pool owns its root. Each scope and view borrows the pool, so none of them can
        // be in use when the pool is dropped.
        unsafe { self.root.destroy() };
    }
}

/// Creates an empty pool with the default configuration and context. Panics with the same errors as
/// [`Pool::new`].
impl<B: PoolBackend> Default for Pool<B>
where
    B::Context: Default,
{
    fn default() -> Self {
        Self::new(B::Context::default())
    }
}

/// A panic cannot violate any of a pool's invariants.
impl<B: PoolBackend> UnwindSafe for Pool<B> {}
impl<B: PoolBackend> RefUnwindSafe for Pool<B> {}

impl<B: PoolBackend> fmt::Debug for Pool<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool").field("stats", &self.stats()).finish_non_exhaustive()
    }
}
