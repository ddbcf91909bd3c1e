//! Lists the uses of a pool's blocks by other streams and devices, in the order in which the uses
//! were added. The entries are numbered so that the pool can read them one at a time. The list is
//! not borrowed while the pool processes an entry. A driver call or a stream's destructor might run
//! code that adds entries.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use cudarc::driver::CudaStream;
use pool_core::reserve::lock_reserved;
use pool_driver::capture::CaptureId;
use pool_driver::error::CudaError;

use crate::stream::block_user::BlockUser;
use crate::stream::guard_events::Bytes;
use crate::stream::registered_streams::{Withdrawal, withdraw};

/// A use of a block by another stream or device.
#[derive(Clone, Debug)]
pub(crate) struct BlockUse {
    pub(crate) bytes: Bytes,
    pub(crate) user: BlockUser,
    /// The capture that was active when the pool returned the pointer, or `None` if no capture was
    /// active. All work that the user enqueues in this capture belongs to the captured graph.
    pub(crate) capture: CaptureId,
}

/// The uses of a pool's blocks, sorted by number. The cell is borrowed only while the list is
/// searched or an entry is moved into reserved memory.
#[derive(Debug, Default)]
pub(crate) struct BlockUses {
    notes: RefCell<Vec<(u64, BlockUse)>>,
    next: Cell<u64>,
}

impl BlockUses {
    /// Returns `true` if no other stream uses any block of the pool.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.notes.borrow().is_empty()
    }

    /// Returns `true` if `is_wanted` accepts at least one entry.
    pub(crate) fn any(&self, is_wanted: impl Fn(&BlockUse) -> bool) -> bool {
        self.notes.borrow().iter().any(|(_, block_use)| is_wanted(block_use))
    }

    /// Returns `true` if `is_wanted` accepts at least one entry whose number is below `number`.
    pub(crate) fn any_before(&self, number: u64, is_wanted: impl Fn(&BlockUse) -> bool) -> bool {
        let notes = self.notes.borrow();
        let before = notes.partition_point(|(other, _)| *other < number);
        notes[..before].iter().any(|(_, block_use)| is_wanted(block_use))
    }

    /// Returns the first entry that `is_wanted` accepts, starting at number `from`. The method
    /// returns the entry's number and a copy of the entry.
    pub(crate) fn next(
        &self,
        from: u64,
        is_wanted: impl Fn(&BlockUse) -> bool,
    ) -> Option<(u64, BlockUse)> {
        let number = self.find(from, is_wanted)?;
        Some((number, self.copy_of(number)?))
    }

    /// Returns the number of the first entry that `is_wanted` accepts, starting at number `from`.
    pub(crate) fn find(&self, from: u64, is_wanted: impl Fn(&BlockUse) -> bool) -> Option<u64> {
        let notes = self.notes.borrow();
        let first = notes.partition_point(|(other, _)| *other < from);
        notes[first..].iter().find(|(_, used)| is_wanted(used)).map(|(number, _)| *number)
    }

    /// Removes an entry's stream from the list of registered streams if the pool holds the only
    /// reference to it. If this method returns `true`, no code can create another reference to the
    /// stream or enqueue further work on it.
    ///
    /// Call this method before copying the entry, because the copy would hold another reference to
    /// the stream. The list of registered streams holds a weak reference to each stream. This
    /// method removes the weak reference before it counts the references. If the stream has other
    /// owners, this method registers it again.
    pub(crate) fn withdraw_if_ended(&self, number: u64) -> bool {
        let Some(stream) = self.seems_alone(number) else { return false };
        let withdrawal = withdraw(stream);
        let is_alone = self.is_alone(number);
        if !is_alone {
            self.register_again(number, withdrawal);
        }
        is_alone
    }

    /// Registers an entry's stream again.
    fn register_again(&self, number: u64, withdrawal: Withdrawal) {
        if let Some(BlockUse { user: BlockUser::Stream(stream), .. }) = self.copy_of(number) {
            withdrawal.put_back(&stream);
        }
    }

    /// Returns the address of an entry's stream if the entry probably holds the only reference to
    /// it.
    fn seems_alone(&self, number: u64) -> Option<*const CudaStream> {
        let notes = self.notes.borrow();
        notes[place_of(&notes, number)?].1.user.seems_alone()
    }

    /// Returns a copy of the entry with this number, or `None` if the entry has been removed.
    pub(crate) fn copy_of(&self, number: u64) -> Option<BlockUse> {
        let notes = self.notes.borrow();
        Some(notes[place_of(&notes, number)?].1.clone())
    }

    /// Returns `true` if there is no other strong or weak reference to the entry's stream.
    fn is_alone(&self, number: u64) -> bool {
        let mut notes = self.notes.borrow_mut();
        let Some(place) = place_of(&notes, number) else { return false };
        let BlockUser::Stream(stream) = &mut notes[place].1.user else { return false };
        Arc::get_mut(stream).is_some()
    }

    /// Adds an entry with the next number.
    ///
    /// # Errors
    ///
    /// Returns [`CudaError::Bookkeeping`] if the host is out of memory.
    pub(crate) fn add(&self, new: BlockUse) -> Result<(), CudaError> {
        // The number is assigned only after memory has been reserved, because an allocator hook
        // might add an entry itself.
        let mut notes = lock_reserved(|| self.notes.borrow_mut(), |notes| notes, 1)?;
        notes.push((self.next.replace(self.next.get() + 1), new));
        Ok(())
    }

    /// Removes the entry with this number, if it still exists. The entry's stream is dropped after
    /// the cell's borrow has ended.
    pub(crate) fn remove(&self, number: u64) {
        let removed = {
            let mut notes = self.notes.borrow_mut();
            place_of(&notes, number).map(|place| notes.remove(place))
        };
        drop(removed);
    }
}

/// Returns the index of the entry with this number, or `None` if the entry has been removed.
fn place_of(notes: &[(u64, BlockUse)], number: u64) -> Option<usize> {
    notes.binary_search_by_key(&number, |(other, _)| *other).ok()
}
