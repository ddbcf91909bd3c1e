//! The mark of a slot whose block may contain uninitialised bytes, left by values with padding or
//! by uninitialised memory. The slot's record stores the number of words at the start of the block
//! that may contain such bytes. Before the slot is handed out for reading, all of these words are
//! zeroed; only then is the mark removed. A marked slot advertises nothing, so marks cost nothing
//! for unmarked slots.

use super::fits::WORD;
use super::slot::SlotPointer;
use crate::backend::PoolBackend;
use crate::error::PoolError;

/// The mark of a block with more words than a record can count.
pub(super) const WHOLE_BLOCK: u32 = u32::MAX;

/// Returns the number of words in the first `bytes` bytes of a block, as stored in a record.
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

/// Marks a slot: the first `bytes` bytes of its block may become uninitialised from now on. A
/// longer existing mark is kept.
///
/// # Safety
///
/// The slot's block holds at least `bytes` bytes, and its scope is open. Either the cursor has
/// stepped past the slot, or the slot is idle and no other code runs before the caller takes it.
#[inline]
pub(super) unsafe fn mark<B: PoolBackend>(slot: SlotPointer<'_, B>, bytes: usize) {
    if bytes == 0 {
        return;
    }
    // SAFETY: the record is live, and nothing else holds a reference to it while this reference
    // lives.
    let record = unsafe { slot.record().as_mut() };
    record.uninitialised_words = record.uninitialised_words.max(words_of(bytes));
    // SAFETY: the slot is live. Below the cursor, the advertised word belongs to the view that is
    // about to be created (invariant 5).
    unsafe { (*slot.slot.as_ptr()).advertised = 0 };
}

impl<B: PoolBackend> SlotPointer<'_, B> {
    /// Returns the number of marked bytes of the slot's block.
    pub(super) fn uninitialised_bytes(self) -> usize {
        let record = self.record().as_ptr();
        // SAFETY: the record is live and nothing holds a reference to it.
        let words = unsafe { (*record).uninitialised_words };
        // SAFETY: as above.
        bytes_of(words, unsafe { (*record).real })
    }

    /// Sets the number of marked bytes of a block that was just put into the slot.
    pub(super) fn set_uninitialised_bytes(self, bytes: usize) {
        // SAFETY: the record is live and nothing holds a reference to it.
        unsafe { (*self.record().as_ptr()).uninitialised_words = words_of(bytes) };
    }

    /// Zeroes the marked bytes of the slot's block, and removes the mark. If zeroing fails, the
    /// mark stays.
    ///
    /// # Safety
    ///
    /// The slot is idle, the backend has ordered its block ([`PoolBackend::reuse`]), and the pool
    /// is marked as busy.
    pub(super) unsafe fn initialise(self) -> Result<(), PoolError<B::Error>> {
        let record = self.record().as_ptr();
        // SAFETY: the record is live and nothing holds a reference to it. The same holds below.
        let words = unsafe { (*record).uninitialised_words };
        if words == 0 {
            return Ok(());
        }
        // SAFETY: as above.
        let bytes = bytes_of(words, unsafe { (*record).real });
        // SAFETY: the block holds `bytes` bytes, which is more than 0: a marked slot has a block,
        // and its mark is removed with the block (`take_block`). Nothing views it (caller).
        unsafe { B::set_bytes(self.state().context(), self.block(), 0, bytes) }
            .map_err(|source| PoolError::Backend { operation: "zero a block", source })?;
        // SAFETY: as above.
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
