//! A lexical scope: a by-value handle of one word. The word is both the position of the next slot
//! and the checkpoint that the outer scope returns to.

use core::fmt;
use core::marker::PhantomData;
use core::panic::{RefUnwindSafe, UnwindSafe};

use crate::backend::{Cursor, PoolBackend, PoolState, ScopeCursor};
use crate::config::Compaction;
use crate::stats::{PoolStats, ReleaseReport};

/// A region whose temporaries are all freed when it ends. Leaving a scope runs no code.
///
/// A scope is opened from a [`Pool`](crate::Pool), from an outer scope, or with `with_pool!`. The
/// i-th acquire of a scope returns the i-th slot above the slots of the enclosing scopes. Opening
/// an inner scope does not move the outer scope's cursor, so the outer scope reuses the slots of an
/// inner scope that has ended. There is no `Drop` that a panic, `?`, an early return or
/// `mem::forget` could skip.
///
/// The array that an acquire returns borrows from the pool or the outer scope, and not from the
/// scope value. Views may therefore outlive the scope value, and they keep the pool or the outer
/// scope borrowed.
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
/// 1. A slot's memory is handed out only when a cursor steps past that slot. Scopes implement
///    neither `Clone` nor `Default`. No method moves a cursor back, with one exception: past a slot
///    that could not be filled, which has no view, and only if nothing was acquired after that
///    slot.
/// 2. [`Pool::scope`](crate::Pool::scope) and [`Scope::scope`] borrow their receiver exclusively
///    for as long as the new scope or any of its views lives. The outer scope therefore cannot
///    acquire while an inner scope is in use. When the outer scope can acquire again, no view of
///    the inner scope is alive.
/// 3. Slots never move. Only slots at or above the cursor are grown or freed, so a view's memory
///    stays at the same address until the view's borrow ends.
/// 4. Recycled contents are handed out only as [`PodElement`](crate::PodElement)s, for which any
///    bytes are a valid value. Blocks start out initialised, and no view of plain data can make
///    them uninitialised. Before the host writes other types (with padding or pointers), the pool
///    marks the slot with the largest number of bytes written this way. All of those bytes are
///    zeroed before the slot is next handed out with recycled contents.
/// 5. The pool reads lengths, shapes and views from the user into owned numbers exactly once,
///    before the cursor is read. Closures and the backend's writes run after the cursor has stepped
///    past the slot. While a slot is reserved, an allocator's hook, a `tracing` subscriber or the
///    backend may run, and may hold this very scope. During that time the pool is marked as busy
///    and its next slot advertises no capacity: acquires are refused, and a trim frees nothing.
/// 6. A [`PoolVec`](crate::PoolVec) that grows holds the only view of its slot's block, and
///    exchanges that block for the block of an idle slot. A vector acquired without capacity does
///    not use its slot's block: the first push hands the block out, as an acquire would.
///    [`keep`](Scope::keep) exchanges blocks in the same way after its inner scope has ended. Its
///    closure must work for any lifetime of the inner scope, so only the returned array survives
///    that scope.
/// 7. A box and an allocator own memory that the cursor has stepped past, just as a view does. Only
///    the allocator reuses memory that its collections free, and only at the end of its chunk. The
///    scope's cursor never goes back over a chunk.
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
/// | forget or leak a box or a collection | its values are not dropped; its memory still returns to the scope |
/// | leave padding or uninitialised bytes in host memory | the bytes are zeroed before they are handed out as recycled contents |
/// | forget a scope, panic in it, return early | harmless |
/// | request too much memory | typed error; live views are not affected |
/// | acquire from an allocator's hook or a `tracing` subscriber that runs inside this pool | [`PoolError::Reentered`](crate::PoolError::Reentered) |
/// | trim or compact from such a hook or subscriber | nothing happens |
///
/// The page [`soundness`](crate::soundness) shows an example of each compile error, and so do
/// [`PoolBox`](crate::PoolBox) and `ScopeAllocator`.
#[must_use = "a scope does nothing but hand out memory"]
pub struct Scope<'s, B: PoolBackend> {
    pub(crate) cursor: Cursor<B>,
    /// Covariant, because `'s` occurs only in types that the scope hands out.
    pool: PhantomData<&'s ()>,
}

impl<'s, B: PoolBackend> Scope<'s, B> {
    /// # Safety
    ///
    /// The cursor's pool lives for `'s`, and no other cursor of that pool is used during `'s`.
    #[inline(always)]
    pub(crate) unsafe fn from_cursor(cursor: Cursor<B>) -> Self {
        Self { cursor, pool: PhantomData }
    }

    /// Opens an inner scope. Views of this scope stay usable while the inner scope is open. This
    /// scope itself cannot be used until the inner scope and its views are no longer in use.
    ///
    /// A scope is one word. If you pass a scope to a helper function that is not inlined, pass it
    /// by value: the word then stays in a register. An acquire through a reference to a scope reads
    /// and writes memory.
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
        // views, so this scope's cursor is not used during that time.
        let cursor = unsafe { self.cursor.copy() };
        // SAFETY: the pool outlives the borrow, and this scope's cursor is not used during it.
        unsafe { Scope::from_cursor(cursor) }
    }

    /// Returns the number of slots that this scope and the enclosing scopes have handed out.
    #[must_use]
    pub fn active_slots(&self) -> usize {
        self.cursor.active()
    }

    /// Frees the blocks of all slots that neither this scope nor the enclosing scopes have handed
    /// out. In a stack, it frees the chunks after this scope's chunk, and returns unused pages of
    /// this scope's chunk to the system ([`discarded_bytes`](ReleaseReport::discarded_bytes)). A
    /// call from code that the pool runs inside another operation frees nothing (see
    /// [`PoolError::Reentered`](crate::PoolError::Reentered)).
    pub fn trim(&self) -> ReleaseReport {
        self.cursor.trim()
    }

    /// Replaces oversized blocks of slots that are not handed out with smaller ones. The new sizes
    /// follow the lengths acquired since [`sample_lengths`](Self::sample_lengths) or the previous
    /// call. Without samples, the first call replaces nothing and starts sampling; see
    /// [`Compaction`]. Like [`trim`](Self::trim), a call from inside another operation of the pool
    /// has no effect.
    pub fn compact(&self, compaction: &Compaction) -> ReleaseReport {
        self.cursor.compact(compaction)
    }

    /// Starts sampling the lengths of acquires, for [`compact`](Self::compact). Like
    /// [`trim`](Self::trim), a call from inside another operation of the pool has no effect.
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

/// A panic cannot break an invariant of a scope.
impl<B: PoolBackend> UnwindSafe for Scope<'_, B> {}
impl<B: PoolBackend> RefUnwindSafe for Scope<'_, B> {}

impl<B: PoolBackend> fmt::Debug for Scope<'_, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scope").field("active_slots", &self.active_slots()).finish_non_exhaustive()
    }
}
