//! Owned arrays as managed tensors: the tensor owns the array, and its deleter drops it.
//!
//! # Invariants
//!
//! 1. A tensor's context is the array, so its memory lives until the deleter has run.
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

/// Makes a managed tensor of an array, in row-major order and without a copy.
///
/// The consumer may write to the tensor. When it drops the tensor, on any thread, the memory returns to its pool. A
/// tensor keeps the pool's memory alive, as an [`Owned`] does. A forgotten tensor leaks its block.
///
/// `M` is [`DLManagedTensorVersioned`](dlpark::ffi::DLManagedTensorVersioned), or
/// [`DLManagedTensor`](dlpark::ffi::DLManagedTensor) for consumers before DLPack 1.0. Two small allocations hold the
/// description. The memory has the alignment of the backend's blocks: 64 bytes on the host, which JAX requires.
///
/// # Errors
///
/// [`TensorError::Shape`] if the axes have another number of elements. The error contains the array.
///
/// # Panics
///
/// Never. The process aborts if the host has no memory for the description, as for every [`Box`].
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
    // SAFETY: the context is the array, which is at `data` and has the elements of the shape. It is exclusive, so it may be
    // written.
    Ok(unsafe {
        described.finish::<T>(Box::new(array), data.cast(), DLDevice::CPU, DlpackFlags::empty())
    })
}

/// Makes a read-only tensor of a shared array, without a copy.
///
/// Call it once for each consumer. The memory returns to the pool when the last tensor and the last [`Arc`] are
/// dropped.
///
/// # Errors
///
/// [`TensorError::Shape`], same as for [`export()`], and [`TensorError::LegacyIsWritable`] for a legacy tensor.
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
    // SAFETY: as in `export`; the flag forbids the consumer to write.
    Ok(unsafe {
        described.finish::<T>(Arc::clone(array), data.cast(), DLDevice::CPU, DlpackFlags::READ_ONLY)
    })
}

/// A tensor's axes, with memory for its description.
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

    /// Returns `true` if this kind of tensor has a place for flags.
    fn keeps(&mut self, flags: DlpackFlags) -> bool {
        let tensor = dlpark::ffi::DLTensor::default();
        let mut probe = M::from_parts(tensor, ptr::null_mut(), None);
        // SAFETY: the flags do not claim a copy.
        unsafe { probe.set_flags_unchecked(flags) };
        probe.flags().contains(flags)
    }

    /// Makes the tensor.
    ///
    /// # Safety
    ///
    /// As long as the context lives, `data` on `device` has the elements of the shape. Consumers may read them, and
    /// write them if the flags have no `READ_ONLY`. The flags do not claim a copy.
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
        // SAFETY: as the caller promises.
        unsafe { tensor.set_flags_unchecked(flags) };
        // SAFETY: the caller's memory, and shape and strides of row-major order, which lie in the tensor's allocation.
        unsafe { tensor.finish() }
    }
}
