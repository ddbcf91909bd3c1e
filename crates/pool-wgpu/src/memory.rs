//! Blocks: records that describe buffers, and the numbers that identify their bytes.

use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

/// The backend for wgpu buffers. `Pool::<Wgpu>::new(stream)` creates a pool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wgpu;

/// The alignment of identities and the granularity of block sizes. Every device can bind at
/// multiples of this value.
pub(crate) const ALIGN: usize = 256;

/// The record of a block: its buffer, and the stream that the buffer belongs to.
#[derive(Debug)]
pub(crate) struct Allocation {
    pub(crate) buffer: wgpu::Buffer,
    /// The number of the block's first byte. The bytes of all buffers ever created share one
    /// numbering.
    pub(crate) identity: u64,
    pub(crate) bytes: u64,
    /// The number of the stream that orders work on the buffer.
    pub(crate) stream: u64,
    /// The number of rejected batches at the time when the buffer was last found to be usable.
    checked: AtomicU64,
}

impl Allocation {
    /// Returns the identity of a new buffer of `bytes` bytes.
    pub(crate) fn new_identity(bytes: u64) -> u64 {
        static NEXT: AtomicU64 = AtomicU64::new(1 << 12);
        // No device has more memory than this, so a larger buffer is never created.
        let room = bytes.min(1 << 48).next_multiple_of(ALIGN as u64) + ALIGN as u64;
        NEXT.fetch_add(room, Ordering::Relaxed)
    }

    pub(crate) fn new(buffer: wgpu::Buffer, identity: u64, stream: u64) -> Self {
        let bytes = buffer.size();
        Self { buffer, identity, bytes, stream, checked: AtomicU64::new(0) }
    }

    /// Returns `true` if the buffer was checked after the batch with the number `refusals` was
    /// rejected.
    #[inline]
    pub(crate) fn is_checked(&self, refusals: u64) -> bool {
        self.checked.load(Ordering::Relaxed) == refusals
    }

    /// Records that the buffer is usable after `refusals` rejected batches.
    pub(crate) fn note_checked(&self, refusals: u64) {
        self.checked.store(refusals, Ordering::Relaxed);
    }
}

/// A block of a pool. It refers to a buffer without owning it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WgpuBlock(Option<NonNull<Allocation>>);

impl WgpuBlock {
    /// The block of an empty slot.
    pub(crate) const NOTHING: Self = Self(None);

    /// Creates a block from a record. The block is valid until [`take`](Self::take).
    pub(crate) fn of(allocation: Box<Allocation>) -> Self {
        Self(Some(NonNull::from(Box::leak(allocation))))
    }

    /// Takes the record out of the block.
    ///
    /// # Safety
    ///
    /// The record must not have been taken before, and nothing may use the block any more.
    pub(crate) unsafe fn take(self) -> Option<Box<Allocation>> {
        // SAFETY: `of` leaked the record from a box, and the caller gives it up.
        self.0.map(|allocation| unsafe { Box::from_raw(allocation.as_ptr()) })
    }

    /// Returns the record, or `None` for the block of an empty slot.
    ///
    /// # Safety
    ///
    /// The record must not be taken during `'a`.
    #[inline]
    pub(crate) unsafe fn allocation<'a>(self) -> Option<&'a Allocation> {
        // SAFETY: the record lives for `'a` (caller), and only shared references to it are created.
        self.0.map(|allocation| unsafe { allocation.as_ref() })
    }
}
