//! Views as kernel arguments. They are passed directly on the pool's own stream, and as an
//! [`OnStream`] on another stream.

use std::marker::PhantomData;
use std::sync::Arc;

use cudarc::driver::{CudaStream, LaunchArgs, PushKernelArg};
use pool_driver::calls::Address;
use pool_driver::error::CudaError;

use crate::view::device_view::{DeviceView, DeviceViewMut};
use crate::view::shape::DeviceShape;

/// A view as a kernel argument on a stream other than the pool's. [`DeviceView::on`] and
/// [`DeviceViewMut::on`] create it, and order that stream with the pool's stream.
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
    /// Returns an argument for a kernel on `stream` that reads the elements. `stream` waits for the
    /// pool's stream, and the pool's stream waits for `stream` before the memory is used again.
    ///
    /// A stream of another library (`wrap_borrowed_stream`) must be used through this `Arc`,
    /// because a pool that holds the last reference treats the stream as ended. If `stream` is the
    /// per-thread default stream, the host waits, because the argument may be sent to another
    /// thread, on which that stream is a different one.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`record_use`](crate::record_use).
    pub fn on(&self, stream: &Arc<CudaStream>) -> Result<OnStream<'_>, CudaError> {
        self.region().lend(stream)?;
        Ok(OnStream { address: self.address(), view: PhantomData })
    }
}

impl<T> DeviceViewMut<'_, T> {
    /// Returns an argument for a kernel on `stream` that writes the elements; see
    /// [`DeviceView::on`].
    ///
    /// # Errors
    ///
    /// Returns the errors of [`record_use`](crate::record_use).
    pub fn on(&mut self, stream: &Arc<CudaStream>) -> Result<OnStream<'_>, CudaError> {
        self.region().lend(stream)?;
        Ok(OnStream { address: self.address(), view: PhantomData })
    }
}

// SAFETY: the pushed argument is the view's address, which lies in the view, and the builder
// borrows the view for as long as it lives.
// The contract of the unsafe `launch` requires that the launch is on the pool's own stream.
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

// SAFETY: the pushed argument is an address in a value that the builder borrows for as long as it
// lives.
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
