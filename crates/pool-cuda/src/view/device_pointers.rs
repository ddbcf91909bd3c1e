//! Views as cudarc's own kinds of device memory, which its functions accept on any stream of the
//! device.

use std::sync::Arc;

use cudarc::driver::sys::CUdeviceptr;
use cudarc::driver::{CudaStream, DevicePtr, DevicePtrMut, DeviceSlice, SyncOnDrop};
use pool_core::PodElement;

use crate::view::device_view::{DeviceView, DeviceViewMut};
use crate::view::region::ViewAccess;

/// cudarc's `memcpy_dtod` to another device does not pass the stream of that device. A pool
/// recognises the order of its queries. If such a copy may be pending, the host waits for all other
/// devices (for their primary contexts) before the memory is used again. While a session of
/// `pool-graph` captures, that use fails with
/// [`CudaError::UnknownUse`](crate::CudaError::UnknownUse).
/// [`copy_from`](pool_core::PoolViewMut::copy_from) orders such copies on the devices, and waits
/// for nothing.
impl<T> DeviceSlice<T> for DeviceView<'_, T> {
    fn len(&self) -> usize {
        self.len()
    }

    fn stream(&self) -> &Arc<CudaStream> {
        self.region().asked_for_stream();
        self.pool_stream()
    }
}

/// Same as for [`DeviceView`].
impl<T> DeviceSlice<T> for DeviceViewMut<'_, T> {
    fn len(&self) -> usize {
        self.len()
    }

    fn stream(&self) -> &Arc<CudaStream> {
        self.region().asked_for_stream();
        self.pool_stream()
    }
}

/// Returns the address for work on `stream`, ordered after the work of the pool's stream. Before
/// the memory is used again, the pool's stream waits for `stream`. For the pool's own stream, there
/// is no call of the driver.
///
/// Drop the guard after the work is enqueued, as cudarc's own functions do. On an
/// [announced](crate::announce) stream it does nothing. On any other stream it records the event
/// that the pool's stream waits for. If that guard is forgotten, or cudarc's event tracking is off,
/// the host waits for all work of the context instead. While a session of `pool-graph` captures,
/// the next use then fails with [`CudaError::UnknownUse`](crate::CudaError::UnknownUse).
///
/// If streams cannot be ordered, the address is 0, and
/// [`DeviceStream::take_unanswered`](crate::DeviceStream::take_unanswered) returns the reason. The
/// driver refuses copies and fills at this address, so cudarc's fail with an error. It does not
/// refuse a library that launches kernels with it (such as cuBLAS). The kernel faults when it
/// accesses the memory, and the context breaks. For those, [`on`](DeviceView::on) and
/// [`record_use`](crate::record_use) return the error themselves.
///
/// It needs [`PodElement`]s, like [`PoolView::copy_to_vec`](pool_core::PoolView::copy_to_vec). The
/// bytes that cudarc reads through it may be uninitialised: in a capture, for example, writes
/// happen when the graph runs. Other elements can be read [as bytes](DeviceView::as_bytes).
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

/// Same as for [`DeviceView`].
impl<T: PodElement> DevicePtr<T> for DeviceViewMut<'_, T> {
    fn device_ptr<'a>(&'a self, stream: &'a CudaStream) -> (CUdeviceptr, SyncOnDrop<'a>) {
        self.region().pointer_for(stream, ViewAccess::Shared)
    }
}

/// Same as for [`DevicePtr`].
impl<T> DevicePtrMut<T> for DeviceViewMut<'_, T> {
    fn device_ptr_mut<'a>(&'a mut self, stream: &'a CudaStream) -> (CUdeviceptr, SyncOnDrop<'a>) {
        self.region().pointer_for(stream, ViewAccess::Exclusive)
    }
}
