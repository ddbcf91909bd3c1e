//! The notes of who uses which block of a pool, in the order in which they were made. They are looked at one by one
//! and by number. None is borrowed while it is acted upon: waiting for a stream calls the driver, letting a stream go
//! drops it, and the code that runs then may note more.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use cudarc::driver::CudaStream;
use pool_core::reserve::lock_reserved;
use pool_driver::capture::Capture;
use pool_driver::error::CudaError;

use crate::stream::announced_streams::{Withdrawal, withdraw};
use crate::stream::block_user::BlockUser;
use crate::stream::guard_events::Bytes;

/// The note that somebody uses a block.
#[derive(Clone, Debug)]
pub(crate) struct BlockUse {
    pub(crate) bytes: Bytes,
    pub(crate) user: BlockUser,
    /// The capture that the pointer was given out in: what the user's stream does there is the graph's.
    pub(crate) capture: Capture,
}

/// Notes with their numbers, which ascend. Borrowed for a look, and for moving a note into room that is there.
#[derive(Debug, Default)]
pub(crate) struct BlockUses {
    notes: RefCell<Vec<(u64, BlockUse)>>,
    next: Cell<u64>,
}

impl BlockUses {
    /// Whether nobody but the pool's stream uses any block.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.notes.borrow().is_empty()
    }

    /// Whether there is a note of this kind.
    pub(crate) fn any(&self, is_wanted: impl Fn(&BlockUse) -> bool) -> bool {
        self.notes.borrow().iter().any(|(_, block_use)| is_wanted(block_use))
    }

    /// Whether there is a note of this kind before the note of a number.
    pub(crate) fn any_before(&self, number: u64, is_wanted: impl Fn(&BlockUse) -> bool) -> bool {
        let notes = self.notes.borrow();
        let before = notes.partition_point(|(other, _)| *other < number);
        notes[..before].iter().any(|(_, block_use)| is_wanted(block_use))
    }

    /// A copy of the first note of this kind from a number on, with that number.
    pub(crate) fn next(
        &self,
        from: u64,
        is_wanted: impl Fn(&BlockUse) -> bool,
    ) -> Option<(u64, BlockUse)> {
        let number = self.find(from, is_wanted)?;
        Some((number, self.copy_of(number)?))
    }

    /// The number of the first note of this kind from a number on.
    pub(crate) fn find(&self, from: u64, is_wanted: impl Fn(&BlockUse) -> bool) -> Option<u64> {
        let notes = self.notes.borrow();
        let first = notes.partition_point(|(other, _)| *other < from);
        notes[first..].iter().find(|(_, used)| is_wanted(used)).map(|(number, _)| *number)
    }

    /// Withdraws a note's stream from the announced streams if the pool alone has the stream. Returns whether it did:
    /// then nothing can get another reference to the stream, and it gets no more work.
    ///
    /// A copy of the note would be another reference, so call this before one is made. The entry among the announced
    /// streams is one, too. So it is taken out before the references are counted, and put back if the stream has other
    /// owners.
    pub(crate) fn withdraw_if_ended(&self, number: u64) -> bool {
        let Some(stream) = self.seems_alone(number) else { return false };
        let withdrawal = withdraw(stream);
        let is_alone = self.is_alone(number);
        if !is_alone {
            self.announce_again(number, withdrawal);
        }
        is_alone
    }

    /// Puts the stream of a note back among the announced streams.
    fn announce_again(&self, number: u64, withdrawal: Withdrawal) {
        if let Some(BlockUse { user: BlockUser::Stream(stream), .. }) = self.copy_of(number) {
            withdrawal.put_back(&stream);
        }
    }

    /// The stream of a note, where the note seems to have the only reference to it.
    fn seems_alone(&self, number: u64) -> Option<*const CudaStream> {
        let notes = self.notes.borrow();
        notes[place_of(&notes, number)?].1.user.seems_alone()
    }

    /// A copy of the note of a number, if it is still there.
    pub(crate) fn copy_of(&self, number: u64) -> Option<BlockUse> {
        let notes = self.notes.borrow();
        Some(notes[place_of(&notes, number)?].1.clone())
    }

    /// Whether a note has the only reference to its stream, strong or weak.
    fn is_alone(&self, number: u64) -> bool {
        let mut notes = self.notes.borrow_mut();
        let Some(place) = place_of(&notes, number) else { return false };
        let BlockUser::Stream(stream) = &mut notes[place].1.user else { return false };
        Arc::get_mut(stream).is_some()
    }

    /// Adds a note.
    ///
    /// # Errors
    ///
    /// [`CudaError::Bookkeeping`] where the host has no memory for it.
    pub(crate) fn add(&self, new: BlockUse) -> Result<(), CudaError> {
        // A hook of the allocator may note something itself, so the number is taken once there is room.
        let mut notes = lock_reserved(|| self.notes.borrow_mut(), |notes| notes, 1)?;
        notes.push((self.next.replace(self.next.get() + 1), new));
        Ok(())
    }

    /// Removes the note of a number, if it is still there. Its stream is dropped outside of the borrow.
    pub(crate) fn remove(&self, number: u64) {
        let removed = {
            let mut notes = self.notes.borrow_mut();
            place_of(&notes, number).map(|place| notes.remove(place))
        };
        drop(removed);
    }
}

/// Where the note of a number is, if it is still there.
fn place_of(notes: &[(u64, BlockUse)], number: u64) -> Option<usize> {
    notes.binary_search_by_key(&number, |(other, _)| *other).ok()
}
