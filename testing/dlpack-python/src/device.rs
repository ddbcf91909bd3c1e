//! Arrays in the memory of the first CUDA device: given to torch, and tensors taken from torch.

use std::ffi::c_void;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use dlpark::ffi::{DLDevice, DLManagedTensor, DLManagedTensorVersioned};
use dlpark::python::{
    CudaStreamRequest, DlpackExporter, DlpackStream, ExportRequest, ImportedDlpack, StreamArg,
    export_dlpack, from_dlpack,
};
use dlpark::{DlpackFlags, Managed, ManagedTensorBase};
use pool_facade::pool_cuda::CudaDevice;
use pool_facade::pool_cuda::cudarc::driver::CudaStream;
use pool_facade::pool_dlpack::{DeviceTensor, TensorError, export_device};
use pool_facade::{Cuda, Owned, SharedPool};
use pyo3::exceptions::{PyBufferError, PyRuntimeError};
use pyo3::prelude::*;

use crate::refused;

/// The pool of the first device, and the legacy default stream, which is torch's default stream.
struct OnDevice {
    pool: SharedPool<Cuda>,
    torch: Arc<CudaStream>,
}

/// The pool's state, or the reason why there is no device.
static ON_DEVICE: LazyLock<Result<OnDevice, String>> = LazyLock::new(|| {
    let open = || -> Result<OnDevice, pool_facade::pool_cuda::CudaError> {
        let device: CudaDevice = Cuda::device(0)?;
        let torch = device.context().default_stream();
        Ok(OnDevice { pool: SharedPool::new(device.new_stream()?), torch })
    };
    open().map_err(|error| error.to_string())
});

fn on_device() -> PyResult<&'static OnDevice> {
    ON_DEVICE.as_ref().map_err(|why| PyRuntimeError::new_err(why.clone()))
}

fn failed(error: impl std::fmt::Display) -> PyErr {
    PyRuntimeError::new_err(error.to_string())
}

/// An array of ascending numbers in device memory, which its consumer owns once it has taken it.
#[pyclass]
pub(crate) struct DeviceArray {
    array: Mutex<Option<Owned<Cuda, f32>>>,
    shape: Vec<usize>,
    #[pyo3(get)]
    address: u64,
}

impl DeviceArray {
    fn give<M: ManagedTensorBase>(&self) -> PyResult<Managed<M>> {
        let array = self.array.lock().unwrap_or_else(PoisonError::into_inner).take();
        let array = array.ok_or_else(|| PyBufferError::new_err("the array was given away"))?;
        export_device(array, &self.shape, &on_device()?.torch).map_err(refused)
    }
}

impl DlpackExporter for DeviceArray {
    fn device(&self) -> DLDevice {
        DLDevice::cuda(0)
    }

    fn flags(&self) -> DlpackFlags {
        DlpackFlags::empty()
    }

    /// Accepts a consumer on the legacy default stream. `export_device` orders that stream.
    fn prepare_export(&self, _: Python<'_>, request: &ExportRequest<'_>) -> PyResult<()> {
        match request.cuda_stream()? {
            CudaStreamRequest::Omitted | CudaStreamRequest::LegacyDefault => Ok(()),
            CudaStreamRequest::NoSync
            | CudaStreamRequest::PerThreadDefault
            | CudaStreamRequest::Pointer(_) => Err(PyBufferError::new_err(
                "the consumer uses a stream other than the default stream",
            )),
        }
    }

    fn export_legacy(&self, _: Python<'_>) -> PyResult<Managed<DLManagedTensor>> {
        self.give()
    }

    fn export_versioned(&self, _: Python<'_>) -> PyResult<Managed<DLManagedTensorVersioned>> {
        self.give()
    }
}

/// Takes an array of ascending numbers, and returns it with its address.
fn take(shape: &[usize]) -> PyResult<(Owned<Cuda, f32>, u64)> {
    let numbers: Vec<f32> = (0..shape.iter().product()).map(|i| i as f32).collect();
    let array = on_device()?.pool.try_take_from(&numbers).map_err(failed)?;
    let address = array.view().address();
    Ok((array, address))
}

protocol!(DeviceArray, |shape| take(shape)
    .map(|(array, address)| (Mutex::new(Some(array)), address)));

/// The legacy default stream as a consumer of tensors.
struct LegacyDefault;

// SAFETY: the legacy default stream exists as long as the context, and its handle is null.
unsafe impl DlpackStream for LegacyDefault {
    fn as_python_arg(&self, py: Python<'_>, _: DLDevice) -> PyResult<StreamArg> {
        Ok(StreamArg::from_python_object(1_u32.into_pyobject(py)?.into_any().unbind()))
    }

    unsafe fn wait_for_producer(&self, _: DLDevice, producer: *mut c_void) -> PyResult<bool> {
        Ok(producer.is_null())
    }
}

fn import(object: &Bound<'_, PyAny>) -> PyResult<Result<DeviceTensor<f32>, TensorError>> {
    let stream = &on_device()?.torch;
    let tensor = from_dlpack(object.as_borrowed(), Some(&LegacyDefault), Some(false))?;
    Ok(match tensor {
        // SAFETY: the producer ordered the default stream after its work, and the interpreter is
        // held while the tensor is used.
        ImportedDlpack::Versioned(tensor) => unsafe { DeviceTensor::import(tensor, stream) },
        // SAFETY: the producer ordered the default stream after its work, and the interpreter is
        // held while the tensor is used.
        ImportedDlpack::Legacy(tensor) => unsafe { DeviceTensor::import(tensor, stream) },
    })
}

/// The address, the shape and the sum of a tensor of `float32` on the device.
#[pyfunction]
pub(crate) fn device_total(object: &Bound<'_, PyAny>) -> PyResult<(u64, Vec<usize>, f32)> {
    let tensor = import(object)?.map_err(refused)?;
    let numbers: Vec<f32> = on_device()?.torch.clone_dtoh(&tensor).map_err(failed)?;
    Ok((tensor.address(), tensor.shape().to_vec(), numbers.iter().sum()))
}

/// Writes zeros to each element of a tensor of `float32` on the device.
#[pyfunction]
pub(crate) fn device_clear(object: &Bound<'_, PyAny>) -> PyResult<()> {
    let mut tensor = import(object)?.map_err(refused)?;
    // SAFETY: the interpreter is held, so no other code uses the tensor.
    let mut elements = unsafe { tensor.as_mut() }.map_err(refused)?;
    on_device()?.torch.memset_zeros(&mut elements).map_err(failed)
}

/// The number of arrays of device memory that are in use.
#[pyfunction]
pub(crate) fn device_in_use() -> PyResult<usize> {
    Ok(on_device()?.pool.stats().active_slots)
}

/// The number of blocks of device memory that were allocated.
#[pyfunction]
pub(crate) fn device_blocks() -> PyResult<u64> {
    Ok(on_device()?.pool.stats().growths)
}
