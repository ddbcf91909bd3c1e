//! Tensors in the memory of a CUDA device, in both directions.
//!
//! DLPack has no place for a stream. Both sides agree on one: an export orders its consumer's stream after the array's, and
//! an import names the stream on which the elements are ready.

use std::fmt;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ptr;
use std::sync::Arc;

use dlpark::ffi::DLDevice;
use dlpark::{AllocationDeleter, DlpackFlags, Managed, ManagedTensorBase};
use pool_core::{Owned, PodElement};
use pool_cuda::cudarc::driver::sys::CUdeviceptr;
use pool_cuda::cudarc::driver::{CudaStream, DevicePtr, DevicePtrMut, DeviceSlice, SyncOnDrop};
use pool_cuda::{Cuda, record_use};

use crate::element::TensorElement;
use crate::error::{Refused, TensorError};
use crate::export::Description;
use crate::layout::CheckedLayout;

/// Makes a managed tensor of an array of device memory, in row-major order and without a copy.
///
/// The consumer uses it on `stream`, which comes after the work that the array's stream holds. The consumer may drop
/// the tensor while its work is still under way: before the memory is reused or freed, the pool's stream waits for all
/// work that `stream` holds by then. A stream of another library must be used through this `Arc`, as [`record_use`]
/// requires.
///
/// # Errors
///
/// [`TensorError::Shape`], same as for [`export`](crate::export()), and [`TensorError::Order`] if the streams cannot be
/// ordered. The error contains the array.
pub fn export_device<M, T>(
    array: Owned<Cuda, T>,
    shape: &[usize],
    stream: &Arc<CudaStream>,
) -> Result<Managed<M>, Refused<Owned<Cuda, T>>>
where
    M: ManagedTensorBase,
    T: TensorElement + Send,
{
    let described = match Description::<M>::new(shape, array.len()) {
        Ok(described) => described,
        Err(error) => return Err(Refused { array, error }),
    };
    let view = array.view();
    let (ordinal, address) = (view.ordinal(), view.address());
    if let Err(source) = record_use(&view, stream) {
        return Err(Refused { array, error: TensorError::Order(source) });
    }
    let device = DLDevice::cuda(i32::try_from(ordinal).unwrap_or(i32::MAX));
    // Device addresses are as wide as the host's (CUDA has unified addresses on 64 bits alone).
    let data = ptr::without_provenance_mut(usize::try_from(address).unwrap_or(0));
    // SAFETY: the context is the array, which is at `data` and has the elements of the shape. It is exclusive, so it
    // may be written; its pool orders the work of the consumer's stream.
    Ok(unsafe { described.finish::<T>(Box::new(array), data, device, DlpackFlags::empty()) })
}

/// A foreign tensor in the memory of a CUDA device, which cudarc accepts as a slice.
///
/// It is ready on one stream. Work on another stream comes after that one, and the host waits for it. When the tensor
/// is dropped, the host waits for its stream, and the memory returns to the producer. If waiting fails, the memory is
/// leaked instead.
pub struct DeviceTensor<T> {
    address: u64,
    length: usize,
    shape: Box<[usize]>,
    is_read_only: bool,
    stream: Arc<CudaStream>,
    owner: ManuallyDrop<AllocationDeleter>,
    elements: PhantomData<T>,
}

impl<T: TensorElement + PodElement> DeviceTensor<T> {
    /// Checks a tensor and takes it over. Drops a tensor that it refuses.
    ///
    /// # Errors
    ///
    /// Same as [`HostTensor::import`](crate::HostTensor::import); [`TensorError::Device`] for a tensor of the host, and
    /// of another device than the stream's.
    ///
    /// # Safety
    ///
    /// The tensor's memory has the elements that it describes until the deleter is called. They are ready on `stream`.
    /// Until this value is dropped, nothing writes to them but through [`as_mut`](Self::as_mut).
    pub unsafe fn import<M: ManagedTensorBase>(
        tensor: Managed<M>,
        stream: &Arc<CudaStream>,
    ) -> Result<Self, TensorError> {
        let ordinal = i32::try_from(stream.context().ordinal()).unwrap_or(i32::MAX);
        let layout = CheckedLayout::of::<T, M>(&tensor, DLDevice::cuda(ordinal))?;
        Ok(Self {
            address: layout.data.addr().wrapping_add(layout.byte_offset) as u64,
            length: layout.elements,
            shape: layout.shape,
            is_read_only: tensor.flags().contains(DlpackFlags::READ_ONLY),
            stream: Arc::clone(stream),
            owner: ManuallyDrop::new(tensor.into_deleter()),
            elements: PhantomData,
        })
    }

