//! Defines the lexical scope, which is a one-word handle that is passed by value. A scope's single
//! word stores the position of the next slot. When an inner scope ends, the outer scope's position
//! serves as the checkpoint to return to.

use core::fmt;
use core::marker::PhantomData;
use core::panic::{RefUnwindSafe, UnwindSafe};

use crate::backend::{Cursor, PoolBackend, PoolState, ScopeCursor};
use crate::config::Compaction;
use crate::stats::{PoolStats, ReleaseReport};

/// A region of code whose temporaries are all freed when the region ends. No code needs to run when
/// the scope ends.
///
/// Scopes are opened with [`Pool::scope`](crate::Pool::scope), [`Scope::scope`], or the
/// `with_pool!` macro. The i-th acquire from a scope returns the i-th slot after the enclosing
/// scopes' slots. Opening an inner scope does not move the outer scope's cursor, so the outer scope
/// reuses the slots of each inner scope that has ended. `Scope` does not implement `Drop`, so there
/// is no cleanup that a panic, `?`, an early return, or `mem::forget` could skip.
///
/// An acquired array borrows from the pool or the outer scope rather than from the scope value. A
/// view can therefore outlive the scope value, but the pool or the outer scope stays borrowed for
/// as long as the view is alive.
///
/// ```
/// # use pool_conformance::HeapBackend as Memory;
/// # use pool_core::Pool;
/// let mut pool = Pool::<Memory>::new(Default::default());
/// let mut scope = pool.scope();
/// let outer = scope.acquire_filled(3, 1.0_f64);
/// {
///     let inner = scope.scope();
///     let scratch = inner.acquire::<f64, _>(3); // unspecified contents: write before you read
///     scratch.copy_from_slice(outer);
///     outer[0] = scratch[1] + 1.0;
/// }
/// assert_eq!(outer, [2.0, 1.0, 1.0]);
/// ```
///
/// # Why this is sound
///
/// - A slot's memory is handed out only when a cursor moves past the slot. Scopes implement neither
///   `Clone` nor `Default`. A cursor can move back only past the most recently acquired slot, and
///   only if that slot could not be filled and has no view.
/// - [`Pool::scope`](crate::Pool::scope) and [`Scope::scope`] borrow their receiver exclusively for
///   as long as the new scope or any of its views is alive. The outer scope therefore cannot
///   acquire memory while an inner scope is in use. When the outer scope can acquire memory again,
///   no view of the inner scope is alive.
/// - Slots never move in memory. Only slots at or above the cursor can be grown or freed. A view's
///   memory therefore stays at the same address until the view's borrow ends.
/// - Recycled contents are handed out only as elements of a [`PodElement`](crate::PodElement) type.
///   Every byte pattern is valid for such a type. Blocks are initialized when they are allocated,
///   and no view of plain data can make their bytes uninitialized. The host may write values of
///   other types (which might contain padding or pointers) to a slot. Before the host writes a
///   value of another type, the pool records how many bytes of the slot might become uninitialized.
///   The pool zeroes all bytes that might be uninitialized before it next hands out the slot with
///   recycled contents.
/// - Before the pool reads the cursor, it copies user-provided lengths, shapes, and views exactly
///   once. Closures and backend writes run only after the cursor has moved past the slot. User code
///   (an allocator hook, a `tracing` subscriber, or the backend) might run while a slot is
///   reserved, with access to the same scope. While user code runs, the pool is marked as busy, and
///   its next slot has a recorded capacity of zero. As a result, acquires fail and calls to `trim`
///   free nothing.
/// - A growing [`PoolVec`](crate::PoolVec) holds the only view of its slot's block. A growing
///   vector swaps its block with an idle slot's block. A vector that was created without capacity
///   does not use its slot's block until the first push. The first push hands out the block just as
///   an acquire does. After the inner scope ends, [`keep`](Scope::keep) swaps the block with an
///   idle slot's block, just as a growing vector does. The closure passed to `keep` must be generic
///   over the inner scope's lifetime. Therefore, only the array that the closure returns can
///   outlive the inner scope.
/// - The memory of a box or an allocator, like the memory of a view, is below the scope's cursor.
///   Memory freed by an allocator's collections is reused only by that allocator, and only at the
///   end of its chunk. The scope's cursor never moves back over an allocator's chunk.
///
/// | misuse | outcome |
/// |---|---|
/// | acquire from the outer scope while an inner scope or view lives | compile error |
/// | open two inner scopes of one outer scope | compile error |
/// | use, move or drop the pool while a view lives | compile error |
/// | send a scope to another thread | compile error |
/// | carry a view out of the pool's borrow | compile error |
/// | acquire recycled `bool`s, or elements aligned above [`MAX_ALIGN`](PoolBackend::MAX_ALIGN) | compile error |
/// | keep more of an inner scope than its closure returns | compile error |
/// | open an inner scope while a collection over `Scope::allocator` is in use | compile error |
/// | forget or leak a box or a collection | the values are not dropped, but the memory still returns to the scope |
/// | leave padding or uninitialized bytes in host memory | the bytes are zeroed before they are handed out as recycled contents |
/// | forget a scope, panic inside a scope, or return early | no effect on other scopes |
/// | request too much memory | a typed error that does not affect live views |
/// | acquire from an allocator's hook or a `tracing` subscriber that runs inside this pool | [`PoolError::Reentered`](crate::PoolError::Reentered) |
/// | trim or compact from such a hook or subscriber | the call does nothing |
///
/// The documentation of [`soundness`](crate::soundness), [`PoolBox`](crate::PoolBox), and
/// `ScopeAllocator` contains an example of each compile error.
#[must_use = "a scope does nothing but hand out memory"]
pub struct Scope<'s, B: PoolBackend> {
    pub(crate) cursor: Cursor<B>,
    /// The scope is covariant in `'s` because `'s` occurs only in types that the scope hands out.
    pool: PhantomData<&'s ()>,
}

