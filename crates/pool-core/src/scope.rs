//! A lexical scope: a by-value handle of one word, which is at once the place of the next slot and
//! the checkpoint to come back to.

use core::fmt;
use core::marker::PhantomData;
use core::panic::{RefUnwindSafe, UnwindSafe};

use crate::backend::{Cursor, PoolBackend, PoolState, ScopeCursor};
use crate::config::Compaction;
use crate::stats::{PoolStats, ReleaseReport};

/// A region whose temporaries are all given back when it ends, at no cost.
///
/// Opened from a [`Pool`](crate::Pool), from an outer scope, or by `with_pool!`. The i-th acquire of
/// a scope gets the i-th slot above those that the scopes around it have taken; when the scope ends,
/// the cursor of the outer scope is where it was, so the slots are simply used again. There is no
/// `Drop`, hence nothing that a panic, `?`, an early return or `mem::forget` could leave out.
///
/// What acquire returns borrows what the scope borrows (the pool, or the outer scope), not the scope
/// value: views of a scope outlive the value, and keep the pool or the outer scope borrowed.
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
/// 1. A slot's memory is handed out only by stepping a cursor over it, and no method moves a cursor
///    back, but over a slot that could not be filled, of which there is no view, and where nothing was
///    acquired after it; there is no `Clone` and no `Default`.
/// 2. [`Pool::scope`](crate::Pool::scope) and [`Scope::scope`] borrow their receiver exclusively for
///    as long as the new scope or any view of it lives. So while an inner scope is in use the outer
///    one cannot acquire, and when the outer one can acquire again, nothing of the inner is alive.
/// 3. Slots never move, and only slots at or above the cursor are grown or freed, so a view's memory
///    stays where it is until the view's borrow ends.
/// 4. Recycled contents are handed out only as [`PodElement`](crate::PodElement)s, for which any
///    bytes are a value; blocks start out initialised, and no view of plain data allows them to become
///    uninitialised. Where the host writes other types (padding, pointers), the slot is marked before the
///    first write with the longest length so written, and all of that is zeroed before the slot's contents
///    are next handed out recycled.
/// 5. Lengths, shapes and views that the user gives are turned into owned numbers exactly once,
///    before the cursor is read; closures, and what a backend writes, run after the cursor has stepped.
///    In between, an allocator's hook, a `tracing` subscriber or the backend may run, and may hold this
///    very scope: the pool is then marked as busy and its next slot advertises nothing, so that whatever
///    they acquire is refused and whatever they trim stays.
/// 6. A vector that grows ([`PoolVec`](crate::PoolVec)) has the only view of its slot's block, and exchanges that
///    block for an idle slot's. One that was acquired without capacity has no byte of its slot's block: the first push hands the
///    block out, as an acquire would. [`keep`](Scope::keep) does the same when its inner scope has ended: the closure
///    knows nothing of the inner scope's lifetime, so what it answers with is all that is left of that scope.
/// 7. A box and an allocator have memory that the cursor stepped past, as a view has. What they free is used again by the
///    allocator alone, and only as its last bytes; the cursor does not go back over it.
///
/// | misuse | outcome |
/// |---|---|
/// | acquire from the outer scope while an inner scope or view lives | compile error |
/// | open two inner scopes of one outer | compile error |
/// | use, move or drop the pool while a view lives | compile error |
/// | send a scope to another thread | compile error |
/// | carry a view out of the pool's borrow | compile error |
/// | acquire recycled `bool`s, or elements aligned above [`MAX_ALIGN`](PoolBackend::MAX_ALIGN) | compile error |
/// | keep more of an inner scope than its body answers with | compile error |
/// | open an inner scope while a collection over `Scope::allocator` is in use | compile error |
/// | forget or leak a box or a collection | its values are not dropped; the memory is the scope's |
/// | leave padding or uninitialised bytes behind, on the host | zeroed before they are handed out recycled |
/// | forget a scope, panic in it, return early | harmless |
/// | ask for too much | typed error, pool unchanged for live views |
/// | acquire from an allocator's hook or a `tracing` subscriber that runs inside this pool | [`PoolError::Reentered`](crate::PoolError::Reentered) |
/// | trim or compact from such a hook or subscriber | nothing happens |
///
/// Each compile error of this table has its example on the page [`soundness`](crate::soundness), and on those of
/// [`PoolBox`](crate::PoolBox) and `ScopeAllocator`.
#[must_use = "a scope does nothing but hand out memory"]
pub struct Scope<'s, B: PoolBackend> {
    pub(crate) cursor: Cursor<B>,
    /// Covariant: `'s` occurs only in what the scope hands out.
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

    /// Opens an inner scope. Views of this scope stay usable while it is open; this scope itself does
    /// not, until the inner scope and its views are gone.
    ///
    /// A scope is one word. A helper that is not inlined does best with a scope of its own, by value: the word then
    /// stays in a register, where an acquire through a reference to a scope reads and writes memory.
    ///
    /// ```
    /// # use pool_conformance::HeapBackend as Memory;
    /// use pool_core::{HostBackend, Pool, Scope};
    ///
    /// fn sum_of_squares<B: HostBackend>(scope: Scope<'_, B>, numbers: &[u64]) -> u64 {
    ///     scope.acquire_with(numbers.len(), |i| numbers[i] * numbers[i]).iter().sum()
    /// } // the squares are given back
    ///
    /// # let mut pool = Pool::<Memory>::new(Default::default());
    /// let mut scope = pool.scope();
    /// assert_eq!(sum_of_squares(scope.scope(), &[1, 2, 3]), 14);
    /// ```
    #[inline]
    pub fn scope(&mut self) -> Scope<'_, B> {
        // SAFETY: `self` is borrowed exclusively for the lifetime that the new scope and all its
        // views carry, so until they are out of use this scope's cursor is not used.
        let cursor = unsafe { self.cursor.copy() };
        // SAFETY: the pool outlives the borrow, and this scope's cursor rests during it.
        unsafe { Scope::from_cursor(cursor) }
    }

    /// Returns how many slots are handed out, by this scope and by those around it.
    #[must_use]
    pub fn active_slots(&self) -> usize {
        self.cursor.active()
    }

    /// Frees the blocks of all slots that this scope and those around it have not handed out. In a stack, frees the
    /// chunks after this scope's own, and returns pages of that one to the system
    /// ([`discarded_bytes`](ReleaseReport::discarded_bytes)). Where the call
    /// comes from code that the pool runs inside another operation (see
    /// [`PoolError::Reentered`](crate::PoolError::Reentered)), nothing is freed.
    pub fn trim(&self) -> ReleaseReport {
        self.cursor.trim()
    }

    /// Swaps oversized blocks of slots that are not handed out for smaller ones, by the lengths acquired since
    /// [`sample_lengths`](Self::sample_lengths) or an earlier call. The first call without samples swaps nothing, and starts to
    /// sample; see [`Compaction`]. Where
    /// [`trim`](Self::trim) would free nothing, no block is swapped.
    pub fn compact(&self, compaction: &Compaction) -> ReleaseReport {
        self.cursor.compact(compaction)
    }

    /// Starts to note the lengths of coming acquires, by which [`compact`](Self::compact) judges. Where
    /// [`trim`](Self::trim) would free nothing, none are noted.
    pub fn sample_lengths(&self) {
        self.cursor.sample_lengths();
    }

    /// The numbers of the pool.
    #[must_use]
    pub fn stats(&self) -> PoolStats {
        self.cursor.state().stats(self.active_slots())
    }

    /// The backend's context.
    #[must_use]
    pub fn context(&self) -> &B::Context {
        self.cursor.state().context()
    }
}

/// A panic cannot leave a scope in a state that it should not be seen in.
impl<B: PoolBackend> UnwindSafe for Scope<'_, B> {}
impl<B: PoolBackend> RefUnwindSafe for Scope<'_, B> {}

impl<B: PoolBackend> fmt::Debug for Scope<'_, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scope").field("active_slots", &self.active_slots()).finish_non_exhaustive()
    }
}
