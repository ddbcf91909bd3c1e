//! The start of a view (its block and byte), and the operations on bytes from there on.

use pool_core::{Element, SlotRef, bytemuck};

use crate::binding::{Access, Binding};
use crate::error::WgpuError;
use crate::memory::{Allocation, Wgpu, WgpuBlock};
use crate::stream::Stream;

/// The block and the byte at which a view begins.
#[derive(Clone, Copy)]
pub(crate) struct Part {
    block: WgpuBlock,
    slot: SlotRef<Wgpu>,
    /// The offset in the block, in bytes.
    pub(crate) offset: u64,
    /// `true` if no view has the bytes after the part in the block.
    pub(crate) is_last: bool,
}

impl Part {
    /// # Safety
    ///
    /// While a copy of the part is borrowed, `block` stays allocated. `slot` is that of a view in
    /// use, on the thread that owns the pool.
    #[inline(always)]
    pub(crate) unsafe fn new(block: WgpuBlock, slot: SlotRef<Wgpu>) -> Self {
        Self { block, slot, offset: 0, is_last: true }
    }

    /// Splits into the part up to a byte, and the rest, which may be empty.
    pub(crate) fn split(self, bytes: u64, is_rest_empty: bool) -> (Self, Self) {
        let before = Self { is_last: self.is_last && is_rest_empty, ..self };
        (before, Self { offset: self.offset + bytes, ..self })
    }

    pub(crate) fn allocation(&self) -> Option<&Allocation> {
        // SAFETY: the block stays allocated while the part is borrowed (`new`).
        unsafe { self.block.allocation() }
    }

    pub(crate) fn stream(&self) -> &Stream {
        // SAFETY: the view is in use while the part is borrowed, on the thread that owns the pool (`new`).
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
        // Up to a whole word if the bytes after the part are not in use.
        let end = if self.is_last { end.next_multiple_of(4) } else { end };
        self.stream().with(|recorder| recorder.fill(allocation, self.offset, end, element))
    }
}

/// Returns the bytes of elements.
pub(crate) fn bytes_of<T: Element>(elements: &[T]) -> &[u8] {
    if size_of::<T>() == 0 { &[] } else { bytemuck::cast_slice(elements) }
}
