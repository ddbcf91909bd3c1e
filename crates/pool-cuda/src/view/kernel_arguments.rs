//! Views as kernel arguments: passed directly on the pool's own stream, and by [`OnStream`] on
//! another stream.

use std::marker::PhantomData;
use std::sync::Arc;

use cudarc::driver::{CudaStream, LaunchArgs, PushKernelArg};
use pool_driver::calls::Address;
use pool_driver::error::CudaError;

use crate::view::device_view::{DeviceView, DeviceViewMut};
use crate::view::shape::DeviceShape;

/// A view as a kernel argument on a stream that is not the pool's. [`DeviceView::on`] and
/// [`DeviceViewMut::on`] create it and order that stream with the pool's.
#[derive(Debug)]
pub struct OnStream<'a> {
    address: Address,
    view: PhantomData<&'a ()>,
}

impl OnStream<'_> {
    /// Returns the address of the elements on the device.
    #[must_use]
    pub fn address(&self) -> u64 {
        self.address
    }
}

impl<T> DeviceView<'_, T> {
    /// Returns an argument that a kernel on `stream` reads. `stream` waits for the pool's stream,
    /// and the pool's stream waits for `stream` before the memory is used again.
    ///
    /// A stream of another library (`wrap_borrowed_stream`) must be used through this `Arc`: a pool
    /// with the last reference treats the stream as ended. The host waits if `stream` is the
    /// per-thread default stream, which differs on another thread, and the argument may be sent
    /// there.
    ///
    /// # Errors
    ///
    /// Same as [`record_use`](crate::record_use).
    pub fn on(&self, stream: &Arc<CudaStream>) -> Result<OnStream<'_>, CudaError> {
        self.region().lend(stream)?;
        Ok(OnStream { address: self.address(), view: PhantomData })
    }
}

impl<T> DeviceViewMut<'_, T> {
    /// Returns an argument that a kernel on `stream` writes; see [`DeviceView::on`].
    ///
    /// # Errors
    ///
    /// Same as [`record_use`](crate::record_use).
    pub fn on(&mut self, stream: &Arc<CudaStream>) -> Result<OnStream<'_>, CudaError> {
        self.region().lend(stream)?;
        Ok(OnStream { address: self.address(), view: PhantomData })
    }
}

// SAFETY: the pushed argument is the view's address, which is in the view that is borrowed for as
// long as the builder. The contract of the unsafe `launch` requires that the launch is on the
// pool's own stream.
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

// SAFETY: the pushed argument is an address, in a value that is borrowed for as long as the
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
