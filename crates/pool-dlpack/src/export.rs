//! Exports owned arrays as managed tensors. The tensor owns the array, and its deleter drops the
//! array.
//!
//! # Invariants
//!
//! 1. A tensor's context is the array, so the array's memory lives until the deleter has run.
//! 2. The array is `Send`, so the deleter may run on any thread. Dropping an array does not unwind.
//! 3. A tensor that is not read-only is the only owner of its array.

use std::ffi::c_void;
use std::ptr;
use std::sync::Arc;

use dlpark::ffi::DLDevice;
use dlpark::metadata::Dynamic;
use dlpark::{DlpackFlags, Managed, ManagedTensorBase, OpaqueContext};
use pool_core::{Owned, SharedHostBackend};

use crate::element::TensorElement;
use crate::error::{Refused, TensorError};

/// Creates a managed tensor from an array, in row-major order and without a copy.
///
/// The consumer may write to the tensor. When the consumer drops the tensor, on any thread, the
/// memory returns to its pool. Like an [`Owned`], a tensor keeps the pool's memory alive.
/// Forgetting a tensor leaks its block.
///
/// `M` is [`DLManagedTensorVersioned`](dlpark::ffi::DLManagedTensorVersioned), or
/// [`DLManagedTensor`](dlpark::ffi::DLManagedTensor) for consumers older than DLPack 1.0. The
/// description takes two small allocations. The memory has the alignment of the backend's blocks,
/// which is 64 bytes on the host, as JAX requires.
///
/// # Errors
///
/// Returns [`TensorError::Shape`] if the axes describe a different number of elements. The array is
/// returned with the error.
///
/// # Panics
///
/// Never panics. If the host is out of memory for the description, the process aborts, as for every
/// [`Box`].
pub fn export<M, B, T>(
    mut array: Owned<B, T>,
    shape: &[usize],
) -> Result<Managed<M>, Refused<Owned<B, T>>>
where
    M: ManagedTensorBase,
    B: SharedHostBackend,
    T: TensorElement + Send,
{
    let described = match Description::<M>::new(shape, array.len()) {
        Ok(described) => described,
        Err(error) => return Err(Refused { array, error }),
    };
    let data = array.as_mut_ptr();
    // SAFETY: the context is the array, which is at `data` and contains the elements of the shape.
    // The array is exclusive, so the consumer may write to it.
    Ok(unsafe {
        described.finish::<T>(Box::new(array), data.cast(), DLDevice::CPU, DlpackFlags::empty())
    })
}

/// Creates a read-only tensor from an array that other code may read at the same time, without a
/// copy.
///
/// It can be called repeatedly, once for each consumer. The memory returns to the pool when the
/// last tensor and the last [`Arc`] have been dropped.
///
/// # Errors
///
/// Returns [`TensorError::Shape`] like [`export()`], and [`TensorError::LegacyIsWritable`] for a
/// legacy tensor.
pub fn export_shared<M, B, T>(
    array: &Arc<Owned<B, T>>,
    shape: &[usize],
) -> Result<Managed<M>, TensorError>
where
    M: ManagedTensorBase,
    B: SharedHostBackend,
    T: TensorElement + Send + Sync,
{
    let mut described = Description::<M>::new(shape, array.len())?;
    if !described.keeps(DlpackFlags::READ_ONLY) {
        return Err(TensorError::LegacyIsWritable);
    }
    let data = array.as_ptr().cast_mut();
    // SAFETY: as in `export`, but the flag forbids the consumer to write.
    Ok(unsafe {
        described.finish::<T>(Arc::clone(array), data.cast(), DLDevice::CPU, DlpackFlags::READ_ONLY)
    })
}

/// A tensor's axes, with allocated memory for its description.
pub(crate) struct Description<M: ManagedTensorBase> {
    prepared: dlpark::metadata::PreparedDynamic<M>,
    is_empty: bool,
}

impl<M: ManagedTensorBase> Description<M> {
    pub(crate) fn new(shape: &[usize], elements: usize) -> Result<Self, TensorError> {
        let product = if shape.contains(&0) {
            Some(0)
        } else {
            shape.iter().try_fold(1_usize, |product, &length| product.checked_mul(length))
        };
        if product != Some(elements) {
            return Err(TensorError::Shape { shape: shape.to_vec(), elements });
        }
        let prepared = Dynamic::compact(shape).prepare_as().map_err(TensorError::Metadata)?;
        Ok(Self { prepared, is_empty: elements == 0 })
    }

    /// Returns `true` if this kind of tensor can store flags.
    fn keeps(&mut self, flags: DlpackFlags) -> bool {
        let tensor = dlpark::ffi::DLTensor::default();
        let mut probe = M::from_parts(tensor, ptr::null_mut(), None);
        // SAFETY: the flags do not claim a copy.
        unsafe { probe.set_flags_unchecked(flags) };
        probe.flags().contains(flags)
    }

    /// Creates the tensor.
    ///
    /// # Safety
    ///
    /// While the context lives, `data` on `device` must contain the elements of the shape.
    /// Consumers may read them, and may also write them unless the flags include `READ_ONLY`. The
    /// flags must not claim a copy.
    pub(crate) unsafe fn finish<T: TensorElement>(
        self,
        context: impl OpaqueContext,
        data: *mut c_void,
        device: DLDevice,
        flags: DlpackFlags,
    ) -> Managed<M> {
        let mut tensor = self.prepared.initialize(context);
        let data = if self.is_empty { ptr::null_mut() } else { data };
        tensor.set_data(data).set_device(device).set_dtype(T::DATA_TYPE);
        // SAFETY: the caller guarantees that the flags do not claim a copy.
        unsafe { tensor.set_flags_unchecked(flags) };
        // SAFETY: the memory is the caller's, and the shape and the row-major strides are stored in
        // the tensor's allocation.
        unsafe { tensor.finish() }
    }
}
