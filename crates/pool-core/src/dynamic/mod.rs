//! Defines the dynamic pool, which is for code without lexical lifetimes, such as interpreters,
//! autodiff tapes, and callers in other languages. Handles identify the pool's arrays, and its
//! checkpoints form a stack.

mod acquire;
mod handle;

use alloc::vec::Vec;
use core::fmt;

use crate::backend::{ArrayMemory, Cursor, Memory, PoolBackend, PoolState, ScopeCursor};
use crate::config::{Compaction, PoolConfig};
use crate::element::Element;
use crate::error::{PoolError, panic_with};
use crate::pool::Pool;
use crate::scope::Scope;
use crate::stats::{PoolStats, ReleaseReport};
pub use handle::{Handle, Handles};

/// A pool whose arrays are identified by [`Handle`]s and freed by rewinding to checkpoints. While a
/// lexical scope is open, the pool's arrays serve as constants, as described in the [`Handles`]
/// documentation.
///
/// The checkpoint stack starts with the root, which is a sentinel at depth 0. The pool can be
/// rewound to the root any number of times, and each such rewind is equivalent to calling
/// [`reset`](Self::reset).
///
/// ```
/// # use pool_conformance::HeapBackend as Memory;
/// # use pool_core::DynamicPool;
/// let mut pool = DynamicPool::<Memory>::new(Default::default());
/// let sum = pool.acquire_zeroed::<f64>(3);
/// let depth = pool.checkpoint();
/// let term = pool.acquire_filled(3, 2.0_f64);
/// let [sum_view, term_view] = pool.get_disjoint_mut([sum, term])?;
/// sum_view.iter_mut().zip(term_view).for_each(|(sum, term)| *sum += *term);
/// pool.rewind_to(depth)?;
/// assert_eq!(pool.get(sum)?, [2.0; 3]);
/// assert!(pool.get(term).is_err()); // a stale handle is a typed error
/// # Ok::<(), pool_core::PoolError<pool_conformance::RefusalError>>(())
/// ```
///
/// A view keeps the pool borrowed, so no view can be held while the pool is rewound:
///
/// ```compile_fail,E0502
/// # use pool_conformance::HeapBackend as Memory;
/// # let mut pool = pool_core::DynamicPool::<Memory>::new(Default::default());
/// let handle = pool.acquire_zeroed::<u8>(1);
/// let view = pool.get(handle).unwrap();
/// pool.rewind(); // dynamic_view_over_rewind
/// assert_eq!(view[0], 0);
/// ```
///
/// While a scope is open, the pool itself is borrowed. The [`split`](Self::split) method returns
/// the handles and a scope together:
///
/// ```compile_fail,E0502
/// # use pool_conformance::HeapBackend as Memory;
/// # let mut pool = pool_core::DynamicPool::<Memory>::new(Default::default());
/// let handle = pool.acquire_zeroed::<u8>(1);
/// let scope = pool.scope();
/// pool.get(handle); // handle_used_while_scope_open
/// scope.acquire::<u8, _>(1);
/// ```
///
/// A handle's type includes its array's element type. To borrow several views of one pool, call
/// [`get_disjoint_mut`](Self::get_disjoint_mut), or borrow the views one after another:
///
/// ```compile_fail,E0308
/// # use pool_conformance::HeapBackend as Memory;
/// # let mut pool = pool_core::DynamicPool::<Memory>::new(Default::default());
/// let handle = pool.acquire_zeroed::<f64>(1);
/// let view = pool.get::<f32>(handle); // handle_of_another_element_type
/// ```
///
/// ```compile_fail,E0499
/// # use pool_conformance::HeapBackend as Memory;
/// # let mut pool = pool_core::DynamicPool::<Memory>::new(Default::default());
/// let (first, second) = (pool.acquire_zeroed::<u8>(1), pool.acquire_zeroed::<u8>(1));
/// let view = pool.get_mut(first).unwrap();
/// let other = pool.get_mut(second).unwrap(); // two_exclusive_views
/// view[0] = 1;
/// ```
///
/// ```compile_fail,E0502
/// # use pool_conformance::HeapBackend as Memory;
/// # let mut pool = pool_core::DynamicPool::<Memory>::new(Default::default());
/// let handle = pool.acquire_zeroed::<u8>(1);
/// let view = pool.get(handle).unwrap();
/// let next = pool.acquire_zeroed::<u8>(1); // acquire_while_a_view_lives
/// assert_eq!(view[0], 0);
/// ```
///
/// ```compile_fail,E0499
/// # use pool_conformance::HeapBackend as Memory;
/// # let mut pool = pool_core::DynamicPool::<Memory>::new(Default::default());
/// let handle = pool.acquire_zeroed::<u8>(1);
/// let (mut handles, scope) = pool.split();
/// let view = handles.get_mut(handle).unwrap();
/// pool.rewind(); // rewound_while_split
/// view[0] = 1;
/// ```
///
/// ```compile_fail,E0277
/// # use pool_conformance::HeapBackend as Memory;
/// # let mut pool = pool_core::DynamicPool::<Memory>::new(Default::default());
/// let flags = pool.acquire::<bool>(8); // recycled_bool
/// ```
///
/// ```compile_fail,E0277
/// # use pool_conformance::HeapBackend as Memory;
/// # let mut pool = pool_core::DynamicPool::<Memory>::new(Default::default());
/// let handle = pool.acquire_zeroed::<u8>(1);
/// let (handles, _scope) = pool.split();
/// std::thread::scope(|threads| {
///     threads.spawn(move || handles.get(handle).is_ok()); // handles_to_thread
/// });
/// ```
pub struct DynamicPool<B: PoolBackend> {
    /// A cursor at the slot that follows the last handed-out slot. The field is declared before the
    /// pool, so the cursor is dropped before the pool.
    cursor: Cursor<B>,
    /// The number of active slots at each checkpoint. The element at index 0 is the root, which is
    /// never removed.
    checkpoints: Vec<usize>,
    pool: Pool<B>,
}

