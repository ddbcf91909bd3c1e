//! Implements the marks on slots whose blocks might contain uninitialized bytes. Uninitialized
//! bytes come from values with padding or from arrays of `MaybeUninit`.
//!
//! The slot's record stores the number of words at the start of the block that might contain
//! uninitialized bytes. Before a marked slot is handed out for reading, its marked words are
//! zeroed, and the mark is removed. A marked slot advertises 0 words, so the hot path does not have
//! to check for marks.

use super::fits::WORD;
use super::slot::SlotPointer;
use crate::backend::PoolBackend;
use crate::error::PoolError;

/// The mark of a block whose number of words does not fit in a record.
pub(super) const WHOLE_BLOCK: u32 = u32::MAX;

/// Returns the number of words that a slot's record stores to mark the first `bytes` bytes of a
/// block.
fn words_of(bytes: usize) -> u32 {
    u32::try_from(bytes.div_ceil(WORD)).unwrap_or(WHOLE_BLOCK)
}

/// Returns the number of bytes that a mark of `words` words covers in a block of `real` bytes.
fn bytes_of(words: u32, real: usize) -> usize {
    match usize::try_from(words) {
        Ok(counted) if words != WHOLE_BLOCK => counted.saturating_mul(WORD).min(real),
        _ => real,
    }
}

/// Marks the first `bytes` bytes of the slot's block, because they might become uninitialized after
/// this call. If the slot already has a longer mark, that mark is kept.
///
/// # Safety
///
/// The slot's block must have at least `bytes` bytes, and the slot's scope must be open. Either the
/// cursor must have moved past the slot, or the slot must be idle. If the slot is idle, no other
/// code may run before the caller acquires the slot.
#[inline]
pub(super) unsafe fn mark<B: PoolBackend>(slot: SlotPointer<'_, B>, bytes: usize) {
    if bytes == 0 {
        return;
    }
    // SAFETY: the slot's record is live, and no other reference to it exists.
    let record = unsafe { slot.record().as_mut() };
    record.uninitialised_words = record.uninitialised_words.max(words_of(bytes));
    // SAFETY: the slot is live. If the slot is below the cursor, its advertised word belongs to the
    // view that is about to be created (invariant 5).
    unsafe { (*slot.slot.as_ptr()).advertised = 0 };
}

impl<B: PoolBackend> SlotPointer<'_, B> {
    /// Returns the number of marked bytes in the slot's block.
    pub(super) fn uninitialised_bytes(self) -> usize {
        let record = self.record().as_ptr();
        // SAFETY: the slot's record is live, and no reference to it exists.
        let words = unsafe { (*record).uninitialised_words };
        // SAFETY: the slot's record is live, and no reference to it exists.
        bytes_of(words, unsafe { (*record).real })
    }

    /// Sets the number of marked bytes in a block that was just installed in the slot.
    pub(super) fn set_uninitialised_bytes(self, bytes: usize) {
        // SAFETY: the slot's record is live, and no reference to it exists.
        unsafe { (*self.record().as_ptr()).uninitialised_words = words_of(bytes) };
    }

    /// Zeroes the marked bytes of the slot's block and then removes the mark. If the words cannot
    /// be zeroed, the mark remains.
    ///
    /// # Safety
    ///
    /// The slot must be idle, and the pool must be marked as busy. If a view armed the slot,
    /// [`PoolBackend::reuse`] must have been called.
    pub(super) unsafe fn initialise(self) -> Result<(), PoolError<B::Error>> {
        let record = self.record().as_ptr();
        // SAFETY: the slot's record is live, and no reference to it exists.
        let words = unsafe { (*record).uninitialised_words };
        if words == 0 {
            return Ok(());
        }
        // SAFETY: the slot's record is live, and no reference to it exists.
        let bytes = bytes_of(words, unsafe { (*record).real });
        // SAFETY: the block holds `bytes` bytes, and the caller guarantees that no view of it
        // exists. A marked slot always has a block, because `take_block` removes the mark together
        // with the block. `bytes` is therefore not 0.
        unsafe { B::set_bytes(self.state().context(), self.block(), 0, bytes) }
            .map_err(|source| PoolError::Backend { operation: "zero a block", source })?;
        // SAFETY: the slot's record is live, and no reference to it exists.
        unsafe { (*record).uninitialised_words = 0 };
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_covers_every_byte_that_was_marked() {
        for bytes in [1, 7, 8, 9, 63, 64, 65, 1 << 20] {
            let real = 1 << 20;
            let marked = bytes_of(words_of(bytes), real);
            assert!((bytes..bytes + WORD).contains(&marked), "{bytes} of {real}");
        }
        assert_eq!(bytes_of(words_of(60), 60), 60, "never more than the block has");
    }

    #[test]
    fn a_mark_that_cannot_be_counted_is_one_of_the_whole_block() {
        let most = isize::MAX as usize;
        assert_eq!(bytes_of(WHOLE_BLOCK, most), most);
        assert_eq!(bytes_of(words_of(most), most), most);
    }
}
