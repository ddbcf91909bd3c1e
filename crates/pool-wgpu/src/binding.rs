//! Bindings: ranges of buffers that kernels read and write.

use crate::memory::Allocation;

/// The kind of access: a kernel reads a binding, or reads and writes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Access {
    /// The kernel reads: `var<storage, read>` in WGSL.
    Read,
    /// The kernel reads and writes: `var<storage, read_write>` in WGSL.
    ReadWrite,
}

/// A range of a buffer that a kernel can use. [`BufferView::binding`](crate::BufferView::binding)
/// and [`BufferViewMut::binding_mut`](crate::BufferViewMut::binding_mut) create a binding, which
/// borrows the view.
#[derive(Clone, Copy, Debug)]
pub struct Binding<'a> {
    pub(crate) allocation: &'a Allocation,
    /// The offset of the range in its buffer, in bytes: a multiple of the device's alignment.
    pub(crate) offset: u64,
    /// The length in bytes: a multiple of 4, and at most the device's limit for a binding.
    pub(crate) bytes: u64,
    pub(crate) access: Access,
}

impl<'a> Binding<'a> {
    /// Returns the same range, for use in a bind group that you create yourself.
    ///
    /// Use the bind group only while the view lives. Record its work on the view's stream
    /// ([`Stream::record`](crate::Stream::record)), or submit the stream before you submit that
    /// work ([`Stream::submit`](crate::Stream::submit)). Once the view is gone, another acquire may
    /// own the block, and the bind group would read and write that acquire's bytes.
    #[must_use]
    pub fn resource(&self) -> wgpu::BindingResource<'a> {
        wgpu::BindingResource::Buffer(wgpu::BufferBinding {
            buffer: &self.allocation.buffer,
            offset: self.offset,
            size: wgpu::BufferSize::new(self.bytes),
        })
    }

    /// Returns how the kernel may access the binding.
    #[must_use]
    pub fn access(&self) -> Access {
        self.access
    }

    /// Returns the number of bound bytes: the size of the view, rounded up to a multiple of 4.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns a key that identifies the bound bytes.
    #[inline]
    pub(crate) fn place(&self) -> (u64, u64, u64) {
        (self.allocation.identity, self.offset, self.bytes)
    }
}
