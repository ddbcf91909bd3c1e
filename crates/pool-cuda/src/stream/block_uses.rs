//! The notes of who uses which block of a pool, in the order in which they were made. They are looked at one by one
//! and by number. None is borrowed while it is acted upon: waiting for a stream calls the driver, letting a stream go
//! drops it, and the code that runs then may note more.

use std::cell::{Cell, RefCell};
use std::mem;
use std::sync::Arc;

use pool_driver::calls::Address;
use pool_driver::capture::Capture;
use pool_driver::error::CudaError;

use crate::stream::announced_streams::withdraw;
use crate::stream::block_user::BlockUser;

/// The note that somebody uses a block.
#[derive(Clone, Debug)]
pub(crate) struct BlockUse {
    pub(crate) block: Address,
    pub(crate) user: BlockUser,
    /// The capture that the pointer was given out in: what the user's stream does there is the graph's.
    pub(crate) capture: Capture,
}

/// A copy of a note.
pub(crate) struct UseCopy {
    pub(crate) number: u64,
    pub(crate) block_use: BlockUse,
    /// Whether, before the copy was made, the pool alone had the user's stream and nobody could get it: the stream
    /// gets no more work.
    pub(crate) is_ended: bool,
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

    /// The first note of this kind from a number on.
    pub(crate) fn next(&self, from: u64, is_wanted: impl Fn(&BlockUse) -> bool) -> Option<UseCopy> {
        let (number, stream) = {
            let notes = self.notes.borrow();
            let first = notes.partition_point(|(other, _)| *other < from);
            let (number, block_use) =
                notes[first..].iter().find(|(_, block_use)| is_wanted(block_use))?;
            (*number, block_use.user.seems_alone())
        };
        let withdrawal = stream.map(withdraw);
        let is_ended = withdrawal.is_some() && self.is_alone(number);
        let block_use = self.copy_of(number)?;
        if let (Some(withdrawal), false, BlockUser::Stream(stream)) =
            (withdrawal, is_ended, &block_use.user)
        {
            withdrawal.put_back(stream);
        }
        Some(UseCopy { number, block_use, is_ended })
    }

    fn copy_of(&self, number: u64) -> Option<BlockUse> {
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
        self.make_room()?;
        let number = self.next.replace(self.next.get() + 1);
        self.notes.borrow_mut().push((number, new));
        Ok(())
    }

    /// Makes room for one more note, again and again where it is taken: a hook of the allocator may note something
    /// itself.
    fn make_room(&self) -> Result<(), CudaError> {
        loop {
            let (length, capacity) = {
                let notes = self.notes.borrow();
                (notes.len(), notes.capacity())
            };
            if length < capacity {
                return Ok(());
            }
            let (mut larger, wanted) = (Vec::new(), (2 * length).max(4));
            let requested = wanted.saturating_mul(size_of::<(u64, BlockUse)>());
            let no_room = |_| CudaError::Bookkeeping { requested };
            larger.try_reserve_exact(wanted).map_err(no_room)?;
            let mut notes = self.notes.borrow_mut();
            if notes.len() < larger.capacity() {
                larger.append(&mut notes);
                mem::swap(&mut *notes, &mut larger);
            }
            // The borrow ends before the smaller list goes back to the allocator.
            drop(notes);
        }
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
