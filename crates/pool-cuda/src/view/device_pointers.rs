//! Implements cudarc's memory traits for views, so that cudarc's functions accept them on any
//! stream of the device.

use std::sync::Arc;

use cudarc::driver::sys::CUdeviceptr;
use cudarc::driver::{CudaStream, DevicePtr, DevicePtrMut, DeviceSlice, SyncOnDrop};
use pool_core::PodElement;

use crate::view::device_view::{DeviceView, DeviceViewMut};
use crate::view::region::ViewAccess;

/// cudarc's `memcpy_dtod` to another device does not pass that device's stream. A pool recognises
/// such a copy by the order of cudarc's queries. If a copy may be pending, the host waits for all
/// other devices (for their primary contexts) before the memory is used again. While a session of
/// `pool-graph` captures, that use fails with
/// [`CudaError::UnknownUse`](crate::CudaError::UnknownUse).
/// [`copy_from`](pool_core::PoolViewMut::copy_from) orders such copies on the devices, and never
/// waits on the host.
impl<T> DeviceSlice<T> for DeviceView<'_, T> {
    fn len(&self) -> usize {
        self.len()
    }

    fn stream(&self) -> &Arc<CudaStream> {
        self.region().asked_for_stream();
        self.pool_stream()
    }
}

/// The same as for [`DeviceView`].
impl<T> DeviceSlice<T> for DeviceViewMut<'_, T> {
    fn len(&self) -> usize {
        self.len()
    }

    fn stream(&self) -> &Arc<CudaStream> {
        self.region().asked_for_stream();
        self.pool_stream()
    }
}

/// Returns the address for work on `stream`, which is ordered after the work of the pool's stream.
/// Before the memory is used again, the pool's stream waits for `stream`. If `stream` is the pool's
/// own stream, no driver call is made.
///
/// Drop the guard after the work has been enqueued, as cudarc's own functions do. On an
/// [announced](crate::announce) stream the guard does nothing. On any other stream it records the
/// event that the pool's stream waits for. If that guard is forgotten, or if cudarc's event
/// tracking is disabled, the host waits for all work of the context instead. While a session of
/// `pool-graph` captures, the next use then fails with
/// [`CudaError::UnknownUse`](crate::CudaError::UnknownUse).
///
/// If the streams cannot be ordered, the address is 0, and
/// [`DeviceStream::take_unanswered`](crate::DeviceStream::take_unanswered) returns the reason. The
/// driver refuses copies and fills at this address, so cudarc's methods fail with an error.
/// Libraries that launch kernels with the address, such as cuBLAS, receive no error: the kernel
/// faults when it accesses the memory, and the context becomes unusable. For such libraries, use
/// [`on`](DeviceView::on) or [`record_use`](crate::record_use), which return the error directly.
///
/// The elements must be [`PodElement`]s, as for
/// [`PoolView::copy_to_vec`](pool_core::PoolView::copy_to_vec), because cudarc may read
/// uninitialised bytes through the pointer. In a capture, for example, writes happen only when the
/// graph runs. Other elements can be read [as bytes](DeviceView::as_bytes).
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
        self.region().pointer_for(stream, ViewAccess::Shared)
    }
}

/// The same as for [`DeviceView`].
impl<T: PodElement> DevicePtr<T> for DeviceViewMut<'_, T> {
    fn device_ptr<'a>(&'a self, stream: &'a CudaStream) -> (CUdeviceptr, SyncOnDrop<'a>) {
        self.region().pointer_for(stream, ViewAccess::Shared)
    }
}

/// The same as for [`DevicePtr`].
impl<T> DevicePtrMut<T> for DeviceViewMut<'_, T> {
    fn device_ptr_mut<'a>(&'a mut self, stream: &'a CudaStream) -> (CUdeviceptr, SyncOnDrop<'a>) {
        self.region().pointer_for(stream, ViewAccess::Exclusive)
    }
}
