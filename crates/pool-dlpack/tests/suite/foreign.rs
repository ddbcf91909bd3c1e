//! A producer like a foreign library: it writes the C structures by hand and counts calls of its deleter.

use std::ffi::c_void;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use dlpark::ffi::{DLDataType, DLDevice, DLManagedTensorVersioned, DLPackVersion, DLTensor};
use dlpark::versioned::Dlpack;
use dlpark::{DlpackFlags, Managed};
use pool_dlpack::dlpark;

/// The fields of a new tensor, which may have any values.
pub(crate) struct Foreign<T> {
    pub(crate) elements: Vec<T>,
    pub(crate) shape: Vec<i64>,
    pub(crate) strides: Option<Vec<i64>>,
    pub(crate) byte_offset: u64,
    pub(crate) device: DLDevice,
    pub(crate) data_type: DLDataType,
    pub(crate) flags: DlpackFlags,
    pub(crate) version: DLPackVersion,
    pub(crate) has_memory: bool,
    pub(crate) deleted: Arc<AtomicUsize>,
}

/// The memory that the deleter frees.
struct Context<T> {
    _elements: Vec<T>,
    _shape: Vec<i64>,
    _strides: Vec<i64>,
    deleted: Arc<AtomicUsize>,
}

impl<T: 'static> Foreign<T> {
    /// Makes a row-major tensor of one axis.
    pub(crate) fn new(elements: Vec<T>, data_type: DLDataType) -> Self {
        let length = i64::try_from(elements.len()).unwrap();
        Self {
            elements,
            shape: vec![length],
            strides: Some(vec![1]),
            byte_offset: 0,
            device: DLDevice::CPU,
            data_type,
            flags: DlpackFlags::empty(),
            version: DLPackVersion::CURRENT,
            has_memory: true,
            deleted: Arc::default(),
        }
    }

    pub(crate) fn shape(mut self, shape: &[i64], strides: &[i64]) -> Self {
        (self.shape, self.strides) = (shape.to_vec(), Some(strides.to_vec()));
        self
    }

    /// Returns the tensor as a C library does.
    pub(crate) fn into_tensor(mut self) -> Dlpack {
        let data =
            if self.has_memory { self.elements.as_mut_ptr().cast() } else { ptr::null_mut() };
        let ndim = i32::try_from(self.shape.len()).unwrap();
        let mut strides = self.strides.clone().unwrap_or_default();
        let (shape_pointer, strides_pointer) = (
            self.shape.as_mut_ptr(),
            if self.strides.is_some() { strides.as_mut_ptr() } else { ptr::null_mut() },
        );
        let context = Box::new(Context {
            _elements: self.elements,
            _shape: self.shape,
            _strides: strides,
            deleted: self.deleted,
        });
        let tensor = Box::new(DLManagedTensorVersioned {
            version: self.version,
            manager_ctx: Box::into_raw(context).cast::<c_void>(),
            deleter: Some(delete::<T>),
            flags: self.flags,
            dl_tensor: DLTensor {
                data,
                device: self.device,
                ndim,
                dtype: self.data_type,
                shape: shape_pointer,
                strides: strides_pointer,
                byte_offset: self.byte_offset,
            },
        });
        // SAFETY: a tensor that `delete` frees.
        unsafe { Managed::from_raw(Box::into_raw(tensor)) }.unwrap()
    }
}

unsafe extern "C" fn delete<T>(tensor: *mut DLManagedTensorVersioned) {
    // SAFETY: made by `into_tensor`, and deleted once.
    let tensor = unsafe { Box::from_raw(tensor) };
    // SAFETY: as above.
    let context = unsafe { Box::from_raw(tensor.manager_ctx.cast::<Context<T>>()) };
    context.deleted.fetch_add(1, Ordering::Relaxed);
}
