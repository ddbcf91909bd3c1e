//! Implements methods that let an array outlive its inner scope by moving its block to the outer
//! scope's next slot.

use core::ptr::NonNull;
use core::slice;

use super::HostAcquireResult;
use super::plain::is_known_plain;
use crate::backend::{HostBackend, ScopeCursor};
use crate::element::HostElement;
use crate::error::{PoolError, panic_with};
use crate::scope::Scope;

impl<'s, B: HostBackend> Scope<'s, B> {
    /// Runs `body` in an inner scope and keeps the returned slice after that scope has ended.
    ///
    /// Use `keep` if a result's length is known only after the result has been computed, because
    /// `keep` needs no upper bound on that length. `body`'s temporaries are freed, and the result
    /// then occupies the outer scope's next slot.
    ///
    /// The slice's address does not change, and nothing is copied or allocated. The slice's slot
    /// and the outer scope's next slot swap blocks. If the slice is only part of an acquired array,
    /// the rest of that array's block also remains in use. If `body` returns a slice from elsewhere
    /// (this scope, another pool, or a static), the slice is copied. An empty slice uses no slot.
    ///
    /// The `body` closure must return a slice, so convert a vector with
    /// [`into_slice`](crate::PoolVec::into_slice). If `body` returns a vector, the compiler
    /// suggests borrowing it, but a borrowed vector would not live long enough.
    ///
    /// # Memory held in a loop
    ///
    /// To keep a slice, the method swaps the slice's block with the block in the outer scope's next
    /// slot. In a loop that calls `keep`, the temporaries therefore use different slots in each
    /// iteration. If a temporary is much larger than the kept array, each iteration might grow a
    /// different slot. For example, suppose that a loop keeps 100 arrays of 64 bytes and uses a
    /// temporary array of 1 MiB to compute each of them. After 100 runs of this loop, the pool
    /// holds 101 MiB and no longer allocates memory. To avoid this growth, acquire a large
    /// temporary only once, before the loop. In a [stack](crate::Stacked), the pool would hold only
    /// 1 MiB after the same loop.
    ///
    /// ```
    /// # use pool_conformance::HeapBackend as Memory;
    /// # let mut pool = pool_core::Pool::<Memory>::new(Default::default());
    /// let samples = [0.5, 3.0, 1.5, 4.0];
    /// let mut scope = pool.scope();
    /// let peaks = scope.keep(|inner| {
    ///     let smooth = inner.acquire_with(samples.len() - 1, |i| (samples[i] + samples[i + 1]) / 2.0);
    ///     inner.acquire_from_iter(smooth.iter().copied().enumerate().filter(|&(_, value)| value > 2.0))
    /// });
    /// assert_eq!(peaks, [(1, 2.25), (2, 2.75)]);
    /// assert_eq!(scope.active_slots(), 1); // `smooth` is freed
    /// ```
    ///
    /// The kept slice is one-dimensional. Use [`reshape`](crate::PoolView::reshape) to view the
    /// slice with more axes.
    ///
    /// ```
    /// # use pool_conformance::HeapBackend as Memory;
    /// # use pool_core::PoolView;
    /// # let mut pool = pool_core::Pool::<Memory>::new(Default::default());
    /// let mut scope = pool.scope();
    /// let squared = scope.keep(|inner| {
    ///     let matrix = inner.acquire_with([2, 2], |[row, column]| row + 2 * column);
    ///     let product = inner.acquire_with([2, 2], |[row, column]| -> usize {
    ///         (0..2).map(|k| matrix[[row, k]] * matrix[[k, column]]).sum()
    ///     });
    ///     product.into_view()
    /// });
    /// assert_eq!(squared.reshape([2, 2])[[1, 0]], 3);
    /// ```
    ///
    /// # Panics
    ///
    /// Panics with the error that [`try_keep`](Self::try_keep) would return.
    #[track_caller]
    pub fn keep<T: HostElement + 's>(
        &mut self,
        body: impl for<'inner> FnOnce(Scope<'inner, B>) -> &'inner mut [T],
    ) -> &'s mut [T] {
        let kept = self.try_keep(|inner| Ok::<_, PoolError<B::Error>>(body(inner)));
        kept.unwrap_or_else(|error| panic_with(&error))
    }

    /// Keeps the slice that `body` returns, as [`keep`](Self::keep) does, but accepts a `body` that
    /// can fail. The error type is either [`PoolError`] or a type that implements
    /// `From<PoolError>`.
    ///
    /// # Errors
    ///
    /// Returns the error that `body` returned. If the slice must be copied, the method can also
    /// return any error that [`try_acquire`](Self::try_acquire) returns. If an error is returned,
    /// no slot remains acquired.
    pub fn try_keep<T: HostElement + 's, E: From<PoolError<B::Error>>>(
        &mut self,
        body: impl for<'inner> FnOnce(Scope<'inner, B>) -> Result<&'inner mut [T], E>,
    ) -> Result<&'s mut [T], E> {
        let slice = body(self.scope())?;
        // Only the slice's address and length are used from here on, because the inner scope has
        // ended.
        let (start, length) = (slice.as_mut_ptr(), slice.len());
        // SAFETY: the inner scope has ended. `body` is generic over the lifetime `'inner`, so a
        // view of the inner scope can exist only in the returned value. Therefore, the slice is the
        // only view of any slot at or above the cursor. The slice can also be in a slot below the
        // cursor, in another pool, or in a static. In particular, `body` can return any `&'a mut
        // [&'a T]` that it captured, because that type's implied bounds ensure that `'a` is long
        // enough. In every case, the slice is the only reference to its elements, the elements are
        // valid, and `body` no longer uses the slice.
        Ok(unsafe { self.keep_slice(start, length) }?)
    }

    /// Keeps the slice of `length` elements that starts at `start`.
    ///
    /// # Safety
    ///
    /// No other code may use the slice. The slice must remain valid until something is acquired or
    /// freed at or above the cursor. No other view of any slot at or above the cursor may exist.
    unsafe fn keep_slice<T: Copy + 's>(
        &self,
        start: *mut T,
        length: usize,
    ) -> HostAcquireResult<'s, B, T> {
        if length * size_of::<T>() == 0 {
            // SAFETY: a slice that occupies no bytes is valid at any aligned address. The original
            // slice contains `length` elements of `T`, which is `Copy`.
            return Ok(unsafe { slice::from_raw_parts_mut(NonNull::dangling().as_ptr(), length) });
        }
        // SAFETY: the caller upholds the safety contract of `keep`.
        let Some(kept) = (unsafe { self.cursor.keep(start, length, is_known_plain::<T>()) }) else {
            // SAFETY: the caller guarantees that the slice is valid. The slice is not in memory at
            // or above the cursor, and copying it affects only memory at or above the cursor.
            let source = unsafe { slice::from_raw_parts(start, length) };
            return self.try_acquire_with(length, |index| source[index]);
        };
        // SAFETY: the elements are valid. The memory below the cursor that now holds the elements
        // has no other view and remains allocated for `'s`.
        Ok(unsafe { slice::from_raw_parts_mut(kept, length) })
    }
}
