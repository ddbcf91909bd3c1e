//! The record of one block: in a list while the block is idle, in an [`Owned`](super::Owned) while an array uses it.

use alloc::boxed::Box;
use core::mem::MaybeUninit;

use super::size_class::class_within;
use crate::try_box::{into_box, try_box};

/// A block, and its figures in the pool.
#[derive(Debug)]
pub(super) struct Record<M> {
    /// The next idle block of the list.
    pub(super) next: Option<Box<Self>>,
    /// The bytes that the pool counts for the block.
    pub(super) bytes: usize,
    /// The class whose arrays all fit the block.
    pub(super) class: usize,
    /// The requested bytes of the live array in the block, in whole units.
    pub(super) live: usize,
    pub(super) memory: M,
}

/// Host memory for a record. It is allocated before the block, so that no block is lost if it cannot be.
pub(super) struct RecordPlace<M>(Box<MaybeUninit<Record<M>>>);

impl<M> RecordPlace<M> {
    /// Allocates host memory for a record.
    ///
    /// # Errors
    ///
    /// The bytes that the host could not allocate.
    pub(super) fn new() -> Result<Self, usize> {
        let place = try_box(MaybeUninit::uninit()).ok_or(size_of::<Record<M>>())?;
        // SAFETY: made by `try_box`, and used through the box alone.
        Ok(Self(unsafe { into_box(place) }))
    }

    /// Makes the record of a block that counts as `bytes` bytes.
    pub(super) fn fill(mut self, bytes: usize, memory: M) -> Box<Record<M>> {
        let class = class_within(bytes);
        self.0.write(Record { next: None, bytes, class, live: 0, memory });
        let record = Box::into_raw(self.0).cast::<Record<M>>();
        // SAFETY: the pointer is a box's, of the same layout, and the record was just written.
        unsafe { Box::from_raw(record) }
    }
}