impl<'s, B: PoolBackend> Scope<'s, B> {
    /// # Safety
    ///
    /// The cursor's pool must live for `'s`, and no other cursor of the same pool may be used
    /// during `'s`.
    #[inline(always)]
    pub(crate) unsafe fn from_cursor(cursor: Cursor<B>) -> Self {
        Self { cursor, pool: PhantomData }
    }

    /// Opens an inner scope. Views of this scope remain usable while the inner scope is open. The
    /// outer scope itself cannot be used while the inner scope or any of its views is in use.
    ///
    /// A scope is one word in size. Pass a scope by value to helper functions that are not inlined.
    /// A scope that is passed by value stays in a register. If a scope is passed by reference, each
    /// acquire must read and write the scope in memory.
    ///
    /// ```
    /// # use pool_conformance::HeapBackend as Memory;
    /// use pool_core::{HostBackend, Pool, Scope};
    ///
    /// fn sum_of_squares<B: HostBackend>(scope: Scope<'_, B>, numbers: &[u64]) -> u64 {
    ///     scope.acquire_with(numbers.len(), |i| numbers[i] * numbers[i]).iter().sum()
    /// } // the squares are freed
    ///
    /// # let mut pool = Pool::<Memory>::new(Default::default());
    /// let mut scope = pool.scope();
    /// assert_eq!(sum_of_squares(scope.scope(), &[1, 2, 3]), 14);
    /// ```
    #[inline]
    pub fn scope(&mut self) -> Scope<'_, B> {
        // SAFETY: `self` is borrowed exclusively for the lifetime of the new scope and all of its
        // views. This scope's cursor cannot be used while the new scope or any of its views is
        // alive.
        let cursor = unsafe { self.cursor.copy() };
        // SAFETY: the pool outlives the borrow, and this scope's cursor is not used during the
        // borrow.
        unsafe { Scope::from_cursor(cursor) }
    }

    /// Returns the total number of slots that this scope and its enclosing scopes have handed out.
    #[must_use]
    pub fn active_slots(&self) -> usize {
        self.cursor.active()
    }

    /// Frees the blocks of all slots except those that this scope and its enclosing scopes have
    /// handed out. In a stack, the method frees all chunks that follow this scope's chunk. The
    /// method also returns the unused pages of this scope's chunk to the system (see
    /// [`discarded_bytes`](ReleaseReport::discarded_bytes)). This method has no effect if it is
    /// called during another operation on the same pool (see
    /// [`PoolError::Reentered`](crate::PoolError::Reentered)).
    pub fn trim(&self) -> ReleaseReport {
        self.cursor.trim()
    }

    /// Replaces oversized blocks with smaller blocks in all slots that are not handed out. The
    /// sizes of the new blocks are based on the lengths requested since the previous call to
    /// `compact` or [`sample_lengths`](Self::sample_lengths). If no lengths have been sampled yet,
    /// this method replaces no blocks and only starts sampling (see [`Compaction`]). This method
    /// has no effect if it is called during another operation on the same pool.
    pub fn compact(&self, compaction: &Compaction) -> ReleaseReport {
        self.cursor.compact(compaction)
    }

    /// Starts sampling the lengths that acquires request. A later call to
    /// [`compact`](Self::compact) uses the samples. This method has no effect if it is called
    /// during another operation on the same pool.
    pub fn sample_lengths(&self) {
        self.cursor.sample_lengths();
    }

    /// Returns the pool's statistics.
    #[must_use]
    pub fn stats(&self) -> PoolStats {
        self.cursor.state().stats(self.active_slots())
    }

    /// Returns the backend's context.
    #[must_use]
    pub fn context(&self) -> &B::Context {
        self.cursor.state().context()
    }
}

/// A panic cannot violate any of a scope's invariants.
impl<B: PoolBackend> UnwindSafe for Scope<'_, B> {}
impl<B: PoolBackend> RefUnwindSafe for Scope<'_, B> {}

impl<B: PoolBackend> fmt::Debug for Scope<'_, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scope").field("active_slots", &self.active_slots()).finish_non_exhaustive()
    }
}
