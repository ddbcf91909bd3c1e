//! A lexical scope: a by-value handle of one word. The word is both the position of the next slot
//! and the checkpoint to return to.

use core::fmt;
use core::marker::PhantomData;
use core::panic::{RefUnwindSafe, UnwindSafe};

use crate::backend::{Cursor, PoolBackend, PoolState, ScopeCursor};
use crate::config::Compaction;
use crate::stats::{PoolStats, ReleaseReport};

/// A region whose temporaries are all freed when it ends. Leaving a scope runs no code.
///
/// Opened from a [`Pool`](crate::Pool), from an outer scope, or by `with_pool!`. The i-th acquire
/// of a scope gets the i-th slot above those of the enclosing scopes. When the scope ends, the
/// outer scope's cursor is still where it was, so the outer scope reuses the slots. There is no
/// `Drop`, so a panic, `?`, an early return or `mem::forget` cannot skip it.
///
/// The array that an acquire returns borrows from the pool or the outer scope, not from the scope
/// value. Views of a scope outlive the scope value, and keep the pool or the outer scope borrowed.
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
/// 1. A slot's memory is handed out only by stepping a cursor over it. There is no `Clone` and no
///    `Default`. No method moves a cursor back, with one exception: over a slot that could not be
///    filled, which has no view, and only if nothing was acquired after it.
/// 2. [`Pool::scope`](crate::Pool::scope) and [`Scope::scope`] borrow their receiver exclusively
///    for as long as the new scope or any view of it lives. So the outer scope cannot acquire while
///    an inner scope is in use. When it can acquire again, nothing of the inner scope is alive.
/// 3. Slots never move. Only slots at or above the cursor are grown or freed, so a view's memory
///    stays where it is until the view's borrow ends.
/// 4. Recycled contents are handed out only as [`PodElement`](crate::PodElement)s, for which any
///    bytes are a valid value. Blocks start out initialised, and no view of plain data can make
///    them uninitialised. Before the host writes other types (with padding or pointers), the slot
///    is marked with the longest length so written. All of those bytes are zeroed before the slot
///    is next handed out recycled.
/// 5. Lengths, shapes and views from the user are read into owned numbers exactly once, before the
///    cursor is read. Closures and the backend's writes run after the cursor has stepped. In
///    between, an allocator's hook, a `tracing` subscriber or the backend may run, and may hold
///    this very scope. Meanwhile the pool is marked as busy and its next slot advertises nothing:
///    acquires are refused, and a trim frees nothing.
/// 6. A vector that grows ([`PoolVec`](crate::PoolVec)) has the only view of its slot's block, and
///    exchanges that block for an idle slot's. A vector acquired without capacity has no byte of
///    its slot's block: the first push hands the block out, as an acquire would.
///    [`keep`](Scope::keep) does the same after its inner scope has ended. Its closure works for
///    any lifetime of the inner scope, so only the returned array is left of that scope.
/// 7. A box and an allocator own memory that the cursor stepped past, as a view does. Only the
///    allocator reuses what they free, and only at its end; the cursor does not go back over it.
///
/// | misuse | outcome |
/// |---|---|
/// | acquire from the outer scope while an inner scope or view lives | compile error |
/// | open two inner scopes of one outer | compile error |
/// | use, move or drop the pool while a view lives | compile error |
/// | send a scope to another thread | compile error |
/// | carry a view out of the pool's borrow | compile error |
/// | acquire recycled `bool`s, or elements aligned above [`MAX_ALIGN`](PoolBackend::MAX_ALIGN) | compile error |
/// | keep more of an inner scope than its closure returns | compile error |
/// | open an inner scope while a collection over `Scope::allocator` is in use | compile error |
/// | forget or leak a box or a collection | its values are not dropped; the memory is the scope's |
/// | leave padding or uninitialised bytes in host memory | zeroed before they are handed out recycled |
/// | forget a scope, panic in it, return early | harmless |
/// | ask for too much | typed error, pool unchanged for live views |
/// | acquire from an allocator's hook or a `tracing` subscriber that runs inside this pool | [`PoolError::Reentered`](crate::PoolError::Reentered) |
/// | trim or compact from such a hook or subscriber | nothing happens |
///
/// The page [`soundness`](crate::soundness) has an example of each compile error, as have
/// [`PoolBox`](crate::PoolBox) and `ScopeAllocator`.
#[must_use = "a scope does nothing but hand out memory"]
pub struct Scope<'s, B: PoolBackend> {
    pub(crate) cursor: Cursor<B>,
    /// Covariant: `'s` occurs only in types that the scope returns.
    pool: PhantomData<&'s ()>,
}

impl<'s, B: PoolBackend> Scope<'s, B> {
    /// # Safety
    ///
    /// The pool of the cursor lives for `'s`, and no other cursor of it is used during `'s`.
    #[inline(always)]
    pub(crate) unsafe fn from_cursor(cursor: Cursor<B>) -> Self {
        Self { cursor, pool: PhantomData }
    }

    /// Opens an inner scope. Views of this scope stay usable while it is open. This scope itself is
    /// unusable until the inner scope and its views are out of use.
    ///
    /// A scope is one word. Pass a scope by value to a helper that is not inlined: the word then
    /// stays in a register. An acquire through a reference to a scope reads and writes memory.
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
        // SAFETY: `self` is borrowed exclusively for the lifetime of the new scope and all its
        // views. So this scope's cursor is not used until they are out of use.
        let cursor = unsafe { self.cursor.copy() };
        // SAFETY: the pool outlives the borrow, and this scope's cursor is not used during it.
        unsafe { Scope::from_cursor(cursor) }
    }

    /// Returns the number of slots that this scope and the enclosing ones use.
    #[must_use]
    pub fn active_slots(&self) -> usize {
        self.cursor.active()
    }

    /// Frees the blocks of all slots that this scope and the enclosing ones do not use. In a stack, frees the chunks
    /// after this scope's own, and returns pages of that one to the system
    /// ([`discarded_bytes`](ReleaseReport::discarded_bytes)). Frees nothing if code that the pool runs inside another
    /// operation calls it (see [`PoolError::Reentered`](crate::PoolError::Reentered)).
    pub fn trim(&self) -> ReleaseReport {
        self.cursor.trim()
    }

    /// Swaps oversized blocks of idle slots for smaller ones, by the lengths acquired since
    /// [`sample_lengths`](Self::sample_lengths) or an earlier call. Without samples, the first call swaps nothing and
    /// starts to sample; see [`Compaction`]. Swaps nothing if [`trim`](Self::trim) would free nothing.
    pub fn compact(&self, compaction: &Compaction) -> ReleaseReport {
        self.cursor.compact(compaction)
    }

    /// Starts to sample the lengths of acquires, for [`compact`](Self::compact). Samples nothing if
    /// [`trim`](Self::trim) would free nothing.
    pub fn sample_lengths(&self) {
        self.cursor.sample_lengths();
    }

    /// Returns the statistics of the pool.
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

/// A panic leaves no broken invariant in a scope.
impl<B: PoolBackend> UnwindSafe for Scope<'_, B> {}
impl<B: PoolBackend> RefUnwindSafe for Scope<'_, B> {}

impl<B: PoolBackend> fmt::Debug for Scope<'_, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scope").field("active_slots", &self.active_slots()).finish_non_exhaustive()
    }
}
