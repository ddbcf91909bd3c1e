//! Represents the part of a block that a view covers, and implements operations on its bytes.

use pool_core::{Element, SlotRef, bytemuck};

use crate::binding::{Access, Binding};
use crate::error::WgpuError;
use crate::memory::{Allocation, Wgpu, WgpuBlock};
use crate::stream::Stream;

/// A view's block, and the view's offset within it.
#[derive(Clone, Copy)]
pub(crate) struct BlockPart {
    block: WgpuBlock,
    slot: SlotRef<Wgpu>,
    /// The offset within the block, in bytes.
    pub(crate) offset: u64,
    /// `true` if no view covers the bytes after this part of the block.
    pub(crate) is_last: bool,
}

impl BlockPart {
    /// # Safety
    ///
    /// `block` must stay allocated while the part, or a copy of the part, is borrowed. `slot` must
    /// belong to a view that is in use on the thread that owns the pool.
    #[inline(always)]
    pub(crate) unsafe fn new(block: WgpuBlock, slot: SlotRef<Wgpu>) -> Self {
        Self { block, slot, offset: 0, is_last: true }
    }

    /// Splits the part into its first `bytes` bytes and the remaining bytes, which may be empty.
    pub(crate) fn split(self, bytes: u64, is_rest_empty: bool) -> (Self, Self) {
        let before = Self { is_last: self.is_last && is_rest_empty, ..self };
        (before, Self { offset: self.offset + bytes, ..self })
    }

    pub(crate) fn allocation(&self) -> Option<&Allocation> {
        // SAFETY: `new` requires the block to stay allocated while the part is borrowed.
        unsafe { self.block.allocation() }
    }

    pub(crate) fn stream(&self) -> &Stream {
        // SAFETY: `new` requires the view to be in use while the part is borrowed. `new` also
        // requires this code to run on the pool's own thread.
        unsafe { self.slot.context() }
    }

    pub(crate) fn bind(&self, bytes: u64, access: Access) -> Result<Binding<'_>, WgpuError> {
        let allocation = self.allocation().filter(|_| bytes > 0).ok_or(WgpuError::EmptyBinding)?;
        let limits = &self.stream().setup().limits;
        if !self.offset.is_multiple_of(limits.alignment) {
            return Err(WgpuError::Misaligned { offset: self.offset, alignment: limits.alignment });
        }
        let whole = bytes.next_multiple_of(4);
        if whole > limits.binding {
            return Err(WgpuError::BindingTooLarge { bytes, limit: limits.binding });
        }
        Ok(Binding { allocation, offset: self.offset, bytes: whole, access })
    }

    pub(crate) fn fill(&self, element: &[u8], bytes: u64) -> Result<(), WgpuError> {
        let Some(allocation) = self.allocation().filter(|_| bytes > 0) else { return Ok(()) };
        let end = self.offset + bytes;
        // If no view covers the bytes after the part, the fill may write to the end of the last
        // word.
        let end = if self.is_last { end.next_multiple_of(4) } else { end };
        self.stream().with(|recorder| recorder.fill(allocation, self.offset, end, element))
    }
}

/// Returns the elements as bytes.
pub(crate) fn bytes_of<T: Element>(elements: &[T]) -> &[u8] {
    if size_of::<T>() == 0 { &[] } else { bytemuck::cast_slice(elements) }
}
