//! Views as kernel arguments: given as they are on the pool's own stream, and by [`OnStream`] on another stream.

use std::marker::PhantomData;
use std::sync::Arc;

use cudarc::driver::{CudaStream, LaunchArgs, PushKernelArg};
use pool_driver::calls::Address;
use pool_driver::error::CudaError;

use crate::view::device_view::{DeviceView, DeviceViewMut};
use crate::view::shape::DeviceShape;

/// A view as a kernel argument on a stream that is not the pool's: made by [`DeviceView::on`] and
/// [`DeviceViewMut::on`], which have ordered that stream with the pool's.
#[derive(Debug)]
pub struct OnStream<'a> {
    address: Address,
    view: PhantomData<&'a ()>,
}

impl OnStream<'_> {
    /// Where the elements are on the device.
    #[must_use]
    pub fn address(&self) -> u64 {
        self.address
    }
}

impl<T> DeviceView<'_, T> {
    /// An argument that a kernel on `stream` reads: `stream` waits for the pool's stream, and the pool's stream
    /// waits for `stream` before the memory is used again.
    ///
    /// A stream of another library (`wrap_borrowed_stream`) must be launched on through this `Arc`: a pool
    /// that has the last one takes the stream to have ended. The host waits where `stream` is the per-thread
    /// default stream, which is another stream on another thread, where the argument may be sent.
    ///
    /// # Errors
    ///
    /// As [`record_use`](crate::record_use).
    pub fn on(&self, stream: &Arc<CudaStream>) -> Result<OnStream<'_>, CudaError> {
        self.region().lend(stream)?;
        Ok(OnStream { address: self.address(), view: PhantomData })
    }
}

impl<T> DeviceViewMut<'_, T> {
    /// An argument that a kernel on `stream` writes; as [`DeviceView::on`].
    ///
    /// # Errors
    ///
    /// As [`record_use`](crate::record_use).
    pub fn on(&mut self, stream: &Arc<CudaStream>) -> Result<OnStream<'_>, CudaError> {
        self.region().lend(stream)?;
        Ok(OnStream { address: self.address(), view: PhantomData })
    }
}

// SAFETY: the argument that is pushed is the view's address, which lies in the view that is borrowed for
// as long as the builder. That the launch is on the pool's own stream is the caller's part of the contract
// of `launch`, which is unsafe.
unsafe impl<'a, 'b: 'a, T> PushKernelArg<&'b DeviceView<'_, T>> for LaunchArgs<'a> {
    #[inline(always)]
    fn arg(&mut self, view: &'b DeviceView<'_, T>) -> &mut Self {
        self.arg(view.region().own_address())
    }
}

// SAFETY: as above.
unsafe impl<'a, 'b: 'a, T> PushKernelArg<&'b DeviceViewMut<'_, T>> for LaunchArgs<'a> {
    #[inline(always)]
    fn arg(&mut self, view: &'b DeviceViewMut<'_, T>) -> &mut Self {
        self.arg(view.region().own_address())
    }
}

// SAFETY: as above.
unsafe impl<'a, 'b: 'a, T> PushKernelArg<&'b mut DeviceViewMut<'_, T>> for LaunchArgs<'a> {
    #[inline(always)]
    fn arg(&mut self, view: &'b mut DeviceViewMut<'_, T>) -> &mut Self {
        self.arg(view.region().own_address())
    }
}

// SAFETY: the argument that is pushed is an address, which lies in what is borrowed for as long as the
// builder.
unsafe impl<'a, 'b: 'a> PushKernelArg<&'b OnStream<'_>> for LaunchArgs<'a> {
    #[inline(always)]
    fn arg(&mut self, view: &'b OnStream<'_>) -> &mut Self {
        self.arg(&view.address)
    }
}

// SAFETY: as above.
unsafe impl<'a, 'b: 'a> PushKernelArg<&'b DeviceShape<'_>> for LaunchArgs<'a> {
    #[inline(always)]
    fn arg(&mut self, shape: &'b DeviceShape<'_>) -> &mut Self {
        self.arg(&shape.address)
    }
}
