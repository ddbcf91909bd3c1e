//! Exports arrays in CUDA device memory as DLPack tensors, and imports such tensors.
//!
//! DLPack has no field for a stream, so the producer and the consumer must agree on one. When an
//! array is exported, the consumer's stream waits for the array's stream. The caller of an import
//! specifies the stream on which the elements become ready.

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

/// Creates a row-major managed tensor from an array in device memory, without copying the elements.
///
/// The consumer uses the tensor on `stream`. `stream` waits for all work enqueued so far on the
/// array's stream. The consumer may drop the tensor while work that uses it is still running.
/// Before the memory is reused or freed, the pool's stream waits for all work that the consumer has
/// enqueued on `stream`. If another library created the stream, enqueue work only through this
/// `Arc` and its clones (see [`record_use`]).
///
/// # Errors
///
/// Returns [`TensorError::Shape`] if the axes and the array have different numbers of elements, or
/// [`TensorError::Order`] if the streams cannot be ordered. The error also contains the array.
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
    // Device addresses are as wide as host addresses, because CUDA supports unified addressing only
    // on 64-bit systems.
    let data = ptr::without_provenance_mut(usize::try_from(address).unwrap_or(0));
    // SAFETY: the context is the array, whose elements start at `data` and match the shape. The
    // array is exclusive, so the consumer may write to the elements. The array's pool waits for the
    // work on the consumer's stream.
    Ok(unsafe { described.finish::<T>(Box::new(array), data, device, DlpackFlags::empty()) })
}

/// A tensor that another library created in CUDA device memory. The cudarc library accepts the
/// tensor as a slice.
///
/// The elements become ready on the tensor's stream. Work on any other stream waits for the
/// tensor's stream before it uses the tensor. When a borrow for another stream ends, the host
/// blocks until that stream has completed its work. Dropping the tensor blocks the host until the
/// tensor's stream has completed its work. The memory is then returned to the producer. If the host
/// cannot wait for the tensor's stream, the memory is leaked.
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
    /// Checks a tensor and takes ownership of it. The tensor is dropped if a check fails.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`HostTensor::import`](crate::HostTensor::import). Returns
    /// [`TensorError::Device`] if the tensor is not on the stream's device.
    ///
    /// # Safety
    ///
    /// The tensor's memory must contain the described elements until the deleter is called. The
    /// elements must be ready before any later work on `stream` runs. The elements may be written
    /// only through [`as_mut`](Self::as_mut) until this value is dropped.
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

    /// Borrows the elements for device work that writes to them.
    ///
    /// # Errors
    ///
    /// Returns [`TensorError::ReadOnly`] if the producer does not allow writes.
    ///
    /// # Safety
    ///
    /// No other code may read or write the elements until all work that uses the returned value has
    /// completed.
    pub unsafe fn as_mut(&mut self) -> Result<DeviceTensorMut<'_, T>, TensorError> {
        if self.is_read_only { Err(TensorError::ReadOnly) } else { Ok(DeviceTensorMut(self)) }
    }
}

impl<T> DeviceTensor<T> {
    /// Returns the tensor's axis lengths. The slice is empty if the tensor is a scalar.
    #[must_use]
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Returns the elements' device address, or 0 if the tensor is empty.
    #[must_use]
    pub fn address(&self) -> u64 {
        self.address
    }

    /// Returns `true` if the producer forbids writes to the tensor.
    #[must_use]
    pub fn is_read_only(&self) -> bool {
        self.is_read_only
    }

    /// Returns an address for work on `stream`, or 0 if ordering the streams fails.
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
            // SAFETY: the owner is dropped only here. All work that used the memory has completed.
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

/// Returns an address for work on `stream`. Work that uses the address runs after all earlier work
/// on the tensor's stream.
///
/// If `stream` is the tensor's own stream, this method does not call the driver. For any other
/// stream, dropping the guard blocks the host until the stream has completed its work. If ordering
/// the streams fails, the address is 0, and the next cudarc call in the context returns the error.
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

/// An exclusive borrow of a [`DeviceTensor`] that allows cudarc's functions to write to the tensor.
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

/// Returns an address for reading. See [`DeviceTensor`] for the guarantees.
impl<T: PodElement> DevicePtr<T> for DeviceTensorMut<'_, T> {
    fn device_ptr<'a>(&'a self, stream: &'a CudaStream) -> (CUdeviceptr, SyncOnDrop<'a>) {
        self.0.pointer_for(stream)
    }
}

/// Returns an address for writing. See [`DevicePtr`] for the guarantees.
impl<T: PodElement> DevicePtrMut<T> for DeviceTensorMut<'_, T> {
    fn device_ptr_mut<'a>(&'a mut self, stream: &'a CudaStream) -> (CUdeviceptr, SyncOnDrop<'a>) {
        self.0.pointer_for(stream)
    }
}
