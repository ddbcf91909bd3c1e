//! Collects the elements of an iterator into a slice, even if the number of elements is not known
//! in advance.

use super::HostAcquireResult;
use crate::backend::{HostBackend, ScopeCursor};
use crate::element::HostElement;
use crate::error::panic_with;
use crate::scope::Scope;

/// The maximum size, in bytes, of a block allocated on the basis of an iterator's size hint.
const TRUSTED_BYTES: usize = 1 << 20;

impl<'s, B: HostBackend> Scope<'s, B> {
    /// Acquires a slice that contains the elements of an iterator. The elements may be of any
    /// [`Copy`] type. This method has the same cost as [`acquire_with`](Self::acquire_with).
    ///
    /// The elements are collected in a [`PoolVec`](crate::PoolVec), which uses one slot. In the
    /// next pass through the scope, the slot's block is large enough from the start. The iterator
    /// may acquire arrays from the scope, and those arrays remain acquired until the scope ends. If
    /// the iterator panics, the slot that contains the elements also remains acquired. The
    /// iterator's size hint does not need to be correct.
    ///
    /// ```
    /// # use pool_conformance::HeapBackend as Memory;
    /// # let mut pool = pool_core::Pool::<Memory>::new(Default::default());
    /// let scope = pool.scope();
    /// let words = scope.acquire_from_iter("a few words".split(' ').filter(|word| word.len() > 1));
    /// words.sort();
    /// assert_eq!(words, ["few", "words"]);
    /// ```
    ///
    /// # Panics
    ///
    /// Panics with the error that [`try_acquire_from_iter`](Self::try_acquire_from_iter) would
    /// return.
    #[track_caller]
    pub fn acquire_from_iter<T: HostElement + 's>(
        &self,
        elements: impl IntoIterator<Item = T>,
    ) -> &'s mut [T] {
        self.cursor.note_caller();
        self.try_acquire_from_iter(elements).unwrap_or_else(|error| panic_with(&error))
    }

    /// The fallible version of [`acquire_from_iter`](Self::acquire_from_iter).
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`try_acquire`](Self::try_acquire). If the iterator has acquired
    /// arrays from the scope, the elements' slot remains acquired until the scope ends, even if
    /// this method returns an error.
    pub fn try_acquire_from_iter<T: HostElement + 's>(
        &self,
        elements: impl IntoIterator<Item = T>,
    ) -> HostAcquireResult<'s, B, T> {
        // `into_iter` is called before the slot is acquired, because it might itself acquire arrays
        // from the scope.
        let elements = elements.into_iter();
        let advice = elements.size_hint().0.min(TRUSTED_BYTES / size_of::<T>().max(1));
        let mut collected = self.try_acquire_vec(advice)?;
        if let Err(error) = collected.try_extend(elements) {
            let memory = collected.memory();
            // SAFETY: the scope's cursor has moved past the slot. The vector is the only view of
            // the slot and is not used after this call.
            unsafe { collected.scope().cursor.step_back(memory) };
            return Err(error);
        }
        Ok(collected.into_slice())
    }
}