// SAFETY: the cursor points into the pool's own memory and moves together with the pool. The bound
// `Pool<B>: Send` guarantees that the pool can be sent to another thread.
unsafe impl<B: PoolBackend> Send for DynamicPool<B> where Pool<B>: Send {}

impl<B: PoolBackend> DynamicPool<B> {
    /// Creates an empty pool with the default configuration.
    ///
    /// # Panics
    ///
    /// Panics with the error that [`with_config`](Self::with_config) would return.
    #[must_use]
    pub fn new(context: B::Context) -> Self {
        Self::with_config(context, PoolConfig::new()).unwrap_or_else(|error| panic_with(&error))
    }

    /// Creates an empty pool with a configuration.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`Pool::with_config`].
    pub fn with_config(
        context: B::Context,
        config: PoolConfig,
    ) -> Result<Self, PoolError<B::Error>> {
        let pool = Pool::with_config(context, config)?;
        let mut checkpoints = Vec::new();
        push(&mut checkpoints, 0)?;
        // SAFETY: the pool is new, so no view is in use. The struct that stores the cursor owns the
        // pool and opens scopes only through copies of this cursor.
        let cursor = unsafe { pool.root_cursor() };
        Ok(Self { cursor, checkpoints, pool })
    }

    /// Returns the number of slots that are currently handed out.
    #[must_use]
    pub fn active_slots(&self) -> usize {
        self.cursor.active()
    }

    /// Returns the depth of the newest checkpoint. The root has depth 0.
    #[must_use]
    pub fn depth(&self) -> usize {
        self.checkpoints.len() - 1
    }

    /// Creates a checkpoint that records the number of handed-out slots. Returns the depth to pass
    /// to [`rewind_to`](Self::rewind_to). This depth is always at least 1.
    ///
    /// # Panics
    ///
    /// Panics with the error that [`try_checkpoint`](Self::try_checkpoint) would return.
    #[inline]
    pub fn checkpoint(&mut self) -> usize {
        self.try_checkpoint().unwrap_or_else(|error| panic_with(&error))
    }

    /// The fallible version of [`checkpoint`](Self::checkpoint).
    ///
    /// # Errors
    ///
    /// Returns [`PoolError::Bookkeeping`] if the host runs out of memory while growing the stack of
    /// checkpoints.
    pub fn try_checkpoint(&mut self) -> Result<usize, PoolError<B::Error>> {
        let active = self.active_slots();
        push(&mut self.checkpoints, active)?;
        Ok(self.depth())
    }

    /// Rewinds to the newest checkpoint and removes it. If only the root is left, this method
    /// resets the pool.
    pub fn rewind(&mut self) {
        let depth = self.depth().max(1);
        self.pop_from(depth);
    }

