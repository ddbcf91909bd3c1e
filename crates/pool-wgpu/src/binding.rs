//! Bindings: parts of buffers that kernels read and write.

use crate::memory::Allocation;

/// The access of a kernel to a binding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Access {
    /// `var<storage, read>` in WGSL.
    Read,
    /// `var<storage, read_write>` in WGSL.
    ReadWrite,
}

/// A part of a buffer for a kernel. [`BufferView::binding`](crate::BufferView::binding) and
/// [`BufferViewMut::binding_mut`](crate::BufferViewMut::binding_mut) make it, for as long as the
/// view is borrowed.
#[derive(Clone, Copy, Debug)]
pub struct Binding<'a> {
    pub(crate) allocation: &'a Allocation,
    /// The start of the part in its buffer, in bytes: a multiple of the device's alignment.
    pub(crate) offset: u64,
    /// A multiple of 4, and at most the device's limit of a binding.
    pub(crate) bytes: u64,
    pub(crate) access: Access,
}

impl<'a> Binding<'a> {
    /// Returns the same part for a bind group of your own.
    ///
    /// Record the work with the bind group on the view's stream
    /// ([`Stream::record`](crate::Stream::record)), or submit the stream before you submit that
    /// work ([`Stream::submit`](crate::Stream::submit)). Do so while the view lives. Afterwards
    /// another acquire may own the block, and the bind group would read and write its bytes.
    #[must_use]
    pub fn resource(&self) -> wgpu::BindingResource<'a> {
        wgpu::BindingResource::Buffer(wgpu::BufferBinding {
            buffer: &self.allocation.buffer,
            offset: self.offset,
            size: wgpu::BufferSize::new(self.bytes),
        })
    }

    /// Returns the access that the binding was made for.
    #[must_use]
    pub fn access(&self) -> Access {
        self.access
    }

    /// Returns the number of bytes that are bound: those of the view, rounded up to a multiple of
    /// 4.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the key of the bound bytes, unique among bindings.
    #[inline]
    pub(crate) fn place(&self) -> (u64, u64, u64) {
        (self.allocation.identity, self.offset, self.bytes)
    }
}
