//! Allows views to be passed to kernels as arguments. A view can be passed directly to a kernel on
//! the pool's own stream. A kernel on another stream receives an [`OnStream`] in place of the view.

use std::marker::PhantomData;
use std::sync::Arc;

use cudarc::driver::{CudaStream, LaunchArgs, PushKernelArg};
use pool_driver::calls::Address;
use pool_driver::error::CudaError;

use crate::view::device_view::{DeviceView, DeviceViewMut};
use crate::view::shape::DeviceShape;

/// A kernel argument that represents a view when the kernel runs on a stream other than the pool's.
/// [`DeviceView::on`] and [`DeviceViewMut::on`] create this argument and order the kernel's stream
/// relative to the pool's stream.
#[derive(Debug)]
pub struct OnStream<'a> {
    address: Address,
    view: PhantomData<&'a ()>,
}

impl OnStream<'_> {
    /// Returns the device address of the elements.
    #[must_use]
    pub fn address(&self) -> u64 {
        self.address
    }
}

impl<T> DeviceView<'_, T> {
    /// Returns an argument for a kernel on `stream` that reads the elements. This method makes
    /// `stream` wait for the pool's stream. The pool's stream waits for `stream` before the memory
    /// is used again.
    ///
    /// If another library created the stream (see `wrap_borrowed_stream`), enqueue work only
    /// through this `Arc` and its clones. If the pool holds the last reference to a stream, it
    /// assumes that no code will enqueue further work on the stream. If `stream` is the per-thread
    /// default stream, this method blocks the host, because the argument may be sent to a thread
    /// with a different default stream.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`record_use`](crate::record_use).
    pub fn on(&self, stream: &Arc<CudaStream>) -> Result<OnStream<'_>, CudaError> {
        self.region().lend(stream)?;
        Ok(OnStream { address: self.address(), view: PhantomData })
    }
}

impl<T> DeviceViewMut<'_, T> {
    /// Returns an argument for a kernel that runs on `stream` and writes the elements. Orders the
    /// two streams like [`DeviceView::on`].
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`record_use`](crate::record_use).
    pub fn on(&mut self, stream: &Arc<CudaStream>) -> Result<OnStream<'_>, CudaError> {
        self.region().lend(stream)?;
        Ok(OnStream { address: self.address(), view: PhantomData })
    }
}

// SAFETY: the pushed argument is the view's address. The address is stored in the view, which the
// builder borrows for its whole lifetime. The safety contract of `launch` requires the kernel to
// run on the pool's own stream.
unsafe impl<'a, 'b: 'a, T> PushKernelArg<&'b DeviceView<'_, T>> for LaunchArgs<'a> {
    #[inline(always)]
    fn arg(&mut self, view: &'b DeviceView<'_, T>) -> &mut Self {
        self.arg(view.region().own_address())
    }
}

// SAFETY: the pushed argument is the view's address. The builder borrows the view for its whole
// lifetime. The safety contract of `launch` requires the kernel to run on the pool's own stream.
unsafe impl<'a, 'b: 'a, T> PushKernelArg<&'b DeviceViewMut<'_, T>> for LaunchArgs<'a> {
    #[inline(always)]
    fn arg(&mut self, view: &'b DeviceViewMut<'_, T>) -> &mut Self {
        self.arg(view.region().own_address())
    }
}

// SAFETY: the pushed argument is the view's address. The builder borrows the view for its whole
// lifetime. The safety contract of `launch` requires the kernel to run on the pool's own stream.
unsafe impl<'a, 'b: 'a, T> PushKernelArg<&'b mut DeviceViewMut<'_, T>> for LaunchArgs<'a> {
    #[inline(always)]
    fn arg(&mut self, view: &'b mut DeviceViewMut<'_, T>) -> &mut Self {
        self.arg(view.region().own_address())
    }
}

// SAFETY: the pushed argument is an address in the `OnStream`, which the builder borrows for its
// whole lifetime.
unsafe impl<'a, 'b: 'a> PushKernelArg<&'b OnStream<'_>> for LaunchArgs<'a> {
    #[inline(always)]
    fn arg(&mut self, view: &'b OnStream<'_>) -> &mut Self {
        self.arg(&view.address)
    }
}

// SAFETY: the pushed argument is an address in the `DeviceShape`, which the builder borrows for its
// whole lifetime.
unsafe impl<'a, 'b: 'a> PushKernelArg<&'b DeviceShape<'_>> for LaunchArgs<'a> {
    #[inline(always)]
    fn arg(&mut self, shape: &'b DeviceShape<'_>) -> &mut Self {
        self.arg(&shape.address)
    }
}
