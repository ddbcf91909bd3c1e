//! Defines bindings, which are ranges of buffers that kernels read and write.

use crate::memory::Allocation;

/// The kind of access that a kernel has to a binding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Access {
    /// The kernel only reads the binding, which WGSL declares as `var<storage, read>`.
    Read,
    /// The kernel reads and writes the binding, which WGSL declares as `var<storage, read_write>`.
    ReadWrite,
}

/// A range of a buffer that a kernel can use. [`BufferView::binding`](crate::BufferView::binding)
/// and [`BufferViewMut::binding_mut`](crate::BufferViewMut::binding_mut) create a binding that
/// borrows the view.
#[derive(Clone, Copy, Debug)]
pub struct Binding<'a> {
    pub(crate) allocation: &'a Allocation,
    /// The range's offset within its buffer, in bytes. The offset is a multiple of the device's
    /// alignment.
    pub(crate) offset: u64,
    /// The range's length in bytes. The length is a multiple of 4 and at most the device's maximum
    /// binding size.
    pub(crate) bytes: u64,
    pub(crate) access: Access,
}

impl<'a> Binding<'a> {
    /// Returns the range as a resource for a bind group that you create yourself.
    ///
    /// Use this bind group only while the view exists. Use
    /// [`Stream::record`](crate::Stream::record) on the view's stream to record the commands that
    /// use the bind group. Before you submit your own commands, submit the stream's commands with
    /// [`Stream::submit`](crate::Stream::submit). The pool may reuse the block for another array
    /// once the view has been dropped. Your bind group would then read and write the other array.
    #[must_use]
    pub fn resource(&self) -> wgpu::BindingResource<'a> {
        wgpu::BindingResource::Buffer(wgpu::BufferBinding {
            buffer: &self.allocation.buffer,
            offset: self.offset,
            size: wgpu::BufferSize::new(self.bytes),
        })
    }

    /// Returns how the kernel accesses the binding.
    #[must_use]
    pub fn access(&self) -> Access {
        self.access
    }

    /// Returns the number of bound bytes, which is the view's size rounded up to a multiple of 4.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns a key that identifies the bound bytes by the buffer's identity, the offset, and the
    /// length.
    #[inline]
    pub(crate) fn range_key(&self) -> (u64, u64, u64) {
        (self.allocation.identity, self.offset, self.bytes)
    }
}
