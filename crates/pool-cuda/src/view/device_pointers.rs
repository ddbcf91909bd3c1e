//! Implements cudarc's memory traits for views so that cudarc's functions accept views on any
//! stream of the device.

use std::sync::Arc;

use cudarc::driver::sys::CUdeviceptr;
use cudarc::driver::{CudaStream, DevicePtr, DevicePtrMut, DeviceSlice, SyncOnDrop};
use pool_core::PodElement;

use crate::view::device_view::{DeviceView, DeviceViewMut};
use crate::view::region::ViewAccess;

/// Provides the view's length and the pool's stream to cudarc.
///
/// When cudarc's `memcpy_dtod` copies to another device, it does not pass that device's stream to
/// the pool. The pool recognizes a copy to another device from the order of cudarc's stream queries
/// and pointer requests. If a copy to another device may be pending, the host waits for all work in
/// the primary contexts of all other devices before the pool reuses the memory. While a
/// `pool-graph` session is capturing, the host cannot wait, so the next use of the memory fails
/// with [`CudaError::UnknownUse`](crate::CudaError::UnknownUse). Prefer
/// [`copy_from`](pool_core::PoolViewMut::copy_from), which orders copies between devices without
/// blocking the host.
impl<T> DeviceSlice<T> for DeviceView<'_, T> {
    fn len(&self) -> usize {
        self.len()
    }

    fn stream(&self) -> &Arc<CudaStream> {
        self.region().asked_for_stream();
        self.pool_stream()
    }
}

/// Provides the view's length and the pool's stream to cudarc, just like [`DeviceView`].
impl<T> DeviceSlice<T> for DeviceViewMut<'_, T> {
    fn len(&self) -> usize {
        self.len()
    }

    fn stream(&self) -> &Arc<CudaStream> {
        self.region().asked_for_stream();
        self.pool_stream()
    }
}

/// Returns an address for work on `stream`. Work that uses the address runs after all earlier work
/// on the pool's stream. Before the memory is used again, the pool's stream waits for `stream`. If
/// `stream` is the pool's own stream, the pool does not call the driver.
///
/// Drop the returned guard after enqueuing the work, as cudarc's own functions do. If the stream is
/// [registered](crate::register_stream), the guard does nothing. If the stream is not registered,
/// dropping the guard records an event, and the pool's stream waits for this event. If the guard is
/// forgotten, or if cudarc's event tracking is disabled, the host waits for all work in the
/// stream's context. While a `pool-graph` session is capturing, the pool cannot wait, so the next
/// use of the memory fails with [`CudaError::UnknownUse`](crate::CudaError::UnknownUse).
///
/// If the streams cannot be ordered, the returned address is 0, and
/// [`DeviceStream::take_pending_error`](crate::DeviceStream::take_pending_error) returns the error.
/// The driver rejects copies and fills at address 0, so cudarc's copy and fill methods return an
/// error. Libraries that pass the address to kernels, such as cuBLAS, do not receive an error. A
/// kernel that accesses address 0 faults and makes the CUDA context unusable. If your library
/// passes the address to kernels, use [`on`](DeviceView::on) or [`record_use`](crate::record_use),
/// which return the error directly.
///
/// The elements must implement [`PodElement`] because cudarc may read uninitialized bytes through
/// the pointer. For example, memory acquired during a capture stays uninitialized until the graph
/// runs. Elements of other types can be read [as bytes](DeviceView::as_bytes).
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

/// Returns an address for reading. See [`DeviceView`] for the guarantees.
impl<T: PodElement> DevicePtr<T> for DeviceViewMut<'_, T> {
    fn device_ptr<'a>(&'a self, stream: &'a CudaStream) -> (CUdeviceptr, SyncOnDrop<'a>) {
        self.region().pointer_for(stream, ViewAccess::Shared)
    }
}

/// Returns an address for writing. See [`DevicePtr`] for the guarantees.
impl<T> DevicePtrMut<T> for DeviceViewMut<'_, T> {
    fn device_ptr_mut<'a>(&'a mut self, stream: &'a CudaStream) -> (CUdeviceptr, SyncOnDrop<'a>) {
        self.region().pointer_for(stream, ViewAccess::Exclusive)
    }
}
