//! Arrays of a pool for Python: given away, lent, and taken from others.

use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use dlpark::ffi::{DLDevice, DLManagedTensor, DLManagedTensorVersioned};
use dlpark::python::{DlpackExporter, ExportRequest, ImportedDlpack, export_dlpack, from_dlpack};
use dlpark::{DlpackFlags, Managed, ManagedTensorBase};
use pool_facade::pool_dlpack::{HostTensor, TensorError, export, export_shared};
use pool_facade::{Cpu, Owned, SharedPool};
use pyo3::exceptions::{PyBufferError, PyValueError};
use pyo3::prelude::*;

/// Python's protocol for a class of arrays. The expression is a function that returns the array for
/// a shape, and the array's address.
macro_rules! protocol {
    ($class:ident, $new:expr) => {
        #[pymethods]
        impl $class {
            #[new]
            fn new(shape: Vec<usize>) -> PyResult<Self> {
                let (array, address) = ($new)(&shape)?;
                Ok(Self { array, shape, address })
            }

            #[pyo3(signature = (*, stream=None, max_version=None, dl_device=None, copy=None))]
            fn __dlpack__<'py>(
                &self,
                py: Python<'py>,
                stream: Option<Bound<'py, PyAny>>,
                max_version: Option<(u32, u32)>,
                dl_device: Option<(u32, i32)>,
                copy: Option<bool>,
            ) -> PyResult<Py<PyAny>> {
                let request = ExportRequest::parse(stream.as_ref(), max_version, dl_device, copy)?;
                export_dlpack(self, py, request)
            }

            fn __dlpack_device__(&self) -> (u32, i32) {
                self.device().into()
            }
        }
    };
}

#[cfg(feature = "cuda")]
mod device;

/// The pool of the module.
static POOL: LazyLock<SharedPool<Cpu>> = LazyLock::new(SharedPool::default);

/// An array of ascending numbers, which its consumer owns once it has taken it.
#[pyclass]
struct Array {
    array: Mutex<Option<Owned<Cpu, f32>>>,
    shape: Vec<usize>,
    #[pyo3(get)]
    address: usize,
}

/// An array of ascending numbers that any number of consumers read.
#[pyclass]
struct SharedArray {
    array: Arc<Owned<Cpu, f32>>,
    shape: Vec<usize>,
    #[pyo3(get)]
    address: usize,
}

/// Takes an array of ascending numbers, and returns it with its address.
fn take(shape: &[usize]) -> PyResult<(Owned<Cpu, f32>, usize)> {
    let length = shape.iter().product();
    let array = POOL
        .try_take_with(length, |i| i as f32)
        .map_err(|error| PyValueError::new_err(error.to_string()))?;
    let address = array.as_ptr().addr();
    Ok((array, address))
}

fn refused(error: impl std::fmt::Display) -> PyErr {
    PyBufferError::new_err(error.to_string())
}

impl Array {
    fn give<M: ManagedTensorBase>(&self) -> PyResult<Managed<M>> {
        let array = self.array.lock().unwrap_or_else(PoisonError::into_inner).take();
        let array = array.ok_or_else(|| PyBufferError::new_err("the array was given away"))?;
        export(array, &self.shape).map_err(refused)
    }
}

impl DlpackExporter for Array {
    fn device(&self) -> DLDevice {
        DLDevice::CPU
    }

    fn flags(&self) -> DlpackFlags {
        DlpackFlags::empty()
    }

    fn prepare_export(&self, _: Python<'_>, _: &ExportRequest<'_>) -> PyResult<()> {
        Ok(())
    }

    fn export_legacy(&self, _: Python<'_>) -> PyResult<Managed<DLManagedTensor>> {
        self.give()
    }

    fn export_versioned(&self, _: Python<'_>) -> PyResult<Managed<DLManagedTensorVersioned>> {
        self.give()
    }
}

impl DlpackExporter for SharedArray {
    fn device(&self) -> DLDevice {
        DLDevice::CPU
    }

    fn flags(&self) -> DlpackFlags {
        DlpackFlags::READ_ONLY
    }

    fn prepare_export(&self, _: Python<'_>, _: &ExportRequest<'_>) -> PyResult<()> {
        Ok(())
    }

    fn export_legacy(&self, _: Python<'_>) -> PyResult<Managed<DLManagedTensor>> {
        export_shared(&self.array, &self.shape).map_err(refused)
    }

    fn export_versioned(&self, _: Python<'_>) -> PyResult<Managed<DLManagedTensorVersioned>> {
        export_shared(&self.array, &self.shape).map_err(refused)
    }
}

protocol!(Array, |shape| take(shape).map(|(array, address)| (Mutex::new(Some(array)), address)));
protocol!(SharedArray, |shape| take(shape).map(|(array, address)| (Arc::new(array), address)));

fn import(object: &Bound<'_, PyAny>) -> PyResult<Result<HostTensor<f32>, TensorError>> {
    let tensor = from_dlpack(object.as_borrowed(), None, Some(false))?;
    Ok(match tensor {
        // SAFETY: the tensor is valid; the interpreter is held while it is used, and the tests write meanwhile nowhere.
        ImportedDlpack::Versioned(tensor) => unsafe { HostTensor::import(tensor) },
        // SAFETY: as above.
        ImportedDlpack::Legacy(tensor) => unsafe { HostTensor::import(tensor) },
    })
}

/// The address, the shape and the sum of a tensor of `float32`.
#[pyfunction]
fn total(object: &Bound<'_, PyAny>) -> PyResult<(usize, Vec<usize>, f32)> {
    let tensor = import(object)?.map_err(refused)?;
    Ok((tensor.as_ptr().addr(), tensor.shape().to_vec(), tensor.iter().sum()))
}

/// Writes a value to each element of a tensor of `float32`.
#[pyfunction]
fn fill(object: &Bound<'_, PyAny>, value: f32) -> PyResult<()> {
    let mut tensor = import(object)?.map_err(refused)?;
    // SAFETY: the interpreter is held, so that nothing else uses the tensor.
    unsafe { tensor.as_mut_slice() }.map_err(refused)?.fill(value);
    Ok(())
}

/// The number of arrays that are in use.
#[pyfunction]
fn in_use() -> usize {
    POOL.stats().active_slots
}

/// The number of blocks that were allocated.
#[pyfunction]
fn blocks() -> u64 {
    POOL.stats().growths
}

/// Arrays of a pool for numpy and torch.
#[pymodule]
fn pool_dlpack_python(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Array>()?;
    module.add_class::<SharedArray>()?;
    module.add_function(wrap_pyfunction!(total, module)?)?;
    module.add_function(wrap_pyfunction!(fill, module)?)?;
    module.add_function(wrap_pyfunction!(in_use, module)?)?;
    #[cfg(feature = "cuda")]
    {
        module.add_class::<device::DeviceArray>()?;
        module.add_function(wrap_pyfunction!(device::device_total, module)?)?;
        module.add_function(wrap_pyfunction!(device::device_clear, module)?)?;
        module.add_function(wrap_pyfunction!(device::device_in_use, module)?)?;
        module.add_function(wrap_pyfunction!(device::device_blocks, module)?)?;
    }
    module.add_function(wrap_pyfunction!(blocks, module)?)
}