    /// Lends the elements for writing.
    ///
    /// # Errors
    ///
    /// [`TensorError::ReadOnly`] if the producer forbids it.
    ///
    /// # Safety
    ///
    /// Nothing else reads or writes the elements until the work that is enqueued with the loan has ended.
    pub unsafe fn as_mut(&mut self) -> Result<DeviceTensorMut<'_, T>, TensorError> {
        if self.is_read_only { Err(TensorError::ReadOnly) } else { Ok(DeviceTensorMut(self)) }
    }
}

impl<T> DeviceTensor<T> {
    /// Returns the lengths of the axes. A scalar has none.
    #[must_use]
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Returns the address of the elements on the device; 0 if there are none.
    #[must_use]
    pub fn address(&self) -> u64 {
        self.address
    }

    /// Returns `true` if the producer forbids writes.
    #[must_use]
    pub fn is_read_only(&self) -> bool {
        self.is_read_only
    }

    /// Returns the address for work on `stream`; 0 if the streams cannot be ordered.
    fn pointer_for<'a>(&'a self, stream: &'a CudaStream) -> (CUdeviceptr, SyncOnDrop<'a>) {
        if stream.cu_stream() == self.stream.cu_stream() {
            return (self.address, SyncOnDrop::Record(None));
        }
        match stream.join(&self.stream) {
            Ok(()) => (self.address, SyncOnDrop::sync_stream(stream)),
            Err(error) => {
                stream.context().record_err(Err::<(), _>(error));
                (0, SyncOnDrop::Record(None))
            }
        }
    }
}

impl<T> Drop for DeviceTensor<T> {
    fn drop(&mut self) {
        if self.stream.synchronize().is_ok() {
            // SAFETY: dropped here alone, and the work that used the memory has ended.
            unsafe { ManuallyDrop::drop(&mut self.owner) };
        }
    }
}

impl<T> DeviceSlice<T> for DeviceTensor<T> {
    fn len(&self) -> usize {
        self.length
    }

    fn stream(&self) -> &Arc<CudaStream> {
        &self.stream
    }
}

/// The address, for work on `stream` that comes after the tensor's stream.
///
/// For the tensor's own stream it calls nothing. For another stream the host waits when the guard is dropped. If the
/// streams cannot be ordered, the address is 0, and cudarc's next call in the context returns the error.
impl<T: PodElement> DevicePtr<T> for DeviceTensor<T> {
    fn device_ptr<'a>(&'a self, stream: &'a CudaStream) -> (CUdeviceptr, SyncOnDrop<'a>) {
        self.pointer_for(stream)
    }
}

impl<T> fmt::Debug for DeviceTensor<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeviceTensor")
            .field("address", &format_args!("{:#x}", self.address))
            .field("shape", &self.shape)
            .field("is_read_only", &self.is_read_only)
            .finish_non_exhaustive()
    }
}

/// A loan of a [`DeviceTensor`] for writes by cudarc's functions.
#[derive(Debug)]
pub struct DeviceTensorMut<'a, T>(&'a mut DeviceTensor<T>);

impl<T> DeviceSlice<T> for DeviceTensorMut<'_, T> {
    fn len(&self) -> usize {
        self.0.length
    }

    fn stream(&self) -> &Arc<CudaStream> {
        &self.0.stream
    }
}

/// Same as for [`DeviceTensor`].
impl<T: PodElement> DevicePtr<T> for DeviceTensorMut<'_, T> {
    fn device_ptr<'a>(&'a self, stream: &'a CudaStream) -> (CUdeviceptr, SyncOnDrop<'a>) {
        self.0.pointer_for(stream)
    }
}

/// Same as for [`DeviceTensor`].
impl<T: PodElement> DevicePtrMut<T> for DeviceTensorMut<'_, T> {
    fn device_ptr_mut<'a>(&'a mut self, stream: &'a CudaStream) -> (CUdeviceptr, SyncOnDrop<'a>) {
        self.0.pointer_for(stream)
    }
}
