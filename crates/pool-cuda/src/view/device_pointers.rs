//! Views in cudarc's hands: its traits for device memory and for kernel arguments, and the argument for
//! a launch on another stream than the pool's.

use std::marker::PhantomData;
use std::sync::Arc;

use cudarc::driver::sys::CUdeviceptr;
use cudarc::driver::{
    CudaStream, DevicePtr, DevicePtrMut, DeviceSlice, LaunchArgs, PushKernelArg, SyncOnDrop,
};
use pool_core::PodElement;

use crate::driver::calls::Address;
use crate::driver::error::CudaError;
use crate::view::device_view::{DeviceView, DeviceViewMut};
use crate::view::shape::DeviceShape;

/// The guards that cudarc wants beside a pointer have nothing to do here: a destructor may not run.
const NOTHING_TO_DO: SyncOnDrop<'static> = SyncOnDrop::Sync(None);

/// cudarc's `memcpy_dtod` to another device does not tell that device's stream. A pool notices how it
/// asks, and where such a copy may be pending waits, on the host, for all other devices (for their
/// primary contexts) before the memory is used again. [`DeviceViewMut::copy_from`] orders such copies on
/// the devices.
impl<T> DeviceSlice<T> for DeviceView<'_, T> {
    fn len(&self) -> usize {
        self.len()
    }

    fn stream(&self) -> &Arc<CudaStream> {
        self.region().asked_for_stream();
        self.pool_stream()
    }
}

/// As for [`DeviceView`].
impl<T> DeviceSlice<T> for DeviceViewMut<'_, T> {
    fn len(&self) -> usize {
        self.len()
    }

    fn stream(&self) -> &Arc<CudaStream> {
        self.region().asked_for_stream();
        self.pool_stream()
    }
}

/// The address, for work on `stream` that comes after what the pool's stream holds; before the memory
/// is used again, the pool's stream waits for `stream`. On the pool's own stream, nothing is called.
///
/// Where streams cannot be ordered the address is 0, and
/// [`DeviceStream::take_unanswered`](crate::DeviceStream::take_unanswered) has the reason. The driver refuses
/// copies and fills at this address, so cudarc's fail with an error. A library that launches kernels with it
/// (cuBLAS, for one) is not refused: the kernel faults where it touches the memory, and the context is lost. For
/// those, [`on`](DeviceView::on) and [`record_use`](crate::record_use) answer with the error themselves.
///
/// Only for [`PodElement`]s, as [`DeviceView::to_vec`]: what cudarc reads through it need not have been
/// written, in a capture for one thing, where writing is put off to the graph. Other elements can be
/// read [as bytes](DeviceView::as_bytes).
///
/// ```compile_fail,E0277
/// use pool_cuda::DeviceView;
///
/// fn read(view: &DeviceView<'_, bool>) {
///     let stream = view.pool_stream();
///     let _ = stream.clone_dtoh(view); // bools_are_not_read_by_cudarc
/// }
/// ```
impl<T: PodElement> DevicePtr<T> for DeviceView<'_, T> {
    fn device_ptr<'a>(&'a self, stream: &'a CudaStream) -> (CUdeviceptr, SyncOnDrop<'a>) {
        (self.region().address_for(stream), NOTHING_TO_DO)
    }
}

/// As for [`DeviceView`].
impl<T: PodElement> DevicePtr<T> for DeviceViewMut<'_, T> {
    fn device_ptr<'a>(&'a self, stream: &'a CudaStream) -> (CUdeviceptr, SyncOnDrop<'a>) {
        (self.region().address_for(stream), NOTHING_TO_DO)
    }
}

/// As for [`DevicePtr`].
impl<T> DevicePtrMut<T> for DeviceViewMut<'_, T> {
    fn device_ptr_mut<'a>(&'a mut self, stream: &'a CudaStream) -> (CUdeviceptr, SyncOnDrop<'a>) {
        (self.region().address_for(stream), NOTHING_TO_DO)
    }
}

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
    /// An argument that a kernel on `stream` reads: the stream waits for the pool's, and the pool's
    /// waits for the stream before the memory is used again.
    ///
    /// A stream of another library (`wrap_borrowed_stream`) must be launched on through this `Arc`: a pool
    /// that has the last one takes the stream to have ended. The host waits where `stream` is the per-thread
    /// default stream, which is another one wherever the argument may be sent.
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
