//! Exports owned arrays as managed tensors in DLPack's format. A tensor owns its array, and the
//! tensor's deleter drops the array.
//!
//! # Invariants
//!
//! - Invariant 1: a tensor's context is its array, so the array's memory stays valid until the
//!   deleter has run.
//! - Invariant 2: the array is `Send`, so any thread may call the deleter. Dropping an array does
//!   not panic.
//! - Invariant 3: the array is owned by only one tensor unless the tensor is read-only.

use std::ffi::c_void;
use std::ptr;
use std::sync::Arc;

use dlpark::ffi::DLDevice;
use dlpark::metadata::Dynamic;
use dlpark::{DlpackFlags, Managed, ManagedTensorBase, OpaqueContext};
use pool_core::{Owned, SharedHostBackend};

use crate::element::TensorElement;
use crate::error::{Refused, TensorError};

/// Creates a row-major managed tensor from an array, without copying the elements.
///
/// The consumer may write to the tensor. Dropping the tensor on any thread returns its memory to
/// the pool. Like an [`Owned`] array, a tensor keeps the pool's memory alive. Forgetting a tensor
/// leaks its block.
///
/// `M` is [`DLManagedTensorVersioned`](dlpark::ffi::DLManagedTensorVersioned), or
/// [`DLManagedTensor`](dlpark::ffi::DLManagedTensor) for consumers that do not support DLPack 1.0.
/// This function makes two small allocations for the tensor's description. The first element has
/// the same alignment as the backend's blocks. On the host, this alignment is 64 bytes, as JAX
/// requires.
///
/// # Errors
///
/// Returns [`TensorError::Shape`] if the axes and the array have different numbers of elements. The
/// error also contains the array.
///
/// # Panics
///
/// This function never panics. If the host cannot allocate the description, the process aborts,
/// just as it does after a failed [`Box`] allocation.
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
    // SAFETY: the context is the array, which contains the shape's elements, starting at `data`.
    // The array is exclusive, so the consumer may write to the elements.
    Ok(unsafe {
        described.finish::<T>(Box::new(array), data.cast(), DLDevice::CPU, DlpackFlags::empty())
    })
}

/// Creates a read-only tensor from a shared array, without copying the elements. Other code may
/// read the array at the same time.
///
/// Call this function once for each consumer so that each consumer owns a separate tensor. The
/// memory returns to the pool when the last tensor and the last [`Arc`] have been dropped.
///
/// # Errors
///
/// Returns [`TensorError::Shape`] if the axes and the array have different numbers of elements, or
/// [`TensorError::LegacyIsWritable`] if `M` is a legacy tensor.
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
    // SAFETY: the context owns the array, whose elements start at `data` and match the shape. The
    // `READ_ONLY` flag forbids the consumer from writing to the elements.
    Ok(unsafe {
        described.finish::<T>(Arc::clone(array), data.cast(), DLDevice::CPU, DlpackFlags::READ_ONLY)
    })
}

/// A tensor's axes and the memory for its description.
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

    /// Returns `true` if tensors of type `M` can store these flags.
    fn keeps(&mut self, flags: DlpackFlags) -> bool {
        let tensor = dlpark::ffi::DLTensor::default();
        let mut probe = M::from_parts(tensor, ptr::null_mut(), None);
        // SAFETY: the flags do not mark the tensor as a copy.
        unsafe { probe.set_flags_unchecked(flags) };
        probe.flags().contains(flags)
    }

    /// Creates the tensor from a context that owns the elements at `data`.
    ///
    /// # Safety
    ///
    /// While the context is alive, `data` must point to the tensor's elements on `device`.
    /// Consumers may read the elements. Consumers may also write to the elements if the flags do
    /// not include `READ_ONLY`. The flags must not mark the tensor as a copy.
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
        // SAFETY: the caller guarantees that the flags do not mark the tensor as a copy.
        unsafe { tensor.set_flags_unchecked(flags) };
        // SAFETY: the caller guarantees that `data` is the address of the elements. The tensor's
        // allocation contains the shape and the row-major strides.
        unsafe { tensor.finish() }
    }
}
