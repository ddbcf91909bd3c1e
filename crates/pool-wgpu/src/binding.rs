//! Bindings: parts of buffers that kernels read and write.

use crate::memory::Allocation;

/// What a kernel does with a binding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Access {
    /// `var<storage, read>` in WGSL.
    Read,
    /// `var<storage, read_write>` in WGSL.
    ReadWrite,
}

/// A part of a buffer that a kernel is given: made by [`BufferView::binding`](crate::BufferView::binding) and
/// [`BufferViewMut::binding_mut`](crate::BufferViewMut::binding_mut), for as long as the view is borrowed.
#[derive(Clone, Copy, Debug)]
pub struct Binding<'a> {
    pub(crate) allocation: &'a Allocation,
    /// The start of the part in its buffer, in bytes: a multiple of the device's alignment.
    pub(crate) offset: u64,
    /// A multiple of 4, and at most what the device binds.
    pub(crate) bytes: u64,
    pub(crate) access: Access,
}

impl<'a> Binding<'a> {
    /// The same part for a bind group of your own.
    ///
    /// Record what uses the bind group on the view's stream ([`Stream::record`](crate::Stream::record)), or submit
    /// the stream before you submit it ([`Stream::submit`](crate::Stream::submit)), and while the view lives: the
    /// block is another acquire's afterwards, whose bytes the bind group would read and write.
    #[must_use]
    pub fn resource(&self) -> wgpu::BindingResource<'a> {
        wgpu::BindingResource::Buffer(wgpu::BufferBinding {
            buffer: &self.allocation.buffer,
            offset: self.offset,
            size: wgpu::BufferSize::new(self.bytes),
        })
    }

    /// What the binding is made for.
    #[must_use]
    pub fn access(&self) -> Access {
        self.access
    }

    /// Returns how many bytes are bound: those of the view, up to a multiple of 4.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// What tells the bound bytes from those of every other binding.
    #[inline]
    pub(crate) fn place(&self) -> (u64, u64, u64) {
        (self.allocation.identity, self.offset, self.bytes)
    }
}