    /// Rewinds to the checkpoint at `depth` and removes that checkpoint and all newer ones.
    /// Rewinding to depth 0 is equivalent to calling [`reset`](Self::reset).
    ///
    /// # Errors
    ///
    /// Returns [`PoolError::NoSuchCheckpoint`] if `depth` is greater than [`depth`](Self::depth).
    /// If an error is returned, the pool is unchanged.
    pub fn rewind_to(&mut self, depth: usize) -> Result<(), PoolError<B::Error>> {
        let top = self.depth();
        if depth > top {
            return Err(PoolError::NoSuchCheckpoint { asked: depth, top });
        }
        if depth == 0 {
            self.reset();
        } else {
            self.pop_from(depth);
        }
        Ok(())
    }

    /// Frees all slots and removes all checkpoints. The pool retains its blocks.
    pub fn reset(&mut self) {
        self.checkpoints.truncate(1);
        self.move_to(0);
    }

    /// Removes every checkpoint at or above `depth` and rewinds to the lowest one that was removed.
    /// `depth` must be at least 1. If only the root is left, this method rewinds to slot 0.
    fn pop_from(&mut self, depth: usize) {
        let popped = self.checkpoints.get(depth..).unwrap_or_default();
        let lowest = popped.iter().copied().min().unwrap_or(0);
        let active = self.active_slots().min(lowest);
        self.checkpoints.truncate(depth);
        self.move_to(active);
    }

    /// Moves the cursor to slot `active`, which must be at or below the cursor's current position.
    fn move_to(&mut self, active: usize) {
        // SAFETY: the pool is borrowed exclusively, so no view of any slot is in use. `active` is
        // at most the old cursor's position, so the slot exists. The assignment below replaces the
        // old cursor.
        self.cursor = unsafe { self.pool.state().cursor(active) };
    }

