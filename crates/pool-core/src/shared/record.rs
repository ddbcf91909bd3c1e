//! Defines the record of a block. The record is in a list while the block is idle, and in an
//! [`Owned`](super::Owned) array while the block is in use.

use alloc::boxed::Box;
use core::mem::MaybeUninit;

use super::size_class::class_within;
use crate::try_box::{into_box, try_box};

/// A block together with its sizes and a link to the next idle block.
#[derive(Debug)]
pub(super) struct Record<M> {
    /// The next idle block in the list.
    pub(super) next: Option<Box<Self>>,
    /// The block's size in bytes, which counts toward the pool's statistics and limit.
    pub(super) bytes: usize,
    /// The highest size class whose arrays all fit in the block.
    pub(super) class: usize,
    /// The live array's size in bytes, rounded up to a whole number of units.
    pub(super) live: usize,
    pub(super) memory: M,
}

/// Host memory for a record. The record's memory is allocated before the block so that no block is
/// lost if the record cannot be allocated.
pub(super) struct RecordPlace<M>(Box<MaybeUninit<Record<M>>>);

impl<M> RecordPlace<M> {
    /// Allocates host memory for a record.
    ///
    /// # Errors
    ///
    /// Returns the number of bytes that the host could not allocate.
    pub(super) fn new() -> Result<Self, usize> {
        let place = try_box(MaybeUninit::uninit()).ok_or(size_of::<Record<M>>())?;
        // SAFETY: `try_box` created the memory. Only the box uses the memory after this call.
        Ok(Self(unsafe { into_box(place) }))
    }

    /// Creates a record for a block whose counted size is `bytes` bytes.
    pub(super) fn fill(mut self, bytes: usize, memory: M) -> Box<Record<M>> {
        let class = class_within(bytes);
        self.0.write(Record { next: None, bytes, class, live: 0, memory });
        let record = Box::into_raw(self.0).cast::<Record<M>>();
        // SAFETY: the pointer was returned by `Box::into_raw` for a box with the same layout. The
        // record was just written to that memory.
        unsafe { Box::from_raw(record) }
    }
}
