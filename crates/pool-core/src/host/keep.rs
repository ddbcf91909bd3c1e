//! Keeping one array of an inner scope: its block moves to the outer scope's next slot.

use core::ptr::NonNull;
use core::slice;

use super::HostAcquireResult;
use super::plain::is_known_plain;
use crate::backend::{HostBackend, ScopeCursor};
use crate::element::HostElement;
use crate::error::{PoolError, panic_with};
use crate::scope::Scope;

impl<'s, B: HostBackend> Scope<'s, B> {
    /// Runs `body` in an inner scope, and keeps the slice that `body` returns after the inner scope
    /// has ended.
    ///
    /// Use `keep` for a result whose length is known only after it has been computed: no upper
    /// bound is needed. The temporaries of `body` are freed, and the result stays in the outer
    /// scope's next slot.
    ///
    /// The slice does not move in memory, and nothing is copied or allocated: its slot and the
    /// outer scope's next slot exchange their blocks. The slice may be part of an acquired array;
    /// the rest of the block is then also held. A slice that `body` captured from elsewhere (from
    /// this scope, another pool, or a static) is copied. An empty slice takes no slot.
    ///
    /// `body` returns a slice. Convert a vector with [`into_slice`](crate::PoolVec::into_slice).
    /// The compiler suggests borrowing the vector instead, but then it does not live long enough.
    ///
    /// # Memory held in a loop
    ///
    /// Keeping a slice exchanges its block with the block of the outer scope's next slot. In a loop
    /// over `keep`, the temporaries of each iteration therefore use the blocks of different slots.
    /// A temporary that is much larger than the kept array makes one slot after another grow. For
    /// example, a loop that keeps 100 arrays of 64 bytes, each next to a temporary of 1 MiB,
    /// allocates in its first 100 runs, and then holds 101 MiB. Acquire such a temporary once,
    /// before the loop, or use a [stack](crate::Stacked), in which the loop holds 1 MiB.
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
    /// The kept slice is one-dimensional. Use [`reshape`](crate::PoolView::reshape) for more axes.
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
    /// Panics with the error that [`try_keep`](Self::try_keep) returns.
    #[track_caller]
    pub fn keep<T: HostElement + 's>(
        &mut self,
        body: impl for<'inner> FnOnce(Scope<'inner, B>) -> &'inner mut [T],
    ) -> &'s mut [T] {
        let kept = self.try_keep(|inner| Ok::<_, PoolError<B::Error>>(body(inner)));
        kept.unwrap_or_else(|error| panic_with(&error))
    }

    /// Does the same as [`keep`](Self::keep), for a `body` that may fail with a [`PoolError`] or an
    /// error converted from one.
    ///
    /// # Errors
    ///
    /// The error of `body`. If its slice has to be copied, also the errors of
    /// [`try_acquire`](Self::try_acquire). No slot is taken in case of an error.
    pub fn try_keep<T: HostElement + 's, E: From<PoolError<B::Error>>>(
        &mut self,
        body: impl for<'inner> FnOnce(Scope<'inner, B>) -> Result<&'inner mut [T], E>,
    ) -> Result<&'s mut [T], E> {
        let slice = body(self.scope())?;
        // From here on, only the slice's address and length are used, because the inner scope has
        // ended.
        let (start, length) = (slice.as_mut_ptr(), slice.len());
        // SAFETY: the inner scope has ended. `body` is generic over the lifetime `'inner`, so a
        // view of the inner scope can exist only in the returned value. Hence the slice is the only
        // view of any slot at or above the cursor. The slice may also lie in a slot below the
        // cursor, in another pool, or in a static: `body` may return any `&'a mut [&'a T]` that it
        // captured (the bounds that the type implies make `'a` long enough). In every case, the
        // slice is the only reference to valid elements, and `body` has given it up.
        Ok(unsafe { self.keep_slice(start, length) }?)
    }

    /// Keeps the slice of `length` elements at `start`.
    ///
    /// # Safety
    ///
    /// The slice is valid while nothing is acquired or freed at or above the cursor, and nothing
    /// else uses it. No slot at or above the cursor has another view.
    unsafe fn keep_slice<T: Copy + 's>(
        &self,
        start: *mut T,
        length: usize,
    ) -> HostAcquireResult<'s, B, T> {
        if length * size_of::<T>() == 0 {
            // SAFETY: elements without bytes are valid at any aligned address. There were `length`
            // of them, and they are `Copy`.
            return Ok(unsafe { slice::from_raw_parts_mut(NonNull::dangling().as_ptr(), length) });
        }
        // SAFETY: the caller upholds the same contract.
        let Some(kept) = (unsafe { self.cursor.keep(start, length, is_known_plain::<T>()) }) else {
            // SAFETY: the slice is valid (caller). It is not in memory at or above the cursor, and
            // the copy hands out, grows and frees only such memory.
            let source = unsafe { slice::from_raw_parts(start, length) };
            return self.try_acquire_with(length, |index| source[index]);
        };
        // SAFETY: the elements are valid. They are now in memory below the cursor, which has no
        // other view and stays allocated for `'s`.
        Ok(unsafe { slice::from_raw_parts_mut(kept, length) })
    }
}