    /// Returns a view of the array that a handle refers to.
    ///
    /// # Errors
    ///
    /// Returns [`PoolError::ForeignHandle`] if the handle belongs to another pool, and
    /// [`PoolError::StaleHandle`] if the handle's array was freed or replaced.
    #[inline]
    pub fn get<T: Element>(
        &self,
        handle: Handle<T>,
    ) -> Result<B::ViewRef<'_, T>, PoolError<B::Error>> {
        let (slot, length) = handle::find::<B, T>(self.pool.state(), self.active_slots(), handle)?;
        // SAFETY: the handle is current, so the slot is handed out as `length` elements of `T`. The
        // pool is borrowed, so only shared views of the slot can be in use.
        Ok(unsafe { slot.view_ref(length) })
    }

    /// Returns an exclusive view of the array that a handle refers to.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`get`](Self::get).
    #[inline]
    pub fn get_mut<T: Element>(
        &mut self,
        handle: Handle<T>,
    ) -> Result<B::View<'_, T>, PoolError<B::Error>> {
        let (slot, length) = handle::find::<B, T>(self.pool.state(), self.active_slots(), handle)?;
        // SAFETY: the handle is current, so the slot is handed out as `length` elements of `T`. The
        // pool is borrowed exclusively, so no other view is in use.
        Ok(unsafe { slot.view(length) })
    }

    /// Returns exclusive views of the arrays that several handles refer to.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`get`](Self::get). The method also returns
    /// [`PoolError::RepeatedHandle`] if two of the handles are equal.
    pub fn get_disjoint_mut<T: Element, const N: usize>(
        &mut self,
        handles: [Handle<T>; N],
    ) -> Result<[B::View<'_, T>; N], PoolError<B::Error>> {
        let slots =
            handle::find_disjoint::<B, T, N>(self.pool.state(), self.active_slots(), handles)?;
        // SAFETY: the handles are current, so the slots are handed out as elements of `T`, and the
        // slots are distinct. The pool is borrowed exclusively, so no other view is in use.
        Ok(slots.map(|(slot, length)| unsafe { slot.view(length) }))
    }

    /// Opens a lexical scope above the slots that are handed out. The pool is borrowed while the
    /// scope is open.
    pub fn scope(&mut self) -> Scope<'_, B> {
        self.split().1
    }

    /// Returns the handles to all arrays that are handed out, together with a lexical scope above
    /// these arrays. Use this method to compute with constants in a scope, as shown in the
    /// [`Handles`] example.
    pub fn split(&mut self) -> (Handles<'_, B>, Scope<'_, B>) {
        let active = self.active_slots();
        // SAFETY: the pool is borrowed exclusively for the lifetime of the handles and the scope.
        // During that lifetime, the pool's own cursor is not used, and no other view is in use.
        let cursor = unsafe { self.cursor.copy() };
        // SAFETY: the cursor is a copy of the pool's own cursor, which is not used while the scope
        // is open.
        let scope = unsafe { Scope::from_cursor(cursor) };
        // SAFETY: the pool is borrowed exclusively. The scope acquires only slot `active` and later
        // slots, so only the handles can access earlier slots.
        (unsafe { Handles::new(self.pool.state(), active) }, scope)
    }

    /// Frees the blocks of all slots that are not currently handed out.
    pub fn trim(&mut self) -> ReleaseReport {
        self.cursor.trim()
    }

    /// Replaces oversized blocks with smaller ones in all slots that are not handed out (see
    /// [`Compaction`]).
    pub fn compact(&mut self, compaction: &Compaction) -> ReleaseReport {
        self.cursor.compact(compaction)
    }

    /// Starts sampling the lengths of acquired arrays for a later call to
    /// [`compact`](Self::compact).
    pub fn sample_lengths(&mut self) {
        self.cursor.sample_lengths();
    }

    /// Frees all slots and all blocks, removes all checkpoints, and resets the peaks.
    pub fn clear(&mut self) -> ReleaseReport {
        self.reset();
        let released = self.trim();
        // The cursor is moved again because the memory at its position might have been freed.
        self.move_to(0);
        self.pool.state().forget_peaks();
        released
    }

    /// Replaces the configuration. The new configuration takes effect for a handed-out slot when
    /// the slot is next used.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`Pool::configure`].
    pub fn configure(&mut self, config: PoolConfig) -> Result<(), PoolError<B::Error>> {
        // SAFETY: the pool is borrowed exclusively, so no view of any slot is in use.
        Ok(unsafe { self.pool.state().configure(config) }?)
    }

    /// Returns the configuration.
    #[must_use]
    pub fn config(&self) -> PoolConfig {
        self.pool.config()
    }

    /// Returns the pool's statistics.
    #[must_use]
    pub fn stats(&self) -> PoolStats {
        self.pool.state().stats(self.active_slots())
    }

    /// Returns the backend's context.
    #[must_use]
    pub fn context(&self) -> &B::Context {
        self.pool.context()
    }

    /// Assigns a handle to the most recently acquired array.
    ///
    /// # Safety
    ///
    /// `memory` must be the memory that this cursor most recently moved past. `memory` must be
    /// reserved for `length` elements of `T`, and these elements must be valid before the handle is
    /// first used.
    #[inline]
    unsafe fn name<T: Element>(&self, memory: Memory<'_, B>, length: usize) -> HandleResult<B, T> {
        let serial = self.pool.state().next_serial();
        // SAFETY: the serial number is new, and the caller guarantees that the memory is reserved
        // for `length` elements.
        match unsafe { memory.name(serial, length) } {
            Ok(number) => Ok(Handle::new(self.pool.state().id(), serial, number)),
            Err(error) => {
                // SAFETY: this is the memory that the cursor most recently moved past, and no view
                // of the memory has been created.
                unsafe { self.cursor.step_back(memory) };
                Err(error)
            }
        }
    }
}

/// The return type of a dynamic pool's `try_` acquire methods.
type HandleResult<B, T> = Result<Handle<T>, PoolError<<B as PoolBackend>::Error>>;

/// Pushes a checkpoint. Returns an error if the host cannot allocate memory for the checkpoint.
fn push<E>(checkpoints: &mut Vec<usize>, active: usize) -> Result<(), PoolError<E>> {
    checkpoints.try_reserve(1).map_err(|_| PoolError::Bookkeeping {
        requested: (checkpoints.len() + 1) * size_of::<usize>(),
    })?;
    checkpoints.push(active);
    Ok(())
}

impl<B: PoolBackend> fmt::Debug for DynamicPool<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DynamicPool")
            .field("checkpoints", &self.checkpoints)
            .field("stats", &self.stats())
            .finish_non_exhaustive()
    }
}
