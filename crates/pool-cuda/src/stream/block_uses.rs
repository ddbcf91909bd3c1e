//! The notes of who uses which block, in the order in which they were made. They are looked at one by one and
//! by number, and none is borrowed while it is acted upon: waiting for a stream calls the driver, and letting it
//! go drops it, and what runs then may note more.

use std::cell::{Cell, RefCell};
use std::mem;
use std::sync::Arc;

use crate::driver::calls::Address;
use crate::driver::capture::Capture;
use crate::driver::error::CudaError;
use crate::stream::other_streams::{Foreign, unannounce};

/// A block, and who uses it.
#[derive(Clone, Debug)]
pub(crate) struct Use {
    pub(crate) block: Address,
    pub(crate) by: Foreign,
    /// The capture that the pointer was given out in: what the stream does there is the graph's.
    pub(crate) capture: Capture,
}

/// A copy of a note.
pub(crate) struct Noted {
    pub(crate) number: u64,
    pub(crate) used: Use,
    /// Whether, before the copy was made, the pool alone had the stream and nobody could get it: it gets no
    /// more work.
    pub(crate) is_ended: bool,
}

/// Notes with their numbers, which ascend. Borrowed for a look, and for moving what has its place already.
#[derive(Debug, Default)]
pub(crate) struct Uses {
    notes: RefCell<Vec<(u64, Use)>>,
    next: Cell<u64>,
}

impl Uses {
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.notes.borrow().is_empty()
    }

    pub(crate) fn any(&self, is_wanted: impl Fn(&Use) -> bool) -> bool {
        self.notes.borrow().iter().any(|(_, used)| is_wanted(used))
    }

    /// Whether there is one before that of a number.
    pub(crate) fn any_before(&self, number: u64, is_wanted: impl Fn(&Use) -> bool) -> bool {
        let notes = self.notes.borrow();
        let before = notes.partition_point(|(known, _)| *known < number);
        notes[..before].iter().any(|(_, used)| is_wanted(used))
    }

    /// The first one from a number on.
    pub(crate) fn next(&self, from: u64, is_wanted: impl Fn(&Use) -> bool) -> Option<Noted> {
        let (number, stream) = {
            let notes = self.notes.borrow();
            let first = notes.partition_point(|(known, _)| *known < from);
            let (number, used) = notes[first..].iter().find(|(_, used)| is_wanted(used))?;
            (*number, used.by.seems_alone())
        };
        let announced = stream.map(unannounce);
        let is_ended = announced.is_some() && self.is_alone(number);
        let used = self.copy_of(number)?;
        if let (Some(announced), false, Foreign::Stream(stream)) = (announced, is_ended, &used.by) {
            announced.put_back(stream);
        }
        Some(Noted { number, used, is_ended })
    }

    fn copy_of(&self, number: u64) -> Option<Use> {
        let notes = self.notes.borrow();
        Some(notes[place_of(&notes, number)?].1.clone())
    }

    /// Whether a note has the only reference to its stream, strong or weak.
    fn is_alone(&self, number: u64) -> bool {
        let mut notes = self.notes.borrow_mut();
        let Some(place) = place_of(&notes, number) else { return false };
        let Foreign::Stream(stream) = &mut notes[place].1.by else { return false };
        Arc::get_mut(stream).is_some()
    }

    pub(crate) fn add(&self, new: Use) -> Result<(), CudaError> {
        self.make_room()?;
        let number = self.next.replace(self.next.get() + 1);
        self.notes.borrow_mut().push((number, new));
        Ok(())
    }

    /// Room for one more: a hook of the allocator may note something itself, and take it.
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
            let requested = wanted.saturating_mul(size_of::<(u64, Use)>());
            let no_room = |_| CudaError::Bookkeeping { requested };
            larger.try_reserve_exact(wanted).map_err(no_room)?;
            let mut notes = self.notes.borrow_mut();
            if notes.len() < larger.capacity() {
                larger.append(&mut notes);
                mem::swap(&mut *notes, &mut larger);
            }
            // Given up before what is not wanted any more is given back to the allocator.
            drop(notes);
        }
    }

    pub(crate) fn remove(&self, number: u64) {
        let removed = {
            let mut notes = self.notes.borrow_mut();
            place_of(&notes, number).map(|place| notes.remove(place))
        };
        drop(removed);
    }
}

/// Where the note of a number is, if it is still there.
fn place_of(notes: &[(u64, Use)], number: u64) -> Option<usize> {
    notes.binary_search_by_key(&number, |(known, _)| *known).ok()
}
