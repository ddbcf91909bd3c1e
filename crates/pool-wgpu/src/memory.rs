//! Defines the records that describe the buffers of blocks, and assigns indices to the buffers'
//! bytes.

use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

/// The backend for pools whose memory consists of wgpu buffers. `Pool::<Wgpu>::new(stream)` creates
/// a pool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wgpu;

/// The alignment of identities and the unit of block sizes, in bytes. Every device can bind buffers
/// at multiples of this value.
pub(crate) const ALIGN: usize = 256;

/// A block's record, which contains the block's buffer and the ID of the buffer's stream.
#[derive(Debug)]
pub(crate) struct Allocation {
    pub(crate) buffer: wgpu::Buffer,
    /// The index of the block's first byte. No two buffers in a process share a byte index.
    pub(crate) identity: u64,
    pub(crate) bytes: u64,
    /// The ID of the stream that orders all work on the buffer.
    pub(crate) stream: u64,
    /// The number of batches that wgpu had rejected when the buffer was last checked.
    checked: AtomicU64,
}

impl Allocation {
    /// Reserves indices for a new buffer's bytes and returns the first index.
    pub(crate) fn new_identity(bytes: u64) -> u64 {
        static NEXT: AtomicU64 = AtomicU64::new(1 << 12);
        // At most 2⁴⁸ indices are reserved, because no device has memory for a larger buffer.
        let room = bytes.min(1 << 48).next_multiple_of(ALIGN as u64) + ALIGN as u64;
        NEXT.fetch_add(room, Ordering::Relaxed)
    }

    pub(crate) fn new(buffer: wgpu::Buffer, identity: u64, stream: u64) -> Self {
        let bytes = buffer.size();
        Self { buffer, identity, bytes, stream, checked: AtomicU64::new(0) }
    }

    /// Returns `true` if the buffer has been checked since wgpu last rejected a batch. `refusals`
    /// is the number of batches that wgpu has rejected so far.
    #[inline]
    pub(crate) fn is_checked(&self, refusals: u64) -> bool {
        self.checked.load(Ordering::Relaxed) == refusals
    }

    /// Records that the buffer was still usable after wgpu had rejected `refusals` batches.
    pub(crate) fn note_checked(&self, refusals: u64) {
        self.checked.store(refusals, Ordering::Relaxed);
    }
}

/// A pool's block, which refers to a buffer without owning it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WgpuBlock(Option<NonNull<Allocation>>);

impl WgpuBlock {
    /// An empty slot's block.
    pub(crate) const NOTHING: Self = Self(None);

    /// Creates a block that refers to a record. The block stays valid until [`take`](Self::take) is
    /// called.
    pub(crate) fn of(allocation: Box<Allocation>) -> Self {
        Self(Some(NonNull::from(Box::leak(allocation))))
    }

    /// Removes the record from the block and returns it.
    ///
    /// # Safety
    ///
    /// The record must not already have been removed, and the block must not be used after this
    /// call.
    pub(crate) unsafe fn take(self) -> Option<Box<Allocation>> {
        // SAFETY: the record was leaked from a box by `of`, and the caller guarantees that no other
        // code uses it.
        self.0.map(|allocation| unsafe { Box::from_raw(allocation.as_ptr()) })
    }

    /// Returns the block's record, or `None` if the block belongs to an empty slot.
    ///
    /// # Safety
    ///
    /// The record must not be removed during `'a`.
    #[inline]
    pub(crate) unsafe fn allocation<'a>(self) -> Option<&'a Allocation> {
        // SAFETY: the caller guarantees that the record exists during `'a`. Only shared references
        // to the record are created.
        self.0.map(|allocation| unsafe { allocation.as_ref() })
    }
}
